// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface between a run and its pending events.
//!
//! [`HeapScheduler`](super::reference::HeapScheduler) is the reference implementation, and the one to read first.
//! [`FastScheduler`](super::fast::FastScheduler) gives the same events in the same order, faster; `docs/simulator.md` has
//! measurements of whole runs.

use std::fmt::Debug;
use std::ops::Range;

use netnice_queue::Time;

use super::flight::{Departure, Flight};
use crate::packet::Packet;

/// The earliest pending event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A packet leaves a link; [`Scheduler::take_packet`] removes it.
    Packet,
    /// The event of this time and source, which is removed already.
    Due(Time, u32),
    /// Timers of the next milliseconds have to be sorted: the caller takes them by [`Scheduler::take_timers`], and inserts
    /// again those that are still due. Only a scheduler with a timing wheel asks for it.
    Timers,
}

/// Facts of the network that a scheduler needs.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    /// All links.
    pub links: usize,
    /// All links that do not know a packet's departure time on its arrival are among these.
    pub event_links: Range<usize>,
    /// FIFO lanes of drop-tail links, if [`Scheduler::NEEDS_LANES`].
    pub lanes: usize,
    /// Packets to be shown before they leave their links.
    pub preview: usize,
}

/// Pending events: earliest first, of simultaneous ones the lowest source (`event_source.rs`) first, and packets that leave one
/// link at one time in the order of insertion. A packet that leaves link n has source n.
///
/// No event may be inserted before the one removed last.
pub(crate) trait Scheduler: Debug {
    /// Packets are inserted by FIFO lane, as not all links fit into the processor's cache.
    const NEEDS_LANES: bool = false;

    /// A scheduler without events.
    fn new(shape: &Shape) -> Self;

    /// Inserts an event of any source but a link.
    fn insert(&mut self, time: Time, source: u32);

    /// Sets the time of the next event on a link that does not know a packet's departure time on its arrival. Such a
    /// link has one event at most: the caller may call this when it has none, or its event was removed last.
    fn set_link(&mut self, now: Time, link: usize, due: Option<Time>);

    /// Inserts a packet that will leave a link, no earlier than any other packet on that link. `lane` is the FIFO lane in which
    /// packets of its kind are in order, if [`Scheduler::NEEDS_LANES`].
    fn insert_packet(&mut self, lane: usize, link: u32, departure: Departure, packet: Packet);

    /// The earliest event if it is due at or before `limit`. A packet stays until it is taken; anything else is removed.
    fn pop_until(&mut self, limit: Time) -> Option<Event>;

    /// Removes the packet that [`Scheduler::pop_until`] has announced.
    fn take_packet(&mut self) -> Flight;

    /// Removes all packets, in order, in a run that has come to `now`.
    fn take_packets(&mut self, now: Time) -> Vec<Flight>;

    /// All packets that are on links, in any order.
    fn packets(&self) -> impl Iterator<Item = &Flight>;

    /// Removes the timers that [`Event::Timers`] has announced, in any order: keys of time in nanoseconds and source (32
    /// bits).
    fn take_timers(&mut self) -> Vec<u128> {
        Vec::new()
    }

    /// Shows this many packets by [`Scheduler::take_upcoming`] before they leave their links, or none.
    fn set_preview(&mut self, _packets: Option<usize>) {}

    /// There are packets to be shown.
    #[inline(always)]
    fn any_upcoming(&self) -> bool {
        false
    }

    /// Where up to `most` packets are among the upcoming ones that were not shown before.
    fn take_upcoming(&mut self, _most: usize) -> Option<Range<usize>> {
        None
    }

    /// Upcoming packets.
    fn upcoming(&self, _range: Range<usize>) -> &[Flight] {
        &[]
    }
}
