// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice probe`: measures what others leave of the paths to servers, without taking it from them.

mod download;
mod estimate;
mod report;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use netnice_kernel::connections::OwnReceptions;
use netnice_kernel::need_root;
use netnice_kernel::promise::Promise;
use netnice_kernel::run::enter;
use netnice_kernel::settings::{Direction, Settings, Udp};
use netnice_queue::Bytes;
use nix::sys::signal::Signal;
use ureq::http::Uri;

use crate::unprivileged::give_up_root;
use download::{End, Findings, Limits, Probe};
use netnice_terminal::signals::{Arrived, HeldSignals};
use netnice_terminal::text::{self, say};
use report::Report;

/// Time for queues to empty between two probes.
const PAUSE: Duration = Duration::from_millis(500);
/// Longest interval between two checks of signals and of the downloads.
const TICK: Duration = Duration::from_millis(50);

/// Signals that end the probe; others are ignored.
const ENDING: [Signal; 4] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
];

const EXAMPLES: &str = "\
Examples:
  Which mirror is the best from here, and how long would 4.7 GB take?
      sudo netnice probe --size 4.7GB https://a.example.org/iso https://b.example.org/iso
  Download from the best one, with low priority:
      sudo netnice run -- wget \"$(sudo netnice probe --best $MIRRORS)\"

Measurement:
  netnice downloads each URL in turn with low priority, governed at the receiving end as by `netnice run`, and \
  discards the data. Others on the path keep their rates, so the download reaches the rate that they leave: the spare \
  rate, in bits of TCP payload (about 3 % less than on the link). The 95 % interval of the mean is by Student's t over \
  bins of one second. URLs tie if their bins' rates do not differ significantly (Welch's t test, 5 %). YIELDED is the \
  share of the time in which the download gave way. DELAY is the median and 95th percentile of the data's delay over \
  the smallest known one, whoever causes it. FIRST BYTE includes the name lookup, TLS and redirects.

  netnice follows and reports redirects, and uses no proxies. If the server sends no TCP timestamps, DELAY includes \
  the reverse path, and an upload makes the download give way.

netnice needs root to govern the download, but becomes the user nobody before it connects to anything.

Exit codes:
  0 if all URLs were measured, or with --best at least one; 1 otherwise; 2 wrong usage; 130 after Ctrl-C, which prints \
  the results so far.";

/// Find the server with the most spare bandwidth, without taking bandwidth from others.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Seconds to download from each URL, counted from the first byte
    #[arg(long, default_value_t = 10, value_name = "SECONDS",
          value_parser = text::whole_number::<u64>(1..=600))]
    seconds: u64,
    /// Largest amount to download from each URL: 50MB [default: as much as arrives in --seconds]
    #[arg(long, value_name = "BYTES", value_parser = amount)]
    bytes: Option<Bytes>,
    /// Size of the file whose download time is estimated: 700MB
    #[arg(long, value_name = "BYTES", default_value = "1GB", value_parser = amount)]
    size: Bytes,
    /// Print the URL with the highest spare rate, and nothing else
    #[arg(long, conflicts_with = "json")]
    best: bool,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
    /// Files to download, by http or https
    #[arg(required = true, value_name = "URL", value_parser = url)]
    urls: Vec<String>,
}

fn amount(text: &str) -> Result<Bytes, String> {
    match text.parse::<Bytes>() {
        Ok(amount) if amount.get() == 0 => Err("it must be more than 0 B".to_owned()),
        other => other.map_err(|error| error.to_string()),
    }
}

fn url(text: &str) -> Result<String, String> {
    let advice = "write it as https://example.org/file";
    let parsed: Uri = text
        .parse()
        .map_err(|error| format!("it is no URL ({error}): {advice}"))?;
    match parsed.scheme_str() {
        Some("http" | "https") => {}
        Some(other) => {
            return Err(format!(
                "`{other}` is not supported, http and https are: {advice}"
            ));
        }
        None => {
            return Err(format!(
                "it does not begin with http:// or https://: {advice}"
            ));
        }
    }
    match parsed.host() {
        None | Some("") => Err(format!("it names no host: {advice}")),
        Some(_) => Ok(text.to_owned()),
    }
}

