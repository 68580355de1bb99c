// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reactions of netnice to losses.

use super::*;

#[test]
fn a_loss_halves() {
    let mut connection = Connection::settled(40);
    let mut ack = connection.ack(0);
    ack.ca_state = CaState::Recovery;
    assert_eq!(connection.control.on_ack(&ack), 20);
}

/// A connection in congestion avoidance whose queue was never over the threshold: 1.8 ms at 10 Mb/s.
pub(super) fn never_indicated() -> Connection {
    let mut connection = Connection::new(20);
    connection.step(0);
    connection.step(PACKET_US);
    assert_eq!(lose(&mut connection, PACKET_US), 12, "24 / 2");
    connection
}

#[test]
fn losses_that_no_delay_announced_and_no_growth_explains_are_the_work_of_others() {
    let mut connection = never_indicated();
    for _ in 0..20 {
        connection.step(PACKET_US);
    }
    assert_eq!(connection.phase(), Phase::Avoidance);
    assert_eq!(lose(&mut connection, PACKET_US), 2);
    assert_eq!(connection.phase(), Phase::Yielding);
    // The interval between probes is 64 round trips, but at most a second.
    let pause = connection
        .control
        .pacing_interval(4, Duration::from_millis(10));
    assert_eq!(pause, Duration::from_millis(2 * 640));
}

/// Returns the phase after a second loss, `rounds` rounds after a first one that no delay announced.
fn phase_after_losses_apart(rounds: u32) -> Phase {
    let mut connection = never_indicated();
    let first_loss = connection.delivered - 2;
    let mut round_end = first_loss;
    for _ in 0..rounds {
        // A round ends with the ACK of a packet sent after it began.
        while connection.delivered.saturating_sub(connection.cwnd) < round_end {
            connection.step(PACKET_US);
        }
        round_end = connection.delivered;
    }
    lose(&mut connection, PACKET_US);
    connection.phase()
}

#[test]
fn a_loss_is_forgiven_after_31_rounds_and_not_sooner() {
    assert_eq!(phase_after_losses_apart(30), Phase::Yielding);
    assert_eq!(phase_after_losses_apart(31), Phase::Avoidance);
}

#[test]
fn losses_of_a_path_that_no_packet_waits_on_are_its_own() {
    let mut connection = never_indicated();
    for _ in 0..5 {
        connection.step(PACKET_US / 4);
        lose(&mut connection, PACKET_US / 4);
        assert_ne!(connection.phase(), Phase::Yielding);
    }
}

#[test]
fn where_delay_has_spoken_losses_are_answered_as_reno_does() {
    let mut connection = Connection::settled(20);
    for _ in 0..2 {
        let cwnd = connection.cwnd;
        assert_eq!(lose(&mut connection, PACKET_US), cwnd / 2);
    }
    assert_ne!(connection.phase(), Phase::Yielding);
}

#[test]
fn three_clean_probes_end_a_yielding_that_a_loss_began() {
    let mut connection = never_indicated();
    lose(&mut connection, PACKET_US);
    assert_eq!(connection.phase(), Phase::Yielding);
    // The last ACK of the recovery was the first clean probe; then one pair at a time.
    for phase in [Phase::Yielding, Phase::SlowStart] {
        connection.cwnd = 2;
        connection.step(0);
        assert_eq!(connection.phase(), phase);
    }
}

#[test]
fn returns_that_meet_others_make_the_next_wait_twice_as_long() {
    let mut connection = never_indicated();
    for probes in [3, 6, 12, 12] {
        lose(&mut connection, PACKET_US);
        assert_eq!(connection.phase(), Phase::Yielding);
        // The last ACK of the recovery was the first clean probe.
        for _ in 1..probes {
            assert_eq!(connection.phase(), Phase::Yielding);
            connection.cwnd = 2;
            connection.step(0);
        }
        assert_ne!(connection.phase(), Phase::Yielding, "{probes}");
        while connection.cwnd < 12 {
            connection.step(PACKET_US);
        }
        lose(&mut connection, PACKET_US);
        assert_ne!(connection.phase(), Phase::Yielding, "the first loss");
    }
}

