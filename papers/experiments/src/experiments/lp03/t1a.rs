// SPDX-License-Identifier: MIT OR Apache-2.0
//! Table I, first row: one FTP over TCP and one over TCP-LP.

use netnice_study::Scale;

use super::common::{FAST, Kind, TODAY, tcp_choices};
use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::experiments::search;
use crate::findings::Findings;
use crate::measured::Measured;
use crate::study::{Study, scenario};
use netnice_study::Table;

const FILE: (&str, &str) = scenario!("lp03_ftp.toml");
const QUICK: Scale = Scale::new(8, 400);
const LINK: &str = "bottleneck";

/// The paper's conclusion: TCP-LP slightly perturbs TCP.
const SLIGHTLY: (&str, Rule) = (
    "it slightly perturbs TCP: by no more than twice as much",
    Rule::AtMost(5.4),
);

fn study(name: &str) -> Study {
    Study::new(format!("lp03_t1a_{name}"), FILE, QUICK, Scale::LP03).set("flows.reverse.count", "0")
}

pub(crate) fn experiment() -> Experiment {
    let beside = |kind: Kind| kind.apply(study(kind.name()), "low", &[LINK]);
    let mut choices = tcp_choices();
    choices.push(Choice::new(
        "rate of the link: 1.5 or 10 Mb/s",
        "1.5 Mb/s, by another figure: its largest window of 9 + 24 packets is the 30 packets of Figure 10",
    ));
    Experiment {
        id: "LP03-T1a",
        paper: Paper::Lp03,
        title: "FTP over TCP and FTP over TCP-LP together",
        question: "How much does a low-priority transfer take from a greedy TCP flow when nothing is left over?",
        choices,
        claims: vec![
            Claim::value(
                "tcplp",
                "throughput of TCP-LP beside TCP",
                "% of the link",
                2.7,
                "V-A, Table I row 1",
            )
            .central()
            .concluding(SLIGHTLY.0, SLIGHTLY.1),
            Claim::value(
                "ecn",
                "throughput of TCP-LP/ECN beside TCP",
                "% of the link",
                2.7,
                "V-A, Table I row 1",
            )
            .central()
            .concluding(SLIGHTLY.0, SLIGHTLY.1),
            Claim::statement(
                "kept",
                "what TCP keeps beside TCP-LP of what it gets alone",
                "%",
                (
                    "slightly perturbed, by the 2.7 % of TCP-LP",
                    Rule::AtLeast(97.3),
                ),
                "V-A",
            )
            .concluding(
                "it is slightly perturbed: by no more than twice as much",
                Rule::AtLeast(94.6),
            ),
        ],
        studies: vec![
            study("alone").set("flows.low.count", "0"),
            Kind::Tcp.apply(study("two_tcp"), "low", &[LINK]),
            beside(Kind::TcpLp),
            beside(Kind::TcpLpEcn),
            beside(Kind::Ideal),
            beside(Kind::TcpLp).renamed("lp03_t1a_today").set_all(TODAY),
            beside(Kind::TcpLp).renamed("lp03_t1a_fast").set_all(FAST),
            Study {
                quick: Scale::new(4, 300),
                full: Scale::new(10, 1000),
                ..beside(Kind::TcpLp)
            }
            .renamed("lp03_t1a_search")
            .sweep("queue", &["24p", "30p", "2.5bdp"])
            .sweep("packet", &["540B", "700B", "1040B"])
            .sweep("min_rto", &["200ms", "1s"])
            .sweep("delayed_ack", &["false", "true"]),
        ],
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let share = |study: &str, flow: &str| measured.point(study).share_of_link(flow, LINK);
    let alone = measured.point("lp03_t1a_alone");
    let beside = measured.point("lp03_t1a_tcplp");
    let mut table = Table::new("Per cent of the link", &["", "TCP", "beside it"]);
    let mut rows = Vec::new();
    for (title, name) in [
        ("one TCP", "alone"),
        ("two TCP", "two_tcp"),
        ("TCP and TCP-LP", "tcplp"),
        ("TCP and TCP-LP/ECN", "tcplp_ecn"),
        ("TCP and a transfer under strict priority", "ideal"),
        ("TCP and TCP-LP, today's TCP", "today"),
        ("TCP and TCP-LP, 10 Mb/s", "fast"),
    ] {
        let study = format!("lp03_t1a_{name}");
        let shares = ["tcp", "low"].map(|flow| share(&study, flow));
        rows.push((title.to_owned(), shares.to_vec()));
    }
    table.fill(rows);
    findings.tables.push(table);
    let (search, nearest) = search::shares(measured.study("lp03_t1a_search"), "low", LINK, 2.7);
    findings.tables.push(search);
    findings.value_or_reason("tcplp", share("lp03_t1a_tcplp", "low"), nearest.clone());
    findings.value_or_reason("ecn", share("lp03_t1a_tcplp_ecn", "low"), nearest);
    let kept = beside.paired(alone, |beside, alone| {
        let share = |run| crate::measured::share_of_link(run, "tcp", LINK);
        Some(100.0 * share(beside)? / share(alone)?)
    });
    findings.value("kept", kept);
    findings.notes.push(
        "While TCP is greedy TCP-LP sends one packet in each round trip, as the paper's minimum window has it. Its share is \
         therefore one packet in the window of both, which the length of the queue in packets decides: the packet size \
         and the rate of the link, both open, matter more than anything else."
            .to_owned(),
    );
    findings
}
