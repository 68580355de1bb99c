// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cost of a packet on its way over a link, queueing included: `cargo bench -p netnice-queue`.

#![allow(
    missing_docs,
    reason = "criterion_group! makes a public function without"
)]

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use netnice_queue::{
    Discipline, DisciplineConfig, DisciplineContext, Link, LinkConfig, Packet, PriorityConfig,
    QueueLimit, Queued, RedConfig, SfqConfig, Threshold, Time,
};

/// A packet as large as a simulator's whose header is stored elsewhere (16 bytes), or with its TCP header (64 bytes).
#[derive(Debug, Clone, Copy)]
struct Segment<const WORDS: usize> {
    header: [u64; WORDS],
    flow: u32,
    length: u32,
}

impl<const WORDS: usize> Packet for Segment<WORDS> {
    fn length(&self) -> usize {
        self.length as usize
    }

    fn flow(&self) -> u64 {
        u64::from(self.flow)
    }

    fn class(&self) -> u8 {
        (self.flow & 1) as u8
    }
}

type TestLink<const WORDS: usize> = Link<Segment<WORDS>, Discipline<Queued<Segment<WORDS>>>>;

fn link<const WORDS: usize>(config: &DisciplineConfig) -> TestLink<WORDS> {
    let rate = Some("100mbit".parse().expect("a rate"));
    let delay = Duration::from_millis(1);
    let context = DisciplineContext {
        rate,
        delay,
        base_rtt: 2 * delay,
        packet_size: "1000B".parse().expect("a size"),
    };
    let discipline = Discipline::new(config, &context, 1).expect("a discipline");
    let config = LinkConfig {
        rate,
        delay,
        ..LinkConfig::default()
    };
    Link::new(config, discipline)
}

/// Sends `packets` packets of 1000 bytes (80 us at 100 Mb/s) and of 40, one every `gap`, driven as in a simulator: by
/// the next event, and by the next arrival.
fn drive<const WORDS: usize>(link: &mut TestLink<WORDS>, packets: u32, gap: Duration) -> u64 {
    let mut arrival = Time::ZERO;
    let mut sum = 0;
    for number in 0..packets {
        while let Some(next) = link.next_event().filter(|next| *next <= arrival) {
            while let Some(delivery) = link.deliver(next) {
                sum += delivery.packet.header[0];
            }
        }
        let segment = Segment {
            header: [u64::from(number); WORDS],
            flow: number & 7,
            length: 1000 - 960 * (number >> 3 & 1),
        };
        sum += u64::from(link.offer(arrival, segment).is_err());
        arrival = arrival + gap;
    }
    sum
}

fn traversal<const WORDS: usize>(c: &mut Criterion) {
    const PACKETS: u32 = 10_000;
    let limit = QueueLimit::Packets(50);
    let threshold = Threshold::Packets;
    let configs = [
        DisciplineConfig::drop_tail(limit),
        DisciplineConfig::Red(RedConfig::new(limit, threshold(10.0), threshold(30.0))),
        DisciplineConfig::Sfq(SfqConfig::new(limit)),
        DisciplineConfig::Priority(PriorityConfig::new(limit)),
    ];
    // The mean transmission time is 41.6 us.
    let loads = [
        ("idle", Duration::from_micros(100)),
        ("saturated", Duration::from_nanos(41_500)),
        ("overloaded", Duration::from_micros(30)),
    ];
    for (load, gap) in loads {
        let mut group = c.benchmark_group(format!("{load}, {} bytes", 8 * WORDS + 8));
        group.throughput(Throughput::Elements(u64::from(PACKETS)));
        for config in &configs {
            let name = BenchmarkId::from_parameter(config.name());
            group.bench_with_input(name, config, |b, config| {
                b.iter_batched_ref(
                    || link::<WORDS>(config),
                    |link| drive(link, PACKETS, gap),
                    criterion::BatchSize::SmallInput,
                );
            });
        }
    }
}

criterion_group!(benches, traversal::<1>, traversal::<7>);
criterion_main!(benches);
