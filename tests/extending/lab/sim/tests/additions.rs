// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scenario files know the additions of `docs/extending.md` by name, and the simulator runs them.

use netnice_scenario::{ScenarioFile, explain};
use netnice_sim::run;

const SCENARIO: &str = r#"
name = "additions"
duration = "2s"

[[links]]
name = "line"
from = "sender"
to = "receiver"
rate = "10mbit"
delay = "20ms"
queue = { discipline = "drop_head", limit = "20p" }
marker = { kind = "every_nth", n = 2 }

[[flows]]
name = "gentle"
from = "sender"
to = "receiver"
congestion_control = "gentle"

[[flows]]
name = "low"
from = "sender"
to = "receiver"
receiver = "ledbat"

[[flows]]
name = "bursts"
from = "sender"
to = "receiver"
transport = "udp"
packet_size = "1000B"
application = { kind = "bursts", packets = 5, interval = "100ms" }
"#;

#[test]
fn a_scenario_names_all_additions() {
    let mut file = ScenarioFile::parse("additions.toml", SCENARIO, &[], None)
        .unwrap_or_else(|error| panic!("{error}"));
    let words = explain(&file);
    assert!(words.contains("5 packets every 100ms"), "{words}");
    let scenario = file.points.remove(0).scenario;
    let results = run(&scenario, 1, || true).unwrap().unwrap();
    let delivered = |flow: usize| results.flows[flow].packets_received;
    assert!(delivered(0) > 0 && delivered(1) > 0, "{results:?}");
    assert_eq!(results.flows[0].congestion_control, "gentle");
    // Bursts at 0, 100 ms … 1.9 s, and 2 s if that counts.
    let sent = results.flows[2].packets_sent;
    assert!((100..=105).contains(&sent), "{sent}");
    let line = &results.queues[0];
    assert!(line.dropped() > 0 && line.drops.iter().all(|drops| drops.cause == "pushed_out"));
    let of = |colour: &str| line.colours.iter().find(|packets| packets.colour == colour);
    assert_eq!(
        of("green").unwrap().arrived,
        of("yellow").unwrap().arrived + line.arrived % 2
    );
}
