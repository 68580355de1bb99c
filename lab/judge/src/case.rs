// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run: a path, with a rival or none, and the control under test or none.

use std::path::Path as FilePath;
use std::time::Duration;

use netnice_results::{RunResults, Series};
use netnice_scenario::{Check, ControlFiles, ScenarioError, ScenarioFile};
use netnice_study::Effort;
use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::path::Path;
use crate::rival::{Delay, LINUX_RECEIVER, Rival};

/// Number of points kept of each time series.
const POINTS: usize = 80;
/// A connection has yielded once its goodput over a second is at most this share of the link's rate.
const YIELDED: f64 = 0.1;
/// A connection is back once its goodput over a second is this share of what it was before.
const BACK: f64 = 0.8;
const SECOND: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(100);

/// One cell of the grid, or one of the runs that it is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The path.
    pub path: &'static Path,
    /// The rival; `None`: the control is alone.
    pub rival: Option<&'static Rival>,
    /// The control under test; `None`: the rival is alone.
    pub control: Option<Control>,
}

/// The times of a run, from its begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times {
    /// Start of the rival.
    pub(crate) start: Duration,
    /// End of the rival.
    pub(crate) stop: Duration,
    /// End of the run.
    pub(crate) end: Duration,
}

/// Figures measured in a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measured {
    /// Goodput of the control from the rival's start to the end of the run, in bit/s.
    pub own_bps: Option<f64>,
    /// Goodput of the control while the rival is there, without the first quarter, in bit/s.
    pub own_beside_bps: Option<f64>,
    /// Goodput of the rival over its time, in bit/s.
    pub rival_bps: Option<f64>,
    /// Goodput of the rival without the first quarter of its time, in bit/s; only of rivals that are one flow.
    pub rival_beside_bps: Option<f64>,
    /// The delay by which the rival's user judges, in seconds.
    pub rival_delay_s: Option<f64>,
    /// Share of the rival's packets that were lost.
    pub rival_loss: Option<f64>,
    /// Mean queueing delay at the bottleneck while the rival is there, without the first quarter, in seconds.
    pub queue_s: Option<f64>,
    /// From the rival's start until the control has yielded, in seconds; the rival's whole time if it never does.
    pub yield_s: Option<f64>,
    /// From the rival's end until the control is back, in seconds; the rest of the run if it never is.
    pub back_s: Option<f64>,
    /// Goodput over time, in bit/s, at equal distances from 0 to `end_s`: the control's.
    pub own_series: Vec<f64>,
    /// The rival's.
    pub rival_series: Vec<f64>,
    /// Length of the run in seconds.
    pub end_s: f64,
    /// Why the figures of a lab cannot be trusted, if so.
    pub distrust: Option<String>,
}

impl Case {
    /// `PATH.RIVAL.CONTROL`, with `none` where there is none.
    pub fn name(&self) -> String {
        let rival = self.rival.map_or("none", |rival| rival.name);
        let control = self.control.as_ref();
        let control = control.map_or("none", |control| &control.name);
        format!("{}.{rival}.{control}", self.path.name)
    }

    /// Long paths need longer to settle: BDPs of packets, a round trip at a time.
    pub(crate) fn times(&self, effort: Effort) -> Times {
        let rtt = self.path.rtt();
        let seconds = Duration::from_secs;
        let (settle, beside, rest) = match effort {
            Effort::Quick => (seconds(10), seconds(12), seconds(8)),
            Effort::Full => (seconds(20), seconds(30), seconds(20)),
        };
        let start = settle.max(rtt * 100);
        let stop = start + beside.max(rtt * 80);
        Times {
            start,
            stop,
            end: stop + rest,
        }
    }

    /// The run as a scenario file.
    pub fn text(&self, effort: Effort, seeds: u64) -> String {
        let Times { start, stop, end } = self.times(effort);
        let rival = self.rival.filter(|rival| rival.delay == Delay::OneWay);
        let sampled: Vec<&str> = [
            self.control.as_ref().map(|_| "\"own\""),
            rival.map(|_| "\"rival\""),
        ]
        .into_iter()
        .flatten()
        .collect();
        let mut text = format!(
            "name = \"judge\"\nduration = \"{}ms\"\nwarm_up = \"{}ms\"\nseeds = {seeds}\n\
             sampling = {{ interval = \"{}ms\", links = [\"bottleneck\"], flows = [{}] }}\n\
             defaults.flows = {{ from = \"near\", to = \"far\" }}\n\n{}\n",
            end.as_millis(),
            start.as_millis(),
            INTERVAL.as_millis(),
            sampled.join(", "),
            self.path.toml(),
        );
        if let Some(control) = &self.control {
            text += &format!(
                "[[flows]]\nname = \"own\"\ncongestion_control = \"{}\"\nstart_spread = \"100ms\"\n\
                 {LINUX_RECEIVER}\n",
                control.in_scenario()
            );
        }
        if let Some(rival) = self.rival {
            let milliseconds = |time: Duration| time.as_millis() as u64;
            let control = self.control.as_ref();
            let control = control.map_or("cubic".to_owned(), Control::in_scenario);
            let rate_bps = self.path.rate_bps();
            text += &rival.toml(&control, rate_bps, milliseconds(start), milliseconds(stop));
        }
        text
    }

