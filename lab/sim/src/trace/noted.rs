// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run notes of packets for their traces.

use netnice_queue::Time;

use crate::flows::bodies::{Body, Goes, PackedBody};
use crate::packet::{Marks, Packet, Route};
use crate::tcp::SackBlock;

/// A packet that has come out of a link with a trace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noted {
    pub body: PackedBody,
    pub at: Time,
    pub trace: TraceId,
    pub flow: u32,
    pub connection: u32,
    /// Place of its SACK blocks among those of the batch, if it has any.
    pub sack: u32,
    pub length: u16,
    pub marks: Marks,
    pub goes: Goes,
}

/// A packet takes one cache line.
const _: () = assert!(size_of::<Noted>() == 64);

impl Noted {
    /// The packet and its body, with these SACK blocks if it has any.
    #[inline(always)]
    pub fn packet(&self, sack: Option<[SackBlock; 3]>) -> (Packet, Body) {
        let packet = Packet {
            route: Route::default(),
            connection: self.connection,
            body: 0,
            length: self.length,
            class: 0,
            marks: self.marks,
        };
        (packet, self.body.body(self.goes, sack))
    }

    /// The packet goes to the sender of the data.
    #[inline(always)]
    pub fn is_reverse(&self) -> bool {
        self.goes == Goes::ToSender
    }
}

/// Where the packets of a link go: to a trace of its own, or to an interface of the merged trace. Both have numbers from 0 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TraceId(u32);

impl TraceId {
    const MERGED: u32 = 1 << 31;

    pub fn own(number: u32) -> TraceId {
        TraceId(number)
    }

    pub fn merged(interface: u32) -> TraceId {
        TraceId(interface | TraceId::MERGED)
    }

    /// The number of a trace of one link.
    #[inline]
    pub fn as_own(self) -> Option<u32> {
        (self.0 & TraceId::MERGED == 0).then_some(self.0)
    }

    /// The number of an interface of the merged trace.
    #[inline]
    pub fn as_interface(self) -> Option<u32> {
        (self.0 & TraceId::MERGED != 0).then_some(self.0 & !TraceId::MERGED)
    }
}

/// Packets in the order in which they were noted.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub packets: Vec<Noted>,
    pub sacks: Vec<[SackBlock; 3]>,
    /// No packet that is noted after these comes out of its link earlier than this.
    pub later_from: Time,
}

impl Batch {
    /// The SACK blocks of a packet, if it has any; otherwise any.
    #[inline(always)]
    pub fn sack(&self, noted: &Noted) -> Option<[SackBlock; 3]> {
        self.sacks.get(noted.sack as usize).copied()
    }

    pub fn clear(&mut self) {
        self.packets.clear();
        self.sacks.clear();
    }
}
