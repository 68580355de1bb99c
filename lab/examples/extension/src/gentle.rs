// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gentle: additive increase by a quarter of a packet a round trip, and a multiplicative decrease by a half.

use netnice_congestion::congestion_control::{Ack, Congestion, CongestionControl, Window};

/// Packets by which the window grows in a round trip.
const INCREASE: f64 = 0.25;

/// Reno at a quarter of its pace.
#[derive(Debug, Default)]
pub struct Gentle;

impl CongestionControl for Gentle {
    fn name(&self) -> &'static str {
        "gentle"
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if !ack.may_grow || !ack.cwnd_limited {
            return;
        }
        let increase = if window.in_slow_start() {
            1.0
        } else {
            INCREASE / window.cwnd
        };
        window.cwnd += increase * f64::from(ack.acked);
    }

    fn on_loss(&mut self, _congestion: &Congestion, window: &mut Window) {
        window.ssthresh = (window.cwnd / 2.0).max(2.0);
    }

    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window) {
        self.on_loss(congestion, window);
    }
}
