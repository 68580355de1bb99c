// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties that hold for every discipline and any traffic.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{Marked, context, every_discipline};
use netnice_queue::{
    Bytes, Delivery, Described, Discipline, DisciplineConfig, DropCause, Dropped, Jitter, Link,
    LinkChange, LinkConditions, LinkConfig, LossModel, Outage, PolicerConfig, QueueDiscipline,
    QueueLimit, Queued, Rate, ShaperConfig, Time,
};
use proptest::prelude::*;

type TestLink = Link<Marked, Discipline<Queued<Marked>>>;

fn link(config: &DisciplineConfig, seed: u64, jitter: Jitter) -> TestLink {
    let link_config = LinkConfig {
        rate: context().rate,
        delay: context().delay,
        loss: "2%".parse().unwrap(),
        seed,
    };
    let discipline = Discipline::new(config, &context(), seed).unwrap();
    Link::new(link_config, discipline).with_jitter(jitter)
}

/// A discipline that packets never pass without being enqueued.
#[derive(Debug)]
struct Entered(Discipline<Queued<Marked>>);

impl QueueDiscipline<Queued<Marked>> for Entered {
    fn enqueue(
        &mut self,
        now: Time,
        packet: Queued<Marked>,
    ) -> Result<(), Dropped<Queued<Marked>>> {
        self.0.enqueue(now, packet)
    }

    fn dequeue(&mut self, now: Time) -> Option<Queued<Marked>> {
        self.0.dequeue(now)
    }

    fn take_dropped(&mut self) -> Option<Dropped<Queued<Marked>>> {
        self.0.take_dropped()
    }

    fn marks(&self) -> u64 {
        self.0.marks()
    }

