// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prague: DCTCP for the Internet (draft-briscoe-iccrg-prague-congestion-control).

use crate::control::{
    Ack, CaState, Congestion, CongestionControl, MarkFeedback, Registration, Window,
};
use crate::controls::reno::{MINIMUM_SSTHRESH_PACKETS, Reno, may_grow};
use crate::controls::round::Round;
use crate::parameters::Settings;

pub(crate) const REGISTRATION: Registration = Registration {
    name: "prague",
    summary: "reduces the window by half of the share of marked packets, at equal rates for round trips below 25 ms; needs \
        ECN and sends with ECT(1) (Prague)",
    build: |settings| Box::new(Prague::new(settings)),
};

/// The virtual round-trip time of flows whose own is shorter, in nanoseconds (section 2.4.4 of the draft: 25 ms).
const VIRTUAL_RTT_NS: u64 = 25_000_000;
/// Ratio of the pacing rate to cwnd per round trip in slow start, so that pacing does not hold growth back.
const SLOW_START_PACING: f64 = 2.0;

/// Prague, as far as it is DCTCP with ECT(1), pacing and round trips that count for 25 ms at least. Losses are answered as by
/// Reno.
///
/// It lacks the draft's fallback to Reno behind a queue with classic ECN, and its feedback is one bit for each ACK as DCTCP's,
/// not AccECN.
#[derive(Debug, Clone)]
pub struct Prague {
    reno: Reno,
    /// g: weight of a new share in alpha.
    gain: f64,
    /// The smoothed share of marked packets; `None` before the first mark, which counts as a share of 1.
    alpha: Option<f64>,
    observed: Round,
    /// When the last share was taken.
    share_taken_ns: u64,
    acked: u64,
    marked: u64,
    /// An echo that the next ACK answers, once alpha has its mark.
    echoed: bool,
}

impl Prague {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            reno: Reno::default(),
            gain: settings.number("g"),
            alpha: None,
            observed: Round::default(),
            share_taken_ns: 0,
            acked: 0,
            marked: 0,
            echoed: false,
        }
    }

    /// The increase for each round trip, in packets: (RTT / 25 ms)^2 for a shorter round trip, so that flows open their
    /// windows as if all their round trips took 25 ms, and 1 for a longer one.
    fn increase(ack: &Ack) -> f64 {
        let share = ack.smoothed_rtt_ns.min(VIRTUAL_RTT_NS) as f64 / VIRTUAL_RTT_NS as f64;
        share * share
    }
}

