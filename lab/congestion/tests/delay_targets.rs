// SPDX-License-Identifier: MIT OR Apache-2.0
//! LEDBAT, LEDBAT++ and TCP Nice against the equations of their specifications, computed by hand.

use netnice_congestion::controls::ledbat::Ledbat;
use netnice_congestion::controls::ledbatpp::LedbatPp;
use netnice_congestion::controls::tcpnice::TcpNice;
use netnice_congestion::tcplp::Ack;
use netnice_parameters::ControlParameters;
use netnice_parameters::exchange::Phase;

const NONE: u32 = u32::MAX;

fn ledbat(parameters: &ControlParameters) -> Ledbat {
    Ledbat::new(
        &netnice_parameters::kernel_parameters("ledbat", parameters).expect("they are allowed"),
    )
}

/// An ACK of one packet in a connection limited by its window of `cwnd` packets.
fn ack(now_ms: u32, rtt_ms: u32, cwnd: u32) -> Ack {
    Ack {
        now_us: now_ms * 1000,
        sample_rtt_us: rtt_ms * 1000,
        smoothed_rtt_us: rtt_ms * 1000,
        acked: 1,
        in_flight: cwnd - 1,
        cwnd,
        ssthresh: NONE,
        cwnd_limited: true,
        ..Ack::default()
    }
}

/// Hands samples of this round trip to the filter until it holds no other.
macro_rules! fill {
    ($policy:expr, $now_ms:expr, $rtt_ms:expr) => {
        for _ in 0..4 {
            $policy.sample(&ack($now_ms, $rtt_ms, 10));
        }
    };
}

/// Acknowledges packets one by one until the window changes; returns their number and the new window.
macro_rules! until_changed {
    ($policy:expr, $ack:expr) => {{
        let mut packets = 0;
        loop {
            packets += 1;
            let cwnd = $policy.on_sampled_ack(&$ack);
            if cwnd != $ack.cwnd || packets > 100_000 {
                break (packets, cwnd);
            }
        }
    }};
}

#[test]
fn ledbat_grows_by_gain_times_off_target() {
    // Without a queue off_target is 1: one packet for ten acknowledged.
    let mut policy = ledbat(&ControlParameters::new());
    fill!(policy, 0, 50);
    // 65536ths are rounded down: 6553 * 10 < 65536.
    assert_eq!(until_changed!(policy, ack(0, 50, 10)), (11, 11));
    // A queue of 75 ms: (100 - 75) / 100 = 1/4, 8 * 4 = 32 packets.
    let mut policy = ledbat(&ControlParameters::new());
    fill!(policy, 0, 50);
    fill!(policy, 0, 125);
    assert_eq!(until_changed!(policy, ack(0, 125, 8)), (32, 9));
    // GAIN 1/2 doubles the number.
    let mut policy = ledbat(&ControlParameters::new().with("gain", 0.5));
    fill!(policy, 0, 50);
    assert_eq!(until_changed!(policy, ack(0, 50, 8)), (16, 9));
}

#[test]
fn ledbat_shrinks_in_proportion_above_the_target() {
    // A queue of 150 ms: (100 - 150) / 100 = -1/2. The 16 packets lose the first 32nd at once.
    let mut policy = ledbat(&ControlParameters::new());
    fill!(policy, 0, 50);
    fill!(policy, 0, 200);
    let mut window = 16;
    for _ in 0..32 {
        window = policy.on_sampled_ack(&ack(0, 200, window));
    }
    // dW = -1/2 / W per packet: W^2 falls by one each, 256 - 32 = 224 = 14.97^2.
    assert_eq!(window, 14);
    // At the target itself the window stays.
    let mut policy = ledbat(&ControlParameters::new());
    fill!(policy, 0, 50);
    fill!(policy, 0, 150);
    assert_eq!(until_changed!(policy, ack(0, 150, 10)).1, 10);
}

