// SPDX-License-Identifier: MIT OR Apache-2.0
//! The wide area by day and by night, which cannot be had again: a simulated link with much and with little load.

use netnice_results::Estimate;
use netnice_study::Scale;

use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::findings::Findings;
use crate::measured::{Measured, throughput};
use crate::study::{Study, scenario};
use netnice_study::Table;

const FILE: (&str, &str) = scenario!("tb_wide_area.toml");
const QUICK: Scale = Scale::new(5, 200);
const FULL: Scale = Scale::new(50, 1000);
const PLACE: &str = "Introduction, Project Description";

fn study(name: &str, control: &str) -> Study {
    Study::new(format!("tb_d_{name}"), FILE, QUICK, FULL)
        .set("flows.bulk.congestion_control", control)
        .sweep("sessions", &["14", "3"])
}

pub(crate) fn experiment() -> Experiment {
    let elsewhere =
        |key, what, value| Claim::value(key, what, "%", value, PLACE).judged_by(Rule::Nothing);
    Experiment {
        id: "TB-D",
        paper: Paper::Tb,
        title: "Wide area: TCP-LP by day and by night",
        question: "How much of what TCP would get does TCP-LP get on a path that others use?",
        choices: vec![
            Choice::new(
                "the paths",
                "those of the paper and their traffic are gone, and nothing simulated can stand for them. In their place one link of 10 Mb/s, 80 ms and a queue of 100 ms, on which 14 sessions of web traffic are working hours and 3 are the rest of the day. How much TCP-LP gets follows from these numbers, so that no verdict but *not reproduced* can be had from it",
            ),
            Choice::new("TCP", "as on the testbed"),
        ],
        claims: vec![
            elsewhere("day", "TCP-LP in working hours, of what TCP gets", 45.0),
            elsewhere(
                "night",
                "TCP-LP outside working hours, of what TCP gets",
                75.0,
            ),
            Claim::statement(
                "more",
                "outside working hours over in working hours",
                "",
                ("75 over 45 %", Rule::Nothing),
                PLACE,
            ),
        ],
        studies: vec![
            study("tcp", "reno"),
            study("tcplp", "tcplp"),
            study("idle", "reno").set("flows.bulk.count", "0"),
        ],
        evaluate,
    }
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let points = |name: &str| &measured.study(&format!("tb_d_{name}")).points;
    let ratio = |number: usize| -> Option<Estimate> {
        let (low, tcp) = (points("tcplp").get(number)?, points("tcp").get(number)?);
        low.paired(tcp, |low, tcp| {
            Some(100.0 * throughput(low, "bulk")? / throughput(tcp, "bulk")?)
        })
    };
    let reason = || {
        "the paper's Internet paths are not at hand; a simulated link is no measurement of them"
            .to_owned()
    };
    let (day, night) = (ratio(0), ratio(1));
    findings.value_or_reason("day", day, reason());
    findings.value_or_reason("night", night, reason());
    let more = day.zip(night).map(|(day, night)| night.mean / day.mean);
    findings.value_or_reason("more", more.and_then(crate::findings::exact), reason());
    let mut table = Table::new(
        "The stand-in",
        &[
            "web sessions",
            "link used without bulk, %",
            "TCP, Mb/s",
            "TCP-LP, Mb/s",
        ],
    );
    let mut rows = Vec::new();
    for (number, idle) in points("idle").iter().enumerate() {
        let used = idle
            .estimate(|run| Some(100.0 * crate::measured::queue(run, "bottleneck")?.utilisation));
        let rate =
            |name: &str| points(name)[number].estimate(|run| Some(throughput(run, "bulk")? / 1e6));
        let cells = vec![used, rate("tcp"), rate("tcplp")];
        rows.push((idle.setting("sessions").to_owned(), cells));
    }
    table.fill(rows);
    findings.tables.push(table);
    findings
}
