// SPDX-License-Identifier: MIT OR Apache-2.0
//! A delay that stands still: a longer path, or the queue of others.

use super::*;

const PROBE: Duration = Duration::from_millis(100);

impl Connection {
    /// Sends probes, 100 ms apart, that meet these queues until the yielding ends; returns their number.
    fn probe_until_trial(&mut self, queue_us: impl Fn(u32) -> u32) -> Option<u32> {
        (1..10_000).find(|&number| {
            self.pair(PROBE, queue_us(number));
            self.phase() == Phase::SlowStart
        })
    }

    /// A connection that has taken 50 ms for the path's on trial.
    fn on_trial() -> Self {
        let mut connection = Self::yielding();
        let probes = connection.probe_until_trial(|_| 50_000);
        // The first begins the time, half a second later the sixth ends it, and a train follows.
        assert_eq!(probes, Some(7));
        connection
    }

    /// Returns the queue above the minimum of now that a probe reports, without any reaction.
    pub fn reported(&mut self, queue_us: u32) -> u32 {
        self.probe(2, PROBE, queue_us);
        self.control.report().delay_over_minimum_us
    }
}

#[test]
fn a_delay_that_moves_is_not_tried() {
    // The threshold is 1.8 ms, the tick of a millisecond clock comes on top: 2.8 ms.
    let mut connection = Connection::yielding();
    let probes = connection.probe_until_trial(|number| 50_000 + number % 2 * 2_700);
    assert_eq!(probes, Some(7));
    let mut connection = Connection::yielding();
    let probes = connection.probe_until_trial(|number| 50_000 + number % 2 * 3_000);
    assert_eq!(probes, None);
}

#[test]
fn after_a_delay_has_moved_it_has_to_stand_still_for_longer() {
    let mut connection = Connection::yielding();
    let probes = connection.probe_until_trial(|number| 50_000 + u32::from(number == 3) * 10_000);
    // From the fourth on, four times half a second in intervals of 102.4 ms, and a train.
    assert_eq!(probes, Some(4 + 20 + 1));
}

#[test]
fn a_trial_ends_where_growth_makes_a_queue() {
    let mut connection = Connection::on_trial();
    let yields = connection.control.report().yields;
    // Four packets that each waited for those before them, over what the rival's queue takes.
    connection.cwnd = 8;
    connection.step(54_800);
    assert_eq!(connection.phase(), Phase::SlowStart);
    connection.step(54_800);
    assert_eq!(connection.phase(), Phase::Yielding);
    assert_eq!(connection.control.report().yields, yields);
    // The earlier minimum is valid again.
    assert_eq!(connection.reported(50_000), 50_000);
}

#[test]
fn each_trial_that_fails_quadruples_the_wait() {
    let mut connection = Connection::on_trial();
    // 2, 8, 32 and 128 s in intervals of 102.4 ms, the first, and a train.
    for expected in [22, 81, 315, 1253, 1253] {
        while connection.phase() != Phase::Yielding {
            connection.cwnd = 8;
            connection.step(60_000);
        }
        let probes = connection.probe_until_trial(|_| 50_000);
        assert_eq!(probes, Some(expected));
    }
}

#[test]
fn four_clean_probes_forget_the_trials_that_failed() {
    let mut connection = Connection::on_trial();
    while connection.phase() != Phase::Yielding {
        connection.step(60_000);
    }
    while connection.phase() == Phase::Yielding {
        connection.probe(2, PROBE, 0);
    }
    while connection.phase() != Phase::Yielding {
        connection.cwnd = 8;
        connection.step(50_000);
    }
    let probes = connection.probe_until_trial(|_| 50_000);
    assert!(probes <= Some(7), "{probes:?}");
}

#[test]
fn a_loss_ends_a_trial() {
    let mut connection = Connection::on_trial();
    connection.cwnd = 8;
    lose(&mut connection, 50_000);
    assert_eq!(connection.phase(), Phase::Yielding);
    assert_eq!(connection.reported(50_000), 50_000);
}

#[test]
fn a_delay_that_falls_ends_a_trial() {
    let mut connection = Connection::on_trial();
    connection.cwnd = 8;
    for _ in 0..2 {
        connection.step(46_000);
        assert_eq!(connection.phase(), Phase::SlowStart);
    }
    connection.step(46_000);
    assert_eq!(connection.phase(), Phase::Yielding);
    assert_eq!(connection.reported(46_000), 46_000);
}

