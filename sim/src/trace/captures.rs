// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packet traces of a run, which a thread of their own writes: the run notes what is needed of each packet, and hands
//! thousands over at a time.

use std::io;
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use netnice_queue::Time;

use crate::flows::bodies::{Bodies, Goes, PackedBody};
use crate::labels::Labels;
use crate::packet::{Marks, Packet, Route};
use crate::prefetch::prefetch;
use crate::tcp::SackBlock;
use crate::trace::capture::Capture;

/// Packets that are handed over at a time: half a megabyte, which the cache of a core has room for.
const BATCH: usize = 1 << 13;
/// Batches that wait for the thread at a time. A run that is faster than the thread waits in turn, so that memory stays bounded.
const WAITING: usize = 1;

/// A packet that has come out of a link with a trace.
#[derive(Debug, Clone, Copy)]
struct Noted {
    body: PackedBody,
    at: Time,
    /// The number of the trace.
    capture: u32,
    flow: u32,
    connection: u32,
    /// Place of its SACK blocks among those of the batch, if it has any.
    sack: u32,
    length: u16,
    marks: Marks,
    goes: Goes,
}

/// A packet takes one cache line.
const _: () = assert!(size_of::<Noted>() == 64);

/// Packets in the order in which they were noted.
#[derive(Debug, Default)]
struct Batch {
    packets: Vec<Noted>,
    sacks: Vec<[SackBlock; 3]>,
}

impl Batch {
    fn clear(&mut self) {
        self.packets.clear();
        self.sacks.clear();
    }
}

/// The traces of a run, by number.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    /// The packets that are not written yet.
    batch: Batch,
    traces: Traces,
    thread: Option<Writing>,
}

/// The thread that writes, once there is enough for it.
#[derive(Debug)]
struct Writing {
    thread: JoinHandle<io::Result<()>>,
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
}

impl Captures {
    /// Adds a trace, and returns its number.
    pub fn add(&mut self, capture: Capture) -> u32 {
        self.traces.all.push(capture);
        self.traces.all.len() as u32 - 1
    }

    /// Returns true if there is no trace.
    pub fn is_empty(&self) -> bool {
        self.traces.all.is_empty() && self.thread.is_none()
    }

    /// Says how traces show the flows, by number; before the first packet is noted.
    pub fn set_labels(&mut self, labels: impl Iterator<Item = Labels>) {
        self.traces.labels = labels.collect();
    }

    /// Notes a packet of `flow` for the trace number `capture`: it comes out of the link at `at`.
    #[inline]
    pub fn note(
        &mut self,
        capture: u32,
        at: Time,
        packet: &Packet,
        bodies: &Bodies,
        (flow, goes): (usize, Goes),
    ) {
        let (body, sack) = bodies.packed(packet.body);
        let batch = &mut self.batch;
        batch.packets.push(Noted {
            body: *body,
            at,
            capture,
            flow: flow as u32,
            connection: packet.connection,
            sack: batch.sacks.len() as u32,
            length: packet.length,
            marks: packet.marks,
            goes,
        });
        batch.sacks.extend(sack);
        if batch.packets.len() >= BATCH {
            self.hand_over();
        }
    }

    #[cold]
    fn hand_over(&mut self) {
        if self.thread.is_none() {
            self.start_thread();
        }
        let Some(writing) = &mut self.thread else {
            // The system starts no thread.
            self.traces.write(&mut self.batch);
            return;
        };
        let next = writing.empty.try_recv().unwrap_or_default();
        // Where the thread has failed, the end of the run finds out.
        let _ = writing.full.send(mem::replace(&mut self.batch, next));
    }

