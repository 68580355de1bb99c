// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cgroups: the hierarchy, and the BPF programs attached to a cgroup.

pub mod attachment;
pub mod hierarchy;
pub mod paths;
mod programs;
