// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ranking of the probed URLs, as a table or JSON.

use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

use super::download::{End, Findings};
use super::estimate::{FileTime, Ranked, SpareRate, file_time, rank};
use netnice_terminal::style;
use netnice_terminal::text::{self, print_line, say};

/// Output of `--json`. Unknown values are `null`.
#[derive(Debug, Serialize)]
pub struct Report {
    /// URL with the highest spare rate.
    best: Option<String>,
    /// True if a signal ended the probe.
    interrupted: bool,
    /// Size of the file whose download time is estimated.
    size_bytes: u64,
    /// In the order of the ranking; those without a rate last.
    probes: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    url: String,
    redirected_to: Option<String>,
    error: Option<String>,
    place: Option<usize>,
    tied: bool,
    rtt_ms: Option<f64>,
    time_to_first_byte_ms: Option<f64>,
    spare_rate_bits_per_second: Option<f64>,
    spare_rate_interval_95: Option<[f64; 2]>,
    /// Rate in each whole second.
    bins_bits_per_second: Vec<f64>,
    yielded_share: Option<f64>,
    queueing_delay_p50_ms: Option<f64>,
    queueing_delay_p95_ms: Option<f64>,
    bytes_used: u64,
    ended_by: Option<End>,
    file_seconds: Option<f64>,
    file_seconds_interval_95: Option<[Option<f64>; 2]>,
}

impl Row {
    fn new(found: &Findings, ranked: Option<Ranked>, size_bytes: u64) -> Row {
        let rate = found.trace.spare_rate().filter(|_| found.error.is_none());
        let file = rate.and_then(|rate| file_time(&rate, found.first_byte?, size_bytes));
        let delay = |q| found.trace.queueing_delay(q).map(milliseconds);
        let interval = |rate: SpareRate| rate.interval().map(|(low, high)| [low, high]);
        let bounds = |time: FileTime| [time.shortest, time.longest];
        Row {
            url: found.url.clone(),
            redirected_to: found.redirected_to.clone(),
            error: found.error.clone(),
            place: ranked.map(|ranked| ranked.place),
            tied: ranked.is_some_and(|ranked| ranked.tied),
            rtt_ms: found.rtt.map(milliseconds),
            time_to_first_byte_ms: found.first_byte.map(milliseconds),
            spare_rate_bits_per_second: rate.map(|rate| rate.mean),
            spare_rate_interval_95: rate.and_then(interval),
            bins_bits_per_second: found.trace.bin_rates(),
            yielded_share: rate.and_then(|_| found.trace.yielded_share()),
            queueing_delay_p50_ms: rate.and_then(|_| delay(0.5)),
            queueing_delay_p95_ms: rate.and_then(|_| delay(0.95)),
            bytes_used: found.bytes_used,
            ended_by: found.end,
            file_seconds: file.map(|time| time.mean),
            file_seconds_interval_95: file
                .filter(|_| rate.is_some_and(|rate| rate.half_width_95.is_some()))
                .map(bounds),
        }
    }

    fn cells(&self) -> Vec<String> {
        let place = match (self.place, self.tied) {
            (Some(place), true) => format!("{place}="),
            (Some(place), false) => place.to_string(),
            (None, _) => "-".to_owned(),
        };
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let time =
            |ms: Option<f64>| or_dash(ms.map(|ms| text::time(Duration::from_secs_f64(ms / 1e3))));
        let bits = |rate: f64| text::rate((rate / 8.0).round() as u64);
        let interval = match self.spare_rate_interval_95 {
            Some([low, high]) => format!("{} to {}", bits(low), bits(high)),
            None => "-".to_owned(),
        };
        vec![
            place,
            self.url.clone(),
            time(self.rtt_ms),
            time(self.time_to_first_byte_ms),
            or_dash(self.spare_rate_bits_per_second.map(bits)),
            interval,
            or_dash(
                self.yielded_share
                    .map(|share| format!("{:.0} %", 100.0 * share)),
            ),
            time(self.queueing_delay_p50_ms),
            time(self.queueing_delay_p95_ms),
            text::bytes(self.bytes_used),
            or_dash(self.file_seconds.map(long_time)),
        ]
    }

