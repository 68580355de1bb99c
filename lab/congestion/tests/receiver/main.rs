// SPDX-License-Identifier: MIT OR Apache-2.0
//! The netnice control at the receiving end: against numbers computed by hand, and on a model of a path.

mod arrivals;
mod downloads;
mod lies;
mod policies;
mod proxy;
mod round_trips;

use downloads::{Download, Downloads, Link};
use netnice_congestion::netnice_receiver::{Receiver, Segment};
use netnice_parameters::exchange::Parameters;

/// 10 Mb/s, 40 ms, and a queue of 2.5 times the path's capacity.
const HOME: Link = Link {
    packet_ns: 1_211_200,
    base_rtt_ns: 40_000_000,
    queue_packets: 83,
    loses_one_in: 0,
};

/// 100 Mb/s, 20 ms, and a queue of the path's capacity.
const FAST: Link = Link {
    packet_ns: 121_120,
    base_rtt_ns: 20_000_000,
    queue_packets: 166,
    loses_one_in: 0,
};

fn run(link: Link, downloads: &[Download], seconds: u64) -> Downloads {
    let mut world = Downloads::new(link, downloads);
    world.run(seconds);
    world
}

#[test]
fn alone_it_fills_the_link() {
    for link in [HOME, FAST] {
        let world = run(link, &[Download::low(0, 25)], 25);
        let share = world.share(0, 10, 25);
        assert!(share > 0.95, "{share}");
    }
}

#[test]
fn beside_a_plain_download_it_yields_and_returns() {
    let world = run(HOME, &[Download::low(0, 45), Download::plain(10, 30)], 45);
    let [low, plain] = [0, 1].map(|number| world.share(number, 13, 30));
    assert!(low < 0.005 && plain > 0.99, "{low} {plain}");
    // The rival's queue must drain first: 100 ms.
    let back = world.share(0, 33, 45);
    assert!(back > 0.85, "{back}");
    assert!(world.yields(0) > 0);
    // The persist timer of 200 ms, plus a round trip with a full queue.
    let wait_s = world.longest_wait_s(0);
    assert!(wait_s < 0.9, "{wait_s} s");
}

#[test]
fn it_yields_to_a_plain_download_that_was_first() {
    let world = run(HOME, &[Download::low(5, 25), Download::plain(0, 25)], 25);
    let low = world.share(0, 10, 25);
    assert!(low < 0.02, "{low}");
}

#[test]
fn two_of_them_share_the_link() {
    for link in [HOME, FAST] {
        let world = run(link, &[Download::low(0, 40), Download::low(5, 40)], 40);
        let [one, other] = [0, 1].map(|number| world.share(number, 15, 40));
        // Jain's index.
        let fairness = (one + other).powi(2) / (2.0 * (one * one + other * other));
        assert!(one + other > 0.94, "{one} {other}");
        assert!(fairness > 0.9, "{one} {other}");
    }
}

#[test]
fn many_that_yield_weigh_little() {
    let mut downloads = vec![Download::low(0, 40); 8];
    downloads.push(Download::plain(10, 40));
    let world = run(HOME, &downloads, 40);
    let plain = world.share(8, 20, 40);
    assert!(plain > 0.9, "{plain}");
}

#[test]
fn clocks_may_drift() {
    for clock_ppm in [-50, 50] {
        let low = Download {
            clock_ppm,
            ..Download::low(0, 90)
        };
        let world = run(HOME, &[low, Download::plain(30, 60)], 90);
        let shares = [(10, 30), (33, 60), (65, 90)].map(|(from, to)| world.share(0, from, to));
        assert!(shares[0] > 0.9 && shares[2] > 0.9, "{shares:?}");
        assert!(shares[1] < 0.01, "{shares:?}");
    }
}

/// A persist timer of at least five seconds, as in BSD, would make pauses stalls.
#[test]
fn a_slow_persist_timer_is_not_relied_on() {
    let low = Download {
        persist_ns: 5_000_000_000,
        ..Download::low(0, 60)
    };
    let world = run(HOME, &[low, Download::plain(5, 45)], 60);
    let shares = [(30, 45), (50, 60)].map(|(from, to)| world.share(0, from, to));
    assert!(shares[0] > 0.01 && shares[0] < 0.1, "{shares:?}");
    assert!(shares[1] > 0.85, "{shares:?}");
}

#[test]
fn losses_of_the_path_cost_no_more_than_those_of_the_sender() {
    let lossy = Link {
        loses_one_in: 200,
        ..HOME
    };
    let low = run(lossy, &[Download::low(0, 30)], 30).share(0, 5, 30);
    let lossy = Link {
        loses_one_in: 200,
        ..HOME
    };
    let plain = run(lossy, &[Download::plain(0, 30)], 30).share(0, 5, 30);
    assert!(low > 0.6 * plain, "{low} {plain}");
}

#[test]
fn a_short_download_takes_as_long_as_a_plain_one() {
    for packets in [1, 8, 30, 100] {
        let size = packets * downloads::MSS;
        let took_ns = [Download::low(0, 5), Download::plain(0, 5)].map(|download| {
            let world = run(HOME, &[Download { size, ..download }], 5);
            assert_eq!(world.received(0), size);
            world.arrived_ns(0)
        });
        // The ACK of the last packet of an odd number may be delayed.
        assert!(
            took_ns[0] <= took_ns[1] + 40_000_000,
            "{packets}: {took_ns:?}"
        );
    }
}

#[test]
fn a_mark_in_the_packet_that_ends_a_recovery_counts() {
    const RTT_US: u32 = 40_000;
    let mut receiver = Receiver::new(&Parameters::default(), 64_000, 1448, 1_000_000);
    let mut now_us = 1_000_000;
    let mut arrive = |queue_us: u32, ce: bool| {
        now_us += 2_000;
        receiver.window(&Segment {
            now_us,
            rtt_us: RTT_US + queue_us,
            tsval: (now_us - RTT_US / 2 - queue_us) / 1000,
            bytes: 2 * 1448,
            mss: 1448,
            limit_bytes: 1 << 20,
            bound_bytes: 1 << 20,
            ce,
            ..Segment::default()
        })
    };
    let mut window_bytes = 0;
    for _ in 0..500 {
        window_bytes = arrive(0, false);
    }
    // A queue of two packets, of which one is the flow's own: below the threshold, so that the mark is what tells of it.
    for _ in 0..10 {
        window_bytes = arrive(2_000, false);
    }
    let first = arrive(2_000, true);
    assert!(first < window_bytes, "{first} of {window_bytes}");
    // The sender answers after a round trip of 20 segments: the next one ends the recovery.
    let answers: Vec<u32> = (1..=24).map(|number| arrive(2_000, number >= 22)).collect();
    let after = answers[23];
    assert!(after < first - first / 4, "{after} of {first}: {answers:?}");
}
