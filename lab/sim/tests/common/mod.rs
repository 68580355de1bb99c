// SPDX-License-Identifier: MIT OR Apache-2.0
//! The papers' dumbbell, for tests and benchmarks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use netnice_congestion::registry;
use netnice_parameters::ControlParameters;
use netnice_queue::{LinkConfig, LossFraction, Rate};
use netnice_sim::tcp::{ReceiverConfig, SenderConfig};
use netnice_sim::traffic::Traffic;
use netnice_sim::{FlowSpec, LinkId, LinkSpec, Network, NodeId, Path, Program, TcpSpec};

/// Pairs of hosts around one link, both ways alike.
pub struct Dumbbell {
    /// Nodes and links.
    pub network: Network,
    /// The way there and back of each pair.
    pub paths: Vec<Path>,
    /// The bottleneck there and back.
    pub bottleneck: [LinkId; 2],
}

impl Dumbbell {
    /// `pairs` pairs of hosts with access links of 100 Mb/s and 2 ms around a bottleneck of 20 ms with a drop-tail
    /// queue of `queue` packets.
    pub fn new(pairs: usize, rate: Rate, queue: usize) -> Dumbbell {
        Dumbbell::with_access(
            pairs,
            rate,
            queue,
            Rate::from_bits_per_second(100_000_000).unwrap(),
        )
    }

    /// The dumbbell of [`Dumbbell::new`] with access links of `access_rate`.
    pub fn with_access(pairs: usize, rate: Rate, queue: usize, access_rate: Rate) -> Dumbbell {
        let mut network = Network::new();
        let config = |rate, milliseconds| LinkConfig {
            rate: Some(rate),
            delay: Duration::from_millis(milliseconds),
            ..LinkConfig::default()
        };
        let [left, right] = ["left", "right"].map(|name| network.node(name));
        let connect =
            |network: &mut Network, name: String, ends: (NodeId, NodeId), config, queue| {
                network
                    .link(LinkSpec::drop_tail(name, ends, config, queue))
                    .unwrap()
            };
        let bottleneck = [(left, right), (right, left)].map(|ends| {
            let name = format!("bottleneck {}", network.name(ends.0));
            connect(&mut network, name, ends, config(rate, 20), queue)
        });
        let access = config(access_rate, 2);
        let paths = (0..pairs)
            .map(|pair| {
                let [source, sink] =
                    ["source", "sink"].map(|name| network.node(format!("{name} {pair}")));
                let mut link = |name: &str, ends| {
                    connect(
                        &mut network,
                        format!("{name} {pair}"),
                        ends,
                        access.clone(),
                        1000,
                    )
                };
                Path {
                    forward: vec![
                        link("up", (source, left)),
                        bottleneck[0],
                        link("down", (right, sink)),
                    ],
                    back: vec![
                        link("back up", (sink, right)),
                        bottleneck[1],
                        link("back down", (left, source)),
                    ],
                }
            })
            .collect();
        Dumbbell {
            network,
            paths,
            bottleneck,
        }
    }
}

/// A share of packets that a link loses.
#[allow(dead_code, reason = "each test uses a part of this")]
pub fn lossy(share: f64) -> LossFraction {
    LossFraction::from_billionths((share * 1e9) as u64).unwrap()
}

/// TCP as the papers' ns-2 has it: Reno, packets of 1000 bytes with headers, an ACK for each.
#[allow(dead_code, reason = "each test uses a part of this")]
pub fn reno() -> TcpSpec {
    control("reno")
}

/// The TCP of [`reno`] with the congestion control `name`.
pub fn control(name: &'static str) -> TcpSpec {
    TcpSpec {
        sender: SenderConfig::ns2(960),
        receiver: ReceiverConfig::ns2(),
        low_priority: None,
        control: Arc::new(move || registry::create(name, &ControlParameters::default()).unwrap()),
    }
}

/// An endless FTP.
#[allow(dead_code, reason = "each test uses a part of this")]
pub fn ftp(name: impl Into<String>, path: Path, tcp: TcpSpec) -> FlowSpec {
    FlowSpec::new(
        name,
        Program::Tcp {
            path,
            traffic: Traffic::Bulk,
            tcp,
        },
    )
}

/// A trace in memory.
#[allow(dead_code, reason = "each test uses a part of this")]
#[derive(Clone, Default)]
pub struct Memory(pub Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
