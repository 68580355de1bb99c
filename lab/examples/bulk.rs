// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs bulk flows over an emulated link and prints their goodput and how faithful the link was (needs root):
//!
//! ```sh
//! cargo run --release -p netnice-lab --example bulk -- rate=10mbit,delay=20ms,queue=2.5bdp 10 cubic reno
//! ```

use std::time::Duration;

use netnice_lab::{Bulk, LabError, LinkSpec, Testbed};

fn main() -> Result<(), LabError> {
    let usage = || {
        LabError::Testbed(
            "usage: bulk rate=10mbit,delay=20ms,queue=2.5bdp SECONDS CONTROL...".into(),
        )
    };
    let mut arguments = std::env::args().skip(1);
    let spec = LinkSpec::symmetric(arguments.next().ok_or_else(usage)?.parse()?);
    let seconds = arguments
        .next()
        .and_then(|seconds| seconds.parse().ok())
        .ok_or_else(usage)?;
    let duration = Duration::from_secs(seconds);
    let controls: Vec<String> = arguments.collect();

    let mut testbed = Testbed::new(&spec)?;
    for (number, control) in controls.iter().enumerate() {
        testbed = testbed.flow(format!("{number} {control}"), Bulk::new(control));
    }
    let report = testbed.run(duration)?;
    for name in report.flows.keys() {
        let goodput = report.goodput(name, duration / 5, duration)?;
        let last = report.bulk(name)?.last;
        println!(
            "{name}: {:.3} Mb/s, cwnd {}, {} retransmits",
            goodput / 1e6,
            last.cwnd,
            last.retransmits
        );
    }
    let link = &report.link;
    println!("{link}");
    for (direction, lane) in [("up", &link.up), ("down", &link.down)] {
        let late = &lane.lateness;
        println!(
            "{direction} lateness: p50 {:?}, p99 {:?}, max {:?}",
            late.p50, late.p99, late.max
        );
    }
    let share = link.processor_time.as_secs_f64() / link.elapsed.as_secs_f64();
    println!(
        "processor: {:.1} % of one, {} scheduling",
        100.0 * share,
        link.scheduling
    );
    Ok(())
}
