// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 21: the same in parts of the response times beside FTP over TCP.

use netnice_results::Estimate;
use netnice_study::Table;

use super::f17::choices;
use super::f20::{SETTING, searches};
use super::web;
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::experiments::search::{self, Joint};
use crate::findings::Findings;
use crate::measured::{Measured, MeasuredPoint, objects};
use netnice_study::written_or_dash;

pub(crate) fn experiment() -> Experiment {
    let place = "V-E.3, Figure 21";
    let mut studies = SETTING.studies();
    studies.extend(searches());
    Experiment {
        id: "LP03-F21",
        paper: Paper::Lp03,
        title: "Web traffic over three congested hops beside FTP over TCP-LP and over TCP",
        question: "What do fast elephants over TCP do to web traffic over several hops, and what does TCP-LP spare it?",
        choices: choices(),
        claims: vec![
            Claim::statement(
                "shorter",
                "by how much response times are shorter beside TCP-LP",
                "%",
                ("more than 90", Rule::AtLeast(90.0)),
                place,
            )
            .central(),
            Claim::value("low", "FTP over TCP-LP", "% of the link", 52.0, "V-E.3").central(),
            Claim::value("tcp", "FTP over TCP", "% of the link", 62.0, "V-E.3").central(),
            Claim::value(
                "loses",
                "FTP over TCP less FTP over TCP-LP",
                "points",
                10.0,
                "V-E.3",
            )
            .central(),
            Claim::statement(
                "timeouts",
                "RTOs of a web object beside TCP",
                "",
                ("four to five", Rule::between(3.5, 5.5)),
                "V-E.3",
            ),
        ],
        studies,
        evaluate,
    }
}

/// RTOs of web connections for each object that has arrived.
fn timeouts(point: &MeasuredPoint<'_>) -> Option<Estimate> {
    point.estimate_where(|run| {
        let web = run.flows.iter().find(|flow| flow.group == "web")?;
        let objects = objects(run);
        (objects > 0).then(|| web.timeouts as f64 / objects as f64)
    })
}

/// The search for all values that the text reports.
fn searched(measured: &Measured<'_>) -> Joint {
    search::joint(
        "Search over what is open; shorter by more than 90 % is reported, and four to five RTOs",
        SETTING.search(measured, "tcplp"),
        &[
            SETTING.target(
                measured,
                "none",
                ("10 kB without FTP, s", 0.74),
                web::ten_kb,
            ),
            SETTING.target(
                measured,
                "tcplp",
                ("10 kB beside TCP-LP, s", 0.98),
                web::ten_kb,
            ),
            SETTING.reduction_target(measured, 90.0),
            SETTING.share_target(measured, "tcplp", ("FTP over TCP-LP, %", 52.0)),
            SETTING.share_target(measured, "tcp", ("FTP over TCP, %", 62.0)),
            SETTING.target(
                measured,
                "tcp",
                ("RTOs of an object beside TCP", 4.5),
                timeouts,
            ),
        ],
    )
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let point = |name: &str| SETTING.point(measured, name);
    let found = searched(measured);
    let nearest = |place: usize| found.nearest_to_each[place].clone();
    findings.tables.push(found.table);
    findings.value_or_reason("shorter", SETTING.reduction(measured, "tcplp"), nearest(2));
    findings.value_or_reason("low", SETTING.ftp_share(point("tcplp")), nearest(3));
    findings.value_or_reason("tcp", SETTING.ftp_share(point("tcp")), nearest(4));
    findings.value("loses", SETTING.ftp_loses(measured));
    findings.value_or_reason("timeouts", timeouts(point("tcp")), nearest(5));
    findings
        .notes
        .push(format!("Figures 20 and 21: {}.", found.nearest));
    let mut figure = SETTING.ratios(
        measured,
        "lp03-f21",
        "Web over three hops: response times in parts of those beside TCP",
    );
    web::reported(&mut figure, 10.0, 0.1);
    findings.figures.push(figure);
    let columns = [
        "FTP over",
        "10 kB, s",
        "RTOs of an object",
        "FTP, % of the link",
    ];
    let mut table = Table::new("Web traffic over three hops", &columns);
    for (title, name) in [
        ("none", "none"),
        ("TCP", "tcp"),
        ("TCP-LP", "tcplp"),
        ("TCP-LP/ECN", "tcplp_ecn"),
        ("strict priority (reference model)", "ideal"),
    ] {
        let values = [
            web::ten_kb(point(name)),
            timeouts(point(name)),
            SETTING.ftp_share(point(name)),
        ];
        let cells = values.into_iter().map(written_or_dash);
        table
            .rows
            .push(std::iter::once(title.to_owned()).chain(cells).collect());
    }
    findings.tables.push(table);
    findings
}
