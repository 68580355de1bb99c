// SPDX-License-Identifier: MIT OR Apache-2.0
//! A packet-level simulator of TCP: virtual time, deterministic to the byte for a seed.
//!
//! `docs/simulator.md` describes the modules, and how a loss reaches the control.

mod engine;
mod error;
mod flows;
mod ids;
mod labels;
mod links;
mod lookahead;
pub mod measure;
mod names;
mod packet;
mod scenario;
mod simulation;
mod trace;
pub mod traffic;

pub use engine::options::{EngineOptions, SchedulerKind};
pub use error::{BuildError, RunError};
pub use flows::path::Path;
pub use flows::spec::{FlowSpec, MakeControl, Program, TcpSpec};
pub use flows::web_paths::WebPaths;
pub use ids::{FlowId, LinkId, NodeId};
pub use links::network::{LinkSpec, Network, Queue};
pub use netnice_queue::random;
pub use netnice_tcp as tcp;
pub use packet::{Marks, Packet};
pub use scenario::{
    DECISIONS_FILE, OutsideControls, Selection, Traces, run, run_laid_out,
    run_laid_out_with_traces, run_on, run_with_controls, run_with_traces, simulation,
};
pub use simulation::{RunOptions, Simulation};
pub use trace::captures::LinkCapture;
pub use trace::events::{EventSink, EventTrace, PacketAtLink};
pub use trace::link_capture::Capture;
pub use trace::merged::MergedCapture;
