// SPDX-License-Identifier: MIT OR Apache-2.0
//! HighSpeed TCP (RFC 3649): Reno whose increase and decrease depend on the window.

use crate::congestion_control::{Ack, Congestion, CongestionControl, Registration, Window};
use crate::controls::reno::{
    MINIMUM_SSTHRESH_PACKETS, half_of_window, may_grow, slow_start, window_in_use,
};

pub(crate) const REGISTRATION: Registration = Registration {
    name: "highspeed",
    summary: "HighSpeed TCP: larger steps and smaller cuts at large windows (RFC 3649)",
    build: |_| Box::new(HighSpeed::default()),
};

/// Low_Window of RFC 3649 section 5, in packets: up to it the window behaves as Reno's.
const LOW_WINDOW: f64 = 38.0;
/// High_Window, in packets.
const HIGH_WINDOW: f64 = 83_000.0;
/// High_Decrease: fraction of the window given up at High_Window.
const HIGH_DECREASE: f64 = 0.1;
/// End of the table in the RFC's appendix B and limit of this implementation: far beyond it the formulas make no sense,
/// since the decrease would pass through zero.
const LAST_WINDOW: f64 = 100_000.0;

/// b(w): fraction of a window of `cwnd` packets that is given up at a loss.
pub fn decrease(cwnd: f64) -> f64 {
    if cwnd <= LOW_WINDOW {
        return 0.5;
    }
    let place = (cwnd.min(LAST_WINDOW) / LOW_WINDOW).ln() / (HIGH_WINDOW / LOW_WINDOW).ln();
    0.5 + (HIGH_DECREASE - 0.5) * place
}

/// a(w): packets by which a window of `cwnd` packets grows each round trip.
///
/// The RFC's loss rate for the window is p(w) = 0.078 / w^1.2; its program for appendix B has 1 / 12.8 in place of
/// 0.078.
pub fn increase(cwnd: f64) -> f64 {
    if cwnd <= LOW_WINDOW {
        return 1.0;
    }
    let cwnd = cwnd.min(LAST_WINDOW);
    let loss_rate = 1.0 / (12.8 * cwnd.powf(1.2));
    let decrease = decrease(cwnd);
    (cwnd * cwnd * loss_rate * 2.0 * decrease / (2.0 - decrease)).max(1.0)
}

/// HighSpeed TCP. It counts ACKs, as [`Reno`](super::reno::Reno) does by default.
#[derive(Debug, Clone)]
pub struct HighSpeed {
    /// Window in whole packets for which `increase` was computed: logarithms are expensive, windows change slowly.
    computed_for: f64,
    increase: f64,
}

impl Default for HighSpeed {
    fn default() -> Self {
        Self {
            computed_for: LOW_WINDOW,
            increase: 1.0,
        }
    }
}

impl CongestionControl for HighSpeed {
    fn name(&self) -> &'static str {
        REGISTRATION.name
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if !may_grow(ack) || ack.acked == 0 {
            return;
        }
        if window.in_slow_start() {
            slow_start(window, 1.0);
            return;
        }
        let whole = window.cwnd.floor();
        if whole != self.computed_for {
            self.computed_for = whole;
            self.increase = increase(whole);
        }
        window.cwnd += self.increase / window.cwnd;
    }

    fn uses_flight_samples(&self) -> bool {
        false
    }

    fn on_loss(&mut self, congestion: &Congestion, window: &mut Window) {
        let used = window_in_use(congestion, window);
        window.ssthresh = (used * (1.0 - decrease(used))).max(MINIMUM_SSTHRESH_PACKETS);
    }

    /// As Reno: RFC 3649 does not change the reaction to an RTO.
    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window) {
        window.ssthresh = half_of_window(congestion, window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appendix_b_of_the_rfc() {
        // w, a(w), b(w) as printed in the RFC.
        let rows = [
            (38.0, 1.0, 0.50),
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (347.0, 4.0, 0.38),
            (1058.0, 8.0, 0.33),
            (5036.0, 20.0, 0.25),
            (10661.0, 30.0, 0.21),
            (21013.0, 42.0, 0.17),
            (53677.0, 62.0, 0.12),
            (84035.0, 71.0, 0.10),
            (94717.0, 73.0, 0.09),
        ];
        for (cwnd, a, b) in rows {
            assert_eq!(increase(cwnd).round(), a, "a({cwnd})");
            assert_eq!((decrease(cwnd) * 100.0).round() / 100.0, b, "b({cwnd})");
        }
    }

    #[test]
    fn a_window_of_118_grows_by_two_a_round_trip_and_falls_by_0_44() {
        let mut control = HighSpeed::default();
        let mut window = Window {
            cwnd: 118.0,
            ssthresh: 59.0,
        };
        let ack = Ack {
            acked: 1,
            cwnd_limited: true,
            ..Ack::default()
        };
        for _ in 0..118 {
            control.on_ack(&ack, &mut window);
        }
        assert!((window.cwnd - 120.0).abs() < 0.05, "{}", window.cwnd);
        let congestion = Congestion {
            in_flight: 118,
            ..Congestion::default()
        };
        control.on_loss(&congestion, &mut window);
        assert!(
            (window.ssthresh - 118.0 * 0.559).abs() < 0.1,
            "{}",
            window.ssthresh
        );
    }
}
