// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals between the ends beside the data: SACK blocks, timestamps, ECN echoes.

use std::sync::{Arc, Mutex};

use netnice_congestion::congestion_control::{
    Ack, Congestion, CongestionControl, MarkFeedback, Window,
};
use netnice_congestion::controls::reno::Reno;
use netnice_queue::Time;
use netnice_tcp::{
    Clock, DelayedAck, Flags, Mark, Opener, Receiver, ReceiverConfig, Recovery, SackBlock, Segment,
    SenderConfig,
};
use std::time::Duration;

use crate::pipe::{ARRIVES, Fate, Pipe, PlainReno, one_way};

const MARKED: Mark = Mark {
    congestion_experienced: true,
    in_profile: true,
};

const MARKED_OUT: Fate = Fate::Arrives(Mark {
    congestion_experienced: true,
    in_profile: false,
});

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

/// A sender of ten packets at first and a receiver, both with ECN.
fn with_ecn(delayed_ack: Option<DelayedAck>) -> (SenderConfig, ReceiverConfig) {
    let (sender, receiver) = one_way(1000);
    let sender = SenderConfig {
        ecn: true,
        initial_window: 10,
        ..sender
    };
    let receiver = ReceiverConfig {
        ecn: true,
        delayed_ack,
        ..receiver
    };
    (sender, receiver)
}

#[test]
fn one_reaction_to_marks_for_a_window_of_data() {
    let (sender, receiver) = with_ecn(Some(DelayedAck::default()));
    let mut pipe = Pipe::new(sender, receiver, 50).data_fate(|number, _| {
        if [3, 5, 60].contains(&number) {
            MARKED_OUT
        } else {
            ARRIVES
        }
    });
    pipe.send_all_the_time(1500);
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

/// RFC 3168 section 6.1.2 halves the window, not what its ACK leaves in flight.
#[test]
fn an_echo_halves_the_whole_window() {
    let (sender, receiver) = with_ecn(None);
    let mut pipe = Pipe::governed_by(Box::new(Reno::default()), sender, receiver, 50).data_fate(
        |number, _| match number {
            4 => MARKED_OUT,
            _ => ARRIVES,
        },
    );
    pipe.send_all_the_time(110);
    // Slow start until then: four ACKs make ten packets fourteen.
    assert_eq!(pipe.sender.statistics().ecn_reactions, 1);
    assert_eq!((pipe.sender.ssthresh(), pipe.sender.cwnd()), (7.0, 7.0));
}

/// A pipe between ends of Linux, in which the fifth packet is marked.
fn fifth_packet_marked(control: Box<dyn CongestionControl>) -> Pipe<'static> {
    let (sender, receiver) = with_ecn(None);
    let sender = SenderConfig {
        recovery: Recovery::Sack,
        linux: true,
        prr: true,
        ..sender
    };
    let receiver = ReceiverConfig {
        sack: true,
        ..receiver
    };
    Pipe::governed_by(control, sender, receiver, 50).data_fate(|number, _| match number {
        4 => MARKED_OUT,
        _ => ARRIVES,
    })
}

/// `tcp_cwnd_reduction` and `tcp_end_cwnd_reduction` of Linux.
#[test]
fn linux_spreads_the_reduction_over_a_round_trip() {
    let mut pipe = fifth_packet_marked(Box::new(Reno::default()));
    pipe.send_all_the_time(110);
    // Four ACKs make ten packets fourteen, with eight new ones. The next six, which echo, let ceil(n * 7 / 14) new ones leave: 1, 1, 2, 2,
    // 3, 3. 14 - 6 + 3 are in flight.
    assert_eq!(pipe.sender.ssthresh(), 7.0);
    assert_eq!(pipe.sender.cwnd(), 11.0);
    assert_eq!(pipe.data.len(), 10 + 8 + 3);
    pipe.run(Time::from_millis(210));
    // Seven packets are in flight once the eight are acknowledged. The ACK of the one that carries CWR ends the reduction; it and the two
    // after it let cwnd grow.
    assert_eq!(pipe.sender.statistics().ecn_reactions, 1);
    let cwnd = pipe.sender.cwnd();
    assert!(cwnd > 7.0 && cwnd < 7.5, "{cwnd}");
    assert_eq!(pipe.data.len(), 21 + 4 + 3);
}

/// Plain Reno that answers an echo with a cwnd of two, and an ssthresh of 20 up to which it grows again.
#[derive(Debug)]
struct BelowThreshold;

