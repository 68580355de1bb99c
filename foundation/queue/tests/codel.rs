// SPDX-License-Identifier: MIT OR Apache-2.0
//! CoDel and FQ-CoDel against figures worked by hand from RFC 8289 and RFC 8290.

mod common;

use std::time::Duration;

use common::{Marked, context, queue};
use netnice_queue::{
    Bytes, CodelConfig, Discipline, DisciplineConfig, DropCause, FqCodelConfig, QueueDiscipline,
    QueueLimit, Time,
};

type Queue = Discipline<Marked>;

fn codel(ecn: bool) -> Queue {
    queue(&DisciplineConfig::Codel(CodelConfig {
        ecn,
        ..CodelConfig::new(QueueLimit::Packets(2000))
    }))
}

fn fill(queue: &mut Queue, ms: u64, packets: usize, ecn: bool) {
    for number in 0..packets {
        let packet = Marked {
            ecn,
            ..Marked::new(number)
        };
        queue.enqueue(Time::from_millis(ms), packet).unwrap();
    }
}

/// Dequeues a packet each millisecond, and returns the milliseconds at which packets were dropped and marked.
fn signals(queue: &mut Queue, ms: std::ops::Range<u64>) -> (Vec<u64>, Vec<u64>) {
    let (mut drops, mut marks) = (Vec::new(), Vec::new());
    for now in ms {
        let packet = queue.dequeue(Time::from_millis(now)).unwrap();
        if packet.congestion_experienced {
            marks.push(now);
        }
        while let Some(dropped) = queue.take_dropped() {
            assert_eq!(dropped.cause, DropCause::EarlyDrop);
            drops.push(now);
        }
    }
    (drops, marks)
}

/// All packets arrive at 0, so at n ms a packet has waited for n ms: above the target of 5 ms from 5 ms on, for an
/// interval at 105 ms. The next drops follow after 100 / sqrt(count) ms: at 205, 275.7, 333.4, 383.4 and 428.2.
const TIMES: [u64; 6] = [105, 205, 276, 334, 384, 429];

#[test]
fn codel_drops_at_the_times_of_its_control_law() {
    let mut queue = codel(false);
    fill(&mut queue, 0, 600, true);
    assert_eq!(signals(&mut queue, 1..440), (TIMES.to_vec(), vec![]));
    assert_eq!(queue.packets(), 600 - 439 - 6);
    assert_eq!(queue.bytes(), 155_000);
    assert_eq!(queue.marks(), 0);
}

#[test]
fn codel_marks_at_the_same_times() {
    let mut queue = codel(true);
    fill(&mut queue, 0, 600, true);
    assert_eq!(signals(&mut queue, 1..440), (vec![], TIMES.to_vec()));
    assert_eq!(queue.marks(), 6);
    // Other packets are dropped.
    let mut queue = codel(true);
    fill(&mut queue, 0, 600, false);
    assert_eq!(signals(&mut queue, 1..440), (TIMES.to_vec(), vec![]));
}

#[test]
fn codel_resumes_the_drop_rate_of_16_intervals_ago() {
    for (again, second) in [
        // 6 drops, the first of them not counted: 100 / sqrt(5) ms = 44.7, then 40.8.
        (500, vec![605, 650, 691]),
        // More than 1600 ms after the drop that was due at 469 ms the count begins with 1.
        (2100, vec![2205, 2305]),
    ] {
        let mut queue = codel(false);
        fill(&mut queue, 0, 600, false);
        assert_eq!(signals(&mut queue, 1..430).0, TIMES);
        while queue.dequeue(Time::from_millis(430)).is_some() {}
        assert!(queue.take_dropped().is_none());
        fill(&mut queue, again, 600, false);
        assert_eq!(signals(&mut queue, again + 1..again + 210).0, second);
    }
}

#[test]
fn codel_never_drops_the_last_full_packet() {
    let mut queue = codel(false);
    for ms in (0..10_000).step_by(10) {
        // One packet waits behind the one that leaves.
        fill(&mut queue, ms, 1, false);
        if ms >= 10 {
            assert!(queue.dequeue(Time::from_millis(ms)).is_some());
        }
        assert!(queue.take_dropped().is_none());
    }
}

fn fq_codel(quantum: u64, limit: u32) -> Queue {
    queue(&DisciplineConfig::FqCodel(FqCodelConfig {
        quantum: Bytes::new(quantum),
        ..FqCodelConfig::new(QueueLimit::Packets(limit))
    }))
}

fn send(queue: &mut Queue, flow: u64, numbers: std::ops::Range<usize>, length: usize) {
    for number in numbers {
        let packet = Marked {
            flow,
            length,
            ..Marked::new(number)
        };
        queue.enqueue(Time::ZERO, packet).unwrap();
    }
}

fn next(queue: &mut Queue) -> (u64, usize) {
    let packet = queue.dequeue(Time::ZERO).unwrap();
    (packet.flow, packet.number)
}