#[test]
fn a_trial_is_passed_by_filling_the_path_without_a_queue() {
    let passes = |packets: u32| {
        let mut connection = Connection::on_trial();
        for _ in 0..packets / 2 {
            connection.step(50_000);
        }
        let grown = connection.phase() == Phase::Avoidance;
        lose(&mut connection, 50_000);
        (grown, connection.phase() != Phase::Yielding)
    };
    // 90 ms hold 75 packets: 128 have been delivered before the window reaches them.
    assert_eq!(passes(128), (false, false));
    assert_eq!(passes(500), (true, true));
}

#[test]
fn a_wide_product_is_not_enough_to_pass_a_trial() {
    // 100 ms per packet: the window of the first round fills what is known of the path.
    let mut connection = Connection::new(10);
    let slow = |connection: &mut Connection, queue_us: u32| {
        let mut ack = connection.ack(queue_us);
        (ack.rate_delivered, ack.rate_interval_us) = (4, 400_000);
        connection.cwnd = connection.control.on_ack(&ack);
    };
    slow(&mut connection, 0);
    while connection.phase() != Phase::Yielding {
        connection.cwnd = 8;
        slow(&mut connection, 400_000);
    }
    while connection.phase() == Phase::Yielding {
        connection.now_us += 100_000;
        // Each packet of a probe after the second waits for one more, too.
        let others = connection.control.burst_packets().saturating_sub(2);
        let mut ack = connection.ack(400_000 + others * 100_000);
        ack.prior_delivered = connection.delivered - 2;
        ack.in_flight = 0;
        ack.rate_delivered = 0;
        connection.cwnd = connection.control.on_ack(&ack);
    }
    for _ in 0..20 {
        slow(&mut connection, 400_000);
    }
    assert_eq!(connection.phase(), Phase::Avoidance);
    lose(&mut connection, 400_000);
    assert_eq!(connection.phase(), Phase::Yielding);
}

#[test]
fn probes_too_far_apart_do_not_show_a_steady_delay() {
    let mut connection = Connection::yielding();
    for _ in 0..10 {
        connection.probe(2, Duration::from_secs(30), 50_000);
        assert_eq!(connection.phase(), Phase::Yielding);
    }
}

#[test]
fn a_loss_while_yielding_begins_the_time_anew() {
    let mut connection = Connection::yielding();
    for _ in 0..4 {
        connection.probe(2, PROBE, 50_000);
    }
    lose(&mut connection, 50_000);
    let probes = connection.probe_until_trial(|_| 50_000).unwrap();
    assert!(probes >= 5, "{probes}");
}

#[test]
fn a_trial_that_is_passed_shows_the_way_back_too() {
    let mut connection = Connection::new(40);
    let step = |connection: &mut Connection, forward_us: u32, back_us: u32| {
        let ack = connection.ack_both_ways(forward_us, back_us);
        connection.cwnd = connection.control.on_ack(&ack);
    };
    for _ in 0..100 {
        step(&mut connection, 0, 0);
        connection.cwnd = 40;
    }
    while connection.phase() != Phase::Yielding {
        let queue_us = 20_000 + connection.now_us / 64 % 8_000;
        step(&mut connection, queue_us, 0);
    }
    while connection.phase() == Phase::Yielding {
        connection.now_us += PROBE.as_micros() as u32;
        let ack = Ack {
            in_flight: 0,
            prior_delivered: connection.delivered,
            ..connection.ack_both_ways(30_000, 20_000)
        };
        connection.cwnd = connection.control.on_ack(&ack);
    }
    let fill = |connection: &mut Connection| {
        while connection.phase() == Phase::SlowStart {
            step(connection, 30_000, 20_000);
        }
        connection.cwnd
    };
    // With the way there alone the path takes 70 ms and holds 59 packets.
    let there = fill(&mut connection);
    assert!((58..=60).contains(&there), "{there}");
    while connection.phase() != Phase::SlowStart {
        step(&mut connection, 30_000, 20_000);
    }
    // It takes 90 ms, which hold 76.
    let both = fill(&mut connection);
    assert!((75..=77).contains(&both), "{both}");
}
