// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing files that are complete or absent, large ones by a thread of their own.

use std::fs::{self, File};
use std::io::{self, Write};
use std::mem;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

/// Large files are written in calls of about so many bytes.
pub(crate) const AT_A_TIME: usize = 1 << 18;

/// Writes a file beside `path` and renames it, so that `path` never holds a part of `content`.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_by(path, |file| file.write_all(content))
}

/// As [`replace`], with content that `write` writes piece by piece.
pub(crate) fn replace_by(
    path: &Path,
    write: impl FnOnce(&mut WriteBehind<File>) -> io::Result<()>,
) -> io::Result<()> {
    replace_through(path, |file| file, write).map(|_| ())
}

/// As [`replace_by`], through what `around` makes of the file, which is returned.
pub(crate) fn replace_through<W: Write + Send + 'static>(
    path: &Path,
    around: impl FnOnce(File) -> W,
    write: impl FnOnce(&mut WriteBehind<W>) -> io::Result<()>,
) -> io::Result<W> {
    let beside = path.with_extension("unfinished");
    let mut file = WriteBehind::new(around(File::create(&beside)?));
    if let Err(error) = write(&mut file) {
        // No thread goes on writing to it.
        let _ = file.finish();
        return Err(error);
    }
    let file = file.finish()?;
    fs::rename(&beside, path)?;
    Ok(file)
}

/// A writer with a buffer, behind which a thread writes when there is much to write: so the system copies to its cache, and whatever
/// else `W` does is done, while the next bytes are made. Errors may come late, with [`WriteBehind::finish`] at the latest.
pub(crate) struct WriteBehind<W> {
    /// Its first `used` bytes are to be written.
    buffer: Vec<u8>,
    used: usize,
    /// Full buffers so far.
    written: usize,
    place: Place<W>,
}

/// Where writing is done.
enum Place<W> {
    Here(W),
    Thread(Behind<W>),
    /// Nowhere, as something failed.
    Failed,
}

struct Behind<W> {
    thread: JoinHandle<io::Result<W>>,
    full: SyncSender<(Vec<u8>, usize)>,
    empty: Receiver<Vec<u8>>,
    /// Further buffers that may be made.
    spare: usize,
}

impl<W: Write + Send + 'static> WriteBehind<W> {
    /// So many full buffers are written without a thread, which would take longer to start than to write them.
    const WITHOUT_THREAD: usize = 3;
    /// Buffers beside the one that is filled.
    const BUFFERS: usize = 3;

    pub fn new(to: W) -> WriteBehind<W> {
        WriteBehind {
            buffer: Vec::new(),
            used: 0,
            written: 0,
            place: Place::Here(to),
        }
    }

    /// Writes the first `used` bytes of a buffer, and leaves another one of this length in its place, whose bytes mean nothing.
    pub fn write_buffer(&mut self, buffer: &mut Vec<u8>, used: usize) -> io::Result<()> {
        self.flush_buffer()?;
        self.hand_over(buffer, used)
    }

    fn flush_buffer(&mut self) -> io::Result<()> {
        if self.used == 0 {
            return Ok(());
        }
        let mut buffer = mem::take(&mut self.buffer);
        let used = mem::take(&mut self.used);
        let written = self.hand_over(&mut buffer, used);
        self.buffer = buffer;
        written
    }

    fn hand_over(&mut self, buffer: &mut Vec<u8>, used: usize) -> io::Result<()> {
        self.written += 1;
        if self.written > Self::WITHOUT_THREAD {
            self.start_thread();
        }
        let behind = match &mut self.place {
            Place::Here(to) => return to.write_all(&buffer[..used]),
            Place::Thread(behind) => behind,
            Place::Failed => return Err(failed_before()),
        };
        let length = buffer.len();
        if behind.full.send((mem::take(buffer), used)).is_err() {
            return self.end_thread().and(Err(failed_before()));
        }
        let next = match behind.empty.try_recv() {
            Ok(next) => Ok(next),
            Err(_) if behind.spare > 0 => {
                behind.spare -= 1;
                Ok(Vec::new())
            }
            Err(_) => behind.empty.recv(),
        };
        match next {
            Ok(mut next) => {
                next.resize(length, 0);
                *buffer = next;
                Ok(())
            }
            Err(_) => self.end_thread().and(Err(failed_before())),
        }
    }

    /// Has a thread write from now on; where the system starts none, all goes on without.
    fn start_thread(&mut self) {
        let to = match mem::replace(&mut self.place, Place::Failed) {
            Place::Here(to) => to,
            other => {
                self.place = other;
                return;
            }
        };
        let (to_thread, hand) = channel::<W>();
        let (full, buffers) = sync_channel::<(Vec<u8>, usize)>(Self::BUFFERS);
        let (emptied, empty) = channel();
        let started = thread::Builder::new()
            .name("write".to_owned())
            .spawn(move || {
                let mut to = hand.recv().map_err(io::Error::other)?;
                write_buffers(&mut to, &buffers, &emptied)?;
                Ok(to)
            });
        self.place = match started {
            Ok(thread) => match to_thread.send(to) {
                Ok(()) => Place::Thread(Behind {
                    thread,
                    full,
                    empty,
                    spare: Self::BUFFERS,
                }),
                Err(unsent) => Place::Here(unsent.0),
            },
            Err(_) => Place::Here(to),
        };
    }

    /// Waits for the thread, and returns what it wrote to.
    fn end_thread(&mut self) -> io::Result<W> {
        match mem::replace(&mut self.place, Place::Failed) {
            Place::Here(to) => Ok(to),
            Place::Thread(Behind { thread, full, .. }) => {
                drop(full);
                let ended = thread.join();
                ended.unwrap_or_else(|_| Err(io::Error::other("the thread that writes has failed")))
            }
            Place::Failed => Err(failed_before()),
        }
    }

    /// Writes what is left, and returns what all was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush_buffer()?;
        let mut to = self.end_thread()?;
        to.flush()?;
        Ok(to)
    }
}

