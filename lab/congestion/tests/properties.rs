// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties that hold for every control under any events.

use netnice_congestion::congestion_control::{Ack, CaState, Congestion, Window};
use netnice_congestion::registry;
use netnice_parameters::{ControlParameters, Kind, Value};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Event {
    Ack {
        after_us: u64,
        rtt_us: Option<u64>,
        acked: u32,
        timestamps: bool,
        cwnd_limited: bool,
        app_limited: bool,
    },
    Loss,
    Timeout,
    Echo {
        in_profile: bool,
    },
    RecoveryEnd,
    Restart {
        after_ms: u64,
    },
}

fn event() -> impl Strategy<Value = Event> {
    let ack = (
        0u64..200_000,
        prop::option::weighted(0.9, 1u64..3_000_000),
        1u32..200,
        any::<bool>(),
        any::<bool>(),
        prop::bool::weighted(0.1),
    )
        .prop_map(
            |(after_us, rtt_us, acked, timestamps, cwnd_limited, app_limited)| Event::Ack {
                after_us,
                rtt_us,
                acked,
                timestamps,
                cwnd_limited,
                app_limited,
            },
        );
    prop_oneof![
        40 => ack,
        2 => Just(Event::Loss),
        1 => Just(Event::Timeout),
        2 => any::<bool>().prop_map(|in_profile| Event::Echo { in_profile }),
        2 => Just(Event::RecoveryEnd),
        1 => (0u64..100_000).prop_map(|after_ms| Event::Restart { after_ms }),
    ]
}

/// Returns any allowed parameters: each at its default, minimum, or maximum. Switches that replace another parameter
/// stay.
fn parameters(name: &str, choices: &[u8]) -> ControlParameters {
    let mut parameters = ControlParameters::new();
    let known = registry::parameters(name).expect("the control exists");
    for (parameter, choice) in known.zip(choices) {
        let value: Value = match (parameter.kind, choice % 3) {
            (Kind::Number { least, .. }, 1) => least.into(),
            (Kind::Number { most, .. }, 2) => most.into(),
            (Kind::Whole { least, .. }, 1) => least.into(),
            (Kind::Whole { most, .. }, 2) => most.into(),
            (Kind::Switch { default }, 1) => (!default).into(),
            (kind, _) => kind.default(),
        };
        let replaces = parameter.instead_of.is_some() && value != parameter.kind.default();
        if !replaces {
            parameters.set(parameter.name, value);
        }
    }
    parameters
}

/// Drives a control as a sender does, and checks its window after every step.
fn drive(name: &str, choices: &[u8], events: &[Event]) -> Result<(), TestCaseError> {
    let mut control =
        registry::create(name, &parameters(name, choices)).expect("the parameters are allowed");
    let mut window = Window {
        cwnd: 2.0,
        ssthresh: f64::INFINITY,
    };
    let (mut now_ns, mut delivered, mut min_rtt_ns) = (1_000_000_000u64, 0u64, 0u64);
    let mut smoothed_rtt_ns = 0;
    let mut ca_state = CaState::Open;
    let mut lost = 0;
    for event in events {
        let in_flight = (window.cwnd as u32).clamp(1, 1_000_000);
        let congestion = Congestion {
            now_ns,
            in_flight,
            smoothed_rtt_ns,
            min_rtt_ns,
        };
        match *event {
            Event::Ack {
                after_us,
                rtt_us,
                acked,
                timestamps,
                cwnd_limited,
                app_limited,
            } => {
                now_ns += after_us * 1000;
                let acked = acked.min(in_flight);
                if let Some(rtt_us) = rtt_us {
                    let rtt_ns = rtt_us * 1000;
                    smoothed_rtt_ns = if smoothed_rtt_ns == 0 {
                        rtt_ns
                    } else {
                        (7 * smoothed_rtt_ns + rtt_ns) / 8
                    };
                    min_rtt_ns = if min_rtt_ns == 0 {
                        rtt_ns
                    } else {
                        min_rtt_ns.min(rtt_ns)
                    };
                }
                let prior_delivered = delivered.saturating_sub((in_flight - acked).into());
                delivered += u64::from(acked);
                let before = window;
                control.on_ack(
                    &Ack {
                        now_ns,
                        rtt_ns: rtt_us.map(|rtt_us| rtt_us * 1000),
                        retransmitted: acked % 2 == 1,
                        smoothed_rtt_ns,
                        min_rtt_ns,
                        tsval: timestamps.then_some((now_ns / 1_000_000) as u32),
                        tsecr: timestamps.then_some((now_ns / 1_000_000) as u32),
                        acked,
                        newly_lost: 0,
                        marked: if timestamps { acked } else { 0 },
                        in_flight: in_flight - acked,
                        prior_in_flight: in_flight,
                        lost,
                        next_send_ns: now_ns + after_us,
                        delivered,
                        prior_delivered,
                        rate_delivered: (delivered - prior_delivered) as u32,
                        rate_interval_ns: rtt_us.unwrap_or(0) * 1000,
                        ca_state,
                        may_grow: ca_state != CaState::Recovery,
                        cwnd_limited,
                        app_limited,
                    },
                    &mut window,
                );
                if ca_state == CaState::Recovery && !control.governs_recovery() {
                    prop_assert_eq!(before.cwnd, window.cwnd, "recovery is the sender's");
                }
            }
            Event::Loss => {
                lost += 1;
                control.on_loss(&congestion, &mut window);
                prop_assert!(window.ssthresh >= 2.0, "{} after a loss", window.ssthresh);
                if !control.governs_recovery() {
                    window.cwnd = window.ssthresh;
                }
                ca_state = CaState::Recovery;
            }
            Event::Timeout => {
                lost += u64::from(in_flight);
                let before = window.ssthresh;
                control.on_timeout(&congestion, &mut window);
                prop_assert!(
                    window.ssthresh >= 2.0 || window.ssthresh == before,
                    "{} after an RTO",
                    window.ssthresh
                );
                window.cwnd = 1.0;
                ca_state = CaState::Loss;
            }
            Event::Echo { in_profile } => {
                let before = window.cwnd;
                control.on_ecn_echo(&congestion, in_profile, &mut window);
                prop_assert!(window.cwnd <= before.max(2.0), "an echo opens no window");
            }
            Event::RecoveryEnd => {
                if ca_state != CaState::Open {
                    control.on_recovery_end(now_ns, &mut window);
                }
                ca_state = CaState::Open;
            }
            Event::Restart { after_ms } => {
                now_ns += after_ms * 1_000_000;
                control.on_restart(now_ns, &mut window);
            }
        }
        prop_assert!(
            window.cwnd >= 1.0 && window.cwnd.is_finite(),
            "cwnd {} after {event:?}",
            window.cwnd
        );
        prop_assert!(
            window.ssthresh >= 1.0,
            "ssthresh {} after {event:?}",
            window.ssthresh
        );
        prop_assert!(control.pacing_burst_packets() >= 1);
        if let Some(interval_ns) = control.pacing_interval_ns(&window, smoothed_rtt_ns) {
            prop_assert!(interval_ns < 60_000_000_000, "a pause of {interval_ns} ns");
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn windows_stay_finite_and_at_least_a_packet(
        choices in prop::collection::vec(0u8..3, 8),
        events in prop::collection::vec(event(), 1..400),
    ) {
        for name in registry::names() {
            drive(name, &choices, &events)?;
        }
    }
}
