// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conditions of a link beyond rate, delay and queue: policer, shaper, delivery trace, outages, changes at given times,
//! loss in bursts, packets that come out in batches.

use std::sync::Arc;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::bucket::{Bucket, PolicerConfig, ShaperConfig};
use crate::links::config::LinkConfig;
use crate::links::delivery_trace::{DeliveryTrace, TraceService};
use crate::queue_discipline::DropCause;
use crate::random::uniform;
use crate::time::Time;
use crate::units::{LossFraction, Rate};

/// Opportunities of a trace that a packet waits for if all lie in outages.
const MOST_OPPORTUNITIES: usize = 1 << 18;

/// Conditions of one direction of a link; none by default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LinkConditions {
    /// Drops arrivals beyond a rate before the queue.
    pub policer: Option<PolicerConfig>,
    /// Lets bursts pass; the tokens come in at the link's rate.
    pub shaper: Option<ShaperConfig>,
    /// The times at which the link delivers. [`LinkConfig::rate`] is to be its mean rate.
    pub trace: Option<Arc<DeliveryTrace>>,
    /// Times at which no transmission begins.
    pub outages: Vec<Outage>,
    /// Changes of rate, delay and random loss, in ascending order of time.
    pub changes: Vec<LinkChange>,
    /// Loss before the queue that is not independent from packet to packet.
    pub loss_model: Option<LossModel>,
    /// Packets come out at multiples of this time only, as from a link that gathers them into frames or slots; zero for
    /// none.
    pub batch_interval: Duration,
}

impl LinkConditions {
    /// Returns true if there are none.
    pub fn is_none(&self) -> bool {
        *self == LinkConditions::default()
    }
}

/// A time at which a link transmits nothing; a transmission under way is completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// Its beginning.
    pub at: Duration,
    /// Its length, above zero.
    pub duration: Duration,
    /// Time from one beginning to the next, above `duration`; `None` for a single outage.
    pub every: Option<Duration>,
}

impl Outage {
    /// The end of the outage that `time` is in.
    fn end_at(&self, time: Time) -> Option<Time> {
        let since = u64::try_from((time - (Time::ZERO + self.at)).as_nanos()).ok()?;
        let before = time < Time::ZERO + self.at;
        let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let begun = match self.every {
            Some(every) => since - since % nanos(every).max(1),
            None => 0,
        };
        let inside = !before && since - begun < nanos(self.duration);
        inside.then(|| (Time::ZERO + self.at).plus_nanos(begun) + self.duration)
    }
}

/// A change of a link at a time. Packets whose transmission has begun keep their rate and delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkChange {
    /// Time of the change.
    pub at: Duration,
    /// The rate from then on, if it changes.
    pub rate: Option<Rate>,
    /// The propagation delay from then on, if it changes. Packets stay in order.
    pub delay: Option<Duration>,
    /// The random loss from then on, if it changes.
    pub loss: Option<LossFraction>,
}

/// Loss that depends on the packets before.
#[derive(Debug, Clone, PartialEq)]
pub enum LossModel {
    /// The model of Gilbert (1960) and Elliott (1963): a good and a bad state with a loss probability each.
    GilbertElliott {
        /// Probability that a packet in the good state is followed by the bad state.
        to_bad: LossFraction,
        /// Probability that a packet in the bad state is followed by the good state; its inverse is the mean length of a
        /// burst in packets.
        to_good: LossFraction,
        /// Probability of loss in the bad state.
        loss_in_bad: LossFraction,
        /// Probability of loss in the good state.
        loss_in_good: LossFraction,
    },
    /// Each n-th packet is lost.
    Periodic {
        /// n, above 0.
        every: u64,
    },
    /// The packets with these numbers are lost.
    Listed {
        /// Numbers in the order of arrival, from 1, ascending.
        packets: Arc<[u64]>,
    },
}

/// The state of a link's conditions.
#[derive(Debug, Clone)]
pub(crate) struct Conditions {
    policer: Option<(Bucket, Rate)>,
    shaper: Option<(Bucket, Option<Rate>)>,
    trace: Option<TraceService>,
    outages: Vec<Outage>,
    /// Changes to come, of rate and delay and of loss, the next one last.
    changes: Vec<LinkChange>,
    losses: Vec<(Time, LossFraction)>,
    rate: Option<Rate>,
    delay_ns: u64,
    loss: Option<(LossModel, Xoshiro256PlusPlus)>,
    /// True in the bad state of Gilbert and Elliott.
    bad: bool,
    /// Packets offered since the last periodic loss, or since the beginning.
    since_loss: u64,
    batch_ns: u64,
    last_due: Time,
}

/// One transmission.
pub(crate) struct Service {
    /// Its beginning and its end.
    pub(crate) begins: Time,
    pub(crate) ends: Time,
    /// The earliest beginning of the next.
    pub(crate) free_at: Time,
    /// The time that it counts as busy.
    pub(crate) took_ns: u64,
    /// Delay after its end.
    pub(crate) delay_ns: u64,
}

/// Nanoseconds to send `length` bytes, rounded down; `remainder` carries the fraction over.
pub(crate) fn transmission_ns(rate: Option<Rate>, length: u64, remainder: &mut u64) -> u64 {
    let Some(rate) = rate else {
        return 0;
    };
    let scaled = length * 8_000_000_000 + *remainder;
    *remainder = scaled % rate.bits_per_second();
    scaled / rate.bits_per_second()
}

