// SPDX-License-Identifier: MIT OR Apache-2.0
//! State that outlives one call: shares in `/run/netnice`, the journal of cgroups, and processes in the
//! background.

pub mod background;
pub(crate) mod guard;
pub mod journal;
pub(crate) mod keepers;
pub(crate) mod log;
pub mod pins;