#[test]
fn ledbat_keeps_two_packets_and_reports_a_yield() {
    let mut policy = ledbat(&ControlParameters::new().with("target_us", 1000.0));
    fill!(policy, 0, 50);
    fill!(policy, 0, 500);
    assert_eq!(policy.on_sampled_ack(&ack(0, 500, 20)), 2);
    assert_eq!(policy.on_sampled_ack(&ack(0, 500, 2)), 2);
    assert_eq!(policy.report().phase(), Phase::Yielding);
    assert_eq!(policy.report().yields, 1);
    // MIN_CWND also follows an RTO.
    assert_eq!(policy.on_sampled_ack(&ack(0, 500, 1)), 2);
}

#[test]
fn ledbat_is_bounded_by_flight_size_plus_one() {
    let mut policy = ledbat(&ControlParameters::new());
    fill!(policy, 0, 50);
    let idle = Ack {
        in_flight: 3,
        cwnd_limited: false,
        ..ack(0, 50, 20)
    };
    // Three packets and the one acknowledged were in flight: 4 + ALLOWED_INCREASE.
    assert_eq!(policy.on_sampled_ack(&idle), 5);
}

#[test]
fn ledbat_halves_at_a_loss() {
    let mut policy = ledbat(&ControlParameters::new());
    assert_eq!(policy.on_loss(21, 0), 10);
    assert_eq!(policy.on_loss(3, 0), 2);
}

#[test]
fn ledbat_forgets_a_base_delay_after_ten_minutes() {
    let mut policy = ledbat(&ControlParameters::new());
    policy.sample(&ack(0, 50, 10));
    for minute in 1..=9 {
        fill!(policy, minute * 60_000, 80);
        assert_eq!(policy.report().delay_over_minimum_us, 30_000);
    }
    fill!(policy, 10 * 60_000, 80);
    assert_eq!(policy.report().delay_over_minimum_us, 0);
}

#[test]
fn ledbat_takes_the_smallest_of_four_samples() {
    let mut policy = ledbat(&ControlParameters::new());
    policy.sample(&ack(0, 50, 10));
    for rtt_ms in [90, 70, 95] {
        policy.sample(&ack(0, rtt_ms, 10));
    }
    assert_eq!(policy.report().delay_over_minimum_us, 0);
    policy.sample(&ack(0, 99, 10));
    assert_eq!(policy.report().delay_over_minimum_us, 20_000);
}

#[test]
fn ledbat_measures_one_way_delays() {
    let mut policy = ledbat(&ControlParameters::new());
    let with_timestamp = |now_ms, rtt_ms, tsval| Ack {
        tsval,
        has_timestamp: true,
        ..ack(now_ms, rtt_ms, 10)
    };
    // The way back becomes 30 ms longer: the RTT grows, the one-way delay does not.
    policy.sample(&with_timestamp(100, 50, 1075));
    for step in 1..=4 {
        policy.sample(&with_timestamp(100 + step, 80, 1045 + step));
    }
    assert_eq!(policy.report().delay_over_minimum_us, 0);
    // The way there becomes 20 ms longer.
    for step in 5..=8 {
        policy.sample(&with_timestamp(100 + step, 100, 1045 + step));
    }
    assert_eq!(policy.report().delay_over_minimum_us, 20_000);
}

#[test]
fn ledbat_starts_slowly_only_on_request() {
    let mut policy = ledbat(&ControlParameters::new().with("slow_start", true));
    fill!(policy, 0, 50);
    assert_eq!(policy.on_sampled_ack(&ack(0, 50, 10)), 11);
    let mut policy = ledbat(&ControlParameters::new());
    fill!(policy, 0, 50);
    assert_eq!(policy.on_sampled_ack(&ack(0, 50, 10)), 10);
}

fn ledbatpp() -> LedbatPp {
    let none = ControlParameters::new();
    LedbatPp::new(
        &netnice_parameters::kernel_parameters("ledbatpp", &none).expect("they are allowed"),
    )
}

/// Ends the first slow start by a loss, and its slowdown by restoring the window at once.
fn avoiding(base_ms: u32) -> LedbatPp {
    let mut policy = ledbatpp();
    fill!(policy, 0, base_ms);
    policy.on_loss(20, 0);
    let at = |now_ms, cwnd| Ack {
        ssthresh: 10,
        ..ack(now_ms, base_ms, cwnd)
    };
    assert_eq!(policy.on_sampled_ack(&at(0, 10)), 10);
    assert_eq!(policy.on_sampled_ack(&at(2 * base_ms, 10)), 2);
    policy.on_sampled_ack(&at(4 * base_ms, 10));
    policy
}

