// SPDX-License-Identifier: MIT OR Apache-2.0
//! DualPI2: two queues, for scalable and for classic congestion controls, coupled by one controller (RFC 9332).

use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::discipline_context::{DisciplineContext, DisciplineError};
use crate::disciplines::codel::{Signals, TimedFifo};
use crate::disciplines::update_clock::UpdateClock;
use crate::queue_discipline::{DropCause, Dropped, Packet, QueueDiscipline};
use crate::random::uniform;
use crate::time::Time;
use crate::units::{LossFraction, QueueBound, QueueLimit, positive_delay};

/// Configuration of a DualPI2 queue. The defaults are those of RFC 9332 appendix A.1, for round trips of up to 100 ms; the
/// scheduler and the step threshold are as Linux has them.
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DualPi2Config {
    /// Bound over both queues beyond which arrivals are dropped.
    pub limit: QueueLimit,
    /// Queueing delay of classic traffic that the controller aims at.
    #[cfg_attr(feature = "schemars", schemars(with = "crate::units::DelayText"))]
    #[serde(with = "positive_delay")]
    pub target: Duration,
    /// Tupdate: interval at which the base probability is computed.
    #[cfg_attr(feature = "schemars", schemars(with = "crate::units::DelayText"))]
    #[serde(with = "positive_delay")]
    pub update: Duration,
    /// alpha: change of the base probability for each second of delay above the target, in 1/s.
    pub alpha: f64,
    /// beta: change of the base probability for each second by which the delay rose since the last update, in 1/s.
    pub beta: f64,
    /// k: coupling factor, above 0. Scalable traffic is marked with k times the base probability, classic traffic with its
    /// square.
    pub coupling: f64,
    /// Sojourn time from which every packet of scalable traffic is marked.
    #[cfg_attr(feature = "schemars", schemars(with = "crate::units::DelayText"))]
    #[serde(with = "positive_delay")]
    pub step: Duration,
    /// Share of the link that classic traffic gets while scalable traffic waits as well.
    pub classic_share: LossFraction,
    /// As sch_dualpi2 of Linux 6.17 to 7.3, where it departs from the pseudocode of RFC 9332: packets are marked and dropped at
    /// random, none by the controller while less than two full packets wait behind, and scalable ones that wait alone are
    /// marked from `step` on as well; round robin remembers what is due while only one queue waits.
    pub linux: bool,
}

impl DualPi2Config {
    /// Returns true if the discipline marks ECN-capable packets.
    pub(crate) fn marks(&self) -> bool {
        true
    }
}

impl Default for DualPi2Config {
    fn default() -> DualPi2Config {
        DualPi2Config {
            limit: QueueLimit::Packets(10_000),
            target: Duration::from_millis(15),
            update: Duration::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step: Duration::from_millis(1),
            classic_share: LossFraction::from_billionths(100_000_000).expect("10% is within range"),
            linux: false,
        }
    }
}

impl DualPi2Config {
    /// Creates a configuration with a target of 15 ms, updates every 16 ms, alpha 0.16, beta 3.2, coupling factor 2, a step at
    /// 1 ms and 10 % for classic traffic.
    pub fn new(limit: QueueLimit) -> DualPi2Config {
        DualPi2Config {
            limit,
            ..DualPi2Config::default()
        }
    }
}

/// The controller: the base probability as a function of the queueing delay.
#[derive(Debug, Clone)]
struct Controller {
    target: f64,
    alpha: f64,
    beta: f64,
    coupling: f64,
    /// p'.
    base: f64,
    /// Queueing delay at the last update, in seconds.
    previous_delay: f64,
    updates: UpdateClock,
}

impl Controller {
    /// Computes the base probability for a queueing delay in seconds (RFC 9332 appendix A.1, figure 6).
    fn compute(&mut self, delay: f64) {
        let change = self.alpha * (delay - self.target) + self.beta * (delay - self.previous_delay);
        self.base = (self.base + change).clamp(0.0, 1.0);
        self.previous_delay = delay;
    }

    /// p_C, the probability of a drop or mark of classic traffic.
    fn classic(&self) -> f64 {
        self.base * self.base
    }

    /// p_CL, the coupled probability of a mark of scalable traffic; may exceed 1.
    fn coupled(&self) -> f64 {
        self.coupling * self.base
    }

