// SPDX-License-Identifier: MIT OR Apache-2.0
//! The traces of `--pcap`, `--events` and `--decisions`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use netnice_scenario::{Point, ScenarioFile};
use netnice_sim::{Selection, Traces};

use super::runs::run_name;

/// The name of all links for `--pcap` and `--events`.
const ALL_LINKS: &str = "all";

/// Bytes of a packet in a trace: the most that headers of IPv4 and TCP have. Data are zeros.
const SNAP_LENGTH: u32 = 80;

/// The links that the user wants traces of.
#[derive(Debug, Clone, Copy)]
pub struct WantedTraces<'a> {
    /// By `--pcap`.
    pub pcap: &'a [String],
    /// By `--events`.
    pub events: &'a [String],
    /// netnice's decisions, by `--decisions`.
    pub decisions: bool,
}

impl WantedTraces<'_> {
    /// Returns what is wrong if one of these is no link of the scenario.
    pub fn unknown_link(&self, file: &ScenarioFile) -> Result<Option<String>> {
        if self.pcap.is_empty() && self.events.is_empty() {
            return Ok(None);
        }
        let network = file.points[0].layout()?;
        let known =
            |name: &str| name == ALL_LINKS || network.links.iter().any(|link| link.name == name);
        let pcap = self.pcap.iter().map(|name| ("--pcap", name));
        let mut all = pcap.chain(self.events.iter().map(|name| ("--events", name)));
        let unknown = all.find(|(_, name)| !known(name));
        Ok(unknown.map(|(option, name)| {
            format!("{option} {name}: there is no such link; see --explain for their names")
        }))
    }

    /// Returns the place of a run's traces below the directory of results; `None` without traces.
    pub fn of_run(&self, results: Option<&Path>, point: usize, seed: u64) -> Option<Traces> {
        let results = results
            .filter(|_| !self.pcap.is_empty() || !self.events.is_empty() || self.decisions)?;
        let selection = |links: &[String]| match has_all(links) {
            true => Selection::All,
            false => Selection::Named(links.to_vec()),
        };
        Some(Traces {
            directory: results.join("traces").join(run_name(point, seed)),
            links: selection(self.pcap),
            snap_length: SNAP_LENGTH,
            events: selection(self.events),
            decisions: self.decisions,
        })
    }
}

/// Returns true if all links are among these.
pub fn has_all(links: &[String]) -> bool {
    links.iter().any(|link| link == ALL_LINKS)
}

/// Returns true if all these traces of a run exist.
pub fn are_there(traces: &Traces, point: &Point) -> bool {
    let Ok(network) = point.layout() else {
        return false;
    };
    let packets = traces.files(&network).into_iter().flatten();
    let mut files = (packets.chain(traces.merged_file()))
        .chain(traces.events_file())
        .chain(traces.decisions_file());
    files.all(|file| file.exists())
}

/// Makes a run; its traces move to their place when it ends, so that traces found there are complete.
pub fn keep<T>(
    traces: Option<Traces>,
    run: impl FnOnce(Option<&Traces>) -> Result<Option<T>>,
) -> Result<Option<T>> {
    let Some(traces) = traces else {
        return run(None);
    };
    let unfinished = traces.directory.with_extension("unfinished");
    let at = |path: &Path| path.display().to_string();
    if unfinished.exists() {
        // Left by a killed run.
        fs::remove_dir_all(&unfinished).with_context(|| at(&unfinished))?;
    }
    fs::create_dir_all(&unfinished).with_context(|| at(&unfinished))?;
    let beside = Traces {
        directory: unfinished.clone(),
        ..traces.clone()
    };
    let made = run(Some(&beside))?;
    if made.is_some() && !traces.directory.exists() {
        // All of them at once: there may be thousands.
        fs::rename(&unfinished, &traces.directory).with_context(|| at(&traces.directory))?;
        return Ok(made);
    }
    if made.is_some() {
        fs::create_dir_all(&traces.directory).with_context(|| at(&traces.directory))?;
        for file in fs::read_dir(&unfinished).with_context(|| at(&unfinished))? {
            let file = file.with_context(|| at(&unfinished))?;
            let to = traces.directory.join(file.file_name());
            fs::rename(file.path(), &to).with_context(|| at(&to))?;
        }
    }
    fs::remove_dir_all(&unfinished).with_context(|| at(&unfinished))?;
    Ok(made)
}
