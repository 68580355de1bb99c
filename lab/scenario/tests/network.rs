// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scenario laid out: groups, paths, defaults, sweeps.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use netnice_queue::{LinkConditions, QueueBound};
use netnice_scenario::model::{DelayedAck, TimeSpan};
use netnice_scenario::{Layout, ScenarioFile};
use proptest::prelude::*;

fn parse(text: &str) -> ScenarioFile {
    let text = format!("name = \"test\"\nduration = \"10s\"\n{text}");
    ScenarioFile::parse("test.toml", &text, &[], None).unwrap_or_else(|error| panic!("{error}"))
}

fn network(text: &str) -> Layout {
    Layout::new(parse(text).scenario()).unwrap()
}

const FLOW: &str = "\n[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"d\"\n";

fn names(network: &Layout, path: &[usize]) -> Vec<String> {
    let links = path.iter().map(|&link| network.links[link].name.clone());
    links.collect()
}

#[test]
fn paths_are_shortest_by_delay_then_by_links() {
    let text = "links = [
        { from = \"a\", to = \"b\", delay = \"5ms\" },
        { from = \"b\", to = \"d\", delay = \"5ms\" },
        { from = \"a\", to = \"c\", delay = \"4ms\" },
        { from = \"c\", to = \"d\", delay = \"6ms\", reverse = { delay = \"1ms\" } },
        { from = \"a\", to = \"d\", delay = \"10ms\" },
    ]";
    let network = network(&format!("{text}{FLOW}"));
    let index = |name: &str| {
        let mut nodes = network.nodes.iter();
        nodes.position(|node| node.name == name).unwrap()
    };
    let (a, d) = (index("a"), index("d"));
    assert_eq!(names(&network, &network.path(a, d).unwrap()), ["a-d"]);
    assert_eq!(
        names(&network, &network.path(d, a).unwrap()),
        ["c-d (reverse)", "a-c (reverse)"]
    );
    assert_eq!(network.base_rtt(a, d), Some(Duration::from_millis(15)));
}

#[test]
fn routes_are_followed_both_ways() {
    let text = "links = [
        { from = \"a\", to = \"b\", delay = \"50ms\" },
        { from = \"b\", to = \"d\" },
        { from = \"a\", to = \"d\" },
    ]
    routes = [{ from = \"a\", to = \"d\", via = [\"b\"] }]";
    let network = network(&format!("{text}{FLOW}"));
    let flow = &network.flows[0];
    let (a, d) = (flow.senders[0], flow.receivers[0]);
    assert_eq!(
        names(&network, &network.path(a, d).unwrap()),
        ["a-b", "b-d"]
    );
    assert_eq!(network.base_rtt(a, d), Some(Duration::from_millis(100)));
}

#[test]
fn groups_have_hosts_links_and_flows_of_their_own() {
    let text = "nodes = [{ name = \"a\", count = 3 }, { name = \"d\", count = 3 }]
        links = [
            { from = \"a\", to = \"r\", delay = \"1ms\", delay_step = \"2ms\" },
            { name = \"middle\", from = \"r\", to = \"s\", rate = \"10mbit\", delay = \"10ms\", queue = \"2bdp\" },
            { from = \"s\", to = \"d\" },
        ]";
    let network = network(&format!("{text}{FLOW}packet_size = \"1000B\"\n"));
    assert_eq!(network.nodes.len(), 8);
    assert_eq!(network.links.len(), 14);
    let rtts: Vec<_> = network
        .flows
        .iter()
        .map(|flow| {
            network
                .base_rtt(flow.senders[0], flow.receivers[0])
                .unwrap()
                .as_millis()
        })
        .collect();
    assert_eq!(rtts, [22, 26, 30]);
    assert_eq!(network.flows[2].name, "f[2]");
    assert_eq!(network.flows[2].group.name, "f");
    let middle = network
        .links
        .iter()
        .find(|link| link.name == "middle")
        .unwrap();
    // The longest of the three: 30 ms at 10 Mb/s are 37.5 packets of 1000 bytes.
    assert_eq!(middle.base_rtt, Duration::from_millis(30));
    let bound = middle.discipline_context().bound(middle.queue.limit());
    assert_eq!(bound, Ok(QueueBound::Packets(75)));
}

#[test]
fn samples_are_counted_before_the_run() {
    let text = r#"
seeds = 3
sampling = { interval = "100ms" }
[sweep]
links.measured.rate = ["1mbit", "2mbit"]
[[links]]
name = "measured"
from = "a"
to = "b"
rate = "1mbit"
[[links]]
from = "b"
to = "c"
[[flows]]
name = "tcp"
count = 4
from = "a"
to = "c"
[[flows]]
name = "udp"
transport = "udp"
from = "a"
to = "c"
application = "call"
"#;
    // Five quantities of four flows, two of another, and two of each direction of the link that has a rate: 26 at 100 times.
    let file = parse(text);
    assert_eq!(file.points[0].samples, 2600);
    assert_eq!(file.samples(), 2 * 3 * 2600);
    let chosen = r#"{ interval = "100ms", flows = ["udp"], links = [] }"#;
    let file = parse(&text.replace(r#"{ interval = "100ms" }"#, chosen));
    assert_eq!(file.points[0].samples, 200);
    let file = parse(&text.replace(r#"sampling = { interval = "100ms" }"#, ""));
    assert_eq!(file.samples(), 0);
}

#[test]
fn a_hundred_thousand_hosts_are_laid_out_quickly() {
    // With a search through all hosts for each flow this would take hours.
    let text = "nodes = [{ name = \"a\", count = 50000 }, { name = \"d\", count = 50000 }]
        links = [{ from = \"a\", to = \"r\" }, { from = \"r\", to = \"d\" }]";
    let network = network(&format!("{text}{FLOW}"));
    assert_eq!(network.flows.len(), 50_000);
    let last = network.flows.last().unwrap();
    let path = network.path(last.senders[0], last.receivers[0]).unwrap();
    assert_eq!(names(&network, &path), ["a-r[49999]", "r-d[49999]"]);
}

#[test]
fn flows_and_web_sessions_are_limited_together() {
    let complaint = |sessions: u32| {
        let text = format!(
            "name = \"crowd\"
            duration = \"1s\"
            links = [{{ from = \"a\", to = \"b\", rate = \"1mbit\" }}]
            flows = [
                {{ name = \"bulk\", from = \"a\", to = \"b\", count = 100000 }},
                {{ name = \"web\", from = \"a\", to = \"b\", application = {{ kind = \"web\", sessions = {sessions}, object_size = {{ mean = \"10kB\" }} }} }},
            ]"
        );
        ScenarioFile::parse("test.toml", &text, &[], None).map_err(|error| error.to_string())
    };
    complaint(900_000).unwrap();
    let error = complaint(900_001).unwrap_err();
    assert!(error.contains("flows[1].application.sessions"), "{error}");
    assert!(error.contains("1000000"), "{error}");
}

#[test]
fn defaults_hold_unless_something_else_is_said() {
    let file = parse(
        "[defaults.links]
        rate = \"1mbit\"
        [defaults.flows]
        packet_size = \"500B\"
        tcp = { delayed_ack = true, min_rto = \"200ms\" }
        [[links]]
        from = \"a\"
        to = \"b\"
        [[links]]
        from = \"b\"
        to = \"d\"
        rate = \"2mbit\"
        [[flows]]
        name = \"tcp\"
        from = \"a\"
        to = \"d\"
        tcp = { min_rto = \"1s\" }
        [[flows]]
        name = \"udp\"
        from = \"a\"
        to = \"d\"
        transport = \"udp\"
        application = { kind = \"cbr\", rate = \"1kbit\" }",
    );
    let scenario = file.scenario();
    let rates: Vec<String> = scenario
        .links
        .iter()
        .map(|link| link.rate.unwrap().to_string())
        .collect();
    assert_eq!(rates, ["1mbit", "2mbit"]);
    let tcp = &scenario.flows[0].tcp;
    assert_eq!(
        tcp.delayed_ack,
        DelayedAck::After(TimeSpan::from_millis(40))
    );
    assert_eq!(tcp.least_rto(), TimeSpan::from_secs(1));
    assert_eq!(scenario.flows[1].packet_size.get(), 500);
}

#[test]
fn none_and_zero_undo_defaults() {
    let file = parse(
        "[defaults.links]
        rate = \"1mbit\"
        queue = \"10p\"
        jitter = \"5ms\"
        marker = { kind = \"token_bucket\", rate = \"1mbit\", burst = \"3kB\" }
        loss_model = { kind = \"periodic\", every = 100 }
        policer = { rate = \"1mbit\", burst = \"30kB\" }
        batch_interval = \"5ms\"
        delay = \"7ms\"
        [defaults.flows]
        bytes = \"1MB\"
        [[links]]
        name = \"as the others\"
        from = \"a\"
        to = \"b\"
        [[links]]
        name = \"without\"
        from = \"b\"
        to = \"c\"
        rate = \"none\"
        jitter = \"none\"
        marker = \"none\"
        loss_model = \"none\"
        policer = \"none\"
        batch_interval = \"none\"
        delay = \"0ms\"
        [[links]]
        name = \"zero\"
        from = \"c\"
        to = \"d\"
        jitter = \"0ms\"
        [[flows]]
        name = \"short\"
        from = \"a\"
        to = \"d\"
        [[flows]]
        name = \"long\"
        from = \"a\"
        to = \"d\"
        bytes = \"none\"",
    );
    let network = Layout::new(file.scenario()).unwrap();
    let link = |name: &str| {
        let found = network.links.iter().find(|link| link.name == name);
        found.unwrap()
    };
    let usual = link("as the others");
    assert!(usual.jitter.is_some() && usual.marker.is_some() && usual.rate.is_some());
    let without = link("without");
    assert_eq!(
        (without.rate, without.jitter, without.marker),
        (None, None, None)
    );
    assert_eq!(*without.conditions, LinkConditions::default());
    assert!(without.delay.is_zero());
    let zero = link("zero");
    assert!(zero.jitter.is_none() && zero.rate.is_some());
    let bytes: Vec<bool> = file
        .scenario()
        .flows
        .iter()
        .map(|flow| flow.bytes.is_some())
        .collect();
    assert_eq!(bytes, [true, false]);
}

#[test]
fn one_way_of_a_link_and_all_links_of_a_group_are_sampled() {
    let sampled = |links: &str| -> Vec<String> {
        let file = parse(&format!(
            "[sampling]
            interval = \"100ms\"
            links = {links}
            [[nodes]]
            name = \"hosts\"
            count = 2
            [[links]]
            name = \"access\"
            from = \"hosts\"
            to = \"router\"
            [[links]]
            name = \"line\"
            from = \"router\"
            to = \"far\"
            [[flows]]
            name = \"f\"
            from = \"hosts\"
            to = \"far\""
        ));
        let (scenario, network) = (file.scenario(), Layout::new(file.scenario()).unwrap());
        let sampling = &scenario.sampling;
        let links = network.links.iter();
        let taken = links.filter(|link| sampling.takes_link(&link.name, &link.group));
        taken.map(|link| link.name.clone()).collect()
    };
    assert_eq!(sampled("[\"line\"]"), ["line"]);
    assert_eq!(sampled("[\"line (reverse)\"]"), ["line (reverse)"]);
    assert_eq!(sampled("[\"access\"]"), ["access[0]", "access[1]"]);
    assert_eq!(
        sampled("[\"access (reverse)\"]"),
        ["access[0] (reverse)", "access[1] (reverse)"]
    );
}

#[test]
fn controls_that_depend_on_marks_are_warned_of() {
    let warned = |control: &str, queue: &str| {
        let file = parse(&format!(
            "[[links]]
            from = \"a\"
            to = \"b\"
            rate = \"10mbit\"
            queue = {queue}
            [[flows]]
            name = \"f\"
            from = \"a\"
            to = \"b\"
            congestion_control = \"{control}\"
            tcp = {{ ecn = true }}"
        ));
        netnice_scenario::warnings(&file)
    };
    let red = |ecn: &str| {
        format!(
            "{{ discipline = \"red\", limit = \"50p\", min_threshold = \"5p\", max_threshold = \"15p\", ecn = \"{ecn}\" }}"
        )
    };
    // DCTCP's step: with `mark` no average lies below the maximum threshold and above the minimum.
    let step = |ecn: &str| red(ecn).replace("\"5p\"", "\"15p\"");
    let classes = |first: &str| {
        format!("{{ discipline = \"weighted_drr\", classes = [{{ queue = {first} }}] }}")
    };
    for (control, queue, expected) in [
        ("dctcp", "\"50p\"".to_owned(), true),
        ("dctcp", red("off"), true),
        ("prague", "{ discipline = \"pie\" }".to_owned(), true),
        ("dctcp", classes("\"50p\""), true),
        ("dctcp", step("mark"), true),
        ("dctcp", step("mark_always"), false),
        ("dctcp", red("mark"), false),
        ("prague", "{ discipline = \"dual_pi2\" }".to_owned(), false),
        ("dctcp", classes("{ discipline = \"fq_codel\" }"), false),
        ("cubic", "\"50p\"".to_owned(), false),
    ] {
        let warnings = warned(control, &queue);
        assert_eq!(
            warnings.len(),
            usize::from(expected),
            "{control} over {queue}: {warnings:?}"
        );
        assert!(
            warnings
                .iter()
                .all(|text| text.contains("`f`") && text.contains(control))
        );
        let remedy = queue == step("mark");
        let names_it = |text: &String| text.contains("mark_always") == remedy;
        assert!(warnings.iter().all(names_it), "{warnings:?}");
    }
}

#[test]
fn flows_that_no_link_limits_are_warned_of() {
    let warned = |link: &str, flow: &str| {
        let file = parse(&format!(
            "nodes = [{{ name = \"hosts\", count = 2 }}]
            [[links]]
            from = \"hosts\"
            to = \"b\"
            delay = \"1ms\"
            [[links]]
            from = \"hosts\"
            to = \"c\"
            delay = \"2ms\"
            {link}
            [[flows]]
            name = \"f\"
            from = \"hosts\"
            to = \"c\"
            {flow}"
        ));
        netnice_scenario::warnings(&file)
    };
    for (link, flow, expected) in [
        ("", "", Some("path of `f` has a `rate`")),
        ("", "bytes = \"5MB\"", None),
        ("", "bytes = \"5GB\"", Some("path of `f` has a `rate`")),
        ("", "tcp = { receiver_window = \"64kB\" }", None),
        (
            "",
            "application = { kind = \"cbr\", rate = \"1mbit\" }",
            None,
        ),
        (
            "",
            "transport = \"udp\"\napplication = { kind = \"cbr\", rate = \"1mbit\" }",
            None,
        ),
        ("rate = \"10mbit\"", "", None),
        ("reverse = { rate = \"10mbit\" }", "", None),
        ("loss = \"1%\"", "", None),
        ("policer = { rate = \"10mbit\", burst = \"9kB\" }", "", None),
    ] {
        let warnings = warned(link, flow);
        let case = format!("{link}, {flow}: {warnings:?}");
        assert_eq!(warnings.len(), usize::from(expected.is_some()), "{case}");
        let found = expected.is_none_or(|expected| warnings[0].contains(expected));
        assert!(found, "{case}");
    }
    // One of two hosts has a shorter way, without a rate.
    let links = "links = [
        { from = \"hosts\", to = \"c\", delay = \"2ms\", delay_step = \"5ms\" },
        { from = \"hosts\", to = \"d\", delay = \"2ms\" },
        { from = \"d\", to = \"c\", delay = \"1ms\", rate = \"10mbit\" },
    ]
    nodes = [{ name = \"hosts\", count = 2 }]
    flows = [{ name = \"f\", from = \"hosts\", to = \"c\" }]";
    let warnings = netnice_scenario::warnings(&parse(links));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("1 of the 2 flows of `f`"),
        "{warnings:?}"
    );
}

#[test]
fn random_traffic_beyond_a_rate_is_warned_of() {
    let warned = |flow: &str, change: &str| {
        let file = parse(&format!(
            "nodes = [{{ name = \"servers\", count = 2 }}]
            [[links]]
            name = \"access\"
            from = \"servers\"
            to = \"b\"
            rate = \"60mbit\"
            [[links]]
            name = \"line\"
            from = \"b\"
            to = \"c\"
            rate = \"100mbit\"
            {change}
            [[flows]]
            name = \"f\"
            from = \"servers\"
            to = \"c\"
            {flow}"
        ));
        netnice_scenario::warnings(&file)
    };
    // Packets of 1448 bytes of data have 1500: 1.036 times the rate.
    let arrivals = |rate: &str, more: &str| {
        format!(
            "application = {{ kind = \"arrivals\", rate = \"{rate}\", size = \"web_search\"{more} }}"
        )
    };
    let two = |application: &str| format!("transport = \"udp\"\napplication = {application}");
    let half = "mean_on = \"1s\", mean_off = \"1s\"";
    for (flow, expected) in [
        (arrivals("96mbit", ""), None),
        (
            arrivals("97mbit", ""),
            Some("`f` offers 100.483 Mb/s on average, headers included, and `line` sends 100mbit"),
        ),
        // Half of it on each of the servers' links.
        (arrivals("120mbit", ""), Some("and `line` sends 100mbit")),
        (arrivals("120mbit", &format!(", {half}")), None),
        // UDP that offers more than a link sends loses the rest, as is often meant.
        (two("{ kind = \"poisson\", rate = \"70mbit\" }"), None),
    ] {
        let warnings = warned(&flow, "");
        let case = format!("{flow}: {warnings:?}");
        assert_eq!(warnings.len(), usize::from(expected.is_some()), "{case}");
        let found = expected.is_none_or(|expected| warnings[0].contains(expected));
        assert!(found, "{case}");
    }
    let faster = "changes = [{ at = \"5s\", rate = \"200mbit\" }]";
    assert_eq!(warned(&arrivals("97mbit", ""), faster), [""; 0]);
}

#[test]
fn each_path_of_a_group_is_looked_at_for_marks() {
    let red = "{ discipline = \"red\", limit = \"50p\", min_threshold = \"5p\", max_threshold = \"15p\", ecn = \"mark\" }";
    // The first host's packets take the link `direct`; it is longer than the way over `middle` for the second's.
    let warned = |direct: &str, middle: &str, flow: &str| {
        let file = parse(&format!(
            "nodes = [{{ name = \"hosts\", count = 2 }}, {{ name = \"near\", count = 2 }}, {{ name = \"far\", count = 3 }}]
            links = [
                {{ from = \"hosts\", to = \"near\" }},
                {{ from = \"near\", to = \"right\", delay = \"1ms\", delay_step = \"10ms\", rate = \"10mbit\", queue = {direct} }},
                {{ from = \"near\", to = \"middle\", delay = \"5ms\" }},
                {{ from = \"middle\", to = \"right\", delay = \"1ms\", rate = \"10mbit\", queue = {middle} }},
                {{ from = \"right\", to = \"far\" }},
            ]
            [[flows]]
            name = \"f\"
            from = \"hosts\"
            to = \"far\"
            congestion_control = \"tcplp_ecn\"
            tcp = {{ ecn = true }}
            {flow}"
        ));
        netnice_scenario::warnings(&file)
    };
    let web = "application = { kind = \"web\", sessions = 3, object_size = { mean = \"10kB\" } }";
    let plain = "\"50p\"";
    for flow in ["", "count = 1", "reverse = true", web] {
        assert_eq!(warned(red, red, flow), [""; 0], "{flow}");
        let none = warned(plain, plain, flow);
        assert!(none[0].contains("path of `f` marks"), "{flow}: {none:?}");
        assert_eq!(none.len(), 1, "{flow}: {none:?}");
    }
    for (direct, middle, flow, expected) in [
        (red, plain, "count = 1", None),
        (red, plain, "", Some("from `hosts[1]` to `far[1]` marks")),
        (plain, red, "", Some("from `hosts[0]` to `far[0]` marks")),
        (
            red,
            plain,
            "reverse = true",
            Some("from `far[1]` to `hosts[1]` marks"),
        ),
        (red, plain, web, Some("from `hosts[1]` to `far[0]` marks")),
        (plain, red, web, Some("from `hosts[0]` to `far[0]` marks")),
    ] {
        let some = warned(direct, middle, flow);
        let case = format!("{direct}, {middle}, {flow}: {some:?}");
        assert_eq!(some.len(), usize::from(expected.is_some()), "{case}");
        assert!(
            expected.is_none_or(|expected| some[0].contains(expected)),
            "{case}"
        );
    }
}

#[test]
fn a_given_value_replaces_those_of_a_swept_axis() {
    let text = "name = \"n\"\nduration = \"1s\"\n[sweep]\ndelay = [\"5ms\", \"1ms\"]\nflows.f.count = [1, 2]\n\
        [[links]]\nfrom = \"a\"\nto = \"b\"\ndelay = \"$delay\"\n[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"";
    let points = |value: &str| -> Vec<(String, String)> {
        let settings = [("delay".to_owned(), value.to_owned())];
        let file = ScenarioFile::parse("n.toml", text, &settings, None).unwrap();
        assert_eq!(file.axes, ["delay", "flows.f.count"]);
        let points = file.points.iter().map(|point| {
            let settings: Vec<&str> = point.settings.iter().map(|it| it.1.as_str()).collect();
            let delay = point.scenario.links[0].delay.to_string();
            (settings.join(" "), delay)
        });
        points.collect()
    };
    let point = |settings: &str, delay: &str| (settings.to_owned(), delay.to_owned());
    assert_eq!(
        points("7ms"),
        [point("7ms 1", "7ms"), point("7ms 2", "7ms")]
    );
    assert_eq!(
        points("[\"7ms\", \"8ms\"]"),
        [
            point("7ms 1", "7ms"),
            point("7ms 2", "7ms"),
            point("8ms 1", "8ms"),
            point("8ms 2", "8ms")
        ]
    );
}

#[test]
fn a_sweep_is_a_grid_in_the_order_of_the_file() {
    let file = parse(
        "seeds = [4, 7]
        [parameters]
        delay = \"1ms\"
        [sweep]
        links.a-d.rate = [\"2mbit\", \"1mbit\"]
        delay = [\"5ms\", \"1ms\", \"3ms\"]
        [[links]]
        from = \"a\"
        to = \"d\"
        delay = \"$delay\"
        [[flows]]
        name = \"f\"
        from = \"a\"
        to = \"d\"",
    );
    assert_eq!(file.axes, ["links.a-d.rate", "delay"]);
    let points: Vec<String> = file
        .points
        .iter()
        .map(|point| {
            let link = &point.scenario.links[0];
            format!("{} {}", link.rate.unwrap(), link.delay)
        })
        .collect();
    assert_eq!(
        points,
        [
            "2mbit 5ms",
            "2mbit 1ms",
            "2mbit 3ms",
            "1mbit 5ms",
            "1mbit 1ms",
            "1mbit 3ms"
        ]
    );
    assert_eq!(
        file.points[1].settings[1],
        ("delay".to_owned(), "1ms".to_owned())
    );
    assert_eq!(file.runs().len(), 12);
    assert_eq!(file.runs()[3], (1, 7));
}

#[test]
fn the_hash_is_of_text_and_settings() {
    let text = format!(
        "name = \"x\"\nduration = \"1s\"\nlinks = [{{ from = \"a\", to = \"d\" }}]\n{FLOW}"
    );
    let hash = |text: &str, settings: &[(&str, &str)]| {
        let settings: Vec<_> = settings
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let file = ScenarioFile::parse("x", text, &settings, None).unwrap();
        (file.hash, file.hash_of_runs)
    };
    let plain = hash(&text, &[]);
    assert_eq!((plain.0.len(), &plain.0), (64, &plain.1));
    assert_eq!(plain, hash(&text, &[]));
    assert_ne!(plain.1, hash(&format!("{text}\n"), &[]).1);
    assert_ne!(plain.1, hash(&text, &[("duration", "2s")]).1);
    // Which seeds are wanted changes no run.
    let seeds = hash(&text, &[("seeds", "2")]);
    assert_ne!(plain.0, seeds.0);
    assert_eq!(plain.1, seeds.1);
}

/// The problem of a scenario of these nodes and this application of a flow from `a` to `b`.
fn complaint(nodes: &str, application: &str) -> String {
    let text = format!(
        "name = \"endless\"
        duration = \"1s\"
        nodes = [{nodes}]
        links = [{{ from = \"a\", to = \"b\", rate = \"1mbit\" }}]
        flows = [{{ name = \"flow\", from = \"a\", to = \"b\", application = {{ {application} }} }}]"
    );
    let file = ScenarioFile::parse("test.toml", &text, &[], None);
    file.map(drop).unwrap_err().to_string()
}

#[test]
fn pages_that_would_all_come_at_once_are_refused() {
    let web = "kind = \"web\", sessions = 1, open_loop = true, between_pages = \"0s\", object_size = { mean = \"1kB\" }";
    for objects in [
        "objects_per_page = 1",
        "objects_per_page = 9, between_objects = \"0s\"",
    ] {
        let error = complaint("", &format!("{web}, {objects}"));
        assert!(error.contains("between_pages"), "{error}");
    }
}

#[test]
fn more_routers_than_trees_have_room_for_are_refused() {
    let nodes = "{ name = \"a\", count = 2501 }, { name = \"b\", count = 2501 }";
    let error = complaint(nodes, "kind = \"ftp\"");
    assert!(
        error.contains("5002 nodes") && error.contains("5000"),
        "{error}"
    );
}

#[test]
fn the_way_back_has_what_reverse_says() {
    let text = "links = [
        { name = \"1\", from = \"a\", to = \"b\", rate = \"10mbit\", jitter = \"5ms\", loss = \"1%\",
          policer = { rate = \"5mbit\", burst = \"9kB\" }, batch_interval = \"5ms\", changes = [{ at = \"2s\", delay = \"60ms\" }],
          reverse = { jitter = \"0ms\", loss_model = { kind = \"periodic\", every = 9 } } },
        { name = \"2\", from = \"b\", to = \"c\", trace = { times_ms = [5, 20] }, outages = [{ at = \"1s\", duration = \"1s\" }],
          reverse = { rate = \"1mbit\", outages = [], batch_interval = \"3ms\" } },
        { name = \"3\", from = \"c\", to = \"d\", rate = \"1mbit\", reverse = { trace = { times_ms = [5, 20] } } },
    ]";
    let network = network(&format!("{text}{FLOW}"));
    let [there, back] = &network.links[..2] else {
        unreachable!("a link has two directions")
    };
    assert!(there.jitter.is_some() && back.jitter.is_none());
    assert!(there.conditions.policer.is_some() && back.conditions.policer.is_none());
    assert!(there.conditions.loss_model.is_none() && back.conditions.loss_model.is_some());
    assert_eq!((there.loss.as_f64(), back.loss.as_f64()), (0.01, 0.0));
    assert_eq!(there.conditions.batch_interval, Duration::from_millis(5));
    assert_eq!(back.conditions.batch_interval, Duration::ZERO);
    assert_eq!(there.conditions.changes, back.conditions.changes);
    // Two packets of 12,000 bits in 20 ms.
    let mean = Some("1.2mbit".parse().unwrap());
    let rate = |index: usize| {
        (
            network.links[index].rate,
            network.links[index].conditions.trace.is_some(),
        )
    };
    let mbit = Some("1mbit".parse().unwrap());
    assert_eq!(
        [rate(2), rate(3), rate(4), rate(5)],
        [(mean, true), (mbit, false), (mbit, false), (mean, true)]
    );
    assert_eq!(network.links[2].conditions.outages.len(), 1);
    assert!(network.links[3].conditions.outages.is_empty());
}

#[test]
fn a_default_queue_is_for_links_with_a_rate() {
    let text = "defaults.links.queue = \"1bdp\"
        links = [
            { from = \"a\", to = \"b\" },
            { from = \"b\", to = \"c\", rate = \"10mbit\", delay = \"12ms\" },
            { from = \"c\", to = \"d\", reverse = { rate = \"10mbit\" }, queue = \"7p\" },
        ]
        defaults.links.reverse.queue = \"3p\"";
    let network = network(&format!("{text}{FLOW}"));
    let limits = network
        .links
        .iter()
        .map(|link| link.queue.limit().to_string());
    assert_eq!(
        limits.collect::<Vec<_>>(),
        ["1000p", "1000p", "1bdp", "3p", "7p", "3p"]
    );
}

/// The links of a way there and back, and its round trip.
fn way(network: &Layout, from: usize, to: usize) -> (Vec<usize>, Duration) {
    let mut links = network.path(from, to).unwrap();
    links.extend(network.path(to, from).unwrap());
    (links, network.base_rtt(from, to).unwrap())
}

/// For each link the longest round trip of these ways over it.
fn longest(ways: impl Iterator<Item = (Vec<usize>, Duration)>) -> BTreeMap<usize, Duration> {
    let mut longest = BTreeMap::new();
    for (links, round_trip) in ways {
        for link in links {
            let known: &mut Duration = longest.entry(link).or_default();
            *known = round_trip.max(*known);
        }
    }
    longest
}

proptest! {
    // Clients at one router or each at its own, servers likewise, and some routes given.
    #[test]
    fn few_pairs_cover_all_links_of_a_flow(
        clients in 1u32..6,
        servers in 1u32..6,
        routers in any::<(bool, bool)>(),
        delays in prop::collection::vec(0u32..5, 7),
        steps in prop::collection::vec(0u32..3, 4),
        given in any::<bool>(),
    ) {
        let count = |many: u32, own: bool| if own { many } else { 1 };
        let (near, far) = (count(clients, routers.0), count(servers, routers.1));
        let nodes = [("clients", clients), ("near", near), ("servers", servers), ("far", far)];
        let mut text = String::new();
        for (name, count) in nodes {
            writeln!(text, "[[nodes]]\nname = \"{name}\"\ncount = {count}").unwrap();
        }
        let links = [
            ("clients", "near"), ("near", "left"), ("left", "right"), ("far", "right"), ("servers", "far"),
            ("left", "middle"), ("middle", "right"),
        ];
        for (number, (from, to)) in links.into_iter().enumerate() {
            let (delay, step) = (delays[number], steps.get(number).unwrap_or(&0));
            writeln!(text, "[[links]]\nfrom = \"{from}\"\nto = \"{to}\"\ndelay = \"{delay}ms\"\ndelay_step = \"{step}ms\"")
                .unwrap();
        }
        if given {
            let via = "[\"near\", \"left\", \"middle\", \"right\", \"far\"]";
            writeln!(text, "[[routes]]\nfrom = \"clients\"\nto = \"servers\"\nvia = {via}").unwrap();
        }
        writeln!(text, "[[flows]]\nname = \"web\"\nfrom = \"servers\"\nto = \"clients\"\napplication = {{ kind = \"web\", sessions = 3, object_size = {{ mean = \"10kB\" }} }}")
            .unwrap();
        let network = network(&text);
        let flow = &network.flows[0];
        let all = flow.senders.iter().flat_map(|&a| flow.receivers.iter().map(move |&b| (a, b)));
        let all = longest(all.map(|(a, b)| way(&network, a, b)));
        let few = network.covering_pairs(flow);
        let few = few.into_iter().map(|(a, b)| (flow.senders[a], flow.receivers[b]));
        prop_assert_eq!(&longest(few.map(|(a, b)| way(&network, a, b))), &all);
        for (&link, &round_trip) in &all {
            prop_assert_eq!(network.links[link].base_rtt, round_trip);
        }
    }
}

#[test]
fn many_clients_and_servers_need_few_pairs() {
    let network = network(
        "nodes = [{ name = \"clients\", count = 300 }, { name = \"servers\", count = 300 }]
        links = [
            { from = \"clients\", to = \"left\", delay_step = \"1ms\" },
            { from = \"left\", to = \"right\" },
            { from = \"servers\", to = \"right\" },
        ]
        flows = [{ name = \"f\", from = \"servers\", to = \"clients\", application = { kind = \"web\", sessions = 3, object_size = { mean = \"10kB\" } } }]",
    );
    assert_eq!(network.covering_pairs(&network.flows[0]).len(), 599);
    let bottleneck = network.links.iter().find(|link| link.name == "left-right");
    assert_eq!(bottleneck.unwrap().base_rtt, Duration::from_millis(2 * 299));
}
