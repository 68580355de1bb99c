// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP for Diff-Serv: `policy/dstcp.h`.

use crate::control::{Ack, Congestion, CongestionControl, Window};
use crate::controls::low_priority::{duration_us, whole_packets};
use crate::dstcp::{self, DsTcp};
use crate::parameters::{Kind, Parameter, Settings};
use crate::registry::Registration;

const fn switch(name: &'static str, description: &'static str, default: bool) -> Parameter {
    Parameter {
        name,
        description,
        kind: Kind::Switch { default },
    }
}

const fn whole(
    name: &'static str,
    description: &'static str,
    range: (u32, u32),
    default: u32,
) -> Parameter {
    let (least, most) = range;
    Parameter {
        name,
        description,
        kind: Kind::Whole {
            least,
            most,
            default,
        },
    }
}

pub(crate) const REGISTRATION: Registration = Registration {
    name: "dstcp",
    summary: "TCP for Diff-Serv: fair window opening, ssthresh by a target rate, marks by profile (Fang and Peterson)",
    parameters: &[
        whole(
            "policy",
            "1 opens the window by c * rtt packets per round trip, 2 by c * rtt^2, rtt in seconds",
            (1, 2),
            2,
        ),
        whole(
            "c",
            "the constant of the window's opening: 100 is a packet each 100 ms at policy 2",
            (1, 1_000_000),
            100,
        ),
        switch(
            "classes",
            "c by the smallest round trip, as Table 5 has it: 1024 up to 50 ms, 256 up to 100 ms, 64 up to 200 ms, 4",
            false,
        ),
        Parameter {
            name: "target_rate_bps",
            description: "the rate that the network assures, in bits per second; 0 is none",
            kind: Kind::Number {
                least: 0.0,
                most: 1e11,
                default: 0.0,
            },
        },
        whole(
            "packet_bytes",
            "bytes of a full packet as the target rate counts it",
            (64, 65_535),
            1000,
        ),
        switch("fair_window", "mechanism 1: fair window opening", true),
        switch(
            "target_ssthresh",
            "mechanism 2: ssthresh is the target rate times the round trip",
            true,
        ),
        switch(
            "ecn_by_profile",
            "mechanism 3: a mark on an IN packet closes the window, on an OUT packet it halves it",
            true,
        ),
    ],
    build: |settings| Box::new(DsTcpControl::new(settings)),
};

/// TCP for Diff-Serv. In fast recovery `ssthresh` is half of the window, to which recovery brings it; then it is the
/// target's again, and slow start leads there.
#[derive(Debug, Clone)]
pub struct DsTcpControl {
    policy: DsTcp,
    /// A time-out, and nothing delivered since.
    timed_out: bool,
}

impl DsTcpControl {
    fn new(settings: &Settings) -> Self {
        Self {
            policy: DsTcp::new(&dstcp::Parameters {
                target_bits_per_s: settings.number("target_rate_bps") as u64,
                packet_bytes: settings.whole("packet_bytes"),
                c: settings.whole("c"),
                policy: settings.whole("policy") as u8,
                classes: settings.switch("classes"),
                fair_window: settings.switch("fair_window"),
                target_ssthresh: settings.switch("target_ssthresh"),
                ecn_by_profile: settings.switch("ecn_by_profile"),
                reserved: [0; 3],
            }),
            timed_out: false,
        }
    }
}

fn whole_window(window: &Window) -> dstcp::Window {
    dstcp::Window {
        cwnd: whole_packets(window.cwnd),
        ssthresh: whole_packets(window.ssthresh),
    }
}

/// What has changed from `old` to `new`, and only that: a window may come with a fraction, an infinite threshold stays.
fn apply(old: dstcp::Window, new: dstcp::Window, window: &mut Window) {
    if new.cwnd != old.cwnd {
        window.cwnd = new.cwnd.into();
    }
    if new.ssthresh != old.ssthresh {
        window.ssthresh = new.ssthresh.into();
    }
}

impl CongestionControl for DsTcpControl {
    fn name(&self) -> &'static str {
        REGISTRATION.name
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.timed_out = false;
        if ack.in_recovery && !ack.after_timeout {
            return;
        }
        let old = whole_window(window);
        let mut new = old;
        let told = dstcp::Ack {
            smoothed_rtt_us: duration_us(ack.smoothed_rtt_ns),
            minimum_rtt_us: duration_us(ack.min_rtt_ns),
            acked: ack.acked,
            cwnd_limited: ack.cwnd_limited.into(),
        };
        self.policy.on_ack(&told, &mut new);
        apply(old, new, window);
    }

    fn on_loss(&mut self, _congestion: &Congestion, window: &mut Window) {
        window.ssthresh = self.policy.on_loss(whole_packets(window.cwnd)).into();
    }

    /// The same once; a time-out that follows a time-out leaves `ssthresh` alone (RFC 5681 section 3.1).
    fn on_timeout(&mut self, _congestion: &Congestion, window: &mut Window) {
        if !self.timed_out {
            window.ssthresh = self.policy.on_timeout(whole_packets(window.cwnd)).into();
        }
        self.timed_out = true;
    }

    fn on_ecn_echo(&mut self, _congestion: &Congestion, in_profile: bool, window: &mut Window) {
        let old = whole_window(window);
        let mut new = old;
        self.policy.on_ecn_echo(in_profile, &mut new);
        apply(old, new, window);
    }

    fn on_recovery_end(&mut self, _now_ns: u64, window: &mut Window) {
        let ssthresh = whole_packets(window.ssthresh);
        let target = self.policy.ssthresh(ssthresh);
        if target != ssthresh {
            window.ssthresh = target.into();
        }
    }
}
