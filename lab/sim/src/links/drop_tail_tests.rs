// SPDX-License-Identifier: MIT OR Apache-2.0
//! The link that computes departures on arrival, compared with the one that keeps its packets.

use netnice_queue::{
    Bytes, CountIn, Discipline, DisciplineConfig, DisciplineContext, DropTail, EcnMode, Link,
    Packet, QueueLimit, Queued, Red, RedConfig, Threshold,
};
use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Numbered {
    number: usize,
    length: usize,
    marked: bool,
}

impl Packet for Numbered {
    fn length(&self) -> usize {
        self.length
    }

    fn ecn_capable(&self) -> bool {
        self.number % 2 == 0
    }

    fn mark_congestion_experienced(&mut self) {
        self.marked = true;
    }
}

/// A packet that comes out: when, what, and how long it waited.
type Out = (Time, Numbered, u64);

/// Both kinds of link with the same traffic.
struct Both {
    kept: Link<Numbered, Discipline<Queued<Numbered>>>,
    computed: DropTailLink,
    properties: LinkProperties,
    /// Packets that `computed` has accepted and that have not come out.
    under_way: VecDeque<Out>,
    /// The latest departure that `computed` returned last.
    latest: Time,
}

/// Bytes of the longest packet.
const LONGEST: u32 = 1600;

impl Both {
    fn new(config: &LinkConfig, bound: QueueBound, jitter: Jitter) -> Both {
        let longest_ns = (!jitter.is_none()).then(|| jitter.longest_ns());
        let mut properties = LinkProperties::new(config.rate, config.delay, bound, longest_ns);
        properties.set_longest(LONGEST);
        Both {
            kept: Link::new(config.clone(), Discipline::DropTail(DropTail::new(bound)))
                .with_jitter(jitter),
            computed: DropTailLink::new(0, config, jitter),
            properties,
            under_way: VecDeque::new(),
            latest: Time::ZERO,
        }
    }

    /// The same with RED.
    fn of_red(config: &LinkConfig, red: &RedConfig, jitter: Jitter) -> Both {
        let context = DisciplineContext {
            rate: config.rate,
            delay: config.delay,
            base_rtt: 2 * config.delay,
            packet_size: Bytes::new(1000),
        };
        let queue: Red<Numbered> = Red::from_config(red, &context, config.seed).unwrap();
        let both = Both::new(config, queue.bound(), jitter);
        let red = DisciplineConfig::Red(red.clone());
        let discipline = Discipline::new(&red, &context, config.seed).unwrap();
        Both {
            kept: Link::new(config.clone(), discipline).with_jitter(jitter),
            computed: both.computed.with_red(queue.into_admission()),
            ..both
        }
    }

    fn offer(&mut self, now: Time, mut packet: Numbered) -> Result<(), TestCaseError> {
        let arrived = packet;
        let latest = self.computed.latest_departure(&self.properties, now);
        prop_assert!(latest >= self.latest);
        self.latest = latest;
        let admitted = match self.computed.is_red() {
            true => self.computed.admit(&self.properties, now, packet),
            false => Ok(packet),
        };
        let computed = admitted.and_then(|admitted| {
            packet = admitted;
            self.computed
                .offer(&mut self.properties, now, packet.length as u32)
        });
        if let Ok(departure) = computed {
            prop_assert!(departure.due <= latest, "{:?}, not {:?}", departure, latest);
            let longest_ns = self.properties.longest_stay_ns();
            prop_assert!(
                departure.due <= now.plus_nanos(longest_ns),
                "{longest_ns} ns"
            );
        }
        let kept = self.kept.offer(now, arrived);
        prop_assert_eq!(
            computed.err(),
            kept.err().map(|dropped| dropped.cause),
            "packet {}",
            packet.number
        );
        if let Ok(departure) = computed {
            self.under_way
                .push_back((departure.due, packet, departure.waited_ns));
        }
        Ok(())
    }

    /// Everything due by `now` comes out of both.
    fn deliver(&mut self, now: Time) -> Result<(), TestCaseError> {
        while let Some(kept) = self.kept.deliver(now) {
            let computed = self.under_way.pop_front();
            prop_assert_eq!(Some((kept.due, kept.packet, kept.waited_ns)), computed);
        }
        let left = self.under_way.front();
        prop_assert!(left.is_none_or(|&(due, ..)| due > now), "{:?}", left);
        Ok(())
    }

