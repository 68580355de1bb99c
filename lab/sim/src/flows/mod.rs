// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows, their connections and their web sessions.

pub(crate) mod bodies;
pub(crate) mod connection;
pub(crate) mod path;
pub(crate) mod spec;
pub(crate) mod state;
pub(crate) mod streams;
pub(crate) mod web_paths;
pub(crate) mod web_sessions;

use crate::names::Names;
use bodies::Bodies;
use connection::Connections;
use state::FlowState;
use streams::Streams;
use web_sessions::SessionState;

/// The flows of a run, with all that belongs to them.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    pub all: Vec<FlowState>,
    pub names: Names,
    pub connections: Connections,
    pub sessions: Vec<SessionState>,
    /// Of the connections that have several.
    pub streams: Vec<Streams>,
    pub bodies: Bodies,
}

impl Flows {
    /// No flows, and room for so many.
    pub fn with_capacity(flows: usize) -> Flows {
        Flows {
            all: Vec::with_capacity(flows),
            connections: Connections::with_capacity(flows),
            ..Flows::default()
        }
    }
}
