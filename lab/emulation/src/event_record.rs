// SPDX-License-Identifier: MIT OR Apache-2.0
//! The record of the events at links. The network's thread has no time to write: it hands events over to another one.

use std::fmt;
use std::io;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};

use netnice_results::LinkEvent;
use netnice_sim::{EventSink, EventTrace, Selection};

/// Events that are handed over at a time: copying them takes some microseconds.
pub(super) const HANDED_OVER: usize = 512;

/// Handed-over batches that wait for the disk at most: 2 million events of 56 bytes, 120 MB. A disk may stand still for some 10 s while
/// 100,000 packets/s arrive at a link and leave it.
const MOST_WAITING: usize = (1 << 21) / HANDED_OVER;

/// The links whose events are recorded, and where they are written.
pub struct EventRecord {
    /// Directions of links.
    pub links: Selection,
    /// Where their events go, on a thread of its own.
    pub sink: Box<dyn EventSink>,
}

impl fmt::Debug for EventRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { links, .. } = self;
        f.debug_struct("EventRecord")
            .field("links", links)
            .finish_non_exhaustive()
    }
}

/// A sink that has a thread write. It never waits: events for which there is no room are lost, and counted.
pub(super) struct Background {
    to_thread: SyncSender<Vec<LinkEvent>>,
    thread: JoinHandle<io::Result<()>>,
    lost: Arc<AtomicU64>,
}

impl Background {
    /// Starts the thread, which writes to `sink`.
    pub(super) fn new(sink: Box<dyn EventSink>) -> io::Result<Background> {
        Background::with_room(sink, MOST_WAITING)
    }

    /// Starts the thread; at most so many batches wait for it.
    fn with_room(sink: Box<dyn EventSink>, batches: usize) -> io::Result<Background> {
        let (to_thread, events) = mpsc::sync_channel(batches);
        let thread = thread::Builder::new().name("lab-events".into());
        let thread = thread.spawn(move || write_all(&events, sink))?;
        Ok(Background {
            to_thread,
            thread,
            lost: Arc::default(),
        })
    }

    /// The number of events lost so far, which outlives the sink.
    pub(super) fn lost(&self) -> Arc<AtomicU64> {
        self.lost.clone()
    }
}

impl EventSink for Background {
    fn write(&mut self, events: &[LinkEvent]) -> io::Result<()> {
        if let Err(TrySendError::Full(events)) = self.to_thread.try_send(events.to_vec()) {
            self.lost.fetch_add(events.len() as u64, Ordering::Relaxed);
        }
        // Where the thread has failed, the end of the record finds out.
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        drop(self.to_thread);
        let ended = self.thread.join();
        ended.unwrap_or_else(|_| Err(io::Error::other("the thread that writes events panicked")))
    }
}

fn write_all(events: &Receiver<Vec<LinkEvent>>, mut sink: Box<dyn EventSink>) -> io::Result<()> {
    let mut waiting: Vec<LinkEvent> = Vec::new();
    for more in events {
        waiting.extend(more);
        if waiting.len() >= EventTrace::BATCH {
            sink.write(&mem::take(&mut waiting))?;
        }
    }
    if !waiting.is_empty() {
        sink.write(&waiting)?;
    }
    sink.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::Sender;

    use netnice_results::EventKind;

    use super::*;

    /// Keeps the times of what is written; fails if asked to.
    struct Kept(Arc<Mutex<Vec<u64>>>, bool);

    impl EventSink for Kept {
        fn write(&mut self, events: &[LinkEvent]) -> io::Result<()> {
            let mut times = self.0.lock().unwrap();
            times.extend(events.iter().map(|event| event.time_ns));
            match self.1 {
                true => Err(io::Error::other("full")),
                false => Ok(()),
            }
        }

        fn finish(self: Box<Self>) -> io::Result<()> {
            Ok(())
        }
    }

    fn events(times: std::ops::Range<u64>) -> Vec<LinkEvent> {
        let at = |time_ns| LinkEvent {
            time_ns,
            link: 0,
            flow: 0,
            kind: EventKind::Arrived,
            cause: None,
            to_sender: false,
            sequence: None,
            bytes: 1500,
            waited_ns: None,
        };
        times.map(at).collect()
    }

    #[test]
    fn all_events_are_written_in_order() {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let mut sink = Background::new(Box::new(Kept(kept.clone(), false))).unwrap();
        let count = EventTrace::BATCH as u64 + 100;
        for first in (0..count).step_by(50) {
            sink.write(&events(first..first + 50)).unwrap();
        }
        Box::new(sink).finish().unwrap();
        let written = kept.lock().unwrap().clone();
        assert!(written.iter().copied().eq(0..count.next_multiple_of(50)));
    }

    /// Announces each write, and then waits until it is let through.
    struct Slow {
        kept: Kept,
        begins: Sender<()>,
        may_write: Receiver<()>,
    }

    impl EventSink for Slow {
        fn write(&mut self, events: &[LinkEvent]) -> io::Result<()> {
            self.begins.send(()).unwrap();
            self.may_write.recv().unwrap();
            self.kept.write(events)
        }

        fn finish(self: Box<Self>) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_slow_disk_loses_events_and_holds_up_nothing() {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (begins, writes) = mpsc::channel();
        let (let_through, may_write) = mpsc::channel();
        let slow = Slow {
            kept: Kept(kept.clone(), false),
            begins,
            may_write,
        };
        let mut sink = Background::with_room(Box::new(slow), 3).unwrap();
        let lost = sink.lost();
        let batch = EventTrace::BATCH as u64;
        sink.write(&events(0..batch)).unwrap();
        // From now on the thread takes nothing. None of these calls may wait for it: it goes on only after them.
        writes.recv().unwrap();
        for number in 0..5 {
            let first = batch + 10 * number;
            sink.write(&events(first..first + 10)).unwrap();
        }
        assert_eq!(lost.load(Ordering::Relaxed), 20);
        let_through.send(()).unwrap();
        let_through.send(()).unwrap();
        Box::new(sink).finish().unwrap();
        assert_eq!(lost.load(Ordering::Relaxed), 20);
        assert!(kept.lock().unwrap().iter().copied().eq(0..batch + 30));
    }

    #[test]
    fn a_failure_to_write_is_reported_at_the_end() {
        let mut sink = Background::new(Box::new(Kept(Arc::default(), true))).unwrap();
        sink.write(&events(0..3)).unwrap();
        let error = Box::new(sink).finish().unwrap_err();
        assert_eq!(error.to_string(), "full");
    }
}
