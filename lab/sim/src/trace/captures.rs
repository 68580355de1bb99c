// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packet traces of a run, which a thread of their own writes: the run notes what is needed of each packet, and hands
//! thousands over at a time.

use std::io;
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use netnice_queue::Time;

use crate::flows::bodies::{Bodies, Goes};
use crate::labels::Labels;
use crate::packet::Packet;
use crate::trace::link_capture::Capture;
use crate::trace::merged::MergedCapture;
use crate::trace::noted::{Batch, Noted, TraceId};
use crate::trace::separate::Separate;

/// Packets that are handed over at a time: half a megabyte, which the cache of a core has room for.
const BATCH: usize = 1 << 13;
/// Batches that wait for the thread at a time. A run that is faster than the thread waits in turn, so that memory stays bounded.
const WAITING: usize = 1;

/// Where the packets that come out of a link are written.
#[derive(Debug)]
pub enum LinkCapture {
    /// To a trace of its own.
    Own(Capture),
    /// To the run's trace of several links ([`Simulation::record_packets`](crate::Simulation::record_packets)), whose interfaces are the links
    /// with this value, in order.
    Merged,
}

/// The traces of a run.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    /// The packets that are not written yet.
    batch: Batch,
    /// Interfaces of the merged trace.
    interfaces: u32,
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
    /// Adds the trace of a link.
    pub fn add(&mut self, capture: LinkCapture) -> TraceId {
        match capture {
            LinkCapture::Own(capture) => TraceId::own(self.traces.separate.add(capture)),
            LinkCapture::Merged => {
                self.interfaces += 1;
                TraceId::merged(self.interfaces - 1)
            }
        }
    }

    /// Where links have no trace of their own, their packets are written to this one; before the first packet is noted.
    pub fn set_merged(&mut self, merged: MergedCapture) {
        self.traces.merged = Some(merged);
    }

    /// Returns true if there is no trace.
    pub fn is_empty(&self) -> bool {
        self.interfaces == 0 && self.traces.separate.is_empty() && self.thread.is_none()
    }

    /// Says how traces show the flows, by number; before the first packet is noted.
    pub fn set_labels(&mut self, labels: impl Iterator<Item = Labels>) {
        self.traces.labels = labels.collect();
    }

    /// Notes a packet of `flow` for a trace: it comes out of the link at `at`. This is no earlier than the run's present, and neither is what is
    /// noted later.
    #[inline]
    pub fn note(
        &mut self,
        (trace, at, present): (TraceId, Time, Time),
        packet: &Packet,
        bodies: &Bodies,
        (flow, goes): (usize, Goes),
    ) {
        let (body, sack) = bodies.packed(packet.body);
        let batch = &mut self.batch;
        batch.packets.push(Noted {
            body: *body,
            at,
            trace,
            flow: flow as u32,
            connection: packet.connection,
            sack: batch.sacks.len() as u32,
            length: packet.length,
            marks: packet.marks,
            goes,
        });
        batch.sacks.extend(sack);
        if batch.packets.len() >= BATCH {
            batch.later_from = present;
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
        self.batch.later_from = Time::NEVER;
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
    separate: Separate,
    merged: Option<MergedCapture>,
    labels: Vec<Labels>,
}

impl Traces {
    /// Writes the packets of a batch, and empties it.
    fn write(&mut self, batch: &mut Batch) {
        self.separate.write(batch, &self.labels);
        if let Some(merged) = &mut self.merged {
            merged.write(batch, &self.labels);
        }
        batch.clear();
    }

    fn finish(&mut self) -> io::Result<()> {
        self.separate.finish()?;
        self.merged.take().map_or(Ok(()), MergedCapture::finish)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::flows::bodies::Body;
    use crate::labels::TcpLabels;
    use crate::packet::{Marks, Route};
    use crate::tcp::{NO_SACK, SackBlock, Segment};
    use crate::trace::memory::Memory;
    use crate::trace::pcapng::{INTERFACE_DESCRIPTION, SECTION_HEADER};

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

    const LINKS: usize = 5;

    /// A packet that comes out of a link.
    #[derive(Debug, Clone, Copy)]
    struct Sent {
        link: usize,
        at: Time,
        flow: usize,
        goes: Goes,
        segment: Segment,
    }

    impl Sent {
        fn new(number: usize, at_ns: u64) -> Sent {
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
            Sent {
                link: number * number % LINKS,
                at: Time::from_nanos(at_ns),
                flow: number % 3,
                goes,
                segment,
            }
        }

        fn packet(&self, body: u32) -> Packet {
            Packet {
                route: Route::default(),
                connection: self.flow as u32,
                body,
                length: 1500,
                class: 0,
                marks: Marks::default(),
            }
        }
    }

    /// Packets, each with a present no later than it and those behind it. Those of one link are in order; of two links one may be up to 3 us
    /// ahead of the other, and many are simultaneous.
    fn out_of_order(packets: usize) -> Vec<(Time, Sent)> {
        let mut last = [0; LINKS];
        let packets = (0..packets).map(|number| {
            let present = number as u64 / 3;
            let ahead = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
            let sent = Sent::new(number, present + ahead.saturating_sub(1000));
            let last = &mut last[sent.link];
            *last = sent.at.as_nanos().max(*last);
            let at = Time::from_nanos(*last);
            (Time::from_nanos(present), Sent { at, ..sent })
        });
        packets.collect()
    }

    /// Notes packets for traces of single links, or for a merged one.
    fn note_all(packets: &[(Time, Sent)], captures: &mut Captures) {
        captures.set_labels((0..3).map(labels));
        let traces: Vec<TraceId> = (0..LINKS as u32)
            .map(|link| match captures.interfaces {
                0 => TraceId::own(link),
                _ => TraceId::merged(link),
            })
            .collect();
        let mut bodies = Bodies::default();
        for &(present, sent) in packets {
            let body = bodies.insert(&Body {
                segment: sent.segment,
                sent: sent.at,
            });
            let note = (traces[sent.link], sent.at, present);
            captures.note(note, &sent.packet(body), &bodies, (sent.flow, sent.goes));
            bodies.remove(body, sent.goes);
        }
        captures.finish().unwrap();
    }

    fn own_traces(packets: &[(Time, Sent)]) -> Vec<Vec<u8>> {
        let memories = [(); LINKS].map(|()| Memory::default());
        let mut captures = Captures::default();
        for memory in &memories {
            let capture = Capture::new(Box::new(memory.clone()), "x", 96);
            captures.add(LinkCapture::Own(capture));
        }
        note_all(packets, &mut captures);
        memories.iter().map(Memory::bytes).collect()
    }

    fn merged_trace(packets: &[(Time, Sent)]) -> Vec<u8> {
        let memory = Memory::default();
        let mut captures = Captures::default();
        for _ in 0..LINKS {
            captures.add(LinkCapture::Merged);
        }
        let links = ["x"; LINKS].into_iter();
        let merged = MergedCapture::new(Box::new(memory.clone()), links, 96);
        captures.set_merged(merged);
        note_all(packets, &mut captures);
        memory.bytes()
    }

    /// Compares traces with such that were written packet by packet.
    fn compare(packets: usize) {
        let sent = out_of_order(packets);
        let direct = [(); LINKS].map(|()| Memory::default());
        let capture = |memory: &Memory| Capture::new(Box::new(memory.clone()), "x", 96);
        let mut written = direct.each_ref().map(capture);
        for (_, sent) in &sent {
            let reverse = sent.goes == Goes::ToSender;
            let labels = labels(sent.flow as u32);
            let packet = sent.packet(0);
            written[sent.link].packet(sent.at, &packet, &sent.segment, &labels, reverse);
        }
        for capture in written {
            capture.finish().unwrap();
        }
        let direct = direct.iter().map(Memory::bytes);
        assert!(own_traces(&sent).into_iter().eq(direct));
    }

    #[test]
    fn traces_are_as_if_written_at_once() {
        // With one batch no thread is started.
        for packets in [0, 1, BATCH - 1, BATCH, 4 * BATCH + 7] {
            compare(packets);
        }
    }

    #[test]
    fn a_merged_trace_is_in_the_order_of_time() {
        for packets in [0, 1, BATCH, 4 * BATCH + 7] {
            let sent = out_of_order(packets);
            let merged = merged_trace(&sent);
            let (mut interfaces, mut order) = (0, Vec::new());
            // All blocks of each interface, as if it were the only one.
            let mut single: Vec<Vec<u8>> = vec![Vec::new(); LINKS];
            for block in blocks(&merged) {
                let word = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().unwrap());
                match word(0) {
                    SECTION_HEADER => single.iter_mut().for_each(|trace| trace.extend(block)),
                    INTERFACE_DESCRIPTION => {
                        single[interfaces].extend(block);
                        interfaces += 1;
                    }
                    _ => {
                        let (interface, high, low) = (word(8), word(12), word(16));
                        order.push((high, low, interface));
                        let trace = &mut single[interface as usize];
                        trace.extend(&block[..8]);
                        trace.extend([0; 4]);
                        trace.extend(&block[12..]);
                    }
                }
            }
            assert_eq!((interfaces, order.len()), (LINKS, packets));
            assert!(order.is_sorted());
            assert!(single == own_traces(&sent), "{packets} packets");
        }
    }

    #[test]
    fn a_merged_trace_does_not_depend_on_what_is_ahead() {
        let sent = out_of_order(3 * BATCH);
        let mut in_order = sent.clone();
        in_order.sort_by_key(|(_, sent)| sent.at);
        for (present, sent) in &mut in_order {
            *present = sent.at;
        }
        assert!(merged_trace(&in_order) == merged_trace(&sent));
    }

    /// The blocks of a pcapng file.
    fn blocks(mut file: &[u8]) -> Vec<&[u8]> {
        let mut blocks = Vec::new();
        while !file.is_empty() {
            let length = u32::from_le_bytes(file[4..8].try_into().unwrap()) as usize;
            let (block, rest) = file.split_at(length);
            blocks.push(block);
            file = rest;
        }
        blocks
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
        let own = || LinkCapture::Own(Capture::new(Box::new(Full), "x", 96));
        let both = [true, false];
        for (packets, merged) in [1, 4 * BATCH]
            .into_iter()
            .flat_map(|n| both.map(|it| (n, it)))
        {
            let mut captures = Captures::default();
            let trace = captures.add(if merged { LinkCapture::Merged } else { own() });
            if merged {
                let links = ["x"].into_iter();
                captures.set_merged(MergedCapture::new(Box::new(Full), links, 96));
            }
            captures.set_labels((0..1).map(labels));
            let mut bodies = Bodies::default();
            let packet = Sent::new(0, 0).packet(bodies.insert(&Body::default()));
            for _ in 0..packets {
                let note = (trace, Time::ZERO, Time::ZERO);
                captures.note(note, &packet, &bodies, (0, Goes::ToReceiver));
            }
            let failed = captures.finish().unwrap_err();
            assert_eq!(failed.kind(), io::ErrorKind::StorageFull);
        }
    }
}
