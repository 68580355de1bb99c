// SPDX-License-Identifier: MIT OR Apache-2.0
//! netnice: `policy/netnice.h`, called as the kernel's glue calls it.

use std::time::Duration;

use crate::control::{Ack, Congestion, CongestionControl, Window};
use crate::controls::low_priority::{clock_us, duration_us, sample_us, whole_packets};
use crate::netnice::{self, NetNice};
use crate::policy::Report;
use crate::registry::Registration;

pub(crate) const REGISTRATION: Registration = Registration {
    name: "netnice",
    summary: "netnice's default control: yields at the first sign of a queue, and fills an idle link",
    build: |settings| {
        Box::new(NetNiceControl {
            policy: NetNice::new(&settings.policy_parameters()),
            cwnd: 0,
            delivered: 0,
            recovering: false,
            timed_out: false,
        })
    },
};

/// The smallest window of the policy, in packets.
const MINIMUM_CWND: u32 = 2;

/// netnice. It sets the window in recovery, too: whatever a sender makes of `cwnd` there is overwritten.
#[derive(Debug, Clone)]
pub struct NetNiceControl {
    policy: NetNice,
    /// The window that the policy wanted last, in packets.
    cwnd: u32,
    /// [`Ack::delivered`] of the latest ACK.
    delivered: u32,
    /// A loss, a mark or a time-out was told, and recovery lasts. An ACK may say `in_recovery` without: a duplicate is
    /// no congestion yet.
    recovering: bool,
    /// A time-out, and nothing delivered since.
    timed_out: bool,
}

impl NetNiceControl {
    /// The policy learns of congestion by an ACK in recovery, here one that brings nothing else.
    fn enter_recovery(&mut self, now_ns: u64, window: &mut Window) {
        self.recovering = true;
        self.cwnd = self.policy.on_ack(&netnice::Ack {
            now_us: clock_us(now_ns),
            delivered: self.delivered,
            prior_delivered: self.delivered,
            cwnd: whole_packets(window.cwnd),
            in_recovery: true,
            ..netnice::Ack::default()
        });
        window.cwnd = self.cwnd.into();
    }
}

impl CongestionControl for NetNiceControl {
    fn name(&self) -> &'static str {
        REGISTRATION.name
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.timed_out = false;
        self.recovering &= ack.in_recovery;
        if !self.recovering || ack.after_timeout {
            self.cwnd = whole_packets(window.cwnd);
        }
        self.delivered = ack.delivered as u32;
        let sampled = ack.rate_delivered > 0 && ack.rate_interval_ns > 0;
        self.cwnd = self.policy.on_ack(&netnice::Ack {
            now_us: clock_us(ack.now_ns),
            sample_rtt_us: sample_us(ack.rtt_ns),
            tsval: ack.tsval.unwrap_or(0),
            acked: ack.acked,
            in_flight: ack.in_flight,
            delivered: self.delivered,
            prior_delivered: ack.prior_delivered as u32,
            rate_delivered: if sampled { ack.rate_delivered } else { 0 },
            rate_interval_us: duration_us(ack.rate_interval_ns),
            cwnd: self.cwnd,
            has_timestamp: ack.tsval.is_some(),
            in_recovery: self.recovering,
            after_timeout: ack.after_timeout,
            app_limited: ack.app_limited,
        });
        window.cwnd = self.cwnd.into();
    }

    fn on_loss(&mut self, congestion: &Congestion, window: &mut Window) {
        self.enter_recovery(congestion.now_ns, window);
        window.ssthresh = self.cwnd.into();
    }

    /// The window after a time-out grows from what the sender leaves; a repeated one leaves `ssthresh` alone.
    fn on_timeout(&mut self, _congestion: &Congestion, window: &mut Window) {
        if !self.timed_out {
            window.ssthresh = (whole_packets(window.cwnd) / 2).max(MINIMUM_CWND).into();
        }
        self.cwnd = 1;
        self.recovering = true;
        self.timed_out = true;
    }

    /// ACKs of packets beyond the first may have moved the window in between.
    fn on_repeated_timeout(&mut self) {
        self.cwnd = 1;
    }

    fn on_ecn_echo(&mut self, congestion: &Congestion, _in_profile: bool, window: &mut Window) {
        self.on_loss(congestion, window);
    }

    fn on_recovery_end(&mut self, _now_ns: u64, window: &mut Window) {
        if self.recovering {
            window.cwnd = self.cwnd.into();
        }
        self.recovering = false;
    }

    fn governs_recovery(&self) -> bool {
        true
    }

    fn pacing_interval_ns(&self, window: &Window, smoothed_rtt_ns: u64) -> Option<u64> {
        if smoothed_rtt_ns == 0 {
            return None;
        }
        let cwnd = whole_packets(window.cwnd);
        let over = self
            .policy
            .pacing_interval(cwnd, Duration::from_nanos(smoothed_rtt_ns));
        let over_ns = u64::try_from(over.as_nanos()).unwrap_or(u64::MAX);
        Some(over_ns.max(1000) / u64::from(cwnd))
    }

    fn pacing_burst_packets(&self) -> u32 {
        self.policy.burst_packets()
    }

    fn report(&self) -> Option<Report> {
        Some(*self.policy.report())
    }
}
