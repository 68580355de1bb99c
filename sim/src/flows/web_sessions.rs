// SPDX-License-Identifier: MIT OR Apache-2.0
//! Web sessions at work.

use std::collections::HashMap;

use crate::traffic::Session;

/// A session and its flow.
#[derive(Debug)]
pub(crate) struct SessionState {
    pub session: Session,
    pub flow: u32,
    /// For each connection, the time in nanoseconds that its transfer takes with nobody else on the path; only of flows whose
    /// slowdown is measured.
    pub unloaded_ns: HashMap<u32, u64>,
}
