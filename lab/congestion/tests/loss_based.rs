// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reno, CUBIC and Vegas against their equations, computed by hand.

mod path;

use netnice_congestion::congestion_control::{Ack, CaState, Congestion, CongestionControl, Window};
use netnice_congestion::control_file::ControlFile;
use netnice_congestion::registry;
use netnice_parameters::ControlParameters;
use path::{Flow, Path};

const MILLISECOND: u64 = 1_000_000;

fn control(name: &str) -> Box<dyn CongestionControl> {
    with(name, &ControlParameters::new())
}

fn with(name: &str, parameters: &ControlParameters) -> Box<dyn CongestionControl> {
    registry::create(name, parameters).expect("the control exists")
}

fn acked(packets: u32) -> Ack {
    Ack {
        acked: packets,
        cwnd_limited: true,
        ..Ack::default()
    }
}

fn flight(in_flight: u32) -> Congestion {
    Congestion {
        in_flight,
        ..Congestion::default()
    }
}

fn window(cwnd: f64, ssthresh: f64) -> Window {
    Window { cwnd, ssthresh }
}

fn assert_near(left: f64, right: f64, within: f64) {
    assert!((left - right).abs() <= within, "{left} is not {right}");
}

#[test]
fn reno_doubles_in_slow_start_and_adds_one_in_avoidance() {
    let mut reno = control("reno");
    let mut w = window(10.0, f64::INFINITY);
    for _ in 0..10 {
        reno.on_ack(&acked(1), &mut w);
    }
    assert_eq!(w.cwnd, 20.0);
    // w^2 grows by 2 + 1/w^2 per ACK: sqrt(400 + 40 + 20 / 440) after 20.
    w.ssthresh = 20.0;
    for _ in 0..20 {
        reno.on_ack(&acked(1), &mut w);
    }
    assert_near(w.cwnd, (440.0f64 + 20.0 / 440.0).sqrt(), 0.001);
}

#[test]
fn reno_counts_acks_unless_set_to_count_packets() {
    let mut counts_acks = control("reno");
    let counting = ControlParameters::new().with("appropriate_byte_counting", true);
    let mut counts_packets = with("reno", &counting);
    let (mut by_acks, mut by_packets) = (window(100.0, 50.0), window(100.0, 50.0));
    for _ in 0..50 {
        counts_acks.on_ack(&acked(2), &mut by_acks);
        counts_packets.on_ack(&acked(2), &mut by_packets);
    }
    assert_near(by_acks.cwnd, 100.5, 0.01);
    assert_near(by_packets.cwnd, 101.0, 0.01);
    // In slow start the window grows by L = 2 packets per ACK, however many it covers.
    let mut w = window(4.0, f64::INFINITY);
    counts_packets.on_ack(&acked(4), &mut w);
    assert_eq!(w.cwnd, 6.0);
    counts_acks.on_ack(&acked(4), &mut w);
    assert_eq!(w.cwnd, 7.0);
}

#[test]
fn reno_halves_the_window_in_use_and_keeps_two() {
    let mut reno = control("reno");
    let mut w = window(30.5, f64::INFINITY);
    reno.on_loss(&flight(21), &mut w);
    assert_eq!(w, window(30.5, 10.5));
    reno.on_loss(&flight(3), &mut w);
    assert_eq!(w.ssthresh, 2.0);
    // All of the window counts, with its fraction; more is in flight if it has been halved already.
    for in_flight in [30, 40] {
        reno.on_loss(&flight(in_flight), &mut w);
        assert_eq!(w.ssthresh, 15.25);
    }
    reno.on_timeout(&flight(40), &mut w);
    assert_eq!(w.ssthresh, 15.0);
    reno.on_ecn_echo(&flight(12), true, &mut w);
    assert_eq!(w, window(6.0, 6.0));
}