#[test]
fn ledbatpp_opens_slow_start_by_its_gain() {
    // GAIN = 1 / min(16, ceil(2 * 60 / base)): 1/3 at 40 ms, 1/16 at 5 ms, 1 at 120 ms and above.
    for (base_ms, packets) in [(40, 3), (50, 3), (60, 2), (5, 16), (120, 1), (200, 1)] {
        let mut policy = ledbatpp();
        fill!(policy, 0, base_ms);
        let (after, cwnd) = until_changed!(policy, ack(0, base_ms, 10));
        // A third of 65536 is rounded down.
        let expected = if packets == 3 { 4 } else { packets };
        assert_eq!((after, cwnd), (expected, 11), "{base_ms} ms");
    }
}

#[test]
fn ledbatpp_leaves_slow_start_at_three_quarters_of_target() {
    let mut policy = ledbatpp();
    fill!(policy, 0, 120);
    fill!(policy, 0, 165);
    assert_eq!(policy.on_sampled_ack(&ack(0, 165, 20)), 21);
    fill!(policy, 0, 166);
    assert_eq!(policy.on_sampled_ack(&ack(0, 166, 21)), 20);
}

#[test]
fn ledbatpp_slows_down_for_two_round_trips_then_one_in_ten() {
    let mut policy = ledbatpp();
    fill!(policy, 0, 120);
    policy.on_loss(40, 0);
    let at = |now_ms, cwnd| Ack {
        ssthresh: 20,
        ..ack(now_ms, 120, cwnd)
    };
    // The slowdown begins two round trips after the end of the first slow start.
    assert_eq!(policy.on_sampled_ack(&at(1000, 20)), 20);
    assert_eq!(policy.on_sampled_ack(&at(1239, 20)), 20);
    assert_eq!(policy.on_sampled_ack(&at(1240, 20)), 2);
    assert_eq!(policy.report().phase(), Phase::Inference);
    // Two packets for two round trips.
    assert_eq!(policy.on_sampled_ack(&at(1479, 2)), 2);
    // Slow start to the old window; GAIN is 1 at 120 ms.
    assert_eq!(policy.on_sampled_ack(&at(1480, 2)), 3);
    assert_eq!(policy.on_sampled_ack(&at(1600, 19)), 20);
    // It took 360 ms when the window was seen again: 9 * 360 ms until the next.
    assert_eq!(policy.on_sampled_ack(&at(1600, 20)), 20);
    assert!(policy.on_sampled_ack(&at(1600 + 3239, 20)) >= 20);
    assert_eq!(policy.on_sampled_ack(&at(1600 + 3240, 20)), 2);
}

#[test]
fn ledbatpp_grows_by_gain_per_round_trip() {
    // 1/3 packet per round trip of 10 packets: 30 packets. `avoiding` has counted one, rounding loses one.
    let mut policy = avoiding(40);
    let (packets, cwnd) = until_changed!(policy, avoiding_ack(160, 40, 10));
    assert_eq!((packets, cwnd), (30, 11));
}

/// An ACK in congestion avoidance.
fn avoiding_ack(now_ms: u32, rtt_ms: u32, cwnd: u32) -> Ack {
    Ack {
        ssthresh: 2,
        ..ack(now_ms, rtt_ms, cwnd)
    }
}

#[test]
fn ledbatpp_decreases_in_proportion_to_the_excess() {
    // Base 120 ms, GAIN 1, queue 75 ms: per packet 1/W - (75/60 - 1) = 1/20 - 1/4 = -1/5.
    let mut policy = avoiding(120);
    fill!(policy, 480, 195);
    let ack = avoiding_ack(480, 195, 20);
    assert_eq!(policy.on_sampled_ack(&ack), 19);
    let five = Ack { acked: 5, ..ack };
    // The fraction left is 4/5: 20.8 - 1 = 19.8.
    assert_eq!(policy.on_sampled_ack(&five), 19);
    // Queue 600 ms: 1/20 - 9 is limited to -1/2 for each packet, half of the window per round trip.
    let mut policy = avoiding(120);
    fill!(policy, 480, 720);
    let whole = Ack {
        acked: 20,
        ..avoiding_ack(480, 720, 20)
    };
    assert_eq!(policy.on_sampled_ack(&whole), 10);
    assert_eq!(policy.on_sampled_ack(&Ack { cwnd: 2, ..whole }), 2);
    assert_eq!(policy.report().phase(), Phase::Yielding);
}

