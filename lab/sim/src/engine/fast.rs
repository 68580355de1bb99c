// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast scheduler: a structure of its own for each kind of event.

use std::ops::Range;

use netnice_queue::Time;

use crate::engine::event_source;
use crate::engine::flight::{Departure, Flight};
use crate::engine::packet_queue::PacketQueue;
use crate::engine::scheduler::{Event, Scheduler, Shape};
use crate::engine::timing_wheel::TimingWheel;
use crate::engine::winner_tree::{self, WinnerTree};
use crate::packet::Packet;

/// Keeps packets on links that compute departure times on arrival in a [`PacketQueue`]; the next event of each other
/// link, which every packet may change, in a [`WinnerTree`]; and everything else in a [`TimingWheel`].
///
/// Keys of links are 64 bits wide: nanoseconds since `epoch` above the link's number. The few that lie too far ahead for that
/// are among the timers.
#[derive(Debug)]
pub(crate) struct FastScheduler<Q> {
    packets: Q,
    links: WinnerTree<Vec<u64>>,
    /// The number of the link with the first place in the tree.
    first_link: usize,
    others: TimingWheel,
    /// Not later than the event taken last.
    epoch: Time,
}

/// Bits of a key that hold the link's number.
const LINK_BITS: u32 = 24;
/// Most links that keys can number.
pub(crate) const MAX_LINKS: usize = 1 << LINK_BITS;
/// The first number of nanoseconds after the epoch that does not fit into a key: 18 minutes.
const FAR: u64 = 1 << (u64::BITS - LINK_BITS);

impl<Q: PacketQueue> FastScheduler<Q> {
    /// A scheduler for links without departure times known on arrival, which are among `links`, and for the packets on all others.
    fn with(links: Range<usize>, packets: Q) -> FastScheduler<Q> {
        FastScheduler {
            packets,
            links: WinnerTree::new(links.len()),
            first_link: links.start,
            others: TimingWheel::default(),
            epoch: Time::ZERO,
        }
    }

    /// Moves the epoch on. An event that is too far ahead still goes to the timers.
    #[cold]
    fn set_far_link(&mut self, now: Time, link: usize, due: Time) {
        self.links.set(link - self.first_link, winner_tree::NONE);
        let passed = now.as_nanos() - self.epoch.as_nanos();
        self.links.change_all(|key| key - (passed << LINK_BITS));
        self.epoch = now;
        if due.as_nanos() - now.as_nanos() >= FAR - 1 {
            self.insert(due, event_source::LINK | link as u32);
        } else {
            self.set_link(now, link, Some(due));
        }
    }

    /// No link's event is due earlier.
    #[inline(always)]
    fn link_due(&self) -> Time {
        match self.links.first() {
            winner_tree::NONE => Time::NEVER,
            link => self.epoch.plus_nanos(link >> LINK_BITS),
        }
    }

    /// [`Scheduler::pop_until`] where something other than a packet is due, or may be.
    #[inline(never)]
    fn pop_of_all(&mut self, limit: Time) -> Option<Event> {
        let (link, other) = (self.links.first(), self.others.first());
        let link = match link {
            winner_tree::NONE => u128::MAX,
            link => {
                let due = u128::from(self.epoch.as_nanos() + (link >> LINK_BITS));
                (due << 32) | link_of(link) as u128
            }
        };
        let key = link.min(other);
        let time = Time::from_nanos((key >> 32) as u64);
        // The source of the next packet, which takes longer to find out than its time, matters at the same time only.
        let due = self.packets.first_due();
        if due < time || (due == time && self.packets.first() <= key) {
            return (due <= limit).then_some(Event::Packet);
        }
        // Where there is none, the key is later than all others, and so is its time.
        if time > limit || key == u128::MAX {
            return None;
        }
        if other < link {
            if self.others.slot_is_first() {
                return Some(Event::Timers);
            }
            self.others.take_first();
        }
        Some(Event::Due(time, key as u32))
    }
}

impl<Q: PacketQueue> Scheduler for FastScheduler<Q> {
    const NEEDS_LANES: bool = !Q::FITS_CACHE;

    fn new(shape: &Shape) -> FastScheduler<Q> {
        FastScheduler::with(shape.event_links.clone(), Q::new(shape))
    }

    #[inline]
    fn insert(&mut self, time: Time, source: u32) {
        self.others
            .push((u128::from(time.as_nanos()) << 32) | u128::from(source));
    }

    #[inline(always)]
    fn set_link(&mut self, now: Time, link: usize, due: Option<Time>) {
        let key = match due {
            None => winner_tree::NONE,
            Some(due) => {
                let ahead = due.as_nanos() - self.epoch.as_nanos();
                if ahead >= FAR - 1 {
                    return self.set_far_link(now, link, due);
                }
                (ahead << LINK_BITS) | link as u64
            }
        };
        self.links.set(link - self.first_link, key);
    }

    #[inline(always)]
    fn insert_packet(&mut self, lane: usize, link: u32, departure: Departure, packet: Packet) {
        self.packets.push(lane, link, departure, packet);
    }

