// SPDX-License-Identifier: MIT OR Apache-2.0
//! A packet-level simulator of TCP: virtual time, deterministic to the byte for a seed.

pub mod tcp;
