// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trains of packets: others in a fair queue, and a link that has become slower.

use super::*;

const PAUSE: Duration = Duration::from_millis(100);

impl Connection {
    /// Acknowledges packets that met a queue while the link delivered one in each `packet_us`, until the window shrinks.
    fn back_off_at(&mut self, packet_us: u32, queue_us: u32) {
        for _ in 0..1000 {
            let before = self.cwnd;
            let mut ack = self.ack(queue_us);
            ack.rate_interval_us = ack.rate_delivered * packet_us;
            self.cwnd = self.control.on_ack(&ack);
            if self.cwnd < before {
                return;
            }
        }
        panic!("no back-off at {queue_us} us");
    }

    /// Backs off with the link's rate in sight, and lets the queue run empty.
    fn back_off_and_empty(&mut self, packet_us: u32) {
        self.cwnd = 40;
        self.back_off_at(packet_us, 3_000);
        for _ in 0..40 {
            if self.phase() == Phase::Yielding {
                return;
            }
            self.step(0);
        }
    }

    /// Acknowledges a train whose second, fourth and sixth packet met these queues, and the lone packet of a long pause.
    pub(super) fn train(&mut self, queues_us: [u32; 3]) {
        if self.control.burst_packets() == 1 {
            self.probe(1, PAUSE, 45_000);
        }
        assert_eq!(self.control.burst_packets(), 6);
        self.now_us += PAUSE.as_micros() as u32;
        let sent = self.delivered;
        for (place, queue_us) in queues_us.into_iter().enumerate() {
            let ack = Ack {
                in_flight: 4 - 2 * place as u32,
                prior_delivered: sent,
                ..self.ack(queue_us)
            };
            self.cwnd = self.control.on_ack(&ack);
        }
    }

    /// A connection whose probes have met a queue of 3.6 ms for half a second, so that it sends a train.
    fn steady() -> Self {
        let mut connection = Self::yielding();
        for _ in 0..6 {
            connection.pair(PAUSE, 3_600);
        }
        assert_eq!(connection.control.burst_packets(), 6);
        connection
    }

    /// A connection that suspects others in a fair queue.
    fn suspicious() -> Self {
        let mut connection = Self::settled(40);
        connection.back_off_and_empty(PACKET_US);
        for _ in 0..3 {
            assert_eq!(connection.phase(), Phase::Avoidance);
            connection.back_off_and_empty(2 * PACKET_US);
        }
        assert_eq!(connection.phase(), Phase::Yielding);
        connection
    }
}

#[test]
fn a_rate_that_falls_suddenly_is_probed_by_trains() {
    let connection = Connection::suspicious();
    assert_eq!(connection.control.burst_packets(), 6);
}

#[test]
fn trains_are_longer_at_a_high_rate() {
    // Half of a train takes twice the threshold's floor, 2 ms, and no more than 16 packets.
    for (packet_us, train) in [(1_200, 6), (480, 10), (240, 18), (12, 32)] {
        let mut connection = Connection::yielding();
        let mut most = 0;
        for _ in 0..10 {
            connection.now_us += PAUSE.as_micros() as u32;
            let mut ack = connection.ack(3_600);
            ack.in_flight = 0;
            ack.rate_interval_us = ack.rate_delivered * packet_us;
            if connection.phase() == Phase::Yielding {
                connection.cwnd = connection.control.on_ack(&ack);
                most = most.max(connection.control.burst_packets());
            }
        }
        assert_eq!(most, train, "{packet_us}");
    }
}

#[test]
fn a_rate_that_falls_slowly_is_probed_later() {
    let mut connection = Connection::settled(40);
    connection.back_off_and_empty(PACKET_US);
    for packet_us in [
        1_550, 1_600, 1_650, 1_700, 2_400, 2_400, 2_400, 2_400, 2_400,
    ] {
        connection.back_off_and_empty(packet_us);
        assert_eq!(connection.phase(), Phase::Avoidance);
    }
}

#[test]
fn trains_that_meet_nobody_end_the_yielding() {
    let mut connection = Connection::suspicious();
    // The sixth packet waits for the five before it.
    for _ in 0..4 {
        assert_eq!(connection.phase(), Phase::Yielding);
        connection.train([PACKET_US, 3 * PACKET_US, 5 * PACKET_US]);
    }
    // The window was right.
    assert_eq!(connection.phase(), Phase::Avoidance);
}

#[test]
fn trains_that_meet_nobody_are_repeated_later() {
    let mut connection = Connection::suspicious();
    for _ in 0..4 {
        connection.train([PACKET_US, 3 * PACKET_US, 5 * PACKET_US]);
    }
    let mut back_offs = 0;
    while connection.phase() != Phase::Yielding {
        connection.back_off_and_empty(2 * PACKET_US);
        back_offs += 1;
        // Counts of packets differ from one back-off to the next.
        for _ in 0..back_offs % 4 {
            connection.step(0);
        }
        assert!(back_offs < 100, "never");
    }
    assert!(back_offs > 5, "after {back_offs}");
    assert_eq!(connection.control.burst_packets(), 6);
}

#[test]
fn an_ack_for_a_whole_train_does_not_open_the_window() {
    let mut connection = Connection::suspicious();
    for _ in 0..100 {
        if connection.phase() != Phase::Yielding {
            break;
        }
        connection.now_us += PAUSE.as_micros() as u32;
        let packets = connection.control.burst_packets();
        connection.delivered += packets - 2;
        // The window has room for two trains; the last packet waited for those before it.
        let ack = Ack {
            acked: packets,
            in_flight: 0,
            prior_delivered: connection.delivered - (packets - 2),
            ..connection.ack((packets - 1) * PACKET_US)
        };
        connection.cwnd = connection.control.on_ack(&ack);
    }
    assert_eq!(connection.phase(), Phase::Avoidance);
    assert!(connection.cwnd <= 6, "{}", connection.cwnd);
}

