// SPDX-License-Identifier: MIT OR Apache-2.0
//! Classes that share a link by weight, and RIO with three colours.

mod common;

use common::{Marked, context};
use netnice_queue::{
    Bytes, Colour, Discipline, DisciplineConfig, DropCause, DrrClass, Packet, QueueDiscipline,
    QueueLimit, Threshold, Time, WeightedDrr, WeightedDrrConfig,
};

fn class(dscp: &[&str], weight: u32, queue: DisciplineConfig) -> DrrClass {
    DrrClass {
        dscp: dscp.iter().map(|name| name.parse().unwrap()).collect(),
        weight,
        queue: Box::new(queue),
    }
}

fn drop_tail(packets: u32) -> DisciplineConfig {
    DisciplineConfig::drop_tail(QueueLimit::Packets(packets))
}

fn queue(classes: Vec<DrrClass>, quantum: u64) -> WeightedDrr<Marked> {
    let config = WeightedDrrConfig {
        quantum: Bytes::new(quantum),
        ..WeightedDrrConfig::new(classes)
    };
    WeightedDrr::from_config(&config, &context(), 1).unwrap()
}

/// A packet of a flow, whose DSCP follows from it: flow 0 has CS0, 1 CS1, 2 AF21, 3 EF.
fn packet(flow: u64, length: usize) -> Marked {
    Marked {
        flow,
        length,
        ..Marked::new(0)
    }
}

fn fill(queue: &mut WeightedDrr<Marked>, flow: u64, packets: usize, length: usize) {
    (0..packets).for_each(|_| queue.enqueue(Time::ZERO, packet(flow, length)).unwrap());
}

#[test]
fn classes_share_by_weight_in_bytes() {
    let classes = vec![
        class(&["AF21"], 4, drop_tail(1000)),
        class(&["EF", "CS6"], 2, drop_tail(2000)),
        class(&[], 1, drop_tail(1000)),
    ];
    let mut queue = queue(classes, 500);
    fill(&mut queue, 2, 500, 1000);
    fill(&mut queue, 3, 2000, 250);
    fill(&mut queue, 0, 500, 1000);
    assert_eq!((queue.packets_in(0), queue.packets_in(1)), (500, 2000));
    let mut bytes = [0; 4];
    while bytes.iter().sum::<usize>() < 350_000 {
        let packet = queue.dequeue(Time::ZERO).unwrap();
        bytes[packet.flow as usize] += packet.length;
    }
    // 4 : 2 : 1 of 350,000 bytes, to within a turn.
    for (flow, share) in [(2, 200_000), (3, 100_000), (0, 50_000)] {
        assert!(bytes[flow].abs_diff(share) <= 3_000, "{bytes:?}");
    }
    // The others share the rate that one class does not need, now 2 : 1.
    while queue.packets_in(0) > 0 {
        queue.dequeue(Time::ZERO).unwrap();
    }
    let mut packets = [0; 4];
    for _ in 0..90 {
        packets[queue.dequeue(Time::ZERO).unwrap().flow as usize] += 1;
    }
    assert_eq!(packets[2], 0);
    // Four packets of 250 bytes for one half of a packet of 1000: 8 : 1.
    assert!((7..=9).contains(&(packets[3] / packets[0])), "{packets:?}");
}

#[test]
fn a_class_owes_what_it_sent_beyond_its_credits() {
    let classes = vec![
        class(&["AF21"], 1, drop_tail(10)),
        class(&[], 1, drop_tail(10)),
    ];
    let mut queue = queue(classes, 500);
    fill(&mut queue, 2, 1, 1000);
    fill(&mut queue, 0, 4, 500);
    let mut next = || queue.dequeue(Time::ZERO).map(|packet| packet.flow);
    // 500 credits, 1000 bytes sent: the class owes 500 and passes a turn, though it was empty meanwhile.
    assert_eq!([next(), next()], [Some(2), Some(0)]);
    fill(&mut queue, 2, 1, 500);
    let mut next = || queue.dequeue(Time::ZERO).map(|packet| packet.flow);
    assert_eq!(
        [next(), next(), next(), next()],
        [Some(0), Some(2), Some(0), Some(0)]
    );
    assert_eq!(next(), None);
}

#[test]
fn each_class_has_its_own_limit_and_all_share_one() {
    let classes = vec![
        class(&["AF21"], 1, drop_tail(3)),
        class(&[], 1, drop_tail(10)),
    ];
    let config = WeightedDrrConfig {
        limit: QueueLimit::Packets(6),
        ..WeightedDrrConfig::new(classes)
    };
    let mut queue = WeightedDrr::from_config(&config, &context(), 1).unwrap();
    fill(&mut queue, 2, 3, 1000);
    let dropped = queue.enqueue(Time::ZERO, packet(2, 1000)).unwrap_err();
    assert_eq!(dropped.cause, DropCause::QueueFull);
    fill(&mut queue, 0, 3, 1000);
    assert!(queue.enqueue(Time::ZERO, packet(0, 1000)).is_err());
    assert_eq!((queue.packets(), queue.bytes()), (6, 6000));
}

