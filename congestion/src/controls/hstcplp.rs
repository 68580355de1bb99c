// SPDX-License-Identifier: MIT OR Apache-2.0
//! HSTCP-LP: `policy/hstcplp.h`, called as the kernel's glue calls TCP-LP.

use crate::control::{Ack, Congestion, CongestionControl, Window};
use crate::controls::low_priority::{
    DELTA, GAMMA, INFERENCE_RTTS, clock_us, duration_us, tcplp_parameters, whole_packets,
};
use crate::controls::tcplp::{apply, policy_ack};
use crate::hstcplp::HsTcpLp;
use crate::policy::Report;
use crate::registry::Registration;

pub(crate) const REGISTRATION: Registration = Registration {
    name: "hstcplp",
    summary: "HSTCP-LP: TCP-LP with HighSpeed TCP's steps, for long fat paths (Kuzmanovic, Knightly, Cottrell)",
    parameters: &[DELTA, GAMMA, INFERENCE_RTTS],
    build: |settings| {
        Box::new(HsTcpLpControl {
            policy: HsTcpLp::new(&tcplp_parameters(settings)),
            timed_out: false,
        })
    },
};

/// HSTCP-LP.
#[derive(Debug, Clone)]
pub struct HsTcpLpControl {
    policy: HsTcpLp,
    /// A time-out, and nothing delivered since.
    timed_out: bool,
}

impl CongestionControl for HsTcpLpControl {
    fn name(&self) -> &'static str {
        REGISTRATION.name
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.timed_out = false;
        let told = policy_ack(ack, window);
        self.policy.sample(&told);
        if !ack.in_recovery || ack.after_timeout {
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

    fn on_restart(&mut self, _now_ns: u64, _window: &mut Window) {
        self.policy.on_restart();
    }

    fn report(&self) -> Option<Report> {
        Some(*self.policy.report())
    }
}
