// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP for Diff-Serv: `policies/dstcp.h`.

use crate::congestion_control::{Ack, Congestion, CongestionControl, Registration, Window};
use crate::controls::low_priority::{duration_us, whole_packets};
use crate::dstcp::{self, DsTcp};
use netnice_parameters::Settings;
use netnice_parameters::policies::DSTCP;

pub(crate) const REGISTRATION: Registration = Registration {
    name: DSTCP.name,
    summary: DSTCP.summary,
    build: |settings| Box::new(DsTcpControl::new(settings)),
};

/// TCP for Diff-Serv. In fast recovery `ssthresh` is half of the window, to which recovery brings it; afterwards the
/// target sets it again, and slow start leads to it.
#[derive(Debug, Clone)]
pub struct DsTcpControl {
    policy: DsTcp,
}

impl DsTcpControl {
    fn new(settings: &Settings) -> Self {
        let mut policy = DsTcp::new(&settings.policy_parameters());
        policy.set_packet_bytes(settings.whole("packet_bytes"));
        Self { policy }
    }
}

fn whole_window(window: &Window) -> dstcp::Window {
    dstcp::Window {
        cwnd: whole_packets(window.cwnd),
        ssthresh: whole_packets(window.ssthresh),
    }
}

/// Applies only the changes from `old` to `new`: an unchanged window keeps its fraction, an infinite threshold stays.
fn apply(old: dstcp::Window, new: dstcp::Window, window: &mut Window) {
    if new.cwnd != old.cwnd {
        window.cwnd = new.cwnd.into();
    }
    if new.ssthresh != old.ssthresh {
        window.ssthresh = new.ssthresh.into();
    }
}

impl CongestionControl for DsTcpControl {
    fn name(&self) -> &'static str {
        REGISTRATION.name
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if !ack.may_grow {
            return;
        }
        let old = whole_window(window);
        let mut new = old;
        let policy_ack = dstcp::Ack {
            smoothed_rtt_us: duration_us(ack.smoothed_rtt_ns),
            minimum_rtt_us: duration_us(ack.min_rtt_ns),
            acked: ack.acked,
            cwnd_limited: ack.cwnd_limited.into(),
        };
        self.policy.on_ack(&policy_ack, &mut new);
        apply(old, new, window);
    }

    fn uses_flight_samples(&self) -> bool {
        false
    }

    fn on_loss(&mut self, _congestion: &Congestion, window: &mut Window) {
        window.ssthresh = self.policy.on_loss(whole_packets(window.cwnd)).into();
    }

    fn on_timeout(&mut self, _congestion: &Congestion, window: &mut Window) {
        window.ssthresh = self.policy.on_timeout(whole_packets(window.cwnd)).into();
    }

    fn on_ecn_echo(&mut self, _congestion: &Congestion, in_profile: bool, window: &mut Window) {
        let old = whole_window(window);
        let mut new = old;
        self.policy.on_ecn_echo(in_profile, &mut new);
        apply(old, new, window);
    }

    fn on_recovery_end(&mut self, _now_ns: u64, window: &mut Window) {
        let ssthresh = whole_packets(window.ssthresh);
        let target = self.policy.ssthresh(ssthresh);
        if target != ssthresh {
            window.ssthresh = target.into();
        }
    }
}
