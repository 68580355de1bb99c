// SPDX-License-Identifier: MIT OR Apache-2.0
//! CAKE: Common Applications Kept Enhanced.
//!
//! Høiland-Jørgensen, Täht and Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways" (2018),
//! and tc-cake(8). The link's rate is that of CAKE's shaper, which sends packet by packet without bursts as the link does.
//! Of Linux's CAKE it has neither the ACK filter nor ingress mode nor a correction for the overhead of lower layers.

use std::collections::VecDeque;
use std::time::Duration;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::discipline_context::{DisciplineContext, DisciplineError};
use crate::disciplines::cobalt::{Cobalt, CobaltLaw, Verdict};
use crate::disciplines::codel::{Signals, TimedFifo};
use crate::disciplines::set_associative::{self, Found, SLOTS};
use crate::queue_discipline::{DropCause, Dropped, Packet, QueueDiscipline};
use crate::time::Time;
use crate::units::{Bytes, QueueBound, QueueLimit, Rate, positive_delay};

/// Tins of CAKE: classes of traffic by DSCP, of which each but the first has priority up to a share of the rate.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CakeTins {
    /// One tin.
    Besteffort,
    /// Best effort; bulk (LE, CS1) up to 1/16 of the rate; voice (CS7, CS6, EF, VA, DSCP 4) up to 1/4.
    #[default]
    Diffserv3,
    /// Best effort; bulk (LE, CS1) up to 1/16 of the rate; video (AF4x, AF3x, AF2x, CS3, CS2, DSCP 4) up to 1/2; voice (CS7,
    /// CS6, CS5, CS4, EF, VA) up to 1/4.
    Diffserv4,
}

impl CakeTins {
    /// Divisors of the rate up to which the tins have priority, from the tin of lowest priority to that of highest.
    fn divisors(self) -> &'static [u64] {
        match self {
            CakeTins::Besteffort => &[1],
            CakeTins::Diffserv3 => &[1, 16, 4],
            CakeTins::Diffserv4 => &[1, 16, 2, 4],
        }
    }

    /// The tin of a packet with this DSCP, as in Linux since 5.9.
    fn tin(self, dscp: u8) -> usize {
        match (self, dscp) {
            (CakeTins::Besteffort, _) => 0,
            // LE (RFC 8622) and CS1.
            (_, 1 | 8) => 1,
            // DSCP 4 was the TOS of least delay; VOICE-ADMIT (RFC 5865), EF, CS6, CS7.
            (CakeTins::Diffserv3, 4 | 44 | 46 | 48 | 56) => 2,
            // CS2 and AF2x, CS3 and AF3x, AF4x.
            (CakeTins::Diffserv4, 4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38) => 2,
            // CS4, CS5, VOICE-ADMIT, EF, CS6, CS7.
            (CakeTins::Diffserv4, 32 | 40 | 44 | 46 | 48 | 56) => 3,
            _ => 0,
        }
    }
}

/// Between whom CAKE divides a tin's rate.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CakeIsolation {
    /// Flows, whatever their hosts.
    Flows,
    /// Source hosts, and then their flows.
    DualSrchost,
    /// Destination hosts, and then their flows.
    DualDsthost,
    /// Source and destination hosts, and then their flows: a flow's share is divided by the larger of the numbers of bulk flows
    /// that its source and its destination have.
    #[default]
    TripleIsolate,
}

/// Configuration of a CAKE queue.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CakeConfig {
    /// Bound over all tins. A full queue drops the first packet of the flow queue with the most bytes. Linux's `memlimit`,
    /// which counts the kernel's buffers, is 4 MiB or four times `rtt` at the rate, whichever is more.
    pub limit: QueueLimit,
    /// Round-trip time of the flows: COBALT's interval, and twenty times its target.
    #[cfg_attr(feature = "schemars", schemars(with = "crate::units::DelayText"))]
    #[serde(with = "positive_delay")]
    pub rtt: Duration,
    /// Classes by DSCP.
    pub tins: CakeTins,
    /// Between whom the rate is divided.
    pub isolation: CakeIsolation,
    /// As sch_cake of Linux: a flow queue that is used for the first time signals at the second packet that exceeds the target, and not
    /// after `rtt`.
    pub linux: bool,
}

impl CakeConfig {
    /// Returns true if the discipline marks ECN-capable packets.
    pub(crate) fn marks(&self) -> bool {
        true
    }
}