    fn start_thread(&mut self) {
        let (to_thread, hand) = channel::<Traces>();
        let (full, batches) = sync_channel::<Batch>(WAITING);
        let (emptied, empty) = channel();
        let started = thread::Builder::new()
            .name("traces".to_owned())
            .spawn(move || {
                let mut traces = hand.recv().unwrap_or_default();
                for mut batch in batches {
                    traces.write(&mut batch);
                    // At the end nobody wants it.
                    let _ = emptied.send(batch);
                }
                traces.finish()
            });
        if let Ok(thread) = started {
            // It fails where the thread has, of which the end of the run finds out.
            let _ = to_thread.send(mem::take(&mut self.traces));
            self.thread = Some(Writing {
                thread,
                full,
                empty,
            });
        }
    }

    /// Writes what is left of all traces; an error if anything could not be written.
    pub fn finish(&mut self) -> io::Result<()> {
        let Some(Writing { thread, full, .. }) = self.thread.take() else {
            self.traces.write(&mut self.batch);
            return self.traces.finish();
        };
        let _ = full.send(mem::take(&mut self.batch));
        drop(full);
        let ended = thread.join();
        ended.unwrap_or_else(|_| Err(io::Error::other("the thread that writes traces has failed")))
    }
}

/// A run that ends early leaves the packets so far.
impl Drop for Captures {
    fn drop(&mut self) {
        // Nobody is left to learn of a failure.
        let _ = self.finish();
    }
}

/// Traces to write to.
#[derive(Debug, Default)]
struct Traces {
    all: Vec<Capture>,
    labels: Vec<Labels>,
    by_trace: ByTrace,
}

impl Traces {
    /// Writes the packets of a batch to their traces, and empties it. Packets of one trace are written one after the other: of thousands
    /// of traces each is seldom in the cache.
    fn write(&mut self, batch: &mut Batch) {
        /// Traces are prefetched so far ahead, and half as far ahead what they keep.
        const AHEAD: usize = 8;
        if self.all.is_empty() {
            // They have ended.
            batch.clear();
            return;
        }
        self.by_trace.sort(self.all.len(), &batch.packets);
        let traces = &self.by_trace.used;
        for (number, &trace) in traces.iter().enumerate() {
            if let Some(&ahead) = traces.get(number + AHEAD) {
                prefetch(&self.all[ahead as usize], 2);
            }
            if let Some(&ahead) = traces.get(number + AHEAD / 2) {
                self.all[ahead as usize].prefetch_end();
                let first = self.by_trace.first[ahead as usize];
                prefetch(&batch.packets[first as usize], 1);
            }
            let capture = &mut self.all[trace as usize];
            let mut next = self.by_trace.first[trace as usize];
            while let Some(noted) = batch.packets.get(next as usize) {
                next = self.by_trace.next[next as usize];
                if let Some(following) = batch.packets.get(next as usize) {
                    prefetch(following, 1);
                }
                let sack = batch.sacks.get(noted.sack as usize);
                let body = noted.body.body(noted.goes, sack.copied());
                let packet = Packet {
                    route: Route::default(),
                    connection: noted.connection,
                    body: 0,
                    length: noted.length,
                    class: 0,
                    marks: noted.marks,
                };
                let labels = &self.labels[noted.flow as usize];
                let reverse = noted.goes == Goes::ToSender;
                capture.packet(noted.at, &packet, &body.segment, labels, reverse);
            }
        }
        self.by_trace.clear();
        batch.clear();
    }

    fn finish(&mut self) -> io::Result<()> {
        self.all.drain(..).try_for_each(Capture::finish)
    }
}

/// The packets of a batch by trace: lists of their places.
#[derive(Debug, Default)]
struct ByTrace {
    /// The traces that have packets, in the order of their first ones.
    used: Vec<u32>,
    /// The first and the last packet of each trace.
    first: Vec<u32>,
    last: Vec<u32>,
    /// The packet of the same trace that follows each.
    next: Vec<u32>,
}

/// No packet.
const NONE: u32 = u32::MAX;

impl ByTrace {
    fn sort(&mut self, traces: usize, packets: &[Noted]) {
        self.first.resize(traces, NONE);
        self.last.resize(traces, NONE);
        self.next.resize(packets.len(), NONE);
        for (place, noted) in packets.iter().enumerate() {
            let trace = noted.capture as usize;
            let last = mem::replace(&mut self.last[trace], place as u32);
            match self.next.get_mut(last as usize) {
                Some(next) => *next = place as u32,
                None => {
                    self.first[trace] = place as u32;
                    self.used.push(noted.capture);
                }
            }
        }
    }

