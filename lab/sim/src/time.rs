// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time that never comes.

use netnice_queue::Time;

/// A time that never comes.
pub(crate) const NEVER: Time = Time::from_nanos(NEVER_NS);
/// [`NEVER`] in nanoseconds.
pub(crate) const NEVER_NS: u64 = u64::MAX;
