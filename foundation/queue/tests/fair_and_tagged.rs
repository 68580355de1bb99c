// SPDX-License-Identifier: MIT OR Apache-2.0
//! SFQ, priority over DRR, and the taggers, against numbers computed by hand.

mod common;

use std::time::Duration;

use common::{Marked, context, queue};
use netnice_queue::{
    Bytes, Discipline, DisciplineConfig, DropCause, Link, LinkConfig, Marker, MarkerConfig,
    Priority, PriorityConfig, QueueDiscipline, QueueLimit, Queued, Sfq, SfqConfig, SfqDrop, Time,
    TokenBucket, TokenBucketConfig, Tsw, TswConfig,
};
use proptest::prelude::*;

fn of_flow(flow: u64, number: usize) -> Marked {
    Marked {
        flow,
        ..Marked::new(number)
    }
}

#[test]
fn deficit_round_robin_gives_flows_equal_bytes_whatever_their_packets() {
    let config = PriorityConfig::new(QueueLimit::Packets(3_000));
    let mut queue: Priority<Marked> = Priority::from_config(&config, &context(), 1).unwrap();
    let lengths = [1500, 300, 64];
    for number in 0..1_000 {
        for (flow, length) in lengths.into_iter().enumerate() {
            let packet = Marked {
                length,
                ..of_flow(flow as u64, number)
            };
            queue.enqueue(Time::ZERO, packet).unwrap();
        }
    }
    let mut sent = [0usize; 3];
    // All flows stay backlogged until the one with 64-byte packets has sent 64,000 bytes.
    while sent[2] < 60_000 {
        let packet = queue.dequeue(Time::ZERO).unwrap();
        sent[packet.flow as usize] += packet.length;
        // Shreedhar and Varghese: flows differ by at most a quantum and a packet.
        let spread = sent.iter().max().unwrap() - sent.iter().min().unwrap();
        assert!(spread <= 1500 + 1500, "{sent:?}");
    }
}

#[test]
fn a_flow_that_returns_begins_without_credit() {
    let config = PriorityConfig::new(QueueLimit::Packets(10));
    let mut queue: Priority<Marked> = Priority::from_config(&config, &context(), 1).unwrap();
    let long = |number| Marked {
        length: 1400,
        ..of_flow(1, number)
    };
    for round in 0..5 {
        queue.enqueue(Time::ZERO, long(round)).unwrap();
        assert_eq!(queue.dequeue(Time::ZERO).unwrap().number, round);
    }
    // Each round leaves 100 bytes; if they were kept, they would reach 500 and let two packets of 1000 go in a turn of
    // 1500.
    for number in 0..2 {
        queue.enqueue(Time::ZERO, of_flow(1, number)).unwrap();
        queue.enqueue(Time::ZERO, of_flow(2, number)).unwrap();
    }
    let order: Vec<u64> = std::iter::from_fn(|| queue.dequeue(Time::ZERO))
        .map(|packet| packet.flow)
        .collect();
    assert_eq!(order, [1, 2, 1, 2]);
}

#[test]
fn a_full_priority_queue_loses_the_lowest_class_first_and_of_it_the_longest_flow() {
    let config = DisciplineConfig::Priority(PriorityConfig::new(QueueLimit::Packets(4)));
    let mut queue = queue::<Marked>(&config);
    let low = |flow, number| Marked {
        class: 1,
        ..of_flow(flow, number)
    };
    for (flow, number) in [(1, 0), (1, 1), (1, 2), (2, 3)] {
        queue.enqueue(Time::ZERO, low(flow, number)).unwrap();
    }
    let mut lost = |packet| {
        let dropped = queue.enqueue(Time::ZERO, packet).unwrap_err();
        (dropped.packet.number, dropped.cause)
    };
    // A low-priority packet replaces one of the longer flow; a packet of the longest flow is itself dropped.
    assert_eq!(lost(low(2, 4)), (2, DropCause::PushedOut));
    assert_eq!(lost(low(2, 5)), (5, DropCause::QueueFull));
    // High-priority packets push out low-priority ones until none is left, and only then are dropped.
    for number in 6..10 {
        assert_eq!(lost(of_flow(3, number)).1, DropCause::PushedOut);
    }
    assert_eq!(lost(of_flow(3, 10)), (10, DropCause::QueueFull));
    assert_eq!(lost(low(1, 11)), (11, DropCause::QueueFull));
    let left: Vec<usize> = std::iter::from_fn(|| queue.dequeue(Time::ZERO))
        .map(|packet| packet.number)
        .collect();
    assert_eq!(left, [6, 7, 8, 9]);
}

