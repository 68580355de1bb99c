// SPDX-License-Identifier: MIT OR Apache-2.0
//! Low priority on the running kernel.
//!
//! Each folder uses only those above it (`tools/layout.toml`):
//!
//! | folder | role |
//! | --- | --- |
//! | `objects/` | the compiled BPF objects: loading, registering, pinning; parameters |
//! | `sockets/` | one socket: options, the records beside it, its congestion control; lists of connections |
//! | `cgroup/` | the cgroup2 hierarchy; attaching programs to a cgroup; processes and sockets in one |
//! | `runtime/` | what outlives a call: shares in the pins, the journal of cgroups, processes in the background |
//! | `supervisor/` | low priority by a seccomp filter, without root |
//!
//! The commands stand on all of these: [`run`] and [`promise`], [`renice`], [`attach`] with `elsewhere`, [`receiving`] and [`diagnostics`].

pub mod abi;
pub mod attach;
pub mod cgroup;
pub mod diagnostics;
mod elsewhere;
mod error;
pub mod features;
mod libbpf_log;
pub mod locked_file;
pub mod objects;
pub mod promise;
pub mod receiving;
pub mod release;
pub mod renice;
pub mod run;
pub mod runtime;
pub mod settings;
pub mod sockets;
mod supervisor;
pub mod systemd;
mod udp;

pub use cgroup::{attachment, others};
pub use error::{Error, Result, need_root};
pub use objects::{control, parameters};
pub use runtime::{background, journal, pins};
pub use sockets::{connections, decisions, handed_in, process};
