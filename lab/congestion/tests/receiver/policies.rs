// SPDX-License-Identifier: MIT OR Apache-2.0
//! rLEDBAT and TCP-LP at the receiving end: single arrivals, by numbers computed by hand. Times are whole ticks of the
//! timestamps, and the path takes 40 ms both ways without a queue.

use netnice_congestion::netnice_receiver::{Advertised, Segment};
use netnice_congestion::receivers::{self, Opening, ReceiverPolicy};
use netnice_parameters::ControlParameters;
use netnice_parameters::exchange::Signal;

use super::arrivals::{MSS, RTT_MS, arriving};

struct Connection {
    policy: Box<dyn ReceiverPolicy>,
    now_ms: u32,
}

impl Connection {
    /// A handshake has just offered room for ten packets.
    fn new(receiver: &str) -> Connection {
        let now_ms = 5_000;
        let wanted = receivers::wanted(receiver, &ControlParameters::new()).expect("it exists");
        let policy = wanted.open(Opening {
            window_bytes: 10 * MSS,
            mss: MSS,
            now_us: 1000 * now_ms,
            timestamps: true,
            member: None,
        });
        Connection { policy, now_ms }
    }

    fn segment(&self, queue_ms: u32, packets: u32) -> Segment {
        arriving(self.now_ms, queue_ms, packets)
    }

    fn take(&mut self, segment: &Segment) -> u32 {
        self.policy.window(segment, &Advertised::default()) / MSS
    }

    /// Delivers two packets that waited `queue_ms`, 2 ms after the last; returns the window in packets.
    fn pair(&mut self, queue_ms: u32) -> u32 {
        self.now_ms += 2;
        self.take(&self.segment(queue_ms, 2))
    }

    fn pairs(&mut self, number: u32, queue_ms: u32) -> u32 {
        let windows = (0..number).map(|_| self.pair(queue_ms));
        windows.last().expect("there is one")
    }

    /// A packet beyond a gap, and 2 ms later what fills it, sent `sent_later_ms` after the packet.
    fn gap_filled(&mut self, sent_later_ms: u32) -> u32 {
        self.now_ms += 2;
        let beyond = Segment {
            gap: true,
            ..self.segment(0, 0)
        };
        self.take(&beyond);
        self.now_ms += 2;
        self.take(&Segment {
            tsval: beyond.tsval + sent_later_ms,
            ..self.segment(0, 2)
        })
    }
}

/// LEDBAT++: GAIN = 1 / min(16, ceil(2 * TARGET / base)) = 1 / ceil(120 ms / 40 ms) = 1/3; slow start adds GAIN for each
/// packet.
#[test]
fn rledbat_opens_by_ledbatpps_gain() {
    let mut connection = Connection::new("rledbat");
    let windows: Vec<u32> = (0..7).map(|_| connection.pair(0)).collect();
    // 10 + 2/3, + 4/3, + 6/3 less a rounding of 2/65536, ...
    assert_eq!(windows, [10, 11, 11, 12, 13, 13, 14]);
}

/// Slow start ends above three quarters of the target: 45 ms of 60.
#[test]
fn rledbat_leaves_slow_start_at_three_quarters() {
    for (queue_ms, stays) in [(45, true), (46, false)] {
        let mut connection = Connection::new("rledbat");
        let first = connection.pairs(30, 0);
        // 20 packets in slow start bring 6; the smallest of four samples counts.
        let last = connection.pairs(10, queue_ms);
        assert_eq!(last >= first + 6, stays, "{queue_ms} ms: {first} {last}");
    }
}

/// LEDBAT++ never goes below two packets.
#[test]
fn rledbat_keeps_two_packets() {
    let mut connection = Connection::new("rledbat");
    connection.pairs(100, 0);
    let mut least = u32::MAX;
    for queue_ms in [60, 120, 600, 120, 200] {
        for _ in 0..500 {
            least = least.min(connection.pair(queue_ms));
        }
    }
    assert_eq!(least, 2);
    assert_eq!(connection.pair(200), 2);
}

/// LEDBAT++: two round trips after slow start, two packets for two round trips.
#[test]
fn rledbat_slows_down_after_slow_start() {
    let mut connection = Connection::new("rledbat");
    let before = connection.pairs(30, 0);
    connection.pairs(5, 50);
    // Two smoothed round trips of 40 to 90 ms.
    let windows: Vec<u32> = (0..200).map(|_| connection.pair(0)).collect();
    let began = windows.iter().position(|&window| window == 2);
    let began = began.expect("it slows down");
    assert!((2 * began as u32) < 2 * (RTT_MS + 50), "{windows:?}");
    assert!(windows[..began].iter().all(|&window| window >= before));
    let frozen = windows[began..].iter().take_while(|&&window| window == 2);
    let frozen_ms = 2 * frozen.count() as u32;
    assert!(frozen_ms >= 2 * RTT_MS, "{windows:?}");
    // Slow start restores it, at 2/3 of a packet for each two.
    assert!(windows.last() >= Some(&before), "{windows:?}");
}