impl Default for CakeConfig {
    fn default() -> CakeConfig {
        CakeConfig {
            limit: QueueLimit::Bytes(Bytes::new(4 << 20)),
            rtt: Duration::from_millis(100),
            tins: CakeTins::default(),
            isolation: CakeIsolation::default(),
            linux: false,
        }
    }
}

impl CakeConfig {
    /// Creates a configuration with the defaults of Linux: an RTT of 100 ms, three tins, triple isolation.
    pub fn new(limit: QueueLimit) -> CakeConfig {
        CakeConfig {
            limit,
            ..CakeConfig::default()
        }
    }
}

/// No flow queue.
const NONE: u32 = u32::MAX;
/// Credits per byte: shares of the quantum need fractions. Linux draws a random number to round them.
const CREDITS: i64 = 1 << 16;

/// Sparse flow queues.
const NEW: usize = 0;
/// Bulk flow queues, and those found empty after they had sent their quantum.
const OLD: usize = 1;
/// Empty flow queues whose COBALT is not at rest.
const DECAYING: usize = 2;

/// The role of a flow queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rotation {
    /// In no list: it is empty.
    Idle,
    /// It has not yet sent its quantum.
    Sparse,
    /// It has sent its quantum, but was empty then, and does not count as bulk.
    SparseWaiting,
    /// It has sent its quantum while it had more.
    Bulk,
    /// It is empty, and its COBALT is not at rest.
    Decaying,
}

#[derive(Debug, Clone)]
struct FlowQueue<P> {
    queue: TimedFifo<P>,
    cobalt: Cobalt,
    /// In 1 / [`CREDITS`] of a byte; at most the quantum, and below zero by less than a packet.
    deficit: i64,
    rotation: Rotation,
    /// Hash of the flow it is reserved for.
    tag: u64,
    /// Slots of its hosts in the tables of sources and destinations.
    hosts: [usize; 2],
}

/// A host that sends or receives packets.
#[derive(Debug, Clone, Copy, Default)]
struct Host {
    tag: Option<u64>,
    bulk_flows: u32,
}

/// Hosts as sources or as destinations.
#[derive(Debug, Clone, Default)]
struct Hosts(Vec<Host>);

impl Hosts {
    /// Returns the host's slot. Where all are in use by others, it shares one.
    fn slot(&mut self, hash: u64) -> usize {
        let hosts = &self.0;
        let is_free = |slot: usize| hosts[slot].bulk_flows == 0;
        match set_associative::find(hash, |slot| hosts[slot].tag, is_free) {
            Found::Reserved(slot) => slot,
            Found::Free(slot) | Found::Collision(slot) => {
                self.0[slot].tag = Some(hash);
                slot
            }
        }
    }
}

#[derive(Debug, Clone)]
struct Tin<P> {
    law: CobaltLaw,
    /// Bytes that a flow may send per turn.
    quantum: i64,
    /// Rate up to which the tin has priority; `None` if the link has none.
    rate: Option<Rate>,
    /// Time from which a packet is within that rate.
    on_schedule_from: Time,
    bytes: u64,
    /// Flow queues in the rotations of sparse and bulk flows.
    active: usize,
    /// The flow queue of each slot of the hash, [`NONE`] before its first packet.
    places: Vec<u32>,
    queues: Vec<FlowQueue<P>>,
    /// Flow queues in the order of their turns: [`NEW`], [`OLD`] and [`DECAYING`].
    lists: [VecDeque<u32>; 3],
    /// Tables of sources and of destinations; empty where flows are not isolated by them.
    hosts: [Hosts; 2],
}

impl<P: Packet> Tin<P> {
    fn new(config: &CakeConfig, context: &DisciplineContext, rate: Option<Rate>) -> Tin<P> {
        let target = config.rtt / 20;
        let packet_ns = rate.map_or(0, |rate| duration_ns(context.packet_size.get(), rate));
        // At low rates the target is at least one and a half packets.
        let longer = target.max(Duration::from_nanos(packet_ns.saturating_mul(3) / 2));
        let table = |used: bool| Hosts(vec![Host::default(); if used { SLOTS } else { 0 }]);
        use CakeIsolation::*;
        Tin {
            law: CobaltLaw {
                target: longer,
                interval: (config.rtt + longer - target).max(2 * longer),
                packet_time: Duration::from_nanos(packet_ns),
                linux: config.linux,
            },
            quantum: rate.map_or(1514, |rate| {
                (rate.bits_per_second() / 8 / 4096).clamp(300, 1514) as i64
            }),
            rate,
            on_schedule_from: Time::ZERO,
            bytes: 0,
            active: 0,
            places: vec![NONE; SLOTS],
            queues: Vec::new(),
            lists: Default::default(),
            hosts: [
                table(matches!(config.isolation, DualSrchost | TripleIsolate)),
                table(matches!(config.isolation, DualDsthost | TripleIsolate)),
            ],
        }
    }

