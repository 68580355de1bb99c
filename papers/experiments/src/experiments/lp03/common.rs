// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared by LP03's experiments: the kinds of transfer that are compared, and the parameters that the paper leaves open.

use crate::definition::Choice;
use crate::figure::CurveKind;
use crate::study::Study;

/// The transport of a bulk transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// TCP Reno.
    Tcp,
    /// TCP-LP.
    TcpLp,
    /// TCP-LP/ECN (LP03 IV-A).
    TcpLpEcn,
    /// The reference model (LP03 II): Reno in the low class of a strict-priority scheduler.
    Ideal,
}

/// The router of TCP-LP/ECN: both RED thresholds are delta times the queue; TCP only meets the limit.
const ECN_QUEUE: &str = r#"{ discipline = "red", limit = "$queue", min_threshold = "15%", max_threshold = "15%", gentle = false, ecn = "mark_low_class" }"#;

/// The router of the reference model.
const IDEAL_QUEUE: &str = r#"{ discipline = "priority", limit = "$queue" }"#;

/// The way back has the paper's plain queue whatever the router does on the way there.
const PLAIN_QUEUE: &str = "$queue";

impl Kind {
    /// All of them, in the order of legends.
    pub const ALL: [Kind; 4] = [Kind::Tcp, Kind::TcpLp, Kind::TcpLpEcn, Kind::Ideal];

    /// In names of studies.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Tcp => "tcp",
            Kind::TcpLp => "tcplp",
            Kind::TcpLpEcn => "tcplp_ecn",
            Kind::Ideal => "ideal",
        }
    }

    /// In legends.
    pub fn title(self) -> &'static str {
        match self {
            Kind::Tcp => "TCP",
            Kind::TcpLp => "TCP-LP",
            Kind::TcpLpEcn => "TCP-LP/ECN",
            Kind::Ideal => "strict priority (reference model)",
        }
    }

    /// Its curves.
    pub fn curve(self) -> CurveKind {
        match self {
            Kind::Ideal => CurveKind::Reference,
            _ => CurveKind::Ours,
        }
    }

    /// `study` with the flows of this name being of this kind, and the queues of these links as it needs them.
    pub fn apply(self, study: Study, flow: &str, links: &[&str]) -> Study {
        let field = |name: &str| format!("flows.{flow}.{name}");
        let (control, class) = match self {
            Kind::Tcp => ("reno", "best_effort"),
            Kind::TcpLp => ("tcplp", "low"),
            Kind::TcpLpEcn => ("tcplp_ecn", "low"),
            Kind::Ideal => ("reno", "low"),
        };
        let mut study = study
            .set(&field("congestion_control"), control)
            .set(&field("class"), class);
        if self == Kind::TcpLpEcn {
            study = study.set(&field("tcp.ecn"), "true");
        }
        self.apply_queues(study, links)
    }

    /// `study` with the queues of these links as this kind needs them.
    pub fn apply_queues(self, study: Study, links: &[&str]) -> Study {
        let queue = match self {
            Kind::Tcp | Kind::TcpLp => return study,
            Kind::TcpLpEcn => ECN_QUEUE,
            Kind::Ideal => IDEAL_QUEUE,
        };
        links.iter().fold(study, |study, link| {
            study
                .set(&format!("links.{link}.queue"), queue)
                .set(&format!("links.{link}.reverse.queue"), PLAIN_QUEUE)
        })
    }
}

/// TCP as it is deployed today: selective acknowledgements, delayed ACKs, stamps of 1 ms, an initial window of ten.
pub(crate) const TODAY: &[(&str, &str)] = &[
    ("recovery", "sack"),
    ("delayed_ack", "true"),
    ("min_rto", "200ms"),
    ("initial_rto", "1s"),
    ("initial_window", "10"),
    ("tick", "1ms"),
];

/// The paper's other link: 10 Mb/s, with the queue that belongs to it.
pub(crate) const FAST: &[(&str, &str)] = &[("links.bottleneck.rate", "10mbit"), ("queue", "157p")];

/// The parameters of TCP that the paper leaves open in all experiments.
pub(crate) fn tcp_choices() -> Vec<Choice> {
    vec![
        Choice::new(
            "packet size",
            "1000 bytes of data and 40 of headers: the default of ns-2, with which the paper was made",
        ),
        Choice::new(
            "queue: 2.5 bandwidth-delay products",
            "24 packets at 1.5 Mb/s and 157 at 10 Mb/s: with the round-trip time of 50 ms that the paper names, in packets of \
             1000 bytes, rounded up; delays of the links alone add up to 48 ms",
        ),
        Choice::new(
            "minimum RTO",
            "1 s, as RFC 2988 has it and ns-2 had it at the time",
        ),
        Choice::new("delayed ACKs", "none: the default of ns-2's sink"),
        Choice::new(
            "loss recovery",
            "Reno's (RFC 2581, as ns-2 has it): the paper derives LP from TCP/Reno",
        ),
        Choice::new(
            "granularity of time stamps",
            "1 us: a simulator's stamps are exact",
        ),
        Choice::new("receiver windows", "no limit"),
        Choice::new(
            "begin of the flows",
            "random within the first second, by seed",
        ),
        Choice::new("warm-up", "none: the averages are over the whole run"),
    ]
}
