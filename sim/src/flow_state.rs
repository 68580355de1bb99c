// SPDX-License-Identifier: MIT OR Apache-2.0
//! A flow at work.

use std::time::Duration;

use netnice_queue::Time;

use crate::flow::TcpSpec;
use crate::measure::{FlowCounters, Histogram, ResponseTimes};
use crate::traffic::{Generator, Web, Write};

/// A flow at work.
#[derive(Debug)]
pub(crate) struct FlowState {
    pub work: Work,
    pub class: u8,
    pub header_bytes: u16,
    /// The newest data packet's.
    pub one_way_delay: Duration,
    pub generator: Option<Generator>,
    /// What the next event will write.
    pub next_write: Write,
    /// Since the beginning; what senders count is added when their connections have ended.
    pub counters: FlowCounters,
    /// The counters when the measurement began, senders of living connections included.
    pub baseline: FlowCounters,
    /// In nanoseconds, of data packets.
    pub delay: Histogram,
    /// In nanoseconds, one for each ACK of data.
    pub round_trip: Histogram,
    pub start: Time,
    pub stop: Time,
    /// When all data had arrived.
    pub completed: Option<Time>,
    pub labels: Labels,
    /// What connections are made of.
    pub tcp: Option<Box<TcpSpec>>,
    pub responses: Option<Box<ResponseTimes>>,
}

/// What a flow is called, and how traces show it.
#[derive(Debug)]
pub(crate) struct Labels {
    pub name: String,
    pub index: u32,
    pub dscp: u8,
    pub header_bytes: u16,
}

/// What a flow does.
#[derive(Debug)]
pub(crate) enum Work {
    Udp {
        /// Of its route.
        cursor: u32,
    },
    Tcp {
        connection: u32,
    },
    Web {
        web: Box<Web>,
        /// Cursors of the routes there and back, for each client and server.
        cursors: Vec<Vec<(u32, u32)>>,
    },
}

impl FlowState {
    /// Draws the next write; false where none will come.
    pub fn prepare_write(&mut self) -> bool {
        match self.generator.as_mut().and_then(Iterator::next) {
            Some(write) if write.at < self.stop => {
                self.next_write = write;
                true
            }
            _ => {
                self.generator = None;
                false
            }
        }
    }

    /// A packet of data, `length` bytes on the wire and sent at `sent`, has come to the receiver.
    #[inline]
    pub fn data_arrived(&mut self, now: Time, warm_up: Time, length: u16, sent: Time) {
        self.counters.received_packets += 1;
        self.counters.received_bytes += u64::from(length);
        self.one_way_delay = now - sent;
        if now >= warm_up {
            self.delay.record(now.as_nanos() - sent.as_nanos());
        }
    }
}
