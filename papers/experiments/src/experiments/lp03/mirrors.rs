// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sections I and VI: TCP-LP as a measure of available bandwidth, and the choice of a mirror by it.

use netnice_results::RunResults;
use netnice_study::{Scale, Table, written_or_dash};

use crate::claim::{Claim, Rule};
use crate::definition::{Choice, Experiment, Paper};
use crate::findings::Findings;
use crate::measured::{Measured, mean, queue, throughput};
use crate::study::{Study, scenario};

const FILE: (&str, &str) = scenario!("lp03_mirrors.toml");
const QUICK: Scale = Scale::new(10, 70);
const FULL: Scale = Scale::new(50, 70);
const PLACE: &str = "I";
const MIRRORS: usize = 4;
/// Mirrors on whose path something is left over.
const SPARE: usize = 3;
/// Downloads at a time, where many measure.
const MANY: &str = "4";

fn study(name: &str, control: &str, downloads: &str) -> Study {
    Study::new(format!("lp03_mirrors_{name}"), FILE, QUICK, FULL)
        .set("control", control)
        .set("downloads", downloads)
}

pub(crate) fn experiment() -> Experiment {
    Experiment {
        id: "LP03-mirrors",
        paper: Paper::Lp03,
        title: "The choice of a mirror by TCP-LP",
        question: "Is what a TCP-LP transfer gets the bandwidth that is available, also where many measure at once?",
        choices: vec![
            Choice::new(
                "the paths, which the paper does not show",
                "four with a bottleneck each: three of 10 Mb/s, of which bursts of UDP leave 8, 5 and 2 Mb/s, and one of 20 Mb/s with three greedy TCP transfers, which leave nothing; a round trip of 48 ms, 60 s",
            ),
            Choice::new(
                "a download is from one mirror",
                "all four are measured at the same time, as their paths have nothing in common",
            ),
            Choice::new(
                "probing by trains of packets, as pathload does",
                "not simulated: that it overestimates is not judged",
            ),
        ],
        claims: vec![
            Claim::statement(
                "order",
                "runs in which TCP-LP puts the mirrors into the order of their available bandwidth",
                "%",
                (
                    "selects the mirror with the highest available bandwidth",
                    Rule::AtLeast(100.0),
                ),
                PLACE,
            ),
            Claim::statement(
                "rate",
                "throughput of TCP-LP, of what is available, mean over the three mirrors with some",
                "%",
                (
                    "transmits at the rate of the available bandwidth",
                    Rule::between(90.0, 110.0),
                ),
                PLACE,
            ),
            Claim::statement(
                "many",
                "four TCP-LP transfers at once: throughput of all, of what is available",
                "%",
                (
                    "many obtain their share of the available bandwidth",
                    Rule::between(90.0, 110.0),
                ),
                PLACE,
            ),
            Claim::statement(
                "fair",
                "the largest share of one of the four, of a quarter, mean over the mirrors",
                "%",
                ("a fair share, no overestimate", Rule::AtMost(110.0)),
                PLACE,
            ),
        ],
        studies: vec![
            study("tcplp", "tcplp", "1"),
            study("tcp", "reno", "1"),
            study("many", "tcplp", MANY),
        ],
        evaluate,
    }
}

/// What others leave of a path in a run, in bits per second; nothing is left by TCP.
fn available_bps(run: &RunResults, path: usize) -> Option<f64> {
    if path >= SPARE {
        return Some(0.0);
    }
    let rate = queue(run, &format!("path{path}"))?.rate_bps as f64;
    Some(rate - throughput(run, &format!("others{path}"))?)
}

fn download_bps(run: &RunResults, path: usize) -> Option<f64> {
    throughput(run, &format!("mirror{path}"))
}

/// Places of the mirrors from the best to the worst.
fn order(rates: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..rates.len()).collect();
    places.sort_by(|&a, &b| rates[b].total_cmp(&rates[a]));
    places
}

fn all(of: impl Fn(usize) -> Option<f64>, paths: usize) -> Option<Vec<f64>> {
    (0..paths).map(of).collect()
}

fn in_order(run: &RunResults) -> Option<f64> {
    let available = all(|path| available_bps(run, path), MIRRORS)?;
    let found = all(|path| download_bps(run, path), MIRRORS)?;
    Some(if order(&available) == order(&found) {
        100.0
    } else {
        0.0
    })
}

fn of_available(run: &RunResults) -> Option<f64> {
    let parts = |path| Some(100.0 * download_bps(run, path)? / available_bps(run, path)?);
    Some(mean(&all(parts, SPARE)?))
}

/// The largest of a mirror's downloads, of an equal share of all of them.
fn largest(run: &RunResults) -> Option<f64> {
    let of_path = |path| {
        let group = format!("mirror{path}");
        let flows = run.flows.iter().filter(|flow| flow.group == group);
        let rates: Vec<f64> = flows.map(|flow| flow.throughput_bps).collect();
        let most = rates.iter().copied().reduce(f64::max)?;
        Some(100.0 * most / mean(&rates))
    };
    Some(mean(&all(of_path, SPARE)?))
}

fn evaluate(measured: &Measured<'_>) -> Findings {
    let mut findings = Findings::default();
    let [tcplp, tcp, many] =
        ["tcplp", "tcp", "many"].map(|name| measured.point(&format!("lp03_mirrors_{name}")));
    findings.value("order", tcplp.estimate(in_order));
    findings.value("rate", tcplp.estimate(of_available));
    findings.value("many", many.estimate(of_available));
    findings.value("fair", many.estimate(largest));
    let columns = [
        "path",
        "available, Mb/s",
        "TCP-LP",
        "TCP",
        "four TCP-LP together",
    ];
    let mut table = Table::new("Downloads from four mirrors, Mb/s", &columns);
    for path in 0..MIRRORS {
        let cells = [
            tcplp.estimate(|run| Some(available_bps(run, path)? / 1e6)),
            tcplp.estimate(|run| Some(download_bps(run, path)? / 1e6)),
            tcp.estimate(|run| Some(download_bps(run, path)? / 1e6)),
            many.estimate(|run| Some(download_bps(run, path)? / 1e6)),
        ];
        let mut row = vec![(path + 1).to_string()];
        row.extend(cells.map(written_or_dash));
        table.rows.push(row);
    }
    findings.tables.push(table);
    let [by_tcp, by_tcplp] = [tcp, tcplp].map(|point| {
        let ordered = point.runs.iter().filter_map(|run| in_order(run));
        ordered.filter(|&percent| percent > 0.0).count()
    });
    findings.notes.push(format!(
        "A download over TCP measures its share: of {} runs it puts the four mirrors into the order of what is available in \
         {by_tcp}, TCP-LP in {by_tcplp}.",
        tcp.runs.len()
    ));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_mirror_is_the_first() {
        assert_eq!(order(&[5.0, 8.0, 0.0, 2.0]), [1, 0, 3, 2]);
    }
}
