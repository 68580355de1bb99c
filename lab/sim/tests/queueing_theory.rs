// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mean waiting times against queueing theory.

use std::time::Duration;

use netnice_queue::{LinkConfig, Rate};
use netnice_sim::traffic::{PacketSize, Poisson, Traffic};
use netnice_sim::{FlowSpec, LinkSpec, Network, Path, Program, RunOptions, Simulation};

/// Mean wait, in seconds, before a link of 8 Mb/s that carries packets of 1000 B on average at the load `load`: a
/// service takes 1 ms on average.
fn mean_wait(size: PacketSize, load: f64, duration: Duration) -> f64 {
    let rate: Rate = "8mbit".parse().unwrap();
    let mut network = Network::new();
    let [from, to] = ["from", "to"].map(|name| network.node(name));
    let config = LinkConfig {
        rate: Some(rate),
        delay: Duration::from_millis(5),
        ..LinkConfig::default()
    };
    let link = network
        .link(LinkSpec::drop_tail("link", (from, to), config, 1_000_000))
        .unwrap();
    let path = Path {
        forward: vec![link],
        back: Vec::new(),
    };
    let traffic = Traffic::from(Poisson {
        rate: Rate::from_bits_per_second((8e6 * load) as u64).unwrap(),
        size,
    });
    let flow = FlowSpec::new("poisson", Program::Udp { path, traffic });
    let options = RunOptions {
        warm_up: Duration::from_secs(20),
        ..RunOptions::new(duration, 1)
    };
    let mut simulation = Simulation::new(network, &[flow], &options).unwrap();
    simulation.run();
    let id = simulation.flow("poisson").unwrap();
    let counters = simulation.counters(id);
    assert!(counters.received_packets > 1_000_000);
    assert_eq!(counters.lost_packets, 0);
    let service = counters.received_bytes as f64 / counters.received_packets as f64 * 8.0 / 8e6;
    simulation.delays(id).mean().unwrap() * 1e-9 - 0.005 - service
}

#[test]
fn an_m_d_1_queue_waits_as_pollaczek_and_khinchin_say() {
    for load in [0.3, 0.6] {
        let wait = mean_wait(PacketSize::Fixed(1000), load, Duration::from_secs(5_000));
        let theory = load * 0.001 / (2.0 * (1.0 - load));
        assert!(
            (wait / theory - 1.0).abs() < 0.01,
            "load {load}: {wait} s instead of {theory} s"
        );
    }
}

#[test]
fn an_m_m_1_queue_waits_twice_as_long() {
    for load in [0.3, 0.6] {
        let size = PacketSize::Exponential { mean_bytes: 1000.0 };
        let wait = mean_wait(size, load, Duration::from_secs(10_000));
        let theory = load * 0.001 / (1.0 - load);
        assert!(
            (wait / theory - 1.0).abs() < 0.01,
            "load {load}: {wait} s instead of {theory} s"
        );
    }
}
