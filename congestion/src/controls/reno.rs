// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reno: slow start and congestion avoidance of RFC 5681, and what controls of its family share.

use crate::control::{Ack, Congestion, CongestionControl, Registration, Window};
use crate::parameters::Settings;

pub(crate) const REGISTRATION: Registration = Registration {
    name: "reno",
    summary: "additive increase of a packet each round trip, halving at a loss (RFC 5681)",
    build: |settings| Box::new(Reno::new(settings)),
};

/// Most packets by which one ACK opens the window in slow start: L of RFC 3465 section 2.2.
pub const SLOW_START_LIMIT_PACKETS: f64 = 2.0;

/// Smallest `ssthresh` after a loss, in packets: RFC 5681 equation (4).
pub const MINIMUM_SSTHRESH_PACKETS: f64 = 2.0;

/// Reno (RFC 5681).
///
/// By default every ACK opens the window alike, by a packet in slow start and by `1/cwnd` in congestion avoidance:
/// equations (2) and (3) of the RFC, and what ns-2 and hence the papers do. Where the receiver delays ACKs, the window
/// then grows by half a packet each round trip. With appropriate byte counting (RFC 3465) it grows by a whole one.
#[derive(Debug, Clone, Default)]
pub struct Reno {
    appropriate_byte_counting: bool,
}

impl Reno {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            appropriate_byte_counting: settings.switch("appropriate_byte_counting"),
        }
    }
}

/// Whether the window may grow at this ACK: the window was used up, and no fast recovery governs it.
pub fn may_grow(ack: &Ack) -> bool {
    ack.cwnd_limited && ack.may_grow
}

/// The window after Reno's slow start, by `packets` for this ACK.
pub fn slow_start(window: &mut Window, packets: f64) {
    window.cwnd += packets;
}

/// The window as far as it is in use, in packets: what a reduction takes its share of.
///
/// RFC 5681 equation (4) reduces what is in flight. ns-2 and Linux reduce `cwnd`, and so does this: where a second loss of
/// one window is found by a time-out only, all that was sent since is in flight still, and `cwnd` is reduced already.
/// `cwnd` keeps its fraction, as in ns-2. A window that the program does not fill is not reduced but what it fills.
pub fn window_in_use(congestion: &Congestion, window: &Window) -> f64 {
    let in_flight = f64::from(congestion.in_flight);
    if in_flight < window.cwnd.floor() {
        in_flight
    } else {
        window.cwnd
    }
}

/// Half of the [`window_in_use`], two packets at the least.
pub fn half_of_window(congestion: &Congestion, window: &Window) -> f64 {
    (window_in_use(congestion, window) / 2.0).max(MINIMUM_SSTHRESH_PACKETS)
}

impl CongestionControl for Reno {
    fn name(&self) -> &'static str {
        REGISTRATION.name
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if !may_grow(ack) || ack.acked == 0 {
            return;
        }
        let counted = if self.appropriate_byte_counting {
            f64::from(ack.acked)
        } else {
            1.0
        };
        if window.in_slow_start() {
            slow_start(window, counted.min(SLOW_START_LIMIT_PACKETS));
        } else {
            window.cwnd += counted / window.cwnd;
        }
    }

    fn on_loss(&mut self, congestion: &Congestion, window: &mut Window) {
        window.ssthresh = half_of_window(congestion, window);
    }

    /// Whole packets, as in ns-2 and Linux: slow start ends with a whole window, and not one above.
    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window) {
        window.ssthresh = half_of_window(congestion, window).floor();
    }
}
