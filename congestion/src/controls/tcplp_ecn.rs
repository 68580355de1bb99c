// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP-LP/ECN: the paper's benchmark (LP03 IV-A), in which a router's mark tells of congestion instead of delays.

use crate::controls::tcplp::{Policy, PolicyControl};
use crate::policy::Report;
use crate::registry::Registration;
use crate::tcplp::{Ack, TcpLp};

pub(crate) const REGISTRATION: Registration = Registration {
    name: "tcplp_ecn",
    summary: "TCP-LP with ECN marks for its congestion indication, no delays (the paper's TCP-LP/ECN)",
    build: |settings| {
        Box::new(PolicyControl::new(ByMarks(TcpLp::new(
            &settings.policy_parameters(),
        ))))
    },
};

/// TCP-LP without samples. A mark ends slow start, too: nothing has to be learnt there.
#[derive(Debug)]
struct ByMarks(TcpLp);

impl Policy for ByMarks {
    const NAME: &'static str = REGISTRATION.name;

    fn sample(&mut self, _ack: &Ack) {}

    fn window_after(&mut self, ack: &Ack) -> u32 {
        self.0.window_after(ack)
    }

    fn window_after_mark(&mut self, ack: &Ack) -> Option<u32> {
        Some(self.0.on_ecn_echo(ack))
    }

    fn on_loss(&mut self, cwnd: u32, now_us: u32) -> u32 {
        self.0.on_loss(cwnd, now_us)
    }

    fn on_restart(&mut self) {
        self.0.on_restart();
    }

    fn report(&self) -> &Report {
        self.0.report()
    }
}
