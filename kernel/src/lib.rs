// SPDX-License-Identifier: MIT OR Apache-2.0
//! Low priority on the running kernel: the BPF congestion controls, where they are kept between
//! calls, and how they are put on cgroups, processes and sockets.

pub mod control;
mod error;
mod objects;
pub mod pins;
pub mod release;

pub use error::{Error, Result};