fn tcpnice(parameters: &ControlParameters) -> TcpNice {
    TcpNice::new(
        &netnice_parameters::kernel_parameters("tcpnice", parameters).expect("they are allowed"),
    )
}

/// A round trip of `rtts_ms`, one sample each, in congestion avoidance; returns the window after it.
fn round(policy: &mut TcpNice, start_ms: u32, rtts_ms: &[u32], cwnd: u32) -> u32 {
    let at = |now_ms, rtt_ms| Ack {
        acked: 2,
        ssthresh: cwnd.min(2),
        ..ack(now_ms, rtt_ms, cwnd)
    };
    let mut window = cwnd;
    for (index, rtt_ms) in rtts_ms.iter().enumerate() {
        // Only the last packet was sent after the start of the round.
        let now_ms = match index + 1 == rtts_ms.len() {
            true => start_ms + 1000,
            false => start_ms + 1,
        };
        let ack = at(now_ms, *rtt_ms);
        policy.sample(&ack);
        window = policy.on_sampled_ack(&ack);
    }
    window
}

/// A connection that knows an RTT of 100 to 200 ms: congestion begins above 110 ms.
fn nice_between_100_and_200_ms() -> TcpNice {
    let mut policy = tcpnice(&ControlParameters::new());
    round(&mut policy, 1000, &[100], 20);
    round(&mut policy, 2000, &[100, 200, 100, 100], 20);
    policy
}

#[test]
fn nice_halves_when_half_of_a_round_is_over_the_threshold() {
    let mut policy = nice_between_100_and_200_ms();
    assert_eq!(round(&mut policy, 3000, &[111, 111, 111, 100], 20), 10);
    assert_eq!(policy.report().threshold_us, 10_000);
    // Two of four is not more than half; 110 ms is not over the threshold.
    let mut policy = nice_between_100_and_200_ms();
    assert_eq!(round(&mut policy, 3000, &[111, 111, 110, 100], 20), 21);
}

#[test]
fn nice_follows_vegas_otherwise() {
    // With thresholds out of reach: 20 * (118 - 100) / 118 = 3.05 > beta, 116: 2.8, 104: 0.8 < alpha.
    for (rtt_ms, cwnd) in [(118, 19), (116, 20), (106, 20), (104, 21)] {
        let parameters = ControlParameters::new().with("threshold", 1.0);
        let mut policy = tcpnice(&parameters);
        round(&mut policy, 1000, &[100], 20);
        round(&mut policy, 2000, &[100, 200, 100], 20);
        assert_eq!(
            round(&mut policy, 3000, &[rtt_ms, rtt_ms], 20),
            cwnd,
            "{rtt_ms} ms"
        );
    }
}

#[test]
fn nice_sends_a_packet_each_48_round_trips_at_least() {
    let mut policy = nice_between_100_and_200_ms();
    let mut waits = Vec::new();
    for number in 0..7 {
        assert_eq!(round(&mut policy, 3000 + 1000 * number, &[150, 150], 1), 1);
        waits.push(policy.pause_us(1, 100_000) / 100_000);
    }
    assert_eq!(waits, [2, 4, 8, 16, 32, 48, 48]);
    assert_eq!(policy.report().phase(), Phase::Yielding);
    assert_eq!(policy.report().yields, 1);
    // No round trip above a packet's window, and none after a round without congestion.
    assert_eq!(policy.pause_us(2, 100_000), 0);
    assert_eq!(round(&mut policy, 10_000, &[100, 100], 1), 2);
    assert_eq!(policy.pause_us(1, 100_000), 0);
}