    fn packets(&self) -> usize {
        self.0.packets()
    }

    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

#[derive(Debug, Default, PartialEq)]
struct Outcome {
    delivered: Vec<Delivery<Marked>>,
    dropped: Vec<(DropCause, Marked)>,
    /// Those of the dropped packets that had been admitted.
    dropped_later: usize,
}

impl Outcome {
    fn take_dropped(&mut self, link: &mut TestLink) {
        while let Some(dropped) = link.take_dropped() {
            self.dropped.push((dropped.cause, dropped.packet));
            self.dropped_later += 1;
        }
    }
}

/// Offers `packets`, each after its gap in nanoseconds, and checks for deliveries after the arrivals that `look`
/// selects.
fn run(link: &mut TestLink, packets: &[(u64, Marked)], look: impl Fn(usize) -> bool) -> Outcome {
    let mut now = Time::ZERO;
    let mut outcome = Outcome::default();
    for (number, &(gap, packet)) in packets.iter().enumerate() {
        now = now + Duration::from_nanos(gap);
        let offered = link.offer(now, packet);
        outcome.take_dropped(link);
        if let Err(dropped) = offered {
            outcome.dropped.push((dropped.cause, dropped.packet));
        }
        if look(number) {
            outcome
                .delivered
                .extend(std::iter::from_fn(|| link.deliver(now)));
            outcome.take_dropped(link);
        }
        let counters = link.counters();
        assert_eq!(counters.offered, number as u64 + 1);
        assert_eq!(counters.dropped(), outcome.dropped.len() as u64);
        assert_eq!(
            counters.offered,
            counters.delivered + counters.dropped() + link.inside() as u64
        );
    }
    while let Some(next) = link.next_event() {
        outcome
            .delivered
            .extend(std::iter::from_fn(|| link.deliver(next)));
        outcome.take_dropped(link);
    }
    outcome
}

/// As [`run`], but takes packets as soon as it is known when they come out, and looks only when one can come out.
fn run_ahead(link: &mut TestLink, packets: &[(u64, Marked)]) -> Outcome {
    let mut outcome = Outcome::default();
    let come_to = |link: &mut TestLink, outcome: &mut Outcome, now: Option<Time>| {
        let due = |next: &Time| now.is_none_or(|now| *next <= now);
        while let Some(next) = link.earliest_delivery().filter(due) {
            let before = outcome.delivered.len();
            let delivered = std::iter::from_fn(|| link.deliver(next));
            outcome.delivered.extend(delivered);
            outcome.take_dropped(link);
            take_known(link, outcome);
            let mut delivered = outcome.delivered[before..].iter();
            assert!(delivered.all(|delivery| delivery.due >= next), "late");
        }
    };
    let mut now = Time::ZERO;
    for &(gap, packet) in packets {
        now = now + Duration::from_nanos(gap);
        come_to(link, &mut outcome, Some(now));
        let offered = link.offer(now, packet);
        outcome.take_dropped(link);
        if let Err(dropped) = offered {
            outcome.dropped.push((dropped.cause, dropped.packet));
        }
        take_known(link, &mut outcome);
    }
    come_to(link, &mut outcome, None);
    outcome
}

fn take_known(link: &mut TestLink, outcome: &mut Outcome) {
    while link.computes_departures() && link.known_delivery().is_some() {
        outcome.delivered.extend(link.take_known_delivery());
    }
}

fn packets() -> impl Strategy<Value = Vec<(u64, Marked)>> {
    let gap = prop_oneof![3 => Just(0u64), 3 => 0u64..1_000_000, 1 => 0u64..20_000_000];
    let packet = (
        gap,
        40usize..=1500,
        0u64..6,
        0u8..4,
        any::<bool>(),
        any::<bool>(),
    );
    prop::collection::vec(packet, 1..150).prop_map(|packets| {
        let marked = |(number, (gap, length, flow, class, ecn, in_profile))| {
            // All packets of a flow have one class, as everywhere; otherwise a flow could overtake itself.
            let class = (class & 1) * (flow % 3) as u8;
            let packet = Marked {
                length,
                flow,
                class,
                ecn,
                in_profile,
                ..Marked::new(number)
            };
            (gap, packet)
        };
        let mut packets: Vec<(u64, Marked)> = packets.into_iter().enumerate().map(marked).collect();
        let mut class_of = std::collections::BTreeMap::new();
        for (_, packet) in &mut packets {
            packet.class = *class_of.entry(packet.flow).or_insert(packet.class);
        }
        packets
    })
}

fn any_jitter() -> impl Strategy<Value = Jitter> {
    let size = (0u64..30_000_000).prop_map(Duration::from_nanos);
    prop_oneof![
        Just(Jitter::None),
        size.clone().prop_map(Jitter::Uniform),
        size.clone().prop_map(Jitter::NetemPareto),
        size.prop_map(Jitter::Exponential)
    ]
}

fn any_conditions() -> impl Strategy<Value = LinkConditions> {
    let ms = Duration::from_millis;
    let bucket = (prop::option::of(1000u64..5000), 0..3);
    let outage = prop::option::of((0u64..50, 1u64..30, prop::option::of(1u64..30)));
    let changes = prop::collection::vec((0u64..100, 1u64..20, 0u64..40, 0u64..50), 0..3);
    let trace = prop::option::weighted(0.3, prop::collection::vec(0u64..9, 1..20));
    (bucket, outage, changes, trace, 0u64..3).prop_map(
        move |((burst, kind), outage, changes, trace, batch)| {
            let burst = burst.map(Bytes::new);
            let rate = |mbit: u64| Rate::from_bits_per_second(mbit * 1_000_000).unwrap();
            LinkConditions {
                policer: burst.filter(|_| kind == 0).map(|burst| PolicerConfig {
                    rate: rate(6),
                    burst,
                }),
                shaper: burst.filter(|_| kind == 1).map(|burst| ShaperConfig {
                    burst,
                    peak_rate: Some(rate(30)),
                }),
                trace: trace.map(|steps| {
                    let mut time = 1;
                    let lines: Vec<String> = steps
                        .iter()
                        .map(|step| {
                            time += step;
                            time.to_string()
                        })
                        .collect();
                    Arc::new(lines.join("\n").parse().unwrap())
                }),
                outages: outage
                    .into_iter()
                    .map(|(at, duration, pause)| Outage {
                        at: ms(at),
                        duration: ms(duration),
                        every: pause.map(|pause| ms(duration + pause)),
                    })
                    .collect(),
                changes: changes
                    .into_iter()
                    .map(|(at, mbit, delay, loss)| LinkChange {
                        at: ms(at),
                        rate: Some(rate(mbit)),
                        delay: Some(ms(delay)),
                        loss: Some(format!("{loss}%").parse().unwrap()),
                    })
                    .collect(),
                loss_model: (kind == 2).then_some(LossModel::Periodic { every: 7 }),
                batch_interval: ms(batch),
            }
        },
    )
}

proptest! {
    // Each case goes through all disciplines.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_lets_packets_through_does_as_if_they_entered(packets in packets(), seed: u64, conditions in any_conditions()) {
        for config in every_discipline() {
            let mut through = link(&config, seed, Jitter::None).with_conditions(&conditions);
            let discipline = Discipline::new(&config, &context(), seed).unwrap();
            let discipline = Discipline::Custom(Box::new(Entered(discipline)));
            let mut entered = Link::new(through.config().clone(), discipline).with_conditions(&conditions);
            let outcome = run(&mut through, &packets, |_| true);
            prop_assert_eq!(outcome, run(&mut entered, &packets, |_| true), "{}", config.name());
            prop_assert_eq!(through.counters(), entered.counters());
            let end = Time::from_millis(60_000);
            prop_assert_eq!(through.usage(end), entered.usage(end));
        }
    }

