// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUBIC as Linux 6.18 has it: whole packets, its own HyStart, and a Reno-friendly window counted in packets acknowledged.
//!
//! It differs from RFC 9438 in this:
//!
//! - Before the first loss the window grows by at least 5 % each round trip, after an RTO too.
//! - The window is compared with the cubic function at most each 4 ms.
//! - It grows by at most half a packet for each packet acknowledged.
//! - Reno's window grows no faster once it has reached that of the last loss.
//! - A round-trip time within a second of a loss counts neither as the smallest nor for HyStart.

use crate::congestion_control::{Ack, Congestion, CongestionControl, Window};
use crate::controls::linux_window::LinuxWindow;
use crate::controls::reno::{MINIMUM_SSTHRESH_PACKETS, may_grow};
use crate::controls::round::Round;
use netnice_parameters::Settings;

/// Fractions of the window are in units of this, and so are seconds of the cubic function.
const SCALE: u64 = 1024;
/// A tick of the clock that the cubic function goes by: that of 250 Hz.
const TICK_NS: u64 = 4_000_000;
/// With an unchanged window the function is computed this often.
const UNCHANGED_NS: u64 = 1_000_000_000 / 32;
/// Packets acknowledged for each of growth, at most, while no loss has been met.
const FASTEST_WITHOUT_LOSS: u64 = 20;
/// Time after the beginning of an epoch in which round trips are not measured.
const SETTLING_NS: u64 = 1_000_000_000;

/// Smallest window at which HyStart looks for the end of slow start; rounds are counted from the beginning.
const HYSTART_WINDOW: f64 = 16.0;
/// Longest time between two ACKs of a train.
const TRAIN_GAP_NS: u64 = 2_000_000;
/// Allowance for ACKs that are late because packets are sent and received several at a time. Linux takes four times the largest of these
/// at the pacing rate, and no more than this; below 2 Gb/s that is this.
const TRAIN_ALLOWANCE_NS: u64 = 1_000_000;
/// Round trips in a round before their minimum counts.
const SAMPLES: u32 = 8;
/// Bounds of the rise that ends slow start, an eighth of the smallest round trip.
const RISE_NS: (u64, u64) = (4_000_000, 16_000_000);

/// HyStart: ends slow start when a round's train of ACKs is as long as half the round trip, or with pacing as the round trip, or when round trips rise.
#[derive(Debug, Clone, Default)]
struct HyStart {
    found: bool,
    round: Round,
    round_start_ns: u64,
    last_ack_ns: u64,
    round_minimum_ns: Option<u64>,
    samples: u32,
    /// The sender paces.
    paced: bool,
}

impl HyStart {
    /// Returns true if slow start is to end with this round-trip time, at this window.
    fn ends(&mut self, ack: &Ack, cwnd: f64, rtt_ns: u64, smallest_ns: u64) -> bool {
        if self.round.ends(ack) {
            self.round_start_ns = ack.now_ns;
            self.last_ack_ns = ack.now_ns;
            self.round_minimum_ns = None;
            self.samples = 0;
        }
        if cwnd < HYSTART_WINDOW {
            return false;
        }
        if ack.now_ns - self.last_ack_ns <= TRAIN_GAP_NS {
            self.last_ack_ns = ack.now_ns;
            let length_ns = ack.now_ns - self.round_start_ns;
            // Pacing at twice the window in a round trip takes half of it by itself.
            let parts = if self.paced { 1 } else { 2 };
            self.found |= length_ns > (smallest_ns + TRAIN_ALLOWANCE_NS) / parts;
        }
        let minimum_ns = self.round_minimum_ns.map_or(rtt_ns, |ns| ns.min(rtt_ns));
        self.round_minimum_ns = Some(minimum_ns);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            let rise_ns = (smallest_ns / 8).clamp(RISE_NS.0, RISE_NS.1);
            self.found |= minimum_ns > smallest_ns + rise_ns;
        }
        self.found
    }
}

/// State since the last reduction, in congestion avoidance.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    start_ns: u64,
    /// K, in 1/1024 s.
    k: u64,
    /// The plateau of the function, in packets.
    plateau: u64,
    /// Reno's window in packets, and the packets acknowledged since it grew.
    friendly: u64,
    acked: u64,
    /// When the function was computed last, and for which window.
    computed_ns: u64,
    computed_for: u64,
    /// Packets acknowledged for each packet of growth.
    per_packet: u64,
}

/// CUBIC of Linux.
#[derive(Debug, Clone)]
pub(crate) struct LinuxCubic {
    /// C and beta in 1/1024.
    c: u64,
    beta: u64,
    fast_convergence: bool,
    hystart: HyStart,
    /// Window at the last loss, or less by fast convergence; 0 before the first loss and after an RTO.
    maximum: u64,
    smallest_rtt_ns: Option<u64>,
    epoch: Option<Epoch>,
    opening: LinuxWindow,
    latest_ack_ns: u64,
}

impl LinuxCubic {
    /// The name of both forms of CUBIC.
    pub const NAME: &'static str = "cubic";

    pub(crate) fn new(settings: &Settings) -> Self {
        let scaled = |name| (settings.number(name) * SCALE as f64).round() as u64;
        Self {
            c: scaled("c"),
            beta: scaled("beta"),
            fast_convergence: settings.switch("fast_convergence"),
            hystart: HyStart::default(),
            maximum: 0,
            smallest_rtt_ns: None,
            epoch: None,
            opening: LinuxWindow::default(),
            latest_ack_ns: 0,
        }
    }

