// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading files of which nobody knows how long they are.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A scenario: some ten thousand lines. Parsed it takes up to 100 times as much memory.
pub const SCENARIO_BYTES: u64 = 1 << 20;
/// A congestion control in C: ten thousand lines.
pub const CONTROL_BYTES: u64 = 1 << 20;
/// The graph of a network: some ten thousand links. Parsed it takes some ten times as much memory.
pub const TOPOLOGY_BYTES: u64 = 8 << 20;
/// A trace of packets or writes: some four million lines.
pub const TRACE_BYTES: u64 = 64 << 20;
/// A manifest, a list of checksums, outcomes or a summary.
pub const SUMMARY_BYTES: u64 = 256 << 20;
/// A run: figures of a million flows.
pub const RUN_BYTES: u64 = 2 << 30;

/// Reads a file of at most `most` bytes; fails with [`io::ErrorKind::FileTooLarge`] where it is longer or has no end.
///
/// Pipes are read as well: `most` holds for what comes, not for what the file system says.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let too_large = || {
        let limit = match most {
            most if most >= 1 << 30 => format!("{} GiB", most >> 30),
            most => format!("{} MiB", most >> 20),
        };
        let message = format!("it is larger than {limit}, the most that is read of such a file");
        io::Error::new(io::ErrorKind::FileTooLarge, message)
    };
    let length = file.metadata()?.len();
    if length > most {
        return Err(too_large());
    }
    let mut content = Vec::with_capacity(length as usize);
    file.take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(too_large());
    }
    Ok(content)
}

/// Reads a regular file: no device and no pipe, as is true of all files that netnice has written.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for somebody to write.
    if !path.metadata()?.is_file() {
        let message = "it is no regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    read(path, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_any_length_is_read_up_to_the_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let file = File::create(&path).unwrap();
        for (length, fits) in [(0, true), (100, true), (101, false), (1 << 40, false)] {
            file.set_len(length).unwrap();
            match read(&path, 100) {
                Ok(content) => assert!(fits && content.len() as u64 == length, "{length}"),
                Err(error) => {
                    assert!(!fits, "{length}: {error}");
                    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
                }
            }
        }
        let endless = read(Path::new("/dev/zero"), 1000).unwrap_err();
        assert_eq!(endless.kind(), io::ErrorKind::FileTooLarge);
        assert!(read_regular(Path::new("/dev/zero"), 1000).is_err());
        assert!(read_regular(directory.path(), 1000).is_err());
    }
}
