// SPDX-License-Identifier: MIT OR Apache-2.0
//! CAKE against figures worked by hand from its paper and from tc-cake(8).

mod common;

use std::time::Duration;

use netnice_queue::{
    Bytes, Cake, CakeConfig, CakeIsolation, CakeTins, DisciplineContext, DropCause, IpFields, Link,
    LinkConfig, Packet, QueueDiscipline, QueueLimit, Time,
};

/// A packet of 1500 bytes that carries its hosts.
#[derive(Debug, Clone, Copy)]
struct Sent {
    number: usize,
    flow: u64,
    length: usize,
    ip: IpFields,
    ecn: bool,
    marked: bool,
}

impl Packet for Sent {
    fn length(&self) -> usize {
        self.length
    }

    fn flow(&self) -> u64 {
        self.flow
    }

    fn ip_fields(&self) -> IpFields {
        self.ip
    }

    fn ecn_capable(&self) -> bool {
        self.ecn
    }

    fn mark_congestion_experienced(&mut self) {
        self.marked = true;
    }
}

fn packet(flow: u64, (source, destination): (u32, u32), dscp: u8) -> Sent {
    Sent {
        number: 0,
        flow,
        length: 1500,
        ip: IpFields {
            source,
            destination,
            dscp,
        },
        ecn: false,
        marked: false,
    }
}

/// Flows from 1 on, of these hosts and code points.
fn sending<const N: usize>(hosts: [(u32, u32); N], dscps: [u8; N]) -> [Sent; N] {
    std::array::from_fn(|index| packet(index as u64 + 1, hosts[index], dscps[index]))
}

/// A link of 12 Mb/s, which sends a packet of 1500 bytes in 1 ms.
fn context() -> DisciplineContext {
    DisciplineContext {
        rate: Some("12mbit".parse().unwrap()),
        delay: Duration::from_millis(10),
        base_rtt: Duration::from_millis(20),
        packet_size: Bytes::new(1500),
    }
}

fn cake(tins: CakeTins, isolation: CakeIsolation) -> Cake<Sent> {
    let config = CakeConfig {
        tins,
        isolation,
        ..CakeConfig::default()
    };
    Cake::from_config(&config, &context(), 1).unwrap()
}

/// Keeps all `flows` backlogged while `turns` packets are sent, one each millisecond; returns the packets that each flow sent.
fn shares(queue: &mut Cake<Sent>, flows: &[Sent], turns: u64) -> Vec<usize> {
    let mut sent = vec![0; flows.len()];
    let mut waiting = vec![0; flows.len()];
    for ms in 0..turns {
        let now = Time::from_millis(ms);
        for (index, flow) in flows.iter().enumerate() {
            // A few packets each, so that none waits for longer than COBALT allows.
            while waiting[index] < 3 {
                let packet = Sent {
                    number: index,
                    ..*flow
                };
                queue.enqueue(now, packet).unwrap();
                waiting[index] += 1;
            }
        }
        let packet = queue.dequeue(now).unwrap();
        sent[packet.number] += 1;
        waiting[packet.number] -= 1;
        while let Some(dropped) = queue.take_dropped() {
            waiting[dropped.packet.number] -= 1;
        }
    }
    sent
}

fn near(found: &[usize], expected: &[usize]) {
    let close = found.iter().zip(expected).all(|(a, b)| a.abs_diff(*b) <= 6);
    assert!(
        close && found.len() == expected.len(),
        "{found:?} {expected:?}"
    );
}

#[test]
fn flows_are_served_alike_whatever_their_hosts() {
    let flows = sending([(1, 9), (1, 9), (1, 9), (2, 9)], [0; 4]);
    let mut queue = cake(CakeTins::Besteffort, CakeIsolation::Flows);
    assert!(!queue.reads_ip_fields());
    near(&shares(&mut queue, &flows, 1200), &[300, 300, 300, 300]);
}

#[test]
fn hosts_are_served_alike_whatever_their_flows() {
    // Host 1 has three flows, host 2 one.
    let flows = sending([(1, 9), (1, 9), (1, 9), (2, 9)], [0; 4]);
    let mut queue = cake(CakeTins::Besteffort, CakeIsolation::DualSrchost);
    near(&shares(&mut queue, &flows, 1200), &[200, 200, 200, 600]);
    // The one destination makes all flows alike.
    let mut queue = cake(CakeTins::Besteffort, CakeIsolation::DualDsthost);
    near(&shares(&mut queue, &flows, 1200), &[300, 300, 300, 300]);
}

