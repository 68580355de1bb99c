// SPDX-License-Identifier: MIT OR Apache-2.0
//! The low-priority controls as called by a sender: HSTCP-LP's steps, TCP-LP/ECN's marks, netnice in recovery.

mod path;

use netnice_congestion::congestion_control::{Ack, CaState, Congestion, CongestionControl, Window};
use netnice_congestion::registry;
use netnice_parameters::ControlParameters;
use netnice_parameters::exchange::{Phase, Report, Signal};
use path::{Flow, Path};

const MILLISECOND: u64 = 1_000_000;

fn control(name: &str) -> Box<dyn CongestionControl> {
    registry::create(name, &ControlParameters::new()).expect("the control exists")
}

fn window(cwnd: f64, ssthresh: f64) -> Window {
    Window { cwnd, ssthresh }
}

/// An ACK of a packet that took `one_way_ms` on the forward path; the return path takes 50 ms.
fn ack(now_ms: u64, one_way_ms: u64) -> Ack {
    Ack {
        now_ns: now_ms * MILLISECOND,
        rtt_ns: Some((one_way_ms + 50) * MILLISECOND),
        smoothed_rtt_ns: 100 * MILLISECOND,
        min_rtt_ns: 100 * MILLISECOND,
        tsval: Some((now_ms - 50) as u32),
        acked: 2,
        in_flight: 10,
        cwnd_limited: true,
        ..Ack::default()
    }
}

fn congestion(now_ms: u64) -> Congestion {
    Congestion {
        now_ns: now_ms * MILLISECOND,
        in_flight: 10,
        smoothed_rtt_ns: 100 * MILLISECOND,
        min_rtt_ns: 100 * MILLISECOND,
    }
}

#[test]
fn hstcplp_takes_the_steps_of_highspeed_tcp() {
    // a(1058) = 8: a packet for every eighth of the window. 1058 / 16 = 66.1 ACKs of two packets.
    let mut hstcplp = control("hstcplp");
    let mut w = window(1058.0, 2.0);
    for n in 0..66 {
        hstcplp.on_ack(&ack(1000 + n, 50), &mut w);
    }
    assert_eq!(w.cwnd, 1058.0);
    hstcplp.on_ack(&ack(1066, 50), &mut w);
    assert_eq!(w.cwnd, 1059.0);
    // b(1058) = 0.327: 346 packets.
    w.cwnd = 1058.0;
    hstcplp.on_loss(&congestion(2000), &mut w);
    assert_eq!(w.ssthresh, 712.0);
}

#[test]
fn hstcplp_is_tcplp_below_118_packets() {
    let (mut one, mut other) = (control("hstcplp"), control("tcplp"));
    let (mut w, mut v) = (window(20.0, 20.0), window(20.0, 20.0));
    for n in 0..4000u64 {
        let queue_ms = if n % 1000 > 900 { 30 } else { n % 3 };
        one.on_ack(&ack(1000 + n, 50 + queue_ms), &mut w);
        other.on_ack(&ack(1000 + n, 50 + queue_ms), &mut v);
        assert_eq!(w, v);
        assert!(w.cwnd < 118.0);
    }
    assert_eq!(one.report(), other.report());
    assert!(one.report().expect("it reports").yields > 0);
}

/// Runs a hundred round trips on the empty path, with a full queue in one of them.
fn learn(control: &mut dyn CongestionControl, w: &mut Window) -> u64 {
    for n in 0..1000 {
        let queue_ms = if n == 10 { 100 } else { 0 };
        let before = *w;
        control.on_ack(&ack(1000 + 10 * n, 50 + queue_ms), w);
        if n < 100 {
            *w = before;
        }
    }
    11_000
}

#[test]
fn hstcplp_halves_at_an_indication_and_yields_when_it_lasts() {
    for name in ["tcplp", "hstcplp"] {
        let mut control = control(name);
        let mut w = window(500.0, 2.0);
        let start_ms = learn(&mut *control, &mut w);
        let before = w.cwnd;
        let mut windows = vec![before];
        for n in 0..30 {
            control.on_ack(&ack(start_ms + 10 * n, 100), &mut w);
            if windows.last() != Some(&w.cwnd) {
                windows.push(w.cwnd);
            }
        }
        let reactions: Vec<f64> = windows
            .windows(2)
            .filter(|pair| pair[1] < pair[0])
            .map(|pair| pair[1])
            .collect();
        assert_eq!(reactions.len(), 2, "{name}: {windows:?}");
        assert!(
            (reactions[0] - before / 2.0).abs() <= 1.0,
            "{name}: {windows:?}"
        );
        assert_eq!(reactions[1], 1.0, "{name}: {windows:?}");
        assert_eq!(
            control.report().expect("it reports").phase(),
            Phase::Yielding
        );
    }
}