impl Conditions {
    /// Creates the state of a link's conditions; `None` if there are none.
    pub(crate) fn new(conditions: &LinkConditions, config: &LinkConfig) -> Option<Conditions> {
        if conditions.is_none() {
            return None;
        }
        let mut changes = conditions.changes.clone();
        changes.sort_by_key(|change| change.at);
        changes.reverse();
        let losses = changes
            .iter()
            .filter_map(|change| Some((Time::ZERO + change.at, change.loss?)));
        let mut random = Xoshiro256PlusPlus::seed_from_u64(config.seed);
        // The first two parts of the stream are those of random loss and of jitter.
        random.jump();
        random.jump();
        let policer = conditions.policer;
        let shaper = conditions.shaper.zip(config.rate);
        Some(Conditions {
            policer: policer
                .map(|policer| (Bucket::new(policer.rate, policer.burst), policer.rate)),
            shaper: shaper
                .map(|(shaper, rate)| (Bucket::new(rate, shaper.burst), shaper.peak_rate)),
            trace: conditions.trace.clone().map(TraceService::new),
            outages: conditions.outages.clone(),
            losses: losses.collect(),
            changes,
            rate: config.rate,
            delay_ns: config.delay_ns(),
            loss: conditions.loss_model.clone().map(|model| (model, random)),
            bad: false,
            since_loss: 0,
            batch_ns: u64::try_from(conditions.batch_interval.as_nanos()).unwrap_or(u64::MAX),
            last_due: Time::ZERO,
        })
    }

    /// The policer's rate.
    pub(crate) fn policed_rate(&self) -> Option<Rate> {
        self.policer.as_ref().map(|policer| policer.1)
    }

    /// Returns the random loss that begins between the last call and `now`, if it changes.
    pub(crate) fn changed_loss(&mut self, now: Time) -> Option<LossFraction> {
        let mut changed = None;
        while let Some(&(_, loss)) = self.losses.last().filter(|loss| loss.0 <= now) {
            changed = Some(loss);
            self.losses.pop();
        }
        changed
    }

    /// Decides on a packet of `length` bytes that arrives at `now`; returns why it is dropped.
    pub(crate) fn refuse(&mut self, now: Time, length: u64) -> Option<DropCause> {
        if self.is_lost() {
            return Some(DropCause::RandomLoss);
        }
        let (bucket, _) = self.policer.as_mut()?;
        bucket.fill(now);
        (!bucket.take(length)).then_some(DropCause::Policed)
    }

    fn is_lost(&mut self) -> bool {
        let Some((model, random)) = &mut self.loss else {
            return false;
        };
        match model {
            LossModel::Periodic { every } => {
                self.since_loss += 1;
                let lost = self.since_loss >= *every;
                if lost {
                    self.since_loss = 0;
                }
                lost
            }
            LossModel::Listed { packets } => {
                self.since_loss += 1;
                packets.binary_search(&self.since_loss).is_ok()
            }
            LossModel::GilbertElliott {
                to_bad,
                to_good,
                loss_in_bad,
                loss_in_good,
            } => {
                let (loss, change) = match self.bad {
                    true => (loss_in_bad, to_good),
                    false => (loss_in_good, to_bad),
                };
                let lost = uniform(random) < loss.as_f64();
                self.bad ^= uniform(random) < change.as_f64();
                lost
            }
        }
    }

    /// Returns when a transmission may begin, at `time` or later.
    pub(crate) fn available(&mut self, time: Time) -> Time {
        let mut at = time;
        for _ in 0..MOST_OPPORTUNITIES {
            let before = at;
            if let Some(trace) = &mut self.trace {
                at = trace.available(at);
            }
            for outage in &self.outages {
                at = outage.end_at(at).unwrap_or(at);
            }
            if at == before {
                return at;
            }
        }
        // All opportunities may lie within periodic outages, and then waiting would never end: from now on there are none.
        self.outages.clear();
        self.trace.as_mut().map_or(at, |trace| trace.available(at))
    }

    /// Transmits a packet of `length` bytes from `start` on, a time that [`Conditions::available`] returned.
    pub(crate) fn serve(&mut self, start: Time, length: u64, remainder: &mut u64) -> Service {
        while let Some(change) = self.changes.last() {
            if Time::ZERO + change.at > start {
                break;
            }
            if let Some(rate) = change.rate {
                self.rate = Some(rate);
                *remainder = 0;
                if let Some((bucket, _)) = &mut self.shaper {
                    bucket.set_rate(Time::ZERO + change.at, rate);
                }
            }
            if let Some(delay) = change.delay {
                self.delay_ns = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
            }
            self.changes.pop();
        }
        let delay_ns = self.delay_ns;
        if let Some(trace) = &mut self.trace {
            let (ends, free_at) = trace.serve(length);
            return Service {
                begins: start,
                ends,
                free_at,
                took_ns: transmission_ns(Some(trace.mean_rate()), length, remainder),
                delay_ns,
            };
        }
        if let Some((bucket, peak_rate)) = &mut self.shaper {
            let begins = bucket.take_when_enough(start, length);
            let ends = begins.plus_nanos(transmission_ns(*peak_rate, length, &mut 0));
            return Service {
                begins,
                ends,
                free_at: ends,
                took_ns: transmission_ns(self.rate, length, remainder),
                delay_ns,
            };
        }
        let took_ns = transmission_ns(self.rate, length, remainder);
        let ends = start.plus_nanos(took_ns);
        let counted = match self.rate {
            Some(_) => took_ns,
            None => transmission_ns(self.policed_rate(), length, &mut 0),
        };
        Service {
            begins: start,
            ends,
            free_at: ends,
            took_ns: counted,
            delay_ns,
        }
    }

    /// Returns when a packet comes out that is due at `due` without batches; never before an earlier packet.
    pub(crate) fn due(&mut self, due: Time) -> Time {
        let due = match self.batch_ns {
            0 => due,
            batch => Time::from_nanos(due.as_nanos().div_ceil(batch).saturating_mul(batch)),
        };
        self.last_due = due.max(self.last_due);
        self.last_due
    }
}