#[test]
fn windows_that_are_not_used_up_and_windows_in_recovery_do_not_grow() {
    for name in ["reno", "cubic", "vegas", "highspeed"] {
        let mut control = control(name);
        let mut w = window(10.0, f64::INFINITY);
        let idle = Ack {
            cwnd_limited: false,
            ..acked(1)
        };
        let recovering = Ack {
            ca_state: CaState::Recovery,
            may_grow: false,
            ..acked(1)
        };
        control.on_ack(&idle, &mut w);
        control.on_ack(&recovering, &mut w);
        assert_eq!(w.cwnd, 10.0, "{name}");
        // After an RTO slow start continues.
        let timed_out = Ack {
            ca_state: CaState::Loss,
            may_grow: true,
            ..recovering
        };
        if name != "vegas" {
            control.on_ack(&timed_out, &mut w);
            assert_eq!(w.cwnd, 11.0, "{name}");
        }
    }
}

/// Sends windows of ACKs, one window per `rtt_ns` and spread over it, from `now_ns` for `seconds`.
fn ack_for(
    control: &mut dyn CongestionControl,
    w: &mut Window,
    now_ns: &mut u64,
    rtt_ns: u64,
    seconds: f64,
) {
    let end_ns = *now_ns + (seconds * 1e9) as u64;
    while *now_ns < end_ns {
        control.on_ack(
            &Ack {
                now_ns: *now_ns,
                smoothed_rtt_ns: rtt_ns,
                ..acked(1)
            },
            w,
        );
        *now_ns += (rtt_ns as f64 / w.cwnd) as u64;
    }
}

#[test]
fn cubic_is_at_the_last_maximum_after_k_seconds() {
    let mut cubic = control("cubic");
    let mut w = window(100.0, 50.0);
    cubic.on_loss(&flight(100), &mut w);
    assert_near(w.ssthresh, 70.0, 1e-9);
    w.cwnd = 70.0;
    // K = cbrt((100 - 70) / 0.4) = cbrt(75) = 4.217 s.
    let k_s = 75f64.cbrt();
    let mut now_ns = 0;
    let rtt_ns = 200 * MILLISECOND;
    ack_for(&mut *cubic, &mut w, &mut now_ns, rtt_ns, k_s / 2.0);
    // W(K / 2) = 100 - 0.4 * (K / 2)^3 = 96.25. The window follows W a round trip ahead, and takes about a round trip
    // to reach it.
    assert_near(w.cwnd, 96.25, 0.2);
    ack_for(&mut *cubic, &mut w, &mut now_ns, rtt_ns, k_s / 2.0);
    assert_near(w.cwnd, 100.0, 0.1);
    ack_for(&mut *cubic, &mut w, &mut now_ns, rtt_ns, k_s);
    // W(2 K) = 130; a round trip later 0.4 * (K + 0.2)^3 + 100 = 134.5.
    assert!((129.9..134.5).contains(&w.cwnd), "{}", w.cwnd);
}

#[test]
fn cubic_gives_way_faster_while_its_maximum_falls() {
    let mut cubic = control("cubic");
    let mut w = window(100.0, 50.0);
    cubic.on_loss(&flight(100), &mut w);
    w.cwnd = 80.0;
    cubic.on_loss(&flight(80), &mut w);
    assert_near(w.ssthresh, 56.0, 1e-9);
    w.cwnd = 56.0;
    // W_max = 80 * (1 + 0.7) / 2 = 68, K = cbrt(12 / 0.4) = 3.107 s.
    let mut now_ns = 0;
    ack_for(
        &mut *cubic,
        &mut w,
        &mut now_ns,
        500 * MILLISECOND,
        30f64.cbrt(),
    );
    assert_near(w.cwnd, 68.0, 0.1);
}

#[test]
fn cubic_grows_as_reno_would_on_short_paths() {
    let mut cubic = control("cubic");
    let mut w = window(10.0, 5.0);
    cubic.on_loss(&flight(10), &mut w);
    w.cwnd = 7.0;
    // alpha = 3 * 0.3 / 1.7 = 0.529 packets a round trip; W_cubic is at 7.4 only after 0.1 s.
    let mut now_ns = 0;
    ack_for(&mut *cubic, &mut w, &mut now_ns, 10 * MILLISECOND, 0.05);
    assert_near(w.cwnd, 7.0 + 5.0 * 0.9 / 1.7, 0.2);
}