#[test]
fn hstcplp_uses_a_large_path_where_tcplp_does_not() {
    // 1 Gb/s and 50 ms: 6250 packets. Slow start has measured the queue; the run takes a minute from 100 packets on.
    let share = |name: &str| {
        let mut path = Path::new(6250);
        path.packet_ns = 8_000;
        let mut flow = Flow::new(path, control(name), 2.0);
        flow.run(2.0);
        (flow.window.cwnd, flow.window.ssthresh) = (100.0, 100.0);
        flow.run(3.0);
        let (before, cwnd) = (flow.delivered, flow.window.cwnd);
        flow.run(63.0);
        ((flow.delivered - before) as f64 / (60.0 * 125_000.0), cwnd)
    };
    // TCP-LP gains a packet per 50 ms, 1200 in the minute.
    let (tcplp, cwnd) = share("tcplp");
    let expected = (cwnd + 600.0) / 6250.0;
    assert!((tcplp - expected).abs() < 0.005, "{tcplp}, not {expected}");
    let (hstcplp, _) = share("hstcplp");
    assert!(hstcplp > 0.5, "{hstcplp}");
}

#[test]
fn tcplp_ecn_takes_marks_for_indications_and_ignores_delays() {
    let mut control = control("tcplp_ecn");
    let mut w = window(40.0, 20.0);
    // Delays have no effect: the window grows by a packet per window.
    for n in 0..20 {
        control.on_ack(&ack(1000 + n, 50 + 10 * n), &mut w);
    }
    assert_eq!(w.cwnd, 41.0);
    control.on_ecn_echo(&congestion(1100), true, &mut w);
    assert_eq!(w, window(20.0, 20.0));
    // Within a round trip marks are ignored; within three the window stays.
    control.on_ecn_echo(&congestion(1199), true, &mut w);
    for n in 0..50 {
        control.on_ack(&ack(1200 + n, 50), &mut w);
    }
    assert_eq!(w.cwnd, 20.0);
    // A mark that recurs within three round trips leaves a single packet.
    control.on_ecn_echo(&congestion(1399), true, &mut w);
    assert_eq!(w, window(1.0, 1.0));
    assert_eq!(control.report().expect("it reports").yields, 1);
    // Three round trips later the window grows again.
    control.on_ack(&ack(1698, 50), &mut w);
    assert_eq!(w.cwnd, 1.0);
    control.on_ack(&ack(1699, 50), &mut w);
    assert_eq!(w.cwnd, 2.0);
}

#[test]
fn a_mark_ends_the_slow_start_of_tcplp_ecn() {
    let mut control = control("tcplp_ecn");
    let mut w = window(16.0, f64::INFINITY);
    control.on_ack(&ack(1000, 50), &mut w);
    assert_eq!(w.cwnd, 18.0);
    control.on_ecn_echo(&congestion(1001), true, &mut w);
    assert_eq!(w, window(9.0, 9.0));
}

#[test]
fn losses_and_marks_are_answered_by_tcplp_as_by_reno() {
    let mut control = control("tcplp");
    let mut w = window(30.0, 20.0);
    control.on_loss(&congestion(1000), &mut w);
    assert_eq!(w, window(30.0, 15.0));
    control.on_timeout(&congestion(2000), &mut w);
    assert_eq!(w.ssthresh, 15.0);
    w.cwnd = 1.0;
    // After an RTO slow start continues at once, without samples.
    let recovering = Ack {
        ca_state: CaState::Loss,
        ..ack(4000, 50)
    };
    control.on_ack(&recovering, &mut w);
    assert_eq!(w.cwnd, 3.0);
    w.cwnd = 30.0;
    control.on_ecn_echo(&congestion(5000), true, &mut w);
    assert_eq!(w, window(15.0, 15.0));
}

#[test]
fn netnice_governs_its_window_in_recovery() {
    let mut control = control("netnice");
    assert!(control.governs_recovery());
    let mut w = window(40.0, f64::INFINITY);
    let ack = |delivered: u64, ca_state: CaState| Ack {
        delivered,
        prior_delivered: delivered.saturating_sub(40),
        ca_state,
        may_grow: ca_state == CaState::Open,
        ..ack(1000 + delivered, 50)
    };
    control.on_ack(&ack(100, CaState::Open), &mut w);
    // A duplicate ACK is not yet a loss.
    control.on_ack(&ack(101, CaState::Disorder), &mut w);
    let before = w.cwnd;
    assert!(before > 40.0);
    // As in the kernel, the sender reads ssthresh, and the ACK that enters recovery sets the window.
    control.on_loss(&congestion(1101), &mut w);
    assert_eq!((w.cwnd, w.ssthresh), (before, (before / 2.0).floor()));
    let after = w.ssthresh;
    for delivered in 102..120 {
        control.on_ack(&ack(delivered, CaState::Recovery), &mut w);
        assert_eq!(w.cwnd, after);
    }
    control.on_recovery_end(2000 * MILLISECOND, &mut w);
    assert_eq!(w.cwnd, after);
}

