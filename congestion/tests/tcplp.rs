// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP-LP against numbers worked out by hand from equations (1) and (2) and the paper's figure 3.

use netnice_congestion::policy::{Parameters, Phase, Signal};
use netnice_congestion::tcplp::{Ack, TcpLp};
use proptest::prelude::*;

const RTT_US: u32 = 100_000;

/// Where the receiver's clock stands when the sender's is at zero, in milliseconds.
const OFFSET_MS: u32 = 0xffff_ff00;

/// A connection to feed with one-way delays.
struct Connection {
    control: TcpLp,
    now_us: u32,
    cwnd: u32,
    ssthresh: u32,
}

impl Connection {
    fn new(cwnd: u32) -> Self {
        Self {
            control: TcpLp::new(&Parameters::default()),
            now_us: 5_000_000,
            cwnd,
            ssthresh: cwnd,
        }
    }

    fn ack(&self, delay_ms: u32, acked: u32) -> Ack {
        let sent_us = self.now_us - RTT_US;
        Ack {
            now_us: self.now_us,
            sample_rtt_us: RTT_US,
            smoothed_rtt_us: RTT_US,
            minimum_rtt_us: 0,
            tsval: (sent_us / 1000 + delay_ms).wrapping_add(OFFSET_MS),
            acked,
            in_flight: self.cwnd.saturating_sub(acked),
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            has_timestamp: true,
            in_recovery: false,
            cwnd_limited: true,
        }
    }

    /// An ACK of two packets `after_ms` later, whose packets took `delay_ms` on their way.
    fn step(&mut self, after_ms: u32, delay_ms: u32) -> u32 {
        self.now_us += after_ms * 1000;
        self.take(self.ack(delay_ms, 2))
    }

    /// An ACK of two packets 10 ms later that waited `queue_ms`, while the peer's clock is
    /// `clock_ms` ahead of where it began.
    fn queued(&mut self, queue_ms: u32, clock_ms: i32) -> u32 {
        self.queued_at_least(queue_ms, 0, clock_ms)
    }

    /// The same where none has waited less than `least_ms` so far.
    fn queued_at_least(&mut self, queue_ms: u32, least_ms: u32, clock_ms: i32) -> u32 {
        self.now_us += 10_000;
        let ack = self.ack(20 + queue_ms, 2);
        self.take(Ack {
            sample_rtt_us: RTT_US + queue_ms * 1000,
            minimum_rtt_us: RTT_US + least_ms * 1000,
            // It was sent earlier by the wait.
            tsval: ack
                .tsval
                .wrapping_sub(queue_ms)
                .wrapping_add_signed(clock_ms),
            ..ack
        })
    }

    /// An ACK of one packet `after_ms` later, which took `delay_ms` and has `in_flight` behind it.
    fn lone(&mut self, after_ms: u32, delay_ms: u32, in_flight: u32) -> u32 {
        self.now_us += after_ms * 1000;
        let mut ack = self.ack(delay_ms, 1);
        ack.in_flight = in_flight;
        self.take(ack)
    }

    /// An ACK of a packet that was alone in flight, 20 ms on its way, and 40 ms with the receiver.
    fn held(&mut self) -> u32 {
        self.lone(RTT_US / 1000, 60, 0)
    }

    /// Held ACKs, `most` of them or fewer, let a window of one packet grow.
    fn grows_by_held_acks(&mut self, most: u32) -> bool {
        (0..most).any(|_| self.held() > 1)
    }

    fn take(&mut self, ack: Ack) -> u32 {
        let before = self.cwnd;
        self.cwnd = self.control.on_ack(&ack);
        if self.cwnd < before {
            self.ssthresh = self.cwnd;
        }
        self.cwnd
    }

    fn over_minimum_us(&self) -> u32 {
        self.control.report().delay_over_minimum_us
    }
}

#[test]
fn equation_1_smooths_by_an_eighth() {
    let mut connection = Connection::new(10);
    connection.step(10, 20);
    connection.step(10, 60);
    // sd = 7/8 * 20 ms + 1/8 * 60 ms = 25 ms, d_min = 20 ms.
    assert_eq!(connection.over_minimum_us(), 5_000);
    connection.step(10, 20);
    // sd = 7/8 * 25 ms + 1/8 * 20 ms = 24.375 ms.
    assert_eq!(connection.over_minimum_us(), 4_375);
}

#[test]
fn equation_2_sets_the_threshold_at_15_percent_of_the_span() {
    let mut connection = Connection::new(10);
    connection.step(10, 20);
    connection.step(10, 120);
    // (d_max - d_min) * delta = 100 ms * 0.15.
    assert_eq!(connection.control.report().threshold_us, 15_000);
    // A smaller minimum widens the span from below: 110 ms * 0.15.
    connection.step(10, 10);
    assert_eq!(connection.control.report().threshold_us, 16_500);
}

