// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of packets at links, one by one.

use std::collections::HashSet;
use std::fmt;
use std::io;

use netnice_queue::{DropCause, Time};
use netnice_scenario::results::{EventKind, LinkEvent};

use crate::packet::Packet;

/// Where events go: many at a time, in order.
pub trait EventSink: Send {
    /// Writes events that follow on those before.
    fn write(&mut self, events: &[LinkEvent]) -> io::Result<()>;

    /// Writes what is left.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// So many events are written at a time.
const BATCH: usize = 1 << 17;

/// The record of the events at some links.
pub(crate) struct EventTrace {
    sink: Box<dyn EventSink>,
    events: Vec<LinkEvent>,
    /// Packets at a link that had been marked before: link and place of the body.
    marked_before: HashSet<(u32, u32)>,
    /// The first failure; nothing is written after it.
    failure: Option<io::Error>,
}

impl fmt::Debug for EventTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventTrace").finish_non_exhaustive()
    }
}

/// The flow of a packet, where it goes to and its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub flow: u32,
    pub to_sender: bool,
    pub sequence: Option<u64>,
}

impl EventTrace {
    pub fn new(sink: Box<dyn EventSink>) -> EventTrace {
        EventTrace {
            sink,
            events: Vec::new(),
            marked_before: HashSet::new(),
            failure: None,
        }
    }

    /// A packet arrives at a link.
    pub fn arrived(&mut self, now: Time, link: u32, packet: &Packet, origin: Origin) {
        if packet.marks.congestion_experienced() {
            self.marked_before.insert((link, packet.body));
        }
        self.push(event(now, link, packet, origin, EventKind::Arrived));
    }

    /// A link drops a packet.
    pub fn dropped(
        &mut self,
        now: Time,
        link: u32,
        packet: &Packet,
        origin: Origin,
        cause: DropCause,
    ) {
        self.marked_before.remove(&(link, packet.body));
        self.push(LinkEvent {
            cause: Some(cause),
            ..event(now, link, packet, origin, EventKind::Dropped)
        });
    }

    /// A packet comes out of a link.
    pub fn delivered(
        &mut self,
        now: Time,
        link: u32,
        packet: &Packet,
        origin: Origin,
        waited_ns: u64,
    ) {
        let marked = packet.marks.congestion_experienced()
            && !self.marked_before.remove(&(link, packet.body));
        if marked {
            self.push(event(now, link, packet, origin, EventKind::Marked));
        }
        self.push(LinkEvent {
            waited_ns: Some(waited_ns),
            ..event(now, link, packet, origin, EventKind::Delivered)
        });
    }

    fn push(&mut self, event: LinkEvent) {
        self.events.push(event);
        if self.events.len() >= BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.failure.is_none() && !self.events.is_empty() {
            self.failure = self.sink.write(&self.events).err();
        }
        self.events.clear();
    }

    /// Writes what is left; an error if anything could not be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush();
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => self.sink.finish(),
        }
    }
}

fn event(now: Time, link: u32, packet: &Packet, origin: Origin, kind: EventKind) -> LinkEvent {
    LinkEvent {
        time_ns: now.as_nanos(),
        link,
        flow: origin.flow,
        kind,
        cause: None,
        to_sender: origin.to_sender,
        sequence: origin.sequence,
        bytes: u32::from(packet.length),
        waited_ns: None,
    }
}
