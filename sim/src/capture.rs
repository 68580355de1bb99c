// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces of a link that Wireshark reads: pcapng with real IPv4, TCP and UDP headers.

use netnice_queue::Time;

use crate::Packet;
use crate::flow_state::Labels;
use crate::tcp::Segment;

/// A trace.
#[derive(Debug)]
pub struct Capture {}

impl Capture {
    pub(crate) fn packet(&mut self, _: Time, _: &Packet, _: &Segment, _: &Labels, _: bool) {}
}