/// A connection whose d_min is 20 ms and d_max 120 ms, in congestion avoidance, average settled.
fn learned(cwnd: u32) -> Connection {
    let mut connection = Connection::new(cwnd);
    connection.ssthresh = u32::MAX;
    connection.step(10, 20);
    connection.step(10, 120);
    for _ in 0..60 {
        connection.step(10, 20);
    }
    connection.cwnd = cwnd;
    connection.ssthresh = cwnd;
    connection
}

#[test]
fn the_first_indication_halves_and_a_second_within_itt_leaves_one() {
    let mut connection = learned(20);
    // sd rises by an eighth of 100 ms at each sample: 12.5 ms, then 23.4 ms > 15 ms.
    assert_eq!(connection.step(10, 120), 20);
    assert_eq!(connection.step(10, 120), 10);
    assert_eq!(connection.control.report().phase(), Phase::Inference);
    // The round trip after a reaction is left alone.
    assert_eq!(connection.step(50, 120), 10);
    assert_eq!(connection.step(49, 120), 10);
    // After it, and within itt = 3 RTT, another indication leaves one packet.
    assert_eq!(connection.step(2, 120), 1);
    assert_eq!(connection.control.report().phase(), Phase::Yielding);
    assert_eq!(connection.control.report().yields, 1);
}

/// Delays 16 ms over the smallest until the first indication: sd passes 15 ms with the 21st of them, as
/// 16 ms * (1 - (7/8)^21) = 15.03 ms.
fn barely_indicated() -> Connection {
    let mut connection = learned(20);
    for _ in 0..20 {
        let mut ack = connection.ack(36, 2);
        ack.cwnd_limited = false;
        connection.take(ack);
    }
    assert_eq!(connection.cwnd, 20);
    let ack = connection.ack(36, 2);
    assert_eq!(connection.take(ack), 10);
    connection
}

#[test]
fn packets_sent_before_a_reaction_belong_to_it() {
    // For 99 ms ACKs of packets that were sent before tell of the old queue: they are no part of sd.
    let mut connection = barely_indicated();
    for _ in 0..9 {
        assert_eq!(connection.step(11, 36), 10);
        assert!((15_000..15_100).contains(&connection.over_minimum_us()));
    }
    // The first packet sent since met no queue: sd falls to 7/8 of 15.03 ms, and there is no second indication.
    assert_eq!(connection.step(11, 20), 10);
    assert!((13_100..13_200).contains(&connection.over_minimum_us()));
    // Where round-trip times have risen it takes longer than the smoothed one: this packet took 150 ms.
    let mut connection = barely_indicated();
    connection.now_us += RTT_US + 10_000;
    let mut ack = connection.ack(120, 2);
    (ack.sample_rtt_us, ack.tsval) = (150_000, ack.tsval.wrapping_sub(50));
    assert_eq!(connection.take(ack), 10);
    assert!((15_000..15_100).contains(&connection.over_minimum_us()));
}

#[test]
fn the_average_goes_on_from_where_it_was_at_the_reaction() {
    let mut connection = learned(20);
    connection.step(10, 120);
    assert_eq!(connection.step(10, 120), 10);
    for _ in 0..9 {
        assert_eq!(connection.step(10, 120), 10);
    }
    // Two packets of 100 ms over the smallest, then one of nothing: 7/8 * 100 ms * (1 - (7/8)^2) = 20.5 ms.
    assert_eq!(connection.step(10, 20), 1);
    assert!((20_000..21_000).contains(&connection.over_minimum_us()));
}

#[test]
fn nothing_grows_during_the_inference_phase() {
    let mut connection = barely_indicated();
    // itt = 3 RTT = 300 ms, in which the queue is gone.
    for _ in 0..29 {
        assert_eq!(connection.step(10, 20), 10);
    }
    assert_eq!(connection.control.report().phase(), Phase::Inference);
    // Then one packet for each window: ten packets in five ACKs.
    let windows: Vec<u32> = (0..6).map(|_| connection.step(10, 20)).collect();
    assert_eq!(windows, [10, 10, 10, 10, 11, 11]);
    assert_eq!(connection.control.report().phase(), Phase::Avoidance);
}

#[test]
fn an_indication_after_itt_is_a_first_one_again() {
    let mut connection = barely_indicated();
    for _ in 0..40 {
        connection.step(10, 20);
    }
    let cwnd = connection.cwnd;
    connection.step(10, 120);
    assert_eq!(connection.step(10, 120), cwnd / 2);
}

#[test]
fn one_packet_is_the_least() {
    let mut connection = learned(1);
    connection.step(10, 120);
    assert_eq!(connection.step(10, 120), 1);
}

