// SPDX-License-Identifier: MIT OR Apache-2.0
//! Peers that acknowledge late, or what has not arrived.

use super::*;

/// Time for which the receiver waits for more data before it acknowledges.
const HOLD_US: u32 = 50_000;

impl Connection {
    /// Acknowledges the whole window at once.
    fn acknowledge_all(&mut self, queue_us: u32) -> u32 {
        self.probe(self.cwnd, Duration::from_millis(40), queue_us)
    }

    /// Acknowledges 16 packets of the window, which took 16 times a packet's time.
    fn acknowledge_16(&mut self, queue_us: u32) -> u32 {
        let mut ack = self.ack(queue_us);
        ack.acked = 16;
        ack.in_flight = self.cwnd.saturating_sub(16);
        self.delivered += 14;
        ack.delivered = self.delivered;
        ack.prior_delivered = self.delivered - self.cwnd.max(16);
        self.cwnd = self.control.on_ack(&ack);
        self.cwnd
    }
}

#[test]
fn an_ack_of_all_packets_that_was_held_is_no_sign_of_a_queue() {
    let mut connection = Connection::settled(12);
    for _ in 0..50 {
        assert_eq!(connection.acknowledge_all(HOLD_US).max(12), connection.cwnd);
        connection.cwnd = 12;
    }
    assert_eq!(connection.phase(), Phase::Avoidance);
    let threshold_us = connection.control.report().threshold_us;
    assert_eq!(threshold_us, PACKET_US * 3 / 2, "nor is it jitter");
}

#[test]
fn rare_acks_show_the_queue_of_others() {
    let mut connection = Connection::settled(40);
    let mut acks = 0;
    while connection.cwnd >= 16 {
        connection.acknowledge_16(20_000);
        acks += 1;
        assert!(acks < 40, "still at {}", connection.cwnd);
    }
}

#[test]
fn a_receiver_that_holds_no_acks_is_believed() {
    let after = |clean: u32| {
        let mut connection = Connection::settled(12);
        for _ in 0..clean {
            connection.acknowledge_all(0);
            connection.cwnd = 12;
        }
        for _ in 0..8 {
            connection.acknowledge_all(HOLD_US);
        }
        connection.phase()
    };
    assert_eq!(after(6), Phase::Avoidance);
    assert_eq!(after(7), Phase::Yielding);
}

#[test]
fn probes_whose_acks_are_held_do_not_keep_an_idle_path_idle() {
    let mut connection = Connection::yielding();
    let yields = connection.control.report().yields;
    // A delay that stands still for half a second is tried, after a train.
    for _ in 0..7 {
        assert_eq!(connection.phase(), Phase::Yielding);
        connection.probe(2, Duration::from_millis(100), HOLD_US);
    }
    assert_eq!(connection.phase(), Phase::SlowStart);
    // The window is now as large as what the receiver waits for.
    connection.cwnd = 32;
    for _ in 0..20 {
        connection.acknowledge_16(0);
    }
    assert!(connection.cwnd >= 32, "{}", connection.cwnd);
    assert_eq!(connection.control.report().yields, yields);
    // The smallest round trip is again that without the wait.
    for _ in 0..80 {
        connection.step(1_000);
        connection.cwnd = 32;
    }
    assert_eq!(connection.control.report().delay_over_minimum_us, 1_000);
}

#[test]
fn sacks_of_what_has_not_arrived_set_no_minimum() {
    let mut connection = Connection::settled(40);
    for _ in 0..20 {
        let mut ack = connection.ack(0);
        ack.sample_rtt_us = 2_000;
        ack.ca_state = CaState::Disorder;
        connection.cwnd = connection.control.on_ack(&ack);
    }
    assert_eq!(connection.usual(), 0);
}

#[test]
fn losses_beside_false_sacks_are_no_sign_of_others() {
    let phase = |doubtful: bool| {
        let mut connection = losses::never_indicated();
        connection.step(PACKET_US);
        if doubtful {
            let mut ack = connection.ack(0);
            ack.sample_rtt_us = MINIMUM_RTT_US / 2 - 1;
            ack.ca_state = CaState::Disorder;
            connection.cwnd = connection.control.on_ack(&ack);
        }
        lose(&mut connection, PACKET_US);
        connection.phase()
    };
    assert_eq!(phase(false), Phase::Yielding);
    assert_ne!(phase(true), Phase::Yielding);
}

#[test]
fn a_yielding_to_losses_that_were_none_is_taken_back() {
    let mut connection = losses::never_indicated();
    for _ in 0..20 {
        connection.step(PACKET_US);
    }
    let before = connection.cwnd;
    let mut ack = connection.ack(PACKET_US);
    ack.ca_state = CaState::Recovery;
    connection.control.on_ack(&ack);
    assert_eq!(connection.phase(), Phase::Yielding);
    connection.control.on_undo(before);
    assert_eq!(connection.phase(), Phase::SlowStart);
    // A third loss is now the first that no growth explains.
    connection.cwnd = before;
    connection.step(PACKET_US);
    lose(&mut connection, PACKET_US);
    assert_ne!(connection.phase(), Phase::Yielding);
}

