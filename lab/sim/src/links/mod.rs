// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nodes, links and routes.

pub(crate) mod drop_tail;
pub(crate) mod groups;
pub(crate) mod network;
pub(crate) mod routes;
pub(crate) mod state;
mod transmission;
