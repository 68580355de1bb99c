// SPDX-License-Identifier: MIT OR Apache-2.0
//! Web sessions at work.

use crate::traffic::Session;

/// A session, its flow and its client.
#[derive(Debug)]
pub(crate) struct SessionState {
    pub session: Session,
    pub flow: u32,
    pub client: u32,
}