fn linux_cubic() -> Box<dyn CongestionControl> {
    let linux = ControlParameters::new().with("linux", true);
    with("cubic", &linux)
}

#[test]
fn cubic_of_linux_grows_by_the_function_in_whole_packets() {
    let mut cubic = linux_cubic();
    let mut w = window(100.0, f64::INFINITY);
    cubic.on_loss(&flight(100), &mut w);
    // 100 * 717 / 1024.
    assert_eq!(w.ssthresh, 70.0);
    w.cwnd = w.ssthresh;
    // K = (30 * 1024 / 410)^(1/3) = 4.2158 s, 4316 / 1024. No round trip is known: after 0 s the function is at
    // 100 - 410 * 4316^3 / 1024^4 = 100 - 29, so that
    // 70 ACKs let the window grow by one.
    for _ in 0..69 {
        cubic.on_ack(&acked(1), &mut w);
    }
    assert_eq!(w.cwnd, 70.0);
    cubic.on_ack(&acked(1), &mut w);
    assert_eq!(w.cwnd, 71.0);
}

#[test]
fn cubic_of_linux_grows_before_a_loss() {
    let mut cubic = linux_cubic();
    // HyStart has ended slow start: a packet for each 20 acknowledged.
    let mut w = window(100.0, 100.0);
    for _ in 0..100 {
        cubic.on_ack(&acked(1), &mut w);
    }
    assert_eq!(w.cwnd, 105.0);
}

/// Packets of 1.2 ms over 40 ms: packets 1 to 10 leave at 0, and with each ACK two more. Returns the packet whose ACK ends slow
/// start, of the first 30, and ssthresh.
fn end_of_slow_start(mut cubic: Box<dyn CongestionControl>) -> Option<(u64, f64)> {
    let mut w = window(10.0, f64::INFINITY);
    let ms = |value: f64| (value * MILLISECOND as f64) as u64;
    // The ACKs of a round come 1.2 ms apart, and rounds begin at 40 ms and 80 ms.
    let at_ms = |packet: u64| match packet {
        ..=10 => 40.0 + 1.2 * (packet - 1) as f64,
        _ => 80.0 + 1.2 * (packet - 11) as f64,
    };
    for packet in 1..=30u64 {
        let sent_by = packet.saturating_sub(9) / 2;
        let sent_ms = if sent_by == 0 { 0.0 } else { at_ms(sent_by) };
        let ack = Ack {
            now_ns: ms(at_ms(packet)),
            rtt_ns: Some(ms(at_ms(packet) - sent_ms)),
            delivered: packet,
            prior_delivered: sent_by,
            ..acked(1)
        };
        cubic.on_ack(&ack, &mut w);
        if !w.in_slow_start() {
            return Some((packet, w.ssthresh));
        }
    }
    None
}

#[test]
fn cubic_of_linux_ends_slow_start_by_a_train() {
    // A train ends slow start when it is longer than (40 ms + 1 ms) / 2: the 19th ACK of the second round, 21.6 ms after the
    // first, at a window of 10 + 28 packets. In the first round the window is 16 packets at the 7th ACK, 7.2 ms after the train
    // began, which is no part of it.
    assert_eq!(end_of_slow_start(linux_cubic()), Some((29, 38.0)));
    // A paced train may be 41 ms long.
    let mut paced = linux_cubic();
    paced.sender_paces();
    assert_eq!(end_of_slow_start(paced), None);
}

#[test]
fn hystart_limits_the_growth_by_an_ack_unless_paced() {
    // L of RFC 9406 section 4.3.
    for (paced, cwnd) in [(false, 108.0), (true, 120.0)] {
        let mut cubic = with("cubic", &ControlParameters::new().with("hystart", true));
        if paced {
            cubic.sender_paces();
        }
        let mut w = window(100.0, f64::INFINITY);
        cubic.on_ack(&acked(20), &mut w);
        assert_eq!(w.cwnd, cwnd);
    }
}