    #[test]
    fn no_packet_is_created_or_lost_and_flows_stay_in_order(packets in packets(), seed: u64, jitter in any_jitter()) {
        for config in every_discipline() {
            let mut link = link(&config, seed, jitter);
            let outcome = run(&mut link, &packets, |_| true);
            prop_assert_eq!(link.inside(), 0);
            let counters = link.counters();
            let delivered = outcome.delivered.iter().map(|delivery| delivery.packet);
            let marked = delivered.clone().filter(|packet| packet.congestion_experienced).count();
            prop_assert!(counters.marked >= marked as u64);
            let bytes: usize = delivered.clone().map(|packet| packet.length).sum();
            prop_assert_eq!(counters.delivered_bytes, bytes as u64);

            let mut seen: Vec<Marked> = delivered.chain(outcome.dropped.iter().map(|dropped| dropped.1)).collect();
            seen.sort_by_key(|packet| packet.number);
            for packet in &mut seen {
                prop_assert!(packet.ecn || !packet.congestion_experienced);
                packet.congestion_experienced = false;
            }
            let offered: Vec<Marked> = packets.iter().map(|offered| offered.1).collect();
            prop_assert_eq!(seen, offered);

            prop_assert!(outcome.delivered.is_sorted_by_key(|delivery| delivery.due));
            for flow in 0..6 {
                let of_flow = outcome.delivered.iter().filter(|delivery| delivery.packet.flow == flow);
                prop_assert!(of_flow.is_sorted_by_key(|delivery| delivery.packet.number), "{:?}", config);
            }
        }
    }

    #[test]
    fn decisions_follow_from_the_seed_and_not_from_when_the_driver_looks(
        packets in packets(),
        seed: u64,
        jitter in any_jitter(),
        looks in prop::collection::vec(any::<bool>(), 150),
    ) {
        for config in every_discipline() {
            let all = run(&mut link(&config, seed, jitter), &packets, |_| true);
            prop_assert_eq!(&all, &run(&mut link(&config, seed, jitter), &packets, |_| true));
            prop_assert_eq!(&all, &run(&mut link(&config, seed, jitter), &packets, |number| looks[number]));
        }
    }

    #[test]
    fn packets_taken_ahead_of_time_are_those_that_come_out(
        packets in packets(),
        seed: u64,
        jitter in any_jitter(),
        conditions in prop_oneof![3 => Just(LinkConditions::default()), 1 => any_conditions()],
    ) {
        for config in every_discipline() {
            let link = || link(&config, seed, jitter).with_conditions(&conditions);
            let mut ahead = link();
            prop_assert_eq!(run_ahead(&mut ahead, &packets), run(&mut link(), &packets, |_| true), "{}", config.name());
            prop_assert_eq!(ahead.inside(), 0);
        }
    }

    #[test]
    fn conditions_keep_packets_and_do_not_depend_on_when_the_driver_looks(
        packets in packets(),
        seed: u64,
        conditions in any_conditions(),
        looks in prop::collection::vec(any::<bool>(), 150),
    ) {
        for config in every_discipline() {
            let link = || link(&config, seed, Jitter::None).with_conditions(&conditions);
            let all = run(&mut link(), &packets, |_| true);
            prop_assert_eq!(all.delivered.len() + all.dropped.len(), packets.len());
            prop_assert!(all.delivered.is_sorted_by_key(|delivery| delivery.due));
            let mut seldom = link();
            prop_assert_eq!(&all, &run(&mut seldom, &packets, |number| looks[number]));
            let end = all.delivered.last().map_or(Time::ZERO, |delivery| delivery.due);
            let usage = seldom.usage(end);
            if all.dropped_later == 0 && seldom.counters().pushed_out == 0 {
                let waits: u128 = all.delivered.iter().map(|delivery| u128::from(delivery.waited_ns)).sum();
                // A packet that waits for tokens has left the queue.
                prop_assert!(usage.queue_packet_ns <= waits);
                prop_assert!(conditions.shaper.is_some() || usage.queue_packet_ns == waits);
            }
        }
    }

