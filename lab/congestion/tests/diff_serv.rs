// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP for Diff-Serv against the paper's equations, computed by hand.

use netnice_congestion::congestion_control::{Ack, Congestion, CongestionControl, Window};
use netnice_congestion::dstcp::{self, DsTcp};
use netnice_congestion::registry;
use netnice_parameters::ControlParameters;

const MILLISECOND: u64 = 1_000_000;

fn create(parameters: &ControlParameters) -> Box<dyn CongestionControl> {
    registry::create("dstcp", parameters).expect("the parameters are allowed")
}

fn ack(rtt_ms: u64) -> Ack {
    Ack {
        smoothed_rtt_ns: rtt_ms * MILLISECOND,
        min_rtt_ns: rtt_ms * MILLISECOND,
        acked: 1,
        cwnd_limited: true,
        ..Ack::default()
    }
}

/// Counts the ACKs until a window of `cwnd` packets has grown by one.
fn acks_for_a_packet(parameters: &ControlParameters, cwnd: f64, rtt_ms: u64) -> u32 {
    let mut control = create(parameters);
    let mut window = Window {
        cwnd,
        ssthresh: 2.0,
    };
    let mut acks = 0;
    while window.cwnd == cwnd {
        control.on_ack(&ack(rtt_ms), &mut window);
        acks += 1;
    }
    assert_eq!(window.cwnd, cwnd + 1.0);
    acks
}

#[test]
fn policy_1_opens_by_c_rtt_packets_a_round_trip() {
    let parameters = ControlParameters::new()
        .with("policy", 1u32)
        .with("c", 100u32);
    // 100 * 0.1 s = 10 packets per round trip: a packet for every tenth of the window.
    assert_eq!(acks_for_a_packet(&parameters, 100.0, 100), 10);
    assert_eq!(acks_for_a_packet(&parameters, 100.0, 50), 20);
    // The window grows meanwhile, so that 100 ACKs bring 9 packets: 100 + 101 + ... + 108 = 936 of the 1000 tenths.
    let mut control = create(&parameters);
    let mut window = Window {
        cwnd: 100.0,
        ssthresh: 2.0,
    };
    for _ in 0..100 {
        control.on_ack(&ack(100), &mut window);
    }
    assert_eq!(window.cwnd, 109.0);
}

#[test]
fn policy_2_opens_by_c_rtt_squared_packets_a_round_trip() {
    let parameters = ControlParameters::new().with("c", 100u32);
    // 100 * 0.1^2 = 1: as Reno.
    assert_eq!(acks_for_a_packet(&parameters, 50.0, 100), 50);
    // 100 * 0.08^2 = 0.64: 50 / 0.64 = 78.1.
    assert_eq!(acks_for_a_packet(&parameters, 50.0, 80), 79);
    // 100 * 0.03^2 = 0.09: 50 / 0.09 = 555.6.
    assert_eq!(acks_for_a_packet(&parameters, 50.0, 30), 556);
    // 100 * 1^2 = 100 would be ten times slow start's rate: it is slow start's.
    assert_eq!(acks_for_a_packet(&parameters, 10.0, 1000), 1);
}

#[test]
fn table_5_sets_c_by_the_smallest_round_trip() {
    let parameters = ControlParameters::new().with("classes", true);
    // 1024 * 0.05^2 = 2.56, 256 * 0.06^2 = 0.9216, 64 * 0.2^2 = 2.56, 4 * 0.25^2 = 0.25 packets.
    assert_eq!(acks_for_a_packet(&parameters, 100.0, 50), 40);
    assert_eq!(acks_for_a_packet(&parameters, 100.0, 60), 109);
    assert_eq!(acks_for_a_packet(&parameters, 100.0, 200), 40);
    assert_eq!(acks_for_a_packet(&parameters, 100.0, 250), 400);
}

#[test]
fn without_mechanisms_it_is_reno() {
    let parameters = ControlParameters::new()
        .with("fair_window", false)
        .with("target_ssthresh", false)
        .with("ecn_by_profile", false);
    assert_eq!(acks_for_a_packet(&parameters, 50.0, 30), 50);
    let mut control = create(&parameters);
    let mut window = Window {
        cwnd: 30.0,
        ssthresh: 10.0,
    };
    control.on_loss(&Congestion::default(), &mut window);
    assert_eq!(window.ssthresh, 15.0);
    window.cwnd = 30.0;
    control.on_ecn_echo(&Congestion::default(), true, &mut window);
    assert_eq!((window.cwnd, window.ssthresh), (15.0, 15.0));
}

