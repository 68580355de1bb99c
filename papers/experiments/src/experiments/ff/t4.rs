// SPDX-License-Identifier: MIT OR Apache-2.0
//! Table IV: 1080 greedy connections.

use netnice_results::{Estimate, RunResults, jain_index};
use netnice_study::Scale;

use super::common::choices;
use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::findings::Findings;
use crate::measured::{Measured, MeasuredPoint, mean};
use crate::outcome::number;
use crate::study::{Study, scenario};
use netnice_study::Table;
use netnice_study::{written, written_or_dash};

const FILE: (&str, &str) = scenario!("ff_greedy.toml");
const QUICK: Scale = Scale::new(3, 100);
const FULL: Scale = Scale::new(20, 1000);
const PLACE: &str = "VI, Table IV";

/// Study, group, name, reported index and mean throughput in kb/s.
const ROWS: [(&str, &str, &str, f64, f64); 4] = [
    ("ff_t4_reno", "reno", "1080 Reno", 0.003, 0.184),
    ("ff_t4_mixed", "reno", "360 Reno of the mix", 0.001, 0.383),
    ("ff_t4_mixed", "lp", "360 TCP-LP of the mix", 0.002, 0.646),
    ("ff_t4_mixed", "vegas", "360 Vegas of the mix", 0.002, 0.319),
];

fn key(study: &str, group: &str, what: &str) -> String {
    format!("{study}_{group}_{what}")
}

pub(crate) fn experiment() -> Experiment {
    let claims = ROWS
        .iter()
        .flat_map(|&(study, group, name, index, throughput)| {
            [
                Claim::value(
                    &key(study, group, "index"),
                    &format!("{name}: Jain's index"),
                    "",
                    index,
                    PLACE,
                ),
                Claim::value(
                    &key(study, group, "mean"),
                    &format!("{name}: mean throughput"),
                    "kb/s",
                    throughput,
                    PLACE,
                ),
            ]
        });
    let mut claims: Vec<Claim> = claims.collect();
    claims.extend([
        Claim::statement(
            "mixed",
            "mean of Jain's indices in the mix, over that of 1080 Reno",
            "",
            ("better in the mix than with Reno alone", Rule::AtLeast(1.0)),
            "VI",
        ),
        Claim::statement(
            "best",
            "Jain's index of TCP-LP in the mix, less the best of the others",
            "",
            ("TCP-LP is the best of them", Rule::AtLeast(0.0)),
            "VI",
        ),
    ]);
    let mut choices: Vec<Choice> = choices()
        .into_iter()
        .filter(|choice| choice.open == "TCP")
        .collect();
    choices.push(Choice::new(
        "the path, and how long",
        "that of Table III; all connections have the same; 100 s (1000 s with --full), the connections begin within the first ten",
    ));
    choices.push(Choice::new(
        "the first row: \"360 Reno\", where 1080 are spoken of",
        "1080 connections over Reno",
    ));
    Experiment {
        id: "FF-T4",
        paper: Paper::Ff,
        title: "1080 greedy connections",
        question: "How evenly do 1080 connections share 1.5 Mb/s, all Reno or a third each of Reno, Vegas and TCP-LP?",
        choices,
        claims,
        studies: vec![
            Study::new("ff_t4_reno", FILE, QUICK, FULL).set_all(&[
                ("flows.reno.count", "1080"),
                ("flows.vegas.count", "0"),
                ("flows.lp.count", "0"),
            ]),
            Study::new("ff_t4_mixed", FILE, QUICK, FULL),
        ],
        evaluate,
    }
}

/// Jain's index of the goodputs of a group.
fn jain(run: &RunResults, group: &str) -> Option<f64> {
    let flows = run.flows.iter().filter(|flow| flow.group == group);
    jain_index(&flows.map(|flow| flow.goodput_bps).collect::<Vec<_>>())
}

fn mean_kbps(point: &MeasuredPoint<'_>, group: &str) -> Option<Estimate> {
    point.estimate(|run| {
        let flows = run.flows.iter().filter(|flow| flow.group == group);
        let rates: Vec<f64> = flows.map(|flow| flow.throughput_bps / 1e3).collect();
        Some(mean(&rates))
    })
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let mut table = Table::new(
        "Shares of 1.5 Mb/s",
        &[
            "",
            "Jain's index",
            "paper",
            "least possible",
            "mean, kb/s",
            "paper",
        ],
    );
    for (study, group, name, index, throughput) in ROWS {
        let point = measured.point(study);
        let flows = point.runs.first().map_or(0, |run| {
            run.flows.iter().filter(|flow| flow.group == group).count()
        });
        let least = 1.0 / flows as f64;
        let (jain, mean) = (point.jain(group), mean_kbps(point, group));
        let reason = if index < least {
            format!(
                "{} is less than Jain's index can be: 1/{flows} = {least:.4} is its value when one connection has everything",
                number(index)
            )
        } else {
            format!(
                "an index of {} would mean that about {:.0} of {flows} connections have everything",
                number(index),
                index * flows as f64
            )
        };
        findings.value_or_reason(&key(study, group, "index"), jain, reason);
        let all = point
            .estimate(|run| Some(run.flows.iter().map(|flow| flow.throughput_bps / 1e3).sum()));
        let reason = all.map_or(String::new(), |all| {
            format!(
                "ours are {} kb/s in all of a link of 1500; over what time the paper's are averaged is not said",
                written(&all)
            )
        });
        findings.value_or_reason(&key(study, group, "mean"), mean, reason);
        let words = written_or_dash;
        table.rows.push(vec![
            name.to_owned(),
            words(jain),
            number(index),
            format!("{least:.4}"),
            words(mean),
            number(throughput),
        ]);
    }
    findings.tables.push(table);
    let mixed = |of: fn([f64; 3]) -> f64| {
        move |run: &RunResults| {
            let indices = ["lp", "reno", "vegas"].map(|group| jain(run, group));
            Some(of([indices[0]?, indices[1]?, indices[2]?]))
        }
    };
    let best = mixed(|[lp, reno, vegas]| lp - reno.max(vegas));
    let point = measured.point("ff_t4_mixed");
    findings.value("best", point.estimate(best));
    let mean = mixed(|indices| indices.iter().sum::<f64>() / 3.0);
    let better = point.paired(measured.point("ff_t4_reno"), |run, alone| {
        Some(mean(run)? / jain(alone, "reno")?)
    });
    findings.value("mixed", better);
    findings.notes.push(
        "The printed indices cannot be Jain's index of these connections by the paper's own formula, whose value lies between \
         1/n and 1: 0.001 and 0.002 for 360 connections are below 1/360 = 0.0028, and 0.003 for 1080 would leave all but three \
         of them with nothing. What they are cannot be told from the text. The printed mean throughputs add up to a part of the \
         link, 199 kb/s for 1080 Reno and 485 kb/s for the mix, where greedy connections fill 1500."
            .to_owned(),
    );
    findings
}