impl CongestionControl for BelowThreshold {
    fn name(&self) -> &'static str {
        "below threshold"
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        PlainReno.on_ack(ack, window);
    }

    fn on_loss(&mut self, congestion: &Congestion, window: &mut Window) {
        PlainReno.on_loss(congestion, window);
    }

    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window) {
        PlainReno.on_timeout(congestion, window);
    }

    fn on_ecn_echo(&mut self, _: &Congestion, _: bool, window: &mut Window) {
        (window.cwnd, window.ssthresh) = (2.0, 20.0);
    }
}

#[test]
fn linux_reduces_to_the_cwnd_of_a_control_below_ssthresh() {
    let mut pipe = fifth_packet_marked(Box::new(BelowThreshold));
    pipe.send_all_the_time(110);
    // Of fourteen packets two are to be left: the six ACKs that echo let ceil(6 * 2 / 14) = 1 leave. 14 - 6 + 1 are in flight.
    assert_eq!((pipe.sender.cwnd(), pipe.sender.ssthresh()), (9.0, 20.0));
    assert_eq!(pipe.data.len(), 10 + 8 + 1);
    // The eight and the one are acknowledged a round trip later: cwnd is two, and grows by slow start.
    pipe.run(Time::from_millis(210));
    let cwnd = pipe.sender.cwnd();
    assert!((2.0..=4.0).contains(&cwnd), "{cwnd}");
}

/// `tcp_data_ecn_check` and `tcp_ecn_accept_cwr` of Linux.
#[test]
fn acks_of_a_first_mark_and_of_cwr_are_quick() {
    for quick_acks in [false, true] {
        let mut receiver = Receiver::new(ReceiverConfig {
            handshake: false,
            quick_acks,
            ..ReceiverConfig::default()
        });
        let mut at_once = |packet, mark, flags| {
            let segment = Segment {
                flags,
                ..data(packet, 0)
            };
            receiver.on_segment(Time::ZERO, &segment, mark);
            receiver.poll_transmit(Time::ZERO).is_some()
        };
        let cwr = Flags::ACK.with(Flags::CWR);
        // Beyond the first sixteen.
        (0..16).for_each(|packet| _ = at_once(packet, Mark::NONE, Flags::ACK));
        assert!(!at_once(16, Mark::NONE, Flags::ACK));
        assert!(at_once(17, Mark::NONE, Flags::ACK));
        // The mark and the packet after it; a second mark is no news.
        assert_eq!(at_once(18, MARKED, Flags::ACK), quick_acks);
        assert!(at_once(19, MARKED, Flags::ACK));
        assert!(!at_once(20, MARKED, Flags::ACK));
        assert!(at_once(21, Mark::NONE, Flags::ACK));
        assert_eq!(at_once(22, Mark::NONE, cwr), quick_acks);
        // Once the sender has reduced cwnd, a mark is.
        assert!(at_once(23, MARKED, Flags::ACK));
        assert_eq!(at_once(24, Mark::NONE, Flags::ACK), quick_acks);
    }
}

/// RFC 3168 section 6.1.1.1, as in Linux: with AccECN from the second retransmission on.
#[test]
fn linux_gives_up_ecn_after_a_lost_syn() {
    for (linux, accurate_ecn, lost, capable) in [
        (false, false, &[0][..], true),
        (true, false, &[0], false),
        (true, true, &[0], true),
        (true, true, &[0, 1], false),
    ] {
        let sender = SenderConfig {
            ecn: true,
            accurate_ecn,
            linux,
            recovery: Recovery::Sack,
            ..SenderConfig::default()
        };
        let receiver = ReceiverConfig {
            ecn: true,
            mark_feedback: match accurate_ecn {
                true => MarkFeedback::Accurate,
                false => MarkFeedback::UntilAnswered,
            },
            ..ReceiverConfig::default()
        };
        let mut pipe = Pipe::new(sender, receiver, 10).losing(lost);
        pipe.transfer(100);
        let case = (linux, accurate_ecn, lost);
        assert_eq!(pipe.sender.ecn_capable(), capable, "{case:?}");
    }
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
        let mut pipe = Pipe::new(sender, receiver, 50)
            .data_fate(|number, _| if number == 1 { MARKED_OUT } else { ARRIVES })
            .ack_fate(|number, _| if number < 10 { Fate::Lost } else { ARRIVES });
        pipe.send_all_the_time(3500);
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
    assert_eq!(acks(2, MARKED), []);
    assert_eq!(acks(3, MARKED), [(4, true)]);
    // A change sends the ACK that waits, without the packet that brought it (RFC 8257 section 3.2).
    assert_eq!(acks(4, Mark::NONE), []);
    assert_eq!(acks(5, MARKED), [(5, false)]);
    assert_eq!(acks(6, Mark::NONE), [(6, true)]);
    assert_eq!(acks(7, Mark::NONE), [(8, false)]);
    // Where none waits, there is nothing to send: 8 is marked, after an ACK of all before it.
    assert_eq!(acks(8, MARKED), []);
    // A packet beyond a gap: both ACKs go at once, the older one first.
    assert_eq!(acks(10, Mark::NONE), [(9, true), (9, false)]);
}

