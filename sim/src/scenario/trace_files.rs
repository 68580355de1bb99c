// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which links of a run are written to traces, and where.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufWriter;
use std::iter;
use std::path::{Path, PathBuf};

use netnice_scenario::Network;

use crate::error::RunError;
use crate::trace::capture::Capture;

/// A trace for each of some links of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traces {
    /// The directory, which exists, of the files `LINK.pcapng`; what can't be in a file's name is a `_` there, and a number
    /// follows where another link's file is called so.
    pub directory: PathBuf,
    /// Names of the directions of links; all if `None`.
    pub links: Option<Vec<String>>,
    /// Bytes kept of each packet.
    pub snap_length: u32,
}

impl Traces {
    /// The file of each link of a network; `None` where it has no trace.
    pub fn files(&self, network: &Network) -> Vec<Option<PathBuf>> {
        let links: Vec<&str> = (network.links.iter())
            .map(|link| link.name.as_str())
            .collect();
        let has_trace = |name: &str| match &self.links {
            Some(links) => links.iter().any(|link| link == name),
            None => true,
        };
        let files = links.iter().zip(file_names(&links)).map(|(name, file)| {
            let path = self.directory.join(format!("{file}.pcapng"));
            has_trace(name).then_some(path)
        });
        files.collect()
    }

    /// The trace, in this file, of the link called `name`.
    pub(crate) fn begin(&self, path: &Path, name: &str) -> Result<Capture, RunError> {
        let failed = |error| RunError::Trace {
            path: path.to_owned(),
            error,
        };
        // A few traces can have much; of thousands each has little.
        let capacity = if self.links.is_some() { 1 << 16 } else { 1 << 13 };
        let out = BufWriter::with_capacity(capacity, File::create(path).map_err(failed)?);
        Capture::new(Box::new(out), name, self.snap_length).map_err(failed)
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
