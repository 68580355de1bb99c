// SPDX-License-Identifier: MIT OR Apache-2.0
//! Table I, second row: the same against ten FTP flows in the reverse direction.

use super::common::{Kind, TODAY, tcp_choices};
use crate::experiments::search;
use crate::measured::share_of_link;
use crate::outcome::written;
use crate::study::scenario;
use crate::{Choice, Claim, Experiment, Findings, Measured, Paper, Rule, Scale, Study, Table};

const FILE: (&str, &str) = scenario!("lp03_ftp.toml");
const QUICK: Scale = Scale::new(8, 400);
const LINK: &str = "bottleneck";

fn study(name: &str) -> Study {
    Study::new(format!("lp03_t1b_{name}"), FILE, QUICK, Scale::LP03)
}

/// The search over what is open.
fn search(mut study: Study) -> Study {
    study.quick = Scale::new(4, 300);
    study.full = Scale::new(10, 1000);
    study
        .sweep("links.bottleneck.rate", &["\"1.5mbit\"", "\"10mbit\""])
        .sweep("packet", &["\"540B\"", "\"1040B\"", "\"1500B\""])
        .sweep("min_rto", &["\"200ms\"", "\"1s\""])
        .sweep("delayed_ack", &["false", "true"])
}

pub(crate) fn experiment() -> Experiment {
    let beside = |kind: Kind| kind.apply(study(kind.name()), "low", &[LINK]);
    let mut choices = tcp_choices();
    choices.push(Choice::new(
        "rate of the link: 1.5 or 10 Mb/s",
        "1.5 Mb/s: its largest window of 9 + 22 packets is the 30 packets that Figure 10 shows",
    ));
    choices.push(Choice::new(
        "begin of the reverse flows",
        "as of the others, at random within the first second",
    ));
    Experiment {
        id: "LP03-T1b",
        paper: Paper::Lp03,
        title: "The same against ten TCP flows in the reverse direction",
        question: "Does TCP-LP use what TCP cannot, because its ACKs are delayed and lost, and leave TCP what it can?",
        choices,
        claims: vec![
            Claim::value(
                "alone",
                "throughput of TCP without TCP-LP",
                "% of the link",
                (49.7, 2.5),
                "V-A, Table I row 2",
            )
            .concluding(
                "reverse traffic leaves TCP about half of the link",
                Rule::Between {
                    low: 40.0,
                    high: 65.0,
                },
            ),
            Claim::value(
                "tcp",
                "throughput of TCP beside TCP-LP",
                "% of the link",
                (49.3, 2.5),
                "V-A, Table I row 2",
            )
            .concluding(
                "TCP keeps about half of the link",
                Rule::Between {
                    low: 40.0,
                    high: 65.0,
                },
            ),
            Claim::value(
                "low",
                "throughput of TCP-LP",
                "% of the link",
                (7.3, 1.5),
                "V-A, Table I row 2",
            )
            .concluding(
                "TCP-LP gets more than beside TCP alone, and less than a third of TCP's",
                Rule::Between {
                    low: 3.0,
                    high: 16.0,
                },
            ),
            Claim::statement(
                "kept",
                "what TCP keeps beside TCP-LP of what it gets without",
                "%",
                (
                    "only marginally reduced (49.3 of 49.7: 99)",
                    Rule::AtLeast(97.0),
                ),
                "V-A",
            )
            .concluding("TCP keeps nine tenths", Rule::AtLeast(90.0)),
        ],
        studies: vec![
            study("alone").set("flows.low.count", "0"),
            beside(Kind::TcpLp),
            beside(Kind::TcpLpEcn),
            beside(Kind::Ideal),
            beside(Kind::TcpLp).renamed("lp03_t1b_today").set_all(TODAY),
            search(beside(Kind::TcpLp).renamed("lp03_t1b_search")),
            search(study("search_alone").set("flows.low.count", "0")),
        ],
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let share = |study: &str, flow: &str| measured.point(study).share_of_link(flow, LINK);
    let mut table = Table::new(
        "Per cent of the link",
        &["", "TCP", "beside it", "reverse flows"],
    );
    for (title, name) in [
        ("TCP", "alone"),
        ("TCP and TCP-LP", "tcplp"),
        ("TCP and TCP-LP/ECN", "tcplp_ecn"),
        ("TCP and a transfer under strict priority", "ideal"),
        ("TCP and TCP-LP, today's TCP", "today"),
    ] {
        let point = measured.point(&format!("lp03_t1b_{name}"));
        let reverse = point.estimate(|run| {
            let rate = crate::measured::queue(run, LINK)?.rate_bps as f64;
            Some(100.0 * crate::measured::throughput(run, "reverse")? / rate)
        });
        let shares = [
            point.share_of_link("tcp", LINK),
            point.share_of_link("low", LINK),
            reverse,
        ];
        let cells = shares.map(|share| share.map_or("-".to_owned(), |share| written(&share)));
        table.rows.push([&[title.to_owned()], &cells[..]].concat());
    }
    findings.tables.push(table);
    let searched = measured.study("lp03_t1b_search");
    let searched_alone = measured.study("lp03_t1b_search_alone");
    for (key, study, flow, (name, searched, reported)) in [
        (
            "alone",
            "lp03_t1b_alone",
            "tcp",
            ("TCP without TCP-LP", searched_alone, 49.7),
        ),
        (
            "tcp",
            "lp03_t1b_tcplp",
            "tcp",
            ("TCP beside TCP-LP", searched, 49.3),
        ),
        ("low", "lp03_t1b_tcplp", "low", ("TCP-LP", searched, 7.3)),
    ] {
        let (mut table, nearest) = search::shares(searched, flow, LINK, reported);
        table.title = format!("{name}: {}", table.title);
        findings.tables.push(table);
        findings.value_or_reason(key, share(study, flow), nearest);
    }
    let beside = measured.point("lp03_t1b_tcplp");
    let kept = beside.paired(measured.point("lp03_t1b_alone"), |beside, alone| {
        let share = |run| share_of_link(run, "tcp", LINK);
        Some(100.0 * share(beside)? / share(alone)?)
    });
    findings.value("kept", kept);
    findings
}
