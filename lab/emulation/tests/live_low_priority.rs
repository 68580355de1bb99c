// SPDX-License-Identifier: MIT OR Apache-2.0
//! Yielding and filling of the controls on the running kernel: margins are wide, since the machine may be busy; `netnice
//! judge --lab` measures. Needs root.

use std::fmt::Write as _;

use netnice_emulation::Lab;
use netnice_results::{RunResults, until_in_time};
use netnice_scenario::ScenarioFile;

/// Flows on a separate link for each case, all at the same time.
struct Cases(String);

impl Cases {
    fn new() -> Cases {
        Cases(
            "name = \"low_priority\"\nduration = \"26s\"\nwarm_up = \"12s\"\n\
             defaults.links = { rate = \"10mbit\", delay = \"20ms\", queue = \"2.5bdp\" }\n\
             defaults.flows = { tcp = { delayed_ack = true, min_rto = \"200ms\" } }\n"
                .to_owned(),
        )
    }

    /// Adds a case of flows, each with a name, a congestion control and further settings.
    fn add(&mut self, case: &str, flows: &[(&str, &str, &str)]) {
        let _ = writeln!(
            self.0,
            "[[links]]\nname = \"{case}\"\nfrom = \"{case}_source\"\nto = \"{case}_sink\""
        );
        for (name, control, rest) in flows {
            let _ = writeln!(
                self.0,
                "[[flows]]\nname = \"{case}_{name}\"\nfrom = \"{case}_source\"\nto = \"{case}_sink\"\n\
                 congestion_control = \"{control}\"\n{rest}"
            );
        }
    }

    /// Runs the cases, again at most twice if the machine was late.
    fn run(&self) -> RunResults {
        let file = ScenarioFile::parse("low_priority", &self.0, &[], None);
        let file = file.unwrap_or_else(|error| panic!("{error}"));
        let point = &file.points[0];
        let on = || (&point.scenario, point.layout().unwrap());
        let problems = netnice_emulation::check(&point.scenario, &on().1);
        assert!(problems.is_empty(), "{problems:?}");
        let lab = Lab::open([file.scenario()]).expect("a lab (this test needs root)");
        let results = until_in_time(2, || lab.run(on(), 1, None, || true));
        lab.close().unwrap();
        results.unwrap().unwrap()
    }
}

fn goodput(results: &RunResults, name: &str) -> f64 {
    let mut flows = results.flows.iter();
    flows.find(|flow| flow.name == name).unwrap().goodput_bps
}

/// Returns the mean completion time of the transfers of a group, in seconds.
fn mean_completion(results: &RunResults, group: &str) -> f64 {
    let flows = results.flows.iter().filter(|flow| flow.group == group);
    let times: Vec<f64> = flows.filter_map(|flow| flow.completion_s).collect();
    assert!(times.len() >= 55, "{} of {group} are complete", times.len());
    times.iter().sum::<f64>() / times.len() as f64
}

#[test]
fn low_priority_yields_and_netnice_fills_an_idle_link() {
    const PAGES: &str = "count = 60\nbytes = \"10kB\"\nstart = \"6s\"\nstart_spread = \"19s\"";
    const LOW: [&str; 3] = ["netnice", "tcplp", "hstcplp"];
    let mut cases = Cases::new();
    cases.add("idle", &[("own", "cubic", "")]);
    cases.add("alone", &[("own", "netnice", "")]);
    for control in LOW {
        cases.add(
            control,
            &[("own", control, ""), ("rival", "cubic", "start = \"6s\"")],
        );
    }
    cases.add("quiet", &[("page", "cubic", PAGES)]);
    cases.add(
        "loaded",
        &[("page", "cubic", PAGES), ("own", "netnice", "")],
    );
    let results = cases.run();

    let (idle, alone) = (
        goodput(&results, "idle_own"),
        goodput(&results, "alone_own"),
    );
    assert!(
        alone > 0.9 * idle,
        "alone {alone:.0}, cubic {idle:.0} bit/s"
    );
    for control in LOW {
        let own = goodput(&results, &format!("{control}_own"));
        let rival = goodput(&results, &format!("{control}_rival"));
        assert!(
            own < 0.08 * idle,
            "{control} takes {own:.0} of {idle:.0} bit/s"
        );
        assert!(
            rival > 0.9 * idle,
            "{control} leaves {rival:.0} of {idle:.0} bit/s"
        );
    }
    let slowed = mean_completion(&results, "loaded_page") / mean_completion(&results, "quiet_page");
    assert!(slowed < 1.2, "pages take {slowed:.2} times as long");
    let bulk = goodput(&results, "loaded_own");
    assert!(bulk > 0.7 * idle, "bulk gets {bulk:.0} of {idle:.0} bit/s");
}

/// The lab passes a floor on to the kernel: without it these flows would get less than a tenth.
#[test]
fn flows_above_a_floor_get_it_beside_another() {
    let mut cases = Cases::new();
    for (case, low) in [
        (
            "sent",
            "congestion_control = { name = \"netnice\", at_least_bps = 2e6 }",
        ),
        (
            "received",
            "congestion_control = \"cubic\"\nreceiver = { name = \"netnice\", at_least_bps = 2e6 }",
        ),
    ] {
        cases.add(case, &[("other", "cubic", "")]);
        let _ = writeln!(
            cases.0,
            "[[flows]]\nname = \"{case}_low\"\nfrom = \"{case}_source\"\nto = \"{case}_sink\"\ncount = 2\n{low}"
        );
    }
    let results = cases.run();
    for case in ["sent", "received"] {
        let group = format!("{case}_low");
        let flows = results.flows.iter().filter(|flow| flow.group == group);
        let got: f64 = flows.map(|flow| flow.goodput_bps).sum();
        assert!((1.5e6..3e6).contains(&got), "{case}: {got}");
    }
}
