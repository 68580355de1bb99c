// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP-LP: `policies/tcplp.h`, called as in the kernel.

use crate::congestion_control::Registration;
use crate::controls::delay_policy::{PolicyControl, delay_policy};
use crate::tcplp;
use netnice_parameters::policies::TCPLP;

pub(crate) const REGISTRATION: Registration = Registration {
    name: TCPLP.name,
    summary: TCPLP.summary,
    build: |settings| {
        Box::new(PolicyControl::new(TcpLp::new(
            &settings.policy_parameters(),
        )))
    },
};

delay_policy!(
    /// The state of one connection under TCP-LP.
    TcpLp,
    native_tcplp_init,
    native_tcplp_sample,
    native_tcplp_on_ack,
    native_tcplp_on_loss,
    native_tcplp_pause_us,
    native_tcplp_on_restart
);

impl TcpLp {
    /// Samples the delay of an ACK of new data and returns the new cwnd in packets; a smaller one is also the new
    /// ssthresh, or slow start would undo it. In recovery, the loss recovery owns the window, which is returned
    /// unchanged.
    pub fn on_ack(&mut self, ack: &tcplp::Ack) -> u32 {
        self.sample(ack);
        if ack.ca_state.answers_congestion() {
            ack.cwnd
        } else {
            self.on_sampled_ack(ack)
        }
    }
}
