// SPDX-License-Identifier: MIT OR Apache-2.0
//! A flow at work.

use std::mem::offset_of;

use netnice_queue::Time;

use crate::flows::spec::TcpSpec;
use crate::flows::web_paths::WebRoutes;
use crate::labels::Labels;
use crate::measure::{FlowCounters, Histogram, ResponseTimes};
use crate::packet::Route;
use crate::traffic::{CallReceiver, Generator, Player, Web, Write};

/// A flow at work. An arriving data packet touches only the first cache line, and its ACK only the second; connections
/// do the counting meanwhile.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct FlowState {
    /// One-way delays of data packets, in nanoseconds.
    pub delay: Histogram,
    /// One-way delay of the newest data packet, in nanoseconds.
    pub one_way_delay_ns: u64,

    /// Round-trip times in nanoseconds, one for each ACK of data.
    pub round_trip: Histogram,
    /// Counters since the beginning: for UDP all; for TCP those of connections that have ended, and losses.
    pub counters: FlowCounters,
    pub class: u8,
    pub header_bytes: u16,
    pub work: Work,
    pub generator: Option<Generator>,
    /// The write of the next event.
    pub next_write: Write,
    /// Bytes of data that the program will still write.
    pub data_left: u64,
    /// The counters when the measurement began, senders of living connections included; `None` where nothing had been
    /// counted.
    pub baseline: Option<Box<FlowCounters>>,
    pub start: Time,
    pub stop: Time,
    /// When all data had arrived; [`NEVER`](crate::time::NEVER) before.
    pub completed: Time,
    pub labels: Labels,
    /// Configuration of the connections of web objects.
    pub tcp: Option<Box<TcpSpec>>,
    pub responses: Option<Box<ResponseTimes>>,
    /// The player of a video.
    pub player: Option<Box<Player>>,
    /// The receiving end of a call.
    pub call: Option<Box<CallReceiver>>,
}

/// The work of a flow.
#[derive(Debug)]
pub(crate) enum Work {
    Udp {
        route: Route,
    },
    Tcp {
        connection: u32,
        /// The sender has taken all that the program will ever write.
        bulk: bool,
    },
    Web {
        web: Box<Web>,
        routes: Box<WebRoutes>,
    },
}

const _: () = assert!(offset_of!(FlowState, round_trip) == 64);
/// Cache lines are what thousands of flows cost.
const _: () = assert!(size_of::<FlowState>() == 384);

impl FlowState {
    /// The counters when the measurement began.
    pub fn counters_before(&self) -> FlowCounters {
        self.baseline.as_deref().copied().unwrap_or_default()
    }

    /// Draws the next write; false where none will come.
    pub fn prepare_write(&mut self) -> bool {
        let drawn = self.generator.as_mut().and_then(Iterator::next);
        let headers = u32::from(self.header_bytes);
        match drawn.filter(|write| write.at < self.stop && self.data_left > 0) {
            Some(mut write) => {
                let left = u32::try_from(self.data_left).unwrap_or(u32::MAX);
                write.bytes = write
                    .bytes
                    .max(headers + 1)
                    .min(left.saturating_add(headers));
                self.data_left -= u64::from(write.bytes - headers);
                self.next_write = write;
                true
            }
            None => {
                self.generator = None;
                false
            }
        }
    }

    /// A packet of data that was sent at `sent` has come to the receiver.
    #[inline]
    pub fn data_arrived(&mut self, now: Time, warm_up: Time, sent: Time) {
        self.one_way_delay_ns = now.as_nanos() - sent.as_nanos();
        if now >= warm_up {
            self.delay.record(self.one_way_delay_ns);
        }
    }
}
