// SPDX-License-Identifier: MIT OR Apache-2.0
//! The link against numbers computed by hand, and properties that hold for any traffic.

use std::time::Duration;

use netnice_queue::{
    Delivery, DropCause, DropTail, Link, LinkConfig, LossFraction, Packet, QueueBound, Queued,
    Rate, Time,
};
use proptest::prelude::*;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Numbered {
    number: usize,
    length: usize,
}

impl Packet for Numbered {
    fn length(&self) -> usize {
        self.length
    }
}

type TestLink = Link<Numbered, DropTail<Queued<Numbered>>>;

fn link(rate: &str, delay_ms: u64, bound: QueueBound) -> TestLink {
    let config = LinkConfig {
        rate: Some(rate.parse().unwrap()),
        delay: Duration::from_millis(delay_ms),
        ..LinkConfig::default()
    };
    Link::new(config, DropTail::new(bound))
}

fn full(number: usize) -> Numbered {
    Numbered {
        number,
        length: 1500,
    }
}

fn drain(link: &mut TestLink) -> Vec<Delivery<Numbered>> {
    let mut out = Vec::new();
    while let Some(next) = link.next_event() {
        out.extend(std::iter::from_fn(|| link.deliver(next)));
    }
    out
}

#[test]
fn packets_follow_each_other_at_the_rate_and_arrive_after_the_delay() {
    // 12 Mb/s sends 1500 bytes in 1 ms.
    let mut link = link("12mbit", 20, QueueBound::Packets(10));
    for number in 0..3 {
        link.offer(Time::from_millis(5), full(number)).unwrap();
    }
    assert_eq!(link.inside(), 3);
    assert_eq!(link.queue_packets(Time::from_millis(5)), 2);
    assert_eq!(link.queue_bytes(Time::from_millis(6)), 1500);
    assert!(link.deliver(Time::from_nanos(25_999_999)).is_none());
    let due: Vec<Time> = drain(&mut link)
        .into_iter()
        .map(|delivery| delivery.due)
        .collect();
    assert_eq!(due, [26, 27, 28].map(Time::from_millis));
    assert_eq!(link.counters().max_queue_wait, Duration::from_millis(2));
}

#[test]
fn an_idle_link_begins_at_the_arrival() {
    let mut link = link("12mbit", 0, QueueBound::Packets(10));
    link.offer(Time::ZERO, full(0)).unwrap();
    link.offer(Time::from_millis(50), full(1)).unwrap();
    let due: Vec<Time> = drain(&mut link)
        .into_iter()
        .map(|delivery| delivery.due)
        .collect();
    assert_eq!(due, [1, 51].map(Time::from_millis));
}

#[test]
fn fractions_of_nanoseconds_are_not_lost() {
    // 1500 bytes at 7 Mb/s take 1,714,285.714… ns; seven packets take exactly 12 ms.
    let mut link = link("7mbit", 0, QueueBound::Packets(10_000));
    for number in 0..7_000 {
        link.offer(Time::ZERO, full(number)).unwrap();
    }
    let deliveries = drain(&mut link);
    assert_eq!(deliveries[0].due, Time::from_nanos(1_714_285));
    assert_eq!(deliveries[6].due, Time::from_millis(12));
    assert_eq!(deliveries[6_999].due, Time::from_millis(12_000));
}

#[test]
fn a_driver_that_calls_late_does_not_slow_a_backlogged_link() {
    let mut link = link("12mbit", 0, QueueBound::Packets(10));
    for number in 0..10 {
        link.offer(Time::ZERO, full(number)).unwrap();
    }
    // Ten packets take 10 ms; the driver comes back after 8 ms and then offers more.
    link.offer(Time::from_millis(8), full(10)).unwrap();
    let due: Vec<Time> = drain(&mut link)
        .into_iter()
        .map(|delivery| delivery.due)
        .collect();
    assert_eq!(due, (1..=11).map(Time::from_millis).collect::<Vec<_>>());
}

#[test]
fn a_full_queue_drops_and_the_packet_in_transmission_is_not_in_it() {
    let mut link = link("12mbit", 0, QueueBound::Packets(2));
    for number in 0..3 {
        link.offer(Time::ZERO, full(number)).unwrap();
    }
    let dropped = link.offer(Time::ZERO, full(3)).unwrap_err();
    assert_eq!(
        (dropped.packet.number, dropped.cause),
        (3, DropCause::QueueFull)
    );
    // After 1 ms the first has left, the second is in transmission, and there is room again.
    assert!(link.offer(Time::from_nanos(999_999), full(4)).is_err());
    assert!(link.offer(Time::from_millis(1), full(5)).is_ok());
    let counters = link.counters();
    assert_eq!(
        (
            counters.offered,
            counters.queue_full,
            counters.max_queue_packets
        ),
        (6, 2, 2)
    );
}

#[test]
fn without_a_rate_there_is_only_the_delay() {
    let config = LinkConfig {
        delay: Duration::from_millis(3),
        ..LinkConfig::default()
    };
    let mut link: TestLink = Link::new(config, DropTail::packets(1));
    for number in 0..1_000 {
        link.offer(Time::from_millis(1), full(number)).unwrap();
    }
    assert!(
        drain(&mut link)
            .iter()
            .all(|delivery| delivery.due == Time::from_millis(4))
    );
}

