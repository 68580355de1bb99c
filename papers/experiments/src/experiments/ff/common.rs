// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared by the experiments with on/off sources.

use netnice_results::{FlowResult, RunResults, Series};
use netnice_study::Scale;

use crate::definition::Choice;
use crate::study::{Study, scenario};

const FILE: (&str, &str) = scenario!("ff_sources.toml");
const QUICK: Scale = Scale::new(40, 15);
const FULL: Scale = Scale::new(400, 15);

/// Name of the study that Table III and Figures 3 to 7 are made of.
pub(super) const SOURCES: &str = "ff_sources";

/// That study.
pub(super) fn sources() -> Study {
    Study::new(SOURCES, FILE, QUICK, FULL)
}

/// The only flow of a group.
pub(super) fn flow<'a>(run: &'a RunResults, group: &str) -> Option<&'a FlowResult> {
    run.flows.iter().find(|flow| flow.group == group)
}

/// A time series of a flow.
pub(super) fn series<'a>(run: &'a RunResults, quantity: &str, of: &str) -> Option<&'a Series> {
    let mut series = run.series.iter();
    series.find(|series| series.quantity == quantity && series.of == of)
}

/// The parameters that the paper leaves open.
pub(super) fn choices() -> Vec<Choice> {
    vec![
        Choice::new(
            "length of a run",
            "15 s, fitted: what LP and Reno received, in packets of 1000 bytes, over their throughputs; the figures' axis of 15 minutes can only be seconds",
        ),
        Choice::new(
            "packets of 280 and 210 bytes",
            "those of the generators: ns-2's TCP sends a packet of its own size, 1000 bytes unless set, for each. Packets of 280 and 210 bytes on the link would make Table III's throughputs 4 and 2.3 s long",
        ),
        Choice::new(
            "rates of the bursts",
            "fitted, those with which Reno and Vegas offer as many packets in 15 s as Table III has them send: 458 and 1077 kb/s",
        ),
        Choice::new(
            "lengths of bursts and pauses, shape",
            "500 ms each, 1.5: the defaults of ns-2",
        ),
        Choice::new(
            "access links",
            "10 Mb/s, 10 ms: with 30 ms of the bottleneck the round trip is 100 ms",
        ),
        Choice::new(
            "TCP",
            "Reno's recovery, an ACK for each packet, a minimum RTO of 0.2 s, as in ns-2.35; TCP-LP as published, not as in ns-2.35, whose module comes from Linux",
        ),
    ]
}
