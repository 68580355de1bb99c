// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gaps between ACKs: the link's rate, for a flow that never had it alone in a fair queue.

use super::*;

/// The handshake's round trip in microseconds, on a link of the flow's own rate. A full packet's is longer by its transmission.
const ALONE: u32 = MINIMUM_RTT_US - 2 * PACKET_US;
/// The same on a link of twice that rate.
const BESIDE_ANOTHER: u32 = MINIMUM_RTT_US - PACKET_US;

/// Gaps between ACKs of two packets beside another flow, in slots of one packet each.
const SLOTS: [u32; 8] = [4, 4, 4, 3, 4, 4, 5, 4];

impl Connection {
    fn with_handshake(rtt_us: u32) -> Self {
        let mut connection = Self::new(20);
        connection
            .control
            .on_handshake(Duration::from_micros(rtt_us.into()));
        connection
    }

    /// Acknowledges two packets that came a number of slots after the last ones, at half of the link's rate.
    fn step_after(&mut self, slots: u32, queue_us: u32) -> u32 {
        self.now_us += (slots - 2) * PACKET_US;
        let mut ack = self.ack(queue_us);
        ack.rate_interval_us = ack.rate_delivered * 2 * PACKET_US;
        self.cwnd = self.control.on_ack(&ack);
        self.cwnd
    }

    /// Has half of the link until six back-offs have passed, or it yields.
    fn has_half(&mut self) {
        for _ in 0..6 {
            for slots in SLOTS.repeat(8) {
                self.step_after(slots, 0);
                self.cwnd = 20;
            }
            while self.step_after(4, 6_000) >= 20 {}
            if self.phase() == Phase::Yielding {
                return;
            }
            self.cwnd = 20;
        }
    }

    /// Sends trains through a queue in which each packet takes two slots, and returns how many it took until it no longer yields.
    fn trains_until_return(&mut self, most: u32) -> u32 {
        for number in 0..most {
            if self.phase() != Phase::Yielding {
                return number;
            }
            self.train([2, 6, 10].map(|packets| packets * PACKET_US));
        }
        most
    }
}

#[test]
fn gaps_of_odd_slots_lead_to_trains() {
    let mut connection = Connection::with_handshake(BESIDE_ANOTHER);
    connection.has_half();
    assert_eq!(connection.phase(), Phase::Yielding);
    assert_eq!(connection.control.burst_packets(), 6);
}

#[test]
fn gaps_alike_or_at_random_show_no_slots() {
    // A slower link, alone: the gaps are two packets' time, or longer by anything.
    for longer_us in [0, 431] {
        let mut connection = Connection::with_handshake(BESIDE_ANOTHER);
        for number in 0..3_000 {
            connection.now_us += number * longer_us % 2_400;
            let queue_us = if number % 100 < 80 { 0 } else { 6_000 };
            connection.step_after(4, queue_us);
            connection.cwnd = 20;
            assert_eq!(
                connection.control.report().yields,
                0,
                "{longer_us}: {number}"
            );
        }
    }
}

#[test]
fn an_unknown_handshake_leaves_gaps_unused() {
    let mut connection = Connection::new(20);
    connection.has_half();
    assert_ne!(connection.phase(), Phase::Yielding);
}

#[test]
fn the_handshake_tells_a_fair_queue_from_a_slower_link() {
    // The same trains: 16 of them decide.
    let mut connection = Connection::with_handshake(BESIDE_ANOTHER);
    connection.has_half();
    assert_eq!(connection.trains_until_return(100), 100);

    let mut connection = Connection::with_handshake(ALONE);
    connection.has_half();
    assert_eq!(connection.trains_until_return(100), 16);
}

#[test]
fn a_slower_link_is_taken_for_a_fair_queue_more_rarely() {
    let mut connection = Connection::with_handshake(ALONE);
    connection.has_half();
    connection.trains_until_return(100);
    // Of back-offs one in eight counts now.
    connection.has_half();
    assert_eq!(connection.control.report().yields, 1);
}

#[test]
fn a_loss_ends_trains_for_a_rate_not_confirmed() {
    let mut connection = Connection::with_handshake(BESIDE_ANOTHER);
    connection.has_half();
    connection.train([2, 6, 10].map(|packets| packets * PACKET_US));
    assert_eq!(connection.phase(), Phase::Yielding);
    let ack = Ack {
        ca_state: CaState::Recovery,
        lost: 1,
        prior_delivered: connection.delivered,
        ..connection.ack(2 * PACKET_US)
    };
    connection.control.on_ack(&ack);
    assert_ne!(connection.phase(), Phase::Yielding);
}
