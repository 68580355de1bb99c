// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing files that are complete or absent.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

/// Writes a file beside `path` and renames it, so that `path` never holds a part of `content`.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_by(path, |file| file.write_all(content))
}

/// As [`replace`], with content that `write` writes piece by piece.
pub fn replace_by<T>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>,
) -> io::Result<T> {
    /// Large files are written in calls of so many bytes.
    const BUFFER: usize = 1 << 18;
    let beside = path.with_extension("unfinished");
    let mut file = BufWriter::with_capacity(BUFFER, File::create(&beside)?);
    let written = write(&mut file)?;
    file.flush()?;
    fs::rename(&beside, path)?;
    Ok(written)
}
