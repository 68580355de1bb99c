// SPDX-License-Identifier: MIT OR Apache-2.0
//! BBR version 3 on a path for one flow, by the figures that draft-ietf-ccwg-bbr gives.
//!
//! The path carries 1250 packets per second; with the transmission its round trip takes 50.8 ms. The product is 63.5
//! packets.

mod path;

use netnice_congestion::registry;
use netnice_parameters::ControlParameters;
use path::{Flow, Path};

const PACKETS_PER_S: f64 = 1250.0;

fn flow(queue_packets: u64) -> Flow {
    let control = registry::create("bbr3", &ControlParameters::new()).expect("the control exists");
    Flow::new(Path::new(queue_packets), control, 10.0)
}

fn pacing_packets_per_s(flow: &Flow) -> f64 {
    let interval_ns = flow.control.pacing_interval_ns(&flow.window, 50_800_000);
    1e9 / interval_ns.expect("BBR paces") as f64
}

/// Section 5.6.2: 2.77 times the initial window in a round trip.
#[test]
fn the_first_rate_is_the_startup_gain_times_the_window() {
    let rate = pacing_packets_per_s(&flow(1000));
    let expected = 2.77 * 10.0 / 0.0508;
    assert!((rate / expected - 1.0).abs() < 0.001, "{rate} {expected}");
}

/// Sections 5.3.3 and 5.6.1: pacing at 0.9, 1 and 1.25 times the bandwidth, less 1 %, mostly at 1.
#[test]
fn the_cycle_paces_down_at_one_and_up() {
    let mut flow = flow(1000);
    flow.run(3.0);
    let mut seen = Vec::new();
    for step in 0..1500 {
        flow.run(3.0 + f64::from(step) * 0.01);
        seen.push(pacing_packets_per_s(&flow) / PACKETS_PER_S);
    }
    let near = |gain: f64| {
        let near = |rate: &&f64| (**rate / gain / 0.99 - 1.0).abs() < 0.02;
        seen.iter().filter(near).count()
    };
    let (up, down, level) = (near(1.25), near(0.9), near(1.0));
    assert!(up > 0 && down > 0 && level > 5 * up, "{up} {down} {level}");
    assert!(up + down + level > seen.len() * 95 / 100);
}

/// Twice the product, and what ACKs ran ahead (5.6.4.2).
#[test]
fn the_window_is_twice_the_product() {
    let mut flow = flow(1000);
    flow.run(4.5);
    let cwnd = flow.window.cwnd;
    assert!((127.0..=150.0).contains(&cwnd), "{cwnd}");
    assert_eq!(flow.losses, 0);
    assert!(flow.delivered as f64 > 0.9 * 4.5 * PACKETS_PER_S);
}

/// Section 5.3.4: each 5 s or more half of the product probes the round trip.
#[test]
fn each_five_seconds_half_of_the_product_probes_the_round_trip() {
    let mut flow = flow(1000);
    let mut dips = Vec::new();
    let mut low = false;
    for step in 0..4000 {
        flow.run(f64::from(step) * 0.01);
        let now_low = step > 100 && flow.window.cwnd <= 33.0;
        if now_low && !low {
            dips.push(step);
        }
        low = now_low;
    }
    let spaced = dips.windows(2).all(|pair| pair[1] - pair[0] >= 500);
    assert!(dips.len() >= 3 && spaced, "{dips:?}");
    assert!(flow.delivered as f64 > 0.93 * 40.0 * PACKETS_PER_S);
}

/// A queue of a quarter of the product: version 1, which takes no notice of losses, loses many times as much.
#[test]
fn in_a_shallow_queue_it_loses_less_than_version_1() {
    let lost_share = |name: &str| {
        let control = registry::create(name, &ControlParameters::new()).expect("it exists");
        let mut flow = Flow::new(Path::new(16), control, 10.0);
        flow.run(60.0);
        assert!(
            flow.delivered as f64 > 0.85 * 60.0 * PACKETS_PER_S,
            "{name}"
        );
        flow.losses as f64 / flow.delivered as f64
    };
    let (third, first) = (lost_share("bbr3"), lost_share("bbr"));
    assert!(third < 0.02 && 3.0 * third < first, "{third} {first}");
}
