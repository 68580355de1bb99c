// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests that do not wait for one another.

use std::time::Duration;

use netnice_queue::Time;
use netnice_tcp::{Flags, Recovery, Segment, Sender, SenderConfig};

use crate::pipe::{ARRIVES, Fate, Pipe, PlainReno, one_way, opened_by_receiver};

/// (milliseconds, number) of the requests sent.
fn requests(pipe: &Pipe<'_>) -> Vec<(f64, u32)> {
    let openings = pipe.acks.iter();
    openings
        .filter(|sent| sent.segment.flags.contains(Flags::REQUEST))
        .map(|sent| (sent.at_ms, sent.segment.request))
        .collect()
}

/// A connection whose receiver has asked twice before it opens; each way takes 50 ms.
fn asked_twice<'a>() -> Pipe<'a> {
    let (sender, receiver) = opened_by_receiver();
    let mut pipe = Pipe::new(sender, receiver, 50);
    pipe.receiver.request(1);
    pipe.receiver.request(2);
    pipe
}

#[test]
fn each_request_is_acknowledged_by_its_number() {
    let mut pipe = asked_twice();
    pipe.open();
    pipe.run(Time::from_millis(120));
    // While the first two are under way.
    pipe.receiver.request(3);
    pipe.pump();
    pipe.run(Time::from_millis(5000));
    assert_eq!(requests(&pipe), [(100.0, 1), (100.0, 2), (150.0, 3)]);
    let acks = pipe.data[1..].iter();
    let acks: Vec<_> = acks
        .map(|sent| (sent.at_ms, sent.segment.request))
        .collect();
    assert_eq!(acks, [(150.0, 1), (150.0, 2), (200.0, 3)]);
    assert_eq!(pipe.receiver.next_timer(), None);
    assert_eq!(pipe.receiver.statistics().openings_retransmitted, 0);
}

#[test]
fn an_rto_retransmits_the_requests_without_an_answer() {
    // SYN, then request 1, which is lost, then request 2.
    let mut pipe =
        asked_twice().ack_fate(|number, _| if number == 1 { Fate::Lost } else { ARRIVES });
    pipe.open();
    pipe.run(Time::from_millis(5000));
    // Round trips of 100 ms, by the SYN and by request 2: SRTT 100 ms, RTTVAR 50 and then 37.5 ms, so the RTO is 250 ms. It runs anew from
    // the ACK at 200 ms on.
    assert_eq!(requests(&pipe), [(100.0, 1), (100.0, 2), (450.0, 1)]);
    assert_eq!(pipe.receiver.statistics().openings_retransmitted, 1);
    assert_eq!(pipe.receiver.next_timer(), None);
}

#[test]
fn a_second_syn_ack_has_the_requests_sent_again() {
    // The first SYN arrives at 1120 ms, after the second, sent at 1000 ms, and before the requests. The SYN-ACK that answers it is at
    // the receiver at 1170 ms, and the first answer to a request at 1200 ms.
    let late = Fate::Late(Duration::from_millis(1070));
    let mut pipe = asked_twice().ack_fate(|number, _| if number == 0 { late } else { ARRIVES });
    pipe.open();
    pipe.run(Time::from_millis(9000));
    let expected = [(1100.0, 1), (1100.0, 2), (1170.0, 1), (1170.0, 2)];
    assert_eq!(requests(&pipe), expected);
    assert_eq!(pipe.receiver.next_timer(), None);
}

#[test]
fn a_lost_acknowledgement_costs_a_request() {
    // SYN-ACK, then the ACKs of both requests, of which the second is lost.
    let mut pipe = asked_twice().losing(&[2]);
    pipe.open();
    pipe.run(Time::from_millis(5000));
    assert_eq!(requests(&pipe), [(100.0, 1), (100.0, 2), (450.0, 2)]);
    let last = pipe.data.last().unwrap();
    assert_eq!((last.at_ms, last.segment.request), (500.0, 2));
}

#[test]
fn a_request_acknowledges_data_but_is_no_duplicate_ack() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let (config, _) = one_way(1000);
        let config = SenderConfig {
            recovery,
            initial_window: 10,
            ..config
        };
        let mut sender = Sender::new(config, Box::new(PlainReno));
        sender.supply_unlimited();
        sender.open(Time::ZERO);
        while sender.poll_transmit(Time::ZERO).is_some() {}
        let mut now = Time::ZERO;
        let mut request = |number: u32, acknowledgement: u64| {
            now = now + Duration::from_millis(1);
            let segment = Segment {
                acknowledgement,
                length: 300,
                window: 1 << 20,
                flags: Flags::ACK.with(Flags::REQUEST),
                request: number,
                ..Segment::default()
            };
            sender.on_segment(now, &segment);
            let answer = sender.poll_transmit(now).unwrap();
            assert_eq!((answer.length, answer.request), (0, number));
            let mut data = 0;
            while let Some(segment) = sender.poll_transmit(now) {
                assert_eq!((segment.request, segment.length), (0, 1000));
                data += 1;
            }
            (data, sender.statistics())
        };
        for number in 1..=5 {
            let (data, statistics) = request(number, 0);
            assert_eq!((data, statistics.fast_recoveries), (0, 0), "{recovery:?}");
        }
        // Two packets more in slow start for an ACK of one.
        let (data, statistics) = request(6, 1000);
        assert_eq!((data, statistics.acked_bytes), (2, 1000), "{recovery:?}");
        // Older than that one.
        let (data, statistics) = request(7, 0);
        assert_eq!((data, statistics.acked_bytes), (0, 1000), "{recovery:?}");
    }
}