#[test]
fn held_acks_do_not_convict() {
    let mut connection = Connection::settled(20);
    for _ in 0..100 {
        let mut ack = connection.ack(40_000);
        ack.acked = 1;
        ack.in_flight = 0;
        connection.cwnd = connection.control.on_ack(&ack);
    }
    assert!(connection.cwnd >= 20, "{}", connection.cwnd);
}

/// One ACK in fast recovery that finds `lost` packets lost.
fn recover(connection: &mut Connection, lost: u32) -> u32 {
    recover_from_queue(connection, 0, lost)
}

/// The same of packets that waited for `queue_us`.
fn recover_from_queue(connection: &mut Connection, queue_us: u32, lost: u32) -> u32 {
    let mut ack = connection.ack(queue_us);
    ack.ca_state = CaState::Recovery;
    ack.lost = lost;
    connection.cwnd = connection.control.on_ack(&ack);
    connection.cwnd
}

#[test]
fn losses_of_each_round_of_a_recovery_halve() {
    let mut connection = Connection::settled(40);
    assert_eq!(recover(&mut connection, 1), 20);
    // A loss of a packet sent before the reaction is of the same event.
    assert_eq!(recover(&mut connection, 1), 20);
    for _ in 0..15 {
        assert_eq!(recover(&mut connection, 0), 20);
    }
    assert_eq!(recover(&mut connection, 1), 10);
    assert_eq!(recover(&mut connection, 1), 10);
}

#[test]
fn losses_found_late_are_of_the_same_event() {
    // The loss that ended slow start met a queue, and halved the window of 24.
    let mut connection = Connection::new(20);
    connection.step(0);
    connection.step(PACKET_US);
    let mut recover = |lost| recover_from_queue(&mut connection, PACKET_US, lost);
    assert_eq!(recover(1), 12);
    // Each ACK covers two packets. Those sent after the reaction come from the seventh ACK on, and show that the end of the
    // window before it was lost, too.
    for _ in 0..5 {
        assert_eq!(recover(0), 12);
    }
    assert_eq!(recover(1), 12);
    assert_eq!(recover(1), 12);
    for _ in 0..6 {
        assert_eq!(recover(0), 12);
    }
    // The loss of a packet sent a round later is a new event. In the same recovery it does not show others: a short queue
    // drops retransmissions, too.
    assert_eq!(recover(1), 6);
    assert_ne!(connection.phase(), Phase::Yielding);
}

#[test]
fn a_long_queue_after_a_back_off_has_announced_a_loss() {
    let mut connection = Connection::settled(40);
    connection.until_back_off(60_000);
    lose(&mut connection, 60_000);
    // The next loss that no delay announces is thus the first such one.
    for _ in 0..60 {
        connection.step(0);
    }
    connection.cwnd = 40;
    assert_eq!(lose(&mut connection, PACKET_US), 20);
    assert_ne!(connection.phase(), Phase::Yielding);
}

/// A path other than that of 10 Mb/s and 40 ms.
#[derive(Clone, Copy)]
struct Path {
    rtt_us: u32,
    packet_us: u32,
}

/// At 100 Mb/s, where a queue of eight packets is shorter than the threshold of 1 ms.
const FAST_PACKET_US: u32 = 120;
const SHORT_QUEUE_US: u32 = 5 * FAST_PACKET_US;
const FAST: Path = Path {
    rtt_us: 4_000,
    packet_us: FAST_PACKET_US,
};

/// At 100 Mb/s and 40 ms: it holds 334 packets without a queue.
const LONG: Path = Path {
    rtt_us: MINIMUM_RTT_US,
    packet_us: FAST_PACKET_US,
};

/// At 500 Mb/s, where a queue of 42 packets is hardly longer than the threshold of 1 ms.
const VERY_FAST: Path = Path {
    packet_us: 24,
    ..FAST
};

impl Connection {
    fn ack_on(&mut self, path: Path, queue_us: u32) -> Ack {
        Ack {
            sample_rtt_us: path.rtt_us + queue_us,
            rate_interval_us: 10 * path.packet_us,
            ..self.ack(queue_us)
        }
    }

    /// One ACK, after which the window is as before.
    fn hear_on(&mut self, path: Path, queue_us: u32) {
        let ack = self.ack_on(path, queue_us);
        self.control.on_ack(&ack);
    }

