// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP-LP: `policy/tcplp.h`, called as the kernel's glue calls it.

use crate::control::{Ack, Congestion, CongestionControl, Window};
use crate::controls::low_priority::{
    DELTA, GAMMA, INFERENCE_RTTS, clock_us, duration_us, sample_us, tcplp_parameters, whole_packets,
};
use crate::policy::Report;
use crate::registry::Registration;
use crate::tcplp::{self, TcpLp};

pub(crate) const REGISTRATION: Registration = Registration {
    name: "tcplp",
    summary: "TCP-LP: low priority by one-way delays (Kuzmanovic and Knightly 2003)",
    parameters: &[DELTA, GAMMA, INFERENCE_RTTS],
    build: |settings| {
        Box::new(TcpLpControl {
            policy: TcpLp::new(&tcplp_parameters(settings)),
            timed_out: false,
        })
    },
};

/// TCP-LP.
#[derive(Debug, Clone)]
pub struct TcpLpControl {
    policy: TcpLp,
    /// A time-out, and nothing delivered since.
    timed_out: bool,
}

/// An ACK in the policy's terms.
pub(super) fn policy_ack(ack: &Ack, window: &Window) -> tcplp::Ack {
    tcplp::Ack {
        now_us: clock_us(ack.now_ns),
        sample_rtt_us: sample_us(ack.rtt_ns),
        smoothed_rtt_us: duration_us(ack.smoothed_rtt_ns),
        tsval: ack.tsval.unwrap_or(0),
        acked: ack.acked,
        in_flight: ack.in_flight,
        cwnd: whole_packets(window.cwnd),
        ssthresh: whole_packets(window.ssthresh),
        has_timestamp: ack.tsval.is_some(),
        in_recovery: ack.in_recovery,
        cwnd_limited: ack.cwnd_limited,
    }
}

/// The window that a policy wants instead of `cwnd`. A smaller one is the new `ssthresh` too, or slow start would undo
/// it.
pub(super) fn apply(cwnd: u32, wanted: u32, window: &mut Window) {
    if wanted < cwnd {
        window.ssthresh = wanted.into();
    }
    if wanted != cwnd {
        window.cwnd = wanted.into();
    }
}

impl CongestionControl for TcpLpControl {
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
