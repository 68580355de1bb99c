// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of packets at links, one by one.

use std::collections::HashSet;
use std::fmt;
use std::io;

use netnice_queue::{DropCause, Time};
use netnice_results::{EventKind, LinkEvent};

/// Where events go: many at a time, in order.
pub trait EventSink: Send {
    /// Writes events that follow on those before.
    fn write(&mut self, events: &[LinkEvent]) -> io::Result<()>;

    /// Writes what is left.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// The record of the events at some links.
pub struct EventTrace {
    sink: Box<dyn EventSink>,
    batch: usize,
    events: Vec<LinkEvent>,
    /// Packets at a link that had been marked before: numbers of link and packet.
    marked_before: HashSet<(u32, u32)>,
    /// The first failure; nothing is written after it.
    failure: Option<io::Error>,
}

impl fmt::Debug for EventTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventTrace").finish_non_exhaustive()
    }
}

/// A packet at a link, as its events show it.
#[derive(Debug, Clone, Copy)]
pub struct PacketAtLink {
    /// A number that no other packet under way has.
    pub number: u32,
    /// Number of the flow.
    pub flow: u32,
    /// It goes to the sender of the flow's data.
    pub to_sender: bool,
    /// As [`LinkEvent::sequence`].
    pub sequence: Option<u64>,
    /// Bytes, headers included.
    pub bytes: u32,
    /// Marked CE (RFC 3168).
    pub marked: bool,
}

impl EventTrace {
    /// So many events are written at a time by default: Parquet files of fewer are larger.
    pub const BATCH: usize = 1 << 17;

    /// An empty record.
    pub fn new(sink: Box<dyn EventSink>) -> EventTrace {
        EventTrace {
            sink,
            batch: EventTrace::BATCH,
            events: Vec::new(),
            marked_before: HashSet::new(),
            failure: None,
        }
    }

    /// Writes this many events at a time.
    #[must_use]
    pub fn with_batch(self, events: usize) -> EventTrace {
        EventTrace {
            batch: events,
            ..self
        }
    }

    /// A packet arrives at a link.
    pub fn arrived(&mut self, now: Time, link: u32, packet: &PacketAtLink) {
        if packet.marked {
            self.marked_before.insert((link, packet.number));
        }
        self.push(event(now, link, packet, EventKind::Arrived));
    }

    /// A link drops a packet.
    pub fn dropped(&mut self, now: Time, link: u32, packet: &PacketAtLink, cause: DropCause) {
        self.marked_before.remove(&(link, packet.number));
        self.push(LinkEvent {
            cause: Some(cause),
            ..event(now, link, packet, EventKind::Dropped)
        });
    }

    /// A packet comes out of a link, in whose queue it waited for so many nanoseconds.
    pub fn delivered(&mut self, now: Time, link: u32, packet: &PacketAtLink, waited_ns: u64) {
        let marked = packet.marked && !self.marked_before.remove(&(link, packet.number));
        if marked {
            self.push(event(now, link, packet, EventKind::Marked));
        }
        self.push(LinkEvent {
            waited_ns: Some(waited_ns),
            ..event(now, link, packet, EventKind::Delivered)
        });
    }

    fn push(&mut self, event: LinkEvent) {
        self.events.push(event);
        if self.events.len() >= self.batch {
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

fn event(now: Time, link: u32, packet: &PacketAtLink, kind: EventKind) -> LinkEvent {
    LinkEvent {
        time_ns: now.as_nanos(),
        link,
        flow: packet.flow,
        kind,
        cause: None,
        to_sender: packet.to_sender,
        sequence: packet.sequence,
        bytes: packet.bytes,
        waited_ns: None,
    }
}
