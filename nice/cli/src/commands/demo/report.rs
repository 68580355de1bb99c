// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures as a table, in words and as JSON.

use std::fmt::Write;

use anyhow::{Context, Result};
use netnice_link::{EmulatedLinkSpec, LinkReport, MTU};
use netnice_measure::{Estimate, quantile};
use serde::Serialize;

use super::stage::{FETCH_EVERY, LINK, PAGE_BYTES, Phase, Way};
use netnice_terminal::style;
use netnice_terminal::text::{self, say};

/// Share of each full packet that is payload: without IPv4 and TCP headers, and TCP timestamps.
const PAYLOAD: f64 = (MTU - 52) as f64 / MTU as f64;

/// One pass through all phases.
#[derive(Debug, Serialize)]
pub struct Run {
    phases: Vec<Measured>,
    link: LinkReport,
}

/// Figures of a phase, in base units as everywhere in the JSON.
#[derive(Debug, Serialize)]
struct Measured {
    direction: Way,
    bulk: &'static str,
    fetches: usize,
    failed_fetches: usize,
    web_mean_seconds: f64,
    web_p95_seconds: f64,
    bulk_bits_per_second: Option<f64>,
    bulk_share_of_link: Option<f64>,
}

impl Run {
    pub fn new(phases: Vec<(Way, &'static str, Phase)>, link: LinkReport) -> Run {
        let phases = phases
            .into_iter()
            .map(|(direction, bulk, phase)| measured(direction, bulk, &phase));
        Run {
            phases: phases.collect(),
            link,
        }
    }
}

fn measured(direction: Way, bulk: &'static str, phase: &Phase) -> Measured {
    let times = &phase.response_times;
    Measured {
        direction,
        bulk,
        fetches: times.len(),
        failed_fetches: phase.failed,
        web_mean_seconds: Estimate::of(times).map_or(f64::NAN, |estimate| estimate.mean),
        web_p95_seconds: quantile(times, 0.95).unwrap_or(f64::NAN),
        bulk_bits_per_second: phase.bulk_rate,
        bulk_share_of_link: phase.bulk_rate.map(|rate| rate / PAYLOAD / link_rate()),
    }
}

fn link_rate() -> f64 {
    let spec = EmulatedLinkSpec::symmetric(LINK.parse().expect("the link is a constant"));
    spec.up.rate.expect("it has a rate").as_f64()
}

/// One phase over all runs.
#[derive(Debug, Serialize)]
struct Row {
    direction: Way,
    bulk: &'static str,
    web_mean_seconds: Estimate,
    web_p95_seconds: Estimate,
    bulk_bits_per_second: Option<Estimate>,
    bulk_share_of_link: Option<Estimate>,
}

/// All results of the demonstration.
#[derive(Debug, Serialize)]
pub struct Demonstration {
    link: &'static str,
    page_bytes: usize,
    fetch_every_seconds: f64,
    seconds_per_phase: u64,
    runs: Vec<Run>,
}

impl Demonstration {
    /// Creates an empty demonstration.
    pub fn new(seconds_per_phase: u64) -> Demonstration {
        Demonstration {
            link: LINK,
            page_bytes: PAGE_BYTES,
            fetch_every_seconds: FETCH_EVERY.as_secs_f64(),
            seconds_per_phase,
            runs: Vec::new(),
        }
    }

    pub fn add(&mut self, run: Run) {
        self.runs.push(run);
    }

    /// Prints to stdout, and important warnings also to stderr.
    pub fn print(&self, json: bool) -> Result<()> {
        text::print(&match json {
            true => self.json()? + "\n",
            false => self.text(),
        })?;
        for run in self.untrustworthy() {
            say!("netnice: {}", style::alarm(&run.link));
        }
        Ok(())
    }

    fn untrustworthy(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| !run.link.trustworthy)
    }

    fn json(&self) -> Result<String> {
        #[derive(Serialize)]
        struct Document<'a> {
            #[serde(flatten)]
            demonstration: &'a Demonstration,
            phases: Vec<Row>,
            trustworthy: bool,
        }
        serde_json::to_string_pretty(&Document {
            demonstration: self,
            phases: self.rows(),
            trustworthy: self.untrustworthy().next().is_none(),
        })
        .context("writing the figures as JSON")
    }

    fn rows(&self) -> Vec<Row> {
        let phases = self.runs.first().map_or(0, |run| run.phases.len());
        (0..phases).map(|number| self.row(number)).collect()
    }

    fn row(&self, number: usize) -> Row {
        let over_runs = |figure: fn(&Measured) -> Option<f64>| {
            let figures = self.runs.iter().map(|run| figure(&run.phases[number]));
            Estimate::of(&figures.collect::<Option<Vec<_>>>()?)
        };
        let always = |figure| over_runs(figure).expect("every phase has fetches");
        Row {
            direction: self.runs[0].phases[number].direction,
            bulk: self.runs[0].phases[number].bulk,
            web_mean_seconds: always(|phase| Some(phase.web_mean_seconds)),
            web_p95_seconds: always(|phase| Some(phase.web_p95_seconds)),
            bulk_bits_per_second: over_runs(|phase| phase.bulk_bits_per_second),
            bulk_share_of_link: over_runs(|phase| phase.bulk_share_of_link),
        }
    }

    fn text(&self) -> String {
        let rows = self.rows();
        let mut text = format!(
            "A page of {} kB every {} s, and a bulk transfer, over one link of 10 Mb/s, 40 ms RTT, 83 packets of queue\n",
            PAGE_BYTES / 1000,
            self.fetch_every_seconds,
        );
        let _ = writeln!(text, "{}\n", self.how_long());
        for line in table(&rows) {
            let _ = writeln!(text, "{line}");
        }
        let _ = writeln!(text);
        for rows in rows.chunk_by(|one, other| one.direction == other.direction) {
            if let [none, plain, low] = rows {
                let _ = writeln!(text, "{}", in_words_web(none, plain, low));
                let _ = writeln!(text, "{}", in_words_bulk(plain, low));
            }
        }
        let failed: usize = self
            .runs
            .iter()
            .flat_map(|run| &run.phases)
            .map(|phase| phase.failed_fetches)
            .sum();
        if failed > 0 {
            let _ = writeln!(text, "{failed} fetches failed and are not in the table.");
        }
        if self.untrustworthy().next().is_none() {
            let worst = self.runs.iter().max_by_key(|run| lateness(&run.link));
            if let Some(run) = worst {
                let _ = writeln!(text, "The link kept its times: {}.", run.link.reason);
            }
        } else {
            let _ = writeln!(
                text,
                "This machine was too slow for the link at times: DO NOT TRUST these figures, repeat them \
                 when it has less to do."
            );
        }
        text
    }

    fn how_long(&self) -> String {
        match self.runs.len() {
            1 => format!(
                "({} s each; whoever does not yield uses cubic)",
                self.seconds_per_phase
            ),
            runs => format!(
                "({} s each, means of {runs} runs with the smallest and the largest; whoever does not yield uses \
                 cubic)",
                self.seconds_per_phase
            ),
        }
    }
}