#[test]
fn slow_start_is_renos() {
    let mut connection = Connection::new(10);
    connection.ssthresh = 15;
    assert_eq!(connection.step(10, 20), 12);
    assert_eq!(connection.step(10, 120), 14);
    assert_eq!(connection.step(10, 120), 15);
    assert_eq!(connection.control.report().phase(), Phase::SlowStart);
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
    let mut connection = learned(20);
    for _ in 0..40 {
        connection.step(10, 120);
    }
    assert_eq!(connection.cwnd, 1);
    // The queue is gone, but each ACK waits 40 ms: the average falls to that, which is over the threshold of 15 ms.
    assert!(connection.grows_by_held_acks(40), "starved at one packet");
}

#[test]
fn the_first_ack_free_of_the_receivers_wait_says_what_held_ones_hid() {
    let mut connection = learned(20);
    for _ in 0..40 {
        connection.step(10, 120);
    }
    assert_eq!(connection.cwnd, 1);
    // The queue is gone. Held ACKs of 60 ms bring the average down to 40 ms over the smallest delay, until the window is 2.
    while connection.cwnd == 1 {
        connection.held();
    }
    assert!(connection.over_minimum_us() > 39_000);
    // Then a pair's ACK tells of an empty queue, and the window of two grows.
    assert_eq!(connection.step(10, 20), 3);
    assert_eq!(connection.over_minimum_us(), 0);
    assert!((0..8).all(|_| connection.step(100, 20) >= 3));
}

/// Linux acknowledges up to 16 packets at once, at the beginning and after losses, and holds ACKs back from then on.
#[test]
fn a_receiver_that_began_without_holding_acks_back_is_not_believed_for_ever() {
    let mut connection = learned(20);
    for _ in 0..60 {
        connection.step(10, 120);
    }
    assert_eq!(connection.cwnd, 1);
    for _ in 0..20 {
        connection.lone(10, 120, 1);
    }
    assert_eq!(connection.cwnd, 1);
    // The queue is gone, and each ACK waits 40 ms: 16 of them count, and an inference phase of three round trips follows.
    assert!(connection.grows_by_held_acks(24), "starved at one packet");
}

#[test]
fn a_wait_in_a_receiver_that_is_believed_to_hold_nothing_back_is_no_queue() {
    let mut connection = learned(20);
    for _ in 0..60 {
        connection.step(10, 120);
    }
    assert_eq!(connection.cwnd, 1);
    for _ in 0..8 {
        connection.lone(10, 120, 1);
    }
    let before = connection.over_minimum_us();
    // It has begun to hold ACKs back, for 200 ms: d_max stays at the 120 ms of the queue.
    connection.lone(300, 320, 0);
    assert!(connection.over_minimum_us() > before, "not believed");
    assert_eq!(connection.control.report().threshold_us, 15_000);
    // The same delay of a packet that had another one behind is the queue's: (320 - 20) ms * 0.15.
    connection.lone(10, 320, 1);
    assert_eq!(connection.control.report().threshold_us, 45_000);
}

/// Begun in an empty queue, which then was full: the threshold is 15 % of 100 ms.
fn has_met_a_queue() -> Connection {
    let mut connection = Connection::new(20);
    connection.queued(0, 0);
    connection.queued(100, 0);
    // The peer's clock is told apart from others within two seconds.
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
        // No queue is longer than round trips differ, to a tick of the clock, whatever the clock says of this one.
        for _ in 0..20 {
            connection.queued(40, clock_ms);
        }
        assert!(connection.control.report().threshold_us <= 15_150);
        for _ in 0..500 {
            connection.queued(0, clock_ms);
        }
        // Where round trips say that there is none a tick remains, and what equation (1) is rounded by.
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
    // The average comes down from where it was, by an eighth for each packet that counts.
    for _ in 0..2_000 {
        connection.queued(0, -600_000);
    }
    assert!(connection.over_minimum_us() < 1_010);
}

