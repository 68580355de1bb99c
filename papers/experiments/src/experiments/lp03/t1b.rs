// SPDX-License-Identifier: MIT OR Apache-2.0
//! Table I, second row: the same against ten FTP flows in the reverse direction.

use netnice_study::Scale;

use super::common::{FAST, Kind, TODAY, tcp_choices};
use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::experiments::search::{self, Target};
use crate::findings::Findings;
use crate::measured::{Measured, MeasuredStudy, share_of_link};
use crate::study::{Study, scenario};
use netnice_study::Table;

const FILE: (&str, &str) = scenario!("lp03_ftp.toml");
const QUICK: Scale = Scale::new(8, 400);
const LINK: &str = "bottleneck";

fn study(name: &str) -> Study {
    Study::new(format!("lp03_t1b_{name}"), FILE, QUICK, Scale::LP03)
}

/// The search over the open parameters.
fn search(mut study: Study) -> Study {
    study.quick = Scale::new(4, 300);
    study.full = Scale::new(10, 1000);
    study
        .sweep("queue", &["24p", "30p", "2.5bdp"])
        .sweep("packet", &["540B", "700B", "1040B"])
        .sweep("min_rto", &["200ms", "1s"])
        .sweep("delayed_ack", &["false", "true"])
}

pub(crate) fn experiment() -> Experiment {
    let beside = |kind: Kind| kind.apply(study(kind.name()), "low", &[LINK]);
    let mut choices = tcp_choices();
    choices.push(Choice::new(
        "rate of the link: 1.5 or 10 Mb/s",
        "1.5 Mb/s, by another figure: its largest window of 9 + 24 packets is the 30 packets of Figure 10",
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
                49.7,
                "V-A, Table I row 2",
            )
            .judged_by(Rule::within(49.7, 2.5))
            .central(),
            Claim::value(
                "tcp",
                "throughput of TCP beside TCP-LP",
                "% of the link",
                49.3,
                "V-A, Table I row 2",
            )
            .judged_by(Rule::within(49.3, 2.5))
            .central(),
            Claim::value(
                "low",
                "throughput of TCP-LP",
                "% of the link",
                7.3,
                "V-A, Table I row 2",
            )
            .central()
            .concluding(
                "there is excess capacity for it: it gets more than the 2.7 % beside TCP alone",
                Rule::AtLeast(3.0),
            ),
            Claim::statement(
                "kept",
                "what TCP keeps beside TCP-LP of what it gets without",
                "%",
                (
                    "only marginally reduced (49.3 of 49.7: 99)",
                    Rule::AtLeast(99.0),
                ),
                "V-A",
            ),
        ],
        studies: vec![
            study("alone").set("flows.low.count", "0"),
            beside(Kind::TcpLp),
            beside(Kind::TcpLpEcn),
            beside(Kind::Ideal),
            beside(Kind::TcpLp).renamed("lp03_t1b_today").set_all(TODAY),
            beside(Kind::TcpLp).renamed("lp03_t1b_fast").set_all(FAST),
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
    let mut rows = Vec::new();
    for (title, name) in [
        ("TCP", "alone"),
        ("TCP and TCP-LP", "tcplp"),
        ("TCP and TCP-LP/ECN", "tcplp_ecn"),
        ("TCP and a transfer under strict priority", "ideal"),
        ("TCP and TCP-LP, today's TCP", "today"),
        ("TCP and TCP-LP, 10 Mb/s", "fast"),
    ] {
        let point = measured.point(&format!("lp03_t1b_{name}"));
        let shares = ["tcp", "low", "reverse"].map(|flow| point.share_of_link(flow, LINK));
        rows.push((title.to_owned(), shares.to_vec()));
    }
    table.fill(rows);
    findings.tables.push(table);
    let searched = measured.study("lp03_t1b_search");
    let searched_alone = measured.study("lp03_t1b_search_alone");
    let of = |study: &MeasuredStudy<'_>, flow| {
        let points = study.points.iter();
        points
            .map(|point| point.share_of_link(flow, LINK))
            .collect::<Vec<_>>()
    };
    let found = search::joint(
        "Search over what is open, per cent of the link",
        searched,
        &[
            Target::new("TCP without TCP-LP", 49.7, of(searched_alone, "tcp")),
            Target::new("TCP beside TCP-LP", 49.3, of(searched, "tcp")),
            Target::new("TCP-LP", 7.3, of(searched, "low")),
        ],
    );
    findings.tables.push(found.table);
    let values = [
        ("alone", "lp03_t1b_alone", "tcp"),
        ("tcp", "lp03_t1b_tcplp", "tcp"),
        ("low", "lp03_t1b_tcplp", "low"),
    ];
    for ((key, study, flow), nearest) in values.into_iter().zip(found.nearest_to_each) {
        findings.value_or_reason(key, share(study, flow), nearest);
    }
    findings
        .notes
        .push(format!("Table I, row 2: {}.", found.nearest));
    let beside = measured.point("lp03_t1b_tcplp");
    let kept = beside.paired(measured.point("lp03_t1b_alone"), |beside, alone| {
        let share = |run| share_of_link(run, "tcp", LINK);
        Some(100.0 * share(beside)? / share(alone)?)
    });
    findings.value("kept", kept);
    findings
}
