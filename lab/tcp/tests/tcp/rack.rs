// SPDX-License-Identifier: MIT OR Apache-2.0
//! RACK-TLP (RFC 8985): sequences worked by hand.
//!
//! Packets of 1000 bytes, 50 ms each way, no handshake, an ACK for each packet.

use std::time::Duration;

use netnice_queue::Time;
use netnice_tcp::{ReceiverConfig, Recovery, SenderConfig, TimeoutConfig};

use crate::pipe::{ARRIVES, Fate, Pipe, one_way};

fn pipe(initial_window: u32, rack: bool) -> Pipe<'static> {
    pipe_with(initial_window, rack, false)
}

fn pipe_with(initial_window: u32, rack: bool, timestamps: bool) -> Pipe<'static> {
    let (sender, receiver) = one_way(1000);
    let sender = SenderConfig {
        recovery: Recovery::Sack,
        rack,
        timestamps,
        initial_window,
        ..sender
    };
    let receiver = ReceiverConfig {
        sack: true,
        duplicate_sack: rack,
        timestamps,
        ..receiver
    };
    Pipe::new(sender, receiver, 50)
}

fn send(pipe: &mut Pipe<'_>, bytes: u64, until_ms: u64) {
    pipe.sender.supply(bytes);
    pipe.open();
    run(pipe, until_ms);
}

fn run(pipe: &mut Pipe<'_>, until_ms: u64) {
    while pipe
        .next_event()
        .is_some_and(|next| next <= Time::from_millis(until_ms))
    {
        pipe.step();
    }
}

/// When retransmissions left, in milliseconds, and the packets' numbers.
fn retransmissions(pipe: &Pipe<'_>) -> Vec<(f64, u64)> {
    let mut highest = None;
    let times = pipe.data_times().into_iter();
    times
        .filter(|&(_, packet)| {
            let repeats = highest.is_some_and(|highest| packet <= highest);
            highest = highest.max(Some(packet));
            repeats
        })
        .collect()
}

/// Packets of these numbers, in the order sent, arrive later by so many milliseconds.
pub fn late(packets: &'static [(usize, u64)]) -> impl FnMut(usize, &netnice_tcp::Segment) -> Fate {
    |number, _| {
        let entry = packets.iter().find(|entry| entry.0 == number);
        entry.map_or(ARRIVES, |entry| Fate::Late(Duration::from_millis(entry.1)))
    }
}

#[test]
fn the_example_of_rfc_8985_recovers_without_an_rto() {
    recovers_as_rfc_8985_shows(false);
}

/// The SACKs of the retransmissions echo P0's timestamp, as P1 is missing.
#[test]
fn timestamps_do_not_hide_sacks_of_retransmissions() {
    recovers_as_rfc_8985_shows(true);
}

fn recovers_as_rfc_8985_shows(timestamps: bool) {
    // The figure of section 3.4: of P0 to P3 only P0 arrives, and later P1's retransmission is lost.
    let mut pipe = pipe_with(4, true, timestamps).losing(&[1, 2, 3, 5]);
    pipe.sender.supply(4000);
    pipe.open();
    run(&mut pipe, 1000);
    // SRTT is 100 ms after P0's ACK at 100 ms: the probe is P3, two of them later. Its SACK says that P1 and P2 are lost; P2's SACK,
    // that P1 is lost again.
    assert_eq!(
        retransmissions(&pipe),
        [(300.0, 3), (400.0, 1), (400.0, 2), (500.0, 1)]
    );
    let statistics = pipe.sender.statistics();
    assert_eq!(
        (statistics.timeouts, pipe.sender.tail_loss_probes()),
        (0, 1)
    );
    assert_eq!(statistics.fast_recoveries, 1);
    assert_eq!(pipe.sender.in_flight(), 0);
    assert_eq!(pipe.receiver.goodput_bytes(), 4000);
}

