// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts, delays and round-trip times of a flow, read off its packets as they enter and leave the network.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use netnice_queue::Time;
use netnice_sim::measure::{FlowCounters, Histogram};

use netnice_link::packet::{Frame, TcpHeader};

/// A transport connection of a flow: sender's and receiver's address, then ports.
type Key = (u32, u32, u16, u16);

/// Measurements of one flow.
#[derive(Debug, Default)]
pub(super) struct FlowTracer {
    pub(super) counters: FlowCounters,
    pub(super) baseline: FlowCounters,
    /// Counters at the ends of phases.
    pub(super) marks: Vec<FlowCounters>,
    /// One-way delays of data packets, in nanoseconds.
    pub(super) delay: Histogram,
    /// Round-trip times at the sender, in nanoseconds, one for each ACK that is the first to cover data which was sent once, by its
    /// number or a SACK block.
    pub(super) round_trip: Histogram,
    /// Delay of the newest data packet that has arrived.
    pub(super) last_delay: Option<Duration>,
    /// Bytes after which the flow is complete.
    expected_bytes: Option<u64>,
    /// Time at which the flow completed.
    pub(super) completed: Option<Time>,
    connections: HashMap<Key, Connection>,
    measuring: bool,
}

/// One TCP connection.
#[derive(Debug)]
struct Connection {
    /// All sequence numbers before this are acknowledged.
    acknowledged: u32,
    /// All sequence numbers before this have been sent.
    sent: u32,
    /// The bytes of data before `sent`.
    sent_bytes: u64,
    /// End of the data, once a FIN has been sent.
    end: Option<u32>,
    /// Without SACK, the end of the data sent when the sender's host learnt of a loss: until it is acknowledged, ACKs come late.
    recover: Option<u32>,
    /// Data under way.
    outstanding: VecDeque<Sent>,
}

/// A packet of data that is not acknowledged.
#[derive(Debug)]
struct Sent {
    /// The sequence number after its data.
    end: u32,
    at: Time,
    /// It was retransmitted: its ACK gives no sample.
    again: bool,
    /// A SACK block covered it.
    sacked: bool,
}

impl Connection {
    /// Returns the number of a byte of data, from 0, by its sequence number.
    fn number(&self, sequence: u32) -> u64 {
        let behind = sequence.wrapping_sub(self.sent) as i32;
        self.sent_bytes.saturating_add_signed(behind.into())
    }

    /// The packets under way whose data end after `start` and not after `end`.
    fn packets_between(&mut self, start: u32, end: u32) -> impl Iterator<Item = &mut Sent> {
        let first = self
            .outstanding
            .partition_point(|packet| !after(packet.end, start));
        let packets = self.outstanding.range_mut(first..);
        packets.take_while(move |packet| !after(packet.end, end))
    }
}

