// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages for a scenario with a mistake.

use std::fmt::Write;

use netnice_scenario::{ControlFiles, ScenarioFile};

/// A scenario in which each line can be replaced by another.
const SCENARIO: &str = r#"name = "test"
duration = "100s"
warm_up = "10s"
seeds = 2

[[nodes]]
name = "hosts"
count = 3

[[links]]
from = "hosts"
to = "left"
rate = "100mbit"

[[links]]
name = "bottleneck"
from = "left"
to = "right"
rate = "10mbit"
delay = "20ms"
queue = "150p"

[[flows]]
name = "reno"
from = "hosts"
to = "right"
congestion_control = "reno"
packet_size = "1000B"
tcp = { min_rto = "200ms" }
application = "ftp"
"#;

/// The message for the scenario with one line replaced.
fn complaint(line: &str, replacement: &str, settings: &[(&str, &str)]) -> String {
    assert_eq!(
        SCENARIO.matches(line).count(),
        1,
        "{line} must be there once"
    );
    let text = SCENARIO.replace(line, replacement);
    let settings: Vec<(String, String)> = settings
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    match ScenarioFile::parse("test.toml", &text, &settings, None) {
        Ok(_) => "no error".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_scenario_itself_is_right() {
    assert_eq!(complaint("seeds = 2", "seeds = 2", &[]), "no error");
}

#[test]
fn errors_name_file_line_field_and_what_is_allowed() {
    let mut all = String::new();
    for (line, replacement) in [
        // TOML itself.
        (r#"rate = "10mbit""#, r#"rate = "10mbit"#),
        ("seeds = 2", "seeds = 2\nseeds = 3"),
        ("seeds = 2", "seeds = 99999999999999999999"),
        ("seeds = 2", "seeds = [nan]"),
        // Keys.
        (r#"queue = "150p""#, r#"quue = "150p""#),
        (r#"queue = "150p""#, r#"bandwidth = "150p""#),
        (r#"name = "reno""#, ""),
        ("seeds = 2", "[sed]"),
        (
            r#"tcp = { min_rto = "200ms" }"#,
            r#"tcp = { minrto = "200ms" }"#,
        ),
        // Kinds of values.
        (r#"rate = "10mbit""#, "rate = 10"),
        (r#"rate = "10mbit""#, "rate = true"),
        (r#"rate = "10mbit""#, r#"rate = ["1mbit", "2mbit"]"#),
        (r#"application = "ftp""#, r#"application = ["ftp", "web"]"#),
        ("count = 3", "count = [1, 4]"),
        ("count = 3", "count = 5000000000"),
        (r#"name = "reno""#, "name = 5"),
        (r#"application = "ftp""#, r#"application = "ftpp""#),
        (r#"application = "ftp""#, r#"application = "cbr""#),
        (
            r#"application = "ftp""#,
            r#"application = { rate = "1mbit" }"#,
        ),
        (
            r#"application = "ftp""#,
            r#"application = { kind = "ftp", rate = "1mbit" }"#,
        ),
        (r#"application = "ftp""#, r#"application = 3"#),
        ("count = 3", "count = -3"),
        ("count = 3", "count = 0"),
        ("count = 3", "count = 2.5"),
        ("count = 3", "count = 3000000"),
        ("seeds = 2", "seeds = 0"),
        ("seeds = 2", "seeds = [1, 2, 1]"),
        ("seeds = 2", "seeds = []"),
        ("seeds = 2", "seeds = 1979-05-27"),
        (r#"packet_size = "1000B""#, "dscp = 64"),
        (r#"packet_size = "1000B""#, r#"dscp = "AF99""#),
        (r#"packet_size = "1000B""#, r#"class = "high""#),
        // Units and ranges.
        (r#"rate = "10mbit""#, r#"rate = "0mbit""#),
        (r#"rate = "10mbit""#, r#"rate = "10Mbps""#),
        (r#"delay = "20ms""#, r#"delay = "-20ms""#),
        (r#"delay = "20ms""#, r#"delay = "20""#),
        (r#"delay = "20ms""#, "delay = 20"),
        (r#"duration = "100s""#, r#"duration = "1,5s""#),
        (r#"duration = "100s""#, r#"duration = "2minutes""#),
        (r#"rate = "10mbit""#, r#"rate = "1,5mbit""#),
        (r#"delay = "20ms""#, r#"loss = "-1%""#),
        (r#"delay = "20ms""#, r#"loss = 2"#),
        (r#"delay = "20ms""#, "jitter = 20"),
        (r#"queue = "150p""#, "queue = 150"),
        (
            r#"application = "ftp""#,
            "[[figures]]\nname = \"share\"\nflows = \"reno\"",
        ),
        (
            r#"application = "ftp""#,
            "[[figures]]\nname = \"share\"\nflows = [\"reno\"]\nover = 10",
        ),
        (r#"queue = "150p""#, r#"conditioner = "150p""#),
        (r#"queue = "150p""#, r#"buffer = "150p""#),
        (r#"application = "ftp""#, r#"application = "voip""#),
        (
            r#"congestion_control = "reno""#,
            r#"congestion_control = "ledbat++""#,
        ),
        (r#"congestion_control = "reno""#, r#"receiver = "lp2""#),
        (r#"congestion_control = "reno""#, r#"receiver = "lp""#),
        (r#"duration = "100s""#, r#"duration = "0s""#),
        (r#"warm_up = "10s""#, r#"warm_up = "100s""#),
        (r#"delay = "20ms""#, r#"loss = "1""#),
        (
            r#"queue = "150p""#,
            r#"queue = { discipline = "codel", target = "100ms" }"#,
        ),
        (
            r#"queue = "150p""#,
            r#"queue = { discipline = "fq_codle" }"#,
        ),
        (
            r#"queue = "150p""#,
            r#"queue = { discipline = "pie", alpha = 0.0 }"#,
        ),
        (r#"delay = "20ms""#, "trace = { times_ms = [1, 2] }"),
        (r#"rate = "10mbit""#, "trace = { times_ms = [3, 2] }"),
        (r#"rate = "10mbit""#, "trace = {}"),
        (r#"rate = "10mbit""#, r#"trace = "lte.trace""#),
        (r#"rate = "10mbit""#, r#"shaper = { burst = "10kB" }"#),
        (r#"delay = "20ms""#, r#"policer = { rate = "1mbit" }"#),
        (
            r#"delay = "20ms""#,
            r#"policer = { rate = "1mbit", burst = "0B" }"#,
        ),
        (
            r#"delay = "20ms""#,
            r#"loss_model = { kind = "gilbert_elliott", to_bad = "1%", to_good = "0%" }"#,
        ),
        (
            r#"delay = "20ms""#,
            r#"loss_model = { kind = "periodic", every = 0 }"#,
        ),
        (
            r#"delay = "20ms""#,
            r#"loss_model = { kind = "listed", packets = [0] }"#,
        ),
        (
            r#"delay = "20ms""#,
            r#"loss_model = { kind = "listed", packets = [7, 5] }"#,
        ),
        (
            r#"delay = "20ms""#,
            "loss = \"1%\"\nloss_model = { kind = \"periodic\", every = 9 }",
        ),
        (r#"delay = "20ms""#, r#"loss_model = { kind = "gilbert" }"#),
        (
            r#"delay = "20ms""#,
            r#"jitter = { size = "5ms", early_fraction = "1%" }"#,
        ),
        (
            r#"delay = "20ms""#,
            r#"outages = [{ at = "1s", duration = "2s", every = "2s" }]"#,
        ),
        (
            r#"delay = "20ms""#,
            r#"outages = [{ at = "1s", duration = "0s" }]"#,
        ),
        (
            r#"delay = "20ms""#,
            r#"outages = [{ at = "100s", duration = "2s" }]"#,
        ),
        (
            r#"delay = "20ms""#,
            r#"outages = { at = "1s", duration = "2s" }"#,
        ),
        (r#"delay = "20ms""#, r#"changes = [{ at = "1s" }]"#),
        (
            r#"delay = "20ms""#,
            r#"changes = [{ at = "99s", delay = "5ms" }, { at = "101s", delay = "9ms" }]"#,
        ),
        (
            r#"delay = "20ms""#,
            r#"loss_model = { kind = "gilbert_elliott", p = "1%", r = "20%" }"#,
        ),
        (
            r#"rate = "10mbit""#,
            r#"changes = [{ at = "1s", rate = "1mbit" }]"#,
        ),
        (
            r#"delay = "20ms""#,
            r#"reverse = { outages = [{ at = "1s", duration = "0s" }] }"#,
        ),
        (r#"packet_size = "1000B""#, r#"packet_size = "52B""#),
        (r#"packet_size = "1000B""#, r#"start = "100s""#),
        (r#"packet_size = "1000B""#, "start = \"5s\"\nstop = \"5s\""),
        (
            r#"tcp = { min_rto = "200ms" }"#,
            "tcp.initial_ssthresh = 0.5",
        ),
        (r#"tcp = { min_rto = "200ms" }"#, "tcp.delayed_ack = 3"),
        (r#"tcp = { min_rto = "200ms" }"#, "tcp.packets_per_ack = 16"),
        (r#"tcp = { min_rto = "200ms" }"#, "tcp.quick_acks = true"),
        (
            r#"tcp = { min_rto = "200ms" }"#,
            "tcp = { delayed_ack = true, packets_per_ack = 1 }",
        ),
        (
            r#"tcp = { min_rto = "200ms" }"#,
            r#"tcp = { recovery = "newreno", prr = true }"#,
        ),
        (
            r#"tcp = { min_rto = "200ms" }"#,
            r#"tcp = { recovery = "newreno", rack = true }"#,
        ),
        (r#"tcp = { min_rto = "200ms" }"#, r#"tcp.rtt_tick = "11s""#),
        (
            r#"tcp = { min_rto = "200ms" }"#,
            r#"tcp.receiver_window = "1B""#,
        ),
        (
            r#"tcp = { min_rto = "200ms" }"#,
            r#"tcp.receiver_window = "2GB""#,
        ),
        // Queues and markers.
        (r#"queue = "150p""#, r#"queue = "150""#),
        (r#"queue = "150p""#, r#"queue = "0p""#),
        (r#"queue = "150p""#, r#"queue = { discipline = "redd" }"#),
        (
            r#"queue = "150p""#,
            r#"queue = { discipline = "red", limit = "50p" }"#,
        ),
        (
            r#"queue = "150p""#,
            r#"queue = { discipline = "red", limit = "50p", min_threshold = "5", max_threshold = "15p" }"#,
        ),
        (
            r#"queue = "150p""#,
            r#"queue = { discipline = "red", limit = "50p", min_threshold = "15p", max_threshold = "5p" }"#,
        ),
        (
            r#"queue = "150p""#,
            r#"queue = { discipline = "red", limit = "10p", min_threshold = "20p", max_threshold = "30p" }"#,
        ),
        (
            r#"queue = "150p""#,
            r#"queue = { discipline = "weighted_drr", classes = [{ queue = "9p" }, { dscp = ["EF"], queue = { discipline = "sfqq" } }] }"#,
        ),
        (
            r#"queue = "150p""#,
            r#"queue = { discipline = "weighted_drr", classes = [{ queue = "9p" }, { dscp = ["EG"], queue = "9p" }] }"#,
        ),
        (
            r#"queue = "150p""#,
            r#"queue = { discipline = "weighted_drr", classes = [{ queue = "9p" }, { dscp = ["EF"], queue = { discipline = "codel", target = "1s" } }] }"#,
        ),
        (
            r#"queue = "150p""#,
            r#"marker = { kind = "trtcm", rate = "2mbit", burst = "3kB", peak_rate = "1mbit", peak_burst = "3kB" }"#,
        ),
        (r#"queue = "150p""#, r#"marker = { kind = "tsw" }"#),
        (
            r#"queue = "150p""#,
            r#"marker = { kind = "token_bucket", rate = "1mbit", burst = "0B" }"#,
        ),
        (
            r#"queue = "150p""#,
            r#"reverse.queue = { discipline = "sfq" }"#,
        ),
        (r#"rate = "100mbit""#, r#"queue = "5ms""#),
        (
            r#"rate = "100mbit""#,
            r#"queue = { discipline = "fq_codel" }"#,
        ),
        (
            r#"rate = "100mbit""#,
            r#"reverse.queue = { discipline = "fq_codel" }"#,
        ),
        (r#"queue = "150p""#, r#"queue = "cake""#),
        (r#"queue = "150p""#, r#"queue = "fq_codle""#),
        (r#"queue = "150p""#, r#"queue = "pfifo""#),
        (
            r#"queue = "150p""#,
            r#"queue = { discipline = "weighted_drr", classes = [{ queue = "red" }] }"#,
        ),
        (
            r#"queue = "150p""#,
            r#"queue = { discipline = "red", limit = "10p", min_threshold = "5p", max_threshold = "30p" }"#,
        ),
        // Names and topology.
        (r#"name = "test""#, r#"name = "a test""#),
        (r#"name = "reno""#, r#"name = "reno[0]""#),
        (r#"from = "left""#, r#"from = "right""#),
        (r#"from = "left""#, r#"from = "elsewhere""#),
        (
            "congestion_control = \"reno\"",
            "congestion_control = \"renno\"",
        ),
        (
            "congestion_control = \"reno\"",
            "congestion_control = \"lp\"",
        ),
        (
            "congestion_control = \"reno\"",
            "congestion_control = { name = \"reno\", delta = 2 }",
        ),
        (
            "congestion_control = \"reno\"",
            "congestion_control = { name = \"netnice\", delta = 0.2 }",
        ),
        (
            "congestion_control = \"reno\"",
            "congestion_control = { name = \"tcplp\", threshold_us = 2000 }",
        ),
        (
            "congestion_control = \"reno\"",
            "congestion_control = { name = \"tcplp\", minimum_cwnd = 2 }",
        ),
        (
            "congestion_control = \"reno\"",
            "congestion_control = { name = \"netnice\", threshold_us = \"2ms\" }",
        ),
        (
            "congestion_control = \"reno\"",
            "congestion_control = { name = \"dstcp\", c = 50, classes = true }",
        ),
        (
            "congestion_control = \"reno\"",
            "congestion_control = { name = \"bic\", delta = 0.2 }",
        ),
        (
            "congestion_control = \"reno\"",
            "congestion_control = { name = \"bbr\", delta = 0.2 }",
        ),
        (
            "congestion_control = \"reno\"",
            "congestion_control = \"dctcp\"",
        ),
        (
            "congestion_control = \"reno\"",
            "congestion_control = \"reno\"\nreceiver_window = \"1MB\"",
        ),
        ("congestion_control = \"reno\"", "receiver = \"netnise\""),
        (
            "congestion_control = \"reno\"",
            "receiver = { name = \"netnice\", delta = 0.2 }",
        ),
        (
            "congestion_control = \"reno\"",
            "receiver = { name = \"rledbat\", target_us = 200000 }",
        ),
        (
            "congestion_control = \"reno\"",
            "receiver = { name = \"tcplp\", minimum_cwnd = 0.044 }",
        ),
        (
            r#"tcp = { min_rto = "200ms" }"#,
            "receiver = \"rledbat\"\ntcp = { timestamps = false }",
        ),
        (
            "congestion_control = \"reno\"",
            "receiver = { name = \"plain\", delta = 0.2 }",
        ),
        (
            r#"application = "ftp""#,
            "receiver = \"netnice\"\napplication = { kind = \"command\", command = \"wget\" }",
        ),
        (
            "congestion_control = \"reno\"",
            "transport = \"udp\"\nreceiver = \"netnice\"",
        ),
        ("congestion_control = \"reno\"", "transport = \"udp\""),
        (
            "seeds = 2",
            "routes = [{ from = \"hosts\", to = \"right\", via = [] }]",
        ),
        (
            "seeds = 2",
            "routes = [{ from = \"hosts\", to = \"rihgt\", via = [] }]",
        ),
        (
            "seeds = 2",
            "routes = [{ from = \"left\", to = \"right\", via = [\"hosts\", \"left\"] }]",
        ),
        (
            "seeds = 2",
            "sampling = { interval = \"1s\", links = [\"bottle\"] }",
        ),
        ("seeds = 2", "sampling = { interval = \"1ns\" }"),
        ("seeds = 2", "sampling = { interval = \"0s\" }"),
        (
            "seeds = 2",
            "phases = [{ name = \"all\", from = \"5s\", to = \"200s\" }]",
        ),
        // Applications.
        (
            r#"application = "ftp""#,
            r#"application = { kind = "trace" }"#,
        ),
        (
            r#"application = "ftp""#,
            r#"application = { kind = "trace", file = "times.txt" }"#,
        ),
        (
            r#"application = "ftp""#,
            r#"application = { kind = "trace", entries = [{ at = "1s", bytes = "0B" }, { at = "0s", bytes = "1B" }, { at = "2s", bytes = "5GB" }] }"#,
        ),
        (
            r#"application = "ftp""#,
            r#"application = { kind = "square_wave", rate = "1mbit", period = "0s", duty = 1.5 }"#,
        ),
        (
            r#"tcp = { min_rto = "200ms" }"#,
            "tcp = { accurate_ecn = true }",
        ),
        (r#"application = "ftp""#, r#"application = "call""#),
        (
            r#"application = "ftp""#,
            r#"application = { kind = "video", ladder = ["2mbit", "1mbit"], start_up = "28s", cushion = "20s", request_size = "0B" }"#,
        ),
        (
            r#"application = "ftp""#,
            r#"application = { kind = "video", max_buffer = "7s" }"#,
        ),
        (
            r#"application = "ftp""#,
            r#"application = { kind = "video", chunk = "0s" }"#,
        ),
        (
            r#"packet_size = "1000B""#,
            "[[flows]]\nname = \"x\"\nfrom = \"left\"\nto = \"right\"\ntransport = \"udp\"\napplication = { kind = \"call\", interval = \"0ms\", payload = \"0B\", playout_delay = \"11s\", ie = 96.0, bpl = 0.0 }\n[[flows]]\nname = \"y\"\nfrom = \"left\"\nto = \"right\"",
        ),
        (
            r#"application = "ftp""#,
            r#"application = { kind = "web", sessions = 5, object_size = { mean = "10kB", shape = 1.0 } }"#,
        ),
        (
            r#"application = "ftp""#,
            r#"application = { kind = "web", sessions = 5, object_size = { mean = "10kB" }, request_size = "66kB" }"#,
        ),
        (
            r#"application = "ftp""#,
            r#"application = { kind = "web", sessions = 1000001, object_size = { mean = "10kB" } }"#,
        ),
        (
            r#"application = "ftp""#,
            r#"application = { kind = "web", sessions = 5, object_size = { mean = "10kB" }, multiplexing = "http3" }"#,
        ),
        (
            r#"application = "ftp""#,
            r#"application = { kind = "arrivals", size = "web_serach" }"#,
        ),
        (
            r#"application = "ftp""#,
            r#"application = { kind = "arrivals", rate = "1mbit", between_flows = "1s", size = "web_search" }"#,
        ),
        (
            r#"application = "ftp""#,
            r#"application = { kind = "arrivals", between_flows = "0s", mean_on = "1s", size_classes = ["1MB", "1kB"], size = { kind = "lognormal", mean = "10kB", sigma = 6.0 } }"#,
        ),
        (
            r#"application = "ftp""#,
            r#"application = { kind = "arrivals", rate = "1mbit", size = { kind = "file", file = "sizes.txt" } }"#,
        ),
        // Figures.
        (
            "seeds = 2",
            "figures = [{ name = \"x\", quantity = \"slowdown\", flows = [\"reno\"] }]",
        ),
        (
            "seeds = 2",
            "figures = [{ name = \"x\", flows = [\"ren\"] }]",
        ),
        ("seeds = 2", "figures = [{ name = \"x\", flows = [] }]"),
        (
            "seeds = 2",
            "figures = [{ name = \"time to 90%\", flows = [\"reno\"] }]",
        ),
        (
            "seeds = 2",
            "figures = [{ name = \"x\", flows = [\"reno\"], quantity = \"utilisation\" }]",
        ),
        (
            "seeds = 2",
            "figures = [{ name = \"x\", flows = [\"reno\"], phase = \"late\", over = {} }]",
        ),
        (
            "seeds = 2",
            "figures = [{ name = \"x\", flows = [\"reno\"], quantity = \"response_time\", over = { rate = \"1mbit\" } }]",
        ),
        (
            "seeds = 2",
            "figures = [{ name = \"x\", flows = [\"reno\"], quantity = \"time_to_90_percent\" }]",
        ),
        (
            "seeds = 2",
            "phases = [{ name = \"late\", from = \"1s\", to = \"2s\" }]\nfigures = [{ name = \"x\", flows = [\"reno\"], quantity = \"loss\", phase = \"late\" }]",
        ),
        // Parameters and sweeps.
        (r#"queue = "150p""#, r#"queue = "$length""#),
        ("seeds = 2", "[sweep]\nlength = [\"5p\"]"),
        (
            "seeds = 2",
            "[parameters]\nlength = \"5p\"\n[sweep]\nlength = [\"5p\", \"9p\"]",
        ),
        ("seeds = 2", "[sweep]\nlinks.bottle.rate = [\"5mbit\"]"),
        ("seeds = 2", "[sweep]\nlinks.bottleneck.rate = [\"5ms\"]"),
        ("seeds = 2", "[sweep]\nlinks.bottleneck.rate = \"5mbit\""),
        ("seeds = 2", "[sweep]\nlinks.bottleneck.rat = [\"5mbit\"]"),
    ] {
        writeln!(all, "{}", replacement.replace('\n', " ⏎ ")).unwrap();
        for line in complaint(line, replacement, &[]).lines() {
            writeln!(all, "    {line}").unwrap();
        }
    }
    insta::assert_snapshot!(all);
}

#[test]
fn errors_in_settings_from_outside_name_the_setting() {
    let mut all = String::new();
    for setting in [
        ("links.bottleneck.rate", "5mbits"),
        ("links.bottleneck.rate", "5"),
        ("links.botleneck.rate", "5mbit"),
        ("links.bottleneck.rates", "5mbit"),
        ("durration", "5s"),
        ("flows.reno.count", "-1"),
        ("flows.reno.count", "[1, 4]"),
        ("flows.reno.tcp.ecn", "yes"),
        ("flows.reno.name.first", "yes"),
        ("flows.reno.application.rate", "1mbit"),
        ("rate", "1mbit"),
        ("", "5"),
        ("name", "\"a"),
    ] {
        writeln!(all, "{}={}", setting.0, setting.1).unwrap();
        writeln!(
            all,
            "    {}",
            complaint("seeds = 2", "seeds = 2", &[setting])
        )
        .unwrap();
    }
    insta::assert_snapshot!(all);
}

#[test]
fn entries_without_names_are_called_by_their_numbers() {
    let queue = r#"queue = { discipline = "weighted_drr", classes = [{ dscp = ["EF"], queue = "9p" }, { queue = "9p" }] }"#;
    let of = |key: &str| complaint(r#"queue = "150p""#, queue, &[(key, "3")]);
    assert_eq!(of("links.bottleneck.queue.classes.0.weight"), "no error");
    let error = of("links.bottleneck.queue.classes.EF.weight");
    assert!(
        error.ends_with("there is no `EF`; its entries have no names, but the numbers 0 to 1"),
        "{error}"
    );
}

#[test]
fn a_parameter_is_used_in_the_file_or_in_a_setting() {
    let line = r#"queue = "150p""#;
    let used = "queue = \"$length\"\n[parameters]\nlength = \"5p\"";
    let unused = "[parameters]\nlength = \"5p\"";
    let field = "links.bottleneck.queue";
    for (replacement, settings, is_used) in [
        (used, &[][..], true),
        (used, &[("length", "9p")], true),
        // Its only use is overridden.
        (used, &[(field, "9p")], true),
        (unused, &[(field, "$length")], true),
        (unused, &[("length", "9p")], false),
    ] {
        let complaint = complaint(line, replacement, settings);
        let found = match complaint.as_str() {
            "no error" => true,
            error => !error.contains("parameters.length: nothing uses it"),
        };
        assert_eq!(found, is_used, "{settings:?}: {complaint}");
    }
}

#[test]
fn a_parameter_within_itself_is_an_error() {
    let line = r#"queue = "150p""#;
    let with = |parameters: &str, settings: &[(&str, &str)]| {
        let queue = format!("queue = \"$queue\"\n[parameters]\n{parameters}");
        complaint(line, &queue, settings)
    };
    let another = "{ discipline = \"drop_tail\", limit = \"$limit\" }";
    assert_eq!(with("limit = \"9p\"", &[("queue", another)]), "no error");
    for parameters in [
        "queue = { limit = \"$queue\" }",
        "queue = { limit = \"$limit\" }\nlimit = [\"$queue\"]",
    ] {
        let error = with(parameters, &[]);
        let place = "test.toml:21:9: parameter `queue` is part of its own value";
        assert!(error.contains(place), "{error}");
    }
}

#[test]
fn a_wrong_default_is_reported_once() {
    let text = SCENARIO.replace(
        "seeds = 2",
        "seeds = 2\ndefaults.links.loss_model = { kind = \"periodic\", every = 0 }",
    );
    let error = ScenarioFile::parse("test.toml", &text, &[], None).unwrap_err();
    assert_eq!(error.problems.len(), 1, "{error}");
    assert!(error.to_string().contains("every: is 0"), "{error}");
}

#[test]
fn errors_in_a_trace_have_its_file_and_line() {
    let directory = tempfile::tempdir().unwrap();
    let text = SCENARIO.replace(
        r#"application = "ftp""#,
        r#"application = { kind = "trace", file = "times.txt" }"#,
    );
    let mut all = String::new();
    for trace in ["0.1 100\n0.05 100\n", "0.1 0\n", "0.1 5000000000\n"] {
        std::fs::write(directory.path().join("times.txt"), trace).unwrap();
        let read = ScenarioFile::parse("test.toml", &text, &[], Some(directory.path()));
        writeln!(all, "{}", read.unwrap_err()).unwrap();
    }
    insta::assert_snapshot!(all);
}

/// Whoever has written a scenario may name any file of whoever runs it.
#[test]
fn a_file_that_is_no_trace_is_not_shown_nor_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    std::fs::write(directory.path().join("secret"), "root:$6$salt:19000\n").unwrap();
    let link = r#"rate = "10mbit""#;
    assert!(SCENARIO.contains(link));
    for (file, word) in [
        ("fifo", "no regular file"),
        ("secret", "whole number of milli"),
    ] {
        for text in [
            SCENARIO.replacen(link, &format!("trace = {{ file = '{file}' }}"), 1),
            SCENARIO.replace(
                r#"application = "ftp""#,
                &format!("application = {{ kind = 'trace', file = '{file}' }}"),
            ),
        ] {
            let read = ScenarioFile::parse("test.toml", &text, &[], Some(directory.path()));
            let error = read.unwrap_err().to_string();
            assert!(!error.contains("salt"), "{error}");
            assert!(
                error.contains(word) || error.contains("a line needs"),
                "{error}"
            );
        }
    }
}

#[test]
fn mistakes_in_a_control_file_have_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let ledbat = std::fs::read_to_string("../examples/ledbat.h").unwrap();
    let text = |control: &str| {
        let control = format!("congestion_control = {control}");
        SCENARIO.replace("congestion_control = \"reno\"", &control)
    };
    let parse = |control: &str| {
        let (text, place) = (text(control), Some(directory.path()));
        let allowed = ControlFiles::OfScenario;
        ScenarioFile::parse_for("test.toml", &text, &[], place, allowed, &|_, _| Vec::new())
    };
    for (control, file, expected) in [
        (
            r#""./mine.h""#,
            None,
            "test.toml:27:22: flows[0].congestion_control: `./mine.h` cannot be read",
        ),
        (
            r#""./mine.h""#,
            Some(ledbat.replace("window->cwnd++", "window->cwmd++")),
            "mine.h:57:",
        ),
        (
            r#"{ name = "./mine.h", gain = 2 }"#,
            Some(ledbat.clone()),
            "takes no parameters: change the file, or leave `gain` out",
        ),
    ] {
        if let Some(file) = file {
            std::fs::write(directory.path().join("mine.h"), file).unwrap();
        }
        let error = parse(control).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let one = parse(r#""./mine.h""#).unwrap();
    std::fs::write(
        directory.path().join("mine.h"),
        ledbat.replace("60000U ", "50000U "),
    )
    .unwrap();
    // Results of another control are not taken for those of this one.
    assert_ne!(one.hash, parse(r#""./mine.h""#).unwrap().hash);
    let text = text(r#""./mine.h""#);
    let allowed = ControlFiles::OfScenario;
    let error = ScenarioFile::parse_for("test.toml", &text, &[], None, allowed, &|_, _| Vec::new());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("no files beside it"), "{error}");
}

#[test]
fn control_files_that_a_text_names_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let ledbat = std::fs::read_to_string("../examples/ledbat.h").unwrap();
    std::fs::write(directory.path().join("mine.h"), ledbat).unwrap();
    let parse = |text: &str, settings: &[(&str, &str)]| {
        let settings = settings.iter();
        let settings: Vec<(String, String)> = settings
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        ScenarioFile::parse("test.toml", text, &settings, Some(directory.path()))
    };
    let flow = |control: &str| {
        let control = format!("congestion_control = \"{control}\"");
        SCENARIO.replace("congestion_control = \"reno\"", &control)
    };
    let parameter = flow("$control") + "\n[parameters]\ncontrol = \"mine.h\"\n";
    let key = "flows.reno.congestion_control";
    let sweep = format!("{SCENARIO}\n[sweep]\n{key} = [\"reno\", \"./mine.h\"]\n");
    for text in [flow("./mine.h"), parameter.clone(), sweep] {
        let error = parse(&text, &[]).unwrap_err().to_string();
        assert!(
            error.contains("flows[0].congestion_control: ")
                && error.contains("is code, which would run with your rights")
                && error.contains("--allow-control-files"),
            "{error}"
        );
    }
    // Whoever gives the settings has chosen the file.
    for (text, key) in [(SCENARIO, key), (&*parameter, "control")] {
        let file = parse(text, &[(key, "./mine.h")]).unwrap();
        let control = &file.scenario().flows[0].congestion_control;
        assert!(control.file.is_some(), "{key}");
    }
}

#[test]
fn many_errors_are_cut_short() {
    let flow = "[[flows]]\nname = \"reno\"\nfrom = \"a\"\nto = \"b\"\n".repeat(20);
    let text = format!(
        "name = \"x\"\nduration = \"1s\"\nlinks = [{{ from = \"a\", to = \"b\" }}]\n{flow}"
    );
    let error = ScenarioFile::parse("test.toml", &text, &[], None).unwrap_err();
    assert_eq!(error.problems.len(), 19);
    assert_eq!(error.to_string().lines().count(), 11);
    assert!(error.to_string().ends_with("and 9 more"));
}
