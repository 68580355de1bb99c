// SPDX-License-Identifier: MIT OR Apache-2.0
//! A download through a TCP of a program on this host, as containers without root have it from slirp4netns and virtual
//! machines from QEMU's user network. The program (libslirp) takes data from its own connection to the server, at the rate of
//! a link that the receiver does not see, and passes them on over a round trip of 0.1 ms without timestamps and window scaling.
//!
//! It sends by the rules of 4.4BSD's `tcp_output`, which RFC 1122 (4.2.3.4) has too: at once a largest packet, all that it has,
//! or half of the largest window that it was offered; what else waits for the persist timer of five seconds.

use std::collections::VecDeque;

use netnice_congestion::netnice_receiver::{Advertised, Receiver, RoundTrip, Segment};
use netnice_parameters::exchange::Parameters;

const STEP_US: u64 = 50;
const WAY_US: u64 = 50;
const PERSIST_US: u64 = 5_000_000;
const DELAYED_ACK_US: u64 = 40_000;
/// Largest window without scaling, and what libslirp's buffer for a connection holds.
const LIMIT: u64 = 65_535;
const BUFFER: u64 = 131_072;
/// The server sends the proxy packets at 10 Mb/s. It loses one now and then, and the packets after that one arrive together with
/// its retransmission.
const PACKET: u64 = 1448;
const PACKET_US: u64 = 1200;
const LOSS_EVERY_US: u64 = 3_000_000;
const REPAIR_US: u64 = 140_000;

struct Proxy {
    largest: u64,
    /// Sequence numbers up to which data are there, sent, acknowledged and allowed.
    filled: u64,
    sent: u64,
    acknowledged: u64,
    edge: u64,
    largest_window: u64,
    persists_at: Option<u64>,
    /// Arrival at the receiver, end.
    flying: VecDeque<(u64, u64)>,
}

impl Proxy {
    fn send(&mut self, now_us: u64, forced: bool) {
        loop {
            let all = self.filled - self.sent;
            let length = all
                .min(self.edge.saturating_sub(self.sent))
                .min(self.largest);
            let at_once = length == self.largest
                || length == all
                || forced
                || 2 * length >= self.largest_window;
            if length == 0 || !at_once {
                break;
            }
            self.sent += length;
            self.flying.push_back((now_us + WAY_US, self.sent));
        }
        if self.sent > self.acknowledged || self.filled == self.sent {
            self.persists_at = None;
        } else {
            self.persists_at.get_or_insert(now_us + PERSIST_US);
        }
    }
}

struct Linux {
    receiver: Receiver,
    trip: RoundTrip,
    arrived: u64,
    reported: u64,
    edge: u64,
    /// The kernel's estimate of the peer's packets.
    packet: u64,
    delayed_ack_at: Option<u64>,
}

impl Linux {
    /// Returns the acknowledgement and the edge of the window.
    fn answer(&mut self, now_us: u64, delayed_ack: bool) -> (u64, u64) {
        let mut segment = Segment {
            now_us: now_us as u32,
            bytes: (self.arrived - self.reported) as u32,
            mss: self.packet as u32,
            limit_bytes: LIMIT as u32,
            bound_bytes: LIMIT as u32,
            delayed_ack,
            unscaled: true,
            ..Segment::default()
        };
        let advertised = Advertised {
            left_us: now_us as u32,
            received: self.arrived as u32,
            edge: self.edge as u32,
        };
        self.receiver
            .time(&mut self.trip, &mut segment, &advertised);
        let wanted = u64::from(self.receiver.window(&segment)).min(LIMIT);
        self.reported = self.arrived;
        self.delayed_ack_at = None;
        // Without scaling Linux offers whole packets (__tcp_select_window).
        let window = if wanted > self.packet {
            wanted / self.packet * self.packet
        } else {
            wanted
        };
        self.edge = self.edge.max(self.arrived + window);
        (self.arrived, self.edge)
    }
}

/// Returns what has arrived, as a share of what the link brings in a time, and the longest time without data in seconds.
fn download(largest: u64, seconds: u64) -> (f64, f64) {
    let mut proxy = Proxy {
        largest,
        filled: 0,
        sent: 0,
        acknowledged: 0,
        edge: LIMIT,
        largest_window: LIMIT,
        persists_at: None,
        flying: VecDeque::new(),
    };
    let mut linux = Linux {
        receiver: Receiver::new(&Parameters::default(), LIMIT as u32, largest as u32, 0),
        trip: RoundTrip::default(),
        arrived: 0,
        reported: 0,
        edge: LIMIT,
        packet: 536,
        delayed_ack_at: None,
    };
    let mut answers: VecDeque<(u64, u64, u64)> = VecDeque::new();
    // The request.
    let (acknowledged, edge) = linux.answer(0, false);
    answers.push_back((WAY_US, acknowledged, edge));
    let (mut taken, mut latest_us, mut longest_us) = (0, 0, 0);
    for now_us in (0..seconds * 1_000_000).step_by(STEP_US as usize) {
        let repairs = now_us % LOSS_EVERY_US < REPAIR_US;
        while !repairs && taken < now_us / PACKET_US && proxy.filled - proxy.acknowledged < BUFFER {
            taken += 1;
            proxy.filled += PACKET;
        }
        while let Some(&(at_us, acknowledged, edge)) = answers.front() {
            if at_us > now_us {
                break;
            }
            answers.pop_front();
            proxy.acknowledged = acknowledged;
            proxy.edge = edge;
            proxy.largest_window = proxy.largest_window.max(edge - acknowledged);
        }
        let forced = proxy.persists_at.is_some_and(|at_us| at_us <= now_us);
        proxy.send(now_us, forced);
        while let Some(&(at_us, end)) = proxy.flying.front() {
            if at_us > now_us {
                break;
            }
            proxy.flying.pop_front();
            linux.packet = linux.packet.max(end - linux.arrived);
            linux.arrived = end;
            longest_us = longest_us.max(now_us - latest_us);
            latest_us = now_us;
            linux.delayed_ack_at.get_or_insert(now_us + DELAYED_ACK_US);
        }
        let late = linux.delayed_ack_at.is_some_and(|at_us| at_us <= now_us);
        if late || linux.arrived - linux.reported > linux.packet {
            let (acknowledged, edge) = linux.answer(now_us, late);
            answers.push_back((now_us + WAY_US, acknowledged, edge));
        }
    }
    longest_us = longest_us.max(seconds * 1_000_000 - latest_us);
    let share = linux.arrived as f64 / (seconds * 1_000_000 / PACKET_US * PACKET) as f64;
    (share, longest_us as f64 / 1e6)
}

/// The largest packets of slirp4netns with the MTU that podman and Docker give it, and of QEMU.
#[test]
fn a_download_through_a_tcp_of_this_host_is_filled() {
    for largest in [65_480, 1460] {
        let (share, longest_s) = download(largest, 30);
        assert!(share > 0.95, "{largest} bytes: {share}, {longest_s} s");
        assert!(longest_s < 1.0, "{largest} bytes: {longest_s} s");
    }
}
