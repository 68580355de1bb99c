// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a group transfers over UDP: until it does, nothing is loaded for that, and nothing made. The program for uTP counts
//! the packets that leave, also those that only acknowledge.

use std::time::{Duration, Instant};

use libbpf_rs::MapHandle;

use crate::objects::pin_directory::PinDirectory;
use crate::sockets::storage;

/// Between looks.
pub(crate) const LOOK: Duration = Duration::from_millis(500);
/// Packets from one look to the next, as from a download of some 0.3 Mb/s with an acknowledgement for two packets.
const PACKETS: u64 = 8;
/// Looks in a row with so many: the questions to DNS before a transfer are not one.
const LOOKS: u32 = 2;

/// State of the watch over one group's UDP.
pub(crate) struct Watch {
    group: u64,
    /// The map of sums stays open, once it is found: another version may pin its own there.
    holds: bool,
    sums: Option<MapHandle>,
    looked: Instant,
    packets: u64,
    busy: u32,
}

impl Watch {
    /// Begins to watch; `holds` permits to keep a map of the kernel's open between looks.
    pub(crate) fn new(group: u64, holds: bool) -> Self {
        Self {
            group,
            holds,
            sums: None,
            looked: Instant::now(),
            packets: 0,
            busy: 0,
        }
    }

    /// Looks if it is time to. Returns true at a look that finds a transfer.
    pub(crate) fn finds_transfer(&mut self, pins: &PinDirectory) -> bool {
        if self.looked.elapsed() < LOOK {
            return false;
        }
        self.looked = Instant::now();
        let packets = self.packets_sent(pins).unwrap_or_default();
        self.count(packets)
    }

    fn packets_sent(&mut self, pins: &PinDirectory) -> Option<u64> {
        if self.sums.is_none() {
            self.sums = storage::open_totals(pins).ok();
        }
        let found = storage::totals_in(self.sums.as_ref()?, self.group);
        if found.is_none() || !self.holds {
            self.sums = None;
        }
        found.map(|totals| totals.udp_packets_sent)
    }

    fn count(&mut self, packets: u64) -> bool {
        let since = packets.saturating_sub(self.packets);
        self.packets = packets;
        self.busy = if since >= PACKETS { self.busy + 1 } else { 0 };
        self.busy >= LOOKS
    }
}

#[cfg(test)]
mod tests {
    use super::Watch;

    #[test]
    fn only_packets_that_go_on_are_a_transfer() {
        for (counts, transfers) in [
            (&[0, 0, 0, 0][..], false),
            (&[40, 41, 42, 42], false),
            (&[4, 8, 12, 16, 20], false),
            (&[40, 42, 80, 82], false),
            (&[0, 13, 26], true),
            (&[900, 2000], true),
        ] {
            let mut watch = Watch::new(1, false);
            let found = counts.iter().any(|count| watch.count(*count));
            assert_eq!(found, transfers, "{counts:?}");
        }
    }
}
