// SPDX-License-Identifier: MIT OR Apache-2.0
//! The description of a link, as written on a command line or in a program.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use netnice_queue::{
    Bytes, DisciplineConfig, DropTailConfig, LinkConditions, LinkDescription, LossFraction,
    QueueBound, QueueLimit, Rate, format_delay, parse_delay,
};

use crate::error::LinkError;
use crate::impaired_link::ImpairedLink;
use crate::lateness;

use crate::settings::{Aqm, DEFAULT_QUEUE, LinkJitter, LossBurst, Policer, TimedChange, TraceFile};

/// Largest packet on a link, in bytes.
pub const MTU: usize = 1500;

/// Longest delay; it bounds the packets a link holds.
const MAX_DELAY: Duration = Duration::from_secs(60);

/// A direction on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the near side, where the command runs, to the far side.
    Up,
    /// From the far side to the near side.
    Down,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Up => "up",
            Direction::Down => "down",
        })
    }
}

/// One direction of a link.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DirectionSpec {
    /// Rate; `None` means no limit, and no queue.
    pub rate: Option<Rate>,
    /// Times at which the link delivers, in place of a rate.
    pub trace: Option<TraceFile>,
    /// One-way propagation delay.
    pub delay: Duration,
    /// Limit of the queue; `None` means 100 ms at the link's rate, or the default of its discipline.
    pub queue: Option<QueueLimit>,
    /// Queue discipline in place of drop-tail.
    pub aqm: Option<Aqm>,
    /// Random loss of packets as they arrive, before the queue.
    pub loss: LossFraction,
    /// Loss in bursts in place of random loss.
    pub loss_burst: Option<LossBurst>,
    /// Drops what exceeds a rate before the queue.
    pub policer: Option<Policer>,
    /// Random delay after the propagation; packets stay in order.
    pub jitter: Option<LinkJitter>,
}

impl fmt::Display for DirectionSpec {
    /// Writes the form that [`DirectionChanges`] parses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(rate) = self.rate {
            write!(f, "rate={rate},")?;
        }
        if let Some(trace) = &self.trace {
            write!(f, "trace={trace},")?;
        }
        if self.effective_rate().is_some() {
            match (self.queue, self.aqm) {
                (None, Some(_)) => {}
                (queue, _) => {
                    let queue = queue.unwrap_or(DEFAULT_QUEUE);
                    write!(f, "queue={queue},")?;
                }
            }
        }
        if let Some(aqm) = self.aqm {
            write!(f, "aqm={aqm},")?;
        }
        write!(f, "delay={}", format_delay(self.delay))?;
        if self.loss != LossFraction::NONE {
            write!(f, ",loss={}", self.loss)?;
        }
        if let Some(burst) = self.loss_burst {
            write!(f, ",loss-burst={burst}")?;
        }
        if let Some(policer) = self.policer {
            write!(f, ",policer={policer}")?;
        }
        match self.jitter {
            Some(jitter) => write!(f, ",jitter={jitter}"),
            None => Ok(()),
        }
    }
}

impl DirectionSpec {
    /// The rate, or the mean rate of the trace.
    pub fn effective_rate(&self) -> Option<Rate> {
        let traced = self.trace.as_ref().map(|trace| trace.trace().mean_rate());
        self.rate.or(traced)
    }

    /// The queue discipline.
    fn discipline(&self) -> DisciplineConfig {
        match (self.aqm, self.effective_rate()) {
            (Some(aqm), _) => aqm.discipline(self.queue),
            (None, rate) => DisciplineConfig::DropTail(DropTailConfig {
                limit: match rate {
                    Some(_) => self.queue.unwrap_or(DEFAULT_QUEUE),
                    // Without a rate nothing waits.
                    None => QueueLimit::Packets(1),
                },
            }),
        }
    }
}

