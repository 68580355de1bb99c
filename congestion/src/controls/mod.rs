// SPDX-License-Identifier: MIT OR Apache-2.0
//! The congestion controls, one file for each. [`crate::registry`] creates them by name.

pub mod reno;