/// Four packets of 1000 bytes every millisecond, in which the link takes one: it has 8 Mb/s.
#[test]
fn lower_classes_get_their_minimum_and_no_more() {
    let config = PriorityConfig {
        classes: 3,
        at_least: Some("2mbit".parse().unwrap()),
        ..PriorityConfig::new(QueueLimit::Packets(10))
    };
    let mut queue: Priority<Marked> = Priority::from_config(&config, &context(), 1).unwrap();
    let mut sent = [0_u32; 3];
    for millisecond in 0..1000 {
        let now = Time::ZERO + Duration::from_millis(millisecond);
        for class in [0, 1, 1, 2] {
            let packet = Marked {
                class,
                ..of_flow(class.into(), 0)
            };
            let dropped = queue.enqueue(now, packet).err();
            // A packet of the first class makes no room for one of the others, nor they for it.
            assert!(dropped.is_none_or(|dropped| (dropped.packet.class > 0) == (class > 0)));
        }
        sent[usize::from(queue.dequeue(now).unwrap().class)] += 1;
    }
    // A quarter of the link and a burst of two packets; the lowest class waits for the one above it.
    assert_eq!((sent, queue.packets()), ([749, 251, 0], 19));
}

#[test]
fn a_minimum_is_no_limit() {
    let config = PriorityConfig {
        at_least: Some("1mbit".parse().unwrap()),
        ..PriorityConfig::new(QueueLimit::Packets(10))
    };
    let mut queue: Priority<Marked> = Priority::from_config(&config, &context(), 1).unwrap();
    for number in 0..10 {
        let low = Marked {
            class: 1,
            ..of_flow(1, number)
        };
        queue.enqueue(Time::ZERO, low).unwrap();
    }
    let sent = std::iter::from_fn(|| queue.dequeue(Time::ZERO)).count();
    assert_eq!((sent, queue.packets(), queue.bytes()), (10, 0, 0));
}

proptest! {
    #[test]
    fn the_high_class_waits_for_one_low_packet_at_most(
        low in prop::collection::vec((0u64..2_000_000, 40usize..=1500, 0u64..5), 1..200),
    ) {
        let config = DisciplineConfig::Priority(PriorityConfig::new(QueueLimit::Packets(20)));
        let link_config = LinkConfig { rate: context().rate, ..LinkConfig::default() };
        let mut link: Link<Marked, Discipline<Queued<Marked>>> = Link::new(link_config, queue(&config));
        let (mut now, mut out) = (Time::ZERO, Vec::new());
        // A high-priority packet of 1 ms follows every tenth low-priority one, with a pause so that no two of them
        // meet.
        for (number, &(gap, length, flow)) in low.iter().enumerate() {
            now = now + Duration::from_nanos(gap);
            let packet = Marked { length, class: 1, ..of_flow(flow, number) };
            let low_dropped = link.offer(now, packet).err();
            prop_assert!(low_dropped.is_none_or(|dropped| dropped.packet.class == 1));
            if number % 10 == 0 {
                let high_dropped = link.offer(now, of_flow(9, number)).err();
                prop_assert!(high_dropped.is_none_or(|dropped| dropped.packet.class == 1));
                now = now + Duration::from_millis(3);
            }
            out.extend(std::iter::from_fn(|| link.deliver(now)));
        }
        while let Some(next) = link.next_event() {
            out.extend(std::iter::from_fn(|| link.deliver(next)));
        }
        let high = out.iter().filter(|delivery| delivery.packet.class == 0);
        prop_assert_eq!(high.clone().count(), low.len().div_ceil(10));
        for delivery in high {
            // 1500 bytes take 1.5 ms.
            prop_assert!(delivery.waited_ns <= 1_500_000, "{}", delivery.waited_ns);
        }
    }
}

#[test]
fn stochastic_fairness_serves_buckets_in_turn_and_drops_from_the_longest() {
    let config = SfqConfig {
        buckets: 1024,
        ..SfqConfig::new(QueueLimit::Packets(6))
    };
    let mut queue: Sfq<Marked> = Sfq::from_config(&config, &context(), 1).unwrap();
    for number in 0..5 {
        queue.enqueue(Time::ZERO, of_flow(1, number)).unwrap();
    }
    queue.enqueue(Time::ZERO, of_flow(2, 5)).unwrap();
    let dropped = queue.enqueue(Time::ZERO, of_flow(2, 6)).unwrap_err();
    assert_eq!(
        (dropped.packet.number, dropped.cause),
        (4, DropCause::PushedOut)
    );
    let dropped = queue.enqueue(Time::ZERO, of_flow(1, 7)).unwrap_err();
    assert_eq!(
        (dropped.packet.number, dropped.cause),
        (7, DropCause::QueueFull)
    );
    let order: Vec<usize> = std::iter::from_fn(|| queue.dequeue(Time::ZERO))
        .map(|packet| packet.number)
        .collect();
    assert_eq!(order, [0, 5, 1, 6, 2, 3]);
}

#[test]
fn fair_shares_drop_as_ns_2_does() {
    let config = SfqConfig {
        buckets: 4,
        drop: SfqDrop::FairShare,
        ..SfqConfig::new(QueueLimit::Packets(20))
    };
    let mut queue: Sfq<Marked> = Sfq::from_config(&config, &context(), 1).unwrap();
    // A lone flow fills half of the remaining room: after 7 of 20, 13 remain, and 7 >= 13 / 2 = 6.
    let taken = (0..20)
        .filter(|&number| queue.enqueue(Time::ZERO, of_flow(1, number)).is_ok())
        .count();
    assert_eq!(taken, 7);
}

