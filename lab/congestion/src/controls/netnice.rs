// SPDX-License-Identifier: MIT OR Apache-2.0
//! netnice: `policies/netnice/netnice.h`, called as in the kernel.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::above_floor::Above;
use crate::congestion_control::{Ack, Congestion, CongestionControl, Registration, Window};
use crate::controls::low_priority::{clock_us, duration_us, sample_us, whole_packets};
use crate::decisions::{Observer, Teller};
use crate::floor::Group;
use crate::netnice::{self, NetNice};
use netnice_parameters::exchange::Report;
use netnice_parameters::policies::NETNICE;

pub(crate) const REGISTRATION: Registration = Registration {
    name: NETNICE.name,
    summary: NETNICE.summary,
    build: |settings| {
        Box::new(NetNiceControl {
            policy: NetNice::new(&settings.policy_parameters()),
            above: Above::new(&settings.policy_parameters()),
            teller: None,
            latest_tsval: None,
        })
    },
};

/// The smallest window of the policy, in packets.
const MINIMUM_CWND: u32 = 2;

/// netnice. It sets the window in recovery as well.
#[derive(Debug, Clone)]
pub struct NetNiceControl {
    policy: NetNice,
    /// Of a connection above a floor.
    above: Option<Above>,
    /// Of a connection whose decisions are observed.
    teller: Option<Teller>,
    /// TSval of the ACK before.
    latest_tsval: Option<u32>,
}

impl NetNiceControl {
    /// `netnice_ssthresh` of the kernel's program. The policy sets the window itself; the sender's own recovery needs
    /// this.
    fn set_ssthresh(window: &mut Window) {
        window.ssthresh = (whole_packets(window.cwnd) / 2).max(MINIMUM_CWND).into();
    }

    /// Returns whether a stamp is earlier than the one before, and takes its place.
    fn runs_backwards(&mut self, tsval: Option<u32>) -> bool {
        let before = std::mem::replace(&mut self.latest_tsval, tsval);
        before
            .zip(tsval)
            .is_some_and(|(before, tsval)| (tsval.wrapping_sub(before) as i32) < 0)
    }

    /// Tells of what was decided since the last call.
    fn tell(&mut self, now_ns: u64, cwnd_before: u32, cwnd: u32) {
        if let Some(teller) = &mut self.teller {
            teller.tell(now_ns, self.policy.decided(), cwnd_before, cwnd);
        }
    }
}

impl CongestionControl for NetNiceControl {
    fn name(&self) -> &'static str {
        REGISTRATION.name
    }

    fn join(&mut self, group: &Arc<Mutex<Group>>, mss: u32) {
        self.above = Above::join(self.above.take(), group, mss);
    }

    fn on_handshake(&mut self, rtt_ns: u64) {
        self.policy.on_handshake(Duration::from_nanos(rtt_ns));
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        let sampled = ack.rate_delivered > 0 && ack.rate_interval_ns > 0;
        let ack_of_policy = netnice::Ack {
            now_us: clock_us(ack.now_ns),
            sample_rtt_us: sample_us(ack.rtt_ns),
            tsval: ack.peer_clock().unwrap_or(0),
            acked: ack.acked,
            lost: ack.newly_lost,
            in_flight: ack.in_flight,
            delivered: ack.delivered as u32,
            prior_delivered: ack.prior_delivered as u32,
            rate_delivered: if sampled { ack.rate_delivered } else { 0 },
            rate_interval_us: duration_us(ack.rate_interval_ns),
            cwnd: whole_packets(window.cwnd),
            has_timestamp: ack.peer_clock().is_some(),
            stamp_lead: match (ack.tsval, ack.tsecr) {
                (Some(tsval), Some(tsecr)) => tsval.wrapping_sub(tsecr) as u8,
                _ => 0,
            },
            stamp_back: self.runs_backwards(ack.tsval),
            ca_state: ack.ca_state,
            app_limited: ack.app_limited,
            at_receiver: false,
            retransmitted: ack.retransmitted,
        };
        let before = whole_packets(window.cwnd);
        // A recovery that was taken back.
        self.tell(ack.now_ns, before, before);
        let cwnd = match &mut self.above {
            None => self.policy.on_ack(&ack_of_policy),
            Some(above) => {
                let rtt = Duration::from_nanos(ack.smoothed_rtt_ns);
                let now = Duration::from_nanos(ack.now_ns);
                above.on_ack(&mut self.policy, &ack_of_policy, now, rtt)
            }
        };
        window.cwnd = cwnd.into();
        self.tell(ack.now_ns, before, cwnd);
    }

    fn on_loss(&mut self, _congestion: &Congestion, window: &mut Window) {
        Self::set_ssthresh(window);
    }

    fn on_timeout(&mut self, _congestion: &Congestion, window: &mut Window) {
        Self::set_ssthresh(window);
    }

    fn on_ecn_echo(&mut self, _congestion: &Congestion, _in_profile: bool, window: &mut Window) {
        Self::set_ssthresh(window);
    }

    fn governs_recovery(&self) -> bool {
        true
    }

    fn on_undo(&mut self, window: &mut Window) {
        // A window that the floor has set says nothing on netnice's.
        if !self.above.as_ref().is_some_and(Above::drives) {
            self.policy.on_undo(whole_packets(window.cwnd));
        }
    }

    fn allows_undo(&self) -> bool {
        true
    }

    fn pacing_interval_ns(&self, window: &Window, smoothed_rtt_ns: u64) -> Option<u64> {
        if smoothed_rtt_ns == 0 {
            return None;
        }
        let cwnd = whole_packets(window.cwnd);
        let smoothed_rtt = Duration::from_nanos(smoothed_rtt_ns);
        let over = match &self.above {
            None => self.policy.pacing_interval(cwnd, smoothed_rtt),
            Some(above) => above.pacing_interval(&self.policy, cwnd, smoothed_rtt),
        };
        let over_ns = u64::try_from(over.as_nanos()).unwrap_or(u64::MAX);
        Some(over_ns.max(1000) / u64::from(cwnd))
    }

    fn pacing_burst_packets(&self) -> u32 {
        match &self.above {
            None => self.policy.burst_packets(),
            Some(above) => above.burst_packets(&self.policy),
        }
    }

    fn observe(&mut self, observer: &Observer) {
        self.teller = Some(Teller::new(observer, false));
    }

    fn report(&self) -> Option<Report> {
        Some(*self.policy.report())
    }
}