    /// The flow queue for a packet with these hashes of its flow, its source and its destination.
    fn place(&mut self, hash: u64, host_hashes: [u64; 2]) -> u32 {
        let queue = |slot: usize| self.queues.get(self.places[slot] as usize);
        let found = set_associative::find(
            hash,
            |slot| queue(slot).map(|queue| queue.tag),
            |slot| queue(slot).is_none_or(|queue| queue.rotation == Rotation::Idle),
        );
        let (Found::Reserved(slot) | Found::Free(slot) | Found::Collision(slot)) = found;
        let mut place = self.places[slot];
        if place == NONE {
            place = self.queues.len() as u32;
            self.places[slot] = place;
            self.queues.push(FlowQueue {
                queue: TimedFifo::default(),
                cobalt: Cobalt::default(),
                deficit: 0,
                rotation: Rotation::Idle,
                tag: hash,
                hosts: [0; 2],
            });
        }
        let rotation = self.queues[place as usize].rotation;
        if !matches!(found, Found::Reserved(_)) || rotation == Rotation::Idle {
            // Another flow takes over: so do its hosts.
            self.queues[place as usize].tag = hash;
            self.count_bulk_flow(place, rotation == Rotation::Bulk, -1);
            for (side, hash) in host_hashes.into_iter().enumerate() {
                if !self.hosts[side].0.is_empty() {
                    self.queues[place as usize].hosts[side] = self.hosts[side].slot(hash);
                }
            }
            self.count_bulk_flow(place, rotation == Rotation::Bulk, 1);
        }
        place
    }

    /// Adds `change` to the numbers of bulk flows of a flow's hosts if `is_bulk`.
    fn count_bulk_flow(&mut self, place: u32, is_bulk: bool, change: i32) {
        if !is_bulk {
            return;
        }
        let slots = self.queues[place as usize].hosts;
        for (hosts, slot) in self.hosts.iter_mut().zip(slots) {
            if let Some(host) = hosts.0.get_mut(slot) {
                host.bulk_flows = host.bulk_flows.saturating_add_signed(change);
            }
        }
    }

    /// Moves a flow queue to another rotation; the caller moves it to its list.
    fn set_rotation(&mut self, place: u32, rotation: Rotation) {
        use Rotation::*;
        let before = std::mem::replace(&mut self.queues[place as usize].rotation, rotation);
        let is_active = |rotation| matches!(rotation, Sparse | SparseWaiting | Bulk);
        self.active += usize::from(is_active(rotation));
        self.active -= usize::from(is_active(before));
        self.count_bulk_flow(place, before == Bulk && rotation != Bulk, -1);
        self.count_bulk_flow(place, before != Bulk && rotation == Bulk, 1);
    }

    /// Credits of a turn: the quantum, divided by the number of bulk flows of the flow's busier host.
    fn credits(&self, place: u32) -> i64 {
        let slots = self.queues[place as usize].hosts;
        let loads = self.hosts.iter().zip(slots).map(|(hosts, slot)| {
            let host = hosts.0.get(slot);
            host.map_or(0, |host| host.bulk_flows)
        });
        let load = loads.max().unwrap_or(0).max(1);
        self.quantum * CREDITS / i64::from(load)
    }

    /// Appends a packet to a flow queue.
    fn push(&mut self, now: Time, place: u32, packet: P) {
        if self.bytes == 0 {
            self.on_schedule_from = self.on_schedule_from.max(now);
        }
        self.bytes += packet.length() as u64;
        self.queues[place as usize].queue.push(now, packet);
        match self.queues[place as usize].rotation {
            Rotation::Idle | Rotation::Decaying => {
                if self.queues[place as usize].rotation == Rotation::Decaying {
                    self.lists[DECAYING].retain(|&other| other != place);
                }
                self.lists[NEW].push_back(place);
                self.set_rotation(place, Rotation::Sparse);
                self.queues[place as usize].deficit = self.credits(place);
            }
            Rotation::SparseWaiting => self.set_rotation(place, Rotation::Bulk),
            Rotation::Sparse | Rotation::Bulk => {}
        }
    }

