// SPDX-License-Identifier: MIT OR Apache-2.0
//! LEDBAT at the receiving end: `policies/ledbat.h` sets the window from one-way delays of the data.

use super::arrivals::{Delay, PolicyReceiver, receiver_functions};
use super::interface::Registration;

pub(crate) const REGISTRATION: Registration = Registration {
    name: "ledbat",
    summary: "LEDBAT by the one-way delays of the data that arrive (RFC 6817)",
    in_kernel: false,
    without_timestamps: false,
    of_senders: &[],
    open: |parameters, opening| {
        let functions = receiver_functions!(
            native_ledbat_receiver_init,
            native_ledbat_receiver_window,
            native_ledbat_receiver_time,
            native_ledbat_receiver_clamp_bytes
        );
        Box::new(PolicyReceiver::new(
            functions,
            parameters,
            Delay::OneWay,
            &opening,
        ))
    },
};
