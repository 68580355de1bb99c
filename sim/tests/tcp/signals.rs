// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals between the ends beside the data: SACK blocks, timestamps, ECN echoes.

use netnice_congestion::control::MarkFeedback;
use netnice_queue::Time;
use netnice_sim::tcp::{
    Clock, DelayedAck, Flags, Mark, Receiver, ReceiverConfig, Recovery, SackBlock, Segment,
    SenderConfig,
};
use std::time::Duration;

use crate::pipe::{ARRIVES, Fate, Pipe, one_way};

fn data(packet: u64, tsval: u32) -> Segment {
    Segment {
        sequence: packet * 1000,
        length: 1000,
        tsval,
        flags: Flags::ACK,
        ..Segment::default()
    }
}

/// Passes a packet to the receiver, and returns its ACK.
fn offer(receiver: &mut Receiver, packet: u64, tsval: u32) -> Option<Segment> {
    receiver.on_segment(Time::ZERO, &data(packet, tsval), Mark::NONE);
    receiver.poll_transmit(Time::ZERO)
}

#[test]
fn the_newest_block_is_reported_first() {
    let mut receiver = Receiver::new(ReceiverConfig {
        handshake: false,
        delayed_ack: None,
        ..ReceiverConfig::default()
    });
    let mut blocks_after = |packet| {
        let ack = offer(&mut receiver, packet, 0).unwrap();
        let blocks: Vec<(u64, u64)> = ack
            .sack
            .iter()
            .filter(|block| **block != SackBlock::default())
            .map(|block| {
                let packets = |offset: u32| (ack.acknowledgement + u64::from(offset)) / 1000;
                (packets(block.start), packets(block.end))
            })
            .collect();
        (ack.acknowledgement / 1000, blocks)
    };
    assert_eq!(blocks_after(0), (1, vec![]));
    assert_eq!(blocks_after(2), (1, vec![(2, 3)]));
    assert_eq!(blocks_after(4), (1, vec![(4, 5), (2, 3)]));
    assert_eq!(blocks_after(6), (1, vec![(6, 7), (4, 5), (2, 3)]));
    assert_eq!(blocks_after(8), (1, vec![(8, 9), (6, 7), (4, 5)]));
    // 3 joins 2 and 4.
    assert_eq!(blocks_after(3), (1, vec![(2, 5), (8, 9), (6, 7)]));
    // A duplicate is reported, too: its block is the newest.
    assert_eq!(blocks_after(6), (1, vec![(6, 7), (2, 5), (8, 9)]));
    assert_eq!(blocks_after(1), (5, vec![(6, 7), (8, 9)]));
    assert_eq!(blocks_after(5), (7, vec![(8, 9)]));
    assert_eq!(blocks_after(7), (9, vec![]));
    assert_eq!(blocks_after(3), (9, vec![]));
    let statistics = receiver.statistics();
    assert_eq!((statistics.segments, statistics.duplicates), (11, 2));
}

#[test]
fn the_echo_is_of_the_segment_that_the_ack_waited_for() {
    let mut receiver = Receiver::new(ReceiverConfig {
        handshake: false,
        ..ReceiverConfig::default()
    });
    assert_eq!(offer(&mut receiver, 0, 10), None);
    // RFC 7323 section 4.3: delayed ACKs echo the earliest segment; ACKs of segments beyond a gap, the last one before
    // the gap; ACKs of a filled gap, the segment that filled it.
    assert_eq!(offer(&mut receiver, 1, 12).unwrap().tsecr, 10);
    assert_eq!(offer(&mut receiver, 3, 20).unwrap().tsecr, 10);
    assert_eq!(offer(&mut receiver, 2, 21).unwrap().tsecr, 21);
    assert_eq!(offer(&mut receiver, 0, 5).unwrap().tsecr, 21);
    // Serial numbers: u32::MAX - 1 is before 21, 22 + 2^31 is not after.
    assert_eq!(offer(&mut receiver, 0, u32::MAX - 1).unwrap().tsecr, 21);
}

