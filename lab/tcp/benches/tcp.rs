// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cost of a data segment at its two ends: sent, received, acknowledged, the ACK handled. No links, no events.

#![allow(
    missing_docs,
    reason = "criterion_group! makes a public function without"
)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use netnice_congestion::congestion_control::{Ack, Congestion, CongestionControl, Window};
use netnice_queue::Time;
use netnice_tcp::{Mark, Receiver, ReceiverConfig, Recovery, Segment, Sender, SenderConfig};

/// Holds the window still, so that only the ends are measured.
#[derive(Debug)]
struct Still;

impl CongestionControl for Still {
    fn name(&self) -> &'static str {
        "still"
    }
    fn on_ack(&mut self, _: &Ack, _: &mut Window) {}
    fn on_loss(&mut self, _: &Congestion, window: &mut Window) {
        window.ssthresh = window.cwnd;
    }
    fn on_timeout(&mut self, _: &Congestion, _: &mut Window) {}
}

const WINDOW: u32 = 100;

/// A window at a time goes back and forth; every `loss_every`th segment is lost.
fn exchange(sender: &mut Sender, receiver: &mut Receiver, segments: u64, loss_every: u64) {
    let mut now_ns = 0;
    let mut sent = 0;
    let mut window: Vec<Segment> = Vec::with_capacity(2 * WINDOW as usize);
    let mut acks: Vec<Segment> = Vec::with_capacity(2 * WINDOW as usize);
    while sent < segments {
        now_ns += 50_000_000;
        let now = Time::from_nanos(now_ns);
        for segment in window.drain(..) {
            receiver.on_segment(now, &segment, Mark::NONE);
            if let Some(ack) = receiver.poll_transmit(now) {
                acks.push(ack);
            }
        }
        now_ns += 50_000_000;
        let now = Time::from_nanos(now_ns);
        let mut send = |sender: &mut Sender| {
            while let Some(segment) = sender.poll_transmit(now) {
                sent += 1;
                if loss_every == 0 || sent % loss_every != 0 {
                    window.push(segment);
                }
            }
        };
        for ack in acks.drain(..) {
            sender.on_segment(now, &ack);
            send(sender);
        }
        if receiver.next_timer().is_some_and(|timer| timer <= now) {
            receiver.on_timer(now);
            acks.extend(receiver.poll_transmit(now));
        }
        if sender.next_timer().is_some_and(|timer| timer <= now) {
            sender.on_timer(now);
        }
        send(sender);
    }
}

fn ends(criterion: &mut Criterion) {
    const SEGMENTS: u64 = 20_000;
    let mut group = criterion.benchmark_group("tcp");
    group.throughput(Throughput::Elements(SEGMENTS));
    let plain = SenderConfig {
        handshake: false,
        initial_window: WINDOW,
        ..SenderConfig::ns2(1000)
    };
    let modern = SenderConfig {
        handshake: false,
        initial_window: WINDOW,
        recovery: Recovery::Sack,
        ..SenderConfig::default()
    };
    let sink = ReceiverConfig {
        handshake: false,
        ..ReceiverConfig::ns2()
    };
    let linux = ReceiverConfig {
        handshake: false,
        ..ReceiverConfig::default()
    };
    for (name, sender, receiver, loss_every) in [
        ("reno, an ACK for each", plain, sink, 0),
        ("sack, delayed ACKs, timestamps", modern, linux, 0),
        ("sack, one in 1000 lost", modern, linux, 1000),
        ("sack, one in 50 lost", modern, linux, 50),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut sender = Sender::new(sender, Box::new(Still));
                let mut receiver = Receiver::new(receiver);
                sender.supply_unlimited();
                sender.open(Time::ZERO);
                exchange(&mut sender, &mut receiver, SEGMENTS, loss_every);
                black_box((sender.statistics(), receiver.goodput_bytes()))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, ends);
criterion_main!(benches);
