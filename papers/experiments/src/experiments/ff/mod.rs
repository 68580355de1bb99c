// SPDX-License-Identifier: MIT OR Apache-2.0
//! "TCP-LP: Fair and Friendly Congestion Control Approach": TCP-LP beside Reno and Vegas.

mod common;
pub(super) mod f3_f5;
pub(super) mod f6_f7;
pub(super) mod t3;
pub(super) mod t4;
