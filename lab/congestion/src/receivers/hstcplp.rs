// SPDX-License-Identifier: MIT OR Apache-2.0
//! HSTCP-LP at the receiving end: `policies/hstcplp.h` sets the window from one-way delays of the data.

use super::arrivals::{Delay, PolicyReceiver, receiver_functions};
use super::interface::Registration;

pub(crate) const REGISTRATION: Registration = Registration {
    name: "hstcplp",
    summary: "HSTCP-LP by the one-way delays of the data that arrive (Kuzmanovic, Knightly and Cottrell)",
    in_kernel: true,
    without_timestamps: true,
    of_senders: &["minimum_cwnd"],
    open: |parameters, opening| {
        let functions = receiver_functions!(
            native_hstcplp_receiver_init,
            native_hstcplp_receiver_window,
            native_hstcplp_receiver_time,
            native_hstcplp_receiver_clamp_bytes
        );
        Box::new(PolicyReceiver::new(
            functions,
            parameters,
            Delay::OneWay,
            &opening,
        ))
    },
};