impl CongestionControl for Prague {
    fn name(&self) -> &'static str {
        REGISTRATION.name
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.acked += u64::from(ack.acked);
        self.marked += u64::from(ack.marked);
        let passed = ack.now_ns.saturating_sub(self.share_taken_ns);
        // Once per round trip, and per virtual one.
        if passed >= VIRTUAL_RTT_NS && self.observed.ends(ack) {
            let share = self.marked as f64 / self.acked.max(1) as f64;
            self.alpha = self
                .alpha
                .map(|alpha| (alpha * (1.0 - self.gain) + self.gain * share).clamp(0.0, 1.0));
            self.share_taken_ns = ack.now_ns;
            self.acked = 0;
            self.marked = 0;
        }
        if std::mem::take(&mut self.echoed) && ack.ca_state < CaState::Recovery {
            let alpha = *self.alpha.get_or_insert(1.0);
            window.cwnd = (window.cwnd * (1.0 - alpha / 2.0)).max(MINIMUM_SSTHRESH_PACKETS);
            window.ssthresh = window.cwnd;
        }
        if window.in_slow_start() {
            self.reno.on_ack(ack, window);
        } else if may_grow(ack) && ack.acked > 0 {
            let unmarked = ack.acked.saturating_sub(ack.marked);
            window.cwnd += f64::from(unmarked) * Self::increase(ack) / window.cwnd;
        }
    }

    fn on_loss(&mut self, congestion: &Congestion, window: &mut Window) {
        self.echoed = false;
        self.reno.on_loss(congestion, window);
    }

    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window) {
        self.echoed = false;
        self.reno.on_timeout(congestion, window);
    }

    fn on_ecn_echo(&mut self, _congestion: &Congestion, _in_profile: bool, _window: &mut Window) {
        self.echoed = true;
    }

    fn pacing_interval_ns(&self, window: &Window, smoothed_rtt_ns: u64) -> Option<u64> {
        let ratio = if window.in_slow_start() {
            SLOW_START_PACING
        } else {
            1.0
        };
        (smoothed_rtt_ns > 0)
            .then(|| (smoothed_rtt_ns as f64 / (ratio * window.cwnd.max(1.0))) as u64)
    }

    fn mark_feedback(&self) -> MarkFeedback {
        MarkFeedback::EachPacket
    }

    fn is_scalable(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::parameters::ControlParameters;

    use super::*;

    fn with_defaults() -> Prague {
        let none = ControlParameters::new();
        Prague::new(&Settings::check("prague", &none).expect("defaults are allowed"))
    }

    /// An ACK of ten packets that ends a round, at so many milliseconds.
    fn ack(milliseconds: u64, rtt_milliseconds: u64, marked: u32) -> Ack {
        Ack {
            now_ns: milliseconds * 1_000_000,
            smoothed_rtt_ns: rtt_milliseconds * 1_000_000,
            acked: 10,
            marked,
            delivered: milliseconds,
            prior_delivered: milliseconds,
            cwnd_limited: true,
            ..Ack::default()
        }
    }

    fn window() -> Window {
        Window {
            cwnd: 100.0,
            ssthresh: 50.0,
        }
    }

    #[test]
    fn the_first_mark_halves_and_others_by_their_share() {
        let mut control = with_defaults();
        let mut window = window();
        control.on_ecn_echo(&Congestion::default(), true, &mut window);
        let echo = Ack {
            may_grow: false,
            ..ack(100, 50, 5)
        };
        control.on_ack(&echo, &mut window);
        assert_eq!((window.cwnd, window.ssthresh), (50.0, 50.0));
        // A share of 2/10 at 130 ms: alpha = 15/16 + 0.2/16, and the window falls by half of it.
        control.on_ecn_echo(&Congestion::default(), true, &mut window);
        let echo = Ack {
            may_grow: false,
            ..ack(130, 50, 2)
        };
        control.on_ack(&echo, &mut window);
        assert!((window.cwnd - 50.0 * (1.0 - 0.95 / 2.0)).abs() < 1e-9);
    }

    #[test]
    fn alpha_is_taken_each_25_ms_at_most() {
        let mut control = with_defaults();
        control.alpha = Some(1.0);
        let mut window = window();
        for milliseconds in [30, 35, 40, 54] {
            control.on_ack(&ack(milliseconds, 5, 0), &mut window);
        }
        assert_eq!(control.alpha, Some(15.0 / 16.0));
        control.on_ack(&ack(55, 5, 0), &mut window);
        assert_eq!(control.alpha, Some(15.0 / 16.0 * 15.0 / 16.0));
    }

    #[test]
    fn short_round_trips_open_the_window_as_25_ms_would() {
        // Ten of a hundred packets: a tenth of the increase per round trip, 1 from 25 ms on and 1/25 for 5 ms.
        for (rtt, opened) in [(50, 0.1), (25, 0.1), (5, 0.004)] {
            let mut window = window();
            with_defaults().on_ack(&ack(100, rtt, 0), &mut window);
            assert!((window.cwnd - 100.0 - opened).abs() < 1e-12, "{rtt}");
        }
    }

    #[test]
    fn packets_are_spaced_over_the_round_trip() {
        let control = with_defaults();
        assert_eq!(
            control.pacing_interval_ns(&window(), 20_000_000),
            Some(200_000)
        );
        let slow_start = Window {
            cwnd: 10.0,
            ssthresh: 50.0,
        };
        assert_eq!(
            control.pacing_interval_ns(&slow_start, 20_000_000),
            Some(1_000_000)
        );
        assert_eq!(control.pacing_interval_ns(&slow_start, 0), None);
    }
}
