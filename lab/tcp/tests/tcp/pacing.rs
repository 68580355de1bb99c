// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets of a control without an interval of its own are paced as Linux paces them, if the configuration says so, and those of bbr
//! where recovery is that of Linux.

use netnice_congestion::congestion_control::CongestionControl;
use netnice_congestion::registry;
use netnice_parameters::ControlParameters;
use netnice_tcp::{Recovery, SenderConfig};

use crate::pipe::{Pipe, PlainReno, one_way};

/// Milliseconds until an end at which packets leave, and how many at each; the round trip is 100 ms.
fn departures(change: impl FnOnce(&mut SenderConfig), until_ms: u64) -> Vec<(f64, usize)> {
    let paced = |sender: &mut SenderConfig| {
        sender.pacing = true;
        change(sender);
    };
    departures_of(Box::new(PlainReno), paced, until_ms)
}

fn departures_of(
    control: Box<dyn CongestionControl>,
    change: impl FnOnce(&mut SenderConfig),
    until_ms: u64,
) -> Vec<(f64, usize)> {
    let (mut sender, mut receiver) = one_way(1000);
    sender.initial_window = 10;
    change(&mut sender);
    receiver.handshake = sender.handshake;
    receiver.sack = sender.recovery == Recovery::Sack;
    let mut pipe = Pipe::governed_by(control, sender, receiver, 50);
    pipe.send_all_the_time(until_ms);
    let until_ms = until_ms as f64;
    let data = pipe.data.iter();
    // The pipe's last event is after the end.
    let data = data.filter(|sent| sent.segment.length > 0 && sent.at_ms < until_ms);
    let mut departures: Vec<(f64, usize)> = Vec::new();
    for sent in data {
        match departures.last_mut() {
            Some((at_ms, packets)) if *at_ms == sent.at_ms => *packets += 1,
            _ => departures.push((sent.at_ms, 1)),
        }
    }
    departures
}

#[track_caller]
fn assert_departures(departures: &[(f64, usize)], expected: &[(f64, usize)]) {
    assert_eq!(departures.len(), expected.len(), "{departures:?}");
    for (departure, expected) in departures.iter().zip(expected) {
        assert!((departure.0 - expected.0).abs() < 1e-3, "{departures:?}");
        assert_eq!(departure.1, expected.1, "{departures:?}");
    }
}

#[test]
fn slow_start_takes_half_a_round_trip_for_a_window() {
    // Ten packets before a round trip is known. At its first ACK cwnd is 11: 100 ms / (2 * 11) = 4.545 ms a packet, and half of
    // two less after the pair that leaves long after it might have. With all ACKs cwnd is 20: 2.5 ms, and packets leave in pairs.
    let mut expected = vec![(0.0, 10), (100.0, 2)];
    expected.extend((0..9).map(|pair| (100.0 + 4.545_454 + 5.0 * f64::from(pair), 2)));
    assert_departures(&departures(|_| {}, 199), &expected);
}

#[test]
fn avoidance_takes_five_sixths_of_a_round_trip() {
    // cwnd stays below 11: 100 ms / (1.2 * 10) = 8.333 ms.
    let pause = 100.0 / 12.0;
    let mut expected = vec![(0.0, 10), (100.0, 2)];
    expected.extend((0..4).map(|pair| (100.0 + (1.0 + 2.0 * f64::from(pair)) * pause, 2)));
    let times = departures(|sender| sender.initial_ssthresh = 10.0, 199);
    assert_departures(&times, &expected);
}

#[test]
fn the_rate_falls_at_half_of_ssthresh() {
    // At cwnd 20 the pause after a pair is 2 * 100 ms / (2 * 20), or with 1.2 in place of 2.
    for (ssthresh, pause_ms) in [(42.0, 5.0), (41.0, 200.0 / 24.0)] {
        let times = departures(|sender| sender.initial_ssthresh = ssthresh, 150);
        let gap = times[4].0 - times[3].0;
        assert!((gap - pause_ms).abs() < 1e-4, "{ssthresh}: {times:?}");
    }
}

#[test]
fn ten_packets_leave_before_the_first_pause() {
    // The handshake has measured 100 ms: 100 ms / (2 * 30) = 1.667 ms.
    let window = |sender: &mut SenderConfig| {
        sender.handshake = true;
        sender.initial_window = 30;
    };
    let mut expected = vec![(100.0, 10)];
    expected.extend((0..10).map(|pair| (100.0 + (1.0 + 2.0 * f64::from(pair)) / 0.6, 2)));
    assert_departures(&departures(window, 199), &expected);
}

#[test]
fn at_high_rates_a_millisecond_of_packets_leaves_together() {
    // At cwnd 1000 slow start sends 20 MB/s: 19,531 B in 1/1024 s, or 19 packets. At 4000 it would be 78, and 65,536 B are the most.
    for (window, burst) in [(500, 19), (2000, 65)] {
        let times = departures(|sender| sender.initial_window = window, 140);
        let (_, packets) = times[times.len() - 1];
        assert_eq!(packets, burst, "{times:?}");
    }
}

#[test]
fn without_pacing_acks_release_packets() {
    let times = departures(|sender| sender.pacing = false, 199);
    assert_departures(&times, &[(0.0, 10), (100.0, 20)]);
}

#[test]
fn linux_paces_bbr_after_ten_packets() {
    let bbr = registry::create("bbr", &ControlParameters::default()).unwrap();
    let times = departures_of(
        bbr,
        |sender| {
            sender.recovery = Recovery::Sack;
            sender.linux = true;
            sender.handshake = true;
        },
        225,
    );
    // 2 / ln 2 times ten packets in 100 ms, less 1 %: a pair takes 7.002 ms, less half of it after the pair that leaves long after it might have.
    // After that round trip cwnd is 20.
    let pair_ms = 2.0 * 10.0 / (2.885 * 0.99);
    let mut expected = vec![(100.0, 10), (200.0, 2)];
    expected.extend((0..4).map(|pair| (200.0 + (0.5 + f64::from(pair)) * pair_ms, 2)));
    assert_departures(&times, &expected);
}
