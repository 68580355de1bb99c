// SPDX-License-Identifier: MIT OR Apache-2.0
//! rLEDBAT (RFC 9840), with LEDBAT++ as its controller: `policy/ledbatpp.h` sets RLWND from round trips.

use super::Registration;
use super::arrivals::{Delay, PolicyReceiver};
use crate::controls::ledbatpp::LedbatPp;

pub(crate) const REGISTRATION: Registration = Registration {
    name: "rledbat",
    summary: "rLEDBAT with LEDBAT++: aims at a queueing delay, by round trips (RFC 9840)",
    in_kernel: false,
    without_timestamps: false,
    of_senders: &[],
    open: |parameters, opening| {
        Box::new(PolicyReceiver::new(
            LedbatPp::new(parameters),
            Delay::RoundTrip,
            &opening,
        ))
    },
};