    #[test]
    fn jitter_delays_within_its_bound_and_changes_nothing_else(packets in packets(), seed: u64, size in 0u64..30_000_000) {
        let size = Duration::from_nanos(size);
        for config in every_discipline() {
            let without = run(&mut link(&config, seed, Jitter::None), &packets, |_| true);
            let zero = run(&mut link(&config, seed, Jitter::Uniform(Duration::ZERO)), &packets, |_| true);
            prop_assert_eq!(&without, &zero);
            let with = run(&mut link(&config, seed, Jitter::Uniform(size)), &packets, |_| true);
            prop_assert_eq!(without.dropped, with.dropped);
            prop_assert_eq!(without.delivered.len(), with.delivered.len());
            for (without, with) in without.delivered.iter().zip(&with.delivered) {
                prop_assert_eq!(without.packet, with.packet);
                prop_assert!(without.due <= with.due && with.due <= without.due + size);
            }
        }
    }

    #[test]
    fn the_queue_integrated_over_time_is_the_sum_of_the_waits(packets in packets(), seed: u64) {
        for config in every_discipline() {
            let mut link = link(&config, seed, Jitter::None);
            let outcome = run(&mut link, &packets, |_| true);
            let waits = |weight: fn(&Marked) -> u128| -> u128 {
                outcome.delivered.iter().map(|delivery| u128::from(delivery.waited_ns) * weight(&delivery.packet)).sum()
            };
            let end = outcome.delivered.last().map_or(Time::ZERO, |delivery| delivery.due);
            let usage = link.usage(end);
            if link.counters().pushed_out == 0 && outcome.dropped_later == 0 {
                prop_assert_eq!(usage.queue_packet_ns, waits(|_| 1));
                prop_assert_eq!(usage.queue_byte_ns, waits(|packet| packet.length as u128));
            } else {
                // Packets pushed out or dropped by CoDel have waited as well.
                prop_assert!(usage.queue_packet_ns >= waits(|_| 1));
                prop_assert!(usage.queue_byte_ns >= waits(|packet| packet.length as u128));
            }
            // At 8 Mb/s a byte takes 1000 ns.
            let bytes = link.counters().delivered_bytes;
            prop_assert_eq!(usage.busy, Duration::from_nanos(bytes * 1000));
        }
    }
}

#[test]
fn usage_is_that_of_the_time_asked_about() {
    let mut link = link(
        &DisciplineConfig::drop_tail("9p".parse().unwrap()),
        1,
        Jitter::None,
    );
    // Three packets of 1 ms each: two wait for 1 and 2 ms.
    for number in 0..3 {
        link.offer(Time::from_millis(1), Marked::new(number))
            .unwrap();
    }
    let start = link.usage(Time::from_millis(1));
    assert_eq!(start.busy, Duration::ZERO);
    let early = link.usage(Time::from_nanos(1_500_000));
    assert_eq!(early.busy, Duration::from_micros(500));
    assert_eq!(early.queue_packet_ns, 1_000_000);
    assert_eq!(early.mean_packets_since(&start), 2.0);
    let end = link.usage(Time::from_millis(7));
    assert_eq!(end.busy, Duration::from_millis(3));
    assert_eq!(end.queue_packet_ns, 3_000_000);
    assert_eq!(end.queue_byte_ns, 3_000_000_000);
    assert_eq!(end.utilisation_since(&start), 0.5);
    assert_eq!(end.mean_packets_since(&start), 0.5);
    assert_eq!(end.mean_bytes_since(&start), 500.0);
}