#[test]
fn a_probe_that_was_not_lost_ends_no_yielding() {
    let mut connection = losses::never_indicated();
    lose(&mut connection, PACKET_US);
    assert_eq!(connection.phase(), Phase::Yielding);
    connection.control.on_undo(4);
    assert_eq!(connection.phase(), Phase::Yielding);
}

#[test]
fn an_ack_of_a_packet_far_from_the_next_is_a_delayed_one() {
    // Eleven packets over a second, and the same over 90 ms.
    for (back_us, delayed) in [(900_000, true), (10_000, false)] {
        let mut connection = Connection::settled(12);
        for _ in 0..8 {
            let ack = connection.ack_both_ways(0, 0);
            connection.control.on_ack(&ack);
            connection.cwnd = 12;
        }
        let mut smallest = 12;
        for _ in 0..100 {
            let mut ack = connection.ack_both_ways(40_000, back_us);
            ack.acked = 1;
            connection.delivered -= 1;
            ack.delivered -= 1;
            ack.prior_delivered -= 1;
            connection.cwnd = connection.control.on_ack(&ack);
            smallest = smallest.min(connection.cwnd);
        }
        assert_eq!(smallest >= 12, delayed, "{back_us}: {smallest}");
    }
}

impl Connection {
    /// Acknowledges the packets of a probe one by one, as a receiver does that delays no ACK after a silence, and before them the
    /// lone packet of a long pause.
    fn probe_with_quick_acks(&mut self, after: Duration, queues_us: [u32; 2]) {
        if self.control.burst_packets() == 1 {
            self.probe(1, after, queues_us[0]);
        }
        assert_eq!(self.control.burst_packets(), 2);
        self.now_us += after.as_micros() as u32;
        let sent = self.delivered;
        for (queue_us, in_flight) in queues_us.into_iter().zip([1, 0]) {
            let ack_of_two = self.ack(queue_us);
            self.now_us -= PACKET_US;
            self.delivered -= 1;
            let ack = Ack {
                now_us: self.now_us,
                acked: 1,
                in_flight,
                delivered: self.delivered,
                prior_delivered: sent,
                ..ack_of_two
            };
            self.cwnd = self.control.on_ack(&ack);
        }
    }
}

#[test]
fn quick_acks_of_a_probe_show_a_queue_from_the_first() {
    let mut connection = Connection::yielding();
    let mut round_trips = Vec::new();
    for round in 0..4 {
        round_trips.push(connection.pause().as_millis() / BUSY_RTT.as_millis());
        let queue_us = 50_000 - PACKET_US + round * 10_000;
        connection.probe_with_quick_acks(connection.pause(), [queue_us, queue_us + PACKET_US]);
        // That of the second packet, as with one ACK for both.
        let delay_us = connection.control.report().delay_over_minimum_us;
        assert_eq!(delay_us, queue_us + PACKET_US);
    }
    assert_eq!(round_trips, [1, 2, 4, 8]);
}

#[test]
fn both_quick_acks_of_a_probe_are_one_round() {
    let mut connection = Connection::yielding();
    // Two packets that met no queue are one clean probe: four are needed.
    for number in 1..=4 {
        assert_eq!(connection.phase(), Phase::Yielding, "probe {number}");
        connection.probe_with_quick_acks(2 * BUSY_RTT, [0, PACKET_US]);
    }
    assert_eq!(connection.phase(), Phase::SlowStart);
}

#[test]
fn with_quick_acks_a_slower_link_is_recognised() {
    // A third of the rate: 3.6 ms each, less the 1.2 ms that the smallest round trip has of the first. A lone packet waits for
    // none before it, and is no train.
    let mut connection = Connection::yielding();
    // Pauses are at their longest.
    for round in 0..8 {
        let queue_us = 40_000 + round * 10_000;
        connection.probe_with_quick_acks(2 * BUSY_RTT, [queue_us, queue_us + PACKET_US]);
    }
    for _ in 0..40 {
        if connection.control.burst_packets() <= 2 {
            connection.probe_with_quick_acks(2 * BUSY_RTT, [2_400, 6_000]);
        }
    }
    for _ in 0..11 {
        assert_eq!(connection.phase(), Phase::Yielding);
        if connection.control.burst_packets() == 1 {
            connection.probe(1, 2 * BUSY_RTT, 2_400);
        }
        connection.train([6_000, 13_200, 20_400]);
    }
    assert_eq!(connection.phase(), Phase::SlowStart);
    // It is no trial: the minimum is what it was.
    assert_eq!(connection.reported(3_000), 3_000);
}