#[test]
fn the_fate_of_a_packet_depends_on_seed_and_number_only() {
    let fates = |seed, gap: u64| {
        let loss: LossFraction = "10%".parse().unwrap();
        let rate = Some("12mbit".parse().unwrap());
        let config = LinkConfig {
            rate,
            loss,
            seed,
            ..LinkConfig::default()
        };
        let mut link: TestLink = Link::new(config, DropTail::packets(3));
        (0..10_000u64)
            .map(|n| {
                let offered = link.offer(Time::from_nanos(n * gap), full(n as usize));
                matches!(offered, Err(dropped) if dropped.cause == DropCause::RandomLoss)
            })
            .collect::<Vec<bool>>()
    };
    assert_eq!(fates(1, 10), fates(1, 1_000_000));
    assert_ne!(fates(1, 10), fates(2, 10));
    // Mean 1,000, standard deviation 30: the bounds are five standard deviations.
    let lost = fates(1, 10).into_iter().filter(|lost| *lost).count();
    assert!((850..=1150).contains(&lost), "{lost}");
}

#[derive(Debug, Clone)]
struct Scenario {
    rate: u64,
    delay: Duration,
    bound: QueueBound,
    loss: u64,
    seed: u64,
    /// Gap before each packet in nanoseconds, and the packet's length in bytes.
    arrivals: Vec<(u64, usize)>,
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let bound = prop_oneof![
        (1usize..50).prop_map(QueueBound::Packets),
        (1500u64..50_000).prop_map(QueueBound::Bytes),
    ];
    let arrivals = prop::collection::vec(
        (prop_oneof![Just(0), 0u64..3_000_000], 20usize..=1500),
        1..200,
    );
    (
        10_000u64..2_000_000_000,
        0u64..50_000_000,
        bound,
        0u64..300_000_000,
        any::<u64>(),
        arrivals,
    )
        .prop_map(|(rate, delay, bound, loss, seed, arrivals)| Scenario {
            rate,
            delay: Duration::from_nanos(delay),
            bound,
            loss,
            seed,
            arrivals,
        })
}

impl Scenario {
    fn link(&self) -> TestLink {
        let config = LinkConfig {
            rate: Some(Rate::from_bits_per_second(self.rate).unwrap()),
            delay: self.delay,
            loss: LossFraction::from_billionths(self.loss).unwrap(),
            seed: self.seed,
        };
        Link::new(config, DropTail::new(self.bound))
    }
}

proptest! {
    #[test]
    fn packets_are_conserved_in_order_within_rate_and_bound(scenario in scenario()) {
        let mut link = scenario.link();
        let (mut now, mut dropped, mut out) = (Time::ZERO, 0u64, Vec::new());
        for (number, &(gap, length)) in scenario.arrivals.iter().enumerate() {
            now = now + Duration::from_nanos(gap);
            dropped += link.offer(now, Numbered { number, length }).is_err() as u64;
            out.extend(std::iter::from_fn(|| link.deliver(now)));

            let counters = link.counters();
            prop_assert_eq!(counters.queue_full + counters.random_loss, dropped);
            prop_assert_eq!(counters.offered, counters.delivered + dropped + link.inside() as u64);
            match scenario.bound {
                QueueBound::Packets(limit) => prop_assert!(link.queue_packets(now) <= limit),
                QueueBound::Bytes(limit) => prop_assert!(link.queue_bytes(now) <= limit),
            }
        }
        out.extend(drain(&mut link));
        prop_assert_eq!(link.inside(), 0);
        prop_assert_eq!(out.len() as u64 + dropped, scenario.arrivals.len() as u64);
        prop_assert!(out.is_sorted_by(|a, b| a.packet.number < b.packet.number && a.due <= b.due));

        // Between any two deliveries the link sends no more bits than its rate allows, up to rounding to a nanosecond.
        for from in 0..out.len() {
            let mut bits = 0;
            for to in from + 1..out.len() {
                bits += out[to].packet.length as u128 * 8;
                let time = (out[to].due - out[from].due).as_nanos() + 1;
                prop_assert!(bits * 1_000_000_000 <= u128::from(scenario.rate) * time);
            }
        }
    }

    #[test]
    fn when_the_driver_looks_does_not_matter(scenario in scenario(), looks in prop::collection::vec(any::<bool>(), 200)) {
        let run = |look: &dyn Fn(usize) -> bool| {
            let mut link = scenario.link();
            let (mut now, mut out) = (Time::ZERO, Vec::new());
            for (number, &(gap, length)) in scenario.arrivals.iter().enumerate() {
                now = now + Duration::from_nanos(gap);
                let _ = link.offer(now, Numbered { number, length });
                if look(number) {
                    out.extend(std::iter::from_fn(|| link.deliver(now)));
                }
            }
            out.extend(drain(&mut link));
            out
        };
        prop_assert_eq!(run(&|_| true), run(&|number| looks[number]));
    }
}
