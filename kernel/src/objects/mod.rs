// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiled BPF objects: loading them, registering congestion controls, and pinning.

mod compiled;
pub mod control;
pub mod parameters;
pub mod pin_directory;
pub(crate) mod programs;
pub(crate) mod shared_map;
