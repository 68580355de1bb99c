// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections from SYN to FIN.

use netnice_queue::Time;
use netnice_tcp::{
    DelayedAck, Flags, Opener, Receiver, ReceiverConfig, Recovery, Sender, SenderConfig,
    SenderState, TimeoutConfig,
};
use std::time::Duration;

use crate::pipe::{ARRIVES, Fate, Pipe, one_way, opened_by_receiver};

#[test]
fn slow_start_doubles_each_round_trip() {
    let (sender, receiver) = one_way(1000);
    let mut pipe = Pipe::new(sender, receiver, 50);
    pipe.transfer(14_000);
    // Windows of 2, 4, 8 at 0, 100, 200 ms.
    let times: Vec<f64> = pipe.data.iter().map(|sent| sent.at_ms).collect();
    let expected = [[0.0; 2].as_slice(), &[100.0; 4], &[200.0; 8]].concat();
    assert_eq!(times, expected);
    assert_eq!(pipe.receiver.goodput_bytes(), 14_000);
    assert_eq!(pipe.sender.cwnd(), 16.0);
    assert_eq!(pipe.now, Time::from_millis(300));
    assert_eq!(pipe.sender.smoothed_rtt(), Some(Duration::from_millis(100)));
    assert_eq!(
        pipe.sender.statistics().segments,
        14,
        "the FIN goes with the last data"
    );
}

#[test]
fn an_object_is_fetched_to_the_byte() {
    for (bytes, segments) in [(0, 1), (1, 1), (999, 1), (1000, 1), (1001, 2), (12_345, 13)] {
        let sender = SenderConfig {
            mss: 1000,
            opener: Opener::Receiver,
            ..SenderConfig::default()
        };
        let receiver = ReceiverConfig {
            opener: Opener::Receiver,
            ..ReceiverConfig::default()
        };
        let mut pipe = Pipe::new(sender, receiver, 10);
        pipe.sender.supply(bytes);
        pipe.sender.close();
        pipe.open();
        while pipe.sender.state() != SenderState::Established {
            assert!(pipe.step());
        }
        // SYN, SYN-ACK, request: one and a half round trips.
        assert_eq!(pipe.now, Time::from_millis(30));
        assert_eq!(pipe.sender.take_request(), Some(300));
        assert_eq!(pipe.sender.take_request(), None);
        pipe.run_until_finished();
        assert_eq!(pipe.receiver.goodput_bytes(), bytes);
        let statistics = pipe.sender.statistics();
        assert_eq!((statistics.segments, statistics.bytes), (segments, bytes));
        assert_eq!(statistics.acked_bytes, bytes);
        let last = pipe.data.last().unwrap().segment;
        assert!(last.flags.contains(Flags::FIN));
    }
}

#[test]
fn a_fin_that_comes_later_goes_alone() {
    let (sender, receiver) = one_way(1000);
    let mut pipe = Pipe::new(sender, receiver, 10);
    pipe.send(1500, 500);
    assert_eq!(pipe.receiver.goodput_bytes(), 1500);
    assert!(!pipe.receiver.finished() && pipe.sender.next_timer().is_none());
    pipe.sender.close();
    pipe.sender.supply(1);
    pipe.pump();
    let fin = pipe.data.last().unwrap().segment;
    assert_eq!((fin.sequence, fin.length), (1500, 0));
    assert!(fin.flags.contains(Flags::FIN));
    pipe.run_until_finished();
    assert_eq!(pipe.receiver.goodput_bytes(), 1500);
    assert_eq!(pipe.acks.last().unwrap().segment.acknowledgement, 1501);
}

