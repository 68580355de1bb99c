// SPDX-License-Identifier: MIT OR Apache-2.0
//! DCTCP, Data Center TCP (RFC 8257): the window falls by as much as the share of marked packets.

use crate::congestion_control::{
    Ack, CaState, Congestion, CongestionControl, MarkFeedback, Registration, Window,
};
use crate::controls::reno::{MINIMUM_SSTHRESH_PACKETS, Reno};
use crate::controls::round::Round;
use netnice_parameters::Settings;

pub(crate) const REGISTRATION: Registration = Registration {
    name: "dctcp",
    summary: "reduces the window by half of the share of marked packets; needs ECN (RFC 8257)",
    build: |settings| Box::new(Dctcp::new(settings)),
};

/// DCTCP. Growth and the answer to losses are Reno's (RFC 8257 section 3.5).
///
/// The window falls at once, as RFC 8257 says; Linux reduces it in the course of a round trip.
#[derive(Debug, Clone)]
pub struct Dctcp {
    pub(super) reno: Reno,
    /// g: weight of a new share in alpha (RFC 8257 section 4.2).
    gain: f64,
    /// DCTCP.Alpha: the smoothed share of marked packets. It begins at 1 (RFC 8257 section 3.3). `None` before the first
    /// mark, if that is to count as a share of 1 whenever it comes.
    pub(super) alpha: Option<f64>,
    observed: Round,
    /// DCTCP.BytesAcked and DCTCP.BytesMarked, in packets.
    acked: u64,
    marked: u64,
    /// An echo that the next ACK answers, once alpha has its mark.
    echoed: bool,
}

impl Dctcp {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            reno: Reno::default(),
            gain: settings.number("g"),
            alpha: Some(1.0),
            observed: Round::default(),
            acked: 0,
            marked: 0,
            echoed: false,
        }
    }

    /// DCTCP whose first mark counts as a share of 1, however many unmarked windows came before.
    pub(super) fn with_first_mark_as_full_share(settings: &Settings) -> Self {
        Self {
            alpha: None,
            ..Self::new(settings)
        }
    }

    /// Counts the packets of an ACK (RFC 8257 section 3.3, steps 1 to 3).
    pub(super) fn count(&mut self, ack: &Ack) {
        self.acked += u64::from(ack.acked);
        self.marked += u64::from(ack.marked);
    }

    /// Returns whether this ACK ends a window of data; the next then begins with it (steps 4 and 7).
    pub(super) fn ends_window(&mut self, ack: &Ack) -> bool {
        self.observed.ends(ack)
    }

    /// Takes the share of marked packets into alpha, and begins to count anew (steps 5, 6 and 8).
    pub(super) fn update_alpha(&mut self) {
        let share = self.marked as f64 / self.acked.max(1) as f64;
        let gain = self.gain;
        let smoothed = |alpha: f64| (alpha * (1.0 - gain) + gain * share).clamp(0.0, 1.0);
        self.alpha = self.alpha.map(smoothed);
        self.acked = 0;
        self.marked = 0;
    }

    /// Answers an echo that came with or before this ACK (step 9): cwnd = cwnd * (1 - DCTCP.Alpha / 2).
    pub(super) fn answer_echo(&mut self, ack: &Ack, window: &mut Window) {
        if std::mem::take(&mut self.echoed) && ack.ca_state < CaState::Recovery {
            let alpha = *self.alpha.get_or_insert(1.0);
            window.cwnd = (window.cwnd * (1.0 - alpha / 2.0)).max(MINIMUM_SSTHRESH_PACKETS);
            window.ssthresh = window.cwnd;
        }
    }
}

impl CongestionControl for Dctcp {
    fn name(&self) -> &'static str {
        REGISTRATION.name
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.count(ack);
        if self.ends_window(ack) {
            self.update_alpha();
        }
        self.answer_echo(ack, window);
        self.reno.on_ack(ack, window);
    }

    fn uses_flight_samples(&self) -> bool {
        false
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

    fn mark_feedback(&self) -> MarkFeedback {
        MarkFeedback::EachPacket
    }
}

#[cfg(test)]
mod tests {
    use netnice_parameters::ControlParameters;

    use super::*;

    fn with_defaults() -> Dctcp {
        let none = ControlParameters::new();
        Dctcp::new(&Settings::check("dctcp", &none).expect("defaults are allowed"))
    }

    /// Ten packets a round trip, of which the first `marked` are.
    fn round(control: &mut Dctcp, number: u64, marked: u64, window: &mut Window) {
        for packet in 0..10 {
            if packet == 0 && marked > 0 {
                control.on_ecn_echo(&Congestion::default(), true, window);
            }
            let ack = Ack {
                acked: 1,
                marked: u32::from(packet < marked),
                delivered: number * 10 + packet + 1,
                prior_delivered: (number * 10 + packet).saturating_sub(9),
                may_grow: false,
                ..Ack::default()
            };
            control.on_ack(&ack, window);
        }
    }

    #[test]
    fn alpha_follows_rfc_8257_section_3_3() {
        let mut control = with_defaults();
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 50.0,
        };
        // The first ACK ends the first window: nothing is marked yet, and 1 becomes 15/16.
        round(&mut control, 0, 0, &mut window);
        assert_eq!(control.alpha, Some(15.0 / 16.0));
        assert_eq!(window.cwnd, 100.0);
        // Ten packets without a mark: 15/16 of it.
        round(&mut control, 1, 0, &mut window);
        let alpha = 15.0 / 16.0 * 15.0 / 16.0;
        assert_eq!(control.alpha, Some(alpha));
        // The echo comes with the ACK that ends the window: of its ten packets one was marked, a tenth.
        round(&mut control, 2, 5, &mut window);
        let alpha = alpha * 15.0 / 16.0 + 0.1 / 16.0;
        let difference = control.alpha.expect("it has begun") - alpha;
        assert!(difference.abs() < 1e-12, "{difference}");
        assert!((window.cwnd - 100.0 * (1.0 - alpha / 2.0)).abs() < 1e-9);
        assert_eq!(window.ssthresh, window.cwnd);
    }

    #[test]
    fn a_loss_halves_the_window() {
        let mut control = with_defaults();
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 200.0,
        };
        let congestion = Congestion {
            in_flight: 100,
            ..Congestion::default()
        };
        control.on_loss(&congestion, &mut window);
        assert_eq!(window.ssthresh, 50.0);
    }
}
