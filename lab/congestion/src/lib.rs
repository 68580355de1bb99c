// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion controls for simulation: the policies compiled natively, Reno, CUBIC, BBR and others, and controls from C files.
//!
//! The deployable algorithms are written once, as integer C in `policies/`: the BPF congestion controls include those
//! files, and this crate compiles the same files natively. They do no I/O and take the time as an argument, so that the
//! kernel runs the code that is tested and simulated.

mod above_floor;
pub mod congestion_control;
pub mod control_file;
pub mod control_interface;
pub mod controls;
pub mod decisions;
pub mod dstcp;
pub mod floor;
pub mod netnice;
pub mod netnice_receiver;
pub mod receivers;
pub mod registry;
mod state;
pub mod tcplp;
pub mod utp;