#[test]
fn timestamps_wrap_and_drift() {
    let tick = Duration::from_millis(1);
    let sender = SenderConfig {
        clock: Clock::new(tick, u32::MAX - 500, 100.0),
        recovery: Recovery::NewReno,
        ..SenderConfig::default()
    };
    let receiver = ReceiverConfig {
        clock: Clock::new(tick, u32::MAX - 300, -200.0),
        delayed_ack: None,
        ..ReceiverConfig::default()
    };
    // One packet of each 97 is lost; the round trip of its retransmission is measured by the timestamp.
    let mut pipe = Pipe::new(sender, receiver, 50).data_fate(|number, _| {
        if number % 97 == 50 {
            Fate::Lost
        } else {
            ARRIVES
        }
    });
    pipe.transfer(3_000_000);
    assert!(
        pipe.now > Time::from_millis(600),
        "both clocks have wrapped"
    );
    let rtt = pipe.sender.smoothed_rtt().unwrap();
    assert!(
        rtt >= Duration::from_millis(98) && rtt <= Duration::from_millis(102),
        "{rtt:?}"
    );
    let first = pipe.acks[0].segment;
    let last = pipe.acks.last().unwrap();
    assert_eq!(
        first.tsval,
        (u32::MAX - 300).wrapping_add(49),
        "49.99 ticks are 49"
    );
    let ticks = last.segment.tsval.wrapping_sub(first.tsval);
    let passed = last.at_ms * (1.0 - 200e-6);
    assert_eq!(f64::from(ticks), passed.floor() - 49.0);
}

#[test]
fn one_reaction_to_marks_for_a_window_of_data() {
    let (sender, receiver) = one_way(1000);
    let sender = SenderConfig {
        ecn: true,
        initial_window: 10,
        ..sender
    };
    let receiver = ReceiverConfig {
        ecn: true,
        delayed_ack: Some(DelayedAck::default()),
        ..receiver
    };
    let marked = Fate::Arrives(Mark {
        congestion_experienced: true,
        in_profile: false,
    });
    let mut pipe = Pipe::new(sender, receiver, 50).data_fate(|number, _| {
        if [3, 5, 60].contains(&number) {
            marked
        } else {
            ARRIVES
        }
    });
    pipe.sender.supply_unlimited();
    pipe.open();
    pipe.run(Time::from_millis(1500));
    assert_eq!(pipe.sender.statistics().ecn_reactions, 2);
    let reduced: Vec<usize> = (0..pipe.data.len())
        .filter(|&index| pipe.data[index].segment.flags.contains(Flags::CWR))
        .collect();
    assert_eq!(reduced.len(), 2);
    // ACKs echo from the marked packet on until CWR arrives, and no longer.
    let echoes: Vec<u64> = pipe
        .acks
        .iter()
        .filter(|sent| sent.segment.flags.contains(Flags::ECE))
        .map(|sent| sent.segment.acknowledgement / 1000)
        .collect();
    assert_eq!(echoes.first(), Some(&4));
    let cwr = pipe.data[reduced[0]].segment.sequence / 1000;
    assert!(
        echoes
            .iter()
            .filter(|&&ack| ack < 60)
            .all(|&ack| ack <= cwr),
        "{echoes:?} {cwr}"
    );
    assert!(!echoes.iter().any(|&ack| ack > cwr && ack < 60));
    // One ACK for 0 and 1: cwnd 11. The next echoes: 11 / 2.
    assert_eq!(pipe.sender.statistics().retransmitted_segments, 0);
}

#[test]
fn a_time_out_ends_the_echo_of_its_window() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let (sender, receiver) = one_way(1000);
        let sender = SenderConfig {
            ecn: true,
            recovery,
            initial_window: 10,
            ..sender
        };
        let receiver = ReceiverConfig {
            ecn: true,
            ..receiver
        };
        // Packet 1 is marked; the ACKs of the first ten are lost, and with them the echo.
        let marked = Fate::Arrives(Mark {
            congestion_experienced: true,
            in_profile: false,
        });
        let mut pipe = Pipe::new(sender, receiver, 50)
            .data_fate(|number, _| if number == 1 { marked } else { ARRIVES })
            .ack_fate(|number, _| if number < 10 { Fate::Lost } else { ARRIVES });
        pipe.sender.supply_unlimited();
        pipe.open();
        pipe.run(Time::from_millis(3500));
        // Packet 0 is retransmitted at 3 s; its ACK echoes, acknowledges all ten and opens no window: the one new
        // packet at 3.1 s carries CWR.
        let sent_with = |flag| {
            let with = move |sent: &&crate::pipe::Sent| sent.segment.flags.contains(flag);
            pipe.data
                .iter()
                .filter(with)
                .map(|sent| (sent.at_ms, sent.segment.sequence))
        };
        let reductions: Vec<(f64, u64)> = sent_with(Flags::CWR).collect();
        assert_eq!(reductions, [(3100.0, 10_000)], "{recovery:?}");
        assert_eq!(pipe.sender.statistics().timeouts, 1);
        assert_eq!(pipe.sender.statistics().ecn_reactions, 0, "{recovery:?}");
        let last_echo = pipe
            .acks
            .iter()
            .rposition(|sent| sent.segment.flags.contains(Flags::ECE));
        assert_eq!(last_echo, Some(10), "{recovery:?}");
    }
}

