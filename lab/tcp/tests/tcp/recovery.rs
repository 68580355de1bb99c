// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments sent after losses, and their times: sequences worked by hand.
//!
//! Packets of 1000 bytes, 50 ms each way, a window of ten to begin with; without a handshake, an ACK for each packet.

use netnice_congestion::registry;
use netnice_parameters::ControlParameters;
use netnice_queue::Time;
use netnice_tcp::{ReceiverConfig, Recovery, Sender, SenderConfig};

use crate::pipe::{ARRIVES, Fate, Pipe, PlainReno, one_way, recovering};

fn pipe(recovery: Recovery, lost: &[usize]) -> Pipe<'_> {
    let (sender, receiver) = recovering(recovery, 10);
    let mut pipe = Pipe::new(sender, receiver, 50).losing(lost);
    pipe.sender.supply_unlimited();
    pipe
}

/// Packets sent at the beginning of each round trip of 100 ms.
fn rounds(pipe: &mut Pipe<'_>, count: u64) -> Vec<Vec<u64>> {
    pipe.open();
    while pipe
        .next_event()
        .is_some_and(|next| next < Time::from_millis(count * 100))
    {
        pipe.step();
    }
    (0..count)
        .map(|round| {
            pipe.data_times()
                .into_iter()
                .filter(|&(at_ms, _)| at_ms == (round * 100) as f64)
                .map(|(_, packet)| packet)
                .collect()
        })
        .collect()
}

fn range(from: u64, to: u64) -> Vec<u64> {
    (from..=to).collect()
}

#[test]
fn reno_repairs_one_loss_in_one_round_trip() {
    let mut pipe = pipe(Recovery::Reno, &[2]);
    let rounds = rounds(&mut pipe, 3);
    assert_eq!(rounds[0], range(0, 9));
    // Two ACKs, cwnd 12: four packets. Two duplicates: limited transmit, two. The third: fast retransmit, cwnd 6.
    assert_eq!(rounds[1], [10, 11, 12, 13, 14, 15, 2]);
    // 14 packets out against 6 + 7; the sixth of six more duplicates makes it 6 + 13: five go. The ACK of everything
    // leaves five out against cwnd 6 + 1/6: one more.
    assert_eq!(rounds[2], range(16, 21));
    assert_eq!(pipe.sender.ssthresh(), 6.0);
    assert_eq!(pipe.sender.cwnd(), 6.0 + 1.0 / 6.0);
    let statistics = pipe.sender.statistics();
    assert_eq!((statistics.fast_recoveries, statistics.timeouts), (1, 0));
    assert_eq!(statistics.retransmitted_segments, 1);
}

#[test]
fn reno_leaves_the_second_loss_of_a_window_to_a_time_out() {
    let mut pipe = pipe(Recovery::Reno, &[2, 3]);
    let rounds = rounds(&mut pipe, 6);
    assert_eq!(rounds[1], [10, 11, 12, 13, 14, 15, 2]);
    // Twelve duplicates: up to 6 + 12 = 18 out of 14, four go. The partial ACK ends recovery: nothing may go.
    assert_eq!(rounds[2], range(16, 19));
    // Four duplicates of those could come from what was sent before the fast retransmit, for all that Reno knows.
    assert!(rounds[3].is_empty());
    assert_eq!(pipe.sender.statistics().fast_recoveries, 1);
    assert_eq!(pipe.sender.statistics().timeouts, 1);
    assert_eq!(pipe.sender.statistics().retransmitted_segments, 2);
}

#[test]
fn newreno_repairs_two_losses_in_two_round_trips_and_halves_once() {
    let mut pipe = pipe(Recovery::NewReno, &[2, 3]);
    let rounds = rounds(&mut pipe, 4);
    assert_eq!(rounds[1], [10, 11, 12, 13, 14, 15, 2]);
    // As Reno; then the partial ACK: 3 retransmitted, and one more for the packet that left: 18 of 17 + 1.
    assert_eq!(rounds[2], [16, 17, 18, 19, 3, 20]);
    // Four duplicates: four packets. The full ACK: 20 to 24 are out, 6 may be; and so on for packet 20's.
    assert_eq!(rounds[3], range(21, 26));
    assert_eq!(pipe.sender.ssthresh(), 6.0);
    assert_eq!(pipe.sender.cwnd(), 6.0 + 1.0 / 6.0);
    assert_eq!(pipe.sender.statistics().fast_recoveries, 1);
}