#[test]
fn netnice_paces_a_window_over_a_round_trip() {
    let mut control = control("netnice");
    let mut w = window(40.0, f64::INFINITY);
    assert_eq!(control.pacing_interval_ns(&w, 0), None);
    // Twice the window's rate in slow start: 100 ms / 2 / 40.
    assert_eq!(
        control.pacing_interval_ns(&w, 100 * MILLISECOND),
        Some(1_250_000)
    );
    assert_eq!(control.pacing_burst_packets(), 1);
    // Others keep 60 ms of queue: in the end two packets leave together every few round trips.
    let mut delivered = 0;
    let mut now_ms = 1000;
    while control.report().expect("it reports").phase() != Phase::Yielding {
        now_ms += 10;
        delivered += 2;
        let queue_ms = if now_ms < 3000 { 0 } else { 60 };
        control.on_ack(
            &Ack {
                delivered,
                prior_delivered: delivered.saturating_sub(20),
                ..ack(now_ms, 50 + queue_ms)
            },
            &mut w,
        );
        assert!(now_ms < 10_000, "it yields within seconds");
    }
    assert_eq!(control.pacing_burst_packets(), 2);
    let interval_ns = control
        .pacing_interval_ns(&w, 160 * MILLISECOND)
        .expect("it paces");
    // Two intervals take at least a round trip.
    assert!(2 * interval_ns >= 160 * MILLISECOND, "{interval_ns}");
}

/// Returns the share of the link between `from` and `to`, in seconds.
fn share(name: &str, path: Path, from: f64, to: f64) -> f64 {
    let packet_ns = path.packet_ns as f64;
    let mut flow = Flow::new(path, control(name), 10.0);
    flow.run(from);
    let before = flow.delivered;
    flow.run(to);
    (flow.delivered - before) as f64 * packet_ns / ((to - from) * 1e9)
}

#[test]
fn a_longer_path_is_learned_within_minutes() {
    let mut path = Path::new(100);
    path.detour = Some((20_000_000_000, u64::MAX, 30_000_000));
    let share = share("netnice", path, 140.0, 160.0);
    assert!(share > 0.9, "{share:.3}");
}

#[test]
fn a_shorter_path_is_filled_at_once() {
    for (name, least) in [("netnice", 0.9), ("tcplp", 0.6)] {
        let mut path = Path::new(100);
        path.detour = Some((0, 20_000_000_000, 30_000_000));
        let share = share(name, path, 30.0, 60.0);
        assert!(share > least, "{name}: {share:.3}");
    }
}

#[test]
fn a_clock_that_is_set_stops_nobody() {
    for name in ["netnice", "tcplp"] {
        for step_ms in [1000u32, 1000u32.wrapping_neg()] {
            let mut path = Path::new(100);
            path.clock_step = Some((20_000_000_000, step_ms));
            let share = share(name, path, 20.0, 50.0);
            assert!(share > 0.6, "{name}, {}: {share:.3}", step_ms as i32);
        }
    }
}

/// Runs a connection of two packets and a pause, then a bulk transfer of 17 s with others from `others_ms` on. The tick
/// of the peer's clock is `tick_us`.
fn resumes(name: &str, tick_us: u64, pause_ms: u64, others_ms: u64) -> Report {
    let mut control = control(name);
    let mut w = window(20.0, 2.0);
    let mut delivered = 0;
    let mut step = |now_ms: u64, queue_ms: u64| {
        delivered += 2;
        control.on_ack(
            &Ack {
                tsval: Some(((now_ms - 50) * 1000 / tick_us) as u32),
                delivered,
                prior_delivered: delivered.saturating_sub(20),
                ..ack(now_ms, 50 + queue_ms)
            },
            &mut w,
        );
        w.cwnd = w.cwnd.min(100.0);
    };
    step(1000, 0);
    step(1010, 0);
    let resumed_ms = 1010 + pause_ms;
    for n in 0..1700 {
        let queue_ms = if 10 * n < others_ms { 0 } else { 80 };
        step(resumed_ms + 10 * n, queue_ms);
    }
    control.report().expect("it reports")
}

/// 2^32 us, 71.6 minutes, after which the policies' clock wraps.
const WRAP_MS: u64 = 4_294_967;

