// SPDX-License-Identifier: MIT OR Apache-2.0
//! HSTCP-LP: `policy/hstcplp.h`, called as in the kernel.

use crate::control::Registration;
use crate::controls::tcplp::{Policy, PolicyControl};
use crate::hstcplp::HsTcpLp;
use crate::policy::Report;
use crate::tcplp::Ack;

pub(crate) const REGISTRATION: Registration = Registration {
    name: "hstcplp",
    summary: "HSTCP-LP: TCP-LP with HighSpeed TCP's steps, for long fat paths (Kuzmanovic, Knightly, Cottrell)",
    build: |settings| {
        Box::new(PolicyControl::new(HsTcpLp::new(
            &settings.policy_parameters(),
        )))
    },
};

impl Policy for HsTcpLp {
    const NAME: &'static str = REGISTRATION.name;

    fn sample(&mut self, ack: &Ack) {
        HsTcpLp::sample(self, ack);
    }

    fn on_sampled_ack(&mut self, ack: &Ack) -> u32 {
        HsTcpLp::on_sampled_ack(self, ack)
    }

    fn on_loss(&mut self, cwnd: u32, now_us: u32) -> u32 {
        HsTcpLp::on_loss(self, cwnd, now_us)
    }

    fn pause_us(&self, cwnd: u32, smoothed_rtt_us: u32) -> u32 {
        HsTcpLp::pause_us(self, cwnd, smoothed_rtt_us)
    }

    fn on_restart(&mut self) {
        HsTcpLp::on_restart(self);
    }

    fn report(&self) -> &Report {
        HsTcpLp::report(self)
    }
}