/// An emulated link of two directions.
///
/// ```
/// use netnice_link::{Direction, EmulatedLinkSpec};
///
/// let mut spec = EmulatedLinkSpec::symmetric("rate=10mbit,delay=20ms,queue=2.5bdp".parse()?);
/// spec.change(Direction::Down, "loss=1%".parse()?);
/// assert_eq!(spec.base_rtt().as_millis(), 40);
/// # Ok::<(), netnice_link::LinkError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct EmulatedLinkSpec {
    /// From the near side to the far side.
    pub up: DirectionSpec,
    /// From the far side to the near side.
    pub down: DirectionSpec,
    /// Changes of both directions at given times.
    pub changes: Vec<TimedChange>,
    /// Seed of the random losses and delays; each direction has its own stream.
    pub seed: u64,
    /// Lateness that a measurement over this link tolerates (see `LinkReport`).
    pub lateness_bound: Duration,
}

impl Default for EmulatedLinkSpec {
    fn default() -> EmulatedLinkSpec {
        EmulatedLinkSpec::symmetric(DirectionChanges::default())
    }
}

impl fmt::Display for EmulatedLinkSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.up == self.down {
            true => write!(f, "{}", self.up)?,
            false => write!(f, "up {} down {}", self.up, self.down)?,
        }
        self.changes
            .iter()
            .try_for_each(|change| write!(f, ", {change}"))
    }
}

impl EmulatedLinkSpec {
    /// Creates a link with the same settings in both directions: unlimited and without delay, except for `both`.
    pub fn symmetric(both: DirectionChanges) -> EmulatedLinkSpec {
        let mut spec = EmulatedLinkSpec {
            up: DirectionSpec::default(),
            down: DirectionSpec::default(),
            changes: Vec::new(),
            seed: 1,
            lateness_bound: lateness::BOUND,
        };
        spec.change(Direction::Up, both.clone());
        spec.change(Direction::Down, both);
        spec
    }

    /// Applies `changes` to one direction.
    pub fn change(&mut self, direction: Direction, changes: DirectionChanges) {
        let spec = match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        };
        // A rate takes the place of a trace, and random loss that of bursts; and the other way round.
        if changes.rate.is_some() || changes.trace.is_some() {
            (spec.rate, spec.trace) = (changes.rate, changes.trace);
        }
        if changes.loss.is_some() || changes.loss_burst.is_some() {
            spec.loss = changes.loss.unwrap_or_default();
            spec.loss_burst = changes.loss_burst;
        }
        spec.delay = changes.delay.unwrap_or(spec.delay);
        spec.queue = changes.queue.or(spec.queue);
        spec.aqm = changes.aqm.or(spec.aqm);
        spec.policer = changes.policer.or(spec.policer);
        spec.jitter = changes.jitter.or(spec.jitter);
    }

    /// Returns the specification of one direction.
    pub fn direction(&self, direction: Direction) -> &DirectionSpec {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// Returns the propagation delay of both directions, without queueing and transmission.
    pub fn base_rtt(&self) -> Duration {
        self.up.delay + self.down.delay
    }

    /// Returns the queue limit of one direction in packets or bytes; `None` if it has no rate and so no queue.
    pub fn queue_bound(&self, direction: Direction) -> Option<QueueBound> {
        let spec = self.direction(direction);
        let limit = spec.discipline().limit();
        Some(limit.resolve(spec.effective_rate()?, self.base_rtt(), MTU))
    }

    /// Checks the link as a whole.
    pub fn check(&self) -> Result<(), LinkError> {
        for direction in [Direction::Up, Direction::Down] {
            let spec = self.direction(direction);
            if spec.rate.is_some() && spec.trace.is_some() {
                return Err(LinkError::Spec(
                    "a trace has its own rate; give either rate or trace".to_owned(),
                ));
            }
            if spec.loss != LossFraction::NONE && spec.loss_burst.is_some() {
                return Err(LinkError::Spec(
                    "loss and loss-burst exclude each other; give one of them".to_owned(),
                ));
            }
            if spec.effective_rate().is_none() {
                let queue = spec.queue.map(|queue| format!("queue={queue}"));
                let aqm = spec.aqm.map(|aqm| format!("aqm={aqm}"));
                if let Some(given) = queue.or(aqm) {
                    return Err(LinkError::Spec(format!(
                        "{given} has no meaning {direction} without a rate; give a rate such as 10mbit"
                    )));
                }
            }
            let rate_changes = self.changes.iter().any(|change| change.0.rate.is_some());
            if rate_changes && spec.rate.is_none() {
                return Err(LinkError::Spec(format!(
                    "the rate cannot change {direction} where none is given; give a rate such as 10mbit"
                )));
            }
            let loss_changes = self.changes.iter().any(|change| change.0.loss.is_some());
            if loss_changes && spec.loss_burst.is_some() {
                return Err(LinkError::Spec(
                    "the loss cannot change where it comes in bursts; leave loss-burst out"
                        .to_owned(),
                ));
            }
            if spec.delay > MAX_DELAY {
                return Err(LinkError::Spec(format!(
                    "delay {} is too long; allowed are 0ms to {}",
                    format_delay(spec.delay),
                    format_delay(MAX_DELAY)
                )));
            }
            if matches!(self.queue_bound(direction), Some(QueueBound::Bytes(bytes)) if bytes < MTU as u64)
            {
                return Err(LinkError::Spec(format!(
                    "a queue of less than {MTU}B takes no full packet; write queue={MTU}B or more, or queue=1p"
                )));
            }
        }
        Ok(())
    }

    /// One direction as a link is described.
    pub(crate) fn description(&self, direction: Direction) -> LinkDescription {
        let spec = self.direction(direction);
        LinkDescription {
            // Each direction draws from its own random streams.
            name: direction.to_string(),
            rate: spec.effective_rate(),
            delay: spec.delay,
            queue: Arc::new(spec.discipline()),
            loss: spec.loss,
            jitter: spec.jitter.map(|jitter| jitter.0),
            marker: None,
            conditions: Arc::new(LinkConditions {
                policer: spec.policer.map(|policer| policer.0),
                trace: spec.trace.as_ref().map(|trace| trace.trace().clone()),
                changes: self.changes.iter().map(|change| change.0).collect(),
                loss_model: spec.loss_burst.map(LossBurst::model),
                ..LinkConditions::default()
            }),
            base_rtt: self.base_rtt(),
            packet_size: Bytes::new(MTU as u64),
        }
    }

    /// One direction at work, composed as the links of scenarios are.
    pub(crate) fn link(&self, direction: Direction) -> Result<ImpairedLink, LinkError> {
        let link = self.description(direction);
        ImpairedLink::new(&link, self.seed)
            .map_err(|error| LinkError::Spec(format!("{direction}: {error}")))
    }
}

