// SPDX-License-Identifier: MIT OR Apache-2.0
//! BBR on a path for one flow, by the figures that its design gives.
//!
//! The path carries 1250 packets per second; with the transmission its round trip takes 50.8 ms. The product is 63.5
//! packets.

mod path;

use netnice_congestion::registry;
use netnice_parameters::ControlParameters;
use path::{Flow, Path};

const PACKETS_PER_S: f64 = 1250.0;

fn flow(path: Path) -> Flow {
    let control = registry::create("bbr", &ControlParameters::new()).expect("the control exists");
    Flow::new(path, control, 10.0)
}

fn pacing_packets_per_s(flow: &Flow) -> f64 {
    let interval_ns = flow.control.pacing_interval_ns(&flow.window, 50_800_000);
    1e9 / interval_ns.expect("BBR paces") as f64
}

#[test]
fn the_first_rate_is_high_gain_times_the_window() {
    let flow = flow(Path::new(1000));
    // 10 packets in 50.8 ms, times 2.89 less 1 %.
    let expected = 10.0 / 0.0508 * 739.0 / 256.0 * 0.99;
    let rate = pacing_packets_per_s(&flow);
    assert!((rate / expected - 1.0).abs() < 0.001, "{rate} {expected}");
}

#[test]
fn the_cycle_paces_at_five_quarters_three_quarters_and_one() {
    let mut flow = flow(Path::new(1000));
    flow.run(3.0);
    let mut seen = Vec::new();
    for step in 0..200 {
        flow.run(3.0 + f64::from(step) * 0.01);
        seen.push(pacing_packets_per_s(&flow) / PACKETS_PER_S);
    }
    let near = |gain: f64| {
        let near = |rate: &&f64| (**rate / gain / 0.99 - 1.0).abs() < 0.01;
        seen.iter().filter(near).count()
    };
    let (probing, draining, cruising) = (near(1.25), near(0.75), near(1.0));
    assert_eq!(probing + draining + cruising, seen.len(), "{seen:?}");
    // Six of eight phases cruise.
    assert!(cruising > 3 * probing && probing > 0 && draining > 0);
}

#[test]
fn the_window_is_twice_the_product_and_a_budget() {
    let mut flow = flow(Path::new(1000));
    flow.run(5.0);
    // 2 * 63.5 = 127, three bursts of two packets, two more while probing, and the few that ACKs ran ahead.
    let cwnd = flow.window.cwnd;
    assert!((134.0..=142.0).contains(&cwnd), "{cwnd}");
    assert_eq!(flow.losses, 0);
    assert!(flow.delivered as f64 > 0.95 * 5.0 * PACKETS_PER_S);
}

#[test]
fn each_ten_seconds_four_packets_probe_the_round_trip() {
    let mut flow = flow(Path::new(1000));
    // Others' queue keeps the round trip above its least.
    let mut dips = Vec::new();
    let mut low = false;
    for step in 0..4000 {
        flow.run(f64::from(step) * 0.01);
        let now_low = flow.window.cwnd <= 4.0;
        if now_low && !low {
            dips.push(step);
        }
        low = now_low;
    }
    let spaced = dips.windows(2).all(|pair| pair[1] - pair[0] >= 1000);
    assert!(dips.len() >= 2 && spaced, "{dips:?}");
}

#[test]
fn a_short_queue_takes_losses_but_not_the_rate() {
    let mut flow = flow(Path::new(5));
    flow.run(20.0);
    assert!(flow.losses > 0);
    let share = flow.delivered as f64 / (20.0 * PACKETS_PER_S);
    assert!(share > 0.8, "{share}");
}
