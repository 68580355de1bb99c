// SPDX-License-Identifier: MIT OR Apache-2.0
//! A packet-level simulator of TCP: virtual time, deterministic to the byte for a seed.

mod error;
mod event_queue;
mod flow;
pub mod measure;
mod network;
mod packet;
pub mod random;
mod route;
mod simulation;
pub mod tcp;
pub mod traffic;

pub use error::BuildError;
pub use flow::{FlowId, FlowSpec, Transport};
pub use network::{LinkId, LinkSpec, Network, NodeId, Queue};
pub use packet::{Marks, Packet};
pub use simulation::{RunOptions, Simulation};