    /// Removes the first packet of a flow queue.
    fn pop(&mut self, place: u32) -> Option<(Time, P)> {
        let (arrived, packet) = self.queues[place as usize].queue.pop()?;
        self.bytes -= packet.length() as u64;
        Some((arrived, packet))
    }

    /// Charges the tin for `length` bytes that leave at `now`. A tin that sends beyond its rate is held back by this packet alone.
    fn advance_schedule(&mut self, now: Time, length: u64) {
        let Some(rate) = self.rate else { return };
        let took_ns = duration_ns(length, rate);
        self.on_schedule_from = if self.on_schedule_from < now {
            self.on_schedule_from.plus_nanos(took_ns)
        } else {
            self.on_schedule_from.max(now.plus_nanos(took_ns))
        };
    }

    /// The list to serve next, and its first flow queue.
    fn next(&self, decaying_first: bool) -> Option<(usize, u32)> {
        let order = match decaying_first {
            true => [DECAYING, NEW, OLD],
            false => [NEW, OLD, DECAYING],
        };
        let mut first = order.map(|list| Some((list, *self.lists[list].front()?)));
        first.iter_mut().find_map(Option::take)
    }

    /// Removes the first flow queue of a list, which was found empty.
    fn retire(&mut self, now: Time, list: usize, place: u32) {
        self.lists[list].pop_front();
        let flow = &mut self.queues[place as usize];
        flow.cobalt.queue_empty(now, &self.law);
        if flow.cobalt.is_at_rest(now) {
            self.set_rotation(place, Rotation::Idle);
        } else {
            self.lists[DECAYING].push_back(place);
            self.set_rotation(place, Rotation::Decaying);
        }
    }

    /// Ends the turn of the first flow queue of a list, which has no credits left.
    fn end_turn(&mut self, list: usize, place: u32) {
        self.lists[list].pop_front();
        let flow = &self.queues[place as usize];
        if flow.rotation == Rotation::Sparse {
            let waiting = flow.queue.packets() > 0;
            let rotation = match waiting {
                true => Rotation::Bulk,
                false => Rotation::SparseWaiting,
            };
            self.set_rotation(place, rotation);
        }
        self.queues[place as usize].deficit += self.credits(place);
        self.lists[OLD].push_back(place);
    }
}

