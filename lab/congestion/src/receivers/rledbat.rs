// SPDX-License-Identifier: MIT OR Apache-2.0
//! rLEDBAT (RFC 9840), with LEDBAT++ as its controller: `policies/ledbatpp.h` sets RLWND from round trips.

use super::arrivals::{Delay, PolicyReceiver, receiver_functions};
use super::interface::Registration;

pub(crate) const REGISTRATION: Registration = Registration {
    name: "rledbat",
    summary: "rLEDBAT with LEDBAT++: aims at a queueing delay, by round trips (RFC 9840)",
    in_kernel: false,
    without_timestamps: false,
    of_senders: &[],
    open: |parameters, opening| {
        let functions = receiver_functions!(
            native_ledbatpp_receiver_init,
            native_ledbatpp_receiver_window,
            native_ledbatpp_receiver_time,
            native_ledbatpp_receiver_clamp_bytes
        );
        Box::new(PolicyReceiver::new(
            functions,
            parameters,
            Delay::RoundTrip,
            &opening,
        ))
    },
};
