// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings of a link beyond rate, delay, queue and loss, as written on a command line. Each text form reads back as the same
//! value.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use netnice_queue::{
    Bytes, DeliveryTrace, Described, DisciplineConfig, JitterConfig, JitterDistribution,
    LossFraction, LossModel, PolicerConfig, QueueLimit, Rate, TimeSpan, format_delay, parse_delay,
};

use crate::error::LinkError;

/// Limit of a queue where neither the link nor its discipline has one.
pub(crate) const DEFAULT_QUEUE: QueueLimit = QueueLimit::Time(Duration::from_millis(100));

/// A queue discipline in place of drop-tail, with the defaults of its RFC or paper: `codel`, `fq_codel`, `pie` or another that has
/// a default for all but its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aqm(&'static str);

impl Aqm {
    /// Returns the names allowed, in the order of the registry of queue disciplines.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let names = DisciplineConfig::NAMES.iter().copied();
        names.filter(|name| Aqm(name).with_defaults(Some(DEFAULT_QUEUE)).is_some())
    }

    fn with_defaults(self, limit: Option<QueueLimit>) -> Option<DisciplineConfig> {
        DisciplineConfig::with_defaults(self.0, limit)
    }

    /// The queue of at most `limit`; without one, of the discipline's default, or else of a link's.
    pub(crate) fn discipline(self, limit: Option<QueueLimit>) -> DisciplineConfig {
        let limit_of_link = || self.with_defaults(Some(DEFAULT_QUEUE));
        self.with_defaults(limit)
            .or_else(limit_of_link)
            .expect("names() has disciplines that need no more than a limit")
    }
}

impl fmt::Display for Aqm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl FromStr for Aqm {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<Aqm, LinkError> {
        let found = Aqm::names().find(|name| *name == text);
        found.map(Aqm).ok_or_else(|| {
            let allowed = Aqm::names().collect::<Vec<_>>().join(", ");
            LinkError::Spec(format!("aqm `{text}` is unknown; allowed are {allowed}"))
        })
    }
}

/// A policer: `10mbit/30kB`, rate and burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer(pub PolicerConfig);

impl fmt::Display for Policer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0.rate, self.0.burst)
    }
}

impl FromStr for Policer {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<Policer, LinkError> {
        let (rate, burst) = pair("policer", text, "a rate and a burst, as in 10mbit/30kB")?;
        let (rate, burst): (Rate, Bytes) = (rate.parse()?, burst.parse()?);
        match burst.get() {
            0 => Err(LinkError::Spec(format!(
                "policer `{text}` has a burst of zero; no packet would pass"
            ))),
            _ => Ok(Policer(PolicerConfig { rate, burst })),
        }
    }
}

/// Loss in bursts, Gilbert's model: `1%/20%`, the probabilities that a burst begins after a packet and that it ends after one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossBurst {
    /// Probability that a burst begins after a packet outside one.
    pub begins: LossFraction,
    /// Probability that it ends after a packet within it, above zero.
    pub ends: LossFraction,
}

impl LossBurst {
    pub(crate) fn model(self) -> LossModel {
        LossModel::GilbertElliott {
            to_bad: self.begins,
            to_good: self.ends,
            loss_in_bad: LossFraction::from_billionths(1_000_000_000).unwrap_or_default(),
            loss_in_good: LossFraction::NONE,
        }
    }
}

impl fmt::Display for LossBurst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.begins, self.ends)
    }
}

impl FromStr for LossBurst {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<LossBurst, LinkError> {
        let form = "the probabilities that a burst begins and ends, as in 1%/20%";
        let (begins, ends) = pair("loss-burst", text, form)?;
        let (begins, ends) = (begins.parse()?, ends.parse()?);
        match ends == LossFraction::NONE {
            true => Err(LinkError::Spec(format!(
                "loss-burst `{text}` has no end; the second probability must be above 0%"
            ))),
            false => Ok(LossBurst { begins, ends }),
        }
    }
}

/// A random delay: `5ms`, uniform from zero to that, or with its distribution, as in `5ms/netem_pareto`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkJitter(pub JitterConfig);

const DISTRIBUTIONS: [(&str, JitterDistribution); 4] = [
    ("uniform", JitterDistribution::Uniform),
    ("exponential", JitterDistribution::Exponential),
    ("pareto", JitterDistribution::Pareto),
    ("netem_pareto", JitterDistribution::NetemPareto),
];

impl fmt::Display for LinkJitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.size)?;
        let named = DISTRIBUTIONS[1..].iter();
        match named
            .into_iter()
            .find(|known| known.1 == self.0.distribution)
        {
            Some((name, _)) => write!(f, "/{name}"),
            None => Ok(()),
        }
    }
}

impl FromStr for LinkJitter {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<LinkJitter, LinkError> {
        let (size, name) = text.split_once('/').unwrap_or((text, "uniform"));
        let Some((_, distribution)) = DISTRIBUTIONS.iter().find(|known| known.0 == name) else {
            return Err(LinkError::Spec(format!(
                "jitter `{text}` has the unknown distribution `{name}`; allowed are uniform, exponential, pareto"
            )));
        };
        Ok(LinkJitter(JitterConfig {
            size: TimeSpan(parse_delay(size)?),
            distribution: *distribution,
            early_fraction: None,
            reordering: false,
        }))
    }
}

/// A delivery trace and the name of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFile {
    name: String,
    trace: Arc<DeliveryTrace>,
}

impl TraceFile {
    pub(crate) fn trace(&self) -> &Arc<DeliveryTrace> {
        &self.trace
    }
}

impl fmt::Display for TraceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl FromStr for TraceFile {
    type Err = LinkError;