/// Linux's `tcp_event_data_recv` and `TCP_MAX_QUICKACKS`.
#[test]
fn acks_are_not_delayed_at_first_and_after_a_gap() {
    let mut receiver = Receiver::new(ReceiverConfig {
        handshake: false,
        delayed_ack: Some(DelayedAck::default()),
        quick_acks: true,
        ..ReceiverConfig::default()
    });
    let mut packets = 0..;
    let mut at_once = |at_ms, count| {
        let acks = packets.by_ref().take(count).filter(|packet| {
            let now = Time::from_millis(at_ms);
            receiver.on_segment(now, &data(*packet, 0), Mark::NONE);
            receiver.poll_transmit(now).is_some()
        });
        acks.count()
    };
    assert_eq!(at_once(0, 16), 16);
    // From now on for every second packet.
    assert_eq!(at_once(0, 10), 5);
    // Not longer than the least RTO of Linux: 200 ms.
    assert_eq!(at_once(200, 10), 5);
    // Two packets together, 201 ms apart.
    for probe in 1..=20 {
        assert_eq!(at_once(200 + 201 * probe, 2), 2, "probe {probe}");
    }
    // The last of them began 16.
    assert_eq!(at_once(4300, 14 + 10), 14 + 5);
}

/// A receiver that reports marks by AccECN, and delays ACKs for so many packets.
fn accurate(segments: u32) -> Receiver {
    Receiver::new(ReceiverConfig {
        handshake: false,
        mark_feedback: MarkFeedback::Accurate,
        delayed_ack: Some(DelayedAck {
            segments,
            ..DelayedAck::default()
        }),
        ..ReceiverConfig::default()
    })
}

/// Passes a packet to the receiver; the packet that its ACK is for, and the counter in it.
fn counted(receiver: &mut Receiver, packet: u64, mark: Mark) -> Option<(u64, u8)> {
    receiver.on_segment(Time::ZERO, &data(packet, 0), mark);
    let ack = receiver.poll_transmit(Time::ZERO)?;
    Some((ack.acknowledgement / 1000, ack.flags.ace_counter()))
}

/// RFC 9768 sections 3.2.1 and 3.2.2.5.1: the counter begins at 5. A mark after a packet without one, and each second mark, is
/// acknowledged at once.
#[test]
fn accurate_acks_count_marked_packets() {
    let mut receiver = accurate(2);
    let mut acks = |packet, mark| counted(&mut receiver, packet, mark);
    assert_eq!(acks(0, Mark::NONE), None);
    assert_eq!(acks(1, Mark::NONE), Some((2, 5)));
    assert_eq!(acks(2, MARKED), Some((3, 6)));
    assert_eq!(acks(3, MARKED), None);
    // 5 and three marks are 0 modulo 8.
    assert_eq!(acks(4, MARKED), Some((5, 0)));
    assert_eq!(acks(5, Mark::NONE), None);
    assert_eq!(acks(6, MARKED), Some((7, 1)));
    assert_eq!(acks(7, Mark::NONE), None);
    assert_eq!(acks(8, Mark::NONE), Some((9, 1)));
    // However rare ACKs are, two marks have one.
    let mut receiver = accurate(16);
    let mut acks = |packet, mark| counted(&mut receiver, packet, mark);
    let seen: Vec<_> = (0..5).map(|packet| acks(packet, MARKED)).collect();
    assert_eq!(seen, [Some((1, 6)), None, Some((3, 0)), None, Some((5, 2))]);
    assert!((5..20).all(|packet| acks(packet, Mark::NONE).is_none()));
    assert_eq!(acks(20, Mark::NONE), Some((21, 2)));
}

/// `tcp_ecn_received_counters` of Linux: a change either way.
#[test]
fn accurate_acks_of_linux_are_quick_after_a_change() {
    let mut receiver = Receiver::new(ReceiverConfig {
        handshake: false,
        mark_feedback: MarkFeedback::Accurate,
        quick_acks: true,
        ..ReceiverConfig::default()
    });
    let mut acks = |packet, mark| counted(&mut receiver, packet, mark);
    (0..16).for_each(|packet| _ = acks(packet, Mark::NONE));
    assert_eq!(acks(16, Mark::NONE), None);
    assert_eq!(acks(17, MARKED), Some((18, 6)));
    assert_eq!(acks(18, Mark::NONE), Some((19, 6)));
    assert_eq!(acks(19, Mark::NONE), None);
}

