// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vegas: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", 1995, with the
//! reaction to losses of ns-2.

use crate::congestion_control::{Ack, Congestion, CongestionControl, Registration, Window};
use crate::controls::reno::{MINIMUM_SSTHRESH_PACKETS, half_of_window, may_grow, window_in_use};
use crate::controls::round::Round;
use netnice_parameters::Settings;

pub(crate) const REGISTRATION: Registration = Registration {
    name: "vegas",
    summary: "keeps between alpha and beta packets of its own in the queue (Brakmo and Peterson 1995)",
    build: |settings| Box::new(Vegas::new(settings)),
};

/// Smallest window that Vegas itself chooses, in packets.
const MINIMUM_CWND: f64 = 2.0;

/// Growth of the window until the next decision.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Growth {
    None,
    /// One packet per ACK.
    Doubling,
    /// This many packets per ACK.
    Linear(f64),
}

/// Vegas. Once per round trip it compares the rate without a queue, `cwnd / base_rtt`, with the actual one, `cwnd /
/// rtt`; the difference times `base_rtt` is the number of its packets in the queue.
///
/// ns-2 rounds that number to a whole one before the comparison: with alpha half a packet below and beta half a packet
/// above ns-2's, this control decides as ns-2's does.
#[derive(Debug, Clone)]
pub struct Vegas {
    alpha: f64,
    beta: f64,
    gamma: f64,
    round: Round,
    /// Smallest round-trip time of data; that of the handshake's small packets is too small.
    base_rtt_ns: Option<u64>,
    /// Sum and number of the round's round-trip times.
    rtt_sum_ns: u64,
    rtt_samples: u64,
    growth: Growth,
    /// Slow start doubles only in every other round trip; the one between shows whether the queue grew.
    doubling_turn: bool,
}

impl Vegas {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            alpha: settings.number("alpha"),
            beta: settings.number("beta"),
            gamma: settings.number("gamma"),
            round: Round::default(),
            base_rtt_ns: None,
            rtt_sum_ns: 0,
            rtt_samples: 0,
            growth: Growth::None,
            doubling_turn: true,
        }
    }

    /// Decides on a finished round trip of `rtt_ns` on a path of `base_rtt_ns`.
    fn decide(&mut self, rtt_ns: f64, base_rtt_ns: f64, window: &mut Window) {
        let queued = window.cwnd * (1.0 - base_rtt_ns / rtt_ns);
        self.growth = Growth::None;
        if window.in_slow_start() {
            self.doubling_turn = !self.doubling_turn;
            if !self.doubling_turn {
                return;
            }
            if queued > self.gamma {
                window.cwnd = (window.cwnd - window.cwnd / 8.0).max(MINIMUM_CWND);
                window.ssthresh = MINIMUM_SSTHRESH_PACKETS;
            } else {
                self.growth = Growth::Doubling;
            }
        } else if queued > self.beta {
            window.cwnd = (window.cwnd - 1.0).max(MINIMUM_CWND);
            // Otherwise the next round would be in slow start.
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if queued < self.alpha {
            self.growth = Growth::Linear(1.0 / window.cwnd);
        }
    }
}

impl CongestionControl for Vegas {
    fn name(&self) -> &'static str {
        REGISTRATION.name
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if let Some(rtt_ns) = ack.rtt_ns {
            self.rtt_sum_ns += rtt_ns;
            self.rtt_samples += 1;
            self.base_rtt_ns = Some(
                self.base_rtt_ns
                    .map_or(rtt_ns, |base_ns| base_ns.min(rtt_ns)),
            );
        }
        let base_rtt_ns = self.base_rtt_ns.filter(|_| self.rtt_samples > 0);
        if let (true, Some(base_rtt_ns)) = (self.round.ends(ack), base_rtt_ns) {
            let rtt_ns = self.rtt_sum_ns as f64 / self.rtt_samples as f64;
            self.rtt_sum_ns = 0;
            self.rtt_samples = 0;
            if ack.may_grow {
                self.decide(rtt_ns, base_rtt_ns as f64, window);
            }
        }
        if !may_grow(ack) || ack.acked == 0 {
            return;
        }
        match self.growth {
            Growth::Doubling if window.in_slow_start() => window.cwnd += 1.0,
            Growth::Linear(packets) => window.cwnd += packets,
            Growth::Doubling | Growth::None => {}
        }
    }

    /// Keeps three quarters of the window, not half: Vegas detects losses before a queue caused by others has grown.
    fn uses_flight_samples(&self) -> bool {
        false
    }

    fn on_loss(&mut self, congestion: &Congestion, window: &mut Window) {
        self.growth = Growth::None;
        window.ssthresh = (window_in_use(congestion, window) * 0.75).max(MINIMUM_SSTHRESH_PACKETS);
    }

    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window) {
        self.growth = Growth::None;
        window.ssthresh = half_of_window(congestion, window).floor();
    }

    /// After a loss Vegas never returns to slow start, however far the window falls.
    fn on_recovery_end(&mut self, _now_ns: u64, window: &mut Window) {
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }
}
