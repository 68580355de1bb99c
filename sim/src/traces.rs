// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which links of a run are written to traces, and where.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use crate::capture::Capture;
use crate::error::RunError;

/// A trace for each of some links of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traces {
    /// The directory, which exists, of the files `LINK.pcapng`; what can't be in a file's name is a `_` there.
    pub directory: PathBuf,
    /// Names of the directions of links; all if `None`.
    pub links: Option<Vec<String>>,
    /// Bytes kept of each packet.
    pub snap_length: u32,
}

impl Traces {
    /// The trace of the link called `name`; `None` where it has none.
    pub(crate) fn of(&self, name: &str) -> Result<Option<Capture>, RunError> {
        if self
            .links
            .as_ref()
            .is_some_and(|links| !links.iter().any(|link| link == name))
        {
            return Ok(None);
        }
        let in_file = |c: char| {
            if c.is_ascii_alphanumeric() || "-.()[]".contains(c) {
                c
            } else {
                '_'
            }
        };
        let file: String = name.chars().map(in_file).collect();
        let path = self.directory.join(format!("{file}.pcapng"));
        let failed = |error| RunError::Trace {
            path: path.clone(),
            error,
        };
        let out = BufWriter::new(File::create(&path).map_err(failed)?);
        let capture = Capture::new(Box::new(out), name, self.snap_length).map_err(failed)?;
        Ok(Some(capture))
    }
}