    /// Reads the file called `name`.
    fn from_str(name: &str) -> Result<TraceFile, LinkError> {
        let error = |message: String| LinkError::Spec(message);
        let text = netnice_files::read(Path::new(name), netnice_files::TRACE_BYTES)
            .map_err(|answer| error(format!("trace `{name}` cannot be read: {answer}")))?;
        let text = String::from_utf8(text)
            .map_err(|_| error(format!("trace `{name}` is no text in UTF-8")))?;
        let trace = text
            .parse::<DeliveryTrace>()
            .map_err(|mistake| error(format!("trace {name}:{mistake}")))?;
        Ok(TraceFile {
            name: name.to_owned(),
            trace: Arc::new(trace),
        })
    }
}

/// A change at a time: `delay=60ms,rate=5mbit,loss=1%`, any of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedChange(pub netnice_queue::LinkChange);

impl fmt::Display for TimedChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.0.rate.map(|rate| format!("rate={rate}"));
        let delay = self
            .0
            .delay
            .map(|delay| format!("delay={}", format_delay(delay)));
        let loss = self.0.loss.map(|loss| format!("loss={loss}"));
        let all: Vec<String> = [rate, delay, loss].into_iter().flatten().collect();
        write!(f, "at {} {}", format_delay(self.0.at), all.join(","))
    }
}

impl TimedChange {
    /// Reads the change at `at`.
    pub fn parse(at: Duration, text: &str) -> Result<TimedChange, LinkError> {
        let mut change = netnice_queue::LinkChange {
            at,
            rate: None,
            delay: None,
            loss: None,
        };
        for item in text.split(',') {
            let (key, value) = item.split_once('=').unwrap_or((item, ""));
            let repeated = match key {
                "rate" => change.rate.replace(value.parse()?).is_some(),
                "delay" => change.delay.replace(parse_delay(value)?).is_some(),
                "loss" => change.loss.replace(value.parse()?).is_some(),
                _ => {
                    return Err(LinkError::Spec(format!(
                        "`{key}` cannot change at a time; allowed are rate, delay, loss, as in delay=60ms,rate=5mbit"
                    )));
                }
            };
            if repeated {
                return Err(LinkError::Spec(format!(
                    "`{key}` is given twice in `{text}`; give it once"
                )));
            }
        }
        Ok(TimedChange(change))
    }
}

/// Splits a setting of two parts.
fn pair<'a>(key: &str, text: &'a str, form: &str) -> Result<(&'a str, &'a str), LinkError> {
    text.split_once('/')
        .ok_or_else(|| LinkError::Spec(format!("{key} `{text}` has one part; write {form}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: FromStr<Err = LinkError> + fmt::Display>(text: &str) -> Result<String, String> {
        let value: Result<T, LinkError> = text.parse();
        value
            .map(|value| value.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn texts_read_back_as_the_same() {
        for aqm in Aqm::names() {
            assert_eq!(read::<Aqm>(aqm).unwrap(), aqm);
        }
        assert_eq!(read::<Policer>("10mbit/30kB").unwrap(), "10mbit/30kB");
        assert_eq!(read::<LossBurst>("1%/20%").unwrap(), "1%/20%");
        for (text, same) in [
            ("5ms", "5ms"),
            ("5ms/uniform", "5ms"),
            ("5ms/pareto", "5ms/pareto"),
            ("5ms/netem_pareto", "5ms/netem_pareto"),
        ] {
            assert_eq!(read::<LinkJitter>(text).unwrap(), same);
        }
        let change = TimedChange::parse(Duration::from_secs(20), "delay=60ms,rate=5mbit").unwrap();
        assert_eq!(change.to_string(), "at 20s rate=5mbit,delay=60ms");
    }

    #[test]
    fn aqms_are_the_disciplines_with_defaults() {
        let names: Vec<&str> = Aqm::names().collect();
        assert!(
            ["codel", "fq_codel", "pie", "sfq"]
                .iter()
                .all(|name| names.contains(name))
        );
        assert!(
            !names.contains(&"red") && !names.contains(&"rio"),
            "their thresholds have no default"
        );
        let limit = |name: &str, given| name.parse::<Aqm>().unwrap().discipline(given).limit();
        for (name, default) in [
            ("codel", QueueLimit::Packets(1000)),
            ("fq_codel", QueueLimit::Packets(10_240)),
            ("sfq", DEFAULT_QUEUE),
        ] {
            assert_eq!(limit(name, None), default, "{name}");
            assert_eq!(
                limit(name, Some(QueueLimit::Packets(7))),
                QueueLimit::Packets(7)
            );
        }
    }

    #[test]
    fn mistakes_say_what_to_write() {
        for (error, words) in [
            (read::<Aqm>("red"), "codel, fq_codel, pie"),
            (read::<Policer>("10mbit"), "as in 10mbit/30kB"),
            (read::<Policer>("10mbit/0B"), "no packet would pass"),
            (read::<Policer>("10mbit/30"), "unit"),
            (read::<LossBurst>("1%"), "as in 1%/20%"),
            (read::<LossBurst>("1%/0%"), "above 0%"),
            (read::<LinkJitter>("5ms/normal"), "allowed are uniform"),
            (read::<LinkJitter>("5"), "has no unit"),
            (read::<TraceFile>("/nonexistent"), "cannot be read"),
        ] {
            let error = error.unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        for text in ["", "queue=5p", "delay=1ms,delay=2ms", "delay"] {
            assert!(TimedChange::parse(Duration::ZERO, text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_mistake_in_a_trace_has_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("line.trace");
        std::fs::write(&path, "# ms\n5\n3\n").unwrap();
        let error = read::<TraceFile>(path.to_str().unwrap()).unwrap_err();
        assert!(error.contains("line.trace:3: 3 is earlier"), "{error}");
    }
}
