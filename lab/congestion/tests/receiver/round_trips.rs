// SPDX-License-Identifier: MIT OR Apache-2.0
//! Round trips of connections without timestamps, on numbers worked out by hand.

use netnice_congestion::netnice_receiver::{Advertised, Receiver, RoundTrip, Segment};
use netnice_parameters::exchange::Parameters;

const MSS: u32 = 1448;
const LIMIT: u32 = 1 << 20;
/// Smallest window clamp in bytes.
const PAUSE: u32 = 1152;

/// A connection that has offered ten packets, of which none has come. Sequence numbers wrap on the way.
struct Connection {
    receiver: Receiver,
    trip: RoundTrip,
    now_ms: u32,
    received: u32,
    edge: u32,
}

impl Connection {
    fn new() -> Self {
        let received = 0u32.wrapping_sub(5 * MSS);
        Self {
            receiver: Receiver::new(&Parameters::default(), 10 * MSS, MSS, 5_000_000),
            trip: RoundTrip::default(),
            now_ms: 5_000,
            received,
            edge: received.wrapping_add(10 * MSS),
        }
    }

    /// Data arrive at `at_ms`, counted from the connection's beginning; what the policy is asked.
    fn arrive(&mut self, at_ms: u32, bytes: u32, change: impl Fn(&mut Segment)) -> Segment {
        self.now_ms = 5_000 + at_ms;
        self.received = self.received.wrapping_add(bytes);
        let mut segment = Segment {
            now_us: 1000 * self.now_ms,
            bytes,
            mss: MSS,
            limit_bytes: LIMIT,
            bound_bytes: LIMIT,
            ..Segment::default()
        };
        change(&mut segment);
        let advertised = Advertised {
            left_us: segment.now_us,
            received: self.received,
            edge: self.edge,
        };
        self.receiver
            .time(&mut self.trip, &mut segment, &advertised);
        segment
    }

    /// Packets arrive, and the segment that leaves moves the edge by as many.
    fn packets(&mut self, at_ms: u32, packets: u32) -> Segment {
        let segment = self.arrive(at_ms, packets * MSS, |_| ());
        self.edge = self.edge.wrapping_add(packets * MSS);
        segment
    }

    /// Packets arrive, or data beyond a gap, and the policy answers; what it was asked.
    fn answer(&mut self, at_ms: u32, packets: u32, gap: bool) -> Segment {
        let segment = self.arrive(at_ms, packets * MSS, |segment| segment.gap = gap);
        self.edge = self.received.wrapping_add(self.receiver.window(&segment));
        segment
    }

    /// Ten packets over a path of 40 ms, a pair each 2 ms, and the next one's first pair.
    fn timed() -> Self {
        let mut connection = Self::new();
        for pair in 0..5 {
            assert_eq!(connection.packets(2 * pair, 2).rtt_us, 0);
        }
        assert_eq!(connection.packets(40, 2).rtt_us, 40_000);
        connection
    }
}

#[test]
fn data_beyond_the_edge_took_a_round_trip() {
    let mut connection = Connection::timed();
    // The second pair's edge was offered at 2 ms, the third pair's at 4 ms.
    let segment = connection.packets(42, 2);
    assert_eq!((segment.rtt_us, segment.tsval), (40_000, 5_002_000));
    let segment = connection.packets(49, 2);
    assert_eq!((segment.rtt_us, segment.tsval), (45_000, 5_004_000));
}

#[test]
fn one_packet_of_two_leaves_the_sample_to_the_next() {
    let mut connection = Connection::new();
    connection.packets(0, 2);
    connection.packets(2, 2);
    // Of the ten packets that were offered at first, the last six: none is beyond the edge.
    assert_eq!(connection.packets(10, 6).rtt_us, 0);
    assert_eq!(connection.packets(41, 1).rtt_us, 41_000);
}

/// Of several edges that a large arrival crosses, the newest let the last packet go.
#[test]
fn the_newest_edge_counts() {
    let mut connection = Connection::new();
    for pair in 0..5 {
        connection.packets(2 * pair, 2);
    }
    // Edges of 10, 12 and 14 packets, offered at 0, 2 and 4 ms.
    assert_eq!(connection.packets(46, 6).rtt_us, 42_000);
}

#[test]
fn an_edge_that_stays_counts_from_the_last_segment() {
    let mut connection = Connection::new();
    connection.arrive(0, 2 * MSS, |_| ());
    connection.arrive(7, 2 * MSS, |_| ());
    connection.edge = connection.edge.wrapping_add(2 * MSS);
    connection.packets(9, 6);
    assert_eq!(connection.packets(50, 2).rtt_us, 43_000);
}

#[test]
fn what_a_persist_timer_sends_gives_no_sample() {
    let mut connection = Connection::timed();
    // All that was offered has come, but for a room of less than a packet.
    connection.received = connection.edge.wrapping_sub(PAUSE);
    let segment = connection.arrive(300, PAUSE, |_| ());
    assert_eq!(segment.rtt_us, 0);
    // The policy's window is open already: it waits for the packets that the stack lets come only now.
    assert_eq!(segment.bytes, 0);
    connection.edge = connection.edge.wrapping_add(2 * MSS);
    let segment = connection.packets(345, 2);
    assert_eq!((segment.rtt_us, segment.bytes), (45_000, 2 * MSS));
}

#[test]
fn a_delayed_ack_gives_no_sample() {
    let mut connection = Connection::timed();
    let segment = connection.arrive(90, MSS, |segment| segment.delayed_ack = true);
    assert_eq!(segment.rtt_us, 40_000);
}

#[test]
fn what_was_offered_before_a_silence_gives_no_sample() {
    let mut connection = Connection::timed();
    // The sender had nothing to send: 1000 ms are no queue.
    assert_eq!(connection.packets(1_000, 2).rtt_us, 40_000);
    for pair in 1..5 {
        assert_eq!(connection.packets(1_000 + 2 * pair, 2).rtt_us, 40_000);
    }
    // Those five pairs have used up the ten packets that were open before; the next one could leave only since 1000 ms.
    assert_eq!(connection.packets(1_041, 2).rtt_us, 41_000);
}

/// Of a small window, a long queue makes each round trip a silence.
#[test]
fn a_silence_after_a_silence_is_a_round_trip() {
    let mut connection = Connection::timed();
    // The window is two packets from here on.
    connection.received = connection.edge.wrapping_sub(2 * MSS);
    assert_eq!(connection.packets(80, 2).rtt_us, 40_000);
    assert_eq!(connection.packets(230, 2).rtt_us, 40_000);
    assert_eq!(connection.packets(380, 2).rtt_us, 150_000);
}

/// `receiver.h` takes a packet for retransmitted whose stamp is later than what lay beyond the gap.
#[test]
fn only_a_gap_of_half_a_round_trip_is_a_loss() {
    for (fills_after_ms, is_loss) in [(19, false), (21, true)] {
        let mut connection = Connection::new();
        for at_ms in [0, 2, 4, 6, 8, 40, 42, 44] {
            connection.answer(at_ms, 2, false);
        }
        let beyond = connection.answer(46, 0, true);
        assert_eq!(beyond.rtt_us, 40_000);
        let fills = connection.answer(46 + fills_after_ms, 2, false);
        assert_eq!(fills.tsval > beyond.tsval, is_loss, "{fills:?}");
        // The data beyond the gap had come earlier.
        assert_eq!(fills.rtt_us, 40_000);
    }
}