/// Probes the URLs and prints the ranking.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    need_root("governing what is received")?;
    netnice_guard::clear();
    let signals = HeldSignals::hold()?;
    let settings = Settings {
        direction: Direction::Receive,
        udp: Udp::No,
        ..Settings::default()
    };
    let entered = enter(&settings, &Promise::default())?;
    let receptions = OwnReceptions::open();
    // Closes the descriptors by which others could be governed. This process's cgroup stays governed, and a guard
    // removes it once the process has ended.
    drop(entered);
    let receptions = receptions.context("the kernel's records of received data cannot be read")?;
    give_up_root()?;

    let limits = Limits {
        time: Duration::from_secs(arguments.seconds),
        bytes: arguments.bytes.map(Bytes::get),
    };
    let receptions = Arc::new(receptions);
    let probes = arguments.urls.iter();
    let probes: Vec<_> = probes
        .map(|url| Probe::new(url, Arc::clone(&receptions), limits))
        .collect();
    let (findings, signal) = probe_each(&probes, &signals)?;
    let report = Report::new(&findings, arguments.size.get(), signal.is_some());
    if arguments.best {
        report.print_best()?;
    } else if arguments.json {
        report.print_json()?;
    } else {
        report.print()?;
    }
    Ok(match signal {
        Some(signal) => ExitCode::from(128 + signal as u8),
        None if report.succeeded(arguments.best) => ExitCode::SUCCESS,
        None => ExitCode::FAILURE,
    })
}

/// Probes one URL after the other; returns the findings about those that were begun, and the signal that ended it.
fn probe_each(
    probes: &[Arc<Probe>],
    signals: &HeldSignals,
) -> Result<(Vec<Findings>, Option<Signal>)> {
    let mut findings: Vec<Findings> = Vec::new();
    for (number, probe) in probes.iter().enumerate() {
        if number > 0 {
            thread::sleep(PAUSE);
        }
        if std::io::stderr().is_terminal() {
            say!(
                "netnice: {} of {}: {}",
                number + 1,
                probes.len(),
                probe.url()
            );
        }
        // Not waited for after a signal: it may hang in a lookup or a connect, and ends with the process.
        let running = Arc::clone(probe);
        let running = thread::Builder::new().spawn(move || running.run())?;
        let mut ending = None;
        while !running.is_finished() && ending.is_none() {
            ending = match signals.wait(Some(TICK)) {
                Some(Arrived::FromTerminal(signal) | Arrived::FromProcess(signal)) => {
                    ENDING.contains(&signal).then_some(signal)
                }
                Some(Arrived::Child) | None => None,
            };
        }
        let mut found = probe.findings();
        if found.error.is_none() && found.end.is_none() {
            found.end = Some(End::Interrupted);
        }
        findings.push(found);
        if ending.is_some() {
            return Ok((findings, ending));
        }
    }
    Ok((findings, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_of_files_are_accepted() {
        for good in [
            "http://example.org/a",
            "https://[2001:db8::1]:8443/a?b",
            "http://192.0.2.1",
        ] {
            assert_eq!(url(good).as_deref(), Ok(good));
        }
        for (bad, expected) in [
            ("ftp://example.org/a", "`ftp` is not supported"),
            ("example.org/a", "it is no URL"),
            ("/etc/passwd", "does not begin with http"),
            ("http://", "it is no URL"),
            ("http:///a", "it is no URL"),
        ] {
            let error = url(bad).unwrap_err();
            assert!(error.contains(expected), "{bad}: {error}");
            assert!(error.contains("https://example.org/file"), "{error}");
        }
        assert!(amount("0B").is_err() && amount("5").is_err());
    }
}
