// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever a path does, every byte arrives once, in order, within the window, and nothing hangs.

use netnice_tcp::{DelayedAck, Opener, ReceiverConfig, Recovery, SenderConfig, TimeoutConfig};
use proptest::prelude::*;
use std::time::Duration;

use crate::pipe::{ARRIVES, Fate, Pipe};

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        6 => Just(ARRIVES),
        2 => Just(Fate::Lost),
        1 => (1u64..200).prop_map(|ms| Fate::Late(Duration::from_millis(ms))),
        1 => Just(Fate::Twice),
    ];
    proptest::collection::vec(fate, 0..150)
}

prop_compose! {
    fn ends()(
        recovery in prop_oneof![Just(Recovery::Reno), Just(Recovery::NewReno), Just(Recovery::Sack)],
        (limited_transmit, impatient, rescue_retransmission, prr, rack) in any::<(bool, bool, bool, bool, bool)>(),
        (duplicate_sack, linux, pacing) in any::<(bool, bool, bool)>(),
        (timestamps, handshake, by_receiver, delayed) in any::<(bool, bool, bool, bool)>(),
        mss in 100u32..1500,
        initial_window in 1u32..12,
        window in 100u32..60_000,
        window_scale in 0u8..8,
        tick_ms in 0u64..20,
    ) -> (SenderConfig, ReceiverConfig) {
        let opener = if by_receiver { Opener::Receiver } else { Opener::Sender };
        let timeout = TimeoutConfig {
            rtt_tick: Duration::from_millis(tick_ms),
            ..TimeoutConfig::default()
        };
        (
            SenderConfig {
                mss, initial_window, recovery, limited_transmit, impatient, rescue_retransmission, prr, rack, linux, pacing,
                timestamps, opener, handshake, timeout,
                // Without a handshake the sender does not know the receive window at first.
                max_window: if handshake { u32::MAX } else { (window / mss).max(1) },
                ..SenderConfig::default()
            },
            ReceiverConfig {
                window, window_scale, timestamps, opener, handshake, timeout,
                duplicate_sack,
                sack: recovery == Recovery::Sack,
                delayed_ack: delayed.then(DelayedAck::default),
                ..ReceiverConfig::default()
            },
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_byte_arrives_once_in_order(
        (sender, receiver) in ends(),
        bytes in 0u64..100_000,
        data_fates in fates(),
        ack_fates in fates(),
        late_close in any::<bool>(),
    ) {
        let fate = |fates: Vec<Fate>| move |number: usize, _: &_| *fates.get(number).unwrap_or(&ARRIVES);
        let mut pipe = Pipe::new(sender, receiver, 20)
            .data_fate(fate(data_fates))
            .ack_fate(fate(ack_fates));
        pipe.limit = Some(u64::from(receiver.window.max(sender.mss)));
        pipe.sender.supply(bytes / 2);
        pipe.open();
        if late_close {
            for _ in 0..30 {
                pipe.step();
            }
        }
        pipe.sender.supply(bytes - bytes / 2);
        pipe.sender.close();
        pipe.pump();
        pipe.run_until_finished();
        prop_assert_eq!(pipe.receiver.goodput_bytes(), bytes);
        prop_assert_eq!(pipe.sender.statistics().bytes, bytes);
        prop_assert_eq!(pipe.sender.statistics().acked_bytes, bytes);
        prop_assert_eq!(pipe.sender.in_flight(), 0);
        // Only segments on their way are left.
        while pipe.step() {}
        prop_assert_eq!(pipe.receiver.goodput_bytes(), bytes);
        prop_assert_eq!(pipe.sender.next_timer(), None);
        prop_assert_eq!(pipe.receiver.next_timer(), None);
    }
}