    /// Makes the updates that are due at or before `now`. Since the last one the older of the two first packets arrived at
    /// `oldest`; `None` if both queues are empty.
    fn advance(&mut self, now: Time, oldest: Option<Time>) {
        while let Some(due) = self.updates.take_due(now) {
            let delay = oldest.map_or(0.0, |arrived| (due - arrived).as_secs_f64());
            self.compute(delay);
            if oldest.is_none() && self.base == 0.0 {
                self.updates.skip_due(now);
            }
        }
    }
}

/// Strikes evenly spaced with a given likelihood (`recur` of RFC 9332 appendix A.1): the likelihoods are summed up, and a packet
/// is struck whenever the sum passes 1.
#[derive(Debug, Clone, Default)]
struct Spaced(f64);

impl Spaced {
    fn strikes(&mut self, likelihood: f64) -> bool {
        self.0 += likelihood;
        let strikes = self.0 > 1.0;
        if strikes {
            self.0 -= 1.0;
        }
        strikes
    }
}

/// What Linux has in place of the pseudocode.
#[derive(Debug, Clone)]
struct LinuxRules {
    random: Xoshiro256PlusPlus,
    /// Bytes of two full packets.
    two_packets: u64,
    /// Round robin's credit once both queues have been found empty.
    initial_credit: f64,
}

/// A DualPI2 queue.
///
/// Packets with ECT(1) or CE go to the queue for scalable traffic (RFC 9331 section 5.1), all others to the classic one.
#[derive(Debug, Clone)]
pub struct DualPi2<P> {
    scalable: TimedFifo<P>,
    classic: TimedFifo<P>,
    bound: QueueBound,
    controller: Controller,
    step: Duration,
    /// p_Cmax: from this probability on classic packets are dropped, ECN-capable or not (RFC 9332 appendix A.2).
    most_marked: f64,
    scalable_spacing: Spaced,
    classic_spacing: Spaced,
    /// Weighted round robin: bytes times the other queue's share that classic traffic may send first, or has sent too early.
    credit: f64,
    classic_share: f64,
    linux: Option<LinuxRules>,
    signals: Signals<P>,
}