    /// Returns remarks on this URL, a line each.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(to) = &self.redirected_to {
            notes.push(format!("{}: answered by {to}, after a redirect", self.url));
        }
        match self.ended_by {
            Some(End::File) => notes.push(format!(
                "{}: the file ended before the probe; a larger one gives a better estimate",
                self.url
            )),
            Some(End::Interrupted) if self.place.is_some() => {
                notes.push(format!("{}: interrupted", self.url));
            }
            _ => {}
        }
        if self.place.is_some() && self.spare_rate_interval_95.is_none() {
            notes.push(format!(
                "{}: {} of a second measured, too few for an interval",
                self.url,
                text::count(self.bins_bits_per_second.len() as u64, "whole bin"),
            ));
        }
        notes
    }
}

impl Report {
    /// Computes the ranking.
    pub fn new(findings: &[Findings], size_bytes: u64, interrupted: bool) -> Report {
        let rates: Vec<_> = findings
            .iter()
            .map(|found| found.trace.spare_rate().filter(|_| found.error.is_none()))
            .collect();
        let ranked = rank(&rates);
        let rows = ranked
            .iter()
            .map(|one| Row::new(&findings[one.index], Some(*one), size_bytes));
        let others = (findings.iter().zip(&rates)).filter(|(_, rate)| rate.is_none());
        let others = others.map(|(found, _)| Row::new(found, None, size_bytes));
        let probes: Vec<Row> = rows.chain(others).collect();
        let first = probes.first().filter(|row| row.place.is_some());
        Report {
            best: first.map(|row| row.url.clone()),
            interrupted,
            size_bytes,
            probes,
        }
    }

    /// Returns true if all URLs were measured, or with `best`, one.
    pub fn succeeded(&self, best: bool) -> bool {
        match best {
            true => self.best.is_some(),
            false => self.probes.iter().all(|row| row.place.is_some()),
        }
    }

    /// Prints all figures as JSON.
    pub fn print_json(&self) -> Result<()> {
        let json = serde_json::to_string_pretty(self).context("formatting the figures as JSON")?;
        print_line(&json)
    }

    /// Prints the winner alone; what failed goes to stderr.
    pub fn print_best(&self) -> Result<()> {
        self.say_errors();
        match &self.best {
            Some(url) => print_line(url),
            None => Ok(()),
        }
    }

    /// Prints the table, the ties and the remarks.
    pub fn print(&self) -> Result<()> {
        self.say_errors();
        if self.best.is_none() {
            return Ok(());
        }
        let file = format!("{} IN", text::bytes(self.size_bytes));
        let heading = [
            "PLACE",
            "URL",
            "RTT",
            "FIRST BYTE",
            "SPARE RATE",
            "95 % INTERVAL",
            "YIELDED",
            "DELAY P50",
            "P95",
            "USED",
            &file,
        ];
        let mut rows = vec![heading.map(str::to_owned).to_vec()];
        let measured = || self.probes.iter().filter(|row| row.place.is_some());
        rows.extend(measured().map(Row::cells));
        for (number, line) in text::table(&rows, &[1]).iter().enumerate() {
            match number {
                0 => print_line(&style::heading(line).to_string())?,
                _ => print_line(line)?,
            }
        }
        if measured().any(|row| row.tied) {
            print_line("=: a tie, as the bins do not tell the rates apart")?;
        }
        measured()
            .flat_map(Row::notes)
            .try_for_each(|note| print_line(&note))
    }

