// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP-LP/ECN: the paper's benchmark (LP03 IV-A), in which a router's mark tells of congestion instead of delays.

use crate::control::{Ack, Congestion, CongestionControl, Window};
use crate::controls::low_priority::{INFERENCE_RTTS, clock_us, duration_us, whole_packets};
use crate::controls::tcplp::{apply, policy_ack};
use crate::policy::{Parameters, Report};
use crate::registry::Registration;
use crate::tcplp::{self, TcpLp};

pub(crate) const REGISTRATION: Registration = Registration {
    name: "tcplp_ecn",
    summary: "TCP-LP with ECN marks for its congestion indication, no delays (the paper's TCP-LP/ECN)",
    parameters: &[INFERENCE_RTTS],
    build: |settings| {
        Box::new(TcpLpEcn {
            policy: TcpLp::new(&Parameters {
                inference_rtts: settings.whole("inference_rtts") as u16,
                ..Parameters::default()
            }),
            timed_out: false,
        })
    },
};

/// TCP-LP/ECN. A mark ends slow start, too: nothing has to be learnt there.
#[derive(Debug, Clone)]
pub struct TcpLpEcn {
    policy: TcpLp,
    /// A time-out, and nothing delivered since.
    timed_out: bool,
}

impl CongestionControl for TcpLpEcn {
    fn name(&self) -> &'static str {
        REGISTRATION.name
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.timed_out = false;
        if !ack.in_recovery || ack.after_timeout {
            let told = policy_ack(ack, window);
            apply(told.cwnd, self.policy.window_after(&told), window);
        }
    }

    fn on_loss(&mut self, congestion: &Congestion, window: &mut Window) {
        window.ssthresh = f64::from(self.policy.on_loss(
            whole_packets(window.cwnd),
            clock_us(congestion.now_ns),
            duration_us(congestion.smoothed_rtt_ns),
        ));
    }

    /// The same once; a time-out that follows a time-out leaves `ssthresh` alone (RFC 5681 section 3.1).
    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window) {
        if !self.timed_out {
            self.on_loss(congestion, window);
        }
        self.timed_out = true;
    }

    fn on_ecn_echo(&mut self, congestion: &Congestion, _in_profile: bool, window: &mut Window) {
        let cwnd = whole_packets(window.cwnd);
        let told = tcplp::Ack {
            now_us: clock_us(congestion.now_ns),
            smoothed_rtt_us: duration_us(congestion.smoothed_rtt_ns),
            in_flight: congestion.in_flight,
            cwnd,
            ssthresh: whole_packets(window.ssthresh),
            ..tcplp::Ack::default()
        };
        apply(cwnd, self.policy.on_ecn_echo(&told), window);
    }

    fn on_restart(&mut self, _now_ns: u64, _window: &mut Window) {
        self.policy.on_restart();
    }

    fn report(&self) -> Option<Report> {
        Some(*self.policy.report())
    }
}