impl<P: Packet> DualPi2<P> {
    /// Creates an empty queue; `seed` determines its random draws, which only `linux` has.
    pub fn from_config(
        config: &DualPi2Config,
        context: &DisciplineContext,
        seed: u64,
    ) -> Result<DualPi2<P>, DisciplineError> {
        for (field, value) in [
            ("alpha", config.alpha),
            ("beta", config.beta),
            ("coupling", config.coupling),
            ("classic_share", config.classic_share.as_f64()),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(DisciplineError::NotPositive { field, value });
            }
        }
        let packet_size = context.packet_size.get();
        let classic_share = config.classic_share.as_f64();
        // A scheduler that has not sent anything owes scalable traffic its larger share of a packet.
        let initial_credit = (2.0 * classic_share - 1.0) * packet_size as f64;
        Ok(DualPi2 {
            scalable: TimedFifo::default(),
            classic: TimedFifo::default(),
            bound: context.bound(config.limit)?,
            controller: Controller {
                target: config.target.as_secs_f64(),
                alpha: config.alpha,
                beta: config.beta,
                coupling: config.coupling,
                base: 0.0,
                previous_delay: 0.0,
                updates: UpdateClock::new(config.update),
            },
            step: config.step,
            most_marked: (1.0 / (config.coupling * config.coupling)).min(1.0),
            scalable_spacing: Spaced::default(),
            classic_spacing: Spaced::default(),
            credit: if config.linux { initial_credit } else { 0.0 },
            classic_share,
            linux: config.linux.then(|| LinuxRules {
                random: Xoshiro256PlusPlus::seed_from_u64(seed),
                two_packets: 2 * packet_size,
                initial_credit,
            }),
            signals: Signals::default(),
        })
    }

    /// p' of RFC 9332, as of the last arrival or departure.
    pub fn base_probability(&self) -> f64 {
        self.controller.base
    }

    fn advance(&mut self, now: Time) {
        let oldest = [self.scalable.first_arrival(), self.classic.first_arrival()];
        self.controller
            .advance(now, oldest.into_iter().flatten().min());
    }

    /// Returns true if the next packet comes from the queue for scalable traffic; `None` if both are empty.
    fn scalable_is_next(&mut self) -> Option<bool> {
        let waiting = (self.scalable.packets() > 0, self.classic.packets() > 0);
        match waiting {
            (true, true) => Some(self.credit <= 0.0),
            (false, false) => {
                self.credit = self
                    .linux
                    .as_ref()
                    .map_or(0.0, |linux| linux.initial_credit);
                None
            }
            (scalable, _) => {
                if self.linux.is_none() {
                    // The shares are those of the times at which both wait.
                    self.credit = 0.0;
                }
                Some(scalable)
            }
        }
    }

    /// Decides by `likelihood` on a packet of scalable or classic traffic.
    fn strikes(&mut self, scalable: bool, likelihood: f64) -> bool {
        match &mut self.linux {
            Some(linux) => uniform(&mut linux.random) < likelihood,
            None if scalable => self.scalable_spacing.strikes(likelihood),
            None => self.classic_spacing.strikes(likelihood),
        }
    }

    /// Returns true if so little waits that the controller leaves packets alone.
    fn is_short(&self) -> bool {
        let linux = self.linux.as_ref();
        linux.is_some_and(|linux| self.bytes() < linux.two_packets)
    }

    /// Marks or drops a packet of scalable traffic (RFC 9332 appendix A.2, figure 8).
    fn pass_scalable(&mut self, mut packet: P, sojourn: Duration) -> Option<P> {
        let coupled = match self.is_short() {
            true => 0.0,
            false => self.controller.coupled(),
        };
        let marked = if coupled < 1.0 {
            // A packet alone in its queue is not marked for its sojourn, as with a threshold of one packet.
            let may_be_late = self.linux.is_some() || self.scalable.packets() > 0;
            let is_late = sojourn >= self.step && may_be_late;
            let native = if is_late { 1.0 } else { 0.0 };
            self.strikes(true, coupled.max(native))
        } else {
            if self.strikes(true, self.controller.classic()) {
                self.drop_early(packet);
                return None;
            }
            true
        };
        if marked && packet.ecn_capable() {
            packet.mark_congestion_experienced();
            self.signals.marks += 1;
        }
        Some(packet)
    }

    /// Marks or drops a packet of classic traffic.
    fn pass_classic(&mut self, mut packet: P) -> Option<P> {
        let probability = self.controller.classic();
        if !self.is_short() && self.strikes(false, probability) {
            if !packet.ecn_capable() || probability >= self.most_marked {
                self.drop_early(packet);
                return None;
            }
            packet.mark_congestion_experienced();
            self.signals.marks += 1;
        }
        Some(packet)
    }

    fn drop_early(&mut self, packet: P) {
        let cause = DropCause::EarlyDrop;
        self.signals.dropped.push_back(Dropped { packet, cause });
    }
}

impl<P: Packet> QueueDiscipline<P> for DualPi2<P> {
    fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        self.advance(now);
        let length = packet.length() as u64;
        if !self.bound.fits(self.packets(), self.bytes(), length) {
            let cause = DropCause::QueueFull;
            return Err(Dropped { packet, cause });
        }
        match packet.scalable() {
            true => self.scalable.push(now, packet),
            false => self.classic.push(now, packet),
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Time) -> Option<P> {
        self.advance(now);
        while let Some(scalable) = self.scalable_is_next() {
            let both_wait = self.scalable.packets() > 0 && self.classic.packets() > 0;
            let queue = if scalable {
                &mut self.scalable
            } else {
                &mut self.classic
            };
            let (arrived, packet) = queue.pop()?;
            let length = packet.length() as f64;
            let passed = match scalable {
                true => self.pass_scalable(packet, now - arrived),
                false => self.pass_classic(packet),
            };
            // Linux does not charge for a packet that it drops.
            if both_wait && (passed.is_some() || self.linux.is_none()) {
                self.credit += match scalable {
                    true => length * self.classic_share,
                    false => -length * (1.0 - self.classic_share),
                };
            }
            if passed.is_some() {
                return passed;
            }
        }
        None
    }

    fn take_dropped(&mut self) -> Option<Dropped<P>> {
        self.signals.dropped.pop_front()
    }

    fn marks(&self) -> u64 {
        self.signals.marks
    }

    fn packets(&self) -> usize {
        self.scalable.packets() + self.classic.packets()
    }

    fn bytes(&self) -> u64 {
        self.scalable.bytes() + self.classic.bytes()
    }
}

#[cfg(test)]
mod tests {
    use crate::units::Bytes;

    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Probe {
        scalable: bool,
        ecn: bool,
        marked: bool,
    }

