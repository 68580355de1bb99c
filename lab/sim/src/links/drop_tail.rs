// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulator's form of a link with a drop-tail queue: it computes on a packet's arrival when the packet will leave,
//! and does not keep the packet. RED is drop-tail that refuses some arrivals more.
//!
//! [`Link`](netnice_queue::Link) with a [`DropTail`](netnice_queue::DropTail) queue is the plain form, which does the same; the
//! tests below and the differential test `lab/sim/tests/engines.rs` compare the two.

use std::collections::VecDeque;
use std::mem::offset_of;
use std::time::Duration;

use netnice_queue::{
    DropCause, InOrderJitter, Jitter, LinkConfig, LinkCounters, LinkUsage, Packet, QueueBound,
    RandomLoss, Rate, RedAdmission, Time,
};

use crate::engine::flight::Departure;
use crate::links::transmission::{Transmission, Transmissions};
use crate::tcp::prefetch::prefetch;

/// Properties of all links of one group: rate, delay, the longest jitter and the bound of the queue. They are stored once,
/// and so stay in the processor's cache, however many links there are.
#[derive(Debug, Clone)]
pub struct LinkProperties {
    rate: Option<Rate>,
    delay_ns: u64,
    /// `None` without jitter.
    longest_jitter_ns: Option<u64>,
    bound: QueueBound,
    /// Up to this length a packet always fits into the empty queue.
    always_fits: u64,
    /// For packets of two lengths, data and ACKs mostly.
    of_length: [OfLength; 2],
    /// Time of the longest packet from the beginning of its transmission to the far end, rounded up.
    longest_ns: u64,
    /// `longest_ns` and the longest wait together.
    longest_stay_ns: u64,
}

/// A length that no packet has.
const NO_LENGTH: u32 = u32::MAX;

/// Transmission times of packets of the length used last.
#[derive(Debug, Clone)]
struct OfLength {
    transmissions: Transmissions,
    /// Of the packet sent last, and the time of the one before.
    length: u32,
    before: Transmission,
}

impl LinkProperties {
    /// Links of this rate (`None` takes no time to send) and propagation delay, with queues of at most `bound`, whose jitter,
    /// if they have any, is `longest_jitter_ns` at most.
    pub fn new(
        rate: Option<Rate>,
        delay: Duration,
        bound: QueueBound,
        longest_jitter_ns: Option<u64>,
    ) -> LinkProperties {
        LinkProperties {
            rate,
            delay_ns: u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX),
            longest_jitter_ns,
            bound,
            always_fits: match bound {
                QueueBound::Packets(0) => 0,
                QueueBound::Packets(_) => u64::MAX,
                QueueBound::Bytes(limit) => limit,
            },
            of_length: [(); 2].map(|()| OfLength {
                transmissions: Transmissions::new(rate),
                length: NO_LENGTH,
                before: Transmission::default(),
            }),
            longest_ns: u64::MAX,
            longest_stay_ns: u64::MAX,
        }
    }

    /// No packet will be longer than that; see [`DropTailLink::latest_departure`].
    pub fn set_longest(&mut self, bytes: u32) {
        let mut transmissions = Transmissions::new(self.rate);
        transmissions.find(u64::from(bytes), &mut 0, &mut Transmission::default());
        // A nanosecond each for this packet's fraction and for the remainder of the packet before.
        let longest_ns = transmissions.take(&mut 0) + 2;
        let after_ns = (self.delay_ns).saturating_add(self.longest_jitter_ns.unwrap_or(0));
        self.longest_ns = longest_ns.saturating_add(after_ns);
        let queue = match self.bound {
            QueueBound::Packets(limit) => limit as u64,
            QueueBound::Bytes(limit) => limit / u64::from(bytes.max(1)) + 1,
        };
        // The waiting packets, the one in transmission, and the packet itself.
        let sent = queue.saturating_add(2);
        self.longest_stay_ns = sent.saturating_mul(longest_ns).saturating_add(after_ns);
    }

    /// Longest time in nanoseconds that a packet spends on a link with these properties, its wait included; `u64::MAX` without
    /// [`LinkProperties::set_longest`].
    pub fn longest_stay_ns(&self) -> u64 {
        self.longest_stay_ns
    }

    /// How long a packet takes to send.
    #[inline(always)]
    fn transmissions(&mut self, length: u64) -> &Transmissions {
        // Select by index, without a branch: links carry the two lengths in any order.
        let mut place = usize::from(u64::from(self.of_length[1].length) == length);
        if u64::from(self.of_length[place].length) != length {
            self.find(length);
            place = 1;
        }
        &self.of_length[place].transmissions
    }

    /// A third length takes the place of the one that was found longer ago.
    #[inline(never)]
    fn find(&mut self, length: u64) {
        let OfLength {
            transmissions,
            length: last,
            before,
        } = &mut self.of_length[0];
        transmissions.find(length, last, before);
        self.of_length.swap(0, 1);
    }

    /// The rate; `None` takes no time to send.
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Returns true if packets that find their link idle take different times over it.
    pub fn has_jitter(&self) -> bool {
        self.longest_jitter_ns.is_some()
    }
}