#[test]
fn cubic_of_linux_gives_way_while_its_maximum_falls() {
    let mut cubic = linux_cubic();
    let mut w = window(100.0, f64::INFINITY);
    cubic.on_loss(&flight(100), &mut w);
    w.cwnd = 80.0;
    cubic.on_loss(&flight(80), &mut w);
    // 80 * 717 / 1024; the maximum is 80 * 1741 / 2048 = 68.
    assert_eq!(w.ssthresh, 56.0);
    w.cwnd = w.ssthresh;
    // K = (12 * 1024 / 410)^(1/3) = 3.106 s: after 3.1 s the function is at 68 less a part of
    // a packet, and the window grows by 12 packets in 56 ACKs: one in 4.
    let late = Ack {
        now_ns: 3_100 * MILLISECOND,
        ..acked(1)
    };
    cubic.on_ack(&acked(1), &mut w);
    for _ in 0..8 {
        cubic.on_ack(&late, &mut w);
    }
    assert_eq!(w.cwnd, 58.0);
}

#[test]
fn cubic_begins_at_the_plateau_after_a_timeout() {
    let mut cubic = control("cubic");
    let mut w = window(100.0, 50.0);
    cubic.on_loss(&flight(100), &mut w);
    cubic.on_timeout(&flight(60), &mut w);
    assert_near(w.ssthresh, 42.0, 1e-9);
    w.cwnd = 42.0;
    // K = 0: W(1 s) = 42.4, though Reno's window has grown by 0.53 by then.
    let mut now_ns = 0;
    ack_for(&mut *cubic, &mut w, &mut now_ns, 1000 * MILLISECOND, 1.0);
    assert!((42.4..45.3).contains(&w.cwnd), "{}", w.cwnd);
}

#[test]
fn a_reduction_goes_by_the_window_where_recovery_has_more_in_flight() {
    for (name, ssthresh) in [
        ("reno", 150.0),
        ("cubic", 210.0),
        ("vegas", 225.0),
        ("highspeed", 182.25),
    ] {
        let mut control = control(name);
        let mut w = window(300.0, 250.0);
        control.on_loss(&flight(600), &mut w);
        assert_near(w.ssthresh, ssthresh, 1.0);
    }
}

#[test]
fn hystart_leaves_slow_start_before_the_queue_overflows() {
    // Path and queue hold 913 packets. Round trips are longer in the round that starts with 256 packets, as the first 8
    // ACKs show; the rest of it and four more rounds grow by a quarter: 256 * 1.25^5 = 781.
    let mut plain = Flow::new(Path::new(850), control("cubic"), 2.0);
    plain.run(4.0);
    assert!(plain.losses > 0);
    let hystart = ControlParameters::new().with("hystart", true);
    let mut early = Flow::new(Path::new(850), with("cubic", &hystart), 2.0);
    early.run(4.0);
    assert_eq!(early.losses, 0);
    let left_at = early.window.ssthresh;
    assert!((770.0..810.0).contains(&left_at), "{left_at}");
}

/// Runs a round of Vegas in which every packet takes `rtt_ns`.
fn vegas_round(vegas: &mut dyn CongestionControl, w: &mut Window, round: u64, rtt_ns: u64) {
    let packets = w.cwnd as u64;
    for packet in 0..packets {
        vegas.on_ack(
            &Ack {
                rtt_ns: Some(rtt_ns),
                // From the handshake, whose packets are small; Vegas does not use it.
                min_rtt_ns: 50 * MILLISECOND,
                delivered: round * 1000 + packet + 1,
                prior_delivered: if packet == 0 {
                    round * 1000
                } else {
                    (round - 1) * 1000 + packet
                },
                ..acked(1)
            },
            w,
        );
    }
}

