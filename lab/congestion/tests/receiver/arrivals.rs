// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reactions to single arrivals. A packet takes a millisecond of the link, and the path 40 ms both ways, so that all
//! times are whole ticks of the timestamps.

use netnice_congestion::netnice_receiver::{Group, Path, Receiver, Segment};
use netnice_parameters::exchange::{Parameters, Phase};

pub const MSS: u32 = 1448;
const LIMIT: u32 = 1 << 20;
const ONE_WAY_MS: u32 = 20;
pub const RTT_MS: u32 = 2 * ONE_WAY_MS;
/// Smallest window clamp in bytes.
const PAUSE: u32 = 1152;

/// The segment that answers `packets`, which waited `queue_ms`.
pub fn arriving(now_ms: u32, queue_ms: u32, packets: u32) -> Segment {
    Segment {
        now_us: 1000 * now_ms,
        rtt_us: 1000 * (RTT_MS + queue_ms),
        tsval: now_ms - ONE_WAY_MS - queue_ms,
        bytes: packets * MSS,
        mss: MSS,
        limit_bytes: LIMIT,
        bound_bytes: LIMIT,
        ..Segment::default()
    }
}

struct Connection {
    receiver: Receiver,
    now_ms: u32,
}

impl Connection {
    fn new(packets: u32) -> Self {
        let now_ms = 5_000;
        Self {
            receiver: Receiver::new(&Parameters::default(), packets * MSS, MSS, 1000 * now_ms),
            now_ms,
        }
    }

    fn segment(&self, queue_ms: u32, packets: u32) -> Segment {
        arriving(self.now_ms, queue_ms, packets)
    }

    /// Delivers two packets that waited `queue_ms`; returns the window in packets.
    fn pair(&mut self, queue_ms: u32) -> u32 {
        self.now_ms += 2;
        self.receiver.window(&self.segment(queue_ms, 2)) / MSS
    }

    /// Delivers one packet whose ACK leaves `after_ms` after the last; returns the window in bytes.
    fn probe(&mut self, after_ms: u32, queue_ms: u32) -> u32 {
        self.now_ms += after_ms;
        let segment = Segment {
            bytes: PAUSE,
            ..self.segment(queue_ms, 0)
        };
        self.receiver.window(&segment)
    }

    fn phase(&self) -> Phase {
        self.receiver.report().phase()
    }

    /// A connection out of slow start, with a window of more than 20 packets.
    fn settled() -> Self {
        let mut connection = Self::new(40);
        for _ in 0..20 {
            connection.pair(0);
        }
        while connection.phase() == Phase::SlowStart {
            connection.pair(10);
        }
        for _ in 0..100 {
            connection.pair(0);
        }
        assert_eq!(connection.phase(), Phase::Avoidance);
        connection
    }

    fn yielding() -> Self {
        let mut connection = Self::settled();
        while connection.phase() != Phase::Yielding {
            connection.pair(50);
        }
        connection
    }

    /// A connection that yields, and whose first probes have met a queue.
    fn paused() -> Self {
        let mut connection = Self::yielding();
        while connection.probe(80, 60) != PAUSE {}
        connection
    }
}

#[test]
fn slow_start_opens_the_window_by_what_came() {
    let mut connection = Connection::new(10);
    // Two of ten packets do not yet show that the sender uses the window.
    for window in [10, 12, 14, 16, 18] {
        assert_eq!(connection.pair(0), window);
    }
}

#[test]
fn a_window_that_the_sender_does_not_use_stays() {
    let mut connection = Connection::new(100);
    let mut windows = Vec::new();
    for _ in 0..20 {
        windows.push(connection.pair(0));
        // Two packets in 40 ms, out of a hundred.
        connection.now_ms += 38;
    }
    // Before the end of the first round trip, its number of packets is unknown.
    assert_eq!(windows[1..], vec![windows[0]; 19]);
}

/// A persist timer would take 200 ms, and a burst of others is shorter.
#[test]
fn the_first_probes_of_a_yield_are_pairs() {
    let mut connection = Connection::yielding();
    let mut pairs = 0;
    while connection.probe(80, 60) == 2 * MSS {
        pairs += 1;
    }
    // Three rounds that met a queue, each of up to four pairs here.
    assert!((3..=16).contains(&pairs), "{pairs}");
    // A queue that drains is worth waiting for.
    let mut connection = Connection::yielding();
    for queue_ms in [48, 40, 32, 24, 16, 8] {
        assert_eq!(connection.probe(80, queue_ms), 2 * MSS);
    }
}

