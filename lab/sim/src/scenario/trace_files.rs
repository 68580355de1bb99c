// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which links of a run are written to traces, and where.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufWriter;
#[cfg(feature = "parquet")]
use std::io::{self, Write as _};
use std::iter;
use std::path::{Path, PathBuf};

#[cfg(feature = "parquet")]
use netnice_results::{EventFile, LinkEvent};
use netnice_scenario::Layout;

use crate::error::RunError;
use crate::scenario::write_behind::WriteBehind;
use crate::trace::decisions::DecisionTrace;
#[cfg(feature = "parquet")]
use crate::trace::events::EventSink;
use crate::trace::link_capture::Capture;
use crate::trace::merged::MergedCapture;

/// The traces of a run: a file for each of some links or one for all, and one for the events at some links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traces {
    /// The directory, which exists, of the files.
    pub directory: PathBuf,
    /// Directions of links whose packets are written: those with names each to a file `LINK.pcapng`, all to [`MERGED_FILE`]. What can't be in
    /// the name of a file is a `_` there, and a number follows where another link's file is called so.
    pub links: Selection,
    /// Bytes kept of each packet.
    pub snap_length: u32,
    /// Directions of links whose events are written to [`EVENTS_FILE`], a Parquet file; none without the feature
    /// `parquet`.
    pub events: Selection,
    /// netnice's decisions are written to [`DECISIONS_FILE`], a line of JSON each.
    pub decisions: bool,
}

/// The name of the file with the packets of all links.
pub const MERGED_FILE: &str = "all.pcapng";

/// The name of the file of events.
pub const EVENTS_FILE: &str = "events.parquet";

/// The name of the file of decisions.
pub const DECISIONS_FILE: &str = "decisions.jsonl";

/// Some directions of links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All.
    All,
    /// Those with these names.
    Named(Vec<String>),
}

impl Selection {
    /// No link.
    pub const NONE: Selection = Selection::Named(Vec::new());

    /// Returns true if the direction of a link with this name is one of them.
    pub fn contains(&self, name: &str) -> bool {
        match self {
            Selection::All => true,
            Selection::Named(names) => names.iter().any(|other| other == name),
        }
    }
}

impl Traces {
    /// The file of each link of a network; `None` where it has no trace of its own.
    pub fn files(&self, network: &Layout) -> Vec<Option<PathBuf>> {
        let Selection::Named(named) = &self.links else {
            return vec![None; network.links.len()];
        };
        let links: Vec<&str> = (network.links.iter())
            .map(|link| link.name.as_str())
            .collect();
        let files = links.iter().zip(file_names(&links)).map(|(name, file)| {
            let path = self.directory.join(format!("{file}.pcapng"));
            named.iter().any(|other| other == name).then_some(path)
        });
        files.collect()
    }

    /// The file with the packets of all links; `None` if there is none.
    pub fn merged_file(&self) -> Option<PathBuf> {
        (self.links == Selection::All).then(|| self.directory.join(MERGED_FILE))
    }

    /// The file of events; `None` if there is none.
    pub fn events_file(&self) -> Option<PathBuf> {
        (self.events != Selection::NONE).then(|| self.directory.join(EVENTS_FILE))
    }

    /// The file of decisions; `None` if there is none.
    pub fn decisions_file(&self) -> Option<PathBuf> {
        (self.decisions).then(|| self.directory.join(DECISIONS_FILE))
    }

    /// The beginning of the file of decisions, if there is one.
    pub(crate) fn begin_decisions(&self) -> Result<Option<DecisionTrace>, RunError> {
        let Some(path) = self.decisions_file() else {
            return Ok(None);
        };
        match File::create(&path) {
            Ok(file) => Ok(Some(DecisionTrace::new(Box::new(BufWriter::new(file))))),
            Err(error) => Err(RunError::Trace { path, error }),
        }
    }

    /// The beginning of the file of events in a network; `None` if there is none.
    ///
    /// # Errors
    /// If the file cannot be created.
    #[cfg(feature = "parquet")]
    pub fn begin_events(&self, network: &Layout) -> Result<Option<Box<dyn EventSink>>, RunError> {
        let Some(path) = self.events_file() else {
            return Ok(None);
        };
        let begun = File::create(&path).and_then(|file| {
            let links = network.links.iter().map(|link| link.name.as_str());
            let flows = network.flows.iter().map(|flow| flow.name.as_str());
            EventFile::new(BufWriter::new(file), links, flows).map_err(io::Error::other)
        });
        let file = begun.map_err(|error| RunError::Trace { path, error })?;
        Ok(Some(Box::new(Events(file))))
    }

    /// The trace, in this file, of the link called `name`.
    pub(crate) fn begin(&self, path: &Path, name: &str) -> Result<Capture, RunError> {
        let file = create(path)?;
        Ok(Capture::new(Box::new(file), name, self.snap_length))
    }

    /// The trace of all links of a network, if there is one.
    pub(crate) fn begin_merged(&self, network: &Layout) -> Result<Option<MergedCapture>, RunError> {
        let Some(path) = self.merged_file() else {
            return Ok(None);
        };
        let file = Box::new(create(&path)?);
        let links = network.links.iter().map(|link| link.name.as_str());
        Ok(Some(MergedCapture::new(file, links, self.snap_length)))
    }
}

fn create(path: &Path) -> Result<WriteBehind, RunError> {
    let file = File::create(path).map_err(|error| RunError::Trace {
        path: path.to_owned(),
        error,
    });
    file.map(WriteBehind::new)
}

/// A file of events being written.
#[cfg(feature = "parquet")]
struct Events(EventFile<BufWriter<File>>);

#[cfg(feature = "parquet")]
impl EventSink for Events {
    fn write(&mut self, events: &[LinkEvent]) -> io::Result<()> {
        self.0.write(events).map_err(io::Error::other)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let mut file = self.0.finish().map_err(io::Error::other)?;
        file.flush()
    }
}

/// Names, without the extension, of the files of links with these names. They do not depend on which links have traces,
/// so that a link's file keeps its name whatever other traces are requested.
fn file_names(links: &[&str]) -> Vec<String> {
    // Names that need no change take precedence.
    let mut taken: BTreeSet<String> = links
        .iter()
        .filter(|name| in_file(name) == **name)
        .map(|name| (*name).to_owned())
        .collect();
    let names = links.iter().map(|name| {
        let plain = in_file(name);
        if plain == *name {
            return plain;
        }
        let numbered = (2..).map(|number| format!("{plain}-{number}"));
        let free = iter::once(plain.clone())
            .chain(numbered)
            .find(|file| !taken.contains(file))
            .expect("there is no end of numbers");
        taken.insert(free.clone());
        free
    });
    names.collect()
}

/// A link's name, with `_` for each character that some file system may not allow.
fn in_file(name: &str) -> String {
    let kept = |c: char| {
        if c.is_ascii_alphanumeric() || "-.()[]".contains(c) {
            c
        } else {
            '_'
        }
    };
    name.chars().map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::file_names;

    #[test]
    fn each_link_has_a_file_of_its_own() {
        let files = file_names(&["a b", "a b (reverse)", "a_b", "a:b", "a_b-2", "ä b"]);
        assert_eq!(
            files,
            ["a_b-3", "a_b_(reverse)", "a_b", "a_b-4", "a_b-2", "__b"]
        );
    }
}
