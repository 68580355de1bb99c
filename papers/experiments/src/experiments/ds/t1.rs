// SPDX-License-Identifier: MIT OR Apache-2.0
//! Table 1: the two policies of the fair window, and the fairness that each is for.

use netnice_results::{Estimate, RunResults};
use netnice_study::{Scale, Table};

use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::findings::Findings;
use crate::measured::{Measured, mean, throughput};
use crate::study::{Study, scenario};

const PARKING_LOT: (&str, &str) = scenario!("ds_parking_lot.toml");
const ROUND_TRIPS: (&str, &str) = scenario!("ds_round_trips.toml");
const QUICK: Scale = Scale::new(5, 120);
const FULL: Scale = Scale::new(20, 300);
const PLACE: &str = "3.2.1, Table 1";

/// A flow of 100 ms opens its window as standard TCP does.
const POLICY_1: &str = r#"{ name = "dstcp", policy = 1, c = 10 }"#;
const POLICY_2: &str = r#"{ name = "dstcp", policy = 2, c = 100 }"#;

/// Bottleneck gateways on the way of the long flows, and where it ends.
const GATEWAYS: [(usize, &str); 3] = [(2, "end2"), (3, "end3"), (4, "end4")];

fn long(name: &str, control: &str, gateways: usize, end: &str) -> Study {
    let name = format!("ds_t1_{name}_{gateways}");
    let study = Study::new(name, PARKING_LOT, QUICK, FULL)
        .set("control", control)
        .set("flows.long.to", end);
    // Gateways that the long flows do not pass have no flows.
    (gateways + 1..=4).fold(study, |study, hop| {
        study.set(&format!("flows.short{hop}.count"), "0")
    })
}

fn round_trips(name: &str, control: &str) -> Study {
    let name = format!("ds_t1_{name}_round_trips");
    Study::new(name, ROUND_TRIPS, QUICK, FULL).set("control", control)
}

fn key(gateways: usize) -> String {
    format!("gateways_{gateways}")
}

pub(crate) fn experiment() -> Experiment {
    let through = |(gateways, _): (usize, &str)| {
        let what =
            format!("policy 1: a flow through {gateways} gateways, of one through one gateway");
        Claim::value(&key(gateways), &what, "", 1.0 / gateways as f64, PLACE)
    };
    let mut claims: Vec<Claim> = GATEWAYS.into_iter().map(through).collect();
    let equal = "each 1/n of the bottleneck, whatever its round trip";
    claims.extend([
        Claim::statement(
            "jain",
            "policy 2: Jain's index of flows of 40 to 160 ms",
            "",
            (equal, Rule::AtLeast(0.99)),
            PLACE,
        ),
        Claim::statement(
            "least",
            "policy 2: mean of the flows of the worst round trip, of an equal share",
            "",
            (equal, Rule::AtLeast(0.9)),
            PLACE,
        ),
    ]);
    let parking_lots = |name, control| {
        GATEWAYS
            .map(|(gateways, end)| long(name, control, gateways, end))
            .to_vec()
    };
    Experiment {
        id: "DS-T1",
        paper: Paper::Ds,
        title: "The two policies of the fair window",
        question: "Does a window that opens by c * rtt give a flow through k gateways 1/k, and one by c * rtt^2 equal shares?",
        choices: vec![
            Choice::new(
                "the constant c",
                "10 of policy 1 and 100 of policy 2: with either a flow of 100 ms opens its window by one packet a round trip",
            ),
            Choice::new(
                "the gateways",
                "10 Mb/s (20 Mb/s with policy 2), RED of 10 and 30 packets; the round trip of 40 ms of each hop is the flow's, so that it is proportional to the number of gateways",
            ),
            Choice::new(
                "flows",
                "four long ones, and four of one hop at each gateway; two of each round trip with policy 2",
            ),
            Choice::new(
                "TCP",
                "selective acknowledgements, an ACK for each packet, no target rates",
            ),
        ],
        claims,
        studies: [
            parking_lots("policy1", POLICY_1),
            parking_lots("reno", "reno"),
            vec![
                round_trips("policy2", POLICY_2),
                round_trips("reno", "reno"),
            ],
        ]
        .concat(),
        evaluate,
    }
}

/// What the long flows get, of what those of one hop get.
fn of_one_hop(run: &RunResults, gateways: usize) -> Option<f64> {
    let short = (1..=gateways).map(|hop| throughput(run, &format!("short{hop}")));
    let short: f64 = short.sum::<Option<f64>>()?;
    Some(throughput(run, "long")? * gateways as f64 / short)
}

/// Goodputs by round trip, of an equal share.
fn by_round_trip(run: &RunResults) -> Vec<f64> {
    let goodputs: Vec<f64> = run.flows.iter().map(|flow| flow.goodput_bps).collect();
    by_host(&goodputs)
}

/// Means of every fourth value, of the mean of all: flows take the four hosts in turn.
fn by_host(goodputs: &[f64]) -> Vec<f64> {
    let equal = mean(goodputs);
    (0..4)
        .map(|host| {
            let of_host = goodputs.iter().skip(host).step_by(4);
            let count = of_host.clone().count();
            of_host.sum::<f64>() / count as f64 / equal
        })
        .collect()
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let ratio = |name: &str, gateways: usize| -> Option<Estimate> {
        let point = measured.point(&format!("ds_t1_{name}_{gateways}"));
        point.estimate(|run| of_one_hop(run, gateways))
    };
    let mut table = Table::new(
        "A flow through k gateways, of one through one gateway",
        &["gateways", "1/k", "policy 1", "standard TCP"],
    );
    for (gateways, _) in GATEWAYS {
        let ours = ratio("policy1", gateways);
        findings.value(&key(gateways), ours);
        let values = [ours, ratio("reno", gateways)].map(netnice_study::written_or_dash);
        let [ours, standard] = values;
        let equal = format!("{:.3}", 1.0 / gateways as f64);
        table
            .rows
            .push(vec![gateways.to_string(), equal, ours, standard]);
    }
    findings.tables.push(table);
    let point = |name: &str| measured.point(&format!("ds_t1_{name}_round_trips"));
    findings.value("jain", point("policy2").jain("flows"));
    let least = point("policy2").estimate(|run| by_round_trip(run).into_iter().reduce(f64::min));
    findings.value("least", least);
    let mut table = Table::new(
        "Goodput by round trip, of an equal share",
        &["", "40 ms", "80 ms", "120 ms", "160 ms", "Jain's index"],
    );
    let rows = [("policy 2", "policy2"), ("standard TCP", "reno")].map(|(title, name)| {
        let of_host = |host: usize| point(name).estimate(|run| Some(by_round_trip(run)[host]));
        let mut cells: Vec<Option<Estimate>> = (0..4).map(of_host).collect();
        cells.push(point(name).jain("flows"));
        (title.to_owned(), cells)
    });
    table.fill(rows.to_vec());
    findings.tables.push(table);
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_every_fourth_flow() {
        let goodputs = [1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 1.0, 0.0];
        assert_eq!(by_host(&goodputs), [1.0, 1.0, 1.0, 1.0]);
        let goodputs = [4.0, 2.0, 2.0, 0.0, 4.0, 2.0, 2.0, 0.0];
        assert_eq!(by_host(&goodputs), [2.0, 1.0, 1.0, 0.0]);
    }
}
