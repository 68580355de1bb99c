// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hash that tells one version of a BPF object from another; `build.rs` has this file, too.

/// Returns the FNV-1a hash.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
