// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP-LP in the Linux kernel: testbed and wide-area experiments.

pub(super) mod aggregation;
mod common;
pub(super) mod fairness;
pub(super) mod options;
pub(super) mod square_wave;
pub(super) mod wide_area;