#[test]
fn triple_isolation_divides_by_the_busier_host() {
    // Sources 1 (two flows) and 2 (one flow); destinations 8 (one flow) and 9 (two). Loads: max(2, 1), max(2, 2), max(1, 2).
    let flows = sending([(1, 8), (1, 9), (2, 9)], [0; 3]);
    let mut queue = cake(CakeTins::Besteffort, CakeIsolation::TripleIsolate);
    near(&shares(&mut queue, &flows, 900), &[300, 300, 300]);
    // Source 1 with three flows to destinations of their own, source 2 with one: loads 3, 3, 3, 1.
    let flows = sending([(1, 6), (1, 7), (1, 8), (2, 9)], [0; 4]);
    let mut queue = cake(CakeTins::Besteffort, CakeIsolation::TripleIsolate);
    near(&shares(&mut queue, &flows, 1200), &[200, 200, 200, 600]);
}

#[test]
fn tins_have_priority_up_to_their_share_and_no_more() {
    // Voice and bulk have a quarter and a sixteenth of 1600 packets; best effort takes the rest.
    let flows = sending([(1, 9); 3], [0, 1, 46]);
    let mut queue = cake(CakeTins::Diffserv3, CakeIsolation::TripleIsolate);
    near(&shares(&mut queue, &flows, 1600), &[1100, 100, 400]);
    // Video has half, voice a quarter, bulk a sixteenth.
    let flows = sending([(1, 9); 4], [0, 8, 34, 40]);
    let mut queue = cake(CakeTins::Diffserv4, CakeIsolation::TripleIsolate);
    near(&shares(&mut queue, &flows, 1600), &[300, 100, 800, 400]);
    // Alone, a tin has all of the link.
    let mut queue = cake(CakeTins::Diffserv4, CakeIsolation::TripleIsolate);
    assert_eq!(shares(&mut queue, &flows[1..2], 500), [500]);
}