#[test]
fn a_queue_that_stays_ends_in_a_pause() {
    let mut connection = Connection::paused();
    assert_eq!(connection.probe(300, 60), PAUSE);
    assert_eq!(connection.probe(300, 70), PAUSE);
}

#[test]
fn a_probe_that_met_no_queue_opens_the_window_for_two() {
    let mut connection = Connection::paused();
    assert_eq!(connection.probe(300, 60), PAUSE);
    assert_eq!(connection.probe(300, 0), 2 * MSS);
    // The sender now has room for two packets at once, and four clean probes end the yielding.
    let mut rounds = 0;
    while connection.phase() == Phase::Yielding {
        connection.now_ms += 40;
        connection.pair(0);
        rounds += 1;
    }
    assert!(rounds == 3, "{rounds}");
}

/// Otherwise each packet would wait for a delayed ACK, time and again.
#[test]
fn after_a_delayed_ack_the_others_are_awaited() {
    let mut connection = Connection::paused();
    assert_eq!(connection.probe(300, 60), PAUSE);
    assert_eq!(connection.probe(300, 0), 2 * MSS);
    let lone = |connection: &mut Connection, delayed_ack| {
        connection.now_ms += 50;
        let segment = Segment {
            delayed_ack,
            ..connection.segment(0, 1)
        };
        connection.receiver.window(&segment)
    };
    assert_eq!(lone(&mut connection, false), 2 * MSS);
    assert_eq!(lone(&mut connection, true), PAUSE);
    assert_eq!(lone(&mut connection, true), 2 * MSS);
}

#[test]
fn a_delayed_ack_says_nothing_of_the_queue() {
    let mut connection = Connection::paused();
    assert_eq!(connection.probe(300, 60), PAUSE);
    connection.now_ms += 2000;
    let delayed_ack = Segment {
        delayed_ack: true,
        bytes: PAUSE,
        ..connection.segment(60, 0)
    };
    // The policy's pause is over: two packets trigger an ACK at once.
    assert_eq!(connection.receiver.window(&delayed_ack), 2 * MSS);
}

#[test]
fn after_a_pause_of_the_program_an_answer_is_not_paused() {
    let mut connection = Connection::paused();
    assert_eq!(connection.probe(300, 60), PAUSE);
    connection.now_ms += 5000;
    let request = Segment {
        has_data: true,
        ..connection.segment(0, 0)
    };
    assert_eq!(connection.receiver.window(&request), 10 * MSS);
    // A window update, or an ACK of our own, is not a request.
    let mut connection = Connection::paused();
    connection.probe(300, 60);
    connection.now_ms += 5000;
    let update = connection.segment(0, 0);
    assert_eq!(connection.receiver.window(&update), PAUSE);
}

/// Delivers data beyond a gap, then data that fills it with a stamp `later_ms` later.
fn fill_gap(connection: &mut Connection, later_ms: u32) -> u32 {
    connection.now_ms += 2;
    let beyond = Segment {
        gap: true,
        ..connection.segment(0, 0)
    };
    connection.receiver.window(&beyond);
    connection.now_ms += 40;
    let filled = Segment {
        tsval: beyond.tsval.wrapping_add(later_ms),
        ..connection.segment(0, 2)
    };
    connection.receiver.window(&filled) / MSS
}

#[test]
fn a_retransmission_halves_and_reordering_does_not() {
    let mut connection = Connection::settled();
    let window = connection.pair(0);
    assert_eq!(fill_gap(&mut connection, 40), window / 2);
    let mut connection = Connection::settled();
    let window = connection.pair(0);
    // The late packet was sent first.
    assert!(fill_gap(&mut connection, 0) >= window);
}

#[test]
fn a_ce_mark_halves_once_a_round_trip() {
    let mut connection = Connection::settled();
    let window = connection.pair(0);
    let marked = |connection: &mut Connection, ce| {
        connection.now_ms += 2;
        let segment = Segment {
            ce,
            ..connection.segment(0, 2)
        };
        connection.receiver.window(&segment) / MSS
    };
    // The mark stays set until the sender has answered.
    for _ in 0..10 {
        assert_eq!(marked(&mut connection, true), window / 2);
    }
    for _ in 0..40 {
        assert!(marked(&mut connection, false) >= window / 2);
    }
    let window = connection.pair(0);
    assert_eq!(marked(&mut connection, true), window / 2);
}

#[test]
fn of_stamps_that_no_clock_makes_the_round_trip_counts() {
    let mut connection = Connection::new(40);
    let mut yields_in = |queue_ms| {
        for _ in 0..1500 {
            connection.now_ms += 2;
            let segment = Segment {
                // A tick of ten milliseconds.
                tsval: connection.now_ms / 10,
                ..connection.segment(queue_ms, 2)
            };
            connection.receiver.window(&segment);
        }
        connection.receiver.report().yields
    };
    assert_eq!(yields_in(0), 0);
    assert!(yields_in(60) > 0);
}

