// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small and closed receive windows, and the window that a receiver at low priority advertises.

use std::time::Duration;

use netnice_congestion::netnice_receiver::{Receiver as Policy, Segment as Leaving};
use netnice_congestion::receivers;
use netnice_parameters::ControlParameters;
use netnice_parameters::exchange::{Parameters, Phase};
use netnice_queue::Time;
use netnice_tcp::{
    DelayedAck, Flags, LowPriority, Mark, Receiver, ReceiverConfig, Segment, Sender, SenderConfig,
};

use crate::pipe::{ARRIVES, Fate, Pipe, PlainReno, Sent};

const MSS: u32 = 1000;

fn ms(time: u64) -> Time {
    Time::from_millis(time)
}

fn acknowledge(sender: &mut Sender, now: Time, next: u64, window: u32) {
    let ack = Segment {
        acknowledgement: next,
        flags: Flags::ACK,
        window,
        ..Segment::default()
    };
    sender.on_segment(now, &ack);
}

/// A sender of endless data that has sent ten packets, which are acknowledged after 100 ms, with a window of `window` bytes
/// after one of nine packets.
fn sender_with_window(window: u32) -> Sender {
    let config = SenderConfig {
        mss: MSS,
        handshake: false,
        timestamps: false,
        ..SenderConfig::default()
    };
    let mut sender = Sender::new(config, Box::new(PlainReno));
    sender.supply_unlimited();
    sender.open(ms(0));
    while sender.poll_transmit(ms(0)).is_some() {}
    acknowledge(&mut sender, ms(100), 1000, 9000);
    acknowledge(&mut sender, ms(100), 10_000, window);
    sender
}

#[test]
fn a_small_window_is_filled_after_each_rto_without_back_off() {
    let mut sender = sender_with_window(600);
    let mut now = ms(100);
    for number in 0..4 {
        assert_eq!(sender.poll_transmit(now), None);
        let due = sender.next_timer().expect("the persist timer runs");
        let wait = Duration::from_nanos(due.as_nanos() - now.as_nanos());
        let rto = sender.retransmission_timeout();
        assert_eq!(wait, rto.max(Duration::from_millis(200)));
        now = due;
        sender.on_timer(now);
        let part = sender.poll_transmit(now).expect("a part of a segment");
        assert_eq!((part.sequence, part.length), (10_000 + 600 * number, 600));
        assert_eq!(sender.poll_transmit(now), None);
        now = now + Duration::from_millis(100);
        acknowledge(&mut sender, now, part.sequence + 600, 600);
    }
    assert_eq!(sender.statistics().timeouts, 0);
}

#[test]
fn half_of_the_largest_window_is_filled_at_once() {
    let mut sender = sender_with_window(0);
    acknowledge(&mut sender, ms(100), 10_000, 499);
    assert_eq!(sender.poll_transmit(ms(100)), None);
    let config = SenderConfig {
        mss: MSS,
        handshake: false,
        ..SenderConfig::default()
    };
    let mut sender = Sender::new(config, Box::new(PlainReno));
    sender.supply_unlimited();
    sender.open(ms(0));
    while sender.poll_transmit(ms(0)).is_some() {}
    // No window has been larger.
    acknowledge(&mut sender, ms(100), 10_000, 400);
    let part = sender.poll_transmit(ms(100)).expect("a part of a segment");
    assert_eq!(part.length, 400);
}

#[test]
fn probes_of_a_closed_window_back_off() {
    let mut sender = sender_with_window(0);
    let mut now = ms(100);
    let mut waits = Vec::new();
    for _ in 0..5 {
        assert_eq!(sender.poll_transmit(now), None);
        let due = sender.next_timer().expect("the persist timer runs");
        waits.push(due.as_nanos() - now.as_nanos());
        now = due;
        sender.on_timer(now);
        let probe = sender.poll_transmit(now).expect("a probe");
        assert_eq!((probe.sequence, probe.length), (9999, 0));
        acknowledge(&mut sender, now, 10_000, 0);
    }
    for pair in waits.windows(2) {
        assert_eq!(pair[1], 2 * pair[0], "{waits:?}");
    }
    acknowledge(&mut sender, now, 10_000, 9000);
    let segment = sender.poll_transmit(now).expect("the window is open");
    assert_eq!((segment.sequence, segment.length), (10_000, MSS));
    // The timer is that of retransmissions again.
    let due = sender.next_timer().expect("a timer runs");
    sender.on_timer(due);
    assert_eq!(sender.statistics().timeouts, 1);
}

#[test]
fn a_receiver_answers_a_probe_of_its_window() {
    let mut receiver = Receiver::new(ReceiverConfig {
        handshake: false,
        delayed_ack: None,
        ..ReceiverConfig::default()
    });
    let data = Segment {
        length: 1000,
        flags: Flags::ACK,
        ..Segment::default()
    };
    receiver.on_segment(ms(1), &data, Mark::NONE);
    assert!(receiver.poll_transmit(ms(1)).is_some());
    let probe = Segment {
        sequence: 999,
        flags: Flags::ACK,
        ..Segment::default()
    };
    receiver.on_segment(ms(2), &probe, Mark::NONE);
    let ack = receiver.poll_transmit(ms(2)).expect("an ACK");
    assert_eq!(ack.acknowledgement, 1000);
}

const ONE_WAY_MS: u64 = 20;
/// Packets from this number on wait in a queue.
const QUEUE_FROM: usize = 400;