#[test]
fn without_rack_the_example_takes_two_rtos() {
    let mut pipe = pipe(4, false).losing(&[1, 2, 3, 5]);
    send(&mut pipe, 4000, 3000);
    assert_eq!(pipe.sender.statistics().timeouts, 2);
    assert_eq!(pipe.sender.tail_loss_probes(), 0);
}

#[test]
fn a_packet_late_by_less_than_a_quarter_rtt_is_not_lost() {
    let mut pipe = pipe(3, true).data_fate(late(&[(0, 20)]));
    send(&mut pipe, 3000, 1000);
    assert!(retransmissions(&pipe).is_empty());
    assert_eq!(pipe.sender.statistics().fast_recoveries, 0);
}

#[test]
fn a_packet_is_lost_a_quarter_rtt_after_those_behind_it() {
    let mut pipe = pipe(3, true).data_fate(late(&[(0, 30)]));
    send(&mut pipe, 3000, 1000);
    // SACKs of P1 and P2 at 100 ms; the smallest round-trip time is 100 ms.
    assert_eq!(retransmissions(&pipe), [(125.0, 0)]);
}

#[test]
fn three_sacked_packets_indicate_a_loss_at_once() {
    let mut pipe = pipe(4, true).losing(&[0]);
    send(&mut pipe, 4000, 1000);
    assert_eq!(retransmissions(&pipe), [(100.0, 0)]);
}

#[test]
fn a_recovery_after_another_retransmits_only_what_is_lost() {
    // P0 to P11; at 100 ms P12 and P13 by limited transmit, P0 again, P14 to P16. P0, its retransmission and P14 are lost. SACKs at 200 and
    // 201 ms say so, and both are retransmitted. P0's ACK at 300 ms ends the recovery. Another begins with P14, which is on its way again.
    let mut fate = late(&[(16, 1), (17, 1)]);
    let mut pipe = pipe(12, true).data_fate(move |number, segment| match number {
        0 | 14 | 15 => Fate::Lost,
        _ => fate(number, segment),
    });
    send(&mut pipe, 20_000, 1000);
    assert_eq!(
        retransmissions(&pipe),
        [(100.0, 0), (200.0, 0), (201.0, 14)]
    );
    assert_eq!(pipe.sender.statistics().fast_recoveries, 2);
    assert_eq!(pipe.receiver.goodput_bytes(), 20_000);
}

#[test]
fn reordering_seen_and_dsacks_widen_the_window() {
    const LATE: &[(usize, u64)] = &[(0, 20), (40, 40), (82, 40)];
    let run_with = |duplicate_sack: bool| {
        let (sender, receiver) = one_way(1000);
        let sender = SenderConfig {
            recovery: Recovery::Sack,
            rack: true,
            initial_window: 3,
            max_window: 8,
            ..sender
        };
        let receiver = ReceiverConfig {
            sack: true,
            duplicate_sack,
            ..receiver
        };
        let mut pipe = Pipe::new(sender, receiver, 50).data_fate(late(LATE));
        send(&mut pipe, 100_000, 5000);
        assert!(pipe.receiver.goodput_bytes() == 100_000);
        retransmissions(&pipe)
            .into_iter()
            .map(|(_, packet)| packet)
            .collect::<Vec<_>>()
    };
    // Packet 0 shows that the path reorders, so that three SACKs are no proof any longer. Packet 40 is 40 ms late, which is beyond 25 ms;
    // the DSACK for it makes the window 50 ms, within which packet 81 comes, the 82nd sent.
    assert_eq!(run_with(true), [40]);
    assert_eq!(run_with(false), [40, 81]);
}

#[test]
fn the_probe_is_new_data_where_there_are_any() {
    let mut pipe = pipe(4, true).losing(&[0, 1, 2, 3]);
    send(&mut pipe, 10_000, 1099);
    // Without a round-trip time the PTO is a second; the probe exceeds cwnd.
    assert_eq!(pipe.data_times()[4..], [(1000.0, 4)]);
    run(&mut pipe, 3000);
    assert_eq!(pipe.sender.statistics().timeouts, 0);
    assert_eq!(pipe.receiver.goodput_bytes(), 10_000);
}