/// The given fields of a direction: `rate=5mbit,delay=10ms,queue=20p,loss=1%`, each at most once, in any order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DirectionChanges {
    /// Rate, if given.
    pub rate: Option<Rate>,
    /// One-way delay, if given.
    pub delay: Option<Duration>,
    /// Queue limit, if given.
    pub queue: Option<QueueLimit>,
    /// Random loss, if given.
    pub loss: Option<LossFraction>,
    /// Delivery trace, if given.
    pub trace: Option<TraceFile>,
    /// Queue discipline in place of drop-tail, if given.
    pub aqm: Option<Aqm>,
    /// Policer, if given.
    pub policer: Option<Policer>,
    /// Random delay, if given.
    pub jitter: Option<LinkJitter>,
    /// Loss in bursts, if given.
    pub loss_burst: Option<LossBurst>,
}

impl FromStr for DirectionChanges {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<DirectionChanges, LinkError> {
        let mut changes = DirectionChanges::default();
        for item in text.split(',') {
            let Some((key, value)) = item.split_once('=') else {
                return Err(LinkError::Spec(format!(
                    "`{item}` is not KEY=VALUE; write it as rate=5mbit,delay=10ms,queue=20p,loss=1%"
                )));
            };
            let repeated = match key {
                "rate" => changes.rate.replace(value.parse()?).is_some(),
                "delay" => changes.delay.replace(parse_delay(value)?).is_some(),
                "queue" => changes.queue.replace(value.parse()?).is_some(),
                "loss" => changes.loss.replace(value.parse()?).is_some(),
                "trace" => changes.trace.replace(value.parse()?).is_some(),
                "aqm" => changes.aqm.replace(value.parse()?).is_some(),
                "policer" => changes.policer.replace(value.parse()?).is_some(),
                "jitter" => changes.jitter.replace(value.parse()?).is_some(),
                "loss-burst" => changes.loss_burst.replace(value.parse()?).is_some(),
                _ => {
                    return Err(LinkError::Spec(format!(
                        "unknown key `{key}`; allowed are rate, delay, queue, loss, trace, aqm, policer, jitter, loss-burst"
                    )));
                }
            };
            if repeated {
                return Err(LinkError::Spec(format!(
                    "`{key}` is given twice in `{text}`; give it once"
                )));
            }
        }
        Ok(changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_direction_can_differ() {
        let mut spec =
            EmulatedLinkSpec::symmetric("rate=10mbit,delay=20ms,queue=2.5bdp".parse().unwrap());
        assert_eq!(
            spec.queue_bound(Direction::Up),
            Some(QueueBound::Packets(83))
        );
        spec.change(
            Direction::Up,
            "rate=5mbit,queue=20p,loss=1%".parse().unwrap(),
        );
        assert_eq!(
            spec.queue_bound(Direction::Up),
            Some(QueueBound::Packets(20))
        );
        assert_eq!(
            spec.queue_bound(Direction::Down),
            Some(QueueBound::Packets(83))
        );
        assert_eq!(spec.up.delay, Duration::from_millis(20));
        assert!(spec.check().is_ok());
        let text = "rate=5mbit,queue=20p,delay=20ms,loss=1%";
        assert_eq!(spec.up.to_string(), text);
        assert_eq!(
            spec.to_string(),
            format!("up {text} down rate=10mbit,queue=2.5bdp,delay=20ms")
        );
        assert_eq!(
            EmulatedLinkSpec::symmetric(text.parse().unwrap()).to_string(),
            text
        );
    }

    #[test]
    fn links_of_today_read_back_as_the_same() {
        for text in [
            "rate=5mbit,aqm=fq_codel,delay=20ms,policer=4mbit/30kB,jitter=5ms/pareto",
            "rate=5mbit,queue=20p,aqm=pie,delay=20ms,loss-burst=1%/20%",
        ] {
            let mut spec = EmulatedLinkSpec::symmetric(text.parse().unwrap());
            assert_eq!(spec.to_string(), text);
            assert!(spec.check().is_ok(), "{text}");
            spec.changes = vec![TimedChange::parse(Duration::from_secs(20), "delay=60ms").unwrap()];
            assert_eq!(spec.to_string(), format!("{text}, at 20s delay=60ms"));
            let link = spec.description(Direction::Up);
            assert_eq!(link.conditions.changes.len(), 1);
            assert!(spec.link(Direction::Down).is_ok());
        }
        let mut spec = EmulatedLinkSpec::symmetric("rate=5mbit,loss-burst=1%/20%".parse().unwrap());
        spec.change(Direction::Up, "loss=1%".parse().unwrap());
        assert_eq!(
            (spec.up.loss_burst, spec.down.loss),
            (None, LossFraction::NONE)
        );
        spec.changes = vec![TimedChange::parse(Duration::ZERO, "rate=1mbit,loss=1%").unwrap()];
        assert!(spec.check().unwrap_err().to_string().contains("bursts"));
        spec = EmulatedLinkSpec::symmetric("delay=5ms".parse().unwrap());
        spec.changes = vec![TimedChange::parse(Duration::ZERO, "rate=1mbit").unwrap()];
        assert!(
            spec.check()
                .unwrap_err()
                .to_string()
                .contains("where none is given")
        );
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("rate=10mb", "write 10mbit"),
            ("delay", "is not KEY=VALUE"),
            ("burst=1ms", "allowed are rate, delay, queue, loss"),
            ("jitter=1", "has no unit"),
            ("rate=1mbit,rate=2mbit", "given twice"),
            ("", "is not KEY=VALUE"),
        ] {
            let error = text.parse::<DirectionChanges>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        for (text, expected) in [
            ("queue=10p", "give a rate"),
            ("aqm=pie", "give a rate"),
            ("loss=1%,loss-burst=1%/20%", "give one of them"),
            ("delay=61s", "allowed are 0ms to 60s"),
            ("rate=1mbit,queue=100B", "takes no full packet"),
        ] {
            let error = EmulatedLinkSpec::symmetric(text.parse().unwrap())
                .check()
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