#[test]
fn a_lost_syn_costs_three_seconds_then_six() {
    let sender = SenderConfig {
        timeout: TimeoutConfig {
            initial: Duration::from_secs(3),
            ..TimeoutConfig::default()
        },
        ..SenderConfig::default()
    };
    let mut pipe = Pipe::new(sender, ReceiverConfig::default(), 50).losing(&[0, 1]);
    pipe.transfer(10_000);
    let syns: Vec<f64> = pipe
        .data
        .iter()
        .filter(|sent| sent.segment.flags.contains(Flags::SYN))
        .map(|sent| sent.at_ms)
        .collect();
    assert_eq!(syns, [0.0, 3000.0, 9000.0]);
    // RFC 5681: one segment to begin with, once a SYN was lost.
    let times: Vec<f64> = pipe.data[3..].iter().map(|sent| sent.at_ms).collect();
    assert_eq!(times[0], 9100.0);
    assert!(times[1] > 9100.0);
}

#[test]
fn a_lost_syn_ack_or_request_is_retransmitted() {
    let (sender, receiver) = opened_by_receiver();
    // The sender's first segment, the SYN-ACK, is lost; then the receiver's third, the request.
    let mut pipe = Pipe::new(sender, receiver, 50)
        .losing(&[0])
        .ack_fate(|number, _| if number == 2 { Fate::Lost } else { ARRIVES });
    pipe.transfer(2000);
    let openings: Vec<f64> = pipe.acks[..4].iter().map(|sent| sent.at_ms).collect();
    // SYN at 0 and, the SYN-ACK lost, at 1 s; request at 1.1 s; then 3 s by RFC 6298 section 5.7.
    assert_eq!(openings, [0.0, 1000.0, 1100.0, 4100.0]);
    assert_eq!(pipe.receiver.statistics().openings_retransmitted, 2);
    assert_eq!(pipe.receiver.goodput_bytes(), 2000);
}

#[test]
fn a_request_is_acknowledged_each_time_it_arrives() {
    let (sender, receiver) = opened_by_receiver();
    // SYN-ACK, then the ACK of the request, which is lost.
    let mut pipe = Pipe::new(sender, receiver, 50).losing(&[1]);
    pipe.open();
    pipe.run(Time::from_millis(5000));
    let bare: Vec<(f64, Flags, u32)> = pipe.data[1..]
        .iter()
        .map(|sent| (sent.at_ms, sent.segment.flags, sent.segment.length))
        .collect();
    // SYN at 0, SYN-ACK at 50, request at 100, and again after 100 + 4 * 50 ms; no data, since the program has none.
    assert_eq!(bare, [(150.0, Flags::ACK, 0), (450.0, Flags::ACK, 0)]);
    assert_eq!(pipe.receiver.statistics().openings_retransmitted, 1);
    pipe.sender.supply(3000);
    pipe.sender.close();
    pipe.pump();
    pipe.run_until_finished();
    assert_eq!(pipe.receiver.goodput_bytes(), 3000);
    assert_eq!(
        pipe.data[3].at_ms,
        450.0 + 50.0,
        "nothing was waited for after the ACK"
    );
}

#[test]
fn every_second_segment_is_acknowledged_or_after_the_time() {
    let (sender, receiver) = one_way(1000);
    let receiver = ReceiverConfig {
        delayed_ack: Some(DelayedAck {
            segments: 2,
            timeout: Duration::from_millis(100),
        }),
        ..receiver
    };
    let sender = SenderConfig {
        initial_window: 5,
        recovery: Recovery::NewReno,
        ..sender
    };
    let mut pipe = Pipe::new(sender, receiver, 50);
    pipe.send(5000, 1000);
    let acks: Vec<(f64, u64)> = pipe
        .acks
        .iter()
        .map(|sent| (sent.at_ms, sent.segment.acknowledgement))
        .collect();
    assert_eq!(acks, [(50.0, 2000), (50.0, 4000), (150.0, 5000)]);
}

#[test]
fn connections_are_small() {
    // Before data flow nothing of them is on the heap but the congestion control: 100,000 take about 100 MB. Whole cache
    // lines, of which most packets touch few.
    let bytes = size_of::<Sender>() + size_of::<Receiver>();
    assert!(bytes <= 1024, "{bytes}");
}
