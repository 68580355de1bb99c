// SPDX-License-Identifier: MIT OR Apache-2.0
//! The log of a transfer, `run --log`: JSON lines, the first on the run, each other on one reading of its connections.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use netnice_kernel::connections::Connection;
use netnice_parameters::decisions::{Decision, Transition};
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::figures::{Figures, Moved};

/// Version of the format; a reader refuses newer ones.
const FORMAT: u32 = 1;

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format.
    pub netnice_log: u32,
    /// Version of the program that wrote it.
    pub version: String,
    /// Name of the congestion control.
    pub control: String,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Seconds from 1970 to the beginning.
    pub began_unix_s: f64,
    /// Time between two readings.
    pub interval_s: f64,
}

/// Another line: the connections that were open at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Time since the beginning.
    pub time_s: f64,
    /// The connections, the oldest first.
    pub connections: Vec<Logged>,
    /// netnice's decisions since the line before, with `--decisions`. Nobody reads them here.
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
}

/// A connection in a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Logged {
    /// Identifies the connection within the file.
    pub connection: u64,
    /// Local address.
    pub local: String,
    /// Remote address.
    pub peer: String,
    /// `sender`, `receiver` or `both`; `null` where that is not readable.
    pub governed: Option<String>,
    /// Figures, by the names that `status --json` has for them.
    #[serde(flatten)]
    pub figures: Figures,
}

/// A log that is being written.
pub struct Writer {
    file: File,
    path: PathBuf,
    began: Instant,
    /// `began` by the clock that the kernel's records have.
    began_ns: u64,
    moved: Moved,
}

impl Writer {
    /// Creates the file, and writes the first line.
    pub fn create(path: &Path, header: &Header) -> Result<Self> {
        let mut writer = Self {
            file: File::create(path).with_context(|| format!("writing {}", path.display()))?,
            path: path.to_owned(),
            began: Instant::now(),
            began_ns: monotonic_ns()?,
            moved: Moved::default(),
        };
        writer.write(header)?;
        Ok(writer)
    }

    /// Writes a reading, and what was decided since the one before.
    pub fn enter(&mut self, connections: &[Connection], decided: &[Transition]) -> Result<()> {
        let logged = |one: &Connection| Logged {
            connection: one.cookie,
            local: one.local.to_string(),
            peer: one.remote.to_string(),
            governed: one.governed().map(|governed| governed.name().to_owned()),
            figures: Figures::new(one, self.moved.rates(one)),
        };
        let entry = Entry {
            time_s: milliseconds(self.began.elapsed()) / 1e3,
            connections: connections.iter().map(logged).collect(),
            decisions: (decided.iter())
                .map(|transition| transition.told(self.began_ns))
                .collect(),
        };
        self.moved.remember(connections);
        self.write(&entry)
    }

    /// In one call, so that a reader finds whole lines while the file grows.
    fn write(&mut self, line: &impl Serialize) -> Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.file
            .write_all(&bytes)
            .with_context(|| format!("writing {}", self.path.display()))
    }
}

/// Time of CLOCK_MONOTONIC, as `bpf_ktime_get_ns` has it.
fn monotonic_ns() -> Result<u64> {
    let now: Duration = clock_gettime(ClockId::CLOCK_MONOTONIC)?.into();
    Ok(u64::try_from(now.as_nanos())?)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_millis() as f64
}

impl Header {
    /// The first line of a log that begins now.
    pub fn new(control: &str, command: &[std::ffi::OsString], interval: Duration) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self {
            netnice_log: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            control: control.to_owned(),
            command: (command
                .iter()
                .map(|word| word.to_string_lossy().into_owned()))
            .collect(),
            began_unix_s: milliseconds(now.unwrap_or_default()) / 1e3,
            interval_s: interval.as_secs_f64(),
        }
    }
}

