// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kuzmanovic and Knightly, "TCP-LP: A Distributed Algorithm for Low Priority Data Transfer", INFOCOM 2003.

mod common;
pub(super) mod f11;
pub(super) mod t1a;
pub(super) mod t1b;
