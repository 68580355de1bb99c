// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timestamps of peers whose clock does not follow time.

use super::*;

/// Lets `step` send a connection an ACK after a queue of so many microseconds: 2000 without a queue, so that the connection
/// settles, and then at most `acks_in_queue` in a queue of 20 ms. Returns whether it yields, and the source of its delay.
fn settle_and_queue(
    acks_in_queue: u32,
    mut step: impl FnMut(&mut Connection, u32),
) -> (bool, Signal) {
    let mut connection = Connection::new(40);
    for _ in 0..2000 {
        step(&mut connection, 0);
        connection.cwnd = 40;
    }
    for _ in 0..acks_in_queue {
        // Varies, as queues do, and is no longer path.
        let queue_us = 20_000 + connection.now_us / 64 % 8_000;
        step(&mut connection, queue_us);
        if connection.phase() == Phase::Yielding {
            break;
        }
    }
    let report = connection.control.report();
    (report.phase() == Phase::Yielding, report.signal())
}

/// A connection with these timestamps, as a function of the time in milliseconds and the number of the ACK, in
/// [`settle_and_queue`].
fn in_a_queue(tsval: impl Fn(u32, u32) -> u32) -> (bool, Signal) {
    let mut number = 0;
    settle_and_queue(200, |connection, queue_us| {
        number += 1;
        let mut ack = connection.ack(queue_us);
        ack.has_timestamp = true;
        ack.tsval = tsval(connection.now_us / 1000 - MINIMUM_RTT_US / 2000, number);
        connection.cwnd = connection.control.on_ack(&ack);
    })
}

#[test]
fn a_readable_clock_is_used() {
    assert_eq!(in_a_queue(|ms, _| ms), (true, Signal::OneWayDelay));
    // 500 ppm slow.
    let slow = |ms: u32, _| ms - ms / 2000;
    assert_eq!(in_a_queue(slow), (true, Signal::OneWayDelay));
}

#[test]
fn stamps_that_follow_no_clock_are_found_out() {
    // 5 % slow, frozen, backwards, at random within a second, and a clock set back by 50 ms each 100 ms.
    assert_eq!(in_a_queue(|ms, _| ms - ms / 20), (true, Signal::RoundTrip));
    assert_eq!(in_a_queue(|_, _| 7), (true, Signal::RoundTrip));
    assert_eq!(
        in_a_queue(|ms, _| 0u32.wrapping_sub(ms)),
        (true, Signal::RoundTrip)
    );
    let random = |ms, number: u32| ms + number.wrapping_mul(2_654_435_761) % 1000;
    assert_eq!(in_a_queue(random), (true, Signal::RoundTrip));
    let jumps = |ms: u32, _| ms - ms / 100 * 50;
    assert_eq!(in_a_queue(jumps), (true, Signal::RoundTrip));
}

/// A connection with an ACK after each `after_us`, in [`settle_and_queue`]. Its peer sends our stamps back and adds something,
/// by the number of the ACK.
fn in_a_queue_with_our_stamps(after_us: u32, added: impl Fn(u32) -> u32) -> (bool, Signal) {
    let (mut number, mut before) = (0, 0);
    settle_and_queue(400, |connection, queue_us| {
        connection.now_us = connection.now_us - 2 * PACKET_US + after_us;
        let mut ack = connection.ack(queue_us);
        let ours = (ack.now_us - ack.sample_rtt_us) / 1000;
        ack.has_timestamp = true;
        ack.tsval = ours + added(number);
        ack.stamp_lead = added(number) as u8;
        ack.stamp_back = ack.tsval < before;
        before = ack.tsval;
        number += 1;
        connection.cwnd = connection.control.on_ack(&ack);
    })
}

#[test]
fn our_stamps_with_something_added_are_no_clock() {
    let seen = (true, Signal::RoundTrip);
    assert_eq!(in_a_queue_with_our_stamps(2_400, |_| 5), seen);
    let changes = |number| 5 + number / 50 % 2;
    assert_eq!(in_a_queue_with_our_stamps(2_400, changes), seen);
    // Three values at random: stamps of packets that were sent in one millisecond run backwards.
    let random = |number: u32| 5 + (number.wrapping_mul(2_654_435_761) >> 16) % 3;
    assert_eq!(in_a_queue_with_our_stamps(600, random), seen);
}

impl Connection {
    /// An ACK with the stamp of a true clock, of a packet that met one queue on the way there and its ACK one on the way back.
    /// Where in a tick of the peer's clock it arrives differs from where in one of ours it was sent.
    pub(super) fn ack_both_ways(&mut self, forward_us: u32, back_us: u32) -> Ack {
        let mut ack = self.ack(forward_us + back_us);
        ack.has_timestamp = true;
        ack.tsval = (ack.now_us - MINIMUM_RTT_US / 2 - back_us + 300) / 1000;
        ack.stamp_lead = (ack.tsval - (ack.now_us - ack.sample_rtt_us) / 1000) as u8;
        ack
    }
}

#[test]
fn a_way_back_that_is_never_empty_is_no_odd_clock() {
    let mut connection = Connection::new(40);
    let mut step = |forward_us: u32, back_us: u32| {
        let ack = connection.ack_both_ways(forward_us, back_us);
        connection.control.on_ack(&ack);
        connection.cwnd = 40;
        connection.phase()
    };
    // The smallest round trip contains 13 ms of both queues.
    for _ in 0..20 {
        step(8_000, 5_000);
    }
    // The way there is empty from now on, and the way back never.
    for number in 0..2000 {
        let phase = step(0, 30_000 + number % 40 * 1_000);
        assert_ne!(phase, Phase::Yielding, "after {number}");
    }
    for number in 0..400 {
        step(20_000 + number % 8 * 1_000, 30_000 + number % 40 * 1_000);
    }
    assert_eq!(connection.phase(), Phase::Yielding, "the queue of others");
    let signal = connection.control.report().signal();
    assert_eq!(signal, Signal::OneWayDelay);
}
