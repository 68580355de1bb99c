// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 20: web traffic over three congested hops, and an FTP over TCP-LP over each.

use netnice_study::Scale;

use super::common::Kind;
use super::f17::choices;
use super::web::WebSetting;
use crate::claim::{Claim, Rule};
use crate::definition::{Experiment, Paper};
use crate::findings::Findings;
use crate::measured::Measured;
use crate::study::{Study, scenario};

/// Three hops, web traffic over all of them.
pub(super) const SETTING: WebSetting = WebSetting {
    prefix: "lp03_multi_hop_web",
    file: scenario!("lp03_multi_hop_web.toml"),
    ftp: &["ftp0", "ftp1", "ftp2"],
    links: &["hop0", "hop1", "hop2"],
};

/// The search over the open parameters, shared by all three.
fn search(mut study: Study) -> Study {
    study.quick = Scale::new(3, 300);
    study.full = Scale::new(10, 1000);
    study
        .sweep("sessions", &["1", "2", "4", "6"])
        .sweep("object", &["8kB", "12kB"])
}

pub(super) fn searches() -> Vec<Study> {
    vec![
        search(SETTING.without("search_none")),
        search(SETTING.beside(Kind::Tcp, "search_tcp")),
        search(SETTING.beside(Kind::TcpLp, "search_tcplp")),
    ]
}

pub(crate) fn experiment() -> Experiment {
    let place = "V-E.3, Figure 20";
    Experiment {
        id: "LP03-F20",
        paper: Paper::Lp03,
        title: "Web traffic over three congested hops: what an FTP over TCP-LP on each adds",
        question: "Do three low-priority transfers with short round-trip times stay out of the way of web traffic with long ones?",
        choices: choices(),
        claims: vec![
            Claim::value(
                "without",
                "response time of 10 kB without FTP",
                "s",
                (0.74, 0.12),
                place,
            )
            .central()
            .concluding("the load is of that size", Rule::between(0.5, 1.1)),
            Claim::value(
                "beside",
                "response time of 10 kB beside TCP-LP",
                "s",
                (0.98, 0.15),
                place,
            )
            .central()
            .concluding("TCP-LP adds less than 0.5 s", Rule::AtMost(1.24)),
            Claim::value(
                "longer",
                "what TCP-LP adds to 10 kB",
                "s",
                (0.24, 0.1),
                place,
            )
            .concluding("TCP-LP adds less than 0.5 s", Rule::AtMost(0.5)),
        ],
        studies: SETTING.studies(),
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let figure = (
        "lp03-f20",
        "Web over three hops: what low-priority FTPs add to response times",
    );
    SETTING.ten_kb_findings(measured, figure, 0.24)
}
