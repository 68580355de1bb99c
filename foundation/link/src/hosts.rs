// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network namespaces as hosts at the ends of links: their loopback device, their TUN device's queue, their buffers.

use std::fs;

use crate::error::{Attempted, LinkError};
use crate::netlink::Netlink;

/// Packets that may wait unread in a device; more than any burst that a stalled link must survive.
pub const DEVICE_QUEUE: u32 = 20_000;

/// Brings the loopback device of the calling thread's namespace up.
pub fn set_up_loopback(netlink: &Netlink) -> Result<(), LinkError> {
    let index = nix::net::if_::if_nametoindex("lo").attempted("find the loopback device")?;
    netlink
        .bring_up(index, None)
        .attempted("bring the loopback device up")
}

/// Lets TCP's sockets in the calling thread's namespace, which is ours, buffer what fills a path with so many bytes in
/// flight, so that the path and not the hosts is the bottleneck.
pub fn raise_buffers(in_flight: u64) {
    // Four times: the kernel counts its own overhead, and retransmissions keep data longer.
    let limit = in_flight.saturating_mul(4).min(1 << 30);
    for setting in ["tcp_rmem", "tcp_wmem"] {
        let path = format!("/proc/sys/net/ipv4/{setting}");
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let values: Vec<u64> = text
            .split_whitespace()
            .filter_map(|value| value.parse().ok())
            .collect();
        match values[..] {
            // Best effort: where /proc/sys is read-only, long fat links are limited by the hosts.
            [min, default, max] if max < limit => {
                drop(fs::write(&path, format!("{min} {default} {limit}")))
            }
            _ => {}
        }
    }
}
