// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prague: DCTCP for the Internet (draft-briscoe-iccrg-prague-congestion-control).

use crate::congestion_control::{
    Ack, Congestion, CongestionControl, MarkFeedback, Registration, Window,
};
use crate::controls::dctcp::Dctcp;
use crate::controls::reno::may_grow;
use netnice_parameters::Settings;

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
/// It lacks the draft's fallback to Reno behind a queue with classic ECN. Its feedback is one bit for each ACK as DCTCP's, unless the
/// ends agree on AccECN.
#[derive(Debug, Clone)]
pub struct Prague {
    /// The share of marked packets, and the answers to it and to losses.
    dctcp: Dctcp,
    /// When the last share was taken.
    share_taken_ns: u64,
}

impl Prague {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            dctcp: Dctcp::with_first_mark_as_full_share(settings),
            share_taken_ns: 0,
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
        self.dctcp.count(ack);
        let passed = ack.now_ns.saturating_sub(self.share_taken_ns);
        // Once per round trip, and per virtual one.
        if passed >= VIRTUAL_RTT_NS && self.dctcp.ends_window(ack) {
            self.dctcp.update_alpha();
            self.share_taken_ns = ack.now_ns;
        }
        self.dctcp.answer_echo(ack, window);
        if window.in_slow_start() {
            self.dctcp.reno.on_ack(ack, window);
        } else if may_grow(ack) && ack.acked > 0 {
            let unmarked = ack.acked.saturating_sub(ack.marked);
            window.cwnd += f64::from(unmarked) * Self::increase(ack) / window.cwnd;
        }
    }

    fn uses_flight_samples(&self) -> bool {
        false
    }

    fn on_loss(&mut self, congestion: &Congestion, window: &mut Window) {
        self.dctcp.on_loss(congestion, window);
    }

    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window) {
        self.dctcp.on_timeout(congestion, window);
    }

    fn on_ecn_echo(&mut self, congestion: &Congestion, in_profile: bool, window: &mut Window) {
        self.dctcp.on_ecn_echo(congestion, in_profile, window);
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
    use netnice_parameters::ControlParameters;

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
        control.dctcp.alpha = Some(1.0);
        let mut window = window();
        for milliseconds in [30, 35, 40, 54] {
            control.on_ack(&ack(milliseconds, 5, 0), &mut window);
        }
        assert_eq!(control.dctcp.alpha, Some(15.0 / 16.0));
        control.on_ack(&ack(55, 5, 0), &mut window);
        assert_eq!(control.dctcp.alpha, Some(15.0 / 16.0 * 15.0 / 16.0));
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
