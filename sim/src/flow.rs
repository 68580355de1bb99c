// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows as they are described to the engine.

use std::time::Duration;

use netnice_queue::Time;

use crate::network::LinkId;
use crate::traffic::Traffic;

/// A flow, in the order in which it was described.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub(crate) u32);

impl FlowId {
    /// The place among the flows of a run, from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One flow: data from one host to another.
#[derive(Debug, Clone)]
pub struct FlowSpec {
    /// Name in results, and of its random stream. Should be unique.
    pub name: String,
    /// The links from the sender of the data to the receiver.
    pub forward: Vec<LinkId>,
    /// The links back, for ACKs; not looked at for UDP.
    pub back: Vec<LinkId>,
    /// Class of strict priority, of drop counts and of sums in the results; 0 goes first.
    pub class: u8,
    /// Code point in traces (RFC 2474).
    pub dscp: u8,
    /// When the program begins.
    pub start: Time,
    /// A uniformly random time from 0 to this is added.
    pub start_spread: Duration,
    /// The program writes nothing from here on.
    pub stop: Option<Time>,
    /// What the program writes.
    pub traffic: Traffic,
    /// How it gets to the other end.
    pub transport: Transport,
    /// cwnd and the like are taken down at the sampling interval.
    pub sampled: bool,
}

impl FlowSpec {
    /// A flow over UDP that begins at once.
    pub fn udp(name: impl Into<String>, forward: Vec<LinkId>, traffic: Traffic) -> FlowSpec {
        FlowSpec {
            name: name.into(),
            forward,
            back: Vec::new(),
            class: 0,
            dscp: 0,
            start: Time::ZERO,
            start_spread: Duration::ZERO,
            stop: None,
            traffic,
            transport: Transport::Udp,
            sampled: false,
        }
    }
}

/// How data get to the other end.
#[derive(Debug, Clone)]
pub enum Transport {
    /// Each write is a packet, and nothing comes back.
    Udp,
}
