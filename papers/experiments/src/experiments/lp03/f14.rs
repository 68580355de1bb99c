// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 14: the time that FTP over TCP-LP adds to the response times of web objects.

use netnice_study::Scale;

use super::common::{Kind, TODAY};
use super::web::{self, WebSetting};
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::experiments::search::{self, Joint};
use crate::findings::Findings;
use crate::measured::Measured;
use crate::study::{Study, scenario};
use netnice_study::Table;
use netnice_study::written_or_dash;

/// One bottleneck.
pub(super) const SETTING: WebSetting = WebSetting {
    prefix: "lp03_web",
    file: scenario!("lp03_web.toml"),
    ftp: &["ftp"],
    links: &["bottleneck"],
};

/// The search over the open parameters, shared by all three.
fn search(study: Study) -> Study {
    let mut study = study
        .sweep("object", &["4kB", "8kB", "12kB"])
        .sweep("sessions", &["1", "2"])
        .sweep("open_loop", &["false", "true"])
        .sweep("handshake", &["false", "true"])
        .sweep("initial_window", &["1", "2"]);
    study.quick = Scale::new(3, 300);
    study.full = Scale::new(10, 1000);
    study
}

pub(super) fn searches() -> Vec<Study> {
    vec![
        search(SETTING.without("search_none")),
        search(SETTING.beside(Kind::Tcp, "search_tcp")),
        search(SETTING.beside(Kind::TcpLp, "search_tcplp")),
    ]
}

/// The search for all values that the text reports; the last two are those of TCP-LP in Figure 15.
pub(super) fn searched(measured: &Measured<'_>) -> Joint {
    search::joint(
        "Search over what is open",
        SETTING.search(measured, "tcplp"),
        &[
            SETTING.target(
                measured,
                "none",
                ("10 kB without FTP, s", 0.43),
                web::ten_kb,
            ),
            SETTING.share_target(measured, "tcp", ("FTP over TCP, %", 61.0)),
            SETTING.target(
                measured,
                "tcplp",
                ("10 kB beside TCP-LP, s", 0.49),
                web::ten_kb,
            ),
            SETTING.share_target(measured, "tcplp", ("FTP over TCP-LP, %", 51.0)),
            SETTING.reduction_target(measured, 80.0),
        ],
    )
}

pub(crate) fn experiment() -> Experiment {
    let place = "V-D.1, Figure 14";
    let mut studies = SETTING.studies();
    studies.push(
        SETTING
            .without("none_today")
            .set_all(TODAY)
            .set("handshake", "true"),
    );
    studies.push(
        SETTING
            .beside(Kind::TcpLp, "tcplp_today")
            .set_all(TODAY)
            .set("handshake", "true"),
    );
    Experiment {
        id: "LP03-F14",
        paper: Paper::Lp03,
        title: "What FTP over TCP-LP adds to the response times of web objects",
        question: "Does somebody who surfs notice a low-priority transfer?",
        choices: web::choices(),
        claims: vec![
            Claim::value(
                "without",
                "response time of 10 kB without FTP",
                "s",
                0.43,
                place,
            )
            .central()
            .fitted(),
            Claim::value(
                "beside",
                "response time of 10 kB beside TCP-LP",
                "s",
                0.49,
                place,
            )
            .central(),
            Claim::value("longer", "what TCP-LP adds to 10 kB", "s", 0.06, place)
                // The rounding of two times.
                .judged_by(Rule::within(0.06, 0.01))
                .concluding(
                    "it only slightly increases the response time: by no more than twice as much",
                    Rule::AtMost(0.12),
                ),
            Claim::statement(
                "larger",
                "what TCP-LP adds to objects of 32 to 256 kB, less that to those of 2 to 16 kB",
                "s",
                (
                    "increasing transparency with larger file sizes",
                    Rule::AtMost(0.0),
                ),
                place,
            ),
        ],
        studies,
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let figure = ("lp03-f14", "What a low-priority FTP adds to response times");
    let point = |name: &str| SETTING.point(measured, name);
    let mut findings = SETTING.ten_kb_findings(measured, figure, 0.06);
    let larger = web::larger_longer(point("tcplp"), point("none"));
    findings.value("larger", larger);
    let mut table = Table::new(
        "Mean response time of 10 kB, s",
        &["", "", "added to that without FTP"],
    );
    for (title, name, without) in [
        ("without FTP", "none", "none"),
        ("beside TCP", "tcp", "none"),
        ("beside TCP-LP", "tcplp", "none"),
        ("beside TCP-LP/ECN", "tcplp_ecn", "none"),
        ("strict priority (reference model)", "ideal", "none"),
        ("without FTP, today's TCP", "none_today", "none_today"),
        ("beside TCP-LP, today's TCP", "tcplp_today", "none_today"),
    ] {
        let added = web::ten_kb_longer(point(name), point(without));
        let cells = [web::ten_kb(point(name)), added.filter(|_| name != without)];
        let cells = cells.map(written_or_dash);
        table
            .rows
            .push([title.to_owned()].into_iter().chain(cells).collect());
    }
    findings.tables.push(table);
    findings
}