#[test]
fn codepoints_go_to_the_tins_of_linux() {
    // A packet of best effort waits; the other is sent first if its tin is not that of best effort.
    let goes_first = |tins, dscp| {
        let mut queue = cake(tins, CakeIsolation::Flows);
        queue.enqueue(Time::ZERO, packet(1, (1, 9), 0)).unwrap();
        queue.enqueue(Time::ZERO, packet(2, (1, 9), dscp)).unwrap();
        queue.dequeue(Time::ZERO).unwrap().flow == 2
    };
    let first = |tins| (0..64).filter(move |&dscp| goes_first(tins, dscp));
    assert_eq!(first(CakeTins::Besteffort).count(), 0);
    let found: Vec<u8> = first(CakeTins::Diffserv3).collect();
    assert_eq!(found, [1, 4, 8, 44, 46, 48, 56]);
    let found: Vec<u8> = first(CakeTins::Diffserv4).collect();
    let video = [4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38];
    let mut expected = [[1, 8].as_slice(), &video, &[32, 40, 44, 46, 48, 56]].concat();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn a_sparse_flow_overtakes_a_backlog() {
    let mut queue = cake(CakeTins::Besteffort, CakeIsolation::Flows);
    for number in 0..20 {
        let bulk = Sent {
            number,
            ..packet(1, (1, 9), 0)
        };
        queue.enqueue(Time::ZERO, bulk).unwrap();
    }
    // At 12 Mb/s the quantum is 1 500 000 / 4096 = 366 bytes: the first packet is more than it.
    assert_eq!(queue.dequeue(Time::ZERO).unwrap().flow, 1);
    queue.enqueue(Time::ZERO, packet(2, (1, 9), 0)).unwrap();
    assert_eq!(queue.dequeue(Time::from_millis(1)).unwrap().flow, 2);
    assert_eq!(queue.dequeue(Time::from_millis(2)).unwrap().flow, 1);
}

#[test]
fn a_standing_queue_is_signalled_by_cobalt() {
    for ecn in [false, true] {
        let mut queue = cake(CakeTins::Besteffort, CakeIsolation::Flows);
        let all = Sent {
            ecn,
            ..packet(1, (1, 9), 0)
        };
        // A packet arrives at 0 ms with none before it, and 400 more.
        (0..401).for_each(|_| queue.enqueue(Time::ZERO, all).unwrap());
        let (mut drops, mut marks) = (Vec::new(), Vec::new());
        for ms in 0..240 {
            if queue.dequeue(Time::from_millis(ms)).unwrap().marked {
                marks.push(ms);
            }
            while let Some(dropped) = queue.take_dropped() {
                assert_eq!(dropped.cause, DropCause::EarlyDrop);
                drops.push(ms);
            }
        }
        // Above the target of 5 ms from 6 ms on: the first signal at 106 ms, and then after 100 / sqrt(2) = 70.7 and
        // 100 / sqrt(3) = 57.7 ms.
        let expected = vec![106, 177, 235];
        let found = if ecn { (marks, drops) } else { (drops, marks) };
        assert_eq!(found, (expected, vec![]));
        assert_eq!(queue.marks(), if ecn { 3 } else { 0 });
    }
}

#[test]
fn a_slow_link_has_a_target_of_one_and_a_half_packets() {
    // At 120 kb/s a packet takes 100 ms: the target is 150 ms, but four packets, 400 ms, are never too long.
    let slow = DisciplineContext {
        rate: Some("120kbit".parse().unwrap()),
        ..context()
    };
    let config = CakeConfig {
        tins: CakeTins::Besteffort,
        ..CakeConfig::default()
    };
    let mut queue = Cake::from_config(&config, &slow, 1).unwrap();
    (0..40).for_each(|_| queue.enqueue(Time::ZERO, packet(1, (1, 9), 0)).unwrap());
    let mut first = None;
    for turn in 0..20 {
        queue.dequeue(Time::from_millis(100 * turn)).unwrap();
        if queue.take_dropped().is_some() {
            first = first.or(Some(100 * turn));
        }
    }
    // Above 400 ms from 500 ms on; the interval is twice the target, 300 ms.
    assert_eq!(first, Some(800));
}

#[test]
fn a_full_queue_drops_the_first_packet_of_the_longest_flow() {
    let config = CakeConfig {
        tins: CakeTins::Diffserv3,
        ..CakeConfig::new(QueueLimit::Bytes(Bytes::new(9_000)))
    };
    let mut queue = Cake::from_config(&config, &context(), 1).unwrap();
    for number in 0..4 {
        let bulk = Sent {
            number,
            ..packet(1, (1, 9), 0)
        };
        queue.enqueue(Time::ZERO, bulk).unwrap();
    }
    queue.enqueue(Time::ZERO, packet(2, (1, 9), 1)).unwrap();
    queue.enqueue(Time::ZERO, packet(3, (1, 9), 46)).unwrap();
    assert!(queue.take_dropped().is_none());
    queue.enqueue(Time::ZERO, packet(3, (1, 9), 46)).unwrap();
    let dropped = queue.take_dropped().unwrap();
    assert_eq!((dropped.packet.flow, dropped.packet.number), (1, 0));
    assert_eq!(dropped.cause, DropCause::PushedOut);
    assert!(queue.take_dropped().is_none());
    assert_eq!((queue.packets(), queue.bytes()), (6, 9_000));
}

#[test]
fn a_link_passes_on_the_fields_that_its_caller_knows() {
    let config = LinkConfig {
        rate: context().rate,
        ..LinkConfig::default()
    };
    let discipline = CakeConfig {
        tins: CakeTins::Diffserv3,
        ..CakeConfig::default()
    };
    let discipline = Cake::from_config(&discipline, &context(), 1).unwrap();
    let mut link = Link::new(config, discipline);
    let voice = IpFields {
        dscp: 46,
        ..IpFields::default()
    };
    // The first is in transmission; of the others that with the DSCP of voice overtakes.
    for (first_byte, ip) in [
        (1, IpFields::default()),
        (2, IpFields::default()),
        (3, voice),
    ] {
        let packet = vec![first_byte; 1500];
        link.offer_with(Time::ZERO, packet, ip).unwrap();
    }
    let order: Vec<u8> = (1..=3)
        .map(|ms| link.deliver(Time::from_millis(ms)).unwrap().packet[0])
        .collect();
    assert_eq!(order, [1, 3, 2]);
}
