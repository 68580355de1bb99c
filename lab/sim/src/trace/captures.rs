// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packet traces of a run: one for each link that has one, or one of several links in the order of time.

use std::io;

use netnice_queue::Time;

use crate::flows::bodies::{Bodies, Goes};
use crate::labels::Labels;
use crate::packet::Packet;
use crate::trace::link_capture::Capture;
use crate::trace::merged::MergedCapture;

/// Where the packets that come out of a link are written.
#[derive(Debug)]
pub enum LinkCapture {
    /// To a trace of its own.
    Own(Capture),
    /// To the run's trace of several links ([`Simulation::record_packets`](crate::Simulation::record_packets)), whose interfaces are the links
    /// with this value, in order.
    Merged,
}

/// Where the packets of a link go: to a trace of its own, or to an interface of the merged trace. Both have numbers from 0 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TraceId {
    Own(u32),
    Merged(u32),
}

/// The traces of a run.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    own: Vec<Capture>,
    merged: Option<MergedCapture>,
    /// Interfaces of the merged trace.
    interfaces: u32,
    labels: Vec<Labels>,
}

impl Captures {
    /// Adds the trace of a link.
    pub fn add(&mut self, capture: LinkCapture) -> TraceId {
        match capture {
            LinkCapture::Own(capture) => {
                self.own.push(capture);
                TraceId::Own(self.own.len() as u32 - 1)
            }
            LinkCapture::Merged => {
                self.interfaces += 1;
                TraceId::Merged(self.interfaces - 1)
            }
        }
    }

    /// Where links have no trace of their own, their packets are written to this one; before the first packet is written.
    pub fn set_merged(&mut self, merged: MergedCapture) {
        self.merged = Some(merged);
    }

    /// Returns true if there is no trace.
    pub fn is_empty(&self) -> bool {
        self.interfaces == 0 && self.own.is_empty()
    }

    /// Says how traces show the flows, by number; before the first packet is written.
    pub fn set_labels(&mut self, labels: impl Iterator<Item = Labels>) {
        self.labels = labels.collect();
    }

    /// Writes a packet of `flow` to a trace: it comes out of the link at `at`. This is no earlier than the run's present, and neither is what is
    /// written later.
    pub fn write(
        &mut self,
        (trace, at, present): (TraceId, Time, Time),
        packet: &Packet,
        bodies: &Bodies,
        (flow, goes): (usize, Goes),
    ) {
        let segment = bodies.get(packet.body, goes).segment;
        let labels = (&self.labels[flow], goes == Goes::ToSender);
        match trace {
            TraceId::Own(number) => {
                self.own[number as usize].packet(at, packet, &segment, labels);
            }
            TraceId::Merged(interface) => {
                if let Some(merged) = &mut self.merged {
                    merged.packet((interface, at, present), packet, &segment, labels);
                }
            }
        }
    }

    /// Writes what is left of all traces; an error if anything could not be written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.own.drain(..).try_for_each(Capture::finish)?;
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
                0 => TraceId::Own(link),
                _ => TraceId::Merged(link),
            })
            .collect();
        let mut bodies = Bodies::default();
        for &(present, sent) in packets {
            let body = bodies.insert(&Body {
                segment: sent.segment,
                sent: sent.at,
            });
            let note = (traces[sent.link], sent.at, present);
            captures.write(note, &sent.packet(body), &bodies, (sent.flow, sent.goes));
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

    #[test]
    fn a_merged_trace_is_in_the_order_of_time() {
        for packets in [0, 1, 1000, 20_000] {
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
        let sent = out_of_order(20_000);
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
        for (packets, merged) in [1, 20_000].into_iter().flat_map(|n| both.map(|it| (n, it))) {
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
                captures.write(note, &packet, &bodies, (0, Goes::ToReceiver));
            }
            let failed = captures.finish().unwrap_err();
            assert_eq!(failed.kind(), io::ErrorKind::StorageFull);
        }
    }
}
