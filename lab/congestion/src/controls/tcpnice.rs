// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP Nice: `policies/tcpnice.h`, called as in the kernel.

use crate::congestion_control::Registration;
use crate::controls::delay_policy::{PolicyControl, delay_policy};
use netnice_parameters::policies::TCPNICE;

pub(crate) const REGISTRATION: Registration = Registration {
    name: TCPNICE.name,
    summary: TCPNICE.summary,
    build: |settings| {
        Box::new(PolicyControl::new(TcpNice::new(
            &settings.policy_parameters(),
        )))
    },
};

delay_policy!(
    /// The state of one connection under TCP Nice.
    TcpNice,
    native_tcpnice_init,
    native_tcpnice_sample,
    native_tcpnice_on_ack,
    native_tcpnice_on_loss,
    native_tcpnice_pause_us,
    native_tcpnice_on_restart
);
