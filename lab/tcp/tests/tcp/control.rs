// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender calls its congestion control with the right values, and obeys it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use netnice_congestion::congestion_control::{Ack, Congestion, CongestionControl, Window};
use netnice_queue::Time;
use netnice_tcp::{DelayedAck, ReceiverConfig, Recovery, SenderConfig};

use crate::pipe::{Pipe, one_way, recovering};
use crate::rack::{late, linux_with_timestamps};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Event {
    Ack(Ack),
    Loss(Congestion),
    Timeout(Congestion),
    RecoveryEnd,
    Undo(f64),
    Restart,
}

/// Holds a window, halves it for losses, and records its calls.
#[derive(Debug, Clone, Default)]
struct Recorder {
    events: Arc<Mutex<Vec<Event>>>,
    pacing_interval_ns: Option<u64>,
    pacing_burst_packets: u32,
    governs_recovery: bool,
    allows_undo: bool,
    cwnd_after_ack: Option<f64>,
}

impl Recorder {
    fn note(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }

    fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }

    fn acks(&self) -> Vec<Ack> {
        let ack = |event| match event {
            Event::Ack(ack) => Some(ack),
            _ => None,
        };
        self.events().into_iter().filter_map(ack).collect()
    }
}

impl CongestionControl for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.note(Event::Ack(*ack));
        window.cwnd = self.cwnd_after_ack.unwrap_or(window.cwnd);
    }
    fn on_loss(&mut self, congestion: &Congestion, window: &mut Window) {
        self.note(Event::Loss(*congestion));
        window.ssthresh = (window.cwnd / 2.0).floor();
    }
    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window) {
        self.note(Event::Timeout(*congestion));
        window.ssthresh = 2.0;
    }
    fn on_recovery_end(&mut self, _: u64, _: &mut Window) {
        self.note(Event::RecoveryEnd);
    }
    fn on_restart(&mut self, _: u64, _: &mut Window) {
        self.note(Event::Restart);
    }
    fn on_undo(&mut self, window: &mut Window) {
        self.note(Event::Undo(window.cwnd));
    }
    fn allows_undo(&self) -> bool {
        self.allows_undo
    }
    fn pacing_interval_ns(&self, _: &Window, _: u64) -> Option<u64> {
        self.pacing_interval_ns
    }
    fn pacing_burst_packets(&self) -> u32 {
        self.pacing_burst_packets
    }
    fn governs_recovery(&self) -> bool {
        self.governs_recovery
    }
}

#[test]
fn packets_are_paced_and_their_rate_is_reported() {
    let (sender, receiver) = one_way(1000);
    let sender = SenderConfig {
        initial_window: 50,
        ..sender
    };
    let recorder = Recorder {
        pacing_interval_ns: Some(10_000_000),
        ..Recorder::default()
    };
    let mut pipe = Pipe::governed_by(Box::new(recorder.clone()), sender, receiver, 50);
    pipe.transfer(60_000);
    let times: Vec<f64> = pipe.data.iter().map(|sent| sent.at_ms).collect();
    let expected: Vec<f64> = (0..60).map(|packet| f64::from(packet) * 10.0).collect();
    assert_eq!(times, expected);
    // Packet 30 is sent at 300 ms, an instant before the ACK of packet 20 comes: 20 are known to have arrived, the last
    // at 290 ms. Its own ACK comes at 400 ms, with eleven more in 110 ms.
    let ack = recorder.acks()[30];
    assert_eq!(ack.now_ns, 400_000_000);
    assert_eq!((ack.delivered, ack.prior_delivered), (31, 20));
    assert_eq!(
        (ack.rate_delivered, ack.rate_interval_ns),
        (11, 110_000_000)
    );
    assert_eq!(ack.rtt_ns, Some(100_000_000));
    assert!(!ack.cwnd_limited && ack.may_grow);
    assert_eq!((ack.acked, ack.in_flight), (1, 10));
    assert!(!ack.app_limited);
}

#[test]
fn a_recovery_is_announced_once_and_ends() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let (sender, receiver) = recovering(recovery, 20);
        let recorder = Recorder::default();
        let mut pipe =
            Pipe::governed_by(Box::new(recorder.clone()), sender, receiver, 50).losing(&[5]);
        pipe.send_all_the_time(350);
        let events = recorder.events();
        let losses: Vec<&Event> = events
            .iter()
            .filter(|event| !matches!(event, Event::Ack(_)))
            .collect();
        let loss = Congestion {
            now_ns: 100_000_000,
            // Limited transmit has sent two more.
            in_flight: 20,
            smoothed_rtt_ns: 100_000_000,
            min_rtt_ns: 100_000_000,
        };
        assert_eq!(
            losses,
            [&Event::Loss(loss), &Event::RecoveryEnd],
            "{recovery:?}"
        );
        assert_eq!(pipe.sender.cwnd(), 10.0);
        let acks = recorder.acks();
        assert!(acks[..5].iter().all(|ack| ack.cwnd_limited && ack.may_grow));
        // Each packet counts as delivered once, by a SACK or by an ACK of new data.
        let delivered: u64 = acks.iter().map(|ack| u64::from(ack.acked)).sum();
        assert_eq!(delivered, acks.last().unwrap().delivered);
        assert!(acks.last().unwrap().may_grow);
        if recovery == Recovery::Sack {
            // Duplicate ACKs report deliveries, but do not allow growth.
            assert!(
                acks[5..15]
                    .iter()
                    .all(|ack| !ack.may_grow && ack.acked == 1)
            );
        }
    }
}