/// One direction of a link with a drop-tail queue, without conditions (policer, shaper, trace, outages, changes, loss model,
/// batches). The caller keeps the packets until they are due.
///
/// A network has many links that are idle when a packet arrives, and most of their time goes into fetching them from
/// memory. So such a packet needs one cache line, and none when it comes out.
#[derive(Debug)]
#[repr(align(64))]
pub struct DropTailLink {
    /// End of the last transmission known, rounded down; `remainder / rate` nanoseconds more make it exact.
    free_at: Time,
    remainder: u64,
    /// Time spent sending, up to `free_at`.
    busy_ns: u64,
    /// Packets offered, and their bytes.
    offered: u64,
    offered_bytes: u64,
    /// `None` while no packet had to wait and none was dropped.
    rest: Option<Box<Rest>>,
    /// All that a packet needs beside this where chance may take or delay it and the link is idle.
    chance: Option<Box<Chance>>,
    group: u32,
    /// Chance may take or delay packets.
    has_chance: bool,
    /// It may take them.
    has_loss: bool,
    /// RED decides first.
    is_red: bool,
}

/// State that a packet does not need if it finds the link idle. A packet that waits needs the first two cache lines.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Rest {
    /// When the transmission of the last packet that had to wait begins, in nanoseconds.
    last_start_ns: u64,
    /// Packets not yet seen to have begun transmission; `bytes` are theirs.
    packets: u32,
    /// Length of the first of them in bytes, and when its transmission will begin.
    first_length: u32,
    first_start_ns: u64,
    bytes: u64,
    /// Beginning of the transmission in nanoseconds, and length in bytes, of each of the others.
    others: VecDeque<(u64, u32)>,
    max_packets: u32,
    max_bytes: u64,
    /// The queue's length integrated over time; of packets that still wait, the whole wait.
    packet_ns: u128,
    byte_ns: u128,
    max_wait_ns: u64,
    /// `None` while no packet was dropped.
    drops: Option<Box<Drops>>,
}

/// Packets dropped, and their bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Drops {
    queue_full: u64,
    random_loss: u64,
    early_drop: u64,
    forced_drop: u64,
    bytes: u64,
}

impl Drops {
    fn packets(&self) -> u64 {
        self.queue_full + self.random_loss + self.early_drop + self.forced_drop
    }
}

/// Random effects on the packets of a link. Jitter needs one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
struct Chance {
    jitter: Option<InOrderJitter>,
    loss: Option<RandomLoss>,
    red: Option<Box<RedAdmission>>,
}

const _: () = assert!(offset_of!(Chance, loss) == 64);
const _: () = assert!(offset_of!(Rest, max_packets) == 64 && size_of::<Rest>() == 128);

