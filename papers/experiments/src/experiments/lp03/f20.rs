// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 20: web traffic over three congested hops, and an FTP over TCP-LP over each.

use netnice_study::Scale;

use super::common::Kind;
use super::f14;
use super::f17::choices;
use super::web::{self, WebSetting};
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
    let mut studies = SETTING.studies();
    studies.extend(f14::SETTING.studies());
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
                0.74,
                place,
            )
            .central(),
            Claim::value(
                "beside",
                "response time of 10 kB beside TCP-LP",
                "s",
                0.98,
                place,
            )
            .central(),
            Claim::value("longer", "what TCP-LP adds to 10 kB", "s", 0.24, place),
            Claim::statement(
                "times",
                "that over what it adds on one bottleneck (Figure 14)",
                "",
                (
                    "three times, as there are three hops",
                    Rule::between(2.5, 3.5),
                ),
                place,
            ),
        ],
        studies,
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let figure = (
        "lp03-f20",
        "Web over three hops: what low-priority FTPs add to response times",
    );
    let mut findings = SETTING.ten_kb_findings(measured, figure, 0.24);
    let longer = |setting: &WebSetting| {
        let [tcplp, none] = ["tcplp", "none"].map(|name| setting.point(measured, name));
        web::ten_kb_longer(tcplp, none)
    };
    let times = longer(&SETTING).zip(longer(&f14::SETTING));
    findings.value("times", times.map(|(here, one)| web::ratio(&here, &one)));
    findings
}
