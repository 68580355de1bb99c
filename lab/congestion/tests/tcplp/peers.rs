// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receivers that delay ACKs, and peers' clocks that drift or are set.

use netnice_parameters::exchange::Phase;

use crate::connection::{Connection, learned};

/// A connection that `packets` packets through a full queue have reduced to a window of one.
fn yielding(packets: u32) -> Connection {
    let mut connection = learned(20);
    for _ in 0..packets {
        connection.step(10, 120);
    }
    assert_eq!(connection.cwnd, 1);
    connection
}

#[test]
fn held_acks_clear_but_do_not_convict() {
    let mut connection = learned(1);
    for _ in 0..20 {
        connection.held();
        assert_ne!(connection.control.report().phase(), Phase::Yielding);
        if connection.cwnd > 1 {
            return;
        }
    }
    panic!("starved at one packet");
}

#[test]
fn an_average_that_only_held_acks_bring_down_does_not_convict() {
    let mut connection = yielding(40);
    // The queue is gone, but each ACK waits 40 ms: the average falls to that, which is over the threshold of 15 ms.
    assert!(connection.grows_by_held_acks(40), "starved at one packet");
}

#[test]
fn the_first_ack_free_of_the_receivers_wait_says_what_held_ones_hid() {
    let mut connection = yielding(40);
    // The queue is gone. Delayed ACKs of 60 ms lower the average to 40 ms over the smallest delay, until the window is
    // 2.
    while connection.cwnd == 1 {
        connection.held();
    }
    assert!(connection.over_minimum_us() > 39_000);
    // Then a pair's ACK shows an empty queue, and the window of two grows.
    assert_eq!(connection.step(10, 20), 3);
    assert_eq!(connection.over_minimum_us(), 0);
    assert!((0..8).all(|_| connection.step(100, 20) >= 3));
}

/// Linux acknowledges up to 16 packets at once, at the start and after losses, and delays ACKs from then on.
#[test]
fn a_receiver_that_began_without_holding_acks_back_is_not_believed_for_ever() {
    let mut connection = yielding(60);
    for _ in 0..20 {
        connection.lone(10, 120, 1);
    }
    assert_eq!(connection.cwnd, 1);
    // The queue is gone, and each ACK waits 40 ms: 16 of them count, and an inference phase of three round trips follows.
    assert!(connection.grows_by_held_acks(24), "starved at one packet");
}

#[test]
fn a_wait_in_a_receiver_that_is_believed_to_hold_nothing_back_is_no_queue() {
    let mut connection = yielding(60);
    for _ in 0..8 {
        connection.lone(10, 120, 1);
    }
    let before = connection.over_minimum_us();
    // The receiver has begun to delay ACKs, by 200 ms: d_max stays at the 120 ms of the queue.
    connection.lone(300, 320, 0);
    assert!(connection.over_minimum_us() > before, "not believed");
    assert_eq!(connection.control.report().threshold_us, 15_000);
    // An equal delay of a packet with another one behind it comes from the queue: (320 - 20) ms * 0.15.
    connection.lone(10, 320, 1);
    assert_eq!(connection.control.report().threshold_us, 45_000);
}

/// A connection begun in an empty queue that then filled: the threshold is 15 % of 100 ms.
fn has_met_a_queue() -> Connection {
    let mut connection = Connection::new(20);
    connection.queued(0, 0);
    connection.queued(100, 0);
    // The tick of the peer's clock is known after two seconds.
    for _ in 0..250 {
        connection.queued(0, 0);
    }
    assert_eq!(connection.control.report().threshold_us, 15_000);
    connection
}

#[test]
fn a_clock_that_gains_or_is_set_forward_is_no_queue() {
    for clock_ms in [100, 1_000, 600_000] {
        let mut connection = has_met_a_queue();
        // No queue is longer than the range of round trips, to a tick of the clock, whatever the clock shows.
        for _ in 0..20 {
            connection.queued(40, clock_ms);
        }
        assert!(connection.control.report().threshold_us <= 15_150);
        for _ in 0..500 {
            connection.queued(0, clock_ms);
        }
        // If round trips show no queue, a tick remains, plus the rounding of equation (1).
        assert!(connection.over_minimum_us() < 1_010, "{clock_ms}");
        for _ in 0..100 {
            connection.queued(40, clock_ms);
        }
        assert!(connection.over_minimum_us() > 15_150, "{clock_ms}");
        assert_eq!(connection.cwnd, 1);
    }
}

#[test]
fn a_clock_that_loses_or_is_set_back_makes_no_queue_longer() {
    let mut connection = has_met_a_queue();
    for clock_ms in (-1_000..0).rev() {
        connection.queued(0, clock_ms);
    }
    assert!(connection.control.report().threshold_us <= 15_150);
    connection.queued(0, -600_000);
    assert!(connection.control.report().threshold_us <= 15_150);
    // The average falls from its old value, by an eighth per packet that counts.
    for _ in 0..2_000 {
        connection.queued(0, -600_000);
    }
    assert!(connection.over_minimum_us() < 1_010);
}

#[test]
fn a_flow_that_began_in_a_queue_sees_it_when_it_empties() {
    let mut connection = Connection::new(20);
    let mut step = |queue_ms, least_ms| {
        connection.queued_at_least(queue_ms, least_ms, 0);
        connection.control.report().threshold_us
    };
    step(60, 60);
    // (100 - 60) ms * 0.15, (100 - 40) ms * 0.15, 100 ms * 0.15.
    assert_eq!(step(100, 60), 6_000);
    assert_eq!(step(40, 40), 9_000);
    assert_eq!(step(0, 0), 15_000);
}
