// SPDX-License-Identifier: MIT OR Apache-2.0
//! A trial in the simulator: the same path, flows and figures as on the kernel.
//!
//! Senders are on the link's near end, as in the emulated link's namespaces; receivers delay ACKs, stamp in milliseconds
//! and report by SACK.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context, Result};
use netnice_lab::statistics::{jain_index, quantile};
use netnice_scenario::ScenarioFile;
use netnice_scenario::results::RunResults;

use crate::trial::{Outcome, SQUARE_PERIOD, Test, Trial};

/// Time series: the goodput of every such interval.
const INTERVAL: Duration = Duration::from_millis(100);
const PAGE_INTERVAL: Duration = Duration::from_millis(300);

/// A scenario in the making.
struct Draft {
    text: String,
    end: Duration,
}

impl Draft {
    fn new(trial: &Trial, end: Duration) -> Draft {
        let cell = &trial.cell;
        let rate = cell.spec.up.rate.map_or(0, |rate| rate.bits_per_second());
        let delay_us = cell.spec.base_rtt().as_micros() / 2;
        let mut text = format!(
            "name = \"trial\"\nduration = \"{}ms\"\nseeds = [{}]\n\
             sampling = {{ interval = \"{}ms\", links = [] }}\n\
             defaults.flows = {{ from = \"near\", to = \"far\", start_spread = \"30ms\" }}\n\
             [[links]]\nfrom = \"near\"\nto = \"far\"\nrate = \"{rate}bit\"\ndelay = \"{delay_us}us\"\nqueue = \"{}\"\n",
            end.as_millis(),
            trial.run + 1,
            INTERVAL.as_millis(),
            cell.queue,
        );
        if !cell.jitter.is_zero() {
            let _ = writeln!(
                text,
                "jitter = \"{}us\"\nreverse = {{ jitter = \"1ns\" }}",
                cell.jitter.as_micros()
            );
        }
        Draft { text, end }
    }

    fn tcp(&mut self, name: &str, control: &str, rest: &str) {
        let _ = writeln!(
            self.text,
            "[[flows]]\nname = \"{name}\"\ncongestion_control = \"{control}\"\n\
             tcp = {{ delayed_ack = true, min_rto = \"200ms\" }}\n{rest}"
        );
    }

    fn run(&self, seed: u64) -> Result<Report> {
        let file = ScenarioFile::parse("trial", &self.text, &[], None)?;
        let results = netnice_sim::run(file.scenario(), seed, || true)?;
        Ok(Report {
            results: results.context("nobody stops it")?,
            end: self.end,
        })
    }
}

struct Report {
    results: RunResults,
    end: Duration,
}

