// SPDX-License-Identifier: MIT OR Apache-2.0
//! One trial: a scenario of one link and its flows, run in the simulator or on this kernel, and the figures of its
//! results.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use netnice_emulation::{self as experiment, Lab};
use netnice_queue::{QueueLimit, Rate};
use netnice_scenario::results::{RunResults, jain_index, quantile};
use netnice_scenario::{Scenario, ScenarioFile};
use serde::Serialize;

/// Path to measure on.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    name: String,
    rate: Rate,
    /// Round-trip propagation delay.
    base_rtt: Duration,
    queue: QueueLimit,
    /// Largest random delay of a packet in forward direction; packets keep their order.
    jitter: Duration,
}

impl FromStr for Cell {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        ensure!(
            (3..=4).contains(&parts.len()),
            "cell `{text}`: write RATE/RTT/QUEUE or RATE/RTT/QUEUE/JITTER, such as 10mbit/40ms/2.5bdp/5ms"
        );
        let cell = || format!("cell `{text}`");
        let delay = |text| netnice_queue::parse_delay(text).with_context(cell);
        Ok(Self {
            name: text.to_owned(),
            rate: parts[0].parse().with_context(cell)?,
            base_rtt: delay(parts[1])?,
            queue: parts[2].parse().with_context(cell)?,
            jitter: parts
                .get(3)
                .copied()
                .map(delay)
                .transpose()?
                .unwrap_or_default(),
        })
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Serialize for Cell {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

/// A test of a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Test {
    /// One flow and nothing else.
    Alone,
    /// A best-effort flow starts beside it and ends before it.
    Beside,
    /// A page of 10 kB every 0.3 s, each over a connection of its own, beside it or beside nothing.
    Web,
    /// UDP of two thirds of the link, on and off for 1.6 s each.
    Square,
    /// Another of its kind joins after 30 s.
    Two,
}

/// One trial of a test.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// Path.
    pub cell: Cell,
    /// The test.
    pub test: Test,
    /// Congestion control under test; `None`: the test's other traffic alone.
    pub control: Option<String>,
    /// Best-effort congestion control beside it.
    pub rival: Option<String>,
    /// Number of the repetition.
    pub run: usize,
    /// Minimum time over which goodput is measured.
    #[serde(skip)]
    pub window: Duration,
}

/// Figures of a trial: named values, shares and ratios from 0 to 1, times in seconds.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Trial that gave the figures.
    pub trial: Trial,
    /// Values by name.
    pub values: BTreeMap<&'static str, f64>,
    /// Reason the lab's figures cannot be trusted, if so.
    pub distrust: Option<String>,
    /// Lateness that 99 % of the packets did not exceed on leaving the lab's network, in seconds.
    pub lateness_p99: f64,
}

/// Runs trials in the simulator or on this kernel.
pub enum Runner<'lab> {
    /// The simulator.
    Simulator,
    /// This kernel.
    Kernel(&'lab Lab),
}

impl Runner<'_> {
    /// Runs a scenario.
    pub fn run(&self, scenario: &Scenario, seed: u64) -> Result<RunResults> {
        let results = match self {
            Runner::Simulator => netnice_sim::run(scenario, seed, || true)?,
            Runner::Kernel(lab) => lab.run(scenario, seed, || true)?,
        };
        results.context("a run ended early")
    }
}

/// Sampling interval of goodput.
const INTERVAL: Duration = Duration::from_millis(100);
const SECOND: Duration = Duration::from_secs(1);
/// Time after the end of a rival in which the control may regain its bandwidth.
const RECOVERY: Duration = Duration::from_secs(15);
const PAGE_INTERVAL: Duration = Duration::from_millis(300);
/// Period of the square wave: on for half of it, off for the other.
const SQUARE_PERIOD: Duration = Duration::from_millis(3200);
/// Share of the link that the square wave takes.
const SQUARE_SHARE: f64 = 2.0 / 3.0;
/// Share of a full packet that is payload.
const PAYLOAD: f64 = 1448.0 / 1500.0;

/// Times of a trial, from its start.
struct Times {
    /// Start of the test's other traffic.
    start: Duration,
    /// Start of the goodput measurement.
    from: Duration,
    /// End of the goodput measurement, of the rival and of the pages.
    to: Duration,
    /// End of the trial.
    end: Duration,
}