/// Records the marks that each ACK reports.
#[derive(Debug)]
struct Marks(Arc<Mutex<Vec<u32>>>);

impl CongestionControl for Marks {
    fn name(&self) -> &'static str {
        "marks"
    }

    fn on_ack(&mut self, ack: &Ack, _: &mut Window) {
        self.0.lock().unwrap().push(ack.marked);
    }

    fn on_loss(&mut self, _: &Congestion, _: &mut Window) {}

    fn on_timeout(&mut self, _: &Congestion, _: &mut Window) {}

    fn on_ecn_echo(&mut self, _: &Congestion, _: bool, _: &mut Window) {}
}

/// The marks that the ACKs of ten packets report, of which some are `marked`, where ACKs with these numbers are lost.
fn reported(marked: &[usize], lost: &[usize]) -> Vec<u32> {
    let (sender, receiver) = one_way(1000);
    let sender = SenderConfig {
        ecn: true,
        accurate_ecn: true,
        initial_window: 10,
        ..sender
    };
    let receiver = ReceiverConfig {
        ecn: true,
        mark_feedback: MarkFeedback::Accurate,
        delayed_ack: None,
        ..receiver
    };
    let marks = Arc::new(Mutex::new(Vec::new()));
    let mut pipe = Pipe::governed_by(Box::new(Marks(marks.clone())), sender, receiver, 50)
        .data_fate(|number, _| match marked.contains(&number) {
            true => Fate::Arrives(MARKED),
            false => ARRIVES,
        })
        .ack_fate(|number, _| match lost.contains(&number) {
            true => Fate::Lost,
            false => ARRIVES,
        });
    pipe.send(10_000, 400);
    marks.lock().unwrap().clone()
}

#[test]
fn lost_acks_lose_no_marks() {
    assert_eq!(reported(&[2, 3, 7], &[]), [0, 0, 1, 1, 0, 0, 0, 1, 0, 0]);
    // The ACKs of packets 2 to 6 are lost; that of packet 7 delivers six with three marks.
    assert_eq!(reported(&[2, 3, 7], &[2, 3, 4, 5, 6]), [0, 0, 3, 0, 0]);
    // Ten marks are two modulo 8; of ten packets delivered ten are the most (RFC 9768 appendix A.2).
    let all: Vec<usize> = (0..10).collect();
    assert_eq!(reported(&all, &all[..9]), [10]);
    // Without any mark the counter has not cycled, however many packets an ACK is for.
    assert_eq!(reported(&[], &all[..9]), [0]);
}

/// RFC 9768 section 3.1.1: both ends have to know AccECN, whichever opens; otherwise feedback is that of RFC 3168.
#[test]
fn accurate_feedback_is_agreed_on_or_not_used() {
    for opener in [Opener::Sender, Opener::Receiver] {
        for (ours, theirs) in [(false, true), (true, false), (true, true)] {
            let sender = SenderConfig {
                ecn: true,
                accurate_ecn: ours,
                opener,
                ..SenderConfig::default()
            };
            let receiver = ReceiverConfig {
                ecn: true,
                mark_feedback: match theirs {
                    true => MarkFeedback::Accurate,
                    false => MarkFeedback::UntilAnswered,
                },
                opener,
                ..ReceiverConfig::default()
            };
            let mut pipe = Pipe::new(sender, receiver, 10).data_fate(|_, segment| {
                match segment.sequence / 1448 {
                    5 | 30 => Fate::Arrives(MARKED),
                    _ => ARRIVES,
                }
            });
            pipe.transfer(100_000);
            let case = (opener, ours, theirs);
            assert_eq!(
                pipe.sender.config().accurate_ecn,
                ours && theirs,
                "{case:?}"
            );
            assert!(pipe.sender.ecn_capable(), "{case:?}");
            assert_eq!(pipe.sender.statistics().ecn_reactions, 2, "{case:?}");
            let reduced = pipe.data.iter().filter(|sent| {
                let flags = sent.segment.flags;
                flags.contains(Flags::CWR) && !flags.contains(Flags::SYN)
            });
            let expected = if ours && theirs { 0 } else { 2 };
            assert_eq!(reduced.count(), expected, "{case:?}");
        }
    }
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
