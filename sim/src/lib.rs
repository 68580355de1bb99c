// SPDX-License-Identifier: MIT OR Apache-2.0
//! A packet-level simulator of TCP: virtual time, deterministic to the byte for a seed.

mod ahead;
mod build;
mod calendar;
mod calendar_days;
mod capture;
mod connection;
mod conservation;
mod error;
mod event_queue;
mod flight;
mod flow;
mod flow_state;
mod heap;
mod huge_pages;
mod lanes;
mod link_kinds;
mod link_state;
pub mod measure;
mod network;
mod packet;
mod pipes;
pub mod random;
mod report;
mod route;
mod run;
mod sampling;
mod setup;
mod simulation;
pub mod tcp;
mod through;
mod timers;
mod tournament;
mod traces;
pub mod traffic;
mod web_sessions;

pub use capture::Capture;
pub use error::{BuildError, RunError};
pub use flow::{FlowId, FlowSpec, MakeControl, Path, Program, TcpSpec};
pub use network::{LinkId, LinkSpec, Network, NodeId, Queue};
pub use packet::{Marks, Packet};
pub use report::jain_index;
pub use run::{run, run_with_traces, simulation};
pub use simulation::{RunOptions, Simulation};
pub use traces::Traces;