#[test]
fn ecn_is_agreed_on_or_not_used() {
    for (ours, theirs) in [(false, true), (true, false), (true, true)] {
        let sender = SenderConfig {
            ecn: ours,
            ..SenderConfig::default()
        };
        let receiver = ReceiverConfig {
            ecn: theirs,
            ..ReceiverConfig::default()
        };
        let mut pipe = Pipe::new(sender, receiver, 10);
        pipe.transfer(100);
        assert_eq!(pipe.sender.ecn_capable(), ours && theirs);
    }
}

#[test]
fn in_profile_marks_are_distinguished() {
    let mut receiver = Receiver::new(ReceiverConfig {
        handshake: false,
        delayed_ack: None,
        ..ReceiverConfig::default()
    });
    let mark = |in_profile| Mark {
        congestion_experienced: true,
        in_profile,
    };
    let mut echo = |packet, mark| {
        receiver.on_segment(Time::ZERO, &data(packet, 0), mark);
        receiver.poll_transmit(Time::ZERO).unwrap().flags
    };
    assert_eq!(echo(0, Mark::NONE), Flags::ACK);
    assert_eq!(echo(1, mark(false)), Flags::ACK.with(Flags::ECE));
    let both = Flags::ACK.with(Flags::ECE).with(Flags::ECHO_IN_PROFILE);
    assert_eq!(echo(2, mark(true)), both);
    assert_eq!(echo(3, Mark::NONE), both);
}

#[test]
fn dctcp_acks_report_packets_with_the_same_mark() {
    let mut receiver = Receiver::new(ReceiverConfig {
        handshake: false,
        mark_feedback: MarkFeedback::EachPacket,
        ..ReceiverConfig::default()
    });
    let marked = Mark {
        congestion_experienced: true,
        in_profile: true,
    };
    let mut acks = |packet, mark| {
        receiver.on_segment(Time::ZERO, &data(packet, 0), mark);
        let mut acks = Vec::new();
        while let Some(ack) = receiver.poll_transmit(Time::ZERO) {
            acks.push((ack.acknowledgement / 1000, ack.flags.contains(Flags::ECE)));
        }
        acks
    };
    // Two packets of a kind are acknowledged together, whatever the sender's CWR.
    assert_eq!(acks(0, Mark::NONE), []);
    assert_eq!(acks(1, Mark::NONE), [(2, false)]);
    assert_eq!(acks(2, marked), []);
    assert_eq!(acks(3, marked), [(4, true)]);
    // A change sends the ACK that waits, without the packet that brought it (RFC 8257 section 3.2).
    assert_eq!(acks(4, Mark::NONE), []);
    assert_eq!(acks(5, marked), [(5, false)]);
    assert_eq!(acks(6, Mark::NONE), [(6, true)]);
    assert_eq!(acks(7, Mark::NONE), [(8, false)]);
    // Where none waits, there is nothing to send: 8 is marked, after an ACK of all before it.
    assert_eq!(acks(8, marked), []);
    // A packet beyond a gap: both ACKs go at once, the older one first.
    assert_eq!(acks(10, Mark::NONE), [(9, true), (9, false)]);
}

#[test]
fn windows_are_advertised_in_units_of_the_scale() {
    let window = |window, window_scale| {
        let mut receiver = Receiver::new(ReceiverConfig {
            handshake: false,
            delayed_ack: None,
            window,
            window_scale,
            ..ReceiverConfig::default()
        });
        offer(&mut receiver, 0, 0).unwrap().window
    };
    assert_eq!(window(100_000, 0), 65_535);
    assert_eq!(window(100_000, 1), 100_000);
    assert_eq!(window(100_001, 4), 100_000);
    assert_eq!(window(1000, 14), 1000, "never none");
    assert_eq!(window(u32::MAX, 14), 65_535 << 14);
}
