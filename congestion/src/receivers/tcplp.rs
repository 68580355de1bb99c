// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP-LP at the receiving end: `policy/tcplp.h` sets the window from one-way delays of the data.

use super::Registration;
use super::arrivals::{Delay, PolicyReceiver};
use crate::controls::tcplp::TcpLp;

pub(crate) const REGISTRATION: Registration = Registration {
    name: "tcplp",
    summary: "TCP-LP by the one-way delays of the data that arrive (Kuzmanovic and Knightly 2003)",
    in_kernel: false,
    without_timestamps: false,
    of_senders: &["minimum_cwnd"],
    open: |parameters, opening| {
        Box::new(PolicyReceiver::new(
            TcpLp::new(parameters),
            Delay::OneWay,
            &opening,
        ))
    },
};
