// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP-LP at the receiving end: `policies/tcplp.h` sets the window from one-way delays of the data.

use super::arrivals::{Delay, PolicyReceiver, receiver_functions};
use super::interface::Registration;

pub(crate) const REGISTRATION: Registration = Registration {
    name: "tcplp",
    summary: "TCP-LP by the one-way delays of the data that arrive (Kuzmanovic and Knightly 2003)",
    in_kernel: true,
    without_timestamps: true,
    of_senders: &["minimum_cwnd"],
    open: |parameters, opening| {
        let functions = receiver_functions!(
            native_tcplp_receiver_init,
            native_tcplp_receiver_window,
            native_tcplp_receiver_time,
            native_tcplp_receiver_clamp_bytes
        );
        Box::new(PolicyReceiver::new(
            functions,
            parameters,
            Delay::OneWay,
            &opening,
        ))
    },
};