    impl Packet for Probe {
        fn length(&self) -> usize {
            1000
        }

        fn ecn_capable(&self) -> bool {
            self.ecn
        }

        fn scalable(&self) -> bool {
            self.scalable
        }

        fn mark_congestion_experienced(&mut self) {
            self.marked = true;
        }
    }

    const SCALABLE: Probe = Probe {
        scalable: true,
        ecn: true,
        marked: false,
    };
    const CLASSIC: Probe = Probe {
        scalable: false,
        ecn: false,
        marked: false,
    };

    fn queue() -> DualPi2<Probe> {
        with(&DualPi2Config::default())
    }

    fn linux() -> DualPi2<Probe> {
        let mut queue = with(&DualPi2Config {
            linux: true,
            ..DualPi2Config::default()
        });
        // No update comes in the tests.
        queue.controller.updates = UpdateClock::new(Duration::from_secs(1000));
        queue
    }

    fn with(config: &DualPi2Config) -> DualPi2<Probe> {
        let context = DisciplineContext {
            rate: Some("8mbit".parse().unwrap()),
            delay: Duration::from_millis(10),
            base_rtt: Duration::from_millis(20),
            packet_size: Bytes::new(1000),
        };
        DualPi2::from_config(config, &context, 1).unwrap()
    }

    #[test]
    fn the_base_probability_by_hand() {
        let mut queue = queue();
        // A packet waits from 8 ms on; updates come at 16, 32 and 48 ms with delays of 8, 24 and 40 ms.
        queue.enqueue(Time::from_millis(8), CLASSIC).unwrap();
        queue.advance(Time::from_millis(16));
        // 0.16 * (8 - 15) ms + 3.2 * 8 ms = 0.02448.
        assert!((queue.base_probability() - 0.02448).abs() < 1e-12);
        queue.advance(Time::from_millis(48));
        // + 0.16 * (24 - 15) ms + 3.2 * 16 ms = 0.05264, + 0.16 * (40 - 15) ms + 3.2 * 16 ms = 0.0552.
        assert!((queue.base_probability() - 0.13232).abs() < 1e-12);
        // k = 2 for scalable traffic, the square for classic.
        assert!((queue.controller.coupled() - 0.26464).abs() < 1e-12);
        assert!((queue.controller.classic() - 0.0175085824).abs() < 1e-10);
    }

    #[test]
    fn an_idle_queue_forgets() {
        let mut queue = queue();
        queue.controller.base = 0.5;
        // Each update of an empty queue takes 0.16 * 15 ms = 0.0024: gone after 209 of them, 3.344 s.
        queue.advance(Time::from_millis(16 * 208));
        assert!((queue.base_probability() - 0.0008).abs() < 1e-9);
        queue.advance(Time::from_millis(1_000_000_000));
        assert_eq!(queue.base_probability(), 0.0);
        let next = queue
            .controller
            .updates
            .take_due(Time::from_millis(1_000_000_000));
        assert_eq!(next, None);
    }

    /// Passes `count` packets one after the other with p' as given; returns how many were marked and dropped.
    fn pass(packet: Probe, base: f64, count: usize) -> (usize, usize) {
        let mut queue = queue();
        // No update comes in this test.
        queue.controller.updates = UpdateClock::new(Duration::from_secs(1000));
        queue.controller.base = base;
        let mut marked = 0;
        for _ in 0..count {
            queue.enqueue(Time::ZERO, packet).unwrap();
            marked += usize::from(
                queue
                    .dequeue(Time::ZERO)
                    .is_some_and(|packet| packet.marked),
            );
        }
        let dropped = std::iter::from_fn(|| queue.take_dropped()).count();
        (marked, dropped)
    }

    #[test]
    fn marks_are_linear_and_drops_are_squared() {
        // p' = 0.2: k p' = 0.4 of scalable, p'^2 = 0.04 of classic traffic, one less by the start of the sums.
        assert_eq!(pass(SCALABLE, 0.2, 1001), (400, 0));
        assert_eq!(pass(CLASSIC, 0.2, 1001), (0, 40));
        let classic_ecn = Probe {
            ecn: true,
            ..CLASSIC
        };
        assert_eq!(pass(classic_ecn, 0.2, 1001), (40, 0));
    }