    /// A probe of two packets.
    fn probe_on(&mut self, path: Path, queue_us: u32) {
        self.cwnd = 2;
        self.hear_on(path, queue_us);
    }

    /// Continues for `rounds` with a window of `cwnd` packets.
    fn rounds_on(&mut self, path: Path, queue_us: u32, rounds: u32, cwnd: u32) {
        let mut round_end = self.delivered;
        for _ in 0..rounds {
            while self.delivered.saturating_sub(cwnd) < round_end {
                self.cwnd = cwnd;
                self.hear_on(path, queue_us);
            }
            round_end = self.delivered;
        }
        self.cwnd = cwnd;
    }

    /// Loses a packet when two have met such a queue: the smaller delay of two successive samples counts.
    fn lose_on(&mut self, path: Path, queue_us: u32) {
        self.hear_on(path, queue_us);
        for ca_state in [CaState::Recovery, CaState::Open] {
            let ack = Ack {
                ca_state,
                ..self.ack_on(path, queue_us)
            };
            self.cwnd = self.control.on_ack(&ack);
        }
    }

    /// A connection that has lost a packet of slow start to a queue shorter than the threshold.
    fn lost_on(path: Path, queue_us: u32, cwnd: u32) -> Self {
        let mut connection = Self::new(cwnd);
        for queue_us in [0, queue_us] {
            connection.hear_on(path, queue_us);
        }
        connection.lose_on(path, queue_us);
        assert_ne!(connection.phase(), Phase::Yielding);
        connection
    }
}

#[test]
fn a_window_that_leaves_a_quarter_of_the_path_loses_to_others() {
    // The rounds in which a second loss is others' work have passed.
    let phase = |cwnd, queue_us| {
        let mut connection = Connection::lost_on(LONG, SHORT_QUEUE_US, 400);
        connection.rounds_on(LONG, 0, 40, cwnd);
        connection.lose_on(LONG, queue_us);
        connection.phase()
    };
    assert_eq!(phase(250, SHORT_QUEUE_US), Phase::Yielding);
    assert_ne!(phase(251, SHORT_QUEUE_US), Phase::Yielding);
    // The flow's own burst may be a queue of four packets.
    assert_ne!(phase(250, 4 * FAST_PACKET_US), Phase::Yielding);
}

#[test]
fn others_made_a_queue_that_stood_for_a_round() {
    // Half of the queue that overflows is 300 us; each packet that the path does not hold adds 120 us.
    let phase = |cwnd, stood_us| {
        let mut connection = Connection::lost_on(LONG, SHORT_QUEUE_US, 400);
        connection.rounds_on(LONG, stood_us, 40, cwnd);
        connection.lose_on(LONG, SHORT_QUEUE_US);
        connection.phase()
    };
    assert_eq!(phase(334, 300), Phase::Yielding);
    assert_ne!(phase(334, 280), Phase::Yielding);
    assert_ne!(phase(335, 300), Phase::Yielding);
    assert_eq!(phase(335, 420), Phase::Yielding);
}

/// A connection that yields after a loss that no delay announced.
fn yielding_on_very_fast() -> Connection {
    let mut connection = Connection::lost_on(VERY_FAST, 700, 200);
    connection.rounds_on(VERY_FAST, 0, 40, 100);
    connection.lose_on(VERY_FAST, 700);
    assert_eq!(connection.phase(), Phase::Yielding);
    connection
}

#[test]
fn a_loss_in_a_return_shows_that_others_are_there() {
    let phase = |queue_us| {
        let mut connection = yielding_on_very_fast();
        while connection.phase() == Phase::Yielding {
            connection.probe_on(VERY_FAST, 0);
        }
        connection.rounds_on(VERY_FAST, 0, 1, 20);
        connection.lose_on(VERY_FAST, queue_us);
        connection.phase()
    };
    // A machine that was busy may send up to 16 packets at once.
    assert_ne!(phase(16 * 24), Phase::Yielding);
    assert_eq!(phase(17 * 24), Phase::Yielding);
    assert_eq!(
        phase(1500),
        Phase::Yielding,
        "with a delay over the threshold"
    );
}