impl DropTailLink {
    /// An idle link of the group that has this number, with jitter that keeps the order; of `config` only its loss and its
    /// seed matter.
    pub fn new(group: u32, config: &LinkConfig, jitter: Jitter) -> DropTailLink {
        let chance = Chance {
            loss: RandomLoss::new(config),
            jitter: InOrderJitter::new(jitter, config.seed),
            red: None,
        };
        let has_loss = chance.loss.is_some();
        let has_chance = has_loss || chance.jitter.is_some();
        DropTailLink {
            free_at: Time::ZERO,
            remainder: 0,
            busy_ns: 0,
            offered: 0,
            offered_bytes: 0,
            rest: None,
            chance: has_chance.then(|| Box::new(chance)),
            group,
            has_chance,
            has_loss,
            is_red: false,
        }
    }

    /// A link on which RED decides about arrivals before they come to the queue ([`DropTailLink::admit`]). It has no random loss,
    /// which would come first.
    pub fn with_red(mut self, red: RedAdmission) -> DropTailLink {
        let chance = self.chance.get_or_insert_with(|| {
            Box::new(Chance {
                jitter: None,
                loss: None,
                red: None,
            })
        });
        chance.red = Some(Box::new(red));
        self.is_red = true;
        self
    }

    /// The number of the link's group.
    #[inline]
    pub fn group(&self) -> usize {
        self.group as usize
    }

    /// The number of the link's group, which may change before the link is used.
    pub fn group_mut(&mut self) -> &mut u32 {
        &mut self.group
    }

    /// Latest time at which the next packet comes out if it arrives at `at` or before, whatever its length: the end of
    /// time without [`LinkProperties::set_longest`]. `properties` are the link's.
    ///
    /// It is no earlier for any later packet.
    #[inline]
    pub fn latest_departure(&self, properties: &LinkProperties, at: Time) -> Time {
        self.free_at.max(at).plus_nanos(properties.longest_ns)
    }

    /// Begins to fetch the state that a waiting packet needs. Reads the link.
    #[inline]
    pub fn prefetch_waiting(&self) {
        if let Some(rest) = &self.rest {
            prefetch(&**rest, 2);
        }
    }

    /// Begins to fetch what a packet needs that chance may take or delay. Reads the link.
    #[inline]
    pub fn prefetch_chance(&self) {
        if let Some(chance) = &self.chance {
            prefetch(&**chance, if self.has_loss { 2 } else { 1 });
        }
    }

    /// Returns true if chance may take or delay packets.
    #[inline]
    pub fn has_chance(&self) -> bool {
        self.has_chance
    }

    /// Returns true if a packet that arrives at `at` has to wait for those that have arrived so far.
    #[inline]
    pub fn is_busy_at(&self, at: Time) -> bool {
        self.free_at > at
    }

    /// Returns true if packets have to pass [`DropTailLink::admit`] before they are offered.
    #[inline(always)]
    pub fn is_red(&self) -> bool {
        self.is_red
    }

    /// RED decides about a packet that arrives at `now`: returns it, possibly marked, to be offered at once, or why it is dropped.
    #[inline(never)]
    pub fn admit<P: Packet>(
        &mut self,
        properties: &LinkProperties,
        now: Time,
        mut packet: P,
    ) -> Result<P, DropCause> {
        let chance = self.chance.as_mut();
        let Some(red) = chance.and_then(|chance| chance.red.as_mut()) else {
            return Ok(packet);
        };
        let length = packet.length() as u64;
        let rest = self.rest.get_or_insert_default();
        rest.settle(now);
        let waiting = (rest.packets as usize, rest.bytes);
        if self.free_at <= now {
            red.begin_idle(self.free_at);
        }
        let fits = properties.bound.fits(waiting.0, waiting.1, length);
        match red.admit(now, &mut packet, waiting, fits) {
            Ok(()) => Ok(packet),
            Err(cause) => {
                self.offered += 1;
                self.offered_bytes += length;
                Err(rest.dropped(cause, length))
            }
        }
    }

