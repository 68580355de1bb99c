// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures of one connection at one time, as `status --json` prints them and `run --log` writes them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use netnice_kernel::connections::{Connection, GaveWay, Reception, Signal};
use serde::{Deserialize, Serialize};

/// Figures of one connection. Units are in the names; `null` stands for what is not governed or not readable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Phase of the sending side.
    pub state: Option<String>,
    /// Rate that the peer has acknowledged since the last reading.
    pub rate_bits_per_second: u64,
    /// The kernel's pacing rate.
    pub pacing_rate_bits_per_second: u64,
    /// Congestion window.
    pub cwnd_packets: u32,
    /// Slow-start threshold.
    pub ssthresh_packets: u32,
    /// Maximum segment size.
    pub mss_bytes: u32,
    /// Smoothed round-trip time.
    pub rtt_ms: f64,
    /// Latest filtered delay above the smallest one: the queueing delay.
    pub delay_over_minimum_ms: Option<f64>,
    /// Delay above the smallest one at which the control yields.
    pub threshold_ms: Option<f64>,
    /// Number of times the control yielded.
    pub yields: Option<u32>,
    /// `yields` by cause; zeros of controls that tell none. Logs of older versions lack it.
    pub gave_way: Option<GaveWay>,
    /// Packets retransmitted.
    pub retransmitted: u32,
    /// Bytes that the peer has acknowledged.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Source of the delay: `one-way delay` or `rtt`.
    pub signal: Option<String>,
    /// Target rate of dstcp.
    pub target_bits_per_second: Option<u64>,
    /// Time since the control took over.
    pub age_ms: Option<f64>,
    /// Rate at which data has arrived since the last reading.
    pub receive_rate_bits_per_second: u64,
    /// Phase of the receiving side.
    pub receive_state: Option<String>,
    /// Control whose policy governs the receiving side.
    pub receive_control: Option<String>,
    /// Advertised window.
    pub receive_window_bytes: Option<u32>,
    /// As `delay_over_minimum_ms`, of the receiving side.
    pub receive_delay_over_minimum_ms: Option<f64>,
    /// As `threshold_ms`, of the receiving side.
    pub receive_threshold_ms: Option<f64>,
    /// Smallest round-trip time that arriving packets have shown.
    pub receive_minimum_rtt_ms: Option<f64>,
    /// Number of times the receiver yielded.
    pub receive_yields: Option<u32>,
    /// As `gave_way`, of the receiving side.
    pub receive_gave_way: Option<GaveWay>,
    /// Time since the window was first governed.
    pub receive_age_ms: Option<f64>,
}

impl Figures {
    /// The figures of a connection that has moved so many bytes per second.
    pub fn new(one: &Connection, (sending, receiving): (u64, u64)) -> Self {
        let policy = one.policy.as_ref();
        let reception = one.reception.as_ref();
        let time = |time: fn(&Reception) -> Duration| reception.map(time).map(milliseconds);
        Self {
            state: policy.map(|policy| policy.phase.name().to_owned()),
            rate_bits_per_second: 8 * sending,
            pacing_rate_bits_per_second: one.pacing_rate.saturating_mul(8),
            cwnd_packets: one.cwnd,
            ssthresh_packets: one.ssthresh,
            mss_bytes: one.mss,
            rtt_ms: milliseconds(one.rtt),
            delay_over_minimum_ms: policy.map(|policy| milliseconds(policy.delay_over_minimum)),
            threshold_ms: policy.map(|policy| milliseconds(policy.threshold)),
            yields: policy.map(|policy| policy.yields),
            gave_way: policy.map(|policy| policy.gave_way),
            retransmitted: one.retransmitted,
            bytes_sent: one.bytes_sent,
            bytes_received: one.bytes_received,
            signal: policy.and_then(|policy| match policy.signal {
                Signal::None => None,
                Signal::OneWayDelay => Some("one-way delay".to_owned()),
                Signal::RoundTrip => Some("rtt".to_owned()),
            }),
            target_bits_per_second: policy.and_then(|policy| policy.target),
            age_ms: policy.map(|policy| milliseconds(policy.age)),
            receive_rate_bits_per_second: 8 * receiving,
            receive_state: reception.map(|reception| reception.phase.name().to_owned()),
            receive_control: reception.map(|reception| reception.control.clone()),
            receive_window_bytes: reception.map(|reception| reception.window),
            receive_delay_over_minimum_ms: time(|reception| reception.delay_over_minimum),
            receive_threshold_ms: time(|reception| reception.threshold),
            receive_minimum_rtt_ms: reception
                .and_then(|reception| reception.minimum_rtt)
                .map(milliseconds),
            receive_yields: reception.map(|reception| reception.yields),
            receive_gave_way: reception.map(|reception| reception.gave_way),
            receive_age_ms: time(|reception| reception.age),
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}

/// Bytes that connections had moved at the last reading.
#[derive(Debug, Default)]
pub struct Moved {
    /// Bytes sent and received, by cookie.
    bytes: HashMap<u64, (u64, u64)>,
    last: Option<Instant>,
}

impl Moved {
    /// Replaces the last reading.
    pub fn remember(&mut self, connections: &[Connection]) {
        let bytes = connections
            .iter()
            .map(|one| (one.cookie, (one.bytes_sent, one.bytes_received)));
        self.bytes = bytes.collect();
        self.last = Some(Instant::now());
    }

    /// Returns the bytes sent and received per second since the last reading; a newer connection had moved nothing then.
    pub fn rates(&self, connection: &Connection) -> (u64, u64) {
        let before = self.bytes.get(&connection.cookie).copied();
        let (sent, received) = before.unwrap_or_default();
        let seconds = self
            .last
            .map_or(f64::INFINITY, |last| last.elapsed().as_secs_f64());
        let rate = |now: u64, before: u64| (now.saturating_sub(before) as f64 / seconds) as u64;
        (
            rate(connection.bytes_sent, sent),
            rate(connection.bytes_received, received),
        )
    }
}