/// 2 Mb/s in packets of 1000 bytes: 20 packets at 80 ms.
fn two_megabits() -> ControlParameters {
    ControlParameters::new().with("target_rate_bps", 2e6)
}

#[test]
fn ssthresh_is_the_target_rate_times_the_round_trip() {
    let mut control = create(&two_megabits());
    let mut window = Window {
        cwnd: 2.0,
        ssthresh: f64::INFINITY,
    };
    control.on_ack(&ack(80), &mut window);
    assert_eq!((window.cwnd, window.ssthresh), (3.0, 20.0));
    control.on_ack(&ack(160), &mut window);
    assert_eq!(window.ssthresh, 40.0);
    // A smaller default holds until the first congestion.
    let mut control = create(&two_megabits());
    let mut window = Window {
        cwnd: 2.0,
        ssthresh: 12.0,
    };
    control.on_ack(&ack(80), &mut window);
    assert_eq!(window.ssthresh, 12.0);
    control.on_loss(&Congestion::default(), &mut window);
    control.on_recovery_end(0, &mut window);
    assert_eq!(window.ssthresh, 20.0);
}

#[test]
fn after_a_loss_slow_start_leads_to_the_target() {
    let mut control = create(&two_megabits());
    let mut window = Window {
        cwnd: 30.0,
        ssthresh: 20.0,
    };
    control.on_ack(&ack(80), &mut window);
    control.on_loss(&Congestion::default(), &mut window);
    assert_eq!((window.cwnd, window.ssthresh), (30.0, 15.0));
    window.cwnd = 15.0;
    control.on_recovery_end(0, &mut window);
    for _ in 0..5 {
        control.on_ack(&ack(80), &mut window);
    }
    assert_eq!((window.cwnd, window.ssthresh), (20.0, 20.0));
    // Growth is now 0.64 packets per round trip: 20 / 0.64 = 31.25.
    for _ in 0..31 {
        control.on_ack(&ack(80), &mut window);
    }
    assert_eq!(window.cwnd, 20.0);
    control.on_ack(&ack(80), &mut window);
    assert_eq!(window.cwnd, 21.0);
    control.on_timeout(&Congestion::default(), &mut window);
    assert_eq!(window.ssthresh, 20.0);
}

#[test]
fn marks_on_in_packets_weigh_more_than_on_out_packets() {
    for (in_profile, cwnd) in [(false, 15.0), (true, 1.0)] {
        let mut control = create(&two_megabits());
        let mut window = Window {
            cwnd: 30.0,
            ssthresh: 20.0,
        };
        control.on_ack(&ack(80), &mut window);
        control.on_ecn_echo(&Congestion::default(), in_profile, &mut window);
        assert_eq!((window.cwnd, window.ssthresh), (cwnd, 20.0));
    }
    // With the mechanism off, both marks count the same, and the target still sets ssthresh.
    let mut control = create(&two_megabits().with("ecn_by_profile", false));
    let mut window = Window {
        cwnd: 30.0,
        ssthresh: 20.0,
    };
    control.on_ack(&ack(80), &mut window);
    control.on_ecn_echo(&Congestion::default(), true, &mut window);
    assert_eq!((window.cwnd, window.ssthresh), (15.0, 20.0));
}

#[test]
fn a_window_within_the_target_rate_is_in_profile_as_a_whole() {
    let with_target = |target_bits_per_s| {
        let target = ControlParameters::new().with("target_rate_bps", target_bits_per_s);
        let parameters = netnice_parameters::kernel_parameters("dstcp", &target);
        let mut dstcp = DsTcp::new(&parameters.expect("the target is allowed"));
        let mut window = dstcp::Window {
            cwnd: 10,
            ssthresh: u32::MAX,
        };
        let ack = dstcp::Ack {
            smoothed_rtt_us: 80_000,
            minimum_rtt_us: 80_000,
            acked: 1,
            cwnd_limited: 1,
        };
        assert!(!dstcp.within_profile(1), "no round trip is known");
        dstcp.on_ack(&ack, &mut window);
        dstcp
    };
    // 2 Mb/s over 80 ms are 20 packets of 1000 bytes.
    let two_megabits = with_target(2e6);
    assert!(two_megabits.within_profile(20) && !two_megabits.within_profile(21));
    // Without a target, no packet is in profile.
    assert!(!with_target(0.0).within_profile(1));
}
