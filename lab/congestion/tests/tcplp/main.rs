// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP-LP against numbers computed by hand from equations (1) and (2) and the paper's figure 3.

use netnice_congestion::congestion_control::CaState;
use netnice_congestion::controls::tcplp::TcpLp;
use netnice_congestion::tcplp::Ack;
use netnice_parameters::ControlParameters;
use netnice_parameters::exchange::{Parameters, Phase, Signal};
use proptest::prelude::*;

mod connection;
mod peers;

use connection::{Connection, RTT_US, learned};

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

#[test]
fn the_first_indication_halves_and_a_second_within_itt_leaves_one() {
    let mut connection = learned(20);
    // sd rises by an eighth of 100 ms per sample: 12.5 ms, then 23.4 ms > 15 ms.
    assert_eq!(connection.step(10, 120), 20);
    assert_eq!(connection.step(10, 120), 10);
    assert_eq!(connection.control.report().phase(), Phase::Inference);
    // Indications in the round trip after a reaction are ignored.
    assert_eq!(connection.step(50, 120), 10);
    assert_eq!(connection.step(49, 120), 10);
    // After it, and within itt = 3 RTT, another indication leaves one packet.
    assert_eq!(connection.step(2, 120), 1);
    assert_eq!(connection.control.report().phase(), Phase::Yielding);
    assert_eq!(connection.control.report().yields, 1);
}

/// Delivers delays 16 ms over the smallest until the first indication: sd exceeds 15 ms at the 21st, as 16 ms * (1 -
/// (7/8)^21) = 15.03 ms.
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
    // For 99 ms, ACKs of packets sent earlier reflect the old queue: they do not enter sd.
    let mut connection = barely_indicated();
    for _ in 0..9 {
        assert_eq!(connection.step(11, 36), 10);
        assert!((15_000..15_100).contains(&connection.over_minimum_us()));
    }
    // The first packet sent since met no queue: sd falls to 7/8 of 15.03 ms, and there is no second indication.
    assert_eq!(connection.step(11, 20), 10);
    assert!((13_100..13_200).contains(&connection.over_minimum_us()));
    // If round-trip times have risen, this takes longer than the smoothed one: this packet took 150 ms.
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
    // Two packets 100 ms over the smallest, then one at it: 7/8 * 100 ms * (1 - (7/8)^2) = 20.5 ms.
    assert_eq!(connection.step(10, 20), 1);
    assert!((20_000..21_000).contains(&connection.over_minimum_us()));
}

#[test]
fn nothing_grows_during_the_inference_phase() {
    let mut connection = barely_indicated();
    // itt = 3 RTT = 300 ms, in which the queue has emptied.
    for _ in 0..29 {
        assert_eq!(connection.step(10, 20), 10);
    }
    assert_eq!(connection.control.report().phase(), Phase::Inference);
    // Then one packet per window: ten packets in five ACKs.
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
fn samples_in_recovery_do_not_count() {
    let mut connection = learned(20);
    for _ in 0..10 {
        connection.now_us += 10_000;
        let mut ack = connection.ack(500, 2);
        ack.ca_state = CaState::Recovery;
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
    // The window grows by two packets per ACK, but indications are ignored for 100 ms.
    for _ in 0..9 {
        assert!(connection.step(10, 120) >= 10);
    }
    // Nor did those delays count: sd exceeds 15 ms at the second packet sent since.
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
    let parameters = ControlParameters::new()
        .with("delta", 0.5)
        .with("gamma", 0.5);
    let parameters = netnice_parameters::kernel_parameters("tcplp", &parameters).unwrap();
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
    // The path becomes 30 ms longer permanently.
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
        for (now_us, sample_rtt_us, smoothed_rtt_us, minimum_rtt_us, tsval, acked, in_flight, ssthresh, has_timestamp, recovering) in acks {
            let acked = u32::from(acked);
            let after = control.on_ack(&Ack {
                now_us, sample_rtt_us, smoothed_rtt_us, minimum_rtt_us, tsval, acked, in_flight, cwnd,
                ssthresh,                has_timestamp, cwnd_limited: true,
                ca_state: if recovering { CaState::Recovery } else { CaState::Open },
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
    let parameters = ControlParameters::new().with("minimum_cwnd", 0.05);
    let parameters = netnice_parameters::kernel_parameters("tcplp", &parameters).unwrap();
    connection.control = TcpLp::new(&parameters);
    connection.step(10, 20);
    connection.step(10, 120);
    let pause = |connection: &Connection, cwnd| connection.control.pause_us(cwnd, RTT_US);
    // 100 ms / 0.05; a larger window is clocked by ACKs.
    assert_eq!(pause(&connection, 1), 2_000_000);
    assert_eq!(pause(&connection, 2), 0);
    // The ACK of a lone packet may be delayed, so a pair must follow: half as often.
    let mut ack = connection.ack(120, 1);
    ack.in_flight = 0;
    connection.take(ack);
    assert_eq!(pause(&connection, 1), 4_000_000);
    // The pause is at most 5 s, and 0 once a delay is below the threshold.
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
