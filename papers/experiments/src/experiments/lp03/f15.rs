// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 15: response times of web objects beside FTP over TCP-LP, in parts of those beside FTP over TCP.

use super::f14::{SETTING, searched, searches};
use super::web;
use crate::claim::Claim;
use crate::definition::{Experiment, Paper};
use crate::findings::Findings;
use crate::measured::Measured;

pub(crate) fn experiment() -> Experiment {
    let place = "V-D.1, Figure 15";
    let mut studies = SETTING.studies();
    studies.extend(searches());
    Experiment {
        id: "LP03-F15",
        paper: Paper::Lp03,
        title: "Response times of web objects beside FTP over TCP-LP and over TCP",
        question: "How much faster is the web if a bulk transfer uses TCP-LP rather than TCP, and what does the transfer lose?",
        choices: web::choices(),
        claims: vec![
            Claim::value(
                "shorter",
                "by how much response times are shorter beside TCP-LP",
                "%",
                80.0,
                place,
            )
            .central(),
            Claim::value("tcp", "FTP over TCP", "% of the link", 61.0, "V-D.1")
                .central()
                .fitted(),
            Claim::value("low", "FTP over TCP-LP", "% of the link", 51.0, "V-D.1").central(),
            Claim::value(
                "loses",
                "FTP over TCP less FTP over TCP-LP",
                "points",
                10.0,
                "V-D.1",
            )
            .central(),
        ],
        studies,
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let found = searched(measured);
    let nearest = |place: usize| found.nearest_to_each[place].clone();
    findings.tables.push(found.table);
    findings.notes.push(
        "The text gives neither how many sessions there are nor how large objects are. Two of its values have nothing to do with \
         TCP-LP: 0.43 s for 10 kB without FTP, and 61 % of the link for FTP over TCP. They were fitted to these, 2 sessions and \
         8 kB, and are the same everywhere; the table shows what others would give."
            .to_owned(),
    );
    findings
        .notes
        .push(format!("Figures 14 and 15: {}.", found.nearest));
    findings.value_or_reason("shorter", SETTING.reduction(measured, "tcplp"), nearest(4));
    findings.value("tcp", SETTING.ftp_share(SETTING.point(measured, "tcp")));
    let low = SETTING.ftp_share(SETTING.point(measured, "tcplp"));
    findings.value_or_reason("low", low, nearest(3));
    findings.value("loses", SETTING.ftp_loses(measured));
    let mut figure = SETTING.ratios(
        measured,
        "lp03-f15",
        "Response times in parts of those beside TCP",
    );
    web::reported(&mut figure, 10.0, 0.2);
    findings.figures.push(figure);
    findings
}