/// Returns true if `a` follows `b` in the sequence space (RFC 9293 section 3.4).
fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl FlowTracer {
    /// Creates the tracer of a flow that completes after `bytes`, if given.
    pub(super) fn expecting(bytes: Option<u64>) -> FlowTracer {
        FlowTracer {
            expected_bytes: bytes,
            ..FlowTracer::default()
        }
    }

    /// Resets what was measured so far.
    pub(super) fn begin_measurement(&mut self) {
        self.baseline = self.counters;
        self.delay = Histogram::default();
        self.round_trip = Histogram::default();
        self.measuring = true;
    }

    /// Ends the measurement: later packets do not count.
    pub(super) fn end_measurement(&mut self) {
        self.measuring = false;
        self.expected_bytes = None;
    }

    /// Records a packet read from its sender's device. Returns the number of its first byte in the connection's data, from 0, and of
    /// a packet to the sender the one that it acknowledges.
    pub(super) fn entered(&mut self, now: Time, frame: &Frame) -> Option<u64> {
        let header = &frame.header;
        if frame.forward && header.payload > 0 {
            self.counters.sent_packets += 1;
            self.counters.sent_bytes += frame.length as u64;
        } else {
            self.counters.control_sent += 1;
        }
        let tcp = header.tcp?;
        if frame.forward {
            self.data_sent(now, frame, &tcp);
        } else if tcp.ack && !tcp.rst {
            self.data_received(now, frame, tcp.acknowledged);
        }
        let connection = self.connections.get(&key(frame))?;
        Some(match frame.forward {
            true => connection.number(tcp.sequence.wrapping_add(u32::from(tcp.syn))),
            false => connection.number(tcp.acknowledged),
        })
    }

    /// Records a packet written to its receiver's device.
    pub(super) fn arrived(&mut self, now: Time, frame: &Frame) {
        let header = &frame.header;
        if frame.forward && header.payload > 0 {
            self.counters.received_packets += 1;
            self.counters.received_bytes += frame.length as u64;
            let delay = now - frame.entered;
            self.last_delay = Some(delay);
            if self.measuring {
                self.delay.record(delay.as_nanos() as u64);
            }
            if header.tcp.is_none() {
                self.got(now, u64::from(header.payload));
            }
        }
        if let (false, Some(tcp)) = (frame.forward, header.tcp) {
            self.acknowledged(now, frame, &tcp);
        }
    }

    /// Records a packet dropped in the network.
    pub(super) fn dropped(&mut self, frame: &Frame) {
        if frame.forward && frame.header.payload > 0 {
            self.counters.lost_packets += 1;
        } else {
            self.counters.control_lost += 1;
        }
    }

    fn data_sent(&mut self, now: Time, frame: &Frame, tcp: &TcpHeader) {
        let payload = frame.header.payload;
        let first = tcp.sequence.wrapping_add(u32::from(tcp.syn));
        if tcp.syn || (payload > 0 && !self.connections.contains_key(&key(frame))) {
            let connection = Connection {
                acknowledged: first,
                sent: first,
                sent_bytes: 0,
                end: None,
                recover: None,
                outstanding: VecDeque::new(),
            };
            self.connections.insert(key(frame), connection);
        }
        let Some(connection) = self.connections.get_mut(&key(frame)) else {
            return;
        };
        let end = first.wrapping_add(payload);
        if payload > 0 {
            if after(end, connection.sent) {
                connection.sent_bytes += u64::from(end.wrapping_sub(connection.sent));
                connection.sent = end;
                connection.outstanding.push_back(Sent {
                    end,
                    at: now,
                    again: false,
                    sacked: false,
                });
            } else {
                self.counters.retransmissions += 1;
                for packet in connection.packets_between(first, end) {
                    packet.again = true;
                }
            }
        }
        if tcp.fin {
            connection.end = Some(end);
        }
        if tcp.rst {
            self.connections.remove(&key(frame));
        }
    }

    /// Records that the receiver's host acknowledges everything before `acknowledged`.
    fn data_received(&mut self, now: Time, frame: &Frame, acknowledged: u32) {
        let Some(connection) = self.connections.get_mut(&key(frame)) else {
            return;
        };
        // The FIN takes a sequence number, but is no data.
        let limit = connection.end.unwrap_or(connection.sent);
        let data = match after(acknowledged, limit) {
            true => limit,
            false => acknowledged,
        };
        if after(data, connection.acknowledged) {
            let bytes = data.wrapping_sub(connection.acknowledged);
            connection.acknowledged = data;
            self.got(now, u64::from(bytes));
        }
    }

    fn got(&mut self, now: Time, bytes: u64) {
        self.counters.goodput_bytes += bytes;
        let complete = self
            .expected_bytes
            .is_some_and(|expected| self.counters.goodput_bytes >= expected);
        if complete && self.completed.is_none() {
            self.completed = Some(now);
        }
    }

    /// Records an ACK that reaches the sender's host.
    fn acknowledged(&mut self, now: Time, frame: &Frame, tcp: &TcpHeader) {
        let Some(connection) = self.connections.get_mut(&key(frame)) else {
            return;
        };
        // Of the packets that this ACK is the first to cover, the newest; `None` where it was retransmitted.
        let mut newest = None;
        let mut advances = false;
        while let Some(packet) = connection.outstanding.front() {
            if !tcp.ack || after(packet.end, tcp.acknowledged) {
                break;
            }
            advances = true;
            if !packet.sacked {
                newest = Some((!packet.again).then_some(packet.at));
            }
            connection.outstanding.pop_front();
        }
        let sacked = frame.sack_blocks();
        // The first block has the packet that arrived last.
        for &(start, end) in sacked.iter().flatten().rev() {
            for packet in connection.packets_between(start, end) {
                if !std::mem::replace(&mut packet.sacked, true) {
                    newest = Some((!packet.again).then_some(packet.at));
                }
            }
        }
        let recovering = connection.recover.is_some();
        let with_sack = sacked[0].is_some();
        match connection.recover {
            Some(recover) if !after(recover, tcp.acknowledged) => connection.recover = None,
            Some(_) => {}
            // A duplicate ACK.
            None if !advances && !with_sack && !connection.outstanding.is_empty() => {
                connection.recover = Some(connection.sent);
            }
            None => {}
        }
        // Retransmitted data gives no sample (Karn's algorithm, RFC 6298 section 3), nor does data that arrived long before
        // it could be acknowledged.
        if let (true, false, Some(Some(sent))) = (self.measuring, recovering, newest) {
            self.round_trip.record((now - sent).as_nanos() as u64);
        }
        let over = connection
            .end
            .is_some_and(|end| after(tcp.acknowledged, end));
        if tcp.rst || over {
            self.connections.remove(&key(frame));
        }
    }
}

