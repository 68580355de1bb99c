// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP-LP/ECN, in which a router's mark indicates congestion instead of delays: `policies/tcplp_ecn.h`, called as in the kernel.

use crate::congestion_control::Registration;
use crate::controls::delay_policy::{PolicyControl, delay_policy};
use netnice_parameters::policies::TCPLP_ECN;

pub(crate) const REGISTRATION: Registration = Registration {
    name: TCPLP_ECN.name,
    summary: TCPLP_ECN.summary,
    build: |settings| {
        Box::new(PolicyControl::new(TcpLpEcn::new(
            &settings.policy_parameters(),
        )))
    },
};

delay_policy!(
    /// The state of one connection under TCP-LP/ECN.
    TcpLpEcn,
    native_tcplp_ecn_init,
    native_tcplp_ecn_sample,
    native_tcplp_ecn_on_ack,
    native_tcplp_ecn_on_loss,
    native_tcplp_ecn_pause_us,
    native_tcplp_ecn_on_restart,
    native_tcplp_ecn_on_mark
);

#[cfg(test)]
mod tests {
    use crate::congestion_control::{Ack, Congestion, CongestionControl, Window};
    use crate::controls::delay_policy::PolicyControl;
    use netnice_parameters::exchange::Parameters;
    use netnice_parameters::{self as parameters, Settings};

    use super::*;

    const RTT_NS: u64 = 50_000_000;

    /// Returns the window after each of 400 ACKs, with a mark at every 40th.
    fn windows(parameters: &Parameters) -> Vec<(f64, Option<u64>)> {
        let mut control = PolicyControl::new(TcpLpEcn::new(parameters));
        let mut window = Window {
            cwnd: 10.0,
            ssthresh: f64::INFINITY,
        };
        let mut step = |number: u64| {
            let now_ns = number * 5_000_000;
            if number % 40 == 0 {
                let congestion = Congestion {
                    now_ns,
                    in_flight: window.cwnd as u32,
                    smoothed_rtt_ns: RTT_NS,
                    min_rtt_ns: RTT_NS,
                };
                control.on_ecn_echo(&congestion, true, &mut window);
            }
            let ack = Ack {
                now_ns,
                rtt_ns: Some(RTT_NS + number % 7 * 10_000_000),
                smoothed_rtt_ns: RTT_NS,
                min_rtt_ns: RTT_NS,
                tsval: Some(number as u32 * 5),
                acked: 1,
                in_flight: 3,
                cwnd_limited: true,
                ..Ack::default()
            };
            control.on_ack(&ack, &mut window);
            let pause_ns = control.pacing_interval_ns(&window, RTT_NS);
            (window.cwnd, pause_ns)
        };
        (1..=400).map(&mut step).collect()
    }

    /// The policy is TCP-LP's, which reads more parameters than this control takes; the others must have no effect.
    #[test]
    fn parameters_of_delays_change_nothing() {
        let default = windows(&Parameters::default());
        let of = |control: &'static str, name: &str, value: f64| {
            let given = parameters::ControlParameters::new().with(name, value);
            let settings = Settings::check(control, &given).expect("the value is allowed");
            windows(&settings.policy_parameters())
        };
        for name in ["delta", "gamma", "minimum_cwnd"] {
            assert_eq!(of("tcplp", name, 0.01), default, "{name}");
        }
        assert_ne!(of("tcplp_ecn", "inference_rtts", 20.0), default);
    }
}