    /// Directory of the C file that the scenario names; `None` if it names none.
    pub fn directory(&self) -> Option<&FilePath> {
        self.control.as_ref()?.directory.as_deref()
    }

    /// The run as a checked scenario. A C file is allowed as the control: whoever judges it has chosen it.
    ///
    /// # Errors
    /// If the scenario is refused: the control does not exist, its file does not compile, or `check` finds something.
    pub fn scenario(
        &self,
        effort: Effort,
        seeds: u64,
        check: Check<'_>,
    ) -> Result<ScenarioFile, ScenarioError> {
        ScenarioFile::parse_for(
            &self.name(),
            &self.text(effort, seeds),
            &[],
            self.directory(),
            ControlFiles::OfScenario,
            check,
        )
    }

    /// Measures a run.
    pub fn measure(&self, effort: Effort, results: &RunResults) -> Measured {
        let times = self.times(effort);
        let Times { start, stop, end } = times;
        let from = start + (stop - start) / 4;
        let own = series(results, "own", "goodput");
        let one = series(results, "rival", "goodput");
        let lab = results.lab.as_ref().filter(|lab| !lab.trustworthy);
        let rivals: Vec<_> = results
            .flows
            .iter()
            .filter(|flow| flow.group == "rival")
            .collect();
        let sum = |value: fn(&netnice_results::FlowResult) -> f64| {
            (!rivals.is_empty()).then(|| rivals.iter().map(|flow| value(flow)).sum::<f64>())
        };
        let time_s = (stop - start).as_secs_f64();
        let sent = sum(|flow| flow.packets_sent as f64).filter(|sent| *sent > 0.0);
        let lost = sum(|flow| flow.packets_lost as f64);
        let greedy = self.rival.is_some_and(|rival| rival.greedy);
        Measured {
            own_bps: own.and_then(|own| mean(own, start, end)),
            own_beside_bps: own.and_then(|own| mean(own, from, stop)),
            rival_bps: sum(|flow| flow.goodput_bps).map(|sum| sum * results.measured_s / time_s),
            rival_beside_bps: one.and_then(|one| mean(one, from, stop)),
            rival_delay_s: self.rival.and_then(|rival| delay_s(rival.delay, results)),
            rival_loss: sent.zip(lost).map(|(sent, lost)| lost / sent),
            queue_s: queue(results).and_then(|queue| mean(queue, from, stop)),
            yield_s: own
                .filter(|_| greedy)
                .map(|own| yield_s(own, times, YIELDED * self.path.rate_bps())),
            back_s: own.filter(|_| greedy).and_then(|own| back_s(own, times)),
            own_series: own.map(|own| thinned(own, end)).unwrap_or_default(),
            rival_series: one.map(|one| thinned(one, end)).unwrap_or_default(),
            end_s: end.as_secs_f64(),
            distrust: lab.map(|lab| lab.reason.clone()),
        }
    }
}

fn series<'a>(results: &'a RunResults, of: &str, quantity: &str) -> Option<&'a Series> {
    let mut all = results.series.iter();
    all.find(|series| series.of == of && series.quantity == quantity)
}

/// The queue of the direction in which the data goes, which is the first.
fn queue(results: &RunResults) -> Option<&Series> {
    let mut all = results.series.iter();
    all.find(|series| series.quantity == "queue_delay")
}

