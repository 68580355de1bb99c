// SPDX-License-Identifier: MIT OR Apache-2.0
//! A packet-level simulator of TCP: virtual time, deterministic to the byte for a seed.

mod capture;
mod connection;
mod error;
mod event_queue;
mod flow;
mod flow_state;
mod link_state;
pub mod measure;
mod network;
mod packet;
pub mod random;
mod route;
mod sampling;
mod setup;
mod simulation;
pub mod tcp;
pub mod traffic;
mod web_sessions;

pub use capture::Capture;
pub use error::BuildError;
pub use flow::{FlowId, FlowSpec, MakeControl, Path, Program, TcpSpec};
pub use network::{LinkId, LinkSpec, Network, NodeId, Queue};
pub use packet::{Marks, Packet};
pub use simulation::{RunOptions, Simulation};