#[test]
fn sack_repairs_two_losses_in_one_round_trip() {
    let mut pipe = pipe(Recovery::Sack, &[2, 3]);
    let rounds = rounds(&mut pipe, 4);
    // The third duplicate deems 2 and 3 lost: pipe is 14 - 3 - 2 = 9, and 10 with 2 retransmitted; 7 in the end.
    assert_eq!(rounds[1], [10, 11, 12, 13, 14, 15, 2]);
    // Six more packets leave, the second of which makes pipe 5: 3 goes, then new ones; one more for the partial ACK.
    assert_eq!(rounds[2], [3, 16, 17, 18, 19, 20]);
    assert_eq!(rounds[3], range(21, 26));
    assert_eq!(pipe.sender.ssthresh(), 6.0);
    assert_eq!(pipe.sender.statistics().fast_recoveries, 1);
    assert_eq!(pipe.sender.statistics().retransmitted_segments, 2);
}

/// RFC 6675 section 4: NextSeg's rule 1 wants IsLost, rule 2 prefers new data to a hole that is not lost yet. (ns-2's Sack1
/// would retransmit 13 as soon as 14 is SACKed.)
#[test]
fn sack_sends_new_data_until_three_sacks_lie_above_a_hole() {
    let mut pipe = pipe(Recovery::Sack, &[2, 13]);
    let rounds = rounds(&mut pipe, 4);
    // The third duplicate makes cwnd 6. With 3 to 9 SACKed, pipe is 14 + 1 - 7 - 1 = 7.
    assert_eq!(rounds[1], [10, 11, 12, 13, 14, 15, 2]);
    // SACKs of 10 to 12 make pipe 5 twice, those of 14 and 15 as well: new packets. The ACK of 2 leaves 13 to 19, of which two are
    // SACKed: pipe 5, and one more.
    assert_eq!(rounds[2], range(16, 20));
    // The SACK of 16 is the third above 13: of 13 to 20 three are SACKed and one is lost, pipe 4.
    assert_eq!(rounds[3], [vec![13], range(21, 25)].concat());
    assert_eq!(pipe.sender.ssthresh(), 6.0);
    let statistics = pipe.sender.statistics();
    assert_eq!((statistics.fast_recoveries, statistics.timeouts), (1, 0));
    assert_eq!(statistics.retransmitted_segments, 2);
}

#[test]
fn prr_sends_a_packet_for_every_second_ack_until_ssthresh() {
    let (sender, receiver) = one_way(1000);
    let sender = SenderConfig {
        recovery: Recovery::Sack,
        prr: true,
        initial_window: 10,
        ..sender
    };
    let receiver = ReceiverConfig {
        sack: true,
        ..receiver
    };
    let mut pipe = Pipe::new(sender, receiver, 50).losing(&[2, 3]);
    pipe.sender.supply_unlimited();
    let rounds = rounds(&mut pipe, 4);
    // The third duplicate, for 6: ssthresh is 12 / 2 = 6, RecoverFS 14 - 3 + 1 = 12, pipe 9: ceil(1 * 6 / 12) = 1 may leave, packet 2.
    // For 7 none, ceil(2 * 6 / 12) - 1 = 0; for 8 packet 3, ceil(3 * 6 / 12) - 1 = 1; for 9 none. Pipe is 8 then.
    assert_eq!(rounds[1], [10, 11, 12, 13, 14, 15, 2, 3]);
    // For 10 one, ceil(5 * 6 / 12) - 2; for 11 and 12 none, as pipe falls to 6 = ssthresh; from 13 on one for each, as many as leave.
    // For 2 one, too. The ACK of 3 ends recovery: cwnd is 6 with five outstanding.
    assert_eq!(rounds[2], range(16, 21));
    assert_eq!(rounds[3], range(22, 27));
    assert_eq!(pipe.sender.ssthresh(), 6.0);
    assert_eq!(pipe.sender.statistics().fast_recoveries, 1);
    assert_eq!(pipe.sender.statistics().retransmitted_segments, 2);
}

