// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packet traces of links.

pub(crate) mod capture;
pub(crate) mod captures;
pub(crate) mod events;
#[cfg(test)]
pub(crate) mod memory;