#[test]
fn rtos_and_idle_times_are_announced() {
    let (sender, receiver) = one_way(1000);
    let recorder = Recorder::default();
    let sender = SenderConfig {
        initial_window: 4,
        ..sender
    };
    let mut pipe = Pipe::governed_by(Box::new(recorder.clone()), sender, receiver, 50).losing(&[3]);
    pipe.send(4000, 10_000);
    let timeout = |event: &Event| matches!(event, Event::Timeout(c) if c.in_flight == 1);
    assert_eq!(
        recorder
            .events()
            .iter()
            .filter(|event| timeout(event))
            .count(),
        1
    );
    assert!(
        recorder.acks()[..3]
            .iter()
            .all(|ack| ack.app_limited || ack.delivered < 4)
    );
    pipe.now = Time::from_millis(10_000);
    pipe.sender.supply(1000);
    pipe.pump();
    assert_eq!(recorder.events().last(), Some(&Event::Restart));
}

#[test]
fn a_control_that_governs_recovery_keeps_its_window() {
    for (governs_recovery, cwnd) in [(false, 10.0), (true, 20.0)] {
        let (sender, receiver) = one_way(1000);
        let sender = SenderConfig {
            initial_window: 20,
            ..sender
        };
        let recorder = Recorder {
            governs_recovery,
            ..Recorder::default()
        };
        let mut pipe = Pipe::governed_by(Box::new(recorder), sender, receiver, 50).losing(&[5]);
        pipe.send_all_the_time(350);
        assert_eq!(pipe.sender.cwnd(), cwnd);
    }
}

/// Linux does not restart from the initial window where `cong_control` sets the window.
#[test]
fn such_a_control_keeps_its_window_when_idle() {
    for (governs_recovery, cwnd) in [(false, 2.0), (true, 20.0)] {
        let (sender, receiver) = one_way(1000);
        let sender = SenderConfig {
            initial_window: 2,
            ..sender
        };
        let recorder = Recorder {
            governs_recovery,
            cwnd_after_ack: Some(20.0),
            ..Recorder::default()
        };
        let mut pipe = Pipe::governed_by(Box::new(recorder), sender, receiver, 50);
        pipe.send(2000, 10_000);
        assert_eq!(pipe.sender.cwnd(), 20.0);
        pipe.now = Time::from_millis(10_000);
        pipe.sender.supply(1000);
        pipe.pump();
        assert_eq!(pipe.sender.cwnd(), cwnd);
    }
}

#[test]
fn a_paced_burst_leaves_together_and_is_followed_by_as_many_intervals() {
    let (sender, receiver) = one_way(1000);
    let sender = SenderConfig {
        initial_window: 50,
        ..sender
    };
    let recorder = Recorder {
        pacing_interval_ns: Some(10_000_000),
        pacing_burst_packets: 2,
        ..Recorder::default()
    };
    let mut pipe = Pipe::governed_by(Box::new(recorder), sender, receiver, 50);
    pipe.transfer(7000);
    let times: Vec<f64> = pipe.data.iter().map(|sent| sent.at_ms).collect();
    assert_eq!(times, [0.0, 0.0, 20.0, 20.0, 40.0, 40.0, 60.0]);
}

#[test]
fn delayed_acks_deliver_two_packets_and_measure_the_newest() {
    let (sender, receiver) = one_way(1000);
    let receiver = ReceiverConfig {
        delayed_ack: Some(DelayedAck::default()),
        ..receiver
    };
    let recorder = Recorder {
        pacing_interval_ns: Some(10_000_000),
        ..Recorder::default()
    };
    let mut pipe = Pipe::governed_by(Box::new(recorder.clone()), sender, receiver, 50);
    pipe.transfer(2000);
    let acks = recorder.acks();
    assert_eq!((acks.len(), acks[0].acked), (1, 2));
    assert_eq!(acks[0].rtt_ns, Some(100_000_000), "of the second packet");
    // The RTO follows from the timed packet, the first: 11 ticks, 11 + 4 * 5.5 of them.
    assert_eq!(
        pipe.sender.retransmission_timeout(),
        Duration::from_millis(330)
    );
}

#[test]
fn a_control_that_governs_recovery_may_take_it_back() {
    for (allows_undo, expected) in [(true, vec![Event::Undo(3.0)]), (false, vec![])] {
        let (sender, receiver) = linux_with_timestamps();
        let sender = SenderConfig {
            initial_window: 3,
            ..sender
        };
        let recorder = Recorder {
            governs_recovery: true,
            allows_undo,
            ..Recorder::default()
        };
        // The first of three packets is late by 30 ms, and retransmitted before its ACK comes.
        let mut pipe = Pipe::governed_by(Box::new(recorder.clone()), sender, receiver, 50)
            .data_fate(late(&[(0, 30)]));
        pipe.transfer(3000);
        let undone: Vec<Event> = (recorder.events().into_iter())
            .filter(|event| matches!(event, Event::Undo(_)))
            .collect();
        assert_eq!(undone, expected);
    }
}
