// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 17: three congested hops with web traffic over each, and FTP over TCP-LP over all three.

use super::web::{self, WebSetting};
use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::findings::Findings;
use crate::measured::Measured;
use crate::study::scenario;

/// Three hops, FTP over all of them.
pub(super) const SETTING: WebSetting = WebSetting {
    prefix: "lp03_three_hops",
    file: scenario!("lp03_three_hops.toml"),
    ftp: &["ftp"],
    links: &["hop0", "hop1", "hop2"],
};

/// The parameters that the paper leaves open here.
pub(super) fn choices() -> Vec<Choice> {
    let mut choices = web::choices();
    choices.push(Choice::new(
        "queues of the three links",
        "24 packets each, as on one bottleneck",
    ));
    choices
}

pub(crate) fn experiment() -> Experiment {
    let place = "V-E.1, Figure 17";
    Experiment {
        id: "LP03-F17",
        paper: Paper::Lp03,
        title: "Three congested hops: what FTP over TCP-LP over all of them adds",
        question: "Does TCP-LP stay out of the way where its round-trip time is three times that of the web traffic?",
        choices: choices(),
        claims: vec![
            Claim::statement(
                "longer",
                "what TCP-LP adds to 10 kB",
                "s",
                ("non-intrusive; 0.06 on one bottleneck", Rule::AtMost(0.06)),
                place,
            ),
            Claim::statement(
                "ecn",
                "10 kB beside TCP-LP less beside TCP-LP/ECN",
                "s",
                ("no substantial difference", Rule::between(-0.06, 0.06)),
                place,
            ),
        ],
        studies: SETTING.studies(),
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let point = |name: &str| SETTING.point(measured, name);
    findings.value("longer", web::ten_kb_longer(point("tcplp"), point("none")));
    findings.value(
        "ecn",
        web::ten_kb_longer(point("tcplp"), point("tcplp_ecn")),
    );
    findings.figures.push(SETTING.differences(
        measured,
        "lp03-f17",
        "Three hops: what a low-priority FTP adds to response times",
    ));
    findings
}