/// Returns the mean of the samples taken after `from` and no later than `to`; `None` without any.
fn mean(series: &Series, from: Duration, to: Duration) -> Option<f64> {
    let within =
        |time_s: f64| time_s > from.as_secs_f64() + 1e-9 && time_s <= to.as_secs_f64() + 1e-9;
    let samples = series.time_s.iter().zip(series.value.iter());
    let values: Vec<f64> = samples
        .filter(|(time_s, value)| within(**time_s) && value.is_finite())
        .map(|(_, value)| *value)
        .collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the seconds after `from` at which a second begins whose mean goodput satisfies `is`; at most until `to`.
fn until(own: &Series, from: Duration, to: Duration, is: impl Fn(f64) -> bool) -> f64 {
    let mut at = from;
    while at + SECOND <= to {
        if mean(own, at, at + SECOND).is_some_and(&is) {
            return (at - from).as_secs_f64();
        }
        at += INTERVAL;
    }
    (to - from).as_secs_f64()
}

fn yield_s(own: &Series, times: Times, target_bps: f64) -> f64 {
    until(own, times.start, times.stop, |bps| bps <= target_bps)
}

/// `None` if the control had nothing before.
fn back_s(own: &Series, times: Times) -> Option<f64> {
    let before = mean(own, times.start / 2, times.start).filter(|bps| *bps > 0.0)?;
    Some(until(own, times.stop, times.end, |bps| {
        bps >= BACK * before
    }))
}

fn delay_s(delay: Delay, results: &RunResults) -> Option<f64> {
    let rivals = || results.flows.iter().filter(|flow| flow.group == "rival");
    match delay {
        Delay::OneWay => rivals()
            .map(|flow| flow.one_way_delay)
            .find(|delays| delays.count > 0)
            .map(|delays| delays.p95_s),
        Delay::Completion => {
            let times: Vec<f64> = rivals().filter_map(|flow| flow.completion_s).collect();
            (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
        }
        Delay::Response => {
            let bins = results.response_times.iter().flat_map(|times| &times.bins);
            let (count, sum) = bins.fold((0, 0.0), |(count, sum), bin| {
                let response = bin.response;
                (
                    count + response.count,
                    sum + response.mean_s * response.count as f64,
                )
            });
            (count > 0).then(|| sum / count as f64)
        }
    }
}

/// Means over `POINTS` parts of the run.
fn thinned(series: &Series, end: Duration) -> Vec<f64> {
    let part = end / POINTS as u32;
    let parts = (0..POINTS as u32).map(|number| mean(series, part * number, part * (number + 1)));
    parts.map(|value| value.unwrap_or(0.0).round()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::PATHS;
    use crate::rival::RIVALS;

    fn steps(values: &[f64]) -> Series {
        Series {
            time_s: (1..=values.len())
                .map(|number| number as f64 / 10.0)
                .collect(),
            value: values.to_vec().into(),
            ..Series::default()
        }
    }

    #[test]
    fn every_path_and_rival_is_a_scenario() {
        for path in PATHS {
            for rival in RIVALS.iter().map(Some).chain([None]) {
                for control in [Some(Control::named("netnice")), None] {
                    if control.is_none() && rival.is_none() {
                        continue;
                    }
                    let case = Case {
                        path,
                        rival,
                        control,
                    };
                    for effort in [Effort::Quick, Effort::Full] {
                        if let Err(error) = case.scenario(effort, 1, &|_, _| Vec::new()) {
                            panic!("{}: {error}", case.name());
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn names_are_unique() {
        for (number, path) in PATHS.iter().enumerate() {
            assert!(PATHS[..number].iter().all(|other| other.name != path.name));
        }
        for (number, rival) in RIVALS.iter().enumerate() {
            assert!(
                RIVALS[..number]
                    .iter()
                    .all(|other| other.name != rival.name)
            );
        }
    }

    #[test]
    fn time_to_yield_is_the_begin_of_the_first_slow_second() {
        // One second at 10, one at 1: the first second with a mean of at most 2 begins at 0.9 s (9 * 1 + 10) / 10 = 1.9.
        let own = steps(&[vec![10.0; 10], vec![1.0; 20]].concat());
        let times = Times {
            start: Duration::ZERO,
            stop: SECOND * 3,
            end: SECOND * 3,
        };
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value}");
        near(yield_s(&own, times, 2.0), 0.9);
        near(yield_s(&own, times, 0.5), 3.0);
    }

    #[test]
    fn time_to_come_back_is_by_what_there_was_before() {
        // 10 before, nothing for a second, then 9: over 8 from the first full second on.
        let own = steps(&[vec![10.0; 20], vec![0.0; 20], vec![9.0; 20]].concat());
        let times = Times {
            start: SECOND * 2,
            stop: SECOND * 3,
            end: SECOND * 6,
        };
        let back = back_s(&own, times).unwrap();
        assert!((back - 0.9).abs() < 0.11, "{back}");
        assert_eq!(back_s(&steps(&[0.0; 60]), times), None);
    }

    #[test]
    fn means_take_samples_of_their_time_only() {
        let values = steps(&[1.0, 2.0, f64::NAN, 4.0]);
        let at = Duration::from_millis;
        assert_eq!(mean(&values, at(100), at(400)), Some(3.0));
        assert_eq!(mean(&values, at(500), at(900)), None);
    }
}
