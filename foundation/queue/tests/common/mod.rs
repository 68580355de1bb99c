// SPDX-License-Identifier: MIT OR Apache-2.0
//! A packet for tests, and the link it is on. Each test file uses only part of this module.
#![allow(dead_code)]

use std::time::Duration;

use netnice_queue::{
    Bytes, CakeConfig, CakeTins, CodelConfig, Discipline, DisciplineConfig, DisciplineContext,
    DrrClass, DualPi2Config, EcnMode, FqCodelConfig, IpFields, Packet, PieConfig, PriorityConfig,
    QueueLimit, RedConfig, RioConfig, RioCoupling, RioThresholds, SfqConfig, SfqDrop, Threshold,
    WeightedDrrConfig,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marked {
    pub number: usize,
    pub length: usize,
    pub flow: u64,
    pub class: u8,
    pub ecn: bool,
    pub in_profile: bool,
    pub congestion_experienced: bool,
}

impl Marked {
    /// Creates a packet of 1000 bytes in flow 0, highest class, IN, without ECN.
    pub fn new(number: usize) -> Marked {
        Marked {
            number,
            length: 1000,
            flow: 0,
            class: 0,
            ecn: false,
            in_profile: true,
            congestion_experienced: false,
        }
    }
}

impl Packet for Marked {
    fn length(&self) -> usize {
        self.length
    }

    fn flow(&self) -> u64 {
        self.flow
    }

    fn class(&self) -> u8 {
        self.class
    }

    fn ecn_capable(&self) -> bool {
        self.ecn
    }

    fn scalable(&self) -> bool {
        // By flow, since the packets of the two kinds overtake each other.
        self.flow % 2 == 1
    }

    fn mark_congestion_experienced(&mut self) {
        self.congestion_experienced = true;
    }

    fn in_profile(&self) -> bool {
        self.in_profile
    }

    fn set_in_profile(&mut self, in_profile: bool) {
        self.in_profile = in_profile;
    }

    /// Flows 0 to 5 come from hosts 0 to 2 and go to hosts 10 and 11, with the DSCPs CS0, CS1, AF21, EF, CS0, LE.
    fn ip_fields(&self) -> IpFields {
        IpFields {
            source: (self.flow % 3) as u32,
            destination: 10 + (self.flow / 3 % 2) as u32,
            dscp: [0, 8, 18, 46, 0, 1][(self.flow % 6) as usize],
        }
    }
}

/// Describes a link of 8 Mb/s, which sends a packet of 1000 bytes in 1 ms, with 10 ms of delay.
pub fn context() -> DisciplineContext {
    DisciplineContext {
        rate: Some("8mbit".parse().unwrap()),
        delay: Duration::from_millis(10),
        base_rtt: Duration::from_millis(20),
        packet_size: Bytes::new(1000),
    }
}

pub fn queue<P: Packet>(config: &DisciplineConfig) -> Discipline<P> {
    Discipline::new(config, &context(), 1).unwrap()
}

pub fn red(limit: u32, min: f64, max: f64) -> RedConfig {
    RedConfig::new(
        QueueLimit::Packets(limit),
        Threshold::Packets(min),
        Threshold::Packets(max),
    )
}

/// The thresholds of the papers' Diff-Serv set-up: 5, 10 and 20 ms of queueing delay, here as many packets, with an
/// average that equals the queue.
pub fn rio(coupling: RioCoupling) -> RioConfig {
    let thresholds = |min, max, percent: &str| RioThresholds {
        min_threshold: Threshold::Packets(min),
        max_threshold: Threshold::Packets(max),
        max_probability: percent.parse().unwrap(),
    };
    RioConfig {
        limit: QueueLimit::Packets(50),
        in_profile: thresholds(10.0, 20.0, "2%"),
        out_of_profile: thresholds(5.0, 10.0, "50%"),
        red: None,
        coupling,
        weight: Some(1.0),
        gentle: false,
        wait: false,
        count_in: netnice_queue::CountIn::Packets,
        ecn: EcnMode::Off,
    }
}

/// Three classes: EF and AF21 in a priority queue, CS1 in CoDel, all others in RED with marks.
fn weighted_drr() -> DisciplineConfig {
    let class = |dscp: &[&str], weight, queue| DrrClass {
        dscp: dscp.iter().map(|name| name.parse().unwrap()).collect(),
        weight,
        queue: Box::new(queue),
    };
    let codel = CodelConfig {
        target: Duration::from_micros(1500),
        interval: Duration::from_millis(4),
        ..CodelConfig::new(QueueLimit::Packets(30))
    };
    let red = RedConfig {
        weight: Some(0.5),
        ecn: EcnMode::Mark,
        ..red(8, 2.0, 4.0)
    };
    let priority = PriorityConfig::new(QueueLimit::Packets(4));
    DisciplineConfig::WeightedDrr(WeightedDrrConfig {
        limit: QueueLimit::Packets(20),
        quantum: Bytes::new(700),
        ..WeightedDrrConfig::new(vec![
            class(&["EF", "AF21"], 2, DisciplineConfig::Priority(priority)),
            class(&["CS1"], 1, DisciplineConfig::Codel(codel)),
            class(&[], 3, DisciplineConfig::Red(red)),
        ])
    })
}

/// Returns one discipline of each kind, small enough to drop packets.
pub fn every_discipline() -> Vec<DisciplineConfig> {
    let limit = QueueLimit::Packets(8);
    let red = RedConfig {
        weight: Some(0.5),
        ecn: EcnMode::Mark,
        ..red(8, 2.0, 4.0)
    };
    let rio = |coupling| RioConfig {
        ecn: EcnMode::Mark,
        ..rio(coupling)
    };
    let sfq = SfqConfig {
        buckets: 4,
        ..SfqConfig::new(limit)
    };
    vec![
        DisciplineConfig::drop_tail(limit),
        DisciplineConfig::drop_tail(QueueLimit::Bytes(Bytes::new(1_200))),
        DisciplineConfig::Red(red.clone()),
        DisciplineConfig::Red(RedConfig {
            count_in: netnice_queue::CountIn::Bytes,
            limit: QueueLimit::Time(Duration::from_millis(5)),
            ..red
        }),
        DisciplineConfig::Red(RedConfig::for_tcplp_ecn(limit, 0.25)),
        DisciplineConfig::Rio(rio(RioCoupling::Coupled)),
        DisciplineConfig::Rio(rio(RioCoupling::Decoupled)),
        DisciplineConfig::Sfq(sfq.clone()),
        DisciplineConfig::Sfq(SfqConfig {
            drop: SfqDrop::FairShare,
            perturbation: Some(Duration::from_millis(3)),
            ..sfq.clone()
        }),
        DisciplineConfig::Sfq(SfqConfig {
            perturbation: Some(Duration::from_micros(700)),
            ..sfq
        }),
        DisciplineConfig::Priority(PriorityConfig::new(limit)),
        DisciplineConfig::Priority(PriorityConfig {
            classes: 3,
            quantum: Bytes::new(100),
            ..PriorityConfig::new(limit)
        }),
        DisciplineConfig::Priority(PriorityConfig {
            at_least: Some("3mbit".parse().unwrap()),
            ..PriorityConfig::new(limit)
        }),
        DisciplineConfig::Codel(CodelConfig {
            target: Duration::from_micros(1500),
            interval: Duration::from_millis(4),
            ..CodelConfig::new(QueueLimit::Packets(30))
        }),
        DisciplineConfig::Codel(CodelConfig {
            target: Duration::from_micros(1500),
            interval: Duration::from_millis(4),
            ecn: true,
            ..CodelConfig::new(limit)
        }),
        DisciplineConfig::FqCodel(FqCodelConfig {
            target: Duration::from_millis(1),
            interval: Duration::from_millis(2),
            quantum: Bytes::new(300),
            flows: 4,
            ..FqCodelConfig::new(QueueLimit::Packets(12))
        }),
        DisciplineConfig::FqCodel(FqCodelConfig {
            target: Duration::from_millis(1),
            interval: Duration::from_millis(2),
            linux: true,
            ..FqCodelConfig::new(QueueLimit::Packets(12))
        }),
        DisciplineConfig::Pie(PieConfig {
            target: Duration::from_millis(1),
            update: Duration::from_millis(1),
            alpha: 200.0,
            beta: 2000.0,
            max_burst: Duration::ZERO,
            ecn: true,
            derandomize: false,
            ..PieConfig::new(QueueLimit::Packets(20))
        }),
        DisciplineConfig::DualPi2(DualPi2Config {
            target: Duration::from_millis(1),
            update: Duration::from_millis(1),
            alpha: 20.0,
            beta: 200.0,
            step: Duration::from_micros(1500),
            ..DualPi2Config::new(QueueLimit::Packets(20))
        }),
        DisciplineConfig::DualPi2(DualPi2Config {
            target: Duration::from_millis(1),
            update: Duration::from_millis(1),
            alpha: 20.0,
            beta: 200.0,
            linux: true,
            ..DualPi2Config::new(QueueLimit::Packets(20))
        }),
        DisciplineConfig::Cake(CakeConfig {
            rtt: Duration::from_millis(20),
            tins: CakeTins::Diffserv4,
            ..CakeConfig::new(QueueLimit::Bytes(Bytes::new(20_000)))
        }),
        DisciplineConfig::Cake(CakeConfig {
            rtt: Duration::from_millis(8),
            ..CakeConfig::new(QueueLimit::Packets(9))
        }),
        weighted_drr(),
    ]
}
