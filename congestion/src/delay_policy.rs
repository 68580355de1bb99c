// SPDX-License-Identifier: MIT OR Apache-2.0
//! The wrapper of policies in C that take TCP-LP's ACKs and set the window from delays.

/// Declares a policy by its type's name and its functions of `native.c`. The file that invokes it has a `REGISTRATION`.
macro_rules! delay_policy {
    ($(#[$doc:meta])* $name:ident, $init:ident, $sample:ident, $on_ack:ident, $on_loss:ident, $pause_us:ident,
     $on_restart:ident) => {
        unsafe extern "C" {
            fn $init(state: *mut crate::policy::State, wanted: *const crate::policy::Parameters);
            fn $sample(state: *mut crate::policy::State, ack: *const crate::tcplp::Ack);
            fn $on_ack(state: *mut crate::policy::State, ack: *const crate::tcplp::Ack) -> u32;
            fn $on_loss(state: *mut crate::policy::State, cwnd: u32, now_us: u32) -> u32;
            fn $pause_us(state: *const crate::policy::State, cwnd: u32, smoothed_rtt_us: u32) -> u32;
            fn $on_restart(state: *mut crate::policy::State);
        }

        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(crate::policy::State);

        impl $name {
            /// Creates the state of a new connection.
            pub fn new(parameters: &crate::policy::Parameters) -> Self {
                let mut state = crate::policy::State::zeroed();
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
            pub fn report(&self) -> &crate::policy::Report {
                &self.0.report
            }
        }

        impl crate::controls::tcplp::Policy for $name {
            const NAME: &'static str = REGISTRATION.name;

            fn sample(&mut self, ack: &crate::tcplp::Ack) {
                $name::sample(self, ack);
            }

            fn on_sampled_ack(&mut self, ack: &crate::tcplp::Ack) -> u32 {
                $name::on_sampled_ack(self, ack)
            }

            fn on_loss(&mut self, cwnd: u32, now_us: u32) -> u32 {
                $name::on_loss(self, cwnd, now_us)
            }

            fn pause_us(&self, cwnd: u32, smoothed_rtt_us: u32) -> u32 {
                $name::pause_us(self, cwnd, smoothed_rtt_us)
            }

            fn on_restart(&mut self) {
                $name::on_restart(self);
            }

            fn report(&self) -> &crate::policy::Report {
                $name::report(self)
            }
        }
    };
}

pub(crate) use delay_policy;
