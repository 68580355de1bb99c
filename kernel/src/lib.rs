// SPDX-License-Identifier: MIT OR Apache-2.0
//! Low priority on the running kernel: the BPF congestion controls, where they are kept between
//! calls, and how they are put on cgroups, processes and sockets.

pub mod attach;
pub mod background;
pub mod capability;
pub mod cgroup;
mod cgroup_programs;
pub mod connections;
pub mod control;
mod error;
pub mod flow;
mod objects;
pub mod parameters;
pub mod pins;
pub mod placement;
pub mod process;
mod programs;
pub mod records;
pub mod release;
pub mod renice;
pub mod run;
mod shared_map;
mod socket;
mod supervisor;

pub use error::{Error, Result};