fn key(frame: &Frame) -> Key {
    let header = &frame.header;
    let from_source = (
        header.source,
        header.destination,
        header.source_port,
        header.destination_port,
    );
    match frame.forward {
        true => from_source,
        false => (from_source.1, from_source.0, from_source.3, from_source.2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netnice_link::packet::Header;

    fn frame(forward: bool, payload: u32, tcp: Option<TcpHeader>) -> Frame {
        let mut frame = Frame::new(40 + payload as usize);
        let (source, destination) = if forward { (1, 2) } else { (2, 1) };
        frame.length = 40 + payload as usize;
        frame.forward = forward;
        frame.header = Header {
            source,
            destination,
            payload,
            tcp,
            ..Header::default()
        };
        frame
    }

    fn flags(sequence: u32, acknowledged: u32, syn: bool, fin: bool) -> Option<TcpHeader> {
        Some(TcpHeader {
            sequence,
            acknowledged,
            syn,
            fin,
            rst: false,
            ack: true,
        })
    }

    /// Gives an ACK the bytes of one with a SACK block.
    fn with_sack_block(frame: &mut Frame, (start, end): (u32, u32)) {
        // IPv4 and TCP headers without options, and then the block.
        let mut bytes = vec![0u8; 40];
        (bytes[0], bytes[9]) = (0x45, 6);
        bytes.extend([1, 1, 5, 10]);
        bytes.extend([start, end].into_iter().flat_map(u32::to_be_bytes));
        bytes[32] = 8 << 4;
        frame.length = bytes.len();
        frame.buffer = bytes.into();
    }

    fn ms(milliseconds: u64) -> Time {
        Time::from_millis(milliseconds)
    }

    /// A connection whose sequence numbers wrap: SYN, two packets of which the first is lost, a retransmission, FIN.
    #[test]
    fn a_connection_by_hand() {
        let mut tracer = FlowTracer::expecting(Some(200));
        tracer.begin_measurement();
        let isn = u32::MAX - 50;
        let data = isn.wrapping_add(1);
        let second = data.wrapping_add(100);
        let end = data.wrapping_add(200);
        let syn = tracer.entered(ms(0), &frame(true, 0, flags(isn, 0, true, false)));
        let first = tracer.entered(ms(10), &frame(true, 100, flags(data, 0, false, false)));
        assert_eq!((syn, first), (Some(0), Some(0)));
        tracer.dropped(&frame(true, 100, flags(data, 0, false, false)));
        let mut packet = frame(true, 100, flags(second, 0, false, false));
        assert_eq!(tracer.entered(ms(11), &packet), Some(100));
        packet.entered = ms(11);
        tracer.arrived(ms(21), &packet);
        let asked = tracer.entered(ms(21), &frame(false, 0, flags(0, data, false, false)));
        assert_eq!((tracer.counters.goodput_bytes, asked), (0, Some(0)));
        let again = tracer.entered(ms(30), &frame(true, 100, flags(data, 0, false, true)));
        assert_eq!(again, Some(0));
        // Acknowledges all 200 bytes at once, and the FIN that came with them.
        let ack = frame(false, 0, flags(0, end.wrapping_add(1), false, false));
        tracer.entered(ms(40), &ack);
        assert_eq!(tracer.counters.goodput_bytes, 100);
        let connection = tracer.connections.values_mut().next().unwrap();
        connection.end = Some(end);
        tracer.entered(ms(41), &ack);
        tracer.arrived(ms(51), &ack);
        let counters = tracer.counters;
        assert_eq!(counters.goodput_bytes, 200);
        assert_eq!((counters.sent_packets, counters.received_packets), (3, 1));
        assert_eq!((counters.lost_packets, counters.retransmissions), (1, 1));
        assert_eq!(tracer.completed, Some(ms(41)));
        assert_eq!(tracer.delay.max(), Some(10_000_000));
        // RTT of the second packet, which was sent once: from 11 to 51 ms.
        assert_eq!(
            (tracer.round_trip.count(), tracer.round_trip.max()),
            (1, Some(40_000_000))
        );
        assert!(tracer.connections.is_empty());
    }

    /// Data that arrived before a gap was filled gives no sample of the path.
    #[test]
    fn an_ack_that_fills_a_gap_is_no_round_trip() {
        let mut tracer = FlowTracer::default();
        tracer.begin_measurement();
        for (time, sequence) in [(0, 1000), (1, 1100), (2, 1200)] {
            tracer.entered(
                ms(time),
                &frame(true, 100, flags(sequence, 0, false, false)),
            );
        }
        // The second is lost: one ACK covers the first, a duplicate follows, then ACKs of all but the third and of all.
        for (time, acknowledged) in [(40, 1100), (42, 1100), (90, 1200), (99, 1300)] {
            tracer.arrived(
                ms(time),
                &frame(false, 0, flags(0, acknowledged, false, false)),
            );
        }
        assert_eq!(tracer.round_trip.count(), 1);
        assert_eq!(tracer.round_trip.max(), Some(40_000_000));
    }

    /// With SACK each packet gives a sample as a block covers it, and none as the gap below it is filled.
    #[test]
    fn sacked_data_gives_a_sample_at_once() {
        let mut tracer = FlowTracer::default();
        tracer.begin_measurement();
        for (time, sequence) in [(0, 1000), (1, 1100), (2, 1200), (3, 1300), (60, 1000)] {
            let packet = frame(true, 100, flags(sequence, 0, false, false));
            tracer.entered(ms(time), &packet);
        }
        // The first is lost, and retransmitted at 60 ms; the ACK for the third does not arrive.
        for (time, acknowledged, block) in [
            (41, 1000, Some((1100, 1200))),
            (43, 1000, Some((1100, 1400))),
            (100, 1400, None),
        ] {
            let mut ack = frame(false, 0, flags(0, acknowledged, false, false));
            if let Some(block) = block {
                with_sack_block(&mut ack, block);
            }
            tracer.arrived(ms(time), &ack);
        }
        let seen = (tracer.round_trip.count(), tracer.round_trip.max());
        assert_eq!(seen, (2, Some(40_000_000)));
    }

    /// A packet that others have overtaken gives a sample by the first ACK that covers it.
    #[test]
    fn a_reordered_packet_gives_a_late_sample() {
        let mut tracer = FlowTracer::default();
        tracer.begin_measurement();
        for (time, sequence) in [(0, 1000), (1, 1100)] {
            tracer.entered(
                ms(time),
                &frame(true, 100, flags(sequence, 0, false, false)),
            );
        }
        let mut ack = frame(false, 0, flags(0, 1000, false, false));
        with_sack_block(&mut ack, (1100, 1200));
        tracer.arrived(ms(41), &ack);
        tracer.arrived(ms(50), &frame(false, 0, flags(0, 1200, false, false)));
        let seen = (tracer.round_trip.count(), tracer.round_trip.max());
        assert_eq!(seen, (2, Some(50_000_000)));
    }

    #[test]
    fn udp_counts_what_arrives() {
        let mut tracer = FlowTracer::default();
        for lost in [false, true, false] {
            let packet = frame(true, 972, None);
            tracer.entered(ms(1), &packet);
            match lost {
                true => tracer.dropped(&packet),
                false => tracer.arrived(ms(3), &packet),
            }
        }
        let counters = tracer.counters;
        assert_eq!((counters.sent_packets, counters.lost_packets), (3, 1));
        assert_eq!(counters.goodput_bytes, 2 * 972);
        // Nothing is measured before the end of the warm-up.
        assert_eq!(tracer.delay.count(), 0);
    }
}