#[test]
fn trains_between_which_others_are_served_keep_it_yielding() {
    let mut connection = Connection::suspicious();
    for number in 0..100 {
        // One packet of another flow before each, the first of which is already on its way.
        let residual_us = number % 8 * 150;
        connection.train([2, 6, 10].map(|packets| packets * PACKET_US + residual_us));
        assert_eq!(connection.phase(), Phase::Yielding, "train {number}");
    }
}

#[test]
fn no_long_pause_precedes_or_follows_a_train_that_decides() {
    let mut connection = Connection::yielding();
    for round in 0..4 {
        connection.probe(2, connection.pause(), 50_000 + round * 10_000);
    }
    // A lone packet and a long pause follow each pair, until the delay has stood still.
    while connection.control.burst_packets() == 1 {
        connection.probe(1, 2 * BUSY_RTT, 50_000);
        assert_eq!(connection.control.burst_packets(), 2);
        connection.probe(2, Duration::from_millis(800), 50_000);
    }
    assert_eq!(connection.control.burst_packets(), 6);
    assert_eq!(connection.pause(), 2 * BUSY_RTT);
}

#[test]
fn a_slower_link_is_recognised_by_how_packets_follow() {
    let mut connection = Connection::steady();
    // A third of the rate: 3.6 ms each, less the 1.2 ms that the smallest round trip has of the first.
    // The lead of the first packets falls by a sixteenth with each: (15 / 16)^11 is less than a half.
    for _ in 0..11 {
        assert_eq!(connection.phase(), Phase::Yielding);
        connection.train([6_000, 13_200, 20_400]);
    }
    assert_eq!(connection.phase(), Phase::SlowStart);
    // It is no trial: the minimum is what it was.
    assert_eq!(connection.reported(3_000), 3_000);
}

#[test]
fn whole_ticks_of_a_stamp_set_no_minimum_in_trains() {
    // The last packet was retransmitted: its round trip is known by its timestamp, rounded down to a millisecond.
    let mut connection = Connection::suspicious();
    let ack = Ack {
        sample_rtt_us: MINIMUM_RTT_US - 1_000,
        retransmitted: true,
        in_flight: 2,
        ..connection.ack(0)
    };
    connection.control.on_ack(&ack);
    assert_eq!(connection.reported(30_000), 30_000);
}

/// Delays of the second, fourth and sixth packet, the latter two later by up to 300 us at random.
fn with_jitter(mut queues_us: [u32; 3], random: &mut u32) -> [u32; 3] {
    for queue_us in &mut queues_us[1..] {
        *random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *queue_us += (*random >> 16) % 300;
    }
    queues_us
}

#[test]
fn a_slower_link_with_jitter_is_recognised() {
    for mut random in 0..20 {
        let mut connection = Connection::steady();
        for _ in 0..60 {
            if connection.phase() == Phase::Yielding {
                connection.train(with_jitter([6_000, 13_200, 20_400], &mut random));
            }
        }
        assert_eq!(connection.phase(), Phase::SlowStart, "{random}");
    }
}

#[test]
fn jitter_makes_no_fair_queue_a_slower_link() {
    for mut random in 0..20 {
        let mut connection = Connection::suspicious();
        for number in 0..100 {
            let residual_us = number * 5 % 8 * 150;
            let queues_us = [2, 6, 10].map(|packets| packets * PACKET_US + residual_us);
            connection.train(with_jitter(queues_us, &mut random));
            assert_eq!(connection.phase(), Phase::Yielding, "{random}: {number}");
        }
    }
}

#[test]
fn late_packets_make_no_fair_queue_a_slower_link() {
    let mut connection = Connection::suspicious();
    for number in 0..100 {
        let residual_us = number * 5 % 8 * 150;
        // Others are served twice after the second packet: the packets take as long as all follow one another.
        connection.train([2, 7, 11].map(|packets| packets * PACKET_US + residual_us));
        assert_eq!(connection.phase(), Phase::Yielding, "train {number}");
    }
}

#[test]
fn trains_that_meet_nobody_disprove_a_slower_link() {
    let mut connection = Connection::suspicious();
    for number in 0..100 {
        // Two packets of others are before the first: together they look like a link of half the rate.
        let packets = if number % 8 == 7 {
            [1, 3, 5]
        } else {
            [3, 7, 11]
        };
        connection.train(packets.map(|packets| packets * PACKET_US));
        assert_eq!(connection.phase(), Phase::Yielding, "train {number}");
    }
}

#[test]
fn a_longer_path_is_not_taken_for_a_slower_link() {
    let mut connection = Connection::steady();
    connection.train([3_600, 3_600 + 2 * PACKET_US, 3_600 + 4 * PACKET_US]);
    assert_eq!(connection.phase(), Phase::SlowStart);
    // The delay counts as the path's, on trial.
    connection.cwnd = 8;
    for _ in 0..8 {
        connection.step(12_000);
    }
    assert_eq!(connection.phase(), Phase::Yielding);
    assert_eq!(connection.control.report().yields, 1);
}

#[test]
fn packets_that_follow_at_the_known_rate_share_no_fair_queue() {
    let mut connection = Connection::suspicious();
    for _ in 0..3 {
        connection.train([40_000, 40_000 + 2 * PACKET_US, 40_000 + 4 * PACKET_US]);
        assert_eq!(connection.phase(), Phase::Yielding);
    }
    assert_eq!(connection.control.burst_packets(), 2);
}