#[test]
fn one_late_probe_leaves_a_yielding_as_it_is() {
    let pause = |probes: &[u32]| {
        let mut connection = yielding_on_very_fast();
        for &queue_us in probes {
            connection.probe_on(VERY_FAST, queue_us);
        }
        assert_eq!(connection.phase(), Phase::Yielding);
        connection
            .control
            .pacing_interval(4, Duration::from_millis(4))
    };
    // 64 round trips from probe to probe; 8, of the longer one, where delays show the others.
    assert_eq!(pause(&[0, 5000]), Duration::from_millis(2 * 64 * 4));
    assert!(pause(&[5000, 5000]) < Duration::from_millis(2 * 16 * 10));
}

#[test]
fn on_short_paths_a_loss_is_forgiven_after_400_packets() {
    // At 10 Mb/s 400 packets take 480 ms, and a round trip of 4 ms with a queue of one packet 5.2 ms: 92 rounds.
    let short = Path {
        packet_us: PACKET_US,
        ..FAST
    };
    let phase = |rounds| {
        let mut connection = Connection::lost_on(short, PACKET_US, 20);
        connection.rounds_on(short, PACKET_US, rounds, 10);
        assert_ne!(connection.phase(), Phase::Yielding);
        connection.lose_on(short, PACKET_US);
        connection.phase()
    };
    assert_eq!(phase(90), Phase::Yielding);
    assert_ne!(phase(94), Phase::Yielding);
}

/// A connection that lost `lost` packets of a window of 40 without a queue, after the round trip that followed.
fn policed(lost: u32) -> Connection {
    let mut connection = Connection::settled(40);
    assert_eq!(recover(&mut connection, lost), 20);
    for _ in 0..10 {
        recover(&mut connection, 0);
    }
    connection
}

#[test]
fn a_policer_s_rate_is_learnt_and_not_exceeded() {
    let mut connection = policed(10);
    // 18 packets came in the round trip after the losses: 18 - 18 / 16.
    assert_eq!(connection.cwnd, 17);
    for _ in 0..62 * 17 / 2 {
        assert_eq!(connection.step(0), 17);
    }
    for _ in 0..3 * 17 {
        connection.step(0);
    }
    assert!((18..=25).contains(&connection.cwnd), "one packet a round");
}

/// The phase after a loss of a window within the limit of 18 packets, eight round trips after `lost` packets were lost.
fn phase_after_loss_within_limit(lost: u32) -> Phase {
    let mut connection = policed(lost);
    for _ in 0..8 * 17 / 2 {
        assert_eq!(connection.step(0), 17);
    }
    lose(&mut connection, 0);
    connection.phase()
}

#[test]
fn others_take_what_is_lost_within_a_limit() {
    // 7 >= 5 + 18 / 12: more than random loss takes of one window.
    assert_eq!(phase_after_loss_within_limit(7), Phase::Yielding);
    assert_eq!(phase_after_loss_within_limit(6), Phase::Avoidance);
}

#[test]
fn a_loss_soon_after_the_limit_was_met_is_its_own() {
    let mut connection = policed(10);
    for _ in 0..2 * 17 / 2 {
        connection.step(0);
    }
    lose(&mut connection, 0);
    assert_eq!(connection.phase(), Phase::Avoidance);
}

#[test]
fn a_limit_is_raised_to_what_a_policer_passes() {
    let mut connection = policed(10);
    while connection.cwnd < 28 {
        connection.step(0);
    }
    // A window over the limit explains the loss, and the round trip that follows delivers 26 packets.
    assert_eq!(recover(&mut connection, 1), 14);
    for _ in 0..14 {
        connection.cwnd = 28;
        recover(&mut connection, 0);
    }
    connection.cwnd = 14;
    while connection.cwnd < 22 {
        connection.step(0);
    }
    lose(&mut connection, 0);
    assert_eq!(connection.phase(), Phase::Yielding);
}

#[test]
fn few_losses_are_no_policer_s() {
    let mut connection = policed(2);
    assert_eq!(connection.cwnd, 20);
    for _ in 0..3 * 20 {
        connection.step(0);
    }
    assert!(connection.cwnd > 33, "{}", connection.cwnd);
}

#[test]
fn a_queue_disproves_a_policer() {
    let mut connection = policed(10);
    connection.until_back_off(5_000);
    for _ in 0..100 {
        connection.step(0);
    }
    assert!(connection.cwnd > 33, "{}", connection.cwnd);
}
