// SPDX-License-Identifier: MIT OR Apache-2.0
//! Paths with nobody else on them: the times that transfers would take there.

use std::time::Duration;

use netnice_queue::{Bytes, Rate};

use super::{Layout, NetworkFlow, NodeIndex};
use crate::model::Arrivals;

/// A path with nobody else on it.
///
/// A transfer's slowdown is its completion time divided by [`UnloadedPath::completion`]: 1 for one that is alone and waits for
/// no ACK, more for one that queues or whose window grows from small.
#[derive(Debug, Clone, PartialEq)]
pub struct UnloadedPath {
    /// Rate and propagation delay of each link from the sender to the receiver.
    links: Vec<(Option<Rate>, Duration)>,
    /// From the receiver's first packet to the moment at which the sender has the request.
    opening: Duration,
    /// Data and headers of a full packet, in bytes.
    mss: u64,
    headers: u64,
}

/// The time that one packet takes over `links`.
fn crossing(links: &[(Option<Rate>, Duration)], bytes: u64) -> Duration {
    let times = links
        .iter()
        .map(|&(rate, delay)| sending(rate, bytes) + delay);
    times.sum()
}

fn sending(rate: Option<Rate>, bytes: u64) -> Duration {
    rate.map_or(Duration::ZERO, |rate| rate.time_to_send(Bytes::new(bytes)))
}

impl Layout {
    /// For each client of a flow of arriving transfers the paths from each server.
    pub fn unloaded_paths(
        &self,
        flow: &NetworkFlow,
        arrivals: &Arrivals,
    ) -> Vec<Vec<UnloadedPath>> {
        let packets = (flow.group.packet_size, flow.group.header_size);
        let opening = (arrivals.request_size, flow.group.tcp.handshake);
        let clients = flow.receivers.iter().map(|&client| {
            let servers = flow.senders.iter();
            servers
                .filter_map(|&server| self.unloaded((server, client), packets, opening))
                .collect()
        });
        clients.collect()
    }

    /// The path from `sender` to `receiver` of data that the receiver asks for in a request of so many bytes, after a
    /// handshake or without; full packets have `packet` bytes, and each packet `headers` of them. `None` where there is no way.
    pub fn unloaded(
        &self,
        (sender, receiver): (NodeIndex, NodeIndex),
        (packet, headers): (Bytes, Bytes),
        (request, handshake): (Bytes, bool),
    ) -> Option<UnloadedPath> {
        let links = |from, to| -> Option<Vec<(Option<Rate>, Duration)>> {
            let path = self.path(from, to)?.into_iter();
            Some(
                path.map(|link| (self.links[link].rate, self.links[link].delay))
                    .collect(),
            )
        };
        let (there, back) = (links(sender, receiver)?, links(receiver, sender)?);
        let headers = headers.get();
        let asking = headers + request.get();
        Some(UnloadedPath {
            opening: match handshake {
                // The request carries the handshake's last ACK.
                true => {
                    crossing(&back, headers) + crossing(&there, headers) + crossing(&back, asking)
                }
                false => crossing(&back, asking),
            },
            links: there,
            mss: packet.get().saturating_sub(headers).max(1),
            headers,
        })
    }
}

impl UnloadedPath {
    /// The time from the receiver's first packet to the arrival of the last of `bytes` at it, if packets follow on one another:
    /// the handshake, the request, its ACK, and the data, stored and forwarded packet by packet.
    pub fn completion(&self, bytes: u64) -> Duration {
        let packets = bytes.div_ceil(self.mss).max(1);
        let last = bytes - (packets - 1) * self.mss + self.headers;
        let full = self.mss + self.headers;
        // Arrivals of the ACK and of the last packet at each link, and then at its end.
        let (mut ack, mut arrival) = (Duration::ZERO, Duration::ZERO);
        // Of the last full packet, when it has been sent on each link: it comes after the ACK on one of the links so far, and
        // those before it take turns on the slowest from there on. For each of these links: that time without these turns,
        // and the slowest.
        let mut behind: Vec<(Duration, Duration)> = Vec::with_capacity(self.links.len());
        let turns = u32::try_from(packets.saturating_sub(2)).unwrap_or(u32::MAX);
        for &(rate, delay) in &self.links {
            ack += sending(rate, self.headers);
            let mut free = ack;
            if packets > 1 {
                let sending = sending(rate, full);
                behind.push((ack, sending));
                for (sent, slowest) in &mut behind {
                    *sent += sending;
                    *slowest = sending.max(*slowest);
                    free = free.max(*sent + *slowest * turns);
                }
            }
            arrival = arrival.max(free) + sending(rate, last) + delay;
            // Propagation is the same for all packets.
            ack += delay;
            for (sent, _) in &mut behind {
                *sent += delay;
            }
        }
        self.opening + arrival
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(links: &[(&str, u64)]) -> UnloadedPath {
        let links = links.iter();
        UnloadedPath {
            links: links
                .map(|&(rate, delay)| (rate.parse().ok(), Duration::from_millis(delay)))
                .collect(),
            opening: Duration::from_millis(7),
            mss: 875,
            headers: 125,
        }
    }

    /// The time by passing each packet over each link.
    fn by_packets(path: &UnloadedPath, bytes: u64) -> Duration {
        let mut packets = vec![path.headers];
        packets.extend((0..bytes / path.mss).map(|_| path.mss + path.headers));
        if bytes % path.mss > 0 {
            packets.push(bytes % path.mss + path.headers);
        }
        let mut arrivals = vec![Duration::ZERO; packets.len()];
        for &(rate, delay) in &path.links {
            let mut free = Duration::ZERO;
            for (arrival, &bytes) in arrivals.iter_mut().zip(&packets) {
                free = free.max(*arrival) + sending(rate, bytes);
                *arrival = free + delay;
            }
        }
        path.opening + *arrivals.last().unwrap()
    }

    #[test]
    fn packets_follow_on_one_another() {
        // The ACK takes 1 ms, a packet of 1000 bytes 8 ms, and one of 500 bytes 4 ms.
        let one_link = path(&[("1mbit", 10)]);
        for (bytes, milliseconds) in [(375, 4), (875, 8), (2 * 875 + 375, 2 * 8 + 4)] {
            let by_hand = Duration::from_millis(7 + 1 + milliseconds + 10);
            assert_eq!(one_link.completion(bytes), by_hand, "{bytes}");
        }
    }

    #[test]
    fn the_slowest_link_spaces_the_packets() {
        // A full packet takes 2 ms and 8 ms; the ACK 0.25 ms and 1 ms. The first packet comes to the second link when the ACK
        // has left that.
        let path = path(&[("4mbit", 1), ("1mbit", 10), ("", 3)]);
        let by_hand =
            Duration::from_micros(7_000 + 250 + 2_000 + 1_000 + 3 * 8_000 + 4_000 + 13_000);
        assert_eq!(path.completion(3 * 875 + 375), by_hand);
    }

    proptest! {
        #[test]
        fn transfers_are_as_packet_by_packet(
            links in prop::collection::vec((1u64..100, 0u64..20), 1..6),
            bytes in 1u64..60_000,
        ) {
            let links: Vec<(String, u64)> = links
                .into_iter()
                .map(|(rate, delay)| (format!("{rate}mbit"), delay))
                .collect();
            let links: Vec<(&str, u64)> = links.iter().map(|(rate, delay)| (&**rate, *delay)).collect();
            let path = path(&links);
            prop_assert_eq!(path.completion(bytes), by_packets(&path, bytes));
        }
    }
}