#[test]
fn prr_leaves_a_control_alone_that_governs_recovery() {
    let run = |prr| {
        let (sender, receiver) = one_way(1000);
        let config = SenderConfig {
            prr,
            initial_window: 10,
            ..sender
        };
        let receiver = ReceiverConfig {
            sack: true,
            ..receiver
        };
        let bbr = registry::create("bbr", &ControlParameters::default()).unwrap();
        let mut pipe = Pipe::governed_by(bbr, config, receiver, 50).losing(&[2, 3]);
        pipe.send_all_the_time(1000);
        pipe.data_times()
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn newreno_repairs_a_hole_each_round_trip_and_sack_all_at_once() {
    const LOST: [usize; 5] = [10, 12, 14, 16, 18];
    let repaired = |recovery, impatient| {
        let (sender, receiver) = recovering(recovery, 10);
        let sender = SenderConfig {
            impatient,
            ..sender
        };
        let mut pipe = Pipe::new(sender, receiver, 50).losing(&LOST);
        pipe.send_all_the_time(3000);
        let times = pipe.data_times();
        let last = |packet: usize| {
            let of_packet = times.iter().rfind(|(_, number)| *number == packet as u64);
            of_packet.unwrap().0
        };
        (LOST.map(last), pipe.sender.statistics().timeouts)
    };
    let each_round_trip = [200.0, 300.0, 400.0, 500.0, 600.0];
    assert_eq!(repaired(Recovery::NewReno, false), (each_round_trip, 0));
    // The impatient variant lets the timer run from the first partial ACK at 300 ms on: that is too long.
    let (_, timeouts) = repaired(Recovery::NewReno, true);
    assert_eq!(timeouts, 1);
    // Twenty packets were in flight, half of them may be: 10 goes at once, the others as the pipe drains.
    let (times, timeouts) = repaired(Recovery::Sack, true);
    assert_eq!(timeouts, 0);
    assert_eq!(times[0], 200.0);
    assert!(times.iter().all(|&at| at <= 300.0), "{times:?}");
}

#[test]
fn time_outs_double_and_everything_goes_again() {
    // From packet 4 on, all is lost up to the second retransmission of 4.
    let (sender, receiver) = one_way(1000);
    let sender = SenderConfig {
        initial_window: 4,
        ..sender
    };
    let mut pipe = Pipe::new(sender, receiver, 50).data_fate(|number, _| {
        if (4..14).contains(&number) {
            Fate::Lost
        } else {
            ARRIVES
        }
    });
    pipe.send_all_the_time(2450);
    // 4 to 11 are sent at 100 ms. RTT 10 ticks, deviation 5: the RTO is 300 ms from the last ACK, then 600, 1200.
    // ssthresh is 2 after the second; so 5 and 6 in slow start, and then one for each ACK.
    assert_eq!(
        pipe.data_times()[12..],
        [
            (400.0, 4),
            (1000.0, 4),
            (2200.0, 4),
            (2300.0, 5),
            (2300.0, 6),
            (2400.0, 7),
            (2400.0, 8)
        ]
    );
    assert_eq!(pipe.sender.statistics().timeouts, 3);
    assert_eq!(pipe.sender.statistics().retransmitted_segments, 7);
}

#[test]
fn a_repeated_time_out_leaves_ssthresh_alone() {
    for (recovery, expected) in [
        // ns-2's Reno halves the window of one packet left by the first RTO.
        (Recovery::Reno, [8.0, 2.0, 2.0]),
        (Recovery::NewReno, [8.0, 8.0, 2.0]),
        (Recovery::Sack, [8.0, 8.0, 2.0]),
    ] {
        // Eight packets arrive; of the 16 that follow, only the second retransmission of the first one does.
        let mut pipe = pipe(recovery, &[]).data_fate(|number, _| {
            if number < 8 || number == 25 {
                ARRIVES
            } else {
                Fate::Lost
            }
        });
        pipe.sender = Sender::new(
            SenderConfig {
                initial_window: 8,
                ..*pipe.sender.config()
            },
            Box::new(PlainReno),
        );
        pipe.sender.supply_unlimited();
        pipe.open();
        // cwnd is 16 at the first RTO, 1 at the second; the third follows an ACK of new data, with cwnd 2.
        let thresholds = [1, 2, 3].map(|timeouts| {
            while pipe.sender.statistics().timeouts < timeouts {
                pipe.step();
            }
            assert_eq!(pipe.sender.cwnd(), 1.0);
            pipe.sender.ssthresh()
        });
        assert_eq!(thresholds, expected, "{recovery:?}");
        assert_eq!(pipe.data[25].segment.sequence, 8000);
    }
}

#[test]
fn no_control_hears_of_a_repeated_time_out_as_of_a_new_one() {
    for name in [
        "reno", "cubic", "vegas", "tcplp", "hstcplp", "netnice", "dstcp", "dctcp",
    ] {
        // Packet 0 is lost, and again after the RTO; the SACKs of 1 to 9 arrive between that and the next RTO, and
        // acknowledge nothing.
        let (sender, receiver) = one_way(1000);
        let sender = SenderConfig {
            recovery: Recovery::Sack,
            initial_window: 10,
            ..sender
        };
        let receiver = ReceiverConfig {
            sack: true,
            ..receiver
        };
        let late = Fate::Late(std::time::Duration::from_secs(3));
        let control = registry::create(name, &ControlParameters::default()).unwrap();
        let mut pipe = Pipe::governed_by(control, sender, receiver, 50)
            .losing(&[0, 10])
            .ack_fate(|number, _| if number < 9 { late } else { ARRIVES });
        pipe.send_all_the_time(3000);
        let first = pipe.sender.ssthresh();
        assert_eq!(pipe.sender.statistics().timeouts, 1, "{name}");
        pipe.run(Time::from_millis(9000));
        assert_eq!(pipe.sender.statistics().timeouts, 2, "{name}");
        assert!(first >= 5.0, "{name}: {first}");
        assert_eq!(pipe.sender.ssthresh(), first, "{name}");
        assert_eq!(pipe.sender.cwnd(), 1.0, "{name}");
    }
}

#[test]
fn after_a_time_out_sacks_of_the_old_flight_open_no_window() {
    // Packet 0 is lost, and again after the RTO; the SACKs of 1 to 9 arrive 100 ms after that.
    let late = Fate::Late(std::time::Duration::from_secs(3));
    let mut pipe = pipe(Recovery::Sack, &[0, 10])
        .ack_fate(|number, _| if number < 9 { late } else { ARRIVES });
    pipe.open();
    pipe.run(Time::from_millis(9150));
    // The RTO is 3 s, then 6 s. One packet may be in flight, and nine SACKs do not change that: only the ACK of packet
    // 0, which acknowledges all ten, does.
    assert_eq!(
        pipe.data_times()[10..],
        [(3000.0, 0), (9000.0, 0), (9100.0, 10), (9100.0, 11)]
    );
    assert_eq!(pipe.sender.statistics().timeouts, 2);
}

#[test]
fn after_a_time_out_duplicates_are_no_loss() {
    for recovery in [Recovery::Reno, Recovery::NewReno] {
        // The ACKs of a whole window are lost, the packets are not: every retransmission is a duplicate.
        let (sender, receiver) = one_way(1000);
        let sender = SenderConfig {
            recovery,
            initial_window: 10,
            ..sender
        };
        let mut pipe = Pipe::new(sender, receiver, 50).ack_fate(|number, _| {
            if (1..20).contains(&number) {
                Fate::Lost
            } else {
                ARRIVES
            }
        });
        pipe.transfer(40_000);
        assert_eq!(pipe.sender.statistics().fast_recoveries, 0, "{recovery:?}");
        assert!(pipe.sender.statistics().timeouts > 0);
    }
}

#[test]
fn without_limited_transmit_duplicates_send_nothing() {
    for recovery in [Recovery::Reno, Recovery::Sack] {
        let (sender, receiver) = recovering(recovery, 10);
        let sender = SenderConfig {
            limited_transmit: false,
            ..sender
        };
        let mut pipe = Pipe::new(sender, receiver, 50).losing(&[2]);
        pipe.sender.supply_unlimited();
        // Seven duplicates: Reno allows 6 + 7 in flight, and SACK's pipe has fallen to 5.
        assert_eq!(
            rounds(&mut pipe, 2)[1],
            [10, 11, 12, 13, 2, 14],
            "{recovery:?}"
        );
    }
}

#[test]
fn three_losses_at_the_end_are_repaired_by_a_time_out_or_by_rescue() {
    // 20 packets; the last three are lost: no duplicates. With 17 lost alone, limited transmit has nothing to send and
    // two duplicates are too few.
    for lost in [vec![17, 18, 19], vec![17]] {
        let mut pipe = pipe_of(20, &lost, false);
        pipe.run_until_finished();
        assert_eq!(pipe.sender.statistics().timeouts, 1);
        assert_eq!(pipe.receiver.goodput_bytes(), 20_000);
    }
    // Duplicates reveal the loss of 10, but not of 18 and 19: the rescue sends 19, whose SACK or ACK reveals 18's.
    let mut plain = pipe_of(20, &[10, 18, 19], false);
    plain.run_until_finished();
    let mut rescued = pipe_of(20, &[10, 18, 19], true);
    rescued.run_until_finished();
    assert!(
        rescued
            .data
            .iter()
            .filter(|s| s.segment.sequence == 19_000)
            .count()
            >= 2
    );
    assert!(rescued.now <= plain.now);
}

fn pipe_of(packets: u64, lost: &[usize], rescue_retransmission: bool) -> Pipe<'_> {
    let (sender, receiver) = one_way(1000);
    let sender = SenderConfig {
        recovery: Recovery::Sack,
        initial_window: 10,
        rescue_retransmission,
        ..sender
    };
    let receiver = ReceiverConfig {
        sack: true,
        ..receiver
    };
    let mut pipe = Pipe::new(sender, receiver, 50).losing(lost);
    pipe.sender.supply(packets * 1000);
    pipe.sender.close();
    pipe.open();
    pipe
}