#[test]
fn a_window_beyond_the_largest_one_is_not_asked_for() {
    let mut connection = Connection::new(40);
    for _ in 0..5000 {
        assert!(connection.pair(0) <= LIMIT / MSS);
    }
}

/// The phase of a connection that begins in a queue of 60 ms, `after_s` later than one without a queue began.
fn phase_beside_another(path: &mut Path, after_s: u32) -> Phase {
    let mut connection = Connection::new(40);
    connection.now_ms += 1000 * after_s;
    for _ in 0..300 {
        connection.now_ms += 2;
        let segment = connection.segment(60, 2);
        connection.receiver.window_on(path, &segment);
    }
    connection.phase()
}

#[test]
fn a_group_shares_the_smallest_round_trip_of_a_path() {
    let mut path = Path::default();
    assert_ne!(phase_beside_another(&mut path, 1), Phase::Yielding);
    let mut path = Path::default();
    let mut first = Connection::new(40);
    for _ in 0..20 {
        first.now_ms += 2;
        let segment = first.segment(0, 2);
        first.receiver.window_on(&mut path, &segment);
    }
    assert_eq!(phase_beside_another(&mut path, 1), Phase::Yielding);
    // The others' knowledge came from the first, and does not last for ever: the path may have changed.
    assert_eq!(phase_beside_another(&mut path, 30), Phase::Yielding);
    assert_ne!(phase_beside_another(&mut path, 90), Phase::Yielding);
}

/// The threshold of a connection that gets four packets each 40 ms, beside one that gets forty or alone.
fn threshold_of_a_small_part(mut beside: Option<Connection>) -> u32 {
    let mut path = Path::default();
    let mut small = Connection::new(40);
    for _ in 0..100 {
        for _ in 0..20 {
            if let Some(large) = &mut beside {
                large.now_ms += 2;
                let segment = large.segment(0, 2);
                large.receiver.window_on(&mut path, &segment);
            }
        }
        small.now_ms += 40;
        let segment = small.segment(0, 4);
        small.receiver.window_on(&mut path, &segment);
    }
    small.receiver.report().threshold_us
}

#[test]
fn a_group_shares_the_rate_of_a_path() {
    // One and a half packets of 10 ms, and half a tick of a millisecond.
    assert_eq!(threshold_of_a_small_part(None), 15_500);
    // 44 packets in 40 ms: one takes 909 us. One and a half of four times that.
    let shared = threshold_of_a_small_part(Some(Connection::new(40)));
    assert!((5_500..6_500).contains(&shared), "{shared} us");
}

/// Delivers a packet whose ACK waits for the timer of delayed ACKs.
fn lone(connection: &mut Connection) -> Phase {
    connection.now_ms += 80;
    let delayed_ack = Segment {
        delayed_ack: true,
        ..connection.segment(0, 1)
    };
    connection.receiver.window(&delayed_ack);
    connection.phase()
}

#[test]
fn a_small_window_without_samples_ends_in_probes() {
    let mut connection = Connection::paused();
    while connection.phase() == Phase::Yielding {
        connection.now_ms += 48;
        connection.pair(0);
    }
    while connection.phase() == Phase::SlowStart {
        connection.now_ms += 48;
        connection.pair(60);
    }
    assert_eq!(fill_gap(&mut connection, 100), 2);
    for _ in 0..7 {
        assert_ne!(lone(&mut connection), Phase::Yielding);
    }
    assert_eq!(lone(&mut connection), Phase::Yielding);
}

/// Connections of a group that yield, numbered from 1 on.
struct Yielding {
    group: Group,
    path: Path,
    connections: Vec<Connection>,
}

impl Yielding {
    fn new(count: usize) -> Self {
        Self {
            group: Group::default(),
            path: Path::default(),
            connections: (0..count).map(|_| Connection::paused()).collect(),
        }
    }

    /// Delivers a packet that waited `queue_ms`, 300 ms after the last, or the probe of a closed window, which carries
    /// no data; returns the window in bytes.
    fn deliver(&mut self, number: usize, bytes: u32, queue_ms: u32) -> u32 {
        let connection = &mut self.connections[number - 1];
        connection.now_ms += 300;
        let segment = Segment {
            bytes,
            may_close: true,
            ..connection.segment(queue_ms, 0)
        };
        let (group, path) = (&mut self.group, &mut self.path);
        connection
            .receiver
            .window_in(group, number as u32, path, &segment)
    }