    fn measure(&mut self, ack: &Ack, window: &mut Window) {
        let settling = |epoch: Epoch| ack.now_ns.saturating_sub(epoch.start_ns) < SETTLING_NS;
        let Some(rtt_ns) = ack.rtt_ns.filter(|_| !self.epoch.is_some_and(settling)) else {
            return;
        };
        let smallest_ns = self.smallest_rtt_ns.map_or(rtt_ns, |ns| ns.min(rtt_ns));
        self.smallest_rtt_ns = Some(smallest_ns);
        let looks = !self.hystart.found && window.in_slow_start();
        if looks && self.hystart.ends(ack, window.cwnd, rtt_ns, smallest_ns) {
            window.ssthresh = window.cwnd;
        }
    }

    fn begin_epoch(&self, now_ns: u64, cwnd: u64) -> Epoch {
        let below = self.maximum.saturating_sub(cwnd);
        // K^3 = below / C, in seconds.
        let k_s = (below as f64 * SCALE as f64 / self.c as f64).cbrt();
        Epoch {
            start_ns: now_ns,
            k: (k_s * SCALE as f64) as u64,
            plateau: self.maximum.max(cwnd),
            friendly: cwnd,
            acked: 0,
            computed_ns: 0,
            computed_for: 0,
            per_packet: 0,
        }
    }

    /// Returns the packets to acknowledge for one of growth, from the cubic function a round trip ahead.
    fn by_function(&self, epoch: &Epoch, now_ns: u64, cwnd: u64) -> u64 {
        let ticks_ns = |ns: u64| ns / TICK_NS * TICK_NS;
        let since_ns = ticks_ns(now_ns) - ticks_ns(epoch.start_ns).min(ticks_ns(now_ns));
        let ahead_ns = self.smallest_rtt_ns.unwrap_or(0).next_multiple_of(TICK_NS);
        let t = i128::from(since_ns + ahead_ns) * i128::from(SCALE) / 1_000_000_000;
        let offset = t - i128::from(epoch.k);
        let scale = i128::from(SCALE);
        let delta = i128::from(self.c) * offset.abs().pow(3) / scale.pow(4);
        let target = i128::from(epoch.plateau) + delta * offset.signum();
        let growth = u64::try_from(target - i128::from(cwnd)).unwrap_or(0);
        let per_packet = match growth {
            0 => 100 * cwnd,
            growth => cwnd / growth,
        };
        match self.maximum {
            0 => per_packet.min(FASTEST_WITHOUT_LOSS),
            _ => per_packet,
        }
    }

    /// Updates the epoch by packets acknowledged at this window.
    fn update(&mut self, now_ns: u64, cwnd: u64, acked: u64) -> u64 {
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(now_ns, cwnd),
        };
        epoch.acked += acked;
        let begins = self.epoch.is_none();
        let unchanged = epoch.computed_for == cwnd && now_ns - epoch.computed_ns <= UNCHANGED_NS;
        if begins || !unchanged {
            if begins || now_ns / TICK_NS != epoch.computed_ns / TICK_NS {
                epoch.computed_for = cwnd;
                epoch.computed_ns = now_ns;
                epoch.per_packet = self.by_function(&epoch, now_ns, cwnd);
            }
            // Reno's window with CUBIC's decrease: (1 + beta) / (3 (1 - beta)) windows of ACKs for a packet, in eighths.
            let eighths = 8 * (SCALE + self.beta) / 3 / (SCALE - self.beta);
            let needed = (cwnd * eighths / 8).max(1);
            while epoch.acked > needed {
                epoch.acked -= needed;
                epoch.friendly += 1;
            }
            if epoch.friendly > cwnd {
                epoch.per_packet = epoch.per_packet.min(cwnd / (epoch.friendly - cwnd));
            }
            epoch.per_packet = epoch.per_packet.max(2);
        }
        self.epoch = Some(epoch);
        epoch.per_packet
    }

    fn reduce(&mut self, window: &mut Window) {
        let cwnd = window.cwnd as u64;
        self.maximum = match self.fast_convergence && cwnd < self.maximum {
            true => cwnd * (SCALE + self.beta) / (2 * SCALE),
            false => cwnd,
        };
        self.epoch = None;
        self.opening.clear();
        window.ssthresh = ((cwnd * self.beta / SCALE) as f64).max(MINIMUM_SSTHRESH_PACKETS);
    }
}

impl CongestionControl for LinuxCubic {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.latest_ack_ns = ack.now_ns;
        self.measure(ack, window);
        if !may_grow(ack) || ack.acked == 0 {
            return;
        }
        let acked = LinuxWindow::slow_start(window, ack.acked.into());
        if acked > 0 {
            let per_packet = self.update(ack.now_ns, window.cwnd as u64, acked);
            self.opening.avoid_congestion(window, per_packet, acked);
        }
    }

    fn uses_flight_samples(&self) -> bool {
        false
    }

    fn sender_paces(&mut self) {
        self.hystart.paced = true;
    }

    fn on_loss(&mut self, _congestion: &Congestion, window: &mut Window) {
        self.reduce(window);
    }

    /// As after the beginning, with HyStart.
    fn on_timeout(&mut self, _congestion: &Congestion, window: &mut Window) {
        self.reduce(window);
        self.maximum = 0;
        self.smallest_rtt_ns = None;
        self.hystart = HyStart {
            paced: self.hystart.paced,
            ..HyStart::default()
        };
    }

    /// Excludes an idle period from the epoch.
    fn on_restart(&mut self, now_ns: u64, _window: &mut Window) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start_ns += now_ns.saturating_sub(self.latest_ack_ns);
        }
        self.latest_ack_ns = now_ns;
    }
}
