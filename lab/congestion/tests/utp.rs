// SPDX-License-Identifier: MIT OR Apache-2.0
//! Low priority for uTP (`policies/utp.h`): what is recognised, and both directions on a computed path.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use netnice_congestion::floor::Floor;
use netnice_congestion::utp::{Clock, Flow, HEADER_BYTES, Packet};
use netnice_parameters::{ControlParameters, kernel_parameters};

/// A packet with data, as libutp sends it.
const HEADER: [u8; HEADER_BYTES] = [
    0x01, 1, 0x12, 0x34, 0, 0, 1, 2, 0, 0, 0, 9, 0, 0x10, 0, 0, 0, 7, 0xff, 0xfe,
];

#[test]
fn a_header_is_read_in_network_byte_order() {
    let expected = Packet {
        stamp_us: 258,
        difference_us: 9,
        window: 1 << 20,
        data_bytes: 1382,
        connection: 0x1234,
        sequence: 7,
        acknowledged: 0xfffe,
        kind: 0,
        gap: true,
    };
    assert_eq!(Packet::read(&HEADER, 1402), Some(expected));
    let mut state = HEADER;
    (state[0], state[1]) = (0x21, 0);
    let state = Packet::read(&state, 20).unwrap();
    assert_eq!((state.kind, state.data_bytes, state.gap), (2, 0, false));
}

#[test]
fn other_packets_and_resets_are_left_alone() {
    assert_eq!(Packet::read(&HEADER, 19), None);
    for (first, extension) in [(0x02, 0), (0x00, 0), (0x51, 0), (0x01, 4), (0x31, 0)] {
        let mut header = HEADER;
        (header[0], header[1]) = (first, extension);
        assert_eq!(Packet::read(&header, 1402), None, "{first:#x}");
    }
}

/// Times in microseconds at which packets leave, and their stamps; returns when it was certain.
fn certain(packets: impl Iterator<Item = (u32, u32)>) -> Option<u32> {
    let mut flow = Flow::default();
    let mut packets = packets.into_iter();
    let noted = |(now_us, stamp_us)| {
        let packet = Packet {
            stamp_us,
            ..Packet::default()
        };
        (flow.on_departure(&packet, now_us) == Clock::Certain).then_some(now_us)
    };
    packets.find_map(noted)
}

#[test]
fn stamps_have_to_advance_with_our_clock() {
    let times = |step: u32| {
        (0..2000).map(move |number: u32| (u32::MAX - 70_000).wrapping_add(number * step))
    };
    // Microseconds since another moment, each some milliseconds late, across the wrap of both.
    let late = |now: u32| now.wrapping_sub(1 << 20).wrapping_sub(now % 7000);
    let first = u32::MAX - 70_000;
    let wrapped = times(20_000).map(|now| (now, late(now)));
    let found = certain(wrapped.take(20)).unwrap();
    assert!(found.wrapping_sub(first) <= 200_000);
    // One that stands still, milliseconds, nanoseconds, and any numbers.
    let clocks: [fn(u32) -> u32; 4] = [
        |_| 5,
        |now| now / 1000,
        |now| now.wrapping_mul(1000),
        |now| now.wrapping_mul(0x9e37_79b1),
    ];
    for (number, clock) in clocks.into_iter().enumerate() {
        for step in [1000, 20_000, 300_000] {
            let packets = times(step).map(|now| (now, clock(now)));
            assert_eq!(certain(packets), None, "clock {number}, {step} us");
        }
    }
}

#[test]
fn a_clock_that_was_set_begins_anew() {
    let mut flow = Flow::default();
    let mut noted = |now_us: u32, stamp_us: u32| {
        let packet = Packet {
            stamp_us,
            ..Packet::default()
        };
        flow.on_departure(&packet, now_us)
    };
    let said: Vec<Clock> = (0..40)
        .map(|number| {
            let now = number * 20_000;
            noted(now, now + if number < 20 { 0 } else { 3_600_000_000 })
        })
        .collect();
    let count = |wanted: Clock| said.iter().filter(|clock| **clock == wanted).count();
    assert_eq!(count(Clock::Certain), 1);
    assert_eq!(said.iter().position(|clock| *clock == Clock::Set), Some(27));
}

const SECOND: u64 = 1_000_000;
const DATA: u32 = 1402;
/// Time of a packet on a link of 10 Mb/s, with its headers.
const PACKET_US: u64 = 1160;
/// One way, without a queue.
const DELAY_US: u64 = 20_000;

/// A transfer over uTP through a queue that others fill meanwhile from 10 to 20 s; the end that is governed is the sender's, or the
/// receiver's.
struct Transfer {
    upload: bool,
    flow: Flow,
    floor: Floor,
    events: BinaryHeap<Reverse<(u64, bool, u16, u32)>>,
    free_us: u64,
    window: u32,
    sent: u16,
    received: u16,
    acknowledged: u16,
    /// Delay that the receiver has measured of the newest data, and the sender of the newest acknowledgement.
    differences: [u32; 2],
    arrived: [u64; 30],
    smallest: u32,
}

/// Clocks of the two programs beside ours.
const CLOCKS: [u32; 2] = [0xf000_0000, 0x1234_5678];

