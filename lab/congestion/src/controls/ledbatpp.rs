// SPDX-License-Identifier: MIT OR Apache-2.0
//! LEDBAT++: `policies/ledbatpp.h`, called as in the kernel.

use crate::congestion_control::Registration;
use crate::controls::delay_policy::{PolicyControl, delay_policy};
use netnice_parameters::policies::LEDBATPP;

pub(crate) const REGISTRATION: Registration = Registration {
    name: LEDBATPP.name,
    summary: LEDBATPP.summary,
    build: |settings| {
        Box::new(PolicyControl::new(LedbatPp::new(
            &settings.policy_parameters(),
        )))
    },
};

delay_policy!(
    /// The state of one connection under LEDBAT++.
    LedbatPp,
    native_ledbatpp_init,
    native_ledbatpp_sample,
    native_ledbatpp_on_ack,
    native_ledbatpp_on_loss,
    native_ledbatpp_pause_us,
    native_ledbatpp_on_restart
);