impl Report {
    /// Bits per second that a flow's receiver got between two times.
    fn goodput(&self, flow: &str, from: Duration, to: Duration) -> Result<f64> {
        let series = self
            .results
            .series
            .iter()
            .find(|series| series.of == flow && series.quantity == "goodput")
            .with_context(|| format!("no series of {flow}"))?;
        let step = INTERVAL.as_millis();
        let index = |time: Duration| (time.min(self.end).as_millis() / step) as usize;
        let values = &series.value[index(from)..index(to)];
        Ok(values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Seconds from `end` until a second's goodput of `bulk` is 90 % of the link.
    fn back(&self, end: Duration, link_bits: f64) -> Result<f64> {
        let second = Duration::from_secs(1);
        for step in 0..140 {
            let after = INTERVAL * step;
            let goodput = self.goodput("bulk", end + after, end + after + second)?;
            if goodput >= 0.9 * link_bits * 1448.0 / 1500.0 {
                return Ok(after.as_secs_f64());
            }
        }
        Ok(f64::INFINITY)
    }

    /// Seconds from a page's request to its last byte. The flow's own begin is the server's SYN where the kernel's is the
    /// client's, half a round trip before.
    fn pages(&self, half_rtt: Duration) -> Vec<f64> {
        let pages = self
            .results
            .flows
            .iter()
            .filter(|flow| flow.group.starts_with("page"));
        pages
            .filter_map(|flow| flow.completion_s)
            .map(|seconds| seconds + half_rtt.as_secs_f64())
            .collect()
    }
}

fn start(at: Duration) -> String {
    format!("start = \"{}ms\"", at.as_millis())
}

impl Trial {
    /// Runs it in the simulator, with a seed of its run.
    pub fn simulate(&self) -> Result<Outcome> {
        let (window, settle) = self.window_and_settle();
        let link_bits = self.link_bits()?;
        let second = Duration::from_secs(1);
        let seed = self.run as u64 + 1;
        let control = self.control.as_deref();
        let mut values = BTreeMap::new();
        match self.test {
            Test::Alone => {
                let mut draft = Draft::new(self, settle + window);
                draft.tcp("bulk", control.context("alone needs a control")?, "");
                let report = draft.run(seed)?;
                values.insert("goodput", report.goodput("bulk", settle, settle + window)?);
                values.insert(
                    "from_start",
                    report.goodput("bulk", Duration::ZERO, settle)?,
                );
            }
            Test::Beside => {
                let rival = self.rival.as_ref().context("beside needs a rival")?;
                let (begin, from) = (settle, settle * 2);
                let end = from + window;
                let mut draft = Draft::new(self, end + Duration::from_secs(15));
                draft.tcp("bulk", control.context("beside needs a control")?, "");
                let times = format!("{}\nstop = \"{}ms\"", start(begin), end.as_millis());
                draft.tcp("rival", rival, &times);
                let report = draft.run(seed)?;
                let own = report.goodput("bulk", from, end)?;
                let theirs = report.goodput("rival", from, end)?;
                values.insert("goodput", own);
                values.insert("rival_goodput", theirs);
                values.insert("share", own / (own + theirs));
                let after = report.goodput("bulk", begin + second, begin + 2 * second)?;
                values.insert("after_1s", after / link_bits);
                values.insert("back", report.back(end, link_bits)?);
            }
            Test::Web => {
                let end = settle + window;
                let mut draft = Draft::new(self, end + second);
                if let Some(control) = control {
                    draft.tcp("bulk", control, "");
                }
                let mut at = settle;
                while at < end {
                    let page = format!("{}\nbytes = \"10kB\"", start(at));
                    draft.tcp(&format!("page{}", at.as_millis()), "cubic", &page);
                    at += PAGE_INTERVAL;
                }
                let report = draft.run(seed)?;
                if control.is_some() {
                    values.insert("goodput", report.goodput("bulk", settle, end)?);
                }
                let pages = report.pages(self.cell.spec.base_rtt() / 2);
                let mean = pages.iter().sum::<f64>() / pages.len() as f64;
                values.insert("web_mean", mean);
                values.insert(
                    "web_p95",
                    quantile(&pages, 0.95).context("no page finished")?,
                );
            }
            Test::Square => {
                let settle = SQUARE_PERIOD * 4;
                let end = settle + SQUARE_PERIOD * 10;
                let mut draft = Draft::new(self, end);
                draft.tcp("bulk", control.context("square needs a control")?, "");
                let _ = writeln!(
                    draft.text,
                    "[[flows]]\nname = \"udp\"\ntransport = \"udp\"\n\
                     application = {{ kind = \"square_wave\", rate = \"{}bit\", period = \"{}ms\" }}",
                    (link_bits * 2.0 / 3.0) as u64,
                    SQUARE_PERIOD.as_millis(),
                );
                let report = draft.run(seed)?;
                let own = report.goodput("bulk", settle, end)?;
                values.insert("excess", own / (link_bits * 1448.0 / 1500.0 * 2.0 / 3.0));
                let udp = report.results.flows.iter().find(|flow| flow.name == "udp");
                let udp = udp.context("the square wave is a flow")?;
                values.insert(
                    "udp_loss",
                    udp.packets_lost as f64 / udp.packets_sent.max(1) as f64,
                );
            }
            Test::Two => {
                let control = control.context("two needs a control")?;
                let join = Duration::from_secs(30);
                let from = join + Duration::from_secs(30);
                let end = from + window;
                let mut draft = Draft::new(self, end);
                draft.tcp("bulk", control, "");
                draft.tcp("late", control, &start(join));
                let report = draft.run(seed)?;
                let first = report.goodput("bulk", from, end)?;
                let late = report.goodput("late", from, end)?;
                values.insert("goodput", first + late);
                values.insert("jain", jain_index(&[first, late]));
            }
        }
        Ok(Outcome {
            trial: self.clone(),
            values,
            distrust: None,
            lateness_p99: 0.0,
        })
    }
}