impl Trial {
    /// Returns the times of the trial. Long paths need longer to settle: BDPs of packets, one round trip at a time.
    fn times(&self) -> Times {
        let rtt = self.cell.base_rtt;
        let window = self.window.max(rtt * 120);
        let settle = (self.window / 2).min(Duration::from_secs(10)).max(rtt * 80);
        let (start, from, to, rest) = match self.test {
            Test::Alone => (Duration::ZERO, settle, settle + window, Duration::ZERO),
            Test::Beside => (settle, settle * 2, settle * 2 + window, RECOVERY),
            Test::Web => (settle, settle, settle + window, SECOND),
            Test::Square => {
                let from = SQUARE_PERIOD * 4;
                (
                    Duration::ZERO,
                    from,
                    from + SQUARE_PERIOD * 10,
                    Duration::ZERO,
                )
            }
            Test::Two => {
                let join = Duration::from_secs(30);
                (join, join * 2, join * 2 + window, Duration::ZERO)
            }
        };
        Times {
            start,
            from,
            to,
            end: to + rest,
        }
    }

    /// Returns the seed of its run.
    pub fn seed(&self) -> u64 {
        self.run as u64 + 1
    }

    /// Returns the trial as a scenario: senders on the link's near end; receivers delay ACKs, as Linux does.
    pub fn scenario(&self) -> Result<Scenario> {
        let Cell {
            rate,
            base_rtt,
            queue,
            jitter,
            ..
        } = &self.cell;
        let times = self.times();
        let mut text = format!(
            "name = \"trial\"\nduration = \"{}ms\"\nseeds = [{}]\n\
             sampling = {{ interval = \"{}ms\", links = [] }}\n\
             defaults.flows = {{ from = \"near\", to = \"far\", start_spread = \"30ms\" }}\n\
             [[links]]\nfrom = \"near\"\nto = \"far\"\nrate = \"{rate}\"\ndelay = \"{}us\"\nqueue = \"{queue}\"\n",
            times.end.as_millis(),
            self.seed(),
            INTERVAL.as_millis(),
            base_rtt.as_micros() / 2,
        );
        if !jitter.is_zero() {
            let _ = writeln!(
                text,
                "jitter = \"{}us\"\nreverse = {{ jitter = \"1ns\" }}",
                jitter.as_micros()
            );
        }
        let mut tcp = |name: &str, control: &str, rest: &str| {
            let _ = writeln!(
                text,
                "[[flows]]\nname = \"{name}\"\ncongestion_control = \"{control}\"\n\
                 tcp = {{ delayed_ack = true, min_rto = \"200ms\" }}\n{rest}"
            );
        };
        let milliseconds =
            |key: &str, time: Duration| format!("{key} = \"{}ms\"\n", time.as_millis());
        let start = milliseconds("start", times.start);
        match &self.control {
            Some(control) => tcp("bulk", control, ""),
            None => ensure!(
                self.test == Test::Web,
                "{:?} needs a congestion control under test",
                self.test
            ),
        }
        match (self.test, &self.control, &self.rival) {
            (Test::Alone, ..) => {}
            (Test::Beside, _, Some(rival)) => {
                tcp("rival", rival, &(start + &milliseconds("stop", times.to)));
            }
            (Test::Beside, _, None) => bail!("beside needs a rival"),
            (Test::Web, ..) => {
                let mut at = times.start;
                while at < times.to {
                    let page = milliseconds("start", at) + "bytes = \"10kB\"";
                    tcp(&format!("page{}", at.as_millis()), "cubic", &page);
                    at += PAGE_INTERVAL;
                }
            }
            (Test::Square, ..) => {
                let _ = writeln!(
                    text,
                    "[[flows]]\nname = \"udp\"\ntransport = \"udp\"\n\
                     application = {{ kind = \"square_wave\", rate = \"{}bit\", period = \"{}ms\" }}",
                    (rate.as_f64() * SQUARE_SHARE) as u64,
                    SQUARE_PERIOD.as_millis(),
                );
            }
            (Test::Two, control, _) => {
                tcp("late", control.as_deref().unwrap_or_default(), &start);
            }
        }
        let cell = || format!("cell {}, {:?}", self.cell, self.test);
        let file = ScenarioFile::parse("trial", &text, &[], None).with_context(cell)?;
        Ok(file.scenario().clone())
    }