    /// Delivers to all what their windows admit; returns the windows.
    fn round(&mut self, queue_ms: u32) -> Vec<u32> {
        let numbers = 1..=self.connections.len();
        let deliver = |number| self.deliver(number, PAUSE, queue_ms);
        numbers.map(deliver).collect()
    }
}

#[test]
fn two_of_a_group_probe_and_the_others_close() {
    let mut yielding = Yielding::new(5);
    assert_eq!(yielding.round(60), [PAUSE, PAUSE, 0, 0, 0]);
    assert_eq!(yielding.round(60), [PAUSE, PAUSE, 0, 0, 0]);
    // A connection that may not close its window pauses as if it were alone.
    let mut alone = Connection::paused();
    assert_eq!(alone.probe(300, 60), PAUSE);
}

#[test]
fn a_closed_window_opens_after_a_clean_probe() {
    let mut yielding = Yielding::new(3);
    yielding.round(60);
    assert_eq!(yielding.deliver(3, 0, 60), 0);
    assert_eq!(yielding.deliver(3, 0, 0), 2 * MSS);
}

#[test]
fn a_closed_window_opens_when_nobody_probes() {
    let mut yielding = Yielding::new(3);
    yielding.round(60);
    // The two that probe meet no queue any more, and take no part in the group's probing.
    assert_eq!(yielding.deliver(1, PAUSE, 0), 2 * MSS);
    assert_eq!(yielding.deliver(3, 0, 60), 2 * MSS);
}

#[test]
fn a_closed_window_opens_for_a_probe_in_turn() {
    let mut yielding = Yielding::new(3);
    yielding.round(60);
    let mut waited_ms = 0;
    while yielding.deliver(3, 0, 60) == 0 {
        waited_ms += 300;
        // The others go on. A queue that never changed would be taken for a longer path.
        let queue_ms = 40 + waited_ms * 7 % 41;
        yielding.deliver(1, PAUSE, queue_ms);
        yielding.deliver(2, PAUSE, queue_ms);
    }
    assert!((2_000..8_000).contains(&waited_ms), "{waited_ms}");
}

#[test]
fn a_prober_that_falls_silent_is_replaced() {
    let mut yielding = Yielding::new(3);
    yielding.round(60);
    let silent = yielding.connections[2].now_ms + 2_000;
    yielding.connections[2].now_ms = silent;
    assert_eq!(yielding.deliver(3, 0, 60), 2 * MSS);
}

#[test]
fn an_old_segment_opens_no_closed_window() {
    let mut yielding = Yielding::new(3);
    yielding.round(60);
    // Nothing has arrived since: the stamp is that of the latest packet.
    let closed = &mut yielding.connections[2];
    let segment = Segment {
        bytes: 0,
        now_us: 1000 * (closed.now_ms + 200),
        ..closed.segment(60, 0)
    };
    assert_eq!(closed.receiver.window(&segment), 0);
}

/// The stack's window grows only as data arrive: what opens a closed one has to be there before.
#[test]
fn a_window_that_cannot_open_at_once_stays_open() {
    let mut yielding = Yielding::new(3);
    yielding.deliver(1, PAUSE, 60);
    yielding.deliver(2, PAUSE, 60);
    let third = &mut yielding.connections[2];
    third.now_ms += 300;
    let segment = Segment {
        bytes: PAUSE,
        bound_bytes: PAUSE,
        may_close: true,
        ..third.segment(60, 0)
    };
    assert_eq!(third.receiver.window(&segment), 2 * MSS);
    assert_eq!(yielding.deliver(3, PAUSE, 60), 0);
}

/// A gap that later data show must not keep a probe from opening the window.
#[test]
fn a_closed_window_opens_although_data_is_missing() {
    let mut yielding = Yielding::new(3);
    yielding.round(60);
    let closed = &mut yielding.connections[2];
    closed.now_ms += 300;
    let segment = Segment {
        gap: true,
        may_close: true,
        ..closed.segment(0, 0)
    };
    assert_eq!(closed.receiver.window(&segment), 2 * MSS);
}

/// The queue may be that of the group's own connections: none closes its window, and a closed one opens.
#[test]
fn no_window_is_closed_while_one_of_the_group_is_busy() {
    let mut yielding = Yielding::new(3);
    assert_eq!(yielding.round(60), [PAUSE, PAUSE, 0]);
    let mut busy = Connection::settled();
    busy.now_ms = yielding.connections[2].now_ms + 290;
    let segment = busy.segment(0, 2);
    let (group, path) = (&mut yielding.group, &mut Path::default());
    busy.receiver.window_in(group, 4, path, &segment);
    assert_eq!(yielding.deliver(3, 0, 60), 2 * MSS);
}