/// Nanoseconds to send `length` bytes, rounded down.
fn duration_ns(length: u64, rate: Rate) -> u64 {
    let ns = u128::from(length) * 8_000_000_000 / u128::from(rate.bits_per_second());
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// A CAKE queue.
#[derive(Debug, Clone)]
pub struct Cake<P> {
    tins: Vec<Tin<P>>,
    kind: CakeTins,
    isolation: CakeIsolation,
    bound: QueueBound,
    packets: usize,
    bytes: u64,
    /// Key of the hashes.
    key: u64,
    random: SplitMix64,
    signals: Signals<P>,
}

impl<P: Packet> Cake<P> {
    /// Creates an empty queue; `seed` determines its hashes and the draws of BLUE.
    pub fn from_config(
        config: &CakeConfig,
        context: &DisciplineContext,
        seed: u64,
    ) -> Result<Cake<P>, DisciplineError> {
        let bound = context.bound(config.limit)?;
        let tin = |&divisor: &u64| {
            let share = |rate: Rate| Rate::from_bits_per_second(rate.bits_per_second() / divisor);
            // A rate below 16 bit/s has no sixteenth.
            let rate = context.rate.map(|rate| share(rate).unwrap_or(rate));
            Tin::new(config, context, rate)
        };
        let mut random = SplitMix64::seed_from_u64(seed);
        Ok(Cake {
            tins: config.tins.divisors().iter().map(tin).collect(),
            kind: config.tins,
            isolation: config.isolation,
            bound,
            packets: 0,
            bytes: 0,
            key: random.next_u64(),
            random,
            signals: Signals::default(),
        })
    }

    /// SplitMix64's mixing serves as a 64-bit hash that is the same on every machine.
    fn hash(&self, number: u64) -> u64 {
        SplitMix64::seed_from_u64(number ^ self.key).next_u64()
    }

    /// The tin to serve at `now`: that of highest priority which is on schedule, or the one that will be so first. `None` if no
    /// tin has flows.
    fn select_tin(&self, now: Time) -> Option<usize> {
        let active = self
            .tins
            .iter()
            .enumerate()
            .filter(|(_, tin)| tin.active > 0);
        let by_schedule = |&(index, tin): &(usize, &Tin<P>)| {
            // Of two equal ones the latter has the higher priority.
            let wait = tin.on_schedule_from - now;
            (wait, std::cmp::Reverse(index))
        };
        active.min_by_key(by_schedule).map(|(index, _)| index)
    }

    /// Drops the first packet of the longest flow queue; the packet that arrived last is in this tin and flow queue.
    fn drop_from_longest(&mut self, now: Time, arrived_in: (usize, u32)) -> bool {
        let all = self.tins.iter().enumerate().flat_map(|(index, tin)| {
            let queues = tin.queues.iter().enumerate();
            queues.map(move |(place, flow)| (flow.queue.bytes(), (index, place as u32)))
        });
        let Some((_, (index, place))) = all.max_by_key(|&(bytes, _)| bytes) else {
            return false;
        };
        let tin = &mut self.tins[index];
        let Some((_, packet)) = tin.pop(place) else {
            return false;
        };
        let flow = &mut tin.queues[place as usize];
        flow.cobalt.queue_full(now, &tin.law);
        self.packets -= 1;
        self.bytes -= packet.length() as u64;
        // The packet that just arrived is the last of its flow queue.
        let cause = match (index, place) == arrived_in && flow.queue.packets() == 0 {
            true => DropCause::QueueFull,
            false => DropCause::PushedOut,
        };
        self.signals.dropped.push_back(Dropped { packet, cause });
        true
    }

    /// Takes the next packet to send from a flow queue through its COBALT; `None` if the queue is found empty.
    fn take(&mut self, now: Time, index: usize, place: u32) -> Option<P> {
        let tin = &mut self.tins[index];
        loop {
            let (arrived, mut packet) = tin.pop(place)?;
            self.packets -= 1;
            self.bytes -= packet.length() as u64;
            let flow = &mut tin.queues[place as usize];
            let random = || (self.random.next_u64() >> 32) as u32;
            let ecn_capable = packet.ecn_capable();
            let (cobalt, sojourn) = (&mut flow.cobalt, now - arrived);
            let verdict = cobalt.judge(now, sojourn, &tin.law, ecn_capable, random);
            // The last packet of a flow queue is never dropped.
            if verdict == Verdict::Drop && flow.queue.packets() > 0 {
                let cause = DropCause::EarlyDrop;
                self.signals.dropped.push_back(Dropped { packet, cause });
                continue;
            }
            if verdict == Verdict::Mark {
                packet.mark_congestion_experienced();
                self.signals.marks += 1;
            }
            return Some(packet);
        }
    }
}

impl<P: Packet> QueueDiscipline<P> for Cake<P> {
    fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        let ip = packet.ip_fields();
        let hash = self.hash(packet.flow());
        let hosts = [ip.source, ip.destination].map(|host| self.hash(u64::from(host)));
        let index = self.kind.tin(ip.dscp);
        let tin = &mut self.tins[index];
        let place = tin.place(hash, hosts);
        self.packets += 1;
        self.bytes += packet.length() as u64;
        tin.push(now, place, packet);
        while !self
            .bound
            .fits(self.packets.saturating_sub(1), self.bytes, 0)
            && self.drop_from_longest(now, (index, place))
        {}
        Ok(())
    }

    fn dequeue(&mut self, now: Time) -> Option<P> {
        let mut first_flow = true;
        while self.packets > 0 {
            let index = self.select_tin(now)?;
            loop {
                let tin = &mut self.tins[index];
                // One empty flow queue for each packet, so that the state of empty ones decays.
                let Some((list, place)) = tin.next(std::mem::take(&mut first_flow)) else {
                    break;
                };
                if tin.queues[place as usize].deficit <= 0 {
                    tin.end_turn(list, place);
                    continue;
                }
                let packet = self.take(now, index, place);
                let tin = &mut self.tins[index];
                let Some(packet) = packet else {
                    tin.retire(now, list, place);
                    break;
                };
                let length = packet.length() as u64;
                tin.advance_schedule(now, length);
                tin.queues[place as usize].deficit -= length as i64 * CREDITS;
                return Some(packet);
            }
        }
        None
    }

    fn take_dropped(&mut self) -> Option<Dropped<P>> {
        self.signals.dropped.pop_front()
    }

    fn reads_ip_fields(&self) -> bool {
        self.kind != CakeTins::Besteffort || self.isolation != CakeIsolation::Flows
    }

    fn marks(&self) -> u64 {
        self.signals.marks
    }

    fn packets(&self) -> usize {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}
