// SPDX-License-Identifier: MIT OR Apache-2.0
//! The promise of the controls, on the running kernel: margins are wide, since the machine that
//! runs this may be busy; `make bench` measures. Needs root.

use std::thread;
use std::time::Duration;

use netnice_kernel::control::Control;
use netnice_kernel::pins::Pins;
use netnice_lab::{Bulk, Direction, Flow, LinkSpec, Testbed, TestbedReport, Web};

const SECOND: Duration = Duration::from_secs(1);
const LINK: &str = "rate=10mbit,delay=20ms,queue=2.5bdp";
const LENGTH: Duration = Duration::from_secs(26);

/// A run, made again, twice at most, where the machine was not punctual: what is measured then says nothing of a control.
fn run(flows: Vec<(&str, Flow)>) -> TestbedReport {
    let spec = LinkSpec::symmetric(LINK.parse().unwrap());
    let once = || {
        let mut bed = Testbed::new(&spec).unwrap();
        for (name, flow) in &flows {
            bed = bed.flow(*name, flow.clone());
        }
        bed.run(LENGTH).unwrap()
    };
    (0..2)
        .map(|_| once())
        .find(|report| report.link.trustworthy)
        .unwrap_or_else(once)
}

fn goodput(report: &TestbedReport, name: &str) -> f64 {
    report.goodput(name, 12 * SECOND, LENGTH).unwrap()
}

fn web() -> Flow {
    Web::new("10kB".parse().unwrap(), Duration::from_millis(300))
        .direction(Direction::Up)
        .congestion("cubic")
        .from(6 * SECOND)
        .into()
}

#[test]
fn controls_of_low_priority_yield_and_netnice_fills_an_idle_link() {
    let pins = Pins::open().expect("this test needs root");
    for control in Control::all() {
        control.register(&pins).unwrap();
    }
    let beside = |control: &'static str| {
        run(vec![
            ("own", Bulk::new(control).into()),
            ("rival", Bulk::new("cubic").from(6 * SECOND).into()),
        ])
    };
    thread::scope(|scope| {
        let idle = scope.spawn(|| run(vec![("own", Bulk::new("cubic").into())]));
        let alone = scope.spawn(|| run(vec![("own", Bulk::new("netnice").into())]));
        let netnice = scope.spawn(|| beside("netnice"));
        let tcplp = scope.spawn(|| beside("tcplp"));
        let hstcplp = scope.spawn(|| beside("hstcplp"));
        let quiet = scope.spawn(|| run(vec![("web", web())]));
        let loaded =
            scope.spawn(|| run(vec![("web", web()), ("own", Bulk::new("netnice").into())]));

        let idle = goodput(&idle.join().unwrap(), "own");
        let alone = goodput(&alone.join().unwrap(), "own");
        assert!(
            alone > 0.9 * idle,
            "alone {alone:.0}, cubic {idle:.0} bit/s"
        );

        for (name, report) in [("netnice", netnice), ("tcplp", tcplp), ("hstcplp", hstcplp)] {
            let report = report.join().unwrap();
            let (own, rival) = (goodput(&report, "own"), goodput(&report, "rival"));
            assert!(
                own < 0.08 * idle,
                "{name} takes {own:.0} of {idle:.0} bit/s"
            );
            assert!(
                rival > 0.9 * idle,
                "{name} leaves {rival:.0} of {idle:.0} bit/s"
            );
        }

        let quiet = quiet.join().unwrap().web("web").unwrap().mean().unwrap();
        let loaded = loaded.join().unwrap();
        let slowed = loaded.web("web").unwrap().mean().unwrap() / quiet;
        assert!(slowed < 1.2, "fetches take {slowed:.2} times as long");
        let bulk = goodput(&loaded, "own");
        assert!(bulk > 0.7 * idle, "bulk gets {bulk:.0} of {idle:.0} bit/s");
    });
    pins.close().unwrap();
}
