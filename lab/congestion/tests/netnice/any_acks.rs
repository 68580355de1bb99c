// SPDX-License-Identifier: MIT OR Apache-2.0
//! Upper bound on the increase of the window by any ACK.

use proptest::prelude::*;

use super::*;

/// Packets: `NETNICE_TRAIN_LIMIT`.
const LONGEST_TRAIN: u32 = 32;

/// An ACK that a peer and a path may cause.
#[derive(Debug, Clone)]
enum AnyAck {
    /// An ACK of a valid connection, on a path with any queue.
    Sound {
        after_us: u32,
        queue_us: u32,
        packet_us: u32,
        acked: u32,
        in_flight: Option<u32>,
        flags: u8,
    },
    /// An ACK with values of no valid connection.
    Wild {
        times: [u32; 4],
        counts: [u32; 4],
        acked: u8,
        flags: u8,
    },
}

fn any_ack() -> impl Strategy<Value = AnyAck> {
    // The state is mostly open, since the window does not move in recovery.
    let flags = || prop_oneof![9 => Just(1u8), 1 => any::<u8>()];
    let queue_us = prop_oneof![3 => Just(0u32), 2 => 0u32..4_000, 1 => 0u32..200_000];
    let in_flight = prop::option::weighted(0.2, 0u32..400);
    let sound = (
        0u32..200_000,
        queue_us,
        100u32..5_000,
        1u32..256,
        in_flight,
        flags(),
    )
        .prop_map(
            |(after_us, queue_us, packet_us, acked, in_flight, flags)| AnyAck::Sound {
                after_us,
                queue_us,
                packet_us,
                acked,
                in_flight,
                flags,
            },
        );
    let wild = (any::<[u32; 4]>(), any::<[u32; 4]>(), any::<u8>(), flags()).prop_map(
        |(times, counts, acked, flags)| AnyAck::Wild {
            times,
            counts,
            acked,
            flags,
        },
    );
    prop_oneof![19 => sound, 1 => wild]
}

/// Returns the next ACK on `connection`.
fn next_ack(connection: &mut Connection, any: &AnyAck) -> Ack {
    let (mut ack, flags) = match *any {
        AnyAck::Sound {
            after_us,
            queue_us,
            packet_us,
            acked,
            in_flight,
            flags,
        } => {
            connection.now_us = connection.now_us.wrapping_add(after_us);
            connection.delivered = connection.delivered.wrapping_add(acked);
            let in_flight = in_flight.unwrap_or(connection.cwnd.saturating_sub(acked));
            let ack = Ack {
                now_us: connection.now_us,
                sample_rtt_us: MINIMUM_RTT_US + queue_us,
                tsval: connection.now_us.wrapping_sub(MINIMUM_RTT_US / 2) / 1000,
                acked,
                in_flight,
                delivered: connection.delivered,
                prior_delivered: connection.delivered.wrapping_sub(in_flight + acked),
                rate_delivered: 10,
                rate_interval_us: 10 * packet_us,
                ..Ack::default()
            };
            (ack, flags)
        }
        AnyAck::Wild {
            times: [now_us, sample_rtt_us, tsval, rate_interval_us],
            counts: [in_flight, delivered, prior_delivered, rate_delivered],
            acked,
            flags,
        } => {
            connection.now_us = now_us;
            connection.delivered = delivered;
            let ack = Ack {
                now_us,
                sample_rtt_us,
                tsval,
                acked: acked.into(),
                in_flight,
                delivered,
                prior_delivered,
                rate_delivered,
                rate_interval_us,
                ..Ack::default()
            };
            (ack, flags)
        }
    };
    ack.cwnd = connection.cwnd;
    ack.has_timestamp = flags & 1 != 0;
    ack.stamp_lead = u8::from(flags & 32 != 0);
    ack.stamp_back = flags & 64 != 0;
    ack.ca_state = match flags & 6 {
        0 => CaState::Open,
        2 => CaState::Recovery,
        _ => CaState::Loss,
    };
    ack.app_limited = flags & 8 != 0;
    ack.retransmitted = flags & 16 != 0;
    ack
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// An ACK opens the window by at most the data it acknowledges, as in slow start (RFC 5681, equation 2), or towards
    /// an earlier window of the connection. While yielding it has room for two of the longest trains; that is no earlier window.
    #[test]
    fn no_ack_opens_the_window_by_more_than_it_covers(
        acks in prop::collection::vec(any_ack(), 1..200),
        handshake_us in any::<u32>(),
    ) {
        let mut connection = Connection::new(10);
        connection.control.on_handshake(Duration::from_micros(handshake_us.into()));
        let mut largest = connection.cwnd;
        for any in &acks {
            let ack = next_ack(&mut connection, any);
            let after = connection.control.on_ack(&ack);
            prop_assert!(after >= 1);
            let yields = connection.phase() == Phase::Yielding;
            let probe = if yields { 2 * LONGEST_TRAIN } else { 0 };
            // Of a window for probes at most this counts as one.
            let before = ack.cwnd.min(largest);
            let most = largest.max(before + ack.acked).max(probe);
            prop_assert!(after <= most, "from {} to {after}, at most {most}", ack.cwnd);
            if !yields {
                largest = largest.max(after);
            }
            connection.cwnd = after;
        }
    }
}
