// SPDX-License-Identifier: MIT OR Apache-2.0
//! A connection under TCP-LP with artificial delays.

use netnice_congestion::congestion_control::CaState;
use netnice_congestion::controls::tcplp::TcpLp;
use netnice_congestion::tcplp::Ack;
use netnice_parameters::exchange::Parameters;

pub const RTT_US: u32 = 100_000;

/// Value of the receiver's clock when the sender's is zero, in milliseconds.
const OFFSET_MS: u32 = 0xffff_ff00;

/// A connection to which tests feed one-way delays.
pub struct Connection {
    pub control: TcpLp,
    pub now_us: u32,
    pub cwnd: u32,
    pub ssthresh: u32,
}

impl Connection {
    pub fn new(cwnd: u32) -> Self {
        Self {
            control: TcpLp::new(&Parameters::default()),
            now_us: 5_000_000,
            cwnd,
            ssthresh: cwnd,
        }
    }

    pub fn ack(&self, delay_ms: u32, acked: u32) -> Ack {
        let sent_us = self.now_us - RTT_US;
        Ack {
            now_us: self.now_us,
            sample_rtt_us: RTT_US,
            smoothed_rtt_us: RTT_US,
            minimum_rtt_us: 0,
            tsval: (sent_us / 1000 + delay_ms).wrapping_add(OFFSET_MS),
            acked,
            in_flight: self.cwnd.saturating_sub(acked),
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            has_timestamp: true,
            ca_state: CaState::Open,
            cwnd_limited: true,
        }
    }

    /// Acknowledges two packets `after_ms` later that took `delay_ms` on the forward path.
    pub fn step(&mut self, after_ms: u32, delay_ms: u32) -> u32 {
        self.now_us += after_ms * 1000;
        self.take(self.ack(delay_ms, 2))
    }

    /// Acknowledges two packets 10 ms later that waited `queue_ms`, while the peer's clock is `clock_ms` ahead of its
    /// start.
    pub fn queued(&mut self, queue_ms: u32, clock_ms: i32) -> u32 {
        self.queued_at_least(queue_ms, 0, clock_ms)
    }

    /// As [`queued`](Self::queued), if no packet has waited less than `least_ms` so far.
    pub fn queued_at_least(&mut self, queue_ms: u32, least_ms: u32, clock_ms: i32) -> u32 {
        self.now_us += 10_000;
        let ack = self.ack(20 + queue_ms, 2);
        self.take(Ack {
            sample_rtt_us: RTT_US + queue_ms * 1000,
            minimum_rtt_us: RTT_US + least_ms * 1000,
            // The packet was sent earlier by the wait.
            tsval: ack
                .tsval
                .wrapping_sub(queue_ms)
                .wrapping_add_signed(clock_ms),
            ..ack
        })
    }

    /// Acknowledges one packet `after_ms` later that took `delay_ms`, with `in_flight` behind it.
    pub fn lone(&mut self, after_ms: u32, delay_ms: u32, in_flight: u32) -> u32 {
        self.now_us += after_ms * 1000;
        let mut ack = self.ack(delay_ms, 1);
        ack.in_flight = in_flight;
        self.take(ack)
    }

    /// Acknowledges a packet that was alone in flight: 20 ms on its way, and 40 ms with the receiver.
    pub fn held(&mut self) -> u32 {
        self.lone(RTT_US / 1000, 60, 0)
    }

    /// Returns whether at most `most` delayed ACKs let a window of one packet grow.
    pub fn grows_by_held_acks(&mut self, most: u32) -> bool {
        (0..most).any(|_| self.held() > 1)
    }

    pub fn take(&mut self, ack: Ack) -> u32 {
        let before = self.cwnd;
        self.cwnd = self.control.on_ack(&ack);
        if self.cwnd < before {
            self.ssthresh = self.cwnd;
        }
        self.cwnd
    }

    pub fn over_minimum_us(&self) -> u32 {
        self.control.report().delay_over_minimum_us
    }
}

/// A connection whose d_min is 20 ms and d_max 120 ms, in congestion avoidance, average settled.
pub fn learned(cwnd: u32) -> Connection {
    let mut connection = Connection::new(cwnd);
    connection.ssthresh = u32::MAX;
    connection.step(10, 20);
    connection.step(10, 120);
    for _ in 0..60 {
        connection.step(10, 20);
    }
    connection.cwnd = cwnd;
    connection.ssthresh = cwnd;
    connection
}