    /// Offers a packet of `length` bytes at `now`: returns when it comes out, or why it is dropped. `properties` are
    /// the link's.
    ///
    /// `now` must not be earlier than in any call before.
    #[inline(always)]
    pub fn offer(
        &mut self,
        properties: &mut LinkProperties,
        now: Time,
        length: u32,
    ) -> Result<Departure, DropCause> {
        let length = u64::from(length);
        self.offered += 1;
        self.offered_bytes += length;
        if self.free_at <= now && length <= properties.always_fits && !self.has_chance {
            let due = self.transmit(properties, now, length);
            return Ok(Departure { due, waited_ns: 0 });
        }
        self.offer_beside_others(properties, now, length)
    }

    /// Offers a packet that may be lost at random, or that has to pass the queue.
    #[inline(never)]
    fn offer_beside_others(
        &mut self,
        properties: &mut LinkProperties,
        now: Time,
        length: u64,
    ) -> Result<Departure, DropCause> {
        let start = self.free_at;
        if self.has_loss {
            let loss = self.chance.as_mut().and_then(|chance| chance.loss.as_mut());
            if loss.is_some_and(RandomLoss::strikes) {
                let rest = self.rest.get_or_insert_default();
                return Err(rest.dropped(DropCause::RandomLoss, length));
            }
        }
        if start <= now && length <= properties.always_fits {
            let due = self.transmit(properties, now, length);
            let due = self.delayed(due);
            return Ok(Departure { due, waited_ns: 0 });
        }
        let rest = self.rest.get_or_insert_default();
        rest.settle(now);
        if !properties
            .bound
            .fits(rest.packets as usize, rest.bytes, length)
        {
            return Err(rest.dropped(DropCause::QueueFull, length));
        }
        let mut waited_ns = 0;
        if start > now {
            waited_ns = start.as_nanos() - now.as_nanos();
            rest.wait(start, length, waited_ns);
        }
        let mut due = self.transmit(properties, start.max(now), length);
        if self.has_chance {
            due = self.delayed(due);
        }
        Ok(Departure { due, waited_ns })
    }

    /// Jitter for a packet that comes out at `due` without it.
    fn delayed(&mut self, due: Time) -> Time {
        let chance = self.chance.as_mut();
        let jitter = chance.and_then(|chance| chance.jitter.as_mut());
        jitter.map_or(due, |jitter| jitter.delay(due))
    }

    /// Begins a transmission at `start`, and returns when the packet comes out.
    #[inline(always)]
    fn transmit(&mut self, properties: &mut LinkProperties, start: Time, length: u64) -> Time {
        if start > self.free_at {
            self.remainder = 0;
        }
        let took_ns = properties.transmissions(length).take(&mut self.remainder);
        self.busy_ns += took_ns;
        self.free_at = start.plus_nanos(took_ns);
        self.free_at.plus_nanos(properties.delay_ns)
    }

    /// The link's counters so far; `inside` are the packets accepted that have not come out, and their bytes.
    pub fn counters(&self, inside: (u64, u64)) -> LinkCounters {
        let none = Rest::default();
        let rest = self.rest.as_deref().unwrap_or(&none);
        let drops = rest.drops.as_deref().copied().unwrap_or_default();
        let chance = self.chance.as_deref();
        let red = chance.and_then(|chance| chance.red.as_deref());
        LinkCounters {
            offered: self.offered,
            offered_bytes: self.offered_bytes,
            delivered: self.offered - drops.packets() - inside.0,
            delivered_bytes: self.offered_bytes - drops.bytes - inside.1,
            queue_full: drops.queue_full,
            random_loss: drops.random_loss,
            early_drop: drops.early_drop,
            forced_drop: drops.forced_drop,
            marked: red.map_or(0, RedAdmission::marks),
            max_queue_packets: rest.max_packets as usize,
            max_queue_bytes: rest.max_bytes,
            max_queue_wait: Duration::from_nanos(rest.max_wait_ns),
            ..LinkCounters::default()
        }
    }

