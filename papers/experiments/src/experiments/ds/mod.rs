// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fang and Peterson, "TCP Mechanisms for Diff-Serv Architecture".

mod common;
pub(super) mod f3;
mod phases;
pub(super) mod precedence;
pub(super) mod t1;
pub(super) mod t3;
pub(super) mod t4;
pub(super) mod t6;
pub(super) mod tagging;