    /// Counters, usage and queue are the same.
    fn compare(&mut self, now: Time) -> Result<(), TestCaseError> {
        let bytes = self.under_way.iter().map(|out| out.1.length as u64).sum();
        let inside = (self.under_way.len() as u64, bytes);
        prop_assert_eq!(self.kept.inside() as u64, inside.0);
        prop_assert_eq!(self.kept.usage(now), self.computed.usage(now));
        prop_assert_eq!(
            (self.kept.queue_packets(now), self.kept.queue_bytes(now)),
            self.computed.queue(now)
        );
        let (mut kept, mut computed) = (self.kept.counters(), self.computed.counters(inside));
        if self.kept.queue_packets(now) > 0 {
            // The plain link counts a wait at its end.
            prop_assert!(kept.max_queue_wait <= computed.max_queue_wait);
            kept.max_queue_wait = Duration::ZERO;
            computed.max_queue_wait = Duration::ZERO;
        }
        prop_assert_eq!(kept, computed);
        Ok(())
    }
}

fn rates() -> impl Strategy<Value = Option<Rate>> {
    /// The last sends hardly a packet in a whole number of nanoseconds.
    const RATES: [&str; 5] = ["1mbit", "10mbit", "100mbit", "10gbit", "7mbit"];
    prop_oneof![
        Just(None),
        prop::sample::select(&RATES[..]).prop_map(|rate| Some(rate.parse().unwrap())),
    ]
}

fn bounds() -> impl Strategy<Value = QueueBound> {
    prop_oneof![
        (0usize..12).prop_map(QueueBound::Packets),
        (0u64..12_000).prop_map(QueueBound::Bytes),
    ]
}

fn jitter() -> impl Strategy<Value = Jitter> {
    let size = Duration::from_micros(300);
    let early = "20%".parse().unwrap();
    prop_oneof![
        2 => Just(Jitter::None),
        1 => Just(Jitter::Uniform(size)),
        1 => Just(Jitter::Exponential(size)),
        1 => Just(Jitter::Pareto(size)),
        1 => Just(Jitter::NetemPareto(size)),
        1 => Just(Jitter::Early(size, early)),
    ]
}

fn red() -> impl Strategy<Value = RedConfig> {
    let limit = prop_oneof![
        (1u32..30).prop_map(QueueLimit::Packets),
        (1000u64..30_000).prop_map(|bytes| QueueLimit::Bytes(Bytes::new(bytes))),
    ];
    const MODES: [EcnMode; 3] = [EcnMode::Off, EcnMode::Mark, EcnMode::MarkAlways];
    let ecn = prop::sample::select(&MODES[..]);
    (limit, ecn, any::<[bool; 4]>(), 0.01..1.0).prop_map(
        |(limit, ecn, [gentle, wait, in_bytes, adaptive], weight)| RedConfig {
            gentle,
            wait,
            ecn,
            adaptive,
            weight: Some(weight),
            count_in: match in_bytes {
                true => CountIn::Bytes,
                false => CountIn::Packets,
            },
            ..RedConfig::new(limit, Threshold::OfLimit(0.1), Threshold::OfLimit(0.5))
        },
    )
}

/// The traffic of `arrivals`: how long after the one before each packet arrives, in units of its own, and its length.
fn compare_all(
    mut both: Both,
    arrivals: Vec<(u64, u64, usize)>,
) -> Result<LinkCounters, TestCaseError> {
    let mut now = 0;
    for (number, (scale, later, length)) in arrivals.into_iter().enumerate() {
        // None, or within nanoseconds, microseconds or milliseconds.
        now += [0, later, later * 1_000, later * 100_000][scale as usize];
        let time = Time::from_nanos(now);
        both.deliver(time)?;
        let marked = false;
        both.offer(
            time,
            Numbered {
                number,
                length,
                marked,
            },
        )?;
        both.compare(time)?;
    }
    while let Some(&(due, ..)) = both.under_way.front() {
        both.deliver(due)?;
        both.compare(due)?;
    }
    prop_assert_eq!(both.kept.inside(), 0);
    Ok(both.kept.counters())
}

