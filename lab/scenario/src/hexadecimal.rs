// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hashes in text form.

/// Two hexadecimal digits for each byte.
pub fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