    /// The event of a link is removed as [`Scheduler::set_link`] puts another in its place.
    #[inline(always)]
    fn pop_until(&mut self, limit: Time) -> Option<Event> {
        let due = self.packets.first_due();
        if due < self.link_due().min(self.others.first_due()) {
            return (due <= limit).then_some(Event::Packet);
        }
        self.pop_of_all(limit)
    }

    // An event that held the packet would be copied in pieces.
    #[inline(always)]
    fn take_packet(&mut self) -> Flight {
        self.packets.take_first()
    }

    fn take_packets(&mut self, now: Time) -> Vec<Flight> {
        self.packets.take_all(now)
    }

    fn packets(&self) -> impl Iterator<Item = &Flight> {
        self.packets.iter()
    }

    fn take_timers(&mut self) -> Vec<u128> {
        self.others.take_slot()
    }

    fn set_preview(&mut self, packets: Option<usize>) {
        self.packets.know_ahead(packets);
    }

    #[inline(always)]
    fn any_upcoming(&self) -> bool {
        self.packets.any_fresh()
    }

    fn take_upcoming(&mut self, most: usize) -> Option<Range<usize>> {
        self.packets.take_fresh(most)
    }

    fn upcoming(&self, range: Range<usize>) -> &[Flight] {
        self.packets.upcoming(range)
    }
}

/// The link number in a key; meaningless for [`winner_tree::NONE`].
fn link_of(key: u64) -> usize {
    (key as u32 as usize) & (MAX_LINKS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fifo_lanes::FifoLanes;
    use crate::engine::link_fifos::LinkFifos;
    use crate::engine::reference::HeapScheduler;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn of_simultaneous_events_the_lowest_source_is_first() {
        let mut queue = FastScheduler::with(2..5, LinkFifos::new(0));
        let time = Time::from_millis(5);
        queue.set_link(Time::ZERO, 3, Some(time));
        queue.insert(time, event_source::WRITE | 1);
        queue.set_link(Time::ZERO, 2, Some(time));
        assert_eq!(queue.pop_until(Time::from_millis(4)), None);
        for expected in [2, 3, event_source::WRITE | 1] {
            assert_eq!(queue.pop_until(time), Some(Event::Due(time, expected)));
            if expected < 5 {
                queue.set_link(time, expected as usize, None);
            }
        }
        assert_eq!(queue.pop_until(time), None);
    }

    /// The earliest event due at or before `limit`, after all timers before it are sorted.
    fn pop(queue: &mut impl Scheduler, limit: Time) -> Option<Event> {
        loop {
            match queue.pop_until(limit) {
                Some(Event::Timers) => {
                    for key in queue.take_timers() {
                        queue.insert(Time::from_nanos((key >> 32) as u64), key as u32);
                    }
                }
                event => return event,
            }
        }
    }

    /// Takes the same steps with `queue` and with the reference: a source, by how much later its event is due, in nanoseconds
    /// and in quarters of [`FAR`], and whether it is inserted; otherwise the earliest event until then is removed.
    fn compare(
        mut queue: impl Scheduler,
        links: usize,
        steps: &[(u32, u64, u64, bool)],
    ) -> Result<(), TestCaseError> {
        let mut reference = HeapScheduler::default();
        let mut pending = BTreeSet::new();
        let mut now = Time::ZERO;
        for &(source, later, much_later, insert) in steps {
            let due = now.plus_nanos(later + (FAR / 4) * much_later);
            let link = source as usize;
            if insert && link < links {
                if pending.insert(source) {
                    reference.set_link(now, link, Some(due));
                    queue.set_link(now, link, Some(due));
                }
            } else if insert && source >= 36 {
                // A link on which packets stay in order.
                if pending.insert(source) {
                    let departure = Departure { due, waited_ns: 0 };
                    let packet = Flight::NONE.packet;
                    reference.insert_packet(link % 3, source, departure, packet);
                    queue.insert_packet(link % 3, source, departure, packet);
                }
            } else if insert {
                reference.insert(due, source | event_source::SENDER_TIMER);
                queue.insert(due, source | event_source::SENDER_TIMER);
            } else {
                let expected = reference.pop_until(due);
                prop_assert_eq!(pop(&mut queue, due), expected);
                match expected {
                    None => {}
                    Some(Event::Packet) => {
                        let flight = reference.take_packet();
                        prop_assert_eq!(queue.take_packet(), flight);
                        pending.remove(&flight.link);
                        now = flight.due;
                    }
                    Some(Event::Due(at, source)) => {
                        pending.remove(&source);
                        now = at;
                        if (source as usize) < links {
                            reference.set_link(at, source as usize, None);
                            queue.set_link(at, source as usize, None);
                        }
                    }
                    Some(Event::Timers) => unreachable!("the heap sorts all timers"),
                }
            }
            prop_assert_eq!(queue.packets().count(), reference.packets().count());
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn events_come_out_as_from_the_reference(
            links in 0usize..20,
            // Some times lie too far ahead for the keys of links.
            steps in prop::collection::vec((0u32..40, 0u64..50, 0u64..8, any::<bool>()), 1..400),
        ) {
            compare(FastScheduler::with(0..links, LinkFifos::new(40)), links, &steps)?;
            compare(FastScheduler::with(0..links, FifoLanes::new(2, 1)), links, &steps)?;
        }
    }
}
