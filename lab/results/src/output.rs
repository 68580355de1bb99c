// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing files that are complete or absent.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Files are written in calls of about so many bytes.
const AT_A_TIME: usize = 1 << 18;

/// Writes a file beside `path` and renames it, so that `path` never holds a part of `content`.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_by(path, |file| file.write_all(content))
}

/// As [`replace`], with content that `write` writes piece by piece.
pub(crate) fn replace_by(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    replace_through(path, |file| file, write).map(|_| ())
}

/// As [`replace_by`], through what `around` makes of the file, which is returned.
pub(crate) fn replace_through<W: Write>(
    path: &Path,
    around: impl FnOnce(File) -> W,
    write: impl FnOnce(&mut BufWriter<W>) -> io::Result<()>,
) -> io::Result<W> {
    let beside = path.with_extension("unfinished");
    let mut file = BufWriter::with_capacity(AT_A_TIME, around(File::create(&beside)?));
    write(&mut file)?;
    let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.flush()?;
    fs::rename(&beside, path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has room for so many bytes.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = (self.0.checked_sub(bytes.len())).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_leaves_the_file_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        replace(&path, b"before").unwrap();
        for pieces in [1, 2, 5] {
            let full = replace_through(
                &path,
                |_| Full(AT_A_TIME / 2),
                |file| (0..pieces).try_for_each(|_| file.write_all(&vec![7; AT_A_TIME])),
            );
            let failed = full.err().unwrap();
            assert_eq!(failed.kind(), io::ErrorKind::StorageFull, "{pieces}");
            assert_eq!(fs::read(&path).unwrap(), b"before");
        }
    }
}