/// Reads a log. Of a run that was killed the last line may be cut short, and is left out.
pub fn read(text: &str, name: &str) -> Result<(Header, Vec<Entry>)> {
    let no_log =
        || format!("{name} is no log of `netnice run --log`: its first line does not begin one");
    let mut lines = text.split_inclusive('\n').enumerate();
    let (_, first) = lines.next().with_context(no_log)?;
    let header: Header = serde_json::from_str(first).ok().with_context(no_log)?;
    if header.netnice_log > FORMAT {
        bail!(
            "{name} has format {}, of a newer netnice (version {}); this one reads format {FORMAT}",
            header.netnice_log,
            header.version
        );
    }
    let mut entries = Vec::new();
    for (number, line) in lines {
        match serde_json::from_str(line) {
            Ok(entry) => entries.push(entry),
            Err(_) if !line.ends_with('\n') => {}
            Err(error) => bail!(
                "{name}, line {}: {error}: a line has `time_s` and `connections`",
                number + 1
            ),
        }
    }
    Ok((header, entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header::new("netnice", &["rsync".into()], Duration::from_millis(250))
    }

    fn log() -> String {
        let connection = Logged {
            connection: 7,
            local: "192.0.2.1:40000".to_owned(),
            peer: "192.0.2.2:873".to_owned(),
            governed: Some("sender".to_owned()),
            figures: Figures {
                state: Some("yielding".to_owned()),
                rate_bits_per_second: 1_000_000,
                ..Figures::default()
            },
        };
        let entry = |time_s, connections| Entry {
            time_s,
            connections,
            decisions: Vec::new(),
        };
        let lines = [entry(0.25, vec![connection]), entry(0.5, Vec::new())];
        let lines = lines.map(|line| serde_json::to_string(&line).unwrap() + "\n");
        serde_json::to_string(&header()).unwrap() + "\n" + &lines.concat()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let (header, entries) = read(&log(), "log").unwrap();
        assert_eq!(header.command, ["rsync"]);
        assert_eq!((entries.len(), entries[1].time_s), (2, 0.5));
        let figures = &entries[0].connections[0].figures;
        assert_eq!(figures.state.as_deref(), Some("yielding"));
        assert_eq!(figures.rate_bits_per_second, 1_000_000);
    }

    /// Versions before wrote no causes.
    #[test]
    fn an_older_log_is_read() {
        let log = log();
        let older = log
            .replace("\"gave_way\":null,", "")
            .replace("\"receive_gave_way\":null,", "");
        assert!(!older.contains("gave_way") && older.len() < log.len());
        let (_, entries) = read(&older, "log").unwrap();
        let figures = &entries[0].connections[0].figures;
        assert_eq!((figures.gave_way, figures.cwnd_packets), (None, 0));
    }

    #[test]
    fn a_line_that_was_cut_short_is_left_out() {
        let log = log();
        let after_first = log.find('\n').unwrap() + 1;
        for end in after_first..log.len() {
            let (_, entries) = read(&log[..end], "log").unwrap();
            let whole = log[after_first..end].matches('\n').count();
            // A line may lack nothing but its end.
            assert!(
                entries.len() == whole || entries.len() == whole + 1,
                "{end}"
            );
        }
    }

    #[test]
    fn what_is_no_log_is_refused_with_its_place() {
        for text in ["", "\n", "{}\n", "{\"netnice_log\":1}\n", "<svg>\n"] {
            let error = read(text, "x.jsonl").unwrap_err().to_string();
            assert!(error.contains("x.jsonl is no log"), "{error}");
        }
        let wrong = log().replace("\"time_s\":0.25", "\"time_s\":\"soon\"");
        let error = read(&wrong, "x.jsonl").unwrap_err().to_string();
        assert!(error.starts_with("x.jsonl, line 2: "), "{error}");
        let newer = log().replace("\"netnice_log\":1", "\"netnice_log\":2");
        let error = read(&newer, "x.jsonl").unwrap_err().to_string();
        assert!(error.contains("newer netnice"), "{error}");
    }
}