#[test]
fn vegas_adds_keeps_or_takes_one_packet_by_what_it_has_queued() {
    // With a window of 20 packets, 20 * (1 - 100 / rtt) of them are in the queue.
    for (rtt_ms, expected) in [(104, 21.0), (110, 20.0), (125, 19.0)] {
        let mut vegas = control("vegas");
        let mut w = window(20.0, 2.0);
        // The first round learns the path. The second measures; the third shows the reaction.
        for (round, rtt_ms) in [(1, 100), (2, rtt_ms), (3, rtt_ms)] {
            w.cwnd = 20.0;
            vegas_round(&mut *vegas, &mut w, round, rtt_ms * MILLISECOND);
        }
        assert_near(w.cwnd, expected, 0.05);
    }
}

#[test]
fn vegas_holds_between_alpha_and_beta_packets_in_the_queue() {
    for (alpha, beta) in [(1.0, 3.0), (4.0, 8.0)] {
        let parameters = ControlParameters::new()
            .with("alpha", alpha)
            .with("beta", beta);
        let mut flow = Flow::new(Path::new(100), with("vegas", &parameters), 2.0);
        flow.run(20.0);
        let before = flow.window.cwnd;
        // The path holds 62.5 packets, and one more in service.
        let queued = flow.window.cwnd - 63.5;
        assert!(
            (alpha - 1.0..=beta + 1.0).contains(&queued),
            "{queued} packets of {alpha} to {beta}"
        );
        flow.run(30.0);
        assert_near(flow.window.cwnd, before, 1.0);
        assert_eq!(flow.losses, 0);
    }
}

#[test]
fn vegas_gives_a_quarter_at_a_loss_and_never_returns_to_slow_start() {
    let mut vegas = control("vegas");
    let mut w = window(40.0, f64::INFINITY);
    vegas.on_loss(&flight(40), &mut w);
    assert_eq!(w.ssthresh, 30.0);
    w.cwnd = 30.0;
    vegas.on_recovery_end(0, &mut w);
    for round in 1..6 {
        vegas_round(&mut *vegas, &mut w, round, 150 * MILLISECOND);
        assert!(!w.in_slow_start(), "{w:?}");
    }
}

#[test]
fn highspeed_in_a_c_file_takes_the_steps_of_rfc_3649() {
    let path = "../../papers/experiments/scenarios/highspeed.h";
    let text = std::fs::read_to_string(path).unwrap();
    let mut highspeed = ControlFile::compile(path, &text).unwrap().create().unwrap();
    // One packet per round trip below 38 packets: after 10 and 11 ACKs.
    let mut w = window(10.0, 5.0);
    for (acks, cwnd) in [(9, 10.0), (1, 11.0), (10, 11.0), (1, 12.0)] {
        for _ in 0..acks {
            highspeed.on_ack(&acked(1), &mut w);
        }
        assert_eq!(w.cwnd, cwnd);
    }
    // a(1058) = 8. 8 * 1061 = 8488 are 1058 + 1059 + .. + 1064 = 7427, and 1061; the next packet takes 1065.
    let mut highspeed = ControlFile::compile(path, &text).unwrap().create().unwrap();
    let mut w = window(1058.0, 500.0);
    for _ in 0..1061 {
        highspeed.on_ack(&acked(1), &mut w);
    }
    assert_eq!(w.cwnd, 1065.0);
    highspeed.on_ack(&acked(1), &mut w);
    assert_eq!(w.cwnd, 1066.0);
    // b(1058) = 335 / 1024: 1058 - 346. An RTO halves.
    w.cwnd = 1058.0;
    highspeed.on_loss(&flight(1058), &mut w);
    assert_eq!(w.ssthresh, 712.0);
    highspeed.on_timeout(&flight(1058), &mut w);
    assert_eq!(w.ssthresh, 529.0);
    // Slow start: a packet for each acknowledged, to ssthresh and not beyond.
    let mut w = window(100.0, 103.0);
    highspeed.on_ack(&acked(2), &mut w);
    assert_eq!(w.cwnd, 102.0);
    highspeed.on_ack(&acked(2), &mut w);
    assert_eq!(w.cwnd, 103.0);
}
