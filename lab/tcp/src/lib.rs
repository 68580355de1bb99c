// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP endpoints without I/O: segments and the time go in, segments come out.
//!
//! Data flow one way, from a [`Sender`] to a [`Receiver`]. After every call that changes an end, the caller calls
//! `poll_transmit` until it returns `None`, then `next_timer`, and `on_timer` when that time has come. A timer may
//! have moved to a later time since: an early call of `on_timer` does nothing.

mod clock;
mod config;
pub mod prefetch;
mod ranges;
mod receiver;
mod segment;
mod sender;
mod timeout;

pub use clock::Clock;
pub use config::{DelayedAck, Opener, ReceiverConfig, Recovery, SenderConfig, TimeoutConfig};
pub use receiver::{LARGEST_GOVERNED_WINDOW, LowPriority, Mark, Receiver, ReceiverStatistics};
pub use segment::{Flags, NO_SACK, SackBlock, Segment};
pub use sender::{Sender, SenderState, SenderStatistics};

/// A time that never comes, in nanoseconds.
const NEVER_NS: u64 = netnice_queue::Time::NEVER.as_nanos();