fn lateness(link: &LinkReport) -> std::time::Duration {
    link.up.lateness.p99.max(link.down.lateness.p99)
}

fn table(rows: &[Row]) -> Vec<String> {
    let head = [
        "beside the page",
        "page, mean",
        "page, p95",
        "bulk",
        "of the link",
    ];
    let mut cells = vec![head.map(String::from).to_vec()];
    for row in rows {
        let bulk = |figure: Option<Estimate>, scale, decimals, unit| {
            figure.map_or("-".into(), |figure| cell(figure, scale, decimals, unit))
        };
        cells.push(vec![
            row.bulk.to_owned(),
            cell(row.web_mean_seconds, 1e3, 0, "ms"),
            cell(row.web_p95_seconds, 1e3, 0, "ms"),
            bulk(row.bulk_bits_per_second, 1e-6, 2, "Mb/s"),
            bulk(row.bulk_share_of_link, 1e2, 0, "%"),
        ]);
    }
    text::table(&cells, &[0])
}

/// Formats `88 ms`, with the spread if there is one: `88 (86-91) ms`.
fn cell(figure: Estimate, scale: f64, decimals: usize, unit: &str) -> String {
    let show = |value: f64| format!("{:.decimals$}", value * scale);
    match figure.runs {
        1 => format!("{} {unit}", show(figure.mean)),
        _ => format!(
            "{} ({}-{}) {unit}",
            show(figure.mean),
            show(figure.min),
            show(figure.max)
        ),
    }
}

fn in_words_web(none: &Row, plain: &Row, low: &Row) -> String {
    let beside = |row: &Row| row.web_mean_seconds.mean / none.web_mean_seconds.mean;
    format!(
        "Beside `{}` the page takes {}, beside `{}` {}.",
        plain.bulk,
        longer(beside(plain)),
        low.bulk,
        longer(beside(low)),
    )
}

/// Formats a ratio of times in words: `12 % longer than alone`, `2.8 times as long as alone`.
fn longer(ratio: f64) -> String {
    let percent = (100.0 * (ratio - 1.0)).round();
    match percent {
        ..=-1.0 => format!("{} % less time than alone", -percent),
        ..1.0 => "as long as alone".into(),
        ..100.0 => format!("{percent} % longer than alone"),
        _ => format!("{ratio:.1} times as long as alone"),
    }
}

fn in_words_bulk(plain: &Row, low: &Row) -> String {
    let rate = |row: &Row| row.bulk_bits_per_second.map_or(0.0, |rate| rate.mean);
    let percent = (100.0 * (rate(low) / rate(plain) - 1.0)).round();
    let pace = match percent {
        ..=-1.0 => format!("{} % slower", -percent),
        ..1.0 => "as fast".into(),
        _ => format!("{percent} % faster"),
    };
    format!(
        "{} itself is {pace} under `netnice run`: {:.1} instead of {:.1} Mb/s.",
        plain.bulk,
        rate(low) / 1e6,
        rate(plain) / 1e6
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(bulk: &'static str, web: f64, rate: Option<f64>) -> Row {
        let one = |value: f64| Estimate::of(&[value]).unwrap();
        Row {
            direction: Way::Upload,
            bulk,
            web_mean_seconds: one(web),
            web_p95_seconds: one(web),
            bulk_bits_per_second: rate.map(one),
            bulk_share_of_link: rate.map(|rate| one(rate / PAYLOAD / link_rate())),
        }
    }

    #[test]
    fn the_words_follow_the_figures() {
        let none = row("no bulk transfer", 0.086, None);
        let plain = row("rsync", 0.240, Some(9.4e6));
        let low = row("netnice run -- rsync", 0.088, Some(9.1e6));
        assert_eq!(
            in_words_web(&none, &plain, &low),
            "Beside `rsync` the page takes 2.8 times as long as alone, beside `netnice run -- rsync` \
             2 % longer than alone."
        );
        assert_eq!(
            in_words_bulk(&plain, &low),
            "rsync itself is 3 % slower under `netnice run`: 9.1 instead of 9.4 Mb/s."
        );
        // If the order were reversed, the text would say so.
        assert!(in_words_web(&none, &low, &plain).contains("rsync` the page takes 2 % longer"));
        assert!(in_words_bulk(&low, &plain).contains("3 % faster"));
        assert_eq!(longer(0.98), "2 % less time than alone");
        assert_eq!(longer(1.004), "as long as alone");
    }
}