#[test]
fn another_hash_keeps_the_packets_and_parts_those_who_shared() {
    let config = SfqConfig {
        buckets: 2,
        perturbation: Some(Duration::from_secs(1)),
        ..SfqConfig::new(QueueLimit::Packets(100))
    };
    let mut queue: Sfq<Marked> = Sfq::from_config(&config, &context(), 1).unwrap();
    // The flows have separate buckets if and only if the second packet sent is of the second flow.
    let apart: Vec<bool> = (0..40)
        .map(|second| {
            let now = Time::from_millis(second * 1000);
            for (flow, number) in [(1, 0), (1, 1), (2, 2), (2, 3)] {
                queue.enqueue(now, of_flow(flow, number)).unwrap();
            }
            let order: Vec<u64> = std::iter::from_fn(|| queue.dequeue(now))
                .map(|packet| packet.flow)
                .collect();
            assert_eq!(order.len(), 4);
            order[1] == 2
        })
        .collect();
    let number_apart = apart.iter().filter(|apart| **apart).count();
    assert!((8..=32).contains(&number_apart), "{apart:?}");
}

#[test]
fn the_time_sliding_window_averages_over_its_window() {
    let config = TswConfig {
        target: "1mbit".parse().unwrap(),
        window: Duration::from_secs(1),
    };
    let mut tagger = Tsw::new(&config, 1);
    // The average starts at the target: (10^6 * 1 s + 8000 bits) / 1 s.
    tagger.tag(Time::ZERO, &mut Marked::new(0));
    assert_eq!(tagger.average_bits_per_second(), 1_008_000.0);
    // Half a second later: (1,008,000 + 8,000) / 1.5.
    let mut packet = Marked::new(1);
    tagger.tag(Time::from_millis(500), &mut packet);
    assert!((tagger.average_bits_per_second() - 1_016_000.0 / 1.5).abs() < 1e-6);
    // Below the target every packet is IN.
    assert!(packet.in_profile);
}

/// Of two values for a marker's last key the first is taken, and the second, which is none, refused.
fn zero_is_refused(keys: &str, some: &str, none: &str) {
    let read = |value| serde_json::from_str::<MarkerConfig>(&format!(r#"{{{keys}: "{value}"}}"#));
    read(some).unwrap();
    assert!(read(none).unwrap_err().to_string().contains("zero"));
}

#[test]
fn a_window_of_no_length_is_refused() {
    let keys = r#""kind": "tsw", "target": "1mbit", "window""#;
    zero_is_refused(keys, "10ms", "0ms");
}

#[test]
fn a_bucket_that_holds_nothing_is_refused() {
    let keys = r#""kind": "token_bucket", "rate": "1mbit", "burst""#;
    // A burst below one packet makes all packets of a flow OUT.
    zero_is_refused(keys, "1B", "0kB");
}

#[test]
fn at_twice_the_target_half_is_out() {
    let config = MarkerConfig::Tsw(TswConfig {
        target: "1mbit".parse().unwrap(),
        window: Duration::from_secs(1),
    });
    let tags = |seed| -> Vec<bool> {
        let mut tagger = Marker::new(&config, seed);
        // 1000 bytes every 4 ms are 2 Mb/s.
        (0..12_000)
            .map(|number| {
                let mut packet = Marked::new(number);
                tagger.tag(Time::from_millis(number as u64 * 4), &mut packet);
                packet.in_profile
            })
            .collect()
    };
    // After ten windows the OUT fraction is (2 - 1) / 2, standard deviation 0.005.
    let out = tags(1)[2_000..].iter().filter(|is_in| !**is_in).count();
    assert!((4_750..=5_250).contains(&out), "{out}");
    assert_eq!(tags(1), tags(1));
    assert_ne!(tags(1), tags(2));
}

#[test]
fn the_token_bucket_lets_its_burst_and_its_rate_in() {
    // 1000 bytes per second, with a burst of 1500.
    let config = TokenBucketConfig {
        rate: "8kbit".parse().unwrap(),
        burst: Bytes::new(1500),
    };
    let mut bucket = TokenBucket::new(&config, 0);
    let mut tagged = |nanoseconds| {
        let mut packet = Marked::new(0);
        bucket.tag(Time::from_nanos(nanoseconds), &mut packet);
        packet.in_profile
    };
    assert!(tagged(0));
    assert!(!tagged(0));
    // 500 tokens are left, and 500 more arrive in half a second, not a nanosecond sooner.
    assert!(!tagged(499_999_999));
    assert!(tagged(500_000_000));
    // The bucket is full after 1.5 s, and holds no more later.
    assert!(tagged(60_000_000_000));
    assert!(!tagged(60_000_000_000));
    assert_eq!(bucket.tokens(), Bytes::new(500));
}
