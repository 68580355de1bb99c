// SPDX-License-Identifier: MIT OR Apache-2.0
//! How Linux opens a window, which it keeps in whole packets: `tcp_slow_start` and `tcp_cong_avoid_ai` of `net/ipv4/tcp_cong.c`.

use crate::congestion_control::Window;

/// Packets acknowledged since the window grew (`snd_cwnd_cnt`).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LinuxWindow {
    acked: u64,
}

impl LinuxWindow {
    /// Opens the window in slow start, up to ssthresh. Returns the packets acknowledged that are left for congestion avoidance.
    pub fn slow_start(window: &mut Window, acked: u64) -> u64 {
        if !window.in_slow_start() {
            return acked;
        }
        let before = window.cwnd;
        window.cwnd = (before + acked as f64).min(window.ssthresh);
        acked - (window.cwnd - before) as u64
    }

    /// Opens the window by a packet for each `per_packet` acknowledged. What was counted for a larger window counts for one packet.
    pub fn avoid_congestion(&mut self, window: &mut Window, per_packet: u64, acked: u64) {
        if self.acked >= per_packet {
            self.acked = 0;
            window.cwnd += 1.0;
        }
        self.acked += acked;
        let growth = self.acked / per_packet;
        self.acked -= growth * per_packet;
        window.cwnd += growth as f64;
    }

    /// Forgets what was counted, at a reduction.
    pub fn clear(&mut self) {
        self.acked = 0;
    }
}
