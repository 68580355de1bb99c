// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared by the experiments on a path of 450 Mb/s.

use netnice_results::{Estimate, RunResults};
use netnice_study::Scale;

use crate::definition::Choice;
use crate::measured::{MeasuredPoint, throughput};
use crate::study::{Study, scenario};
use netnice_study::written_or_dash;

const FILE: (&str, &str) = scenario!("hs_path.toml");
pub(super) const QUICK: Scale = Scale::new(3, 150);
pub(super) const FULL: Scale = Scale::new(10, 600);

/// The other traffic on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cross {
    /// Nothing.
    None,
    /// UDP of half of the rate, on for half of each 20 s.
    PeriodicUdp,
    /// A greedy transfer in the reverse direction.
    Reverse,
}

impl Cross {
    pub const ALL: [Cross; 3] = [Cross::None, Cross::PeriodicUdp, Cross::Reverse];

    pub fn name(self) -> &'static str {
        match self {
            Cross::None => "alone",
            Cross::PeriodicUdp => "udp",
            Cross::Reverse => "reverse",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Cross::None => "no cross-traffic",
            Cross::PeriodicUdp => "periodic UDP",
            Cross::Reverse => "reverse traffic",
        }
    }

    fn flow(self) -> Option<&'static str> {
        match self {
            Cross::None => None,
            Cross::PeriodicUdp => Some("udp"),
            Cross::Reverse => Some("reverse"),
        }
    }
}

/// A study of the path, with a control of the bulk transfer. On a kernel the rate is what an emulated link carries, and
/// all times are as they are: so a threshold of so many milliseconds is the same part of a round trip. HighSpeed TCP is
/// that of a C file there, as few kernels have `tcp_highspeed`.
pub(super) fn path(name: &str, control: &str) -> Study {
    let bulk = match control {
        "highspeed" => "highspeed.h",
        other => other,
    };
    Study::new(format!("hs_{name}"), FILE, QUICK, FULL)
        .set("flows.bulk.congestion_control", &format!("\"{control}\""))
        .on_kernel(
            "on 100 Mb/s in place of 450",
            &[
                ("rate", "100mbit"),
                ("udp_rate", "50mbit"),
                ("flows.bulk.congestion_control", &format!("\"{bulk}\"")),
                ("flows.other.congestion_control", "\"highspeed.h\""),
                ("flows.reverse.congestion_control", "\"highspeed.h\""),
            ],
        )
}

/// A bulk transfer of a control beside cross-traffic.
pub(super) fn bulk(control: &str, cross: Cross) -> Study {
    let study = path(&format!("{control}_{}", cross.name()), control);
    match cross.flow() {
        Some(flow) => study.set(&format!("flows.{flow}.count"), "1"),
        None => study,
    }
}

/// Mb/s of a group in a run.
pub(super) fn mbps_of(run: &RunResults, group: &str) -> Option<f64> {
    Some(throughput(run, group)? / 1e6)
}

/// Mb/s of a group.
pub(super) fn mbps(point: &MeasuredPoint<'_>, group: &str) -> Option<Estimate> {
    point.estimate(|run| mbps_of(run, group))
}

/// The bulk transfer's goodput at a point, in percent of that at another.
pub(super) fn part_of(point: &MeasuredPoint<'_>, other: &MeasuredPoint<'_>) -> Option<Estimate> {
    point.paired(other, |one, other| {
        Some(100.0 * mbps_of(one, "bulk")? / mbps_of(other, "bulk")?)
    })
}

/// The parameters that the slides leave open.
pub(super) fn choices() -> Vec<Choice> {
    vec![
        Choice::new(
            "the paths: Stanford to Ann Arbor and to Gainesville, with about 450 Mb/s available",
            "a link of 450 Mb/s, a round trip of 60 ms, a drop-tail queue of 100 ms where none is given",
        ),
        Choice::new(
            "the other stack",
            "HighSpeed TCP (RFC 3649), from which HSTCP-LP derives",
        ),
        Choice::new(
            "TCP",
            "selective acknowledgements, an ACK for each packet, no limit by receiver windows, packets of 1500 bytes; time stamps of 1 ms",
        ),
        Choice::new(
            "on a kernel",
            "a link of 100 Mb/s, what an emulated link carries, and the same times; HighSpeed TCP of papers/experiments/scenarios/highspeed.h",
        ),
        Choice::new(
            "how long",
            "150 s (600 s with --full), the first 30 left out",
        ),
    ]
}

/// Why a transfer gets little: its window is a burst, and delays itself.
pub(super) fn own_bursts(point: &MeasuredPoint<'_>) -> String {
    let bulk = |run: &RunResults| run.flows.iter().find(|flow| flow.group == "bulk").cloned();
    let window = point.estimate(|run| Some(bulk(run)?.mean_cwnd));
    let over_least = point.estimate(|run| {
        let delay = bulk(run)?.one_way_delay;
        Some((delay.p95_s - delay.min_s) * 1e3)
    });
    let yields = point.estimate(|run| Some(bulk(run)?.early_indications as f64));
    let words = written_or_dash;
    format!(
        "HSTCP-LP's ACKs come in one bunch behind the data of the way back, so its window leaves as one burst, which waits for \
         itself: 95 % of its packets up to {} ms over the least delay. A burst of 15 % of the queue is an early indication \
         although nobody else is there. So the window is {} packets on average of the 2250 that the path holds, and falls to one \
         packet {} times in a run",
        words(over_least),
        words(window),
        words(yields)
    )
}