/// `max_window` stands for a receive window that no handshake has told.
#[test]
fn the_probe_stays_within_the_largest_window() {
    let (sender, receiver) = one_way(1000);
    let sender = SenderConfig {
        recovery: Recovery::Sack,
        rack: true,
        initial_window: 4,
        max_window: 4,
        ..sender
    };
    let receiver = ReceiverConfig {
        sack: true,
        ..receiver
    };
    let mut pipe = Pipe::new(sender, receiver, 50).losing(&[0, 1, 2, 3]);
    send(&mut pipe, 10_000, 1099);
    assert_eq!(pipe.data_times()[4..], [(1000.0, 3)]);
}

#[test]
fn a_loss_repaired_by_the_probe_reduces_cwnd() {
    let mut pipe = pipe(4, true).losing(&[3]);
    send(&mut pipe, 4000, 700);
    // One packet in flight: 2 SRTT + 200 ms would be 500 ms, beyond the RTO at 100 + 300.
    assert_eq!(retransmissions(&pipe), [(400.0, 3)]);
    // Its ACK may be for the original. Four ACKs in slow start: cwnd 8.
    assert_eq!(pipe.sender.cwnd(), 8.0);
    pipe.sender.supply(1000);
    pipe.pump();
    run(&mut pipe, 1500);
    assert_eq!(pipe.sender.ssthresh(), 4.0);
    assert_eq!(pipe.sender.statistics().timeouts, 0);
}

#[test]
fn a_dsack_for_the_probe_says_that_nothing_was_lost() {
    // The ACK of the last packet is lost.
    let mut pipe = pipe(4, true).ack_fate(|number, _| match number {
        3 => Fate::Lost,
        _ => ARRIVES,
    });
    send(&mut pipe, 4000, 700);
    assert_eq!(retransmissions(&pipe), [(400.0, 3)]);
    let [block, _, _] = pipe.acks.last().unwrap().segment.sack;
    assert_eq!((block.start as i32, block.end as i32), (-1000, 0));
    pipe.sender.supply(1000);
    pipe.pump();
    run(&mut pipe, 1500);
    assert_eq!(pipe.sender.ssthresh(), f64::INFINITY);
}

#[test]
fn one_probe_at_a_time_and_then_the_rto() {
    // Nothing but P0 arrives, and neither does the probe.
    let mut pipe = pipe(4, true).losing(&[1, 2, 3, 4]);
    send(&mut pipe, 4000, 3000);
    // Probe at 300 ms; the RTO of 300 ms counts from it: all is overdue then, and the first is retransmitted alone.
    assert_eq!(retransmissions(&pipe)[..2], [(300.0, 3), (600.0, 1)]);
    let statistics = pipe.sender.statistics();
    assert_eq!(
        (statistics.timeouts, pipe.sender.tail_loss_probes()),
        (1, 1)
    );
    assert_eq!(pipe.receiver.goodput_bytes(), 4000);
}

/// The first of three packets is late by 30 ms, so that Linux retransmits it 2 ms after the reordering window of 25 ms.
fn needless_retransmission(timestamps: bool) -> Pipe<'static> {
    let (sender, receiver) = one_way(1000);
    let sender = SenderConfig {
        recovery: Recovery::Sack,
        linux: true,
        timestamps,
        initial_window: 3,
        ..sender
    };
    let receiver = ReceiverConfig {
        sack: true,
        duplicate_sack: true,
        timestamps,
        ..receiver
    };
    let mut pipe = Pipe::new(sender, receiver, 50).data_fate(late(&[(0, 30)]));
    send(&mut pipe, 3000, 129);
    assert_eq!(retransmissions(&pipe), [(127.0, 0)]);
    assert_eq!(pipe.sender.ssthresh(), 2.0);
    pipe
}

