// SPDX-License-Identifier: MIT OR Apache-2.0
//! One trace of several links, in the order of time.
//!
//! Packets are noted out of order, as the run fast-forwards some of them. What is noted comes out of its link at the run's present or later: so
//! what is earlier than the present can be written, and the rest, which is what is under way, is kept.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use std::mem;

use netnice_queue::Time;

use crate::labels::Labels;
use crate::tcp::SackBlock;
use crate::trace::noted::{Batch, Noted};
use crate::trace::pcapng::Pcapng;

/// A trace of several links, of which each is an interface.
///
/// Packets are in the order of the times at which they come out of their links; simultaneous ones in that of the interfaces' numbers.
#[derive(Debug)]
pub struct MergedCapture {
    file: Pcapng,
    /// Of the newest packet of each interface, the identification in its IPv4 header.
    identifications: Vec<u16>,
    kept: Kept,
    /// Packets that were kept and are now written.
    released: Vec<Late>,
    /// Keys of the packets to write. Places count the packets in `released` first, then those in the batch.
    order: InOrder,
    /// All that is earlier is written.
    written_until: Time,
}

/// Bytes kept before they are written: they stay in a core's cache until they are copied.
const KEPT: usize = 1 << 18;

impl MergedCapture {
    /// A trace of links with these names, which are interfaces 0, 1, 2 and so on, with at most `snap_length` bytes of each packet. It keeps
    /// 256 KiB before it writes.
    pub fn new<'a>(
        out: Box<dyn Write + Send>,
        links: impl Iterator<Item = &'a str>,
        snap_length: u32,
    ) -> MergedCapture {
        let mut file = Pcapng::new(out, snap_length, KEPT);
        let mut identifications = Vec::new();
        for link in links {
            file.add_interface(link);
            identifications.push(0);
        }
        MergedCapture {
            file,
            identifications,
            kept: Kept::default(),
            released: Vec::new(),
            order: InOrder::default(),
            written_until: Time::ZERO,
        }
    }

    /// Writes the packets that no later one can come before: of a batch, and of those that were kept.
    pub(crate) fn write(&mut self, batch: &Batch, labels: &[Labels]) {
        let until = batch.later_from;
        self.released.clear();
        self.order.keys.clear();
        while let Some((interface, late)) = self.kept.take_before(until) {
            let place = self.released.len();
            self.order.keys.push(key(late.noted.at, interface, place));
            self.released.push(late);
        }
        let behind = self.released.len();
        for (place, noted) in batch.packets.iter().enumerate() {
            let Some(interface) = noted.trace.as_interface() else {
                continue;
            };
            if noted.at < until {
                self.order
                    .keys
                    .push(key(noted.at, interface, behind + place));
            } else {
                let (noted, sack) = (*noted, batch.sack(noted));
                self.kept.add(interface, Late { noted, sack });
            }
        }
        let order = self.order.sort();
        let first = order
            .first()
            .map_or(until, |&key| Time::from_nanos(nanos(key)));
        debug_assert!(first >= self.written_until, "{first:?} comes too late");
        self.written_until = until;
        for &key in order {
            let (noted, sack) = match place(key).checked_sub(behind) {
                Some(place) => {
                    let noted = &batch.packets[place];
                    (noted, batch.sack(noted))
                }
                None => {
                    let late = &self.released[place(key)];
                    (&late.noted, late.sack)
                }
            };
            let interface = interface(key);
            let identification = &mut self.identifications[interface as usize];
            *identification = identification.wrapping_add(1);
            let (packet, body) = noted.packet(sack);
            self.file.packet(
                (interface, noted.at),
                &packet,
                &body.segment,
                (&labels[noted.flow as usize], noted.is_reverse()),
                *identification,
            );
        }
    }

    /// Writes what is left, once all packets are written; an error if anything could not be written.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.file.finish()
    }
}

/// Sorts packets by time and interface; those of an interface that come out of their link at the same time stay in the order of their places.
fn key(at: Time, interface: u32, place: usize) -> u128 {
    u128::from(at.as_nanos()) << 64 | u128::from(interface) << 32 | place as u128
}

