// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP sockets: their options, the records that BPF programs keep for them, their congestion control, the processes
//! that have them open, and lists of connections.

pub mod connections;
pub mod decisions;
pub(crate) mod governance;
pub mod handed_in;
pub(crate) mod options;
pub mod process;
pub(crate) mod storage;
