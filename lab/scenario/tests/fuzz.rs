// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever is in a file, the parser answers with a scenario or with errors, and never panics.

use netnice_scenario::ScenarioFile;
use proptest::prelude::*;

const SCENARIO: &str = r#"name = "test"
duration = "100s"
seeds = [1, 2]
sampling = { interval = "1s", flows = ["web"] }
phases = [{ name = "first", from = "0s", to = "50s" }]
routes = [{ from = "hosts", to = "right", via = ["left"] }]
[parameters]
rate = "10mbit"
[sweep]
rate = ["10mbit", "1mbit"]
flows.wave.application.period = ["1s", "2s"]
[defaults.flows]
packet_size = "1000B"
tcp = { delayed_ack = "100ms", receiver_window = "64kB", initial_ssthresh = 20.5 }
[[nodes]]
name = "hosts"
count = 3
clock = { tick = "10ms", offset = "3s", drift_ppm = -20.0 }
[[links]]
from = "hosts"
to = "left"
delay_step = "2ms"
marker = { kind = "tsw", target = "1mbit" }
[[links]]
name = "bottleneck"
from = "left"
to = "right"
rate = "$rate"
delay = "20ms"
jitter = { size = "1ms", distribution = "exponential", reordering = true }
loss = "0.1%"
queue = { discipline = "red", limit = "2.5bdp", min_threshold = "10%", max_threshold = "50%", weight = 0.002 }
reverse = { queue = { discipline = "sfq", limit = "64kB" }, rate = "1mbit" }
[[flows]]
name = "web"
from = "hosts"
to = "right"
reverse = true
application = { kind = "web", sessions = 5, object_size = { mean = "10kB", shape = 1.2 } }
congestion_control = "reno"
[[flows]]
name = "wave"
from = "hosts"
to = "right"
count = 7
transport = "udp"
dscp = "AF11"
application = { kind = "square_wave", rate = "1mbit", period = "200ms" }
"#;

fn never_panics(text: &str, settings: &[(String, String)]) {
    if let Err(error) = ScenarioFile::parse("test.toml", text, settings, None) {
        assert!(!error.problems.is_empty());
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn the_scenario_to_change_is_right() {
    let file = ScenarioFile::parse("test.toml", SCENARIO, &[], None);
    assert_eq!(
        file.unwrap_or_else(|error| panic!("{error}")).points.len(),
        4
    );
}

/// Pieces that mean something in TOML or in a scenario.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "\"",
            "'",
            "[",
            "]",
            "[[",
            "]]",
            "{",
            "}",
            "=",
            ".",
            ",",
            "\n",
            "#",
            "$",
            "-",
            "0",
            "99999999999999999999",
            "1e400",
            "nan",
            "inf",
            "true",
            "1979-05-27",
            "\"\"\"",
            "\\u0000",
            "\"$rate\"",
            "[sweep]",
            "[parameters]",
            "[defaults.links]",
            "name",
            "kind",
            "discipline",
            "\"0p\"",
            "\"1bdp\"",
            "\"584y\"",
            "\"-1ms\"",
            "é",
            "\u{0}",
        ])
        .prop_map(str::to_owned),
        ".{0,8}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn of_random_text(text in ".{0,200}") {
        never_panics(&text, &[]);
    }

    #[test]
    fn of_pieces(pieces in prop::collection::vec(piece(), 0..40)) {
        never_panics(&pieces.concat(), &[]);
    }

    #[test]
    fn of_a_scenario_with_a_piece_cut_out_and_another_put_in(
        at in 0..SCENARIO.len(), length in 0usize..30, piece in piece()
    ) {
        // The scenario is plain ASCII, so that any place is between two characters.
        let end = (at + length).min(SCENARIO.len());
        let text = format!("{}{piece}{}", &SCENARIO[..at], &SCENARIO[end..]);
        never_panics(&text, &[]);
    }

    #[test]
    fn of_a_scenario_whose_values_are_others_of_its_own(from in 0usize..80, to in 0usize..80) {
        let mut lines: Vec<String> = SCENARIO.lines().map(str::to_owned).collect();
        let (from, to) = (from % lines.len(), to % lines.len());
        let value = lines[from].split_once('=').map(|(_, value)| value.to_owned());
        let key = lines[to].split_once('=').map(|(key, _)| key.to_owned());
        if let (Some(value), Some(key)) = (value, key) {
            lines[to] = format!("{key}={value}");
        }
        never_panics(&lines.join("\n"), &[]);
    }

    #[test]
    fn of_settings(key in "[a-z.\\[\\]0-9]{0,20}", value in piece()) {
        never_panics(SCENARIO, &[(key, value)]);
    }
}