    /// Computes the figures from the results.
    pub fn outcome(&self, results: &RunResults) -> Result<Outcome> {
        let Times {
            start, from, to, ..
        } = self.times();
        let link_bps = self.cell.rate.as_f64();
        let goodput = |flow, from, to| goodput_bps(results, flow, from, to);
        let mut values = BTreeMap::new();
        if self.control.is_some() && self.test != Test::Square {
            values.insert("goodput", goodput("bulk", from, to)?);
        }
        match self.test {
            Test::Alone => {
                values.insert("from_start", goodput("bulk", Duration::ZERO, from)?);
            }
            Test::Beside => {
                let (own, rival) = (values["goodput"], goodput("rival", from, to)?);
                values.insert("rival_goodput", rival);
                values.insert("share", own / (own + rival));
                let after = goodput("bulk", start + SECOND, start + 2 * SECOND)?;
                values.insert("after_1s", after / link_bps);
                values.insert("back", recovery_s(results, to, 0.9 * link_bps * PAYLOAD)?);
            }
            Test::Web => {
                let pages = pages_s(results, self.cell.base_rtt / 2);
                let p95 = quantile(&pages, 0.95).context("no page finished")?;
                values.insert("web_mean", pages.iter().sum::<f64>() / pages.len() as f64);
                values.insert("web_p95", p95);
            }
            Test::Square => {
                let own = goodput("bulk", from, to)?;
                values.insert("excess", own / (link_bps * PAYLOAD * SQUARE_SHARE));
                let udp = results.flows.iter().find(|flow| flow.name == "udp");
                let udp = udp.context("the square wave is a flow")?;
                let sent = udp.packets_sent.max(1) as f64;
                values.insert("udp_loss", udp.packets_lost as f64 / sent);
            }
            Test::Two => {
                let (first, second) = (values["goodput"], goodput("late", from, to)?);
                values.insert("goodput", first + second);
                // If both flows got nothing, neither has taken from the other.
                values.insert("jain", jain_index(&[first, second]).unwrap_or(1.0));
            }
        }
        let lab = results.lab.as_ref();
        let distrusted = lab.filter(|report| !report.trustworthy);
        Ok(Outcome {
            trial: self.clone(),
            values,
            distrust: distrusted.map(|report| report.reason.clone()),
            lateness_p99: lab.map_or(0.0, |report| report.lateness.p99_s),
        })
    }
}

/// Checks that this kernel can run a scenario.
pub fn check_on_kernel(scenario: &Scenario) -> Result<()> {
    match experiment::check(scenario).first() {
        Some(problem) => bail!("{problem}"),
        None => Ok(()),
    }
}

/// Returns the mean goodput of a flow between two times, in bits per second.
fn goodput_bps(results: &RunResults, flow: &str, from: Duration, to: Duration) -> Result<f64> {
    let mut series = results.series.iter();
    let series = series
        .find(|series| series.of == flow && series.quantity == "goodput")
        .with_context(|| format!("no goodput of {flow} was sampled"))?;
    let index = |time: Duration| {
        let index = (time.as_millis() / INTERVAL.as_millis()) as usize;
        index.min(series.value.len())
    };
    let values = &series.value[index(from)..index(to)];
    Ok(values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the seconds from `end` until the goodput of `bulk` over a second is `target_bps`.
fn recovery_s(results: &RunResults, end: Duration, target_bps: f64) -> Result<f64> {
    let last = RECOVERY - SECOND;
    let mut after = Duration::ZERO;
    while after < last {
        if goodput_bps(results, "bulk", end + after, end + after + SECOND)? >= target_bps {
            return Ok(after.as_secs_f64());
        }
        after += INTERVAL;
    }
    Ok(f64::INFINITY)
}

/// Returns the seconds from a page's request to its last byte. A page's flow starts with the server's SYN, half a round
/// trip after the client's.
fn pages_s(results: &RunResults, half_rtt: Duration) -> Vec<f64> {
    let flows = results.flows.iter();
    let pages = flows.filter(|flow| flow.group.starts_with("page"));
    pages
        .filter_map(|flow| flow.completion_s)
        .map(|seconds| seconds + half_rtt.as_secs_f64())
        .collect()
}
