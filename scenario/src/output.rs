// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing files that are complete or absent.

use std::path::Path;
use std::{fs, io};

/// Writes a file beside `path` and renames it, so that `path` never holds a part of `content`.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("unfinished");
    fs::write(&beside, content)?;
    fs::rename(&beside, path)
}
