// SPDX-License-Identifier: MIT OR Apache-2.0
// What the source tree needs in addition to `lab/examples/extension/src/gentle.rs`.

use crate::congestion_control::Registration;

pub(crate) const REGISTRATION: Registration = Registration {
    name: "gentle",
    summary: "additive increase of a quarter of a packet each round trip, halving at a loss",
    build: |_settings| Box::new(Gentle),
};
