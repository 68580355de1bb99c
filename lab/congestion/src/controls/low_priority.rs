// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions for the wrappers of the C policies: the policies' units are whole packets and microseconds.

/// Converts to a policy's clock: microseconds that wrap.
pub(super) fn clock_us(now_ns: u64) -> u32 {
    (now_ns / 1000) as u32
}

/// Converts to a policy's durations: microseconds.
pub(crate) fn duration_us(duration_ns: u64) -> u32 {
    u32::try_from(duration_ns / 1000).unwrap_or(u32::MAX)
}

/// Converts a round-trip time; 0 means unknown.
pub(crate) fn sample_us(rtt_ns: Option<u64>) -> u32 {
    rtt_ns.map_or(0, |rtt_ns| duration_us(rtt_ns).max(1))
}

/// Converts to whole packets, at least one. An infinite `ssthresh` becomes the largest number.
pub(crate) fn whole_packets(window: f64) -> u32 {
    (window as u32).max(1)
}