#[test]
fn who_began_in_a_queue_learns_of_all_of_it_when_it_empties() {
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

#[test]
fn samples_in_recovery_do_not_count() {
    let mut connection = learned(20);
    for _ in 0..10 {
        connection.now_us += 10_000;
        let mut ack = connection.ack(500, 2);
        ack.in_recovery = true;
        connection.take(ack);
    }
    assert_eq!(connection.step(10, 20), 20);
    assert_eq!(connection.control.report().threshold_us, 15_000);
}

#[test]
fn a_loss_halves_and_silences_indications_for_a_round_trip() {
    let mut connection = learned(20);
    assert_eq!(connection.control.on_loss(20, connection.now_us), 10);
    (connection.cwnd, connection.ssthresh) = (10, 10);
    // Growth goes on, two packets an ACK, but nothing is answered for 100 ms.
    for _ in 0..9 {
        assert!(connection.step(10, 120) >= 10);
    }
    // Nor did those delays count: sd passes 15 ms with the second of the packets sent since.
    let cwnd = connection.cwnd;
    assert!(connection.step(11, 120) >= cwnd);
    assert_eq!(connection.step(10, 120), cwnd / 2);
}

#[test]
fn a_microsecond_clock_is_recognised() {
    let mut connection = Connection::new(10);
    let mut stamped = |delay_ms: u32| {
        connection.now_us += 30_000;
        let mut ack = connection.ack(0, 2);
        ack.tsval = connection.now_us - RTT_US + delay_ms * 1000 + 0x8000_0000;
        connection.take(ack);
        connection.over_minimum_us()
    };
    for _ in 0..20 {
        stamped(20);
    }
    assert_eq!(stamped(60), 5_000);
}

#[test]
fn without_timestamps_the_round_trip_serves() {
    let mut connection = Connection::new(10);
    for (rtt_us, expected_us) in [(100_000, 0), (180_000, 10_000)] {
        connection.now_us += 10_000;
        let mut ack = connection.ack(20, 2);
        ack.has_timestamp = false;
        ack.sample_rtt_us = rtt_us;
        connection.take(ack);
        assert_eq!(connection.over_minimum_us(), expected_us);
    }
    assert_eq!(connection.control.report().signal(), Signal::RoundTrip);
}

#[test]
fn parameters_are_taken() {
    let parameters = Parameters {
        delta_permille: 500,
        gamma_permille: 500,
        ..Parameters::default()
    };
    let mut connection = Connection::new(10);
    connection.control = TcpLp::new(&parameters);
    connection.step(10, 20);
    connection.step(10, 120);
    assert_eq!(connection.over_minimum_us(), 50_000);
    assert_eq!(connection.control.report().threshold_us, 50_000);
}

#[test]
fn the_minimum_is_forgotten_within_minutes() {
    let mut connection = learned(20);
    // The path becomes 30 ms longer: for good.
    for _ in 0..(250 * 10) {
        connection.step(100, 50);
    }
    assert!(
        connection.over_minimum_us() < 1_000,
        "{}",
        connection.over_minimum_us()
    );
    assert_eq!(connection.control.report().threshold_us, 15_000);
}

proptest! {
    #[test]
    fn whatever_comes_the_window_stays_within_bounds(
        acks in prop::collection::vec(any::<(u32, u32, u32, u32, u32, u8, u32, u32, bool, bool)>(), 1..200),
    ) {
        let mut control = TcpLp::new(&Parameters::default());
        let mut cwnd = 10;
        for (now_us, sample_rtt_us, smoothed_rtt_us, minimum_rtt_us, tsval, acked, in_flight, ssthresh, has_timestamp, in_recovery) in acks {
            let acked = u32::from(acked);
            let after = control.on_ack(&Ack {
                now_us, sample_rtt_us, smoothed_rtt_us, minimum_rtt_us, tsval, acked, in_flight, cwnd,
                ssthresh,                has_timestamp, in_recovery, cwnd_limited: true,
            });
            prop_assert!(after >= 1);
            prop_assert!(after <= cwnd + acked.max(1));
            cwnd = after;
        }
    }
}

#[test]
fn a_window_below_one_packet_is_paced_while_delays_are_over_the_threshold() {
    let mut connection = learned(20);
    connection.control = TcpLp::new(&Parameters {
        minimum_cwnd_permille: 50,
        ..Parameters::default()
    });
    connection.step(10, 20);
    connection.step(10, 120);
    let pause = |connection: &Connection, cwnd| connection.control.pause_us(cwnd, RTT_US);
    // 100 ms / 0.05; a larger window goes as ACKs come.
    assert_eq!(pause(&connection, 1), 2_000_000);
    assert_eq!(pause(&connection, 2), 0);
    // The ACK of a lone packet may have been held, so that a pair must follow: half as often.
    let mut ack = connection.ack(120, 1);
    ack.in_flight = 0;
    connection.take(ack);
    assert_eq!(pause(&connection, 1), 4_000_000);
    // No longer than 5 s, and not at all once a delay is below the threshold.
    assert_eq!(connection.control.pause_us(1, 10 * RTT_US), 5_000_000);
    connection.step(10, 20);
    assert_eq!(pause(&connection, 1), 0);
}

#[test]
fn the_papers_window_of_one_packet_is_not_paced() {
    let mut connection = learned(1);
    connection.step(10, 120);
    assert_eq!(connection.control.pause_us(1, RTT_US), 0);
}
