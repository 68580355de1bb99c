// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows, their connections and their web sessions.

pub(crate) mod bodies;
pub(crate) mod connection;
pub(crate) mod spec;
pub(crate) mod state;
pub(crate) mod web_sessions;