/// Returns pauses around each wrap within two and a half hours, and some of a day and two months.
fn pauses_ms() -> impl Iterator<Item = u64> {
    let near = [0, 21, 100, 700, 1_500, 2_500, 5_000, 9_000, 11_000];
    let far = [60_000, 200_000, 400_000, 800_000, 2_000_000, 3_500_000];
    [0, 1, 2, 20, 1000, 1001]
        .into_iter()
        .flat_map(move |wraps| {
            near.into_iter()
                .chain(far)
                .map(move |more| wraps * WRAP_MS + more)
        })
}

#[test]
fn a_millisecond_clock_is_known_after_any_pause() {
    for name in ["netnice", "tcplp", "hstcplp"] {
        for pause_ms in pauses_ms() {
            // The control must also know the smallest delay: others may be present from the first packet on.
            for others_ms in [0, 5_000] {
                let report = resumes(name, 1000, pause_ms, others_ms);
                assert_eq!(report.signal(), Signal::OneWayDelay, "{name}, {pause_ms}");
                assert!(report.yields > 0, "{name} after {pause_ms} ms");
            }
        }
    }
}

#[test]
fn a_microsecond_clock_is_known_after_any_pause() {
    for name in ["netnice", "tcplp", "hstcplp"] {
        for pause_ms in pauses_ms() {
            let report = resumes(name, 1, pause_ms, 5_000);
            assert_eq!(report.signal(), Signal::OneWayDelay, "{name}, {pause_ms}");
            assert!(report.yields > 0, "{name} after {pause_ms} ms");
        }
    }
}

#[test]
fn after_a_pause_no_slow_clock_passes_for_one_that_can_be_read() {
    for name in ["netnice", "tcplp", "hstcplp"] {
        for tick_us in [4_000, 10_000] {
            for pause_ms in pauses_ms().filter(|pause_ms| pause_ms % WRAP_MS >= 60_000) {
                let report = resumes(name, tick_us, pause_ms, 5_000);
                assert_eq!(
                    report.signal(),
                    Signal::RoundTrip,
                    "{name}, {tick_us} us, {pause_ms}"
                );
                assert!(report.yields > 0, "{name} after {pause_ms} ms");
            }
        }
    }
}

/// The clock of a peer that lies, or whose clock is being set, must not make a queue pass for an empty one.
#[test]
fn a_clock_that_jumps_hides_no_queue() {
    for name in ["netnice", "tcplp", "hstcplp"] {
        for jump_ms in [10_000, 1_000_000, 0x5555_5555] {
            let mut control = control(name);
            let mut w = window(20.0, 2.0);
            for n in 0..1700 {
                let now_ms = 1000 + 10 * n;
                let queue_ms = if n < 500 { 0 } else { 80 };
                let delivered = 2 * n;
                let tsval = now_ms - 50 + now_ms / 50 * jump_ms;
                let ack = Ack {
                    tsval: Some(tsval as u32),
                    delivered,
                    prior_delivered: delivered.saturating_sub(20),
                    ..ack(now_ms, 50 + queue_ms)
                };
                control.on_ack(&ack, &mut w);
                w.cwnd = w.cwnd.min(100.0);
            }
            let report = control.report().expect("it reports");
            assert!(report.yields > 0, "{name}, {jump_ms} ms");
        }
    }
}

/// Returns the time until the control answers a queue of 60 ms, present from the first packet after a loss, recovery
/// and a pause.
fn answered_after_ms(name: &str, pause_ms: u64, restart: bool) -> Option<u64> {
    let mut control = control(name);
    let mut w = window(20.0, 2.0);
    let lost_ms = learn(&mut *control, &mut w);
    w.cwnd = 20.0;
    control.on_loss(&congestion(lost_ms), &mut w);
    let resumed_ms = lost_ms + pause_ms;
    if restart {
        control.on_restart(resumed_ms * MILLISECOND, &mut w);
    }
    (1..1000).map(|n| 10 * n).find(|after_ms| {
        let before = w.cwnd;
        control.on_ack(&ack(resumed_ms + after_ms, 110), &mut w);
        w.cwnd < before
    })
}

#[test]
fn a_loss_before_a_pause_silences_nothing_after_it() {
    for name in ["tcplp", "hstcplp"] {
        for pause_ms in [1_000, WRAP_MS / 2, WRAP_MS / 2 + 10_000, WRAP_MS * 7 / 8] {
            for restart in [false, true] {
                let after_ms = answered_after_ms(name, pause_ms, restart);
                assert!(
                    after_ms.is_some_and(|after_ms| after_ms <= 100),
                    "{name} after {pause_ms} ms: {after_ms:?}"
                );
            }
        }
        // By the policy's clock no time has passed: only the restart reveals the pause.
        let at_once = answered_after_ms(name, 1_000, true);
        assert_eq!(answered_after_ms(name, WRAP_MS, true), at_once, "{name}");
    }
}