    #[test]
    fn overload_drops_what_is_ecn_capable() {
        // From k p' = 1 on, which is p'^2 = 1/4: scalable packets are dropped as the classic ones, and the others marked.
        assert_eq!(pass(SCALABLE, 0.5, 1001), (751, 250));
        let classic_ecn = Probe {
            ecn: true,
            ..CLASSIC
        };
        assert_eq!(pass(classic_ecn, 0.5, 1001), (0, 250));
        assert_eq!(pass(classic_ecn, 0.4, 1001), (160, 0));
    }

    #[test]
    fn scalable_packets_are_marked_from_the_step_on() {
        let mut queue = queue();
        for _ in 0..4 {
            queue.enqueue(Time::ZERO, SCALABLE).unwrap();
        }
        let at = |micros: u64| Time::ZERO.plus_nanos(micros * 1000);
        let mut marked = |time| queue.dequeue(time).unwrap().marked;
        // Below 1 ms none; from there on all but for the last, which waits alone. The sum has to pass 1, and not reach it.
        assert!(!marked(at(999)));
        assert!(!marked(at(1000)));
        assert!(marked(at(1001)));
        assert!(!marked(at(5000)));
    }

    #[test]
    fn classic_traffic_keeps_a_tenth() {
        let mut queue = queue();
        queue.controller.updates = UpdateClock::new(Duration::from_secs(1000));
        for _ in 0..1000 {
            queue.enqueue(Time::ZERO, SCALABLE).unwrap();
            queue.enqueue(Time::ZERO, CLASSIC).unwrap();
        }
        let first: Vec<bool> = (0..500)
            .map(|_| queue.dequeue(Time::ZERO).unwrap().scalable)
            .collect();
        assert!(first[0], "scalable traffic goes first");
        let classic = first.iter().filter(|&&scalable| !scalable).count();
        assert_eq!(classic, 50);
    }

    #[test]
    fn linux_drops_at_random_and_not_a_short_queue() {
        let mut queue = linux();
        queue.controller.base = 0.4;
        for _ in 0..10_000 {
            queue.enqueue(Time::ZERO, CLASSIC).unwrap();
        }
        let mut gaps = [0; 2];
        let mut passed = 0;
        while queue.packets() > 2 {
            queue.dequeue(Time::ZERO).unwrap();
            passed += 1;
            let dropped = std::iter::from_fn(|| queue.take_dropped()).count();
            gaps[dropped.min(1)] += 1;
        }
        // 16 % of 10,000 by p'^2, with a standard deviation of 37: some one after the other, which even spacing has never.
        let dropped = 10_000 - passed - queue.packets();
        assert!((1450..1750).contains(&dropped), "{dropped}");
        assert!(dropped > gaps[1], "{dropped} {gaps:?}");
        // At most one packet waits behind each of the last two, 1000 bytes, fewer than two packets.
        queue.controller.base = 1.0;
        assert!(queue.dequeue(Time::ZERO).is_some());
        assert!(queue.dequeue(Time::ZERO).is_some());
        assert!(queue.take_dropped().is_none());
    }

    #[test]
    fn linux_marks_a_lone_packet_from_the_step_on() {
        let mut queue = linux();
        for (sojourn_us, marked) in [(999, false), (1000, true)] {
            queue.enqueue(Time::ZERO, SCALABLE).unwrap();
            let at = Time::ZERO.plus_nanos(sojourn_us * 1000);
            assert_eq!(queue.dequeue(at).unwrap().marked, marked, "{sojourn_us}");
        }
    }

    #[test]
    fn linux_keeps_the_credit_while_one_queue_waits() {
        let mut queue = linux();
        // Scalable traffic is owed 800 bytes at first, and pays 100 for each packet beside classic traffic.
        for _ in 0..20 {
            queue.enqueue(Time::ZERO, SCALABLE).unwrap();
        }
        queue.enqueue(Time::ZERO, CLASSIC).unwrap();
        let mut order = String::new();
        for _ in 0..10 {
            let scalable = queue.dequeue(Time::ZERO).unwrap().scalable;
            order.push(if scalable { 'L' } else { 'C' });
        }
        assert_eq!(order, "LLLLLLLLLC");
        // Then only scalable traffic waits, and the credit of 100 - 900 bytes stays.
        assert!((queue.credit + 800.0).abs() < 1e-9);
        for _ in 0..5 {
            queue.dequeue(Time::ZERO).unwrap();
        }
        assert!((queue.credit + 800.0).abs() < 1e-9);
    }
}
