// SPDX-License-Identifier: MIT OR Apache-2.0
//! The congestion controls, one file for each. [`crate::registry`] creates them by name.

pub mod bbr;
pub mod bbr3;
pub mod cubic;
pub mod dctcp;
pub(crate) mod delay_policy;
pub mod dstcp;
pub mod highspeed;
pub mod hstcplp;
mod hystart;
pub mod ledbat;
pub mod ledbatpp;
mod linux_cubic;
mod linux_reno;
mod linux_window;
pub(crate) mod low_priority;
pub mod netnice;
pub mod prague;
pub mod reno;
mod round;
pub mod tcplp;
pub mod tcplp_ecn;
pub mod tcpnice;
pub mod vegas;
mod windowed_max;
