// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP endpoints without I/O: told the time, they take segments in and give segments out.

mod segment;

pub use segment::{Flags, SackBlock, Segment};