#[test]
fn a_description_reads_back_as_the_same_and_names_its_fields() {
    for config in every_discipline() {
        let text = serde_json::to_string(&config).unwrap();
        assert!(text.contains(config.name()), "{text}");
        let read: DisciplineConfig = serde_json::from_str(&text).unwrap();
        assert_eq!(read, config);
    }
    let red = r#"{"discipline": "red", "limit": "2.5bdp", "min_threshold": "5ms", "max_threshold": "10ms"}"#;
    assert!(serde_json::from_str::<DisciplineConfig>(red).is_ok());
    let misspelt = red.replace("min_threshold", "min_treshold");
    let error = serde_json::from_str::<DisciplineConfig>(&misspelt).unwrap_err();
    assert!(error.to_string().contains("min_treshold"), "{error}");
}

#[test]
fn thresholds_of_red_may_be_the_limit_itself() {
    for limit in ["10p", "15kB", "7ms", "1bdp"] {
        let json = format!(
            r#"{{"discipline":"red","limit":"{limit}","min_threshold":"100%","max_threshold":"100%"}}"#
        );
        let config: DisciplineConfig = serde_json::from_str(&json).unwrap();
        Discipline::<Marked>::new(&config, &context(), 1).unwrap();
    }
    let json = r#"{"discipline":"red","limit":"7ms","min_threshold":"7ms","max_threshold":"7ms"}"#;
    let config: DisciplineConfig = serde_json::from_str(json).unwrap();
    Discipline::<Marked>::new(&config, &context(), 1).unwrap();
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |json: &str, context: &netnice_queue::DisciplineContext| {
        let config: DisciplineConfig = serde_json::from_str(json).unwrap();
        Discipline::<Marked>::new(&config, context, 1)
            .unwrap_err()
            .to_string()
    };
    let no_rate = netnice_queue::DisciplineContext {
        rate: None,
        ..context()
    };
    for (json, context, text) in [
        (
            r#"{"discipline":"drop_tail","limit":"50ms"}"#,
            no_rate,
            "rate",
        ),
        (
            r#"{"discipline":"red","limit":"9p","min_threshold":"5p","max_threshold":"4p"}"#,
            context(),
            "min_threshold",
        ),
        (
            r#"{"discipline":"red","limit":"9p","min_threshold":"5p","max_threshold":"6p","weight":0.0}"#,
            context(),
            "weight",
        ),
        (
            r#"{"discipline":"red","limit":"10p","min_threshold":"20p","max_threshold":"30p"}"#,
            context(),
            "min_threshold (20) is above the limit (10)",
        ),
        (
            r#"{"discipline":"red","limit":"10p","min_threshold":"5p","max_threshold":"11p","adaptive":true}"#,
            context(),
            "max_threshold (11) is above the limit (10)",
        ),
        (
            r#"{"discipline":"rio","limit":"60p","in":{"min_threshold":"40p","max_threshold":"70p","max_probability":"2%"},"out":{"min_threshold":"10p","max_threshold":"30p","max_probability":"10%"}}"#,
            context(),
            "in.max_threshold (70) is above the limit (60)",
        ),
        (
            r#"{"discipline":"red","limit":"20ms","min_threshold":"41ms","max_threshold":"50ms","count_in":"bytes"}"#,
            context(),
            "above the limit",
        ),
        (
            r#"{"discipline":"sfq","limit":"9p","buckets":0}"#,
            context(),
            "buckets",
        ),
        (
            r#"{"discipline":"sfq","limit":"9p","buckets":65537}"#,
            context(),
            "buckets",
        ),
        (
            r#"{"discipline":"priority","limit":"9p","quantum":"0B"}"#,
            context(),
            "quantum",
        ),
    ] {
        let error = refused(json, &context);
        assert!(error.contains(text), "{json}: {error}");
    }
}

#[test]
fn defaults_are_those_of_a_file_with_a_limit_alone() {
    let limit = QueueLimit::Packets(7);
    for name in DisciplineConfig::NAMES {
        let text = format!(r#"{{ "discipline": "{name}", "limit": "7p" }}"#);
        let of_file: Option<DisciplineConfig> = serde_json::from_str(&text).ok();
        assert_eq!(DisciplineConfig::with_defaults(name, Some(limit)), of_file);
        let needs_more = ["red", "rio", "weighted_drr"].contains(name);
        assert_eq!(of_file.is_none(), needs_more, "{name}");
    }
    let own = |name| DisciplineConfig::with_defaults(name, None).map(|config| config.limit());
    assert_eq!(own("fq_codel"), Some(QueueLimit::Packets(10_240)));
    assert_eq!(own("drop_tail"), None);
    assert_eq!(own("fifo"), None);
}
