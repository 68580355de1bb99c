// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reno as Linux has it (`net/ipv4/tcp_cong.c`): whole packets, and packets acknowledged in place of ACKs.

use crate::congestion_control::{Ack, Congestion, CongestionControl, Window};
use crate::controls::linux_window::LinuxWindow;
use crate::controls::reno::{MINIMUM_SSTHRESH_PACKETS, may_grow};

/// Reno of Linux.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinuxReno {
    opening: LinuxWindow,
}

impl LinuxReno {
    /// The name of both forms of Reno.
    pub const NAME: &'static str = "reno";

    /// `tcp_reno_ssthresh`.
    fn reduce(&mut self, window: &mut Window) {
        self.opening.clear();
        window.ssthresh = (window.cwnd / 2.0).floor().max(MINIMUM_SSTHRESH_PACKETS);
    }
}

impl CongestionControl for LinuxReno {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    /// `tcp_reno_cong_avoid`.
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if !may_grow(ack) || ack.acked == 0 {
            return;
        }
        let acked = LinuxWindow::slow_start(window, ack.acked.into());
        if acked > 0 {
            let per_packet = (window.cwnd as u64).max(1);
            self.opening.avoid_congestion(window, per_packet, acked);
        }
    }

    fn uses_flight_samples(&self) -> bool {
        false
    }

    fn on_loss(&mut self, _congestion: &Congestion, window: &mut Window) {
        self.reduce(window);
    }

    fn on_timeout(&mut self, _congestion: &Congestion, window: &mut Window) {
        self.reduce(window);
    }
}

#[cfg(test)]
mod tests {
    use super::LinuxReno;
    use crate::congestion_control::{Ack, Congestion, CongestionControl, Window};

    fn acknowledge(reno: &mut LinuxReno, window: &mut Window, acked: u32) {
        let ack = Ack {
            acked,
            may_grow: true,
            cwnd_limited: true,
            ..Ack::default()
        };
        reno.on_ack(&ack, window);
    }

    /// A window of five packets grows with the fifth packet acknowledged: 1/5 + 1/5.2 + ... would take six.
    #[test]
    fn whole_windows_of_packets_are_counted() {
        let mut reno = LinuxReno::default();
        let mut window = Window {
            cwnd: 5.0,
            ssthresh: 5.0,
        };
        for cwnd in [5.0, 5.0, 5.0, 5.0, 6.0] {
            acknowledge(&mut reno, &mut window, 1);
            assert_eq!(window.cwnd, cwnd);
        }
        // Two at a time: 2, 4, 6 of 6.
        for cwnd in [6.0, 6.0, 7.0] {
            acknowledge(&mut reno, &mut window, 2);
            assert_eq!(window.cwnd, cwnd);
        }
        reno.on_loss(&Congestion::default(), &mut window);
        assert_eq!(window.ssthresh, 3.0);
    }

    /// Of four packets acknowledged two open the window to ssthresh, and two count in congestion avoidance.
    #[test]
    fn slow_start_ends_at_ssthresh_to_the_packet() {
        let mut reno = LinuxReno::default();
        let mut window = Window {
            cwnd: 8.0,
            ssthresh: 10.0,
        };
        acknowledge(&mut reno, &mut window, 4);
        assert_eq!(window.cwnd, 10.0);
        acknowledge(&mut reno, &mut window, 7);
        assert_eq!(window.cwnd, 10.0);
        acknowledge(&mut reno, &mut window, 1);
        assert_eq!(window.cwnd, 11.0);
    }
}