/// RFC 9840 section 4.3: a packet below the highest sequence number with a later TSval was retransmitted; the window is
/// halved at most once per round trip, in which it does not change otherwise.
#[test]
fn rledbat_halves_once_per_round_trip_for_losses() {
    let mut connection = Connection::new("rledbat");
    assert_eq!(connection.pairs(4, 0), 12);
    assert_eq!(connection.gap_filled(1), 6);
    assert_eq!(connection.gap_filled(1), 6);
    assert_eq!(connection.pairs(5, 0), 6);
    connection.now_ms += RTT_MS;
    assert_eq!(connection.gap_filled(1), 3);
    connection.now_ms += RTT_MS;
    assert_eq!(connection.gap_filled(1), 2);
    connection.now_ms += RTT_MS;
    assert_eq!(connection.gap_filled(1), 2);
}

/// The same TSval, or an earlier one: the packets were reordered.
#[test]
fn rledbat_takes_reordering_for_no_loss() {
    let mut connection = Connection::new("rledbat");
    assert_eq!(connection.pairs(4, 0), 12);
    assert_eq!(connection.gap_filled(0), 13);
}

#[test]
fn a_mark_counts_as_a_loss_until_the_sender_answers() {
    let mut connection = Connection::new("rledbat");
    assert_eq!(connection.pairs(4, 0), 12);
    for _ in 0..40 {
        connection.now_ms += 2;
        let marked = Segment {
            ce: true,
            ..connection.segment(0, 2)
        };
        let window = connection.take(&marked);
        assert!((6..12).contains(&window), "{window}");
    }
}

/// The packet of a delayed ACK has waited here: that is no queue.
#[test]
fn delayed_acks_give_no_sample() {
    let mut connection = Connection::new("rledbat");
    connection.pairs(4, 0);
    for _ in 0..8 {
        connection.now_ms += 2;
        let late = Segment {
            delayed_ack: true,
            ..connection.segment(100, 2)
        };
        connection.take(&late);
    }
    // Twelve pairs bring 8 packets in slow start.
    assert_eq!(connection.pair(0), 10 + 26 / 3);
}

/// Two packets in a round trip are less than the window of ten allows.
#[test]
fn a_window_that_is_not_filled_does_not_grow() {
    for receiver in ["rledbat", "tcplp", "hstcplp"] {
        let mut connection = Connection::new(receiver);
        for _ in 0..50 {
            connection.now_ms += RTT_MS + 10;
            let window = connection.take(&connection.segment(0, 2));
            assert_eq!(window, 10, "{receiver}");
        }
    }
}

#[test]
fn the_buffer_limits_the_window() {
    for receiver in ["rledbat", "tcplp", "hstcplp"] {
        let mut connection = Connection::new(receiver);
        let most = (0..200).map(|_| {
            connection.now_ms += 2;
            let segment = Segment {
                limit_bytes: 20 * MSS,
                ..connection.segment(0, 2)
            };
            connection.take(&segment)
        });
        assert_eq!(most.max(), Some(20), "{receiver}");
    }
}

/// A TCP-LP receiver that has met 100 ms of queue, in congestion avoidance and with an empty queue: the threshold is
/// 0.15 * 100 ms.
fn settled_tcplp() -> Connection {
    let mut connection = Connection::new("tcplp");
    connection.pairs(20, 0);
    connection.pairs(2, 100);
    connection.gap_filled(1);
    connection.pairs(300, 0);
    connection
}

/// LP03, equations 1 and 2: of 50 ms the average is 6.25, 11.7 and 16.5 ms; the third is over 15 ms.
#[test]
fn tcplp_halves_by_its_equations() {
    let mut connection = settled_tcplp();
    connection.pair(50);
    let before = connection.pair(50);
    assert!(before > 10, "{before}");
    assert_eq!(connection.pair(50), before / 2);
    // A second indication within the inference time-out of three round trips.
    let windows: Vec<u32> = (0..60).map(|_| connection.pair(50)).collect();
    assert_eq!(windows.last(), Some(&1), "{windows:?}");
    assert_eq!(connection.policy.report().signal(), Signal::OneWayDelay);
}

/// The server's own window keeps 40 packets under way, and none is lost: slow start would last for ever. RttThresh of
/// RFC 9406 is 40 ms / 8 = 5 ms.
#[test]
fn slow_start_ends_without_a_loss() {
    for receiver in ["tcplp", "hstcplp"] {
        for (queue_ms, yields) in [(4, false), (7, true)] {
            let mut connection = Connection::new(receiver);
            let opened = connection.pairs(200, 0);
            // It stops to grow when less than half of it arrives in a round trip.
            assert!((80..=130).contains(&opened), "{opened}");
            let window = connection.pairs(200, queue_ms);
            let expected = if yields { 1 } else { opened };
            assert_eq!(window, expected, "{receiver}, {queue_ms} ms");
        }
    }
}

/// A queue on the way back lengthens round trips, not the one-way delays of the data.
#[test]
fn tcplp_ignores_a_queue_on_the_way_back() {
    let mut connection = settled_tcplp();
    let before = connection.pair(0);
    for _ in 0..100 {
        connection.now_ms += 2;
        let mut segment = connection.segment(0, 2);
        segment.rtt_us += 50_000;
        let window = connection.take(&segment);
        assert!(window >= before, "{window} {before}");
    }
}
