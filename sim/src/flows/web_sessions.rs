// SPDX-License-Identifier: MIT OR Apache-2.0
//! Web sessions at work.

use std::collections::HashMap;

use netnice_scenario::network::UnloadedPath;

use crate::traffic::Session;

/// A session and its flow.
#[derive(Debug)]
pub(crate) struct SessionState {
    pub session: Session,
    pub flow: u32,
    /// Only of flows whose slowdown is measured.
    pub unloaded: Option<Box<Unloaded>>,
}

/// The times that transfers take with nobody else on their paths.
#[derive(Debug)]
pub(crate) struct Unloaded {
    /// For each client the paths from each server.
    pub paths: Vec<Vec<UnloadedPath>>,
    /// For each connection, the time of its transfer in nanoseconds.
    pub pending_ns: HashMap<u32, u64>,
}