    fn say_errors(&self) {
        for row in &self.probes {
            match &row.error {
                Some(error) => say!("netnice: {}: {error}", row.url),
                None if row.place.is_none() => say!("netnice: {}: nothing was measured", row.url),
                None => {}
            }
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Formats a time of seconds to days: `40 s`, `12 min 5 s`, `3 h 20 min`, `2 d 5 h`.
fn long_time(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    let units = [
        (86_400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ];
    let found = units.into_iter().find(|(size, ..)| seconds >= *size);
    match found {
        Some((size, name, smaller, rest)) => {
            let left = seconds % size / smaller;
            format!("{} {name} {left} {rest}", seconds / size)
        }
        None => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::estimate::{Sample, Trace};
    use super::*;

    /// Findings about a connection that received a steady rate for so many seconds.
    fn steady(url: &str, bytes_per_second: u64, seconds: u64) -> Findings {
        let sample = |second| Sample {
            at: Duration::from_secs(second),
            bytes: second * bytes_per_second,
            gave_way: second < 2,
            queueing_delay: Duration::from_millis(3),
        };
        Findings {
            url: url.to_owned(),
            rtt: Some(Duration::from_millis(40)),
            first_byte: Some(Duration::from_secs(1)),
            trace: Trace {
                begins: Duration::ZERO,
                samples: (0..=seconds).map(sample).collect(),
            },
            bytes_used: seconds * bytes_per_second,
            end: Some(End::Time),
            ..Findings::default()
        }
    }

    #[test]
    fn the_report_ranks_and_estimates() {
        let mut failed = steady("http://c/", 9_000_000, 10);
        failed.error = Some("the server refuses connections".to_owned());
        let findings = [
            steady("http://a/", 125_000, 10),
            failed,
            steady("http://b/", 250_000, 10),
        ];
        let report = Report::new(&findings, 2_500_000, false);
        assert_eq!(report.best.as_deref(), Some("http://b/"));
        assert!(!report.succeeded(false) && report.succeeded(true));
        let order: Vec<_> = report
            .probes
            .iter()
            .map(|row| (&row.url[..], row.place))
            .collect();
        let expected = [
            ("http://b/", Some(1)),
            ("http://a/", Some(2)),
            ("http://c/", None),
        ];
        assert_eq!(order, expected);
        // 2.5 MB at 1 Mb/s, after a second: 21 s.
        assert_eq!(report.probes[1].file_seconds, Some(21.0));
        assert_eq!(
            report.probes[1].cells(),
            [
                "2",
                "http://a/",
                "40.0 ms",
                "1000 ms",
                "1.00 Mb/s",
                "1.00 Mb/s to 1.00 Mb/s",
                "20 %",
                "3.00 ms",
                "3.00 ms",
                "1.25 MB",
                "21 s"
            ]
        );
        assert_eq!(report.probes[2].spare_rate_bits_per_second, None);
    }

    #[test]
    fn a_short_file_is_remarked_on() {
        let mut short = steady("http://a/", 125_000, 1);
        short.end = Some(End::File);
        let report = Report::new(&[short], 1_000_000, false);
        let notes = report.probes[0].notes();
        assert!(notes[0].contains("the file ended"), "{notes:?}");
        assert!(notes[1].contains("1 whole bin of a second"), "{notes:?}");
    }

    #[test]
    fn nothing_measured_has_no_winner() {
        let never = Findings {
            url: "http://a/".to_owned(),
            end: Some(End::Interrupted),
            ..Findings::default()
        };
        let report = Report::new(&[never], 1, true);
        assert!(report.best.is_none() && !report.succeeded(true) && report.interrupted);
    }

    #[test]
    fn long_times_have_two_units() {
        for (seconds, expected) in [
            (0.4, "0 s"),
            (59.6, "1 min 0 s"),
            (725.0, "12 min 5 s"),
            (12_000.0, "3 h 20 min"),
            (190_800.0, "2 d 5 h"),
        ] {
            assert_eq!(long_time(seconds), expected);
        }
    }
}
