// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packet traces of links.

pub(crate) mod captures;
pub(crate) mod decisions;
pub(crate) mod events;
pub(crate) mod headers;
pub(crate) mod link_capture;
#[cfg(test)]
pub(crate) mod memory;
pub(crate) mod merged;
pub(crate) mod pcapng;