#[test]
fn linux_takes_a_reduction_back_after_a_dsack() {
    let mut pipe = needless_retransmission(false);
    run(&mut pipe, 226);
    // The ACK that ends the recovery lets cwnd grow.
    assert_eq!((pipe.sender.cwnd(), pipe.sender.ssthresh()), (2.5, 2.0));
    // The retransmission arrives at 177 ms, the DSACK at 227.
    run(&mut pipe, 227);
    assert_eq!(pipe.sender.cwnd(), 3.0);
    assert_eq!(pipe.sender.ssthresh(), f64::INFINITY);
}

#[test]
fn linux_takes_a_reduction_back_by_a_timestamp() {
    let mut pipe = needless_retransmission(true);
    // The ACK of the first transmission, which echoes its time.
    run(&mut pipe, 130);
    // 3, and one for the ACK, in slow start again.
    assert_eq!(pipe.sender.cwnd(), 4.0);
    assert_eq!(pipe.sender.ssthresh(), f64::INFINITY);
}

#[test]
fn linux_restarts_the_rto_by_sacks_of_the_flight_before() {
    // P0 and its retransmission are lost; the SACKs of P4 to P7 come 20, 40, 60 and 80 ms after that of P3.
    const LATE: &[(usize, u64)] = &[(4, 20), (5, 40), (6, 60), (7, 80)];
    let (sender, receiver) = one_way(1000);
    let sender = SenderConfig {
        recovery: Recovery::Sack,
        linux: true,
        timeout: TimeoutConfig::default(),
        initial_window: 8,
        ..sender
    };
    let receiver = ReceiverConfig {
        sack: true,
        ..receiver
    };
    let mut fate = late(LATE);
    let mut pipe = Pipe::new(sender, receiver, 50).data_fate(move |number, segment| match number {
        0 | 8 => Fate::Lost,
        _ => fate(number, segment),
    });
    send(&mut pipe, 8000, 1000);
    // The last one counts, at 180 ms. SRTT by samples of three times 100, 120, 140, 160 and 180 ms: 102.5, 107.1875, 113.789 and 122.065 ms.
    // Four mean deviations stay below 200 ms.
    let seen = retransmissions(&pipe);
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0], (100.0, 0));
    assert!(
        (seen[1].0 - (180.0 + 122.065 + 200.0)).abs() < 0.01,
        "{seen:?}"
    );
    assert_eq!(pipe.sender.statistics().timeouts, 1);
}

/// Ends that recover as Linux does, with timestamps; four packets at first.
pub fn linux_with_timestamps() -> (SenderConfig, ReceiverConfig) {
    let (sender, receiver) = one_way(1000);
    let sender = SenderConfig {
        recovery: Recovery::Sack,
        linux: true,
        timestamps: true,
        initial_window: 4,
        ..sender
    };
    let receiver = ReceiverConfig {
        sack: true,
        duplicate_sack: true,
        timestamps: true,
        ..receiver
    };
    (sender, receiver)
}

#[test]
fn linux_reduces_for_a_real_loss() {
    let (sender, receiver) = linux_with_timestamps();
    let mut pipe = Pipe::new(sender, receiver, 50).losing(&[0]);
    send(&mut pipe, 8000, 1000);
    assert_eq!(pipe.sender.ssthresh(), 2.0);
    assert_eq!(pipe.receiver.goodput_bytes(), 8000);
}

#[test]
fn linux_probes_for_a_lost_tail() {
    let (sender, receiver) = linux_with_timestamps();
    let sender = SenderConfig {
        timeout: TimeoutConfig::default(),
        ..sender
    };
    let mut pipe = Pipe::new(sender, receiver, 50).losing(&[2, 3]);
    pipe.sender.supply(4000);
    pipe.sender.close();
    pipe.open();
    run(&mut pipe, 2000);
    // The probe is the last packet, 2 SRTT + 2 ms after the ACK of P1. Its SACK, a round trip later, echoes P1's timestamp and says that
    // P2 is lost.
    assert_eq!(retransmissions(&pipe), [(302.0, 3), (402.0, 2)]);
    assert_eq!(pipe.sender.statistics().timeouts, 0);
    assert!(pipe.sender.finished());
}