    fn clear(&mut self) {
        for trace in self.used.drain(..) {
            self.last[trace as usize] = NONE;
        }
        self.next.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::flows::bodies::Body;
    use crate::labels::TcpLabels;
    use crate::tcp::{NO_SACK, Segment};
    use crate::trace::memory::Memory;

    fn labels(index: u32) -> Labels {
        Labels {
            index,
            dscp: 0,
            header_bytes: 40,
            tcp: Some(TcpLabels {
                mss: 1448,
                timestamps: true,
                sack: true,
                window_scale: 7,
                request_bytes: 0,
            }),
        }
    }

    /// Notes so many packets for five traces, and compares these with traces that were written packet by packet.
    fn compare(packets: usize) {
        const TRACES: usize = 5;
        let memories = || [(); TRACES].map(|()| Memory::default());
        let (noted, direct) = (memories(), memories());
        let capture = |memory: &Memory| Capture::new(Box::new(memory.clone()), "x", 96).unwrap();
        let mut captures = Captures::default();
        for (number, memory) in noted.iter().enumerate() {
            assert_eq!(captures.add(capture(memory)), number as u32);
        }
        captures.set_labels((0..3).map(labels));
        let mut written = direct.each_ref().map(capture);
        let mut bodies = Bodies::default();
        for number in 0..packets {
            let (trace, flow) = (number * number % TRACES, number % 3);
            let goes = match number % 2 {
                0 => Goes::ToReceiver,
                _ => Goes::ToSender,
            };
            let mut segment = Segment {
                tsval: number as u32,
                ..Segment::default()
            };
            match goes {
                Goes::ToReceiver => (segment.sequence, segment.length) = (number as u64, 1448),
                Goes::ToSender => {
                    segment.acknowledgement = number as u64;
                    segment.sack = NO_SACK;
                    let end = number as u32 % 7 / 6 * 1448;
                    segment.sack[0] = SackBlock { start: 0, end };
                }
            }
            let at = Time::from_nanos(number as u64);
            let body = bodies.insert(&Body { segment, sent: at });
            let packet = Packet {
                route: Route::default(),
                connection: flow as u32,
                body,
                length: 1500,
                class: 0,
                marks: Marks::default(),
            };
            captures.note(trace as u32, at, &packet, &bodies, (flow, goes));
            let reverse = goes == Goes::ToSender;
            written[trace].packet(at, &packet, &segment, &labels(flow as u32), reverse);
            bodies.remove(body, goes);
        }
        captures.finish().unwrap();
        for capture in written {
            capture.finish().unwrap();
        }
        for (noted, direct) in noted.iter().zip(&direct) {
            assert!(*noted.0.lock().unwrap() == *direct.0.lock().unwrap());
        }
    }

    #[test]
    fn traces_are_as_if_written_at_once() {
        // With one batch no thread is started.
        for packets in [0, 1, BATCH - 1, BATCH, 4 * BATCH + 7] {
            compare(packets);
        }
    }

    /// Fails at once.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_an_error_at_the_end() {
        for packets in [1, 4 * BATCH] {
            let mut captures = Captures::default();
            captures.add(Capture::new(Box::new(Full), "x", 96).unwrap());
            captures.set_labels((0..1).map(labels));
            let mut bodies = Bodies::default();
            let packet = Packet {
                route: Route::default(),
                connection: 0,
                body: bodies.insert(&Body::default()),
                length: 1500,
                class: 0,
                marks: Marks::default(),
            };
            for _ in 0..packets {
                captures.note(0, Time::ZERO, &packet, &bodies, (0, Goes::ToReceiver));
            }
            let failed = captures.finish().unwrap_err();
            assert_eq!(failed.kind(), io::ErrorKind::StorageFull);
        }
    }
}