#[test]
fn fq_codel_serves_new_flows_first() {
    let mut queue = fq_codel(1000, 1000);
    send(&mut queue, 1, 0..10, 1000);
    assert_eq!([next(&mut queue), next(&mut queue)], [(1, 0), (1, 1)]);
    // A sparse flow overtakes the backlog; it has sent no more than a quantum.
    send(&mut queue, 2, 0..1, 1000);
    assert_eq!(next(&mut queue), (2, 0));
    // Two backlogged flows alternate. Flow 1 has used up its credits, so it is flow 2's turn.
    send(&mut queue, 2, 1..4, 1000);
    let order: Vec<u64> = (0..6).map(|_| next(&mut queue).0).collect();
    assert_eq!(order, [2, 1, 2, 1, 2, 1]);
}

#[test]
fn fq_codel_gives_flows_equal_bytes() {
    let mut queue = fq_codel(1500, 1000);
    send(&mut queue, 1, 0..100, 1500);
    send(&mut queue, 2, 0..300, 500);
    let mut bytes = [0; 3];
    for _ in 0..200 {
        let packet = queue.dequeue(Time::ZERO).unwrap();
        bytes[packet.flow as usize] += packet.length;
    }
    assert_eq!(bytes, [0, 75_000, 75_000]);
}

#[test]
fn fq_codel_lets_an_emptied_new_flow_wait_a_round() {
    let mut queue = fq_codel(2000, 1000);
    send(&mut queue, 1, 0..10, 1000);
    assert_eq!(next(&mut queue), (1, 0));
    send(&mut queue, 2, 0..1, 100);
    assert_eq!([next(&mut queue), next(&mut queue)], [(1, 1), (2, 0)]);
    // Flow 2 is found empty among the new and goes to the old; flow 1 has another quantum.
    assert_eq!(next(&mut queue), (1, 2));
    // Unlike flow 3, flow 2 is not new again: flow 1 sends the rest of its quantum first.
    send(&mut queue, 2, 1..2, 100);
    send(&mut queue, 3, 0..1, 100);
    let order: Vec<_> = (0..3).map(|_| next(&mut queue)).collect();
    assert_eq!(order, [(3, 0), (1, 3), (2, 1)]);
}

#[test]
fn a_full_fq_codel_queue_drops_half_of_the_largest_flow() {
    let mut queue = fq_codel(1000, 10);
    send(&mut queue, 1, 0..8, 500);
    send(&mut queue, 2, 0..2, 1500);
    assert!(queue.take_dropped().is_none());
    // The eleventh packet: flow 1 has 4000 bytes, flow 2 has 3000, flow 3 has 1000.
    send(&mut queue, 3, 0..1, 1000);
    let dropped: Vec<_> = std::iter::from_fn(|| queue.take_dropped()).collect();
    let numbers: Vec<usize> = dropped
        .iter()
        .map(|dropped| dropped.packet.number)
        .collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
    assert!(
        dropped
            .iter()
            .all(|dropped| dropped.packet.flow == 1 && dropped.cause == DropCause::PushedOut)
    );
    assert_eq!((queue.packets(), queue.bytes()), (7, 6000));
}

/// Packets that are dropped in a second of two flows, of which each has one full packet behind the one that leaves.
fn dropped_with_one_behind(linux: bool) -> usize {
    let mut queue: Queue = queue(&DisciplineConfig::FqCodel(FqCodelConfig {
        quantum: Bytes::new(1000),
        linux,
        ..FqCodelConfig::new(QueueLimit::Packets(1000))
    }));
    let push = |queue: &mut Queue, ms: u64, flow: u64| {
        let packet = Marked {
            flow,
            length: 1000,
            ..Marked::new(ms as usize)
        };
        queue.enqueue(Time::from_millis(ms), packet).unwrap();
    };
    for flow in [1, 2, 1, 2] {
        push(&mut queue, 0, flow);
    }
    let mut dropped = 0;
    for ms in (10..1000).step_by(10) {
        assert!(queue.dequeue(Time::from_millis(ms)).is_some());
        push(&mut queue, ms, 1 + (ms / 10 + 1) % 2);
        dropped += std::iter::from_fn(|| queue.take_dropped()).count();
    }
    dropped
}

#[test]
fn linux_counts_the_bytes_of_all_flow_queues() {
    // A packet waits for 40 ms, but RFC 8289 spares a queue of one packet.
    assert_eq!(dropped_with_one_behind(false), 0);
    assert!(dropped_with_one_behind(true) > 0);
}

#[test]
fn a_target_must_be_below_the_interval() {
    let config = DisciplineConfig::Codel(CodelConfig {
        target: Duration::from_millis(100),
        ..CodelConfig::new(QueueLimit::Packets(10))
    });
    let error = Queue::new(&config, &context(), 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "target (100ms) is not below interval (100ms); it must be, and 5 to 10 % of it is usual"
    );
}
