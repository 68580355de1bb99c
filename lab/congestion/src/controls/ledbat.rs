// SPDX-License-Identifier: MIT OR Apache-2.0
//! LEDBAT: `policies/ledbat.h`, called as in the kernel.

use crate::congestion_control::Registration;
use crate::controls::delay_policy::{PolicyControl, delay_policy};
use netnice_parameters::policies::LEDBAT;

pub(crate) const REGISTRATION: Registration = Registration {
    name: LEDBAT.name,
    summary: LEDBAT.summary,
    build: |settings| {
        Box::new(PolicyControl::new(Ledbat::new(
            &settings.policy_parameters(),
        )))
    },
};

delay_policy!(
    /// The state of one connection under LEDBAT.
    Ledbat,
    native_ledbat_init,
    native_ledbat_sample,
    native_ledbat_on_ack,
    native_ledbat_on_loss,
    native_ledbat_pause_us,
    native_ledbat_on_restart
);