#[test]
fn a_time_in_a_class_is_at_its_share_of_the_rate() {
    // 8 Mb/s: the class of weight 1 of 4 has 2 Mb/s, and 40 ms of it are 10,000 bytes.
    let limit = QueueLimit::Time(std::time::Duration::from_millis(40));
    let classes = vec![
        class(&["AF21"], 1, DisciplineConfig::drop_tail(limit)),
        class(&[], 3, drop_tail(100)),
    ];
    let mut queue = queue(classes, 1500);
    fill(&mut queue, 2, 10, 1000);
    assert!(queue.enqueue(Time::ZERO, packet(2, 1000)).is_err());
}

#[test]
fn wrong_classes_are_refused() {
    let error = |classes: Vec<DrrClass>| {
        let config = WeightedDrrConfig::new(classes);
        WeightedDrr::<Marked>::from_config(&config, &context(), 1)
            .unwrap_err()
            .to_string()
    };
    let others = || class(&[], 1, drop_tail(9));
    assert_eq!(
        error(vec![class(&["EF"], 1, drop_tail(9))]),
        "one class must have no `dscp`: it takes the packets of all others"
    );
    assert_eq!(
        error(vec![others(), others()]),
        error(vec![class(&["EF"], 1, drop_tail(9))])
    );
    assert_eq!(
        error(vec![
            class(&["EF"], 1, drop_tail(9)),
            class(&["EF"], 1, drop_tail(9)),
            others()
        ]),
        "the DSCP EF is given twice; it belongs to one class"
    );
    assert_eq!(error(vec![]), "classes is 0; it must be at least 1");
    assert_eq!(
        error(vec![class(&[], 0, drop_tail(9))]),
        "weight is 0; it must be at least 1"
    );
    assert_eq!(
        error(vec![class(&[], 1001, drop_tail(9))]),
        "weight is more than 1000, the most allowed"
    );
    let red = DisciplineConfig::Red(common::red(9, 5.0, 4.0));
    let inner = error(vec![others(), class(&["EF"], 1, red)]);
    assert!(
        inner.starts_with("classes[1].queue: min_threshold (5)"),
        "{inner}"
    );
}

#[test]
fn a_description_reads_back() {
    let text = r#"{"discipline":"weighted_drr","limit":"50p","classes":[
        {"dscp":["AF11",12],"weight":3,"queue":{"discipline":"codel"}},
        {"queue":{"discipline":"weighted_drr","classes":[{"queue":{"discipline":"drop_tail","limit":"5p"}}]}}]}"#;
    let config: DisciplineConfig = serde_json::from_str(text).unwrap();
    Discipline::<Marked>::new(&config, &context(), 1).unwrap();
    let written = serde_json::to_string(&config).unwrap();
    assert_eq!(
        serde_json::from_str::<DisciplineConfig>(&written).unwrap(),
        config
    );
    let DisciplineConfig::WeightedDrr(config) = config else {
        panic!("{config:?}");
    };
    let dscp: Vec<u8> = config.classes[0]
        .dscp
        .iter()
        .map(|dscp| dscp.get())
        .collect();
    assert_eq!(dscp, [10, 12]);
    let wrong = text.replace("12", "64");
    assert!(serde_json::from_str::<DisciplineConfig>(&wrong).is_err());
}

/// A packet of 1000 bytes with a colour.
#[derive(Debug)]
struct Coloured(Colour);

impl Packet for Coloured {
    fn length(&self) -> usize {
        1000
    }

    fn in_profile(&self) -> bool {
        self.0 == Colour::Green
    }

    fn colour(&self) -> Colour {
        self.0
    }
}

#[test]
fn rio_drops_red_before_yellow_before_green() {
    // With an average that equals the queue: red is dropped from 4 packets on, yellow from 10, green from 20.
    let mut config = common::rio(netnice_queue::RioCoupling::Coupled);
    config.red = Some(netnice_queue::RioThresholds {
        min_threshold: Threshold::Packets(4.0),
        max_threshold: Threshold::Packets(4.0),
        max_probability: "100%".parse().unwrap(),
    });
    config.out_of_profile.min_threshold = Threshold::Packets(10.0);
    config.in_profile.min_threshold = Threshold::Packets(20.0);
    let mut queue: Discipline<Coloured> = common::queue(&DisciplineConfig::Rio(config));
    let mut admitted = |colour| {
        let arrivals = (0..60).filter(|_| queue.enqueue(Time::ZERO, Coloured(colour)).is_ok());
        arrivals.count()
    };
    assert_eq!(admitted(Colour::Red), 4);
    assert_eq!(admitted(Colour::Yellow), 6);
    assert_eq!(admitted(Colour::Green), 20);
}
