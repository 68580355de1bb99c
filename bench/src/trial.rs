// SPDX-License-Identifier: MIT OR Apache-2.0
//! One trial: a link, its flows, and what is read off them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use netnice_lab::statistics::jain_index;
use netnice_lab::{Bulk, Direction, LinkSpec, Testbed, Udp, Web};
use serde::Serialize;

/// A path to measure on.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    name: String,
    pub(crate) spec: LinkSpec,
    /// The queue as it was written.
    pub(crate) queue: String,
    /// Every packet takes up to so much longer on the way there, at random, in order: in the simulator only.
    pub(crate) jitter: Duration,
}

impl FromStr for Cell {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        ensure!(
            (3..=4).contains(&parts.len()),
            "cell `{text}`: write RATE/RTT/QUEUE or RATE/RTT/QUEUE/JITTER, such as 10mbit/40ms/2.5bdp/5ms"
        );
        let jitter = match parts.get(3) {
            Some(jitter) => netnice_queue::parse_delay(jitter)?,
            None => Duration::ZERO,
        };
        let rtt = netnice_queue::parse_delay(parts[1])?;
        let half_us = rtt.as_micros() / 2;
        let changes = format!("rate={},delay={half_us}us,queue={}", parts[0], parts[2]);
        Ok(Self {
            name: text.to_owned(),
            spec: LinkSpec::symmetric(changes.parse().with_context(|| format!("cell `{text}`"))?),
            queue: parts[2].to_owned(),
            jitter,
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

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Test {
    /// One flow and nothing else.
    Alone,
    /// A best-effort flow starts beside it and ends before it.
    Beside,
    /// 10 kB over HTTP every 0.3 s, beside it or beside nothing.
    Web,
    /// UDP of two thirds of the link, on and off for 1.6 s each.
    Square,
    /// Another of its kind joins after 30 s.
    Two,
}

/// One trial of a test.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// The path.
    pub cell: Cell,
    /// What is measured.
    pub test: Test,
    /// The congestion control under test; none: the test's other traffic alone.
    pub control: Option<String>,
    /// The best-effort congestion control beside it.
    pub rival: Option<String>,
    /// Counts repetitions.
    pub run: usize,
    /// Over which goodput is measured, at the least.
    #[serde(skip)]
    pub window: Duration,
}

/// What a trial gave: named values, shares and ratios from 0 to 1, times in seconds.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The trial.
    pub trial: Trial,
    /// By name.
    pub values: BTreeMap<&'static str, f64>,
    /// Why the emulated link's figures can't be trusted, if so.
    pub distrust: Option<String>,
    /// 99 % of the packets left the emulated link at most this late, in seconds.
    pub lateness_p99: f64,
}

/// On for half of it, off for the other.
pub(crate) const SQUARE_PERIOD: Duration = Duration::from_millis(3200);

impl Trial {
    /// Over which goodput is measured, and how long flows settle before. Long paths need longer to: BDPs of packets,
    /// round trip by round trip.
    pub(crate) fn window_and_settle(&self) -> (Duration, Duration) {
        let rtt = self.cell.spec.base_rtt();
        let window = self.window.max(rtt * 120);
        let settle = (self.window / 2).min(Duration::from_secs(10)).max(rtt * 80);
        (window, settle)
    }

    /// Bits per second of the link.
    pub(crate) fn link_bits(&self) -> Result<f64> {
        let rate = self.cell.spec.up.rate.context("a cell has a rate")?;
        Ok(rate.bits_per_second() as f64)
    }

    /// Runs it on the kernel; takes some tens of seconds.
    pub fn run(&self) -> Result<Outcome> {
        ensure!(
            self.cell.jitter.is_zero(),
            "cell {}: the emulated link has no jitter; leave it out, or add --simulated",
            self.cell
        );
        let (window, settle) = self.window_and_settle();
        let link_bits = self.link_bits()?;
        let second = Duration::from_secs(1);
        let mut values = BTreeMap::new();
        let mut bed = Testbed::new(&self.cell.spec)?;
        if let Some(control) = &self.control {
            bed = bed.flow("bulk", Bulk::new(control));
        }
        let report = match self.test {
            Test::Alone => {
                let report = bed.run(settle + window)?;
                values.insert("goodput", report.goodput("bulk", settle, settle + window)?);
                values.insert(
                    "from_start",
                    report.goodput("bulk", Duration::ZERO, settle)?,
                );
                report
            }
            Test::Beside => {
                let rival = self.rival.as_ref().context("beside needs a rival")?;
                let start = settle;
                let from = start + settle;
                let end = from + window;
                let report = bed
                    .flow("rival", Bulk::new(rival).from(start).until(end))
                    .run(end + Duration::from_secs(15))?;
                let own = report.goodput("bulk", from, end)?;
                let theirs = report.goodput("rival", from, end)?;
                values.insert("goodput", own);
                values.insert("rival_goodput", theirs);
                values.insert("share", own / (own + theirs));
                let after = report.goodput("bulk", start + second, start + 2 * second)?;
                values.insert("after_1s", after / link_bits);
                values.insert("back", back(&report, end, link_bits)?);
                report
            }
            Test::Web => {
                let size = "10kB".parse()?;
                let web = Web::new(size, Duration::from_millis(300))
                    .direction(Direction::Up)
                    .congestion("cubic")
                    .from(settle);
                let report = bed.flow("web", web).run(settle + window)?;
                if self.control.is_some() {
                    values.insert("goodput", report.goodput("bulk", settle, settle + window)?);
                }
                let web = report.web("web")?;
                values.insert("web_mean", web.mean().context("no web fetch finished")?);
                values.insert("web_p95", web.p95().context("no web fetch finished")?);
                report
            }
            Test::Square => {
                let settle = SQUARE_PERIOD * 4;
                let end = settle + SQUARE_PERIOD * 10;
                let rate = format!("{}bit", (link_bits * 2.0 / 3.0) as u64).parse()?;
                let report = bed
                    .flow("udp", Udp::square_wave(rate, SQUARE_PERIOD))
                    .run(end)?;
                let own = report.goodput("bulk", settle, end)?;
                // Two thirds of the link, as far as payload goes.
                let payload = 1448.0 / 1500.0;
                values.insert("excess", own / (link_bits * payload * 2.0 / 3.0));
                values.insert("udp_loss", report.udp("udp")?.loss_fraction());
                report
            }
            Test::Two => {
                let control = self.control.as_ref().context("two needs a control")?;
                let join = Duration::from_secs(30);
                let from = join + Duration::from_secs(30);
                let end = from + window;
                let report = bed.flow("late", Bulk::new(control).from(join)).run(end)?;
                let first = report.goodput("bulk", from, end)?;
                let late = report.goodput("late", from, end)?;
                values.insert("goodput", first + late);
                values.insert("jain", jain_index(&[first, late]));
                report
            }
        };
        Ok(Outcome {
            trial: self.clone(),
            values,
            distrust: (!report.link.trustworthy).then(|| report.link.reason.clone()),
            lateness_p99: report.link.up.lateness.p99.as_secs_f64(),
        })
    }
}

/// Seconds from the rival's end until a second's goodput is 90 % of the link.
fn back(report: &netnice_lab::TestbedReport, end: Duration, link_bits: f64) -> Result<f64> {
    let second = Duration::from_secs(1);
    for step in 0..140 {
        let after = Duration::from_millis(100) * step;
        let goodput = report.goodput("bulk", end + after, end + after + second)?;
        if goodput >= 0.9 * link_bits * 1448.0 / 1500.0 {
            return Ok(after.as_secs_f64());
        }
    }
    Ok(f64::INFINITY)
}