/// The queue that a packet waits in, if it is sent at this time: it grows by 30 ms in 400 ms, and shrinks again.
fn queue_ms(number: usize, sent_ms: u32) -> u64 {
    let part_ms = u64::from(sent_ms) % 800;
    match number {
        QUEUE_FROM.. => 60 + part_ms.min(800 - part_ms) * 30 / 400,
        _ => 0,
    }
}

/// A download at low priority, into whose path a queue comes that stays.
fn download(until: Time) -> Pipe<'static> {
    download_by("netnice", until)
}

/// The same with another control of the window.
fn download_by(receiver_control: &str, until: Time) -> Pipe<'static> {
    let sender = SenderConfig::default();
    let receiver = ReceiverConfig {
        window: 1 << 20,
        window_scale: 8,
        delayed_ack: Some(DelayedAck::default()),
        ..ReceiverConfig::default()
    };
    let wanted = LowPriority {
        control: receivers::wanted(receiver_control, &ControlParameters::new()).unwrap(),
        mss: sender.mss,
        shared: None,
        observer: None,
    };
    let mut pipe = Pipe::new(sender, receiver, ONE_WAY_MS).data_fate(|number, segment| {
        match queue_ms(number, segment.tsval) {
            0 => ARRIVES,
            queue_ms => Fate::Late(Duration::from_millis(queue_ms)),
        }
    });
    pipe.receiver = Receiver::at_low_priority(receiver, &wanted);
    pipe.sender.supply_unlimited();
    pipe.open();
    pipe.run(until);
    pipe
}

/// RFC 9840 section 4.1.1: an ACK takes back no more than what has arrived since the one before.
#[test]
fn a_window_never_shrinks_below_what_it_has_offered() {
    for name in receivers::names() {
        let pipe = download_by(name, ms(5000));
        let mut edge = 0;
        for ack in pipe
            .acks
            .iter()
            .filter(|ack| ack.segment.acknowledgement > 0)
        {
            let next = ack.segment.acknowledgement + u64::from(ack.segment.window);
            assert!(next >= edge, "{name}: {ack:?}");
            assert_eq!(ack.segment.window % 256, 0, "{name}: {ack:?}");
            edge = next;
        }
        let windows = || pipe.acks.iter().map(|ack| ack.segment.window);
        let largest = windows().max().expect("there are ACKs");
        let last = windows().next_back().expect("there are ACKs");
        // TCP-LP's slow start heeds no delay: only a loss ends it.
        assert!(
            matches!(*name, "tcplp" | "hstcplp") || last <= largest / 4,
            "{name}: {last} of {largest}"
        );
    }
}

#[test]
fn a_window_below_a_packet_is_a_pause() {
    let pipe = download(ms(5000));
    assert_eq!(pipe.receiver.report().unwrap().phase(), Phase::Yielding);
    // The pause: the window drains to a part of a packet.
    assert_eq!(pipe.acks.last().unwrap().segment.window, 1280);
}

/// The windows that many handshakes offer together must not fill a queue before any of them has a sample.
#[test]
fn a_handshake_offers_room_for_ten_packets() {
    let pipe = download(ms(1000));
    let windows = pipe.acks.iter().map(|ack| ack.segment.window);
    let syn = pipe
        .acks
        .iter()
        .find(|ack| ack.segment.flags.contains(Flags::SYN));
    assert_eq!(syn.expect("a SYN-ACK").segment.window, 14_480);
    assert!(windows.max() > Some(65_535));
}

#[test]
fn a_paused_sender_sends_a_part_of_a_packet_at_a_time() {
    let pipe = download(ms(5000));
    let late: Vec<&Sent> = pipe
        .data
        .iter()
        .filter(|sent| sent.at_ms > 3000.0)
        .collect();
    assert!(late.len() >= 4, "{late:?}");
    for pair in late.windows(2) {
        assert!(pair[1].at_ms - pair[0].at_ms >= 200.0, "{pair:?}");
    }
}

/// Describes each ACK to the policy from the log of the packets, as `receive.h` does from a socket: the policy must come
/// to the state that it has in the simulated receiver.
#[test]
fn the_policy_sees_what_a_kernels_socket_shows() {
    let pipe = download(ms(5000));
    let arrival_ms = |number: usize| {
        let sent = &pipe.data[number];
        sent.at_ms + (ONE_WAY_MS + queue_ms(number, sent.segment.tsval)) as f64
    };
    // The SYN is number 0; the next segment establishes the connection.
    let established_us = (1000.0 * arrival_ms(1)) as u32;
    let mut policy = Policy::new(&Parameters::default(), 14_480, 1448, established_us);
    let (mut newest, mut received, mut largest) = (1, 0, 0);
    for ack in &pipe.acks {
        if ack.segment.flags.contains(Flags::SYN) {
            continue;
        }
        while newest + 1 < pipe.data.len() && arrival_ms(newest + 1) <= ack.at_ms {
            newest += 1;
            largest = largest.max(pipe.data[newest].segment.length);
        }
        let data = pipe.data[newest].segment;
        let now_us = (1000.0 * ack.at_ms).round() as u32;
        policy.window(&Leaving {
            now_us,
            rtt_us: now_us.wrapping_sub(1000 * data.tsecr),
            tsval: data.tsval,
            bytes: (ack.segment.acknowledgement - received) as u32,
            mss: largest.max(pipe.data[1].segment.length),
            limit_bytes: 65_535 << 8,
            delayed_ack: arrival_ms(newest) < ack.at_ms,
            ..Leaving::default()
        });
        received = ack.segment.acknowledgement;
    }
    assert_eq!(Some(*policy.report()), pipe.receiver.report());
    assert_eq!(policy.report().yields, 1);
}
