// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kuzmanovic and Knightly, "TCP-LP: A Distributed Algorithm for Low Priority Data Transfer", INFOCOM 2003.

pub(super) mod clock;
mod common;
pub(super) mod f10;
pub(super) mod f11;
pub(super) mod f12;
pub(super) mod f13;
pub(super) mod f14;
pub(super) mod f15;
pub(super) mod f17;
pub(super) mod f18;
pub(super) mod f20;
pub(super) mod f21;
pub(super) mod f6;
pub(super) mod f7;
pub(super) mod f8;
pub(super) mod mirrors;
pub(super) mod parameters;
pub(super) mod t1a;
pub(super) mod t1b;
mod threshold;
mod web;
