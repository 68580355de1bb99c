// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulator runs disciplines, controls and sources of another crate.

use std::sync::Arc;
use std::time::Duration;

use netnice_congestion::congestion_control::CongestionControl;
use netnice_congestion::registry;
use netnice_extension_example::bursts::Bursts;
use netnice_extension_example::drop_head::DropHead;
use netnice_extension_example::gentle::Gentle;
use netnice_parameters::ControlParameters;
use netnice_queue::{Discipline, LinkConfig};
use netnice_sim::tcp::{ReceiverConfig, SenderConfig};
use netnice_sim::traffic::Traffic;
use netnice_sim::{
    FlowId, FlowSpec, LinkId, LinkSpec, Network, Path, Program, RunOptions, Simulation, TcpSpec,
};

/// Packets that wait at the bottleneck at most.
const LIMIT: usize = 50;

/// 10 Mb/s and 20 ms each way.
fn network() -> (Network, Path) {
    let mut network = Network::new();
    let (near, far) = (network.node("near"), network.node("far"));
    let config = LinkConfig {
        rate: Some("10mbit".parse().unwrap()),
        delay: Duration::from_millis(20),
        ..LinkConfig::default()
    };
    let there = LinkSpec::drop_tail("there", (near, far), config.clone(), LIMIT);
    let back = LinkSpec::drop_tail("back", (far, near), config, 1000);
    let path = Path {
        forward: vec![network.link(there).unwrap()],
        back: vec![network.link(back).unwrap()],
    };
    (network, path)
}

fn ftp(name: &str, path: &Path, control: fn() -> Box<dyn CongestionControl>) -> FlowSpec {
    let program = Program::Tcp {
        path: path.clone(),
        traffic: Traffic::Bulk,
        tcp: TcpSpec {
            sender: SenderConfig::ns2(960),
            receiver: ReceiverConfig::ns2(),
            low_priority: None,
            control: Arc::new(control),
        },
    };
    FlowSpec::new(name, program)
}

fn reno() -> Box<dyn CongestionControl> {
    registry::create("reno", &ControlParameters::default()).unwrap()
}

fn run(network: Network, flows: &[FlowSpec], seconds: u64) -> Simulation {
    let options = RunOptions::new(Duration::from_secs(seconds), 1);
    let mut simulation = Simulation::new(network, flows, &options).unwrap();
    simulation.run();
    simulation.check_conservation().unwrap();
    simulation
}

#[test]
fn a_discipline_drops_at_the_head() {
    let (mut network, path) = network();
    let there = path.forward[0];
    network.link_mut(there).setup.queue = Discipline::Custom(Box::new(DropHead::new(LIMIT)));
    let simulation = run(network, &[ftp("reno", &path, reno)], 60);
    let counters = simulation.link_counters(LinkId::new(0));
    assert!(counters.pushed_out > 0, "{counters:?}");
    assert_eq!(counters.queue_full, 0, "{counters:?}");
    assert_eq!(counters.max_queue_packets, LIMIT, "{counters:?}");
}

#[test]
fn a_control_takes_less_than_reno_beside_it() {
    let (network, path) = network();
    let flows = [
        ftp("reno", &path, reno),
        ftp("gentle", &path, || Box::new(Gentle)),
    ];
    let simulation = run(network, &flows, 200);
    let goodput = |flow| simulation.counters(FlowId::new(flow)).goodput_bytes as f64;
    // Windows of AIMD flows with the same decrease are as the square roots of their increases: 2 to 1.
    let ratio = goodput(0) / goodput(1);
    assert!((1.4..4.0).contains(&ratio), "{ratio}");
}

#[test]
fn a_source_sends_its_bursts() {
    let (network, path) = network();
    let bursts = Bursts {
        packet_bytes: 1000,
        packets: 5,
        interval: Duration::from_millis(100),
    };
    let program = Program::Udp {
        path,
        traffic: Traffic::from(bursts),
    };
    let simulation = run(network, &[FlowSpec::new("bursts", program)], 10);
    let counters = simulation.link_counters(LinkId::new(0));
    // Bursts at 0, 100 ms, 200 ms … 10 s, both ends included; the first packet of each does not wait.
    assert_eq!(counters.offered, 101 * 5);
    assert_eq!(counters.max_queue_packets, 4);
    // Four packets of 1000 bytes at 10 Mb/s.
    assert_eq!(counters.max_queue_wait, Duration::from_micros(3200));
}
