// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reno: slow start and congestion avoidance of RFC 5681, and functions shared by its family.

use crate::congestion_control::{Ack, Congestion, CongestionControl, Registration, Window};
use crate::controls::linux_reno::LinuxReno;
use netnice_parameters::Settings;

pub(crate) const REGISTRATION: Registration = Registration {
    name: LinuxReno::NAME,
    summary: "additive increase of a packet each round trip, halving at a loss (RFC 5681)",
    build: |settings| match settings.switch("linux") {
        true => Box::new(LinuxReno::default()),
        false => Box::new(Reno::new(settings)),
    },
};

/// Largest increase of the window by one ACK in slow start, in packets: L of RFC 3465 section 2.2.
pub const SLOW_START_LIMIT_PACKETS: f64 = 2.0;

/// Smallest `ssthresh` after a loss, in packets: RFC 5681 equation (4).
pub const MINIMUM_SSTHRESH_PACKETS: f64 = 2.0;

/// Reno (RFC 5681).
///
/// By default every ACK opens the window by the same amount, a packet in slow start and `1/cwnd` in congestion
/// avoidance: equations (2) and (3) of the RFC, as in ns-2 and hence in the papers. If the receiver delays ACKs, the
/// window then grows by half a packet each round trip. With appropriate byte counting (RFC 3465) it grows by a whole
/// one.
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

/// Returns whether the window may grow at this ACK: the window was fully used, and fast recovery does not govern it.
pub fn may_grow(ack: &Ack) -> bool {
    ack.cwnd_limited && ack.may_grow
}

/// Opens the window by Reno's slow start, by `packets` for this ACK.
pub fn slow_start(window: &mut Window, packets: f64) {
    window.cwnd += packets;
}

/// Returns the part of the window in use, in packets, which a reduction scales.
///
/// RFC 5681 equation (4) reduces the data in flight. ns-2 and Linux reduce `cwnd`, and so does this function: if only
/// an RTO detects a second loss in one window, all data sent since is still in flight, and `cwnd` is reduced already.
/// `cwnd` keeps its fraction, as in ns-2. If the program does not fill the window, the part that it fills is reduced.
pub fn window_in_use(congestion: &Congestion, window: &Window) -> f64 {
    let in_flight = f64::from(congestion.in_flight);
    if in_flight < window.cwnd.floor() {
        in_flight
    } else {
        window.cwnd
    }
}

/// Returns half of the [`window_in_use`], at least two packets.
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

    fn uses_flight_samples(&self) -> bool {
        false
    }

    fn on_loss(&mut self, congestion: &Congestion, window: &mut Window) {
        window.ssthresh = half_of_window(congestion, window);
    }

    /// Rounds down to whole packets, as ns-2 and Linux do: slow start ends at a whole window, not one above it.
    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window) {
        window.ssthresh = half_of_window(congestion, window).floor();
    }
}
