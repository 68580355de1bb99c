// SPDX-License-Identifier: MIT OR Apache-2.0
//! The wrapper of policies in C that take TCP-LP's ACKs and set the window from delays: their interface, the congestion
//! control that calls them, and the declaration of one.

use std::fmt;

use crate::congestion_control::{Ack, Congestion, CongestionControl, Window};
use crate::controls::low_priority::{clock_us, duration_us, sample_us, whole_packets};
use crate::tcplp;
use netnice_parameters::exchange::Report;

/// Interface of the policies of TCP-LP's family; all count whole packets and microseconds.
pub(crate) trait Policy: fmt::Debug + Send {
    /// The control's name.
    const NAME: &'static str;

    /// True if a router's mark is its indication of congestion, in place of delays.
    const DEPENDS_ON_MARKS: bool = false;

    /// Samples the delay of an ACK, also in recovery.
    fn sample(&mut self, ack: &tcplp::Ack);

    /// Returns the window after an ACK that has been sampled.
    fn on_sampled_ack(&mut self, ack: &tcplp::Ack) -> u32;

    /// Returns the window after a router's mark; `None` if the mark counts as a loss.
    fn on_ecn_echo(&mut self, _ack: &tcplp::Ack) -> Option<u32> {
        None
    }

    /// Returns the new `ssthresh` after a loss.
    fn on_loss(&mut self, cwnd: u32, now_us: u32) -> u32;

    /// Returns the microseconds between packets if the window is below one packet, otherwise 0.
    fn pause_us(&self, _cwnd: u32, _smoothed_rtt_us: u32) -> u32 {
        0
    }

    /// Called when sending restarts after an idle period.
    fn on_restart(&mut self);

    /// The report of the policy.
    fn report(&self) -> &Report;
}

/// A congestion control built from a policy.
#[derive(Debug)]
pub(super) struct PolicyControl<P> {
    policy: P,
}

impl<P> PolicyControl<P> {
    pub(super) fn new(policy: P) -> Self {
        Self { policy }
    }
}

/// Applies the window that a policy chose in place of `cwnd`. A smaller one is also the new `ssthresh`, or slow start
/// would undo it.
fn apply(cwnd: u32, wanted: u32, window: &mut Window) {
    if wanted < cwnd {
        window.ssthresh = wanted.into();
    }
    if wanted != cwnd {
        window.cwnd = wanted.into();
    }
}

impl<P: Policy> CongestionControl for PolicyControl<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        let policy_ack = tcplp::Ack {
            now_us: clock_us(ack.now_ns),
            sample_rtt_us: sample_us(ack.rtt_ns),
            smoothed_rtt_us: duration_us(ack.smoothed_rtt_ns),
            minimum_rtt_us: duration_us(ack.min_rtt_ns),
            tsval: ack.peer_clock().unwrap_or(0),
            acked: ack.acked,
            in_flight: ack.in_flight,
            cwnd: whole_packets(window.cwnd),
            ssthresh: whole_packets(window.ssthresh),
            has_timestamp: ack.peer_clock().is_some(),
            ca_state: ack.ca_state,
            cwnd_limited: ack.cwnd_limited,
        };
        self.policy.sample(&policy_ack);
        if ack.may_grow {
            apply(
                policy_ack.cwnd,
                self.policy.on_sampled_ack(&policy_ack),
                window,
            );
        }
    }

    fn uses_flight_samples(&self) -> bool {
        false
    }

    fn depends_on_marks(&self) -> bool {
        P::DEPENDS_ON_MARKS
    }

    fn on_loss(&mut self, congestion: &Congestion, window: &mut Window) {
        let cwnd = whole_packets(window.cwnd);
        window.ssthresh = self
            .policy
            .on_loss(cwnd, clock_us(congestion.now_ns))
            .into();
    }

    /// As in Linux, which calls `ssthresh` for a loss and an RTO.
    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window) {
        self.on_loss(congestion, window);
    }

    fn on_ecn_echo(&mut self, congestion: &Congestion, _in_profile: bool, window: &mut Window) {
        let policy_ack = tcplp::Ack {
            now_us: clock_us(congestion.now_ns),
            smoothed_rtt_us: duration_us(congestion.smoothed_rtt_ns),
            in_flight: congestion.in_flight,
            cwnd: whole_packets(window.cwnd),
            ssthresh: whole_packets(window.ssthresh),
            ..tcplp::Ack::default()
        };
        match self.policy.on_ecn_echo(&policy_ack) {
            Some(wanted) => apply(policy_ack.cwnd, wanted, window),
            None => {
                self.on_loss(congestion, window);
                window.cwnd = window.ssthresh;
            }
        }
    }

    fn on_restart(&mut self, _now_ns: u64, _window: &mut Window) {
        self.policy.on_restart();
    }

    fn pacing_interval_ns(&self, window: &Window, smoothed_rtt_ns: u64) -> Option<u64> {
        let cwnd = whole_packets(window.cwnd);
        match self.policy.pause_us(cwnd, duration_us(smoothed_rtt_ns)) {
            0 => None,
            pause_us => Some(u64::from(pause_us) * 1000),
        }
    }

    fn report(&self) -> Option<Report> {
        Some(*self.policy.report())
    }
}

