// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces of a link that Wireshark reads: pcapng with IPv4, TCP and UDP headers and their checksums.

use std::io::{self, Write};

use netnice_queue::Time;

use crate::labels::Labels;
use crate::packet::Packet;
use crate::tcp::Segment;
use crate::trace::pcapng::Pcapng;

/// A trace being written: the packets that come out of a link, with the time at which they do.
#[derive(Debug)]
pub struct Capture {
    file: Pcapng,
    identification: u16,
}

/// Bytes kept before they are written.
const KEPT: usize = 1 << 16;

impl Capture {
    /// A trace of the link called `name`, of at most `snap_length` bytes of each packet. It keeps 64 KiB before it writes.
    pub fn new(out: Box<dyn Write + Send>, name: &str, snap_length: u32) -> Capture {
        let mut file = Pcapng::new(out, snap_length, KEPT);
        file.add_interface(name);
        Capture {
            file,
            identification: 0,
        }
    }

    /// Writes a packet that has come out of the link; the labels come with whether it goes to the sender of the data.
    pub(crate) fn packet(
        &mut self,
        now: Time,
        packet: &Packet,
        segment: &Segment,
        labels: (&Labels, bool),
    ) {
        self.identification = self.identification.wrapping_add(1);
        self.file
            .packet((0, now), packet, segment, labels, self.identification);
    }

    /// Writes what is left; an error if anything could not be written.
    pub fn finish(self) -> io::Result<()> {
        self.file.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::TcpLabels;
    use crate::packet::{Marks, Route};
    use crate::tcp::Flags;
    use crate::trace::headers::internet_checksum;
    use crate::trace::memory::Memory;
    use crate::trace::pcapng::ENHANCED_PACKET;

    /// The sum of an even number of bytes, two by two.
    fn sum_of(bytes: &[u8]) -> u32 {
        bytes
            .chunks_exact(2)
            .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
            .sum()
    }

    /// The packets of a trace: time, original length and bytes.
    fn packets(trace: &[u8]) -> Vec<(u64, u32, Vec<u8>)> {
        let word = |at: usize| u32::from_le_bytes(trace[at..at + 4].try_into().unwrap());
        let mut found = Vec::new();
        let mut at = 0;
        while at < trace.len() {
            let length = word(at + 4) as usize;
            assert_eq!(
                word(at + length - 4) as usize,
                length,
                "both lengths of a block are alike"
            );
            if word(at) == ENHANCED_PACKET {
                let captured = word(at + 20) as usize;
                let time = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
                found.push((
                    time,
                    word(at + 24),
                    trace[at + 28..at + 28 + captured].to_vec(),
                ));
            }
            at += length;
        }
        found
    }

    #[test]
    fn headers_are_whole_and_their_checksums_right() {
        let memory = Memory::default();
        let mut capture = Capture::new(Box::new(memory.clone()), "left-right", 60);
        let labels = Labels {
            index: 3,
            dscp: 1,
            header_bytes: 52,
            tcp: Some(TcpLabels {
                mss: 1448,
                timestamps: true,
                sack: true,
                window_scale: 7,
                request_bytes: 0,
            }),
        };
        let mut packet = Packet {
            route: Route::default(),
            connection: 9,
            body: 0,
            length: 1500,
            class: 0,
            marks: Marks::new(true),
        };
        let data = Segment {
            sequence: 2896,
            length: 1448,
            tsval: 77,
            tsecr: 66,
            ..Segment::default()
        };
        capture.packet(
            Time::from_nanos(5_000_000_123),
            &packet,
            &data,
            (&labels, false),
        );
        packet.marks = Marks::default();
        let ack = Segment {
            acknowledgement: 1448,
            window: 65_536,
            flags: Flags::ACK,
            sack: [
                crate::tcp::SackBlock {
                    start: 1448,
                    end: 2896,
                },
                Default::default(),
                Default::default(),
            ],
            ..Segment::default()
        };
        capture.packet(
            Time::from_nanos(6_000_000_000),
            &packet,
            &ack,
            (&labels, true),
        );
        let udp = Labels {
            tcp: None,
            header_bytes: 28,
            ..labels
        };
        packet.length = 128;
        capture.packet(
            Time::from_nanos(6_000_000_001),
            &packet,
            &Segment::default(),
            (&udp, false),
        );
        capture.finish().unwrap();

        let found = packets(&memory.0.lock().unwrap());
        let summary: Vec<(u64, u32, usize)> = found
            .iter()
            .map(|(time, length, bytes)| (*time, *length, bytes.len()))
            .collect();
        assert_eq!(
            summary,
            [
                (5_000_000_123, 1500, 60),
                (6_000_000_000, 64, 60),
                (6_000_000_001, 128, 60)
            ]
        );
        for (_, _, bytes) in &found {
            assert_eq!(
                internet_checksum(sum_of(&bytes[..20])),
                0,
                "a right checksum makes the sum zero"
            );
        }
        let first = &found[0].2;
        assert_eq!(first[1], 1 << 2 | 2, "LE and ECT(0)");
        assert_eq!(first[12..20], [10, 0, 0, 3, 10, 128, 0, 3]);
        assert_eq!(first[24..28], 2897u32.to_be_bytes());
        let mut pseudo = first[12..20].to_vec();
        pseudo.extend([0, 6, (1480u16 >> 8) as u8, 1480u16 as u8]);
        pseudo.extend(&first[20..52]);
        assert_eq!(internet_checksum(sum_of(&pseudo)), 0);
        let second = &found[1].2;
        assert_eq!(second[28..32], 1449u32.to_be_bytes());
        assert_eq!(
            second[34..36],
            512u16.to_be_bytes(),
            "65536 bytes, shifted by 7"
        );
        assert_eq!(second[52..56], [1, 1, 5, 10]);
        assert_eq!(second[56..60], 2897u32.to_be_bytes());
    }
}