fn failed_before() -> io::Error {
    io::Error::other("writing has failed before")
}

/// Writes full buffers until there are no more.
fn write_buffers(
    to: &mut impl Write,
    buffers: &Receiver<(Vec<u8>, usize)>,
    emptied: &Sender<Vec<u8>>,
) -> io::Result<()> {
    for (buffer, used) in buffers {
        to.write_all(&buffer[..used])?;
        // Nobody wants it when all is written.
        let _ = emptied.send(buffer);
    }
    Ok(())
}

impl<W: Write + Send + 'static> Write for WriteBehind<W> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = self.used + bytes.len();
        match self.buffer.get_mut(self.used..end) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.used = end;
                Ok(())
            }
            None => self.write_without_room(bytes),
        }
    }

    /// Has all written that does not fill a buffer yet.
    fn flush(&mut self) -> io::Result<()> {
        self.flush_buffer()
    }
}

impl<W: Write + Send + 'static> WriteBehind<W> {
    #[cold]
    fn write_without_room(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if self.buffer.is_empty() {
            self.buffer.resize(AT_A_TIME, 0);
        }
        while !bytes.is_empty() {
            let room = self.buffer.len() - self.used;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.buffer[self.used..self.used + now.len()].copy_from_slice(now);
            self.used += now.len();
            bytes = later;
            if self.used == self.buffer.len() {
                self.flush_buffer()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Takes so many bytes and then fails.
    struct Full(Vec<u8>, usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0.len() + bytes.len() > self.1 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn all_is_written_in_order(
            pieces in prop::collection::vec((any::<bool>(), any::<u8>(), 0..2 * AT_A_TIME), 0..16),
        ) {
            let mut file = WriteBehind::new(Vec::new());
            let mut expected = Vec::new();
            let mut buffer = vec![0; 2 * AT_A_TIME];
            for (whole, byte, length) in pieces {
                expected.resize(expected.len() + length, byte);
                if whole {
                    buffer[..length].fill(byte);
                    file.write_buffer(&mut buffer, length).unwrap();
                    prop_assert_eq!(buffer.len(), 2 * AT_A_TIME);
                } else {
                    file.write_all(&vec![byte; length]).unwrap();
                }
            }
            prop_assert!(file.finish().unwrap() == expected);
        }
    }

    #[test]
    fn a_full_disk_is_an_error_early_or_late() {
        for buffers in [0, 1, 2, 5, 20] {
            let mut file = WriteBehind::new(Full(Vec::new(), buffers * AT_A_TIME));
            let mut write = || -> io::Result<()> {
                for _ in 0..=buffers {
                    file.write_all(&vec![7; AT_A_TIME])?;
                }
                Ok(())
            };
            let failed = write().err().or_else(|| file.finish().err()).unwrap();
            assert_eq!(failed.kind(), io::ErrorKind::StorageFull, "{buffers}");
        }
    }
}
