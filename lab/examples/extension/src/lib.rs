// SPDX-License-Identifier: MIT OR Apache-2.0
//! A queue discipline, a congestion control and a traffic source for netnice's simulator, a file each.

pub mod bursts;
pub mod drop_head;
pub mod gentle;
