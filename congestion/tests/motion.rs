// SPDX-License-Identifier: MIT OR Apache-2.0
//! The policies in motion over a small path.

mod bottleneck;

use bottleneck::{Bottleneck, Control, Flow, Path};

#[test]
fn explore() {
    for (rate, rtt, q) in [(10.0, 40, 83), (1.5, 40, 12), (1.5, 40, 2), (10.0, 40, 8), (100.0, 40, 333),(10.0,4,8),(100.0,4,33),(10.0,200,166),(100.0,200,1666)] {
        for name in ["netnice", "tcplp"] {
            let c = || if name == "netnice" { Control::netnice() } else { Control::tcplp() };
            let mut b = Bottleneck::new(Path::new(rate, rtt, q), vec![Flow::new(c(), 0.0, 1e9)]);
            let mut sumq = 0;
            b.run_watching(60.0, 0.01, |b, _| sumq += b.backlog());
            let alone = b.flows[0].received as f64 * b.packet_ns() as f64 / 60e9;
            let mut d = Bottleneck::new(Path::new(rate, rtt, q), vec![Flow::new(c(), 0.0, 1e9), Flow::new(Control::Reno, 0.0, 1e9)]);
            d.run(20.0);
            let (a, r) = (d.flows[0].received, d.flows[1].received);
            d.run(80.0);
            let t = d.packet_ns() as f64 / 60e9;
            let mut e = Bottleneck::new(Path::new(rate, rtt, q), vec![Flow::new(c(), 0.0, 1e9), Flow::new(c(), 30.0, 1e9)]);
            e.run(60.0);
            let (x, y) = (e.flows[0].received, e.flows[1].received);
            e.run(80.0);
            let (x, y) = ((e.flows[0].received - x) as f64, (e.flows[1].received - y) as f64);
            println!(
                "{rate} {rtt} {q} {name}: alone {:.1}% queue {:.2} losses {} | beside reno {:.2}% reno {:.1}% | two: jain {:.3} sum {:.1}%",
                alone * 100.0, sumq as f64 / 6000.0, b.flows[0].losses,
                (d.flows[0].received - a) as f64 * t * 100.0,
                (d.flows[1].received - r) as f64 * t * 100.0,
                (x + y).powi(2) / 2.0 / (x * x + y * y), (x + y) * d.packet_ns() as f64 / 20e9 * 100.0
            );
        }
    }
}

#[test]
fn trace() {
    let mut b = Bottleneck::new(Path::new(10.0, 40, 83), vec![Flow::new(Control::netnice(), 0.0, 1e9)]);
    b.run_watching(4.0, 0.02, |b, t| println!("{t:.2} cwnd {} backlog {}", b.flows[0].cwnd, b.backlog()));
}