impl Transfer {
    fn run(upload: bool, floor: Floor) -> Self {
        let mut transfer = Self {
            upload,
            flow: Flow::default(),
            floor,
            events: BinaryHeap::new(),
            free_us: 0,
            window: 1 << 20,
            sent: 0,
            received: 0,
            acknowledged: 0,
            differences: [0; 2],
            arrived: [0; 30],
            smallest: u32::MAX,
        };
        transfer.send(0);
        while let Some(Reverse((now, arrives, number, stamp))) = transfer.events.pop() {
            if now >= 30 * SECOND {
                break;
            }
            match arrives {
                true => transfer.receive(now, number, stamp),
                false => transfer.acknowledge(now, number, stamp),
            }
        }
        transfer
    }

    fn packet(&self, now: u64, end: usize, data_bytes: u32) -> Packet {
        Packet {
            stamp_us: (now as u32).wrapping_add(CLOCKS[end]),
            difference_us: self.differences[1 - end],
            window: 1 << 20,
            data_bytes,
            acknowledged: self.received,
            kind: if data_bytes > 0 { 0 } else { 2 },
            ..Packet::default()
        }
    }

    /// Sends what the window allows, 200 packets at most, as one whose own control allows more.
    fn send(&mut self, now: u64) {
        let allowed = (self.window / DATA).clamp(1, 200) as u16;
        while self.sent.wrapping_sub(self.acknowledged) < allowed {
            self.sent = self.sent.wrapping_add(1);
            let packet = self.packet(now, 0, DATA);
            if self.upload {
                self.flow.on_departure(&packet, now as u32);
            }
            let others = match now {
                10_000_000..20_000_000 => 40_000 + now % SECOND / 25,
                _ => 0,
            };
            // No loss: the queue is not longer than the window that the program allows.
            self.free_us = self.free_us.max(now) + PACKET_US;
            let event = (
                self.free_us + others + DELAY_US,
                true,
                self.sent,
                packet.stamp_us,
            );
            self.events.push(Reverse(event));
        }
    }

    fn receive(&mut self, now: u64, number: u16, stamp: u32) {
        self.arrived[(now / SECOND) as usize] += 1;
        self.differences[0] = (now as u32).wrapping_add(CLOCKS[1]).wrapping_sub(stamp);
        if !self.upload {
            let arriving = Packet {
                stamp_us: stamp,
                difference_us: self.differences[1],
                ..self.packet(now, 0, DATA)
            };
            self.flow.on_arrival(&arriving, now as u32);
        }
        self.received = number;
        let packet = self.packet(now, 1, 0);
        if !self.upload {
            self.flow.on_departure(&packet, now as u32);
            self.limit(&packet, now, true);
        }
        self.events
            .push(Reverse((now + DELAY_US, false, number, packet.stamp_us)));
    }

    fn acknowledge(&mut self, now: u64, number: u16, stamp: u32) {
        if self.upload {
            let packet = Packet {
                stamp_us: stamp,
                acknowledged: number,
                ..self.packet(now, 1, 0)
            };
            self.flow.on_arrival(&packet, now as u32);
            self.limit(&packet, now, false);
        }
        self.differences[1] = (now as u32).wrapping_add(CLOCKS[0]).wrapping_sub(stamp);
        self.acknowledged = number;
        self.send(now);
    }

    fn limit(&mut self, packet: &Packet, now: u64, leaves: bool) {
        self.window = self
            .flow
            .window(&mut self.floor, packet, now as u32, leaves)
            .unwrap_or(packet.window);
        self.smallest = self.smallest.min(self.window);
    }

    /// Part of the link that it had in these seconds.
    fn share(&self, seconds: std::ops::Range<usize>) -> f64 {
        let length = seconds.len() as u64;
        let packets: u64 = self.arrived[seconds].iter().sum();
        (packets * PACKET_US) as f64 / (length * SECOND) as f64
    }
}

#[test]
fn both_directions_fill_a_link_yield_and_come_back() {
    for upload in [false, true] {
        let transfer = Transfer::run(upload, Floor::default());
        let shares = [4..10, 12..20, 22..30].map(|seconds| transfer.share(seconds));
        let arrived = transfer.arrived;
        assert!(shares[0] > 0.9, "{upload} {arrived:?}");
        assert!(shares[1] < 0.05, "{upload} {arrived:?}");
        assert!(shares[2] > 0.8, "{upload} {arrived:?}");
        // A sender that gets less than one packet would stop for good.
        assert!(transfer.smallest >= DATA + 20, "{}", transfer.smallest);
    }
}

#[test]
fn both_directions_keep_the_floor_beside_others() {
    let given = ControlParameters::new().with("at_least_bps", 2e6);
    let floor = Floor::new(&kernel_parameters("netnice", &given).unwrap());
    for upload in [false, true] {
        let transfer = Transfer::run(upload, floor);
        let shares = [4..10, 12..20, 22..30].map(|seconds| transfer.share(seconds));
        let arrived = transfer.arrived;
        assert!(shares[0] > 0.9, "{upload} {arrived:?}");
        // 2 Mb/s of data of 10 with headers.
        assert!((0.19..0.24).contains(&shares[1]), "{upload} {arrived:?}");
        assert!(shares[2] > 0.8, "{upload} {arrived:?}");
    }
}