fn place(key: u128) -> usize {
    key as u32 as usize
}

fn interface(key: u128) -> u32 {
    (key >> 32) as u32
}

fn nanos(key: u128) -> u64 {
    (key >> 64) as u64
}

/// Keys to be sorted. They are spread over some time, mostly evenly.
#[derive(Debug, Default)]
struct InOrder {
    keys: Vec<u128>,
    sorted: Vec<u128>,
    /// Of each interval of time the place of its first key, and then the one behind its last.
    places: Vec<u32>,
}

impl InOrder {
    /// Sorts keys into about as many intervals of time as there are keys, and then those of each interval.
    fn sort(&mut self) -> &[u128] {
        let times = self.keys.iter().map(|&key| nanos(key));
        let first = times.clone().min().unwrap_or(0);
        let span = times.max().unwrap_or(0) - first;
        let bits = (span | 1).ilog2() + 1;
        let shift = bits.saturating_sub(self.keys.len().max(1).ilog2() + 1);
        let interval = |key: u128| ((nanos(key) - first) >> shift) as usize;
        self.places.clear();
        self.places.resize((span >> shift) as usize + 1, 0);
        for &key in &self.keys {
            self.places[interval(key)] += 1;
        }
        let mut before = 0;
        for place in &mut self.places {
            before += mem::replace(place, before);
        }
        self.sorted.resize(self.keys.len(), 0);
        for &key in &self.keys {
            let place = &mut self.places[interval(key)];
            self.sorted[*place as usize] = key;
            *place += 1;
        }
        let mut begin = 0;
        for &end in &self.places {
            self.sorted[begin..end as usize].sort_unstable();
            begin = end as usize;
        }
        &self.sorted
    }
}

/// A packet that is kept, with its SACK blocks if it has any.
#[derive(Debug, Clone, Copy)]
struct Late {
    noted: Noted,
    sack: Option<[SackBlock; 3]>,
}

/// Packets that are later than the present was.
#[derive(Debug, Default)]
struct Kept {
    /// Time, interface, number in the order in which packets were kept, and place in `slots`.
    order: BinaryHeap<Reverse<(Time, u32, u64, u32)>>,
    slots: Vec<Late>,
    free: Vec<u32>,
    so_far: u64,
}

impl Kept {
    fn add(&mut self, interface: u32, late: Late) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = late;
                slot
            }
            None => {
                self.slots.push(late);
                self.slots.len() as u32 - 1
            }
        };
        let key = (late.noted.at, interface, self.so_far, slot);
        self.order.push(Reverse(key));
        self.so_far += 1;
    }

    /// Takes out the first packet and its interface, if it is earlier than `until`.
    fn take_before(&mut self, until: Time) -> Option<(u32, Late)> {
        let &Reverse((at, interface, _, slot)) = self.order.peek()?;
        if at >= until {
            return None;
        }
        self.order.pop();
        self.free.push(slot);
        Some((interface, self.slots[slot as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::{InOrder, key};
    use netnice_queue::Time;

    #[test]
    fn keys_are_sorted_however_they_are_spread() {
        let first = 1 << 40;
        let times: [fn(u64) -> u64; 4] = [
            |number| number * 7919 % 1000,
            // All at once, all but one, and very far apart.
            |_| 5,
            |number| {
                if number == 3 {
                    u64::MAX / 2
                } else {
                    number % 10
                }
            },
            |number| 1 << (number % 63),
        ];
        let mut order = InOrder::default();
        for time in times {
            for keys in [0, 1, 2, 1000] {
                order.keys.clear();
                order.keys.extend((0..keys).map(|number| {
                    let at = Time::from_nanos(first + time(number));
                    key(at, (number % 3) as u32, number as usize)
                }));
                let mut expected = order.keys.clone();
                expected.sort_unstable();
                assert_eq!(order.sort(), expected);
            }
        }
    }
}
