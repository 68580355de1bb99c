// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kuzmanovic, Knightly and Cottrell, "HSTCP-LP: A Protocol for Low-Priority Bulk Data Transfer in High-Speed High-RTT
//! Networks" (slides).

mod common;
pub(super) mod hs1;
pub(super) mod hs2;
pub(super) mod hs3;
pub(super) mod hs4;
pub(super) mod hs5;