/// Declares a policy by its type's name and its functions of `native.c`, the last of which, where marks are its indication of
/// congestion and more to it than losses, returns the window after a mark. The file that invokes it has a `REGISTRATION`.
macro_rules! delay_policy {
    ($(#[$doc:meta])* $name:ident, $init:ident, $sample:ident, $on_ack:ident, $on_loss:ident, $pause_us:ident,
     $on_restart:ident $(, $on_mark:ident)?) => {
        unsafe extern "C" {
            fn $init(state: *mut crate::state::State, wanted: *const netnice_parameters::exchange::Parameters);
            fn $sample(state: *mut crate::state::State, ack: *const crate::tcplp::Ack);
            fn $on_ack(state: *mut crate::state::State, ack: *const crate::tcplp::Ack) -> u32;
            fn $on_loss(state: *mut crate::state::State, cwnd: u32, now_us: u32) -> u32;
            fn $pause_us(state: *const crate::state::State, cwnd: u32, smoothed_rtt_us: u32) -> u32;
            fn $on_restart(state: *mut crate::state::State);
            $(fn $on_mark(state: *mut crate::state::State, ack: *const crate::tcplp::Ack) -> u32;)?
        }

        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(crate::state::State);

        impl $name {
            /// Creates the state of a new connection.
            pub fn new(parameters: &netnice_parameters::exchange::Parameters) -> Self {
                let mut state = crate::state::State::zeroed();
                // SAFETY: the state is zeroed and as large as any policy's.
                unsafe { $init(&mut state, parameters) };
                Self(state)
            }

            /// Samples the delay of an ACK.
            pub fn sample(&mut self, ack: &crate::tcplp::Ack) {
                // SAFETY: the state was initialised by `new`; the call only touches state and ack.
                unsafe { $sample(&mut self.0, ack) };
            }

            /// Returns the window in packets after an ACK that has been sampled; a smaller one is also the new
            /// ssthresh.
            pub fn on_sampled_ack(&mut self, ack: &crate::tcplp::Ack) -> u32 {
                // SAFETY: as above.
                unsafe { $on_ack(&mut self.0, ack) }
            }

            /// Returns the new ssthresh in packets after a loss.
            pub fn on_loss(&mut self, cwnd: u32, now_us: u32) -> u32 {
                // SAFETY: as above.
                unsafe { $on_loss(&mut self.0, cwnd, now_us) }
            }

            /// Returns the microseconds between packets if the window is below one packet, otherwise 0.
            pub fn pause_us(&self, cwnd: u32, smoothed_rtt_us: u32) -> u32 {
                // SAFETY: as above.
                unsafe { $pause_us(&self.0, cwnd, smoothed_rtt_us) }
            }

            /// Called when sending restarts after an idle period.
            pub fn on_restart(&mut self) {
                // SAFETY: as above.
                unsafe { $on_restart(&mut self.0) }
            }

            /// The report of the policy.
            pub fn report(&self) -> &netnice_parameters::exchange::Report {
                &self.0.report
            }
        }

        impl crate::controls::delay_policy::Policy for $name {
            const NAME: &'static str = REGISTRATION.name;

            fn sample(&mut self, ack: &crate::tcplp::Ack) {
                $name::sample(self, ack);
            }

            fn on_sampled_ack(&mut self, ack: &crate::tcplp::Ack) -> u32 {
                $name::on_sampled_ack(self, ack)
            }

            $(
                const DEPENDS_ON_MARKS: bool = true;

                fn on_ecn_echo(&mut self, ack: &crate::tcplp::Ack) -> Option<u32> {
                    // SAFETY: the state was initialised by `new`; the call only touches state and ack.
                    Some(unsafe { $on_mark(&mut self.0, ack) })
                }
            )?

            fn on_loss(&mut self, cwnd: u32, now_us: u32) -> u32 {
                $name::on_loss(self, cwnd, now_us)
            }

            fn pause_us(&self, cwnd: u32, smoothed_rtt_us: u32) -> u32 {
                $name::pause_us(self, cwnd, smoothed_rtt_us)
            }

            fn on_restart(&mut self) {
                $name::on_restart(self);
            }

            fn report(&self) -> &netnice_parameters::exchange::Report {
                $name::report(self)
            }
        }
    };
}

pub(crate) use delay_policy;
