// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pacing: by the control's own interval, or by the sender where the control has none, as Linux paces a socket that asks for it.

use super::Sender;

/// The rate in percent of a window for each smoothed round trip while cwnd is below half of ssthresh
/// (`net.ipv4.tcp_pacing_ss_ratio`; `tcp_update_pacing_rate()` in net/ipv4/tcp_input.c).
const SLOW_START_PERCENT: u64 = 200;
/// The same at larger windows (`net.ipv4.tcp_pacing_ca_ratio`).
const AVOIDANCE_PERCENT: u64 = 120;
/// The first pause follows the packet of this number, from 1 (`tcp_update_skb_after_send()` in net/ipv4/tcp_output.c).
const FIRST_PACED: u64 = 10;
/// As many packets may leave together as the rate sends in 1/1024 s (`sk_pacing_shift`; `tcp_tso_autosize()` in
/// net/ipv4/tcp_output.c).
const BURSTS_PER_S: u64 = 1 << 10;
/// And at least this many (`net.ipv4.tcp_min_tso_segs`).
const LEAST_BURST: u64 = 2;
/// Most bytes that leave together (`GSO_LEGACY_MAX_SIZE`). On short paths they count in addition to what the rate sends, halved
/// for each `RTT_STEP_NS` of the smallest round trip.
const MOST_BURST_BYTES: u64 = 65_536;
/// 2^9 us (`net.ipv4.tcp_tso_rtt_log`).
const RTT_STEP_NS: u64 = 512_000;

impl Sender {
    /// Starts a burst and the pause after it as a packet leaves, if the control paces.
    #[inline]
    pub(super) fn pace_by_control(&mut self, now_ns: u64) {
        let interval_ns = self
            .control
            .pacing_interval_ns(&self.window, self.smoothed_rtt_ns);
        self.pause_by_control(now_ns, interval_ns);
    }

    /// The same with the control's interval, `None` where it has none.
    #[inline]
    fn pause_by_control(&mut self, now_ns: u64, interval_ns: Option<u64>) {
        if let Some(interval_ns) = interval_ns {
            let burst = self.burst_of_control();
            let pause_ns = interval_ns.saturating_mul(burst);
            self.pacing_until_ns = self.pacing_until_ns.max(now_ns).saturating_add(pause_ns);
            self.burst_left = (burst - 1) as u16;
        } else {
            self.burst_left = 0;
        }
    }

    /// Paces a packet with so many bytes of data that leaves now, in the burst of the one before or beginning another, as Linux does:
    /// by its own rate where the configuration wants pacing and the control has no interval, otherwise by the control's. A retransmission
    /// is a burst of its own.
    #[inline(never)]
    pub(super) fn pace(&mut self, now_ns: u64, length: u32, in_burst: bool, retransmission: bool) {
        if in_burst {
            self.burst_left -= 1;
        }
        let by_control = self
            .control
            .pacing_interval_ns(&self.window, self.smoothed_rtt_ns);
        let as_linux = match by_control {
            Some(_) => self.config.linux,
            None => self.config.pacing,
        };
        if !as_linux {
            if !in_burst {
                self.pause_by_control(now_ns, by_control);
            }
            return;
        }
        let due_ns = self.pacing_until_ns;
        self.pacing_until_ns = due_ns.max(now_ns);
        let sent = self.outstanding.end() + self.retransmitted_segments;
        let interval_ns = by_control.unwrap_or_else(|| self.interval_ns());
        if sent < FIRST_PACED || interval_ns == 0 {
            self.burst_left = 0;
            return;
        }
        // Each packet of a burst adds to the pause after it, however many there are.
        let mss = u64::from(self.config.mss.max(1));
        let pause_ns = interval_ns.saturating_mul(length.into()) / mss;
        // A burst that leaves late shortens the pause after it, by half at most.
        if !in_burst {
            self.late_ns = u32::try_from(now_ns.saturating_sub(due_ns)).unwrap_or(u32::MAX);
        }
        let less_ns = u64::from(self.late_ns).min(pause_ns / 2);
        self.late_ns -= less_ns as u32;
        self.pacing_until_ns += pause_ns - less_ns;
        if !in_burst {
            let burst = match sent {
                // It ends the burst of those that are not paced.
                FIRST_PACED => 1,
                _ if retransmission => 1,
                _ if by_control.is_some() => self.burst_of_control(),
                _ => self.burst_packets(interval_ns, mss),
            };
            self.burst_left = (burst - 1) as u16;
        }
    }

    /// The packets of a burst, where the control paces.
    #[inline]
    fn burst_of_control(&self) -> u64 {
        self.control.pacing_burst_packets().clamp(1, 1 << 16).into()
    }

    /// The interval between full packets, in nanoseconds; 0 before a round-trip time was measured.
    fn interval_ns(&self) -> u64 {
        let cwnd = self.window.cwnd as u32;
        // Linux compares whole packets.
        let percent = match cwnd < self.window.ssthresh as u32 / 2 {
            true => SLOW_START_PERCENT,
            false => AVOIDANCE_PERCENT,
        };
        let packets = u64::from(cwnd.max(self.outstanding.len()).max(1));
        self.smoothed_rtt_ns.saturating_mul(100) / (percent * packets)
    }

    /// The packets that may leave together at this interval.
    fn burst_packets(&self, interval_ns: u64, mss: u64) -> u64 {
        let by_rate = 1_000_000_000 * mss / BURSTS_PER_S / interval_ns;
        let halvings = self.min_rtt_ns / RTT_STEP_NS;
        let by_rtt = match self.min_rtt_ns {
            0 => None,
            _ => MOST_BURST_BYTES.checked_shr(halvings.min(64) as u32),
        };
        let bytes = (by_rate + by_rtt.unwrap_or(0)).min(MOST_BURST_BYTES);
        (bytes / mss).max(LEAST_BURST)
    }
}