#[test]
fn red_drops_early_marks_and_overflows() {
    // 1500 bytes take 1.2 ms, and one comes each millisecond.
    let config = LinkConfig {
        rate: Some("10mbit".parse().unwrap()),
        ..LinkConfig::default()
    };
    let arrivals = vec![(3, 10, 1500); 500];
    let counters = |weight, ecn| {
        let (min, max) = (Threshold::Packets(2.0), Threshold::Packets(10.0));
        let red = RedConfig {
            weight: Some(weight),
            ecn,
            ..RedConfig::new(QueueLimit::Packets(20), min, max)
        };
        compare_all(Both::of_red(&config, &red, Jitter::None), arrivals.clone()).unwrap()
    };
    let (fast, slow) = (
        counters(0.5, EcnMode::MarkAlways),
        counters(0.001, EcnMode::Off),
    );
    assert!(fast.early_drop > 10 && fast.marked > 10, "{fast:?}");
    assert!(slow.queue_full > 10, "{slow:?}");
}

proptest! {
    #[test]
    fn departures_of_red_are_those_of_the_plain_link(
        rate in prop::sample::select(vec!["1mbit", "10mbit", "7mbit"]),
        red in red(),
        jitter in jitter(),
        seed in any::<u64>(),
        arrivals in prop::collection::vec((0u64..4, 0u64..2_000, 1usize..1600), 1..200),
    ) {
        let config = LinkConfig {
            rate: Some(rate.parse().unwrap()),
            delay: Duration::from_millis(3),
            seed,
            ..LinkConfig::default()
        };
        compare_all(Both::of_red(&config, &red, jitter), arrivals)?;
    }

    #[test]
    fn departures_are_those_of_the_plain_link(
        rate in rates(),
        bound in bounds(),
        delay_us in prop_oneof![Just(0u64), 0u64..5_000],
        loss in prop::sample::select(vec!["0%", "0%", "30%"]),
        jitter in jitter(),
        seed in any::<u64>(),
        arrivals in prop::collection::vec((0u64..4, 0u64..2_000, 1usize..1600), 1..200),
    ) {
        let config = LinkConfig {
            rate,
            delay: Duration::from_micros(delay_us),
            loss: loss.parse().unwrap(),
            seed,
        };
        compare_all(Both::new(&config, bound, jitter), arrivals)?;
    }
}

#[test]
fn departures_by_hand() {
    // 12 Mb/s sends 1500 bytes in 1 ms; one packet may wait.
    let config = LinkConfig {
        rate: Some("12mbit".parse().unwrap()),
        delay: Duration::from_millis(20),
        ..LinkConfig::default()
    };
    let mut properties =
        LinkProperties::new(config.rate, config.delay, QueueBound::Packets(1), None);
    properties.set_longest(1500);
    // One is sent, one waits, and the packet is sent itself; 2 ns each for what is rounded off.
    assert_eq!(properties.longest_stay_ns(), 23_000_006);
    let mut link = DropTailLink::new(0, &config, Jitter::None);
    let begin = Time::from_millis(5);
    let mut offer = |now, length| link.offer(&mut properties, now, length);
    let first = offer(begin, 1500).unwrap();
    assert_eq!((first.due, first.waited_ns), (Time::from_millis(26), 0));
    let second = offer(begin, 1500).unwrap();
    assert_eq!(
        (second.due, second.waited_ns),
        (Time::from_millis(27), 1_000_000)
    );
    assert_eq!(offer(begin, 1500), Err(DropCause::QueueFull));
    let counters = link.counters((2, 3000));
    assert_eq!((counters.offered, counters.delivered), (3, 0));
    assert_eq!((counters.queue_full, counters.max_queue_packets), (1, 1));
    let usage = link.usage(Time::from_millis(6));
    assert_eq!(usage.busy, Duration::from_millis(1));
    assert_eq!(usage.queue_packet_ns, 1_000_000);
    assert_eq!(link.queue(Time::from_millis(6)), (0, 0));
}
