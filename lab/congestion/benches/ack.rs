// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time that each control takes for an ACK, called through the box as by a sender.

#![allow(missing_docs)] // criterion_group! makes a public function

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use netnice_congestion::congestion_control::{Ack, CaState, Window};
use netnice_congestion::registry;
use netnice_parameters::ControlParameters;

/// ACKs per measurement: ten round trips of 100 packets.
const ACKS: u64 = 1000;

fn acks(c: &mut Criterion) {
    let mut group = c.benchmark_group("ack");
    group.throughput(Throughput::Elements(ACKS));
    for name in registry::names() {
        let mut parameters = ControlParameters::new();
        if *name == "dstcp" {
            parameters.set("target_rate_bps", 2e6);
        }
        let mut control = registry::create(name, &parameters).expect("the parameters are allowed");
        let mut number = 0u64;
        group.bench_function(*name, |bencher| {
            bencher.iter(|| {
                let mut window = Window {
                    cwnd: 100.0,
                    ssthresh: 50.0,
                };
                for _ in 0..ACKS {
                    number += 1;
                    let now_ns = 1_000_000_000 + number * 500_000;
                    // The queueing delay varies by up to a millisecond.
                    let rtt_ns = 50_000_000 + number % 64 * 16_000;
                    control.on_ack(
                        &Ack {
                            now_ns,
                            rtt_ns: Some(rtt_ns),
                            smoothed_rtt_ns: 50_500_000,
                            min_rtt_ns: 50_000_000,
                            tsval: Some((now_ns / 1_000_000) as u32),
                            tsecr: Some(((now_ns - rtt_ns) / 1_000_000) as u32),
                            acked: 1,
                            newly_lost: 0,
                            in_flight: 99,
                            delivered: number,
                            prior_delivered: number.saturating_sub(100),
                            rate_delivered: 100,
                            rate_interval_ns: rtt_ns,
                            ca_state: CaState::Open,
                            may_grow: true,
                            cwnd_limited: true,
                            app_limited: false,
                            ..Ack::default()
                        },
                        &mut window,
                    );
                }
                black_box(window)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, acks);
criterion_main!(benches);
