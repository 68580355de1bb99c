// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of which little stays in the page cache of the system.

use std::fs::File;
use std::io::{self, Write};

/// Bytes that are handed to the disk at a time.
const PIECE: u64 = 1 << 20;

/// Bytes behind the newest that are given time to reach the disk before their pages are dropped from the cache.
const BEHIND: u64 = 16 << 20;

/// A file that is written once, from the beginning on, and not read soon.
///
/// A trace of a long run would otherwise fill memory with pages that are read at some later time, if at all, and take pages for them
/// that the system has to find and, in a virtual machine, to get from its host: with such pages, writing took ten times as long. Nothing
/// waits for the disk: pages that a slow one has not written by then stay in the cache. Where the system has no such calls, it is a
/// plain file.
#[derive(Debug)]
pub(crate) struct WriteBehind {
    file: File,
    written: u64,
    /// All before was handed to the disk.
    handed_over: u64,
}

impl WriteBehind {
    /// Writes to this file, which is empty.
    pub fn new(file: File) -> WriteBehind {
        WriteBehind {
            file,
            written: 0,
            handed_over: 0,
        }
    }

    /// Hands what has been written since last time to the disk, and drops the pages of as much that is older.
    #[cfg(target_os = "linux")]
    fn write_behind(&mut self) {
        use std::os::fd::AsRawFd;

        let file = self.file.as_raw_fd();
        let (from, to) = (self.handed_over, self.written);
        let old = |at: u64| at.saturating_sub(BEHIND);
        // SAFETY: both take integers only, and the file is open. A file of another kind refuses them, which changes nothing.
        unsafe {
            libc::sync_file_range(
                file,
                from as i64,
                (to - from) as i64,
                libc::SYNC_FILE_RANGE_WRITE,
            );
            if old(from) < old(to) {
                let length = old(to) - old(from);
                libc::posix_fadvise(
                    file,
                    old(from) as i64,
                    length as i64,
                    libc::POSIX_FADV_DONTNEED,
                );
            }
        }
        self.handed_over = to;
    }

    #[cfg(not(target_os = "linux"))]
    fn write_behind(&mut self) {
        self.handed_over = self.written;
    }
}

impl Write for WriteBehind {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.written += written as u64;
        if self.written - self.handed_over >= PIECE {
            self.write_behind();
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_what_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let mut file = WriteBehind::new(File::create(&path).unwrap());
        let mut expected = Vec::new();
        // Of all lengths, to behind the part that is given time.
        for number in 0u32.. {
            let length = (number * 7919 % 300_000) as usize;
            let piece = vec![number as u8; length];
            file.write_all(&piece).unwrap();
            expected.extend_from_slice(&piece);
            if expected.len() as u64 > BEHIND + 8 * PIECE {
                break;
            }
        }
        file.flush().unwrap();
        assert!(file.handed_over > BEHIND);
        assert!(std::fs::read(&path).unwrap() == expected);
    }
}
