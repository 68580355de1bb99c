// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cgroups: the hierarchy, the BPF programs attached to a cgroup, and processes and sockets made in one.

pub mod attachment;
pub mod carriers;
pub(crate) mod fork;
pub mod hierarchy;
pub(crate) mod interfaces;
pub(crate) mod link;
pub mod others;
pub mod paths;
mod programs;