    /// How much of the link and of its queue was in use from the beginning until `now`.
    pub fn usage(&mut self, now: Time) -> LinkUsage {
        let mut usage = LinkUsage {
            until: now,
            // `busy_ns` also counts the time from `now` to `free_at`, during which the link is busy without a pause.
            busy: Duration::from_nanos(self.busy_ns) - (self.free_at - now),
            ..LinkUsage::default()
        };
        if let Some(rest) = &mut self.rest {
            rest.settle(now);
            usage.queue_packet_ns = rest.packet_ns;
            usage.queue_byte_ns = rest.byte_ns;
            // The part of the waiting that is yet to come.
            for (start_ns, length) in rest.waiting() {
                let left_ns = u128::from(start_ns - now.as_nanos());
                usage.queue_packet_ns -= left_ns;
                usage.queue_byte_ns -= left_ns * u128::from(length);
            }
        }
        usage
    }

    /// Restarts the maximum of the queue from its length at `now`.
    pub fn restart_max_queue(&mut self, now: Time) {
        let (packets, bytes) = self.queue(now);
        if let Some(rest) = &mut self.rest {
            (rest.max_packets, rest.max_bytes) = (packets as u32, bytes);
        }
    }

    /// Returns false if no packet has had to wait.
    pub fn has_queued(&self) -> bool {
        self.rest.is_some()
    }

    /// Returns false if none of the packets that have arrived so far waits after `at`.
    pub fn is_queued_after(&self, at: Time) -> bool {
        let rest = self.rest.as_ref();
        rest.is_some_and(|rest| rest.last_start_ns > at.as_nanos())
    }

    /// Packets waiting for transmission at `now`, and their bytes.
    pub fn queue(&mut self, now: Time) -> (usize, u64) {
        match &mut self.rest {
            None => (0, 0),
            Some(rest) => {
                rest.settle(now);
                (rest.packets as usize, rest.bytes)
            }
        }
    }
}

impl Rest {
    /// Removes the packets whose transmission has begun by `now`.
    #[inline]
    fn settle(&mut self, now: Time) {
        if self.last_start_ns <= now.as_nanos() {
            // All of them, without a look at each.
            self.others.clear();
            self.packets = 0;
            self.bytes = 0;
            return;
        }
        while self.packets > 0 && self.first_start_ns <= now.as_nanos() {
            self.bytes -= u64::from(self.first_length);
            self.packets -= 1;
            if let Some(next) = self.others.pop_front() {
                (self.first_start_ns, self.first_length) = next;
            }
        }
    }

    /// When the transmission of each waiting packet begins, in nanoseconds, and its length in bytes.
    fn waiting(&self) -> impl Iterator<Item = (u64, u32)> {
        let first = (self.packets > 0).then_some((self.first_start_ns, self.first_length));
        first.into_iter().chain(self.others.iter().copied())
    }

    /// Adds a packet that waits `waited_ns`, until `start`.
    #[inline]
    fn wait(&mut self, start: Time, length: u64, waited_ns: u64) {
        self.last_start_ns = start.as_nanos();
        let waiting = (start.as_nanos(), length as u32);
        if self.packets == 0 {
            (self.first_start_ns, self.first_length) = waiting;
        } else {
            self.others.push_back(waiting);
        }
        self.packets += 1;
        self.bytes += length;
        self.max_wait_ns = self.max_wait_ns.max(waited_ns);
        self.max_packets = self.max_packets.max(self.packets);
        self.max_bytes = self.max_bytes.max(self.bytes);
        self.packet_ns += u128::from(waited_ns);
        self.byte_ns += u128::from(waited_ns) * u128::from(length);
    }

    /// Counts a drop.
    #[cold]
    fn dropped(&mut self, cause: DropCause, length: u64) -> DropCause {
        let drops = self.drops.get_or_insert_default();
        match cause {
            DropCause::RandomLoss => drops.random_loss += 1,
            DropCause::EarlyDrop => drops.early_drop += 1,
            DropCause::ForcedDrop => drops.forced_drop += 1,
            _ => drops.queue_full += 1,
        }
        drops.bytes += length;
        cause
    }
}

#[cfg(test)]
#[path = "drop_tail_tests.rs"]
mod tests;
