// SPDX-License-Identifier: MIT OR Apache-2.0
//! LEDBAT: `policy/ledbat.h`, called as in the kernel.

use crate::control::Registration;
use crate::controls::delay_policy::{PolicyControl, delay_policy};

pub(crate) const REGISTRATION: Registration = Registration {
    name: "ledbat",
    summary: "LEDBAT: a queue of its own of at most 100 ms by one-way delays (RFC 6817)",
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
