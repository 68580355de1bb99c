// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scenario files in the simulator.

use std::path::Path;
use std::time::Duration;

use netnice_results::{RunResults, phase_effects};
use netnice_scenario::model::TrafficClass;
use netnice_scenario::{Point, Scenario, ScenarioFile};
use netnice_sim::{EngineOptions, Selection, Traces, run, run_on, run_with_traces};

fn scenario(text: &str) -> Scenario {
    point(text).scenario
}

fn point(text: &str) -> Point {
    match ScenarioFile::parse("test.toml", text, &[], None) {
        Ok(mut file) => file.points.remove(0),
        Err(error) => panic!("{error}"),
    }
}

const MIXED: &str = r#"
name = "mixed"
duration = "40s"
warm_up = "10s"
sampling = { interval = "100ms", flows = ["bulk"], links = ["bottleneck"] }

[[phases]]
name = "with_cbr"
from = "10s"
to = "20s"

[[phases]]
name = "without"
from = "25s"
to = "40s"

[[nodes]]
name = "sources"
count = 2

[[links]]
name = "bottleneck"
from = "left"
to = "right"
rate = "4mbit"
delay = "20ms"
queue = "40p"

[[links]]
from = "sources"
to = "left"
rate = "100mbit"
delay = "2ms"

[[links]]
from = "right"
to = "sink"
rate = "100mbit"
delay = "2ms"

[[flows]]
name = "bulk"
from = "sources"
to = "sink"
packet_size = "1000B"

[[flows]]
name = "low"
from = "sources"
to = "sink"
count = 1
class = "low"
congestion_control = "tcplp"
packet_size = "1000B"
start = "1s"

[[flows]]
name = "cbr"
from = "sources"
to = "sink"
count = 1
transport = "udp"
packet_size = "500B"
stop = "20s"
application = { kind = "cbr", rate = "2mbit" }

[[flows]]
name = "web"
from = "sources"
to = "sink"
application = { kind = "web", sessions = 2, object_size = { mean = "6kB", shape = 1.2, max = "100kB" } }
"#;

#[test]
fn a_scenario_runs_and_reports_its_figures() {
    let scenario = scenario(MIXED);
    let results = run(&scenario, 1, || true).unwrap().unwrap();
    assert_eq!(results.measured_s, 30.0);
    let names: Vec<&str> = results
        .flows
        .iter()
        .map(|flow| flow.name.as_str())
        .collect();
    assert_eq!(names.len(), 5, "{names:?}");
    let flow = |group: &'static str| results.flows.iter().filter(move |flow| flow.group == group);

    let bottleneck = results
        .queues
        .iter()
        .find(|queue| queue.link == "bottleneck")
        .unwrap();
    assert!(
        (0.95..=1.0).contains(&bottleneck.utilisation),
        "{bottleneck:?}"
    );
    assert!(bottleneck.mean_packets > 5.0 && bottleneck.max_packets == 40);
    assert!(
        bottleneck
            .drops
            .iter()
            .any(|drops| drops.cause == "queue_full")
    );
    let throughput: f64 = results
        .classes
        .iter()
        .map(|class| class.throughput_bps)
        .sum();
    assert!(
        (throughput / (bottleneck.utilisation * 4e6) - 1.0).abs() < 0.01,
        "{throughput}"
    );

    // 2 Mb/s of 500 B until 20 s, a third of the time measured; 472 of 500 bytes are data.
    let cbr = flow("cbr").next().unwrap();
    let sent = 2e6 / 8.0 / 500.0 * 10.0;
    assert!((cbr.packets_sent as f64 - sent).abs() <= 1.0);
    assert_eq!(cbr.phases[1].goodput_bps, 0.0);
    let received = cbr.packets_received as f64 * 500.0 * 8.0 / 30.0;
    assert!((cbr.throughput_bps / received - 1.0).abs() < 1e-9);
    assert!((cbr.goodput_bps / cbr.throughput_bps - 0.944).abs() < 1e-9);
    assert_eq!((cbr.mean_cwnd, cbr.rtt.count), (0.0, 0));

    let in_phase = |phase: usize| -> f64 {
        flow("bulk")
            .map(|bulk| bulk.phases[phase].goodput_bps)
            .sum()
    };
    assert!(in_phase(1) > 1.3 * in_phase(0), "more without the CBR");
    for bulk in flow("bulk") {
        assert!(bulk.mean_cwnd > 2.0 && bulk.retransmissions > 0);
        // Two ways of 24 ms, and at most 41 packets of web traffic, 3 ms each, ahead.
        assert!(bulk.one_way_delay.min_s > 0.024 && bulk.rtt.min_s > 0.048);
        assert!(
            bulk.rtt.max_s < 0.048 + 41.0 * 0.003 + 0.02,
            "{:?}",
            bulk.rtt
        );
    }
    let low = flow("low").next().unwrap();
    assert_eq!(low.class, TrafficClass::Low);
    assert!(
        low.goodput_bps
            < flow("bulk")
                .map(|bulk| bulk.goodput_bps)
                .fold(f64::MAX, f64::min)
    );
    assert!(low.early_indications > 0);

    let web = &results.response_times[0];
    let objects: u64 = web.bins.iter().map(|bin| bin.response.count).sum();
    // Two sessions, ten objects a page, a second between two pages. A page takes two round trips at the least; and the
    // slowest of its objects, which come as a burst to a full queue, no more than three RTOs in a row, 1 + 2 + 4 s, on
    // the mean.
    let most = 2.0 * 10.0 * (30.0 / (1.0 + 2.0 * 0.048) + 1.0);
    let least = 2.0 * 10.0 * 30.0 / (1.0 + 7.0);
    assert!(
        (least..most).contains(&(objects as f64)) && web.unfinished <= 20,
        "{objects} {}",
        web.unfinished
    );
    assert!(
        web.bins.iter().all(|bin| bin.response.min_s > 2.0 * 0.048),
        "handshake and request"
    );

    let of: Vec<(&str, &str)> = results
        .series
        .iter()
        .map(|series| (series.of.as_str(), series.quantity.as_str()))
        .collect();
    assert!(of.contains(&("bulk[0]", "cwnd")) && of.contains(&("bottleneck", "queue_packets")));
    assert!(
        results
            .series
            .iter()
            .all(|series| series.time_s.len() == 400)
    );
}

#[test]
fn what_is_sent_at_once_counts_where_there_is_no_warm_up() {
    let scenario = scenario(
        r#"
name = "at_once"
duration = "1s"
[[links]]
name = "link"
from = "near"
to = "far"
rate = "1mbit"
delay = "1ms"
[[flows]]
name = "cbr"
from = "near"
to = "far"
transport = "udp"
packet_size = "100B"
application = { kind = "cbr", rate = "8kbit" }
"#,
    );
    let results = run(&scenario, 1, || true).unwrap().unwrap();
    let flow = &results.flows[0];
    // A packet each 100 ms, the first at 0, the last at 900 ms.
    assert_eq!((flow.packets_sent, flow.packets_received), (10, 10));
    let queue = &results.queues[0];
    assert_eq!((queue.arrived, queue.delivered), (10, 10));
}

#[test]
fn pages_come_as_often_as_their_model_says() {
    let scenario = scenario(
        r#"
name = "web"
duration = "1000s"
[[links]]
name = "link"
from = "server"
to = "client"
rate = "1gbit"
delay = "24ms"
[[flows]]
name = "web"
from = "server"
to = "client"
application = { kind = "web", sessions = 4, object_size = { mean = "1000B" } }
"#,
    );
    let results = run(&scenario, 1, || true).unwrap().unwrap();
    let bins = &results.response_times[0].bins;
    let objects: u64 = bins.iter().map(|bin| bin.response.count).sum();
    // A page takes nine exponential times of 1 ms and two round trips of 48 ms; then a second passes on average. The
    // number of pages in a time is normal with this mean, and its variance is the mean times a cycle's variance over
    // the square of a cycle's mean.
    let cycle: f64 = 1.0 + 0.009 + 0.096;
    let pages = 4.0 * 1000.0 / cycle;
    let deviation = (pages * (1.0 + 9e-6)).sqrt() / cycle;
    let measured = objects as f64 / 10.0;
    assert!(
        (measured - pages).abs() < 3.0 * deviation,
        "{measured} pages, not {pages} with a deviation of {deviation}"
    );
}

#[test]
fn runs_repeat_to_the_last_digit_and_seeds_differ() {
    let scenario = scenario(MIXED);
    let text = |seed| serde_json::to_string(&run(&scenario, seed, || true).unwrap()).unwrap();
    assert_eq!(text(3), text(3));
    assert_ne!(text(3), text(4));
}

/// The engine keeps packets of few and of many links in different event queues; idle links make them many.
#[test]
fn a_run_among_many_links_is_the_same_as_among_few() {
    let idle = r#"
[[nodes]]
name = "idle"
count = 600

[[links]]
from = "idle"
to = "right"
rate = "100mbit"
delay = "2ms"
"#;
    let results = |text: &str| run(&scenario(text), 7, || true).unwrap().unwrap();
    let few = results(MIXED);
    let many = results(&format!("{MIXED}{idle}"));
    // All results except those of the idle links.
    let parts = |run: &RunResults| {
        serde_json::to_string(&(&run.flows, &run.series, &run.response_times, run.events)).unwrap()
    };
    assert_eq!(parts(&few), parts(&many));
    assert!(few.events > 100_000, "{}", few.events);
}

#[test]
fn a_run_can_be_stopped() {
    let mut scenario = scenario(MIXED);
    scenario.duration.0 = Duration::from_secs(1_000_000);
    assert!(run(&scenario, 1, || false).unwrap().is_none());
}

#[test]
fn traces_are_files_beside_the_results() {
    let scenario = scenario(MIXED);
    let directory = tempfile::tempdir().unwrap();
    let traces = Traces {
        directory: directory.path().to_owned(),
        links: Selection::Named(vec!["bottleneck".to_owned()]),
        snap_length: 96,
        events: Selection::NONE,
        decisions: false,
    };
    let traced = run_with_traces(&scenario, 1, Some(&traces), || true).unwrap();
    assert_eq!(traced, run(&scenario, 1, || true).unwrap());
    let trace = std::fs::read(directory.path().join("bottleneck.pcapng")).unwrap();
    assert_eq!(trace[..4], 0x0A0D_0D0Au32.to_le_bytes());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn links_with_names_that_look_alike_have_traces_of_their_own() {
    let scenario = scenario(
        "name = \"alike\"
        duration = \"1s\"
        [[links]]
        name = \"a b\"
        from = \"a\"
        to = \"b\"
        rate = \"1mbit\"
        [[links]]
        name = \"a_b\"
        from = \"b\"
        to = \"c\"
        rate = \"1mbit\"
        [[flows]]
        name = \"bulk\"
        from = \"a\"
        to = \"c\"",
    );
    let directory = tempfile::tempdir().unwrap();
    let traces = Traces {
        directory: directory.path().to_owned(),
        links: Selection::Named(["a b", "a_b"].map(str::to_owned).to_vec()),
        snap_length: 96,
        events: Selection::NONE,
        decisions: false,
    };
    run_with_traces(&scenario, 1, Some(&traces), || true).unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
    for (file, link) in [("a_b-2", "a b"), ("a_b", "a_b")] {
        let trace = std::fs::read(directory.path().join(format!("{file}.pcapng"))).unwrap();
        let names = |name: &str| {
            trace
                .windows(name.len())
                .any(|part| part == name.as_bytes())
        };
        assert!(names(link), "{file} is of {link}");
    }
}

/// The interfaces of a pcapng file, and of each packet its time and its interface, with the bytes of its block behind these.
type Trace = (Vec<String>, Vec<(u64, usize, Vec<u8>)>);

fn read_trace(path: &Path) -> Trace {
    let trace = std::fs::read(path).unwrap();
    let word = |at: usize| u32::from_le_bytes(trace[at..at + 4].try_into().unwrap()) as usize;
    let (mut interfaces, mut packets, mut at) = (Vec::new(), Vec::new(), 0);
    while at < trace.len() {
        let block = at..at + word(at + 4);
        match word(at) {
            // The name is the first option.
            1 => {
                let length = word(at + 16) >> 16;
                let name = trace[at + 20..at + 20 + length].to_vec();
                interfaces.push(String::from_utf8(name).unwrap());
            }
            6 => {
                let time = (word(at + 12) as u64) << 32 | word(at + 16) as u64;
                packets.push((time, word(at + 8), trace[at + 20..block.end].to_vec()));
            }
            _ => {}
        }
        at = block.end;
    }
    (interfaces, packets)
}

#[test]
fn one_trace_of_all_links_merges_those_of_each() {
    let mut scenario = scenario(MIXED);
    // Packets are fast-forwarded between samples.
    scenario.sampling.interval = None;
    scenario.duration.0 = Duration::from_secs(12);
    scenario.phases.clear();
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, links: &Selection, lookahead: bool| {
        let directory = directory.path().join(name);
        std::fs::create_dir(&directory).unwrap();
        let traces = Traces {
            directory: directory.clone(),
            links: links.clone(),
            snap_length: 96,
            events: Selection::NONE,
            decisions: false,
        };
        let engine = EngineOptions {
            lookahead,
            ..EngineOptions::default()
        };
        run_on(engine, &scenario, 1, Some(&traces), || true).unwrap();
        directory
    };
    let merged = write("merged", &Selection::All, true);
    assert_eq!(std::fs::read_dir(&merged).unwrap().count(), 1);
    let merged = merged.join("all.pcapng");
    let without = write("without", &Selection::All, false).join("all.pcapng");
    assert!(std::fs::read(&merged).unwrap() == std::fs::read(without).unwrap());

    let (interfaces, packets) = read_trace(&merged);
    assert!(packets.is_sorted_by_key(|&(time, interface, _)| (time, interface)));
    assert!(packets.len() > 10_000, "{}", packets.len());
    let each = write("each", &Selection::Named(interfaces.clone()), true);
    let mut files = 0;
    for file in std::fs::read_dir(&each).unwrap() {
        let (link, own) = read_trace(&file.unwrap().path());
        let interface = interfaces.iter().position(|name| *name == link[0]).unwrap();
        let of_link = packets.iter().filter(|packet| packet.1 == interface);
        let of_link = of_link.map(|(time, _, bytes)| (*time, 0, bytes.clone()));
        assert!(of_link.eq(own), "{link:?}");
        files += 1;
    }
    assert_eq!(files, interfaces.len());
}

/// Flows over 100 Mb/s and 1 ms, whose queue the keys of `queue` describe.
fn data_centre(count: u32, control: &str, ecn: bool, queue: &str) -> RunResults {
    let text = format!(
        r#"
name = "data_centre"
duration = "6s"
warm_up = "2s"

[[links]]
name = "bottleneck"
from = "left"
to = "right"
rate = "100mbit"
delay = "400us"
queue = {{ {queue} }}

[[links]]
from = "source"
to = "left"
rate = "1gbit"
delay = "50us"

[[links]]
from = "right"
to = "sink"
rate = "1gbit"
delay = "50us"

[[flows]]
name = "flow"
from = "source"
to = "sink"
count = {count}
start_spread = "100ms"
congestion_control = "{control}"

[flows.tcp]
ecn = {ecn}
"#
    );
    run(&scenario(&text), 1, || true).unwrap().unwrap()
}

#[test]
fn dctcp_keeps_the_queue_at_the_marking_threshold() {
    let queue = "discipline = \"red\", limit = \"200p\", min_threshold = \"40p\", max_threshold = \"40p\", \
                 weight = 1.0, gentle = false, wait = false, ecn = \"mark_always\"";
    let dctcp = data_centre(2, "dctcp", true, queue);
    let reno = data_centre(2, "reno", true, queue);
    let of = |results: &RunResults| {
        let link = results.queues.iter().find(|link| link.link == "bottleneck");
        let link = link.expect("the bottleneck is measured");
        (
            link.utilisation,
            link.mean_packets,
            link.max_packets,
            link.marked,
        )
    };
    let (utilisation, mean, most, marked) = of(&dctcp);
    assert!(utilisation > 0.999 && marked > 0, "{utilisation} {marked}");
    // By half of a small alpha it falls a little below the threshold of 40, and rises a little above (RFC 8257 section 3).
    assert!((30.0..44.0).contains(&mean), "{mean}");
    assert!(most < 60, "{most}");
    // Half of the window is more than the path of 8 packets holds: Reno's queue moves between 20 and 40.
    let (_, reno_mean, ..) = of(&reno);
    assert!(reno_mean < mean - 4.0, "{reno_mean} {mean}");
}

/// Sixty flows of two packets each keep the queue above the threshold, where packets that are not ECN-capable are dropped;
/// their first windows overflow it.
#[test]
fn dctcp_opens_and_repairs_in_a_queue_above_its_threshold() {
    let queue = "discipline = \"red\", limit = \"200p\", min_threshold = \"10p\", max_threshold = \"10p\", \
                 weight = 1.0, gentle = false, wait = false, ecn = \"mark_always\"";
    let results = data_centre(60, "dctcp", true, queue);
    let sent: u64 = results.flows.iter().map(|flow| flow.retransmissions).sum();
    assert_eq!(sent, 0, "all losses are repaired in the first two seconds");
    let all = results.flows.iter().all(|flow| flow.packets_received > 100);
    assert!(all, "every flow receives after its RTOs");
}

#[test]
fn bbr_leaves_most_of_a_long_queue_empty() {
    let deep = data_centre(
        2,
        "bbr",
        false,
        "discipline = \"drop_tail\", limit = \"1000p\"",
    );
    let link = deep.queues.iter().find(|link| link.link == "bottleneck");
    let link = link.expect("the bottleneck is measured");
    assert!(link.utilisation > 0.95, "{}", link.utilisation);
    assert!(link.drops.iter().all(|drop| drop.packets == 0));
    // Reno fills the 1000 packets. A window of BBR is twice the product of 9 packets, three bursts of 8, and what ACKs
    // ran ahead.
    assert!(link.mean_packets < 120.0, "{}", link.mean_packets);
}

/// A flow over five links of 10 Mb/s, each shared with a flow of its own; access links are written as `access`. The flow's ends are
/// `a` and `b`, which have access links, or `r1` and `r6`, between which are the five.
fn five_hops((from, to): (&str, &str), access: &str) -> String {
    let mut text = format!(
        "name = \"five\"\nduration = \"60s\"\nwarm_up = \"10s\"\n[defaults.flows]\ncongestion_control = \"cubic\"\n\
         [[links]]\nfrom = \"a\"\nto = \"r1\"\ndelay = \"1ms\"\n{access}\n\
         [[links]]\nfrom = \"r6\"\nto = \"b\"\ndelay = \"1ms\"\n{access}\n\
         [[flows]]\nname = \"long\"\nfrom = \"{from}\"\nto = \"{to}\"\n"
    );
    for hop in 1..=5 {
        let next = hop + 1;
        text += &format!(
            "[[links]]\nfrom = \"r{hop}\"\nto = \"r{next}\"\nrate = \"10mbit\"\ndelay = \"5ms\"\nqueue = \"50p\"\n\
             [[links]]\nfrom = \"x{hop}\"\nto = \"r{hop}\"\ndelay = \"1ms\"\n{access}\n\
             [[links]]\nfrom = \"r{next}\"\nto = \"y{hop}\"\ndelay = \"1ms\"\n{access}\n\
             [[flows]]\nname = \"cross{hop}\"\nfrom = \"x{hop}\"\nto = \"y{hop}\"\n"
        );
    }
    text
}

#[test]
fn a_phase_effect_is_found_and_its_remedies_help() {
    let effects_of = |text: &str| {
        let point = point(text);
        let results = run(&point.scenario, 1, || true).unwrap().unwrap();
        let long = &results.flows[0];
        let lost = long.packets_lost as f64 / long.packets_sent as f64;
        (phase_effects(&point, &results), lost)
    };
    let effects = |access: &str| effects_of(&five_hops(("a", "b"), access));
    let (found, lost) = effects("");
    assert!(lost > 0.2, "{lost}");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&*found[0].flow, found[0].lost), ("long", lost));
    assert_eq!(found[0].links, ["a-r1", "r6-b"]);
    assert!(found[0].expected < 0.01 && found[0].begins_at.is_none());
    for remedy in ["rate = \"100mbit\"", "jitter = \"1.2ms\""] {
        let (found, lost) = effects(remedy);
        assert!(found.is_empty() && lost < 0.02, "{remedy}: {lost}");
    }
    // With rates on all links it depends on them.
    let (found, lost) = effects("rate = \"1gbit\"");
    assert_eq!(found.len(), 1, "{found:?} {lost}");
    assert!(found[0].flow == "long" && found[0].links.is_empty() && found[0].begins_at.is_none());
    // All its links have rates, and it begins at the first bottleneck.
    let long_queues = five_hops(("r1", "r6"), "").replace("50p", "100p");
    let (found, lost) = effects_of(&long_queues);
    assert!(lost > 0.1, "{lost}");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].flow == "long" && found[0].links.is_empty());
    assert_eq!(found[0].begins_at.as_deref(), Some("r1-r2"));
}

/// Four flows over one drop-tail queue; `access` is set on the links of their hosts, and `bottleneck` on the one that they share.
fn dumbbell(access: &str, bottleneck: &str) -> String {
    format!(
        "name = \"dumbbell\"\nduration = \"60s\"\n[[nodes]]\nname = \"source\"\ncount = 4\n\
         [[links]]\nfrom = \"source\"\nto = \"router\"\ndelay = \"1ms\"\n{access}\n\
         [[links]]\nname = \"bottleneck\"\nfrom = \"router\"\nto = \"sink\"\nrate = \"10mbit\"\ndelay = \"20ms\"\n\
         queue = \"60p\"\n{bottleneck}\n\
         [[flows]]\nname = \"flow\"\nfrom = \"source\"\nto = \"sink\"\nstart_spread = \"1s\"\ncongestion_control = \"reno\"\n"
    )
}

#[test]
fn locked_out_flows_are_found_however_few_they_send() {
    let effects = |access: &str, bottleneck: &str| {
        let point = point(&dumbbell(access, bottleneck));
        let results = run(&point.scenario, 1, || true).unwrap().unwrap();
        phase_effects(&point, &results)
    };
    // The first flow sends a packet whenever the bottleneck does, at which all others find the queue full.
    let found = effects("rate = \"10mbit\"", "");
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.iter().all(|effect| effect.lost >= 0.3), "{found:?}");
    let apart = effects("rate = \"10mbit\"\njitter = \"1.2ms\"", "");
    assert_eq!(apart, []);
}

#[test]
fn losses_by_chance_or_outages_are_no_phase_effect() {
    for conditions in [
        "loss = \"0.5%\"",
        "loss_model = { kind = \"gilbert_elliott\", to_bad = \"0.5%\", to_good = \"20%\" }",
        "outages = [{ at = \"5s\", duration = \"3s\", every = \"5s\" }]",
        "changes = [{ at = \"1s\", loss = \"1%\" }]",
    ] {
        let point = point(&dumbbell("rate = \"10mbit\"", conditions));
        let results = run(&point.scenario, 1, || true).unwrap().unwrap();
        assert_eq!(phase_effects(&point, &results), [], "{conditions}");
    }
}

/// 2 Mb/s of which 1 Mb/s is within its profile, over 1.5 Mb/s under RIO: what is dropped is OUT.
#[test]
fn packets_are_counted_by_colour() {
    let scenario = scenario(
        r#"
name = "colours"
duration = "20s"
warm_up = "5s"

[[links]]
name = "edge"
from = "source"
to = "router"
rate = "10mbit"
marker = { kind = "token_bucket", rate = "1mbit", burst = "10kB" }

[[links]]
name = "core"
from = "router"
to = "sink"
rate = "1500kbit"

[links.queue]
discipline = "rio"
limit = "100p"
in = { min_threshold = "50p", max_threshold = "90p", max_probability = "2%" }
out = { min_threshold = "5p", max_threshold = "20p", max_probability = "50%" }

[[links]]
name = "plain edge"
from = "plain"
to = "router"
rate = "10mbit"

[[flows]]
name = "flow"
from = "source"
to = "sink"
transport = "udp"
packet_size = "1000B"
application = { kind = "cbr", rate = "2mbit" }

[[flows]]
name = "untagged"
from = "plain"
to = "sink"
transport = "udp"
packet_size = "1000B"
application = { kind = "cbr", rate = "80kbit" }
"#,
    );
    let results = run(&scenario, 1, || true).unwrap().unwrap();
    let queue = |name: &str| results.queues.iter().find(|queue| queue.link == name);
    for (link, drops) in [("edge", false), ("core", true)] {
        let queue = queue(link).unwrap();
        let (green, yellow, untagged) = match &queue.colours[..] {
            [green, yellow] if link == "edge" => (green, yellow, 0),
            [green, yellow, other] if other.colour == "untagged" => {
                // 80 kb/s for 15 s.
                assert!((149..=151).contains(&other.arrived), "{other:?}");
                assert_eq!(other.dropped, 0);
                (green, yellow, other.arrived)
            }
            others => panic!("{others:?}"),
        };
        assert_eq!((&*green.colour, &*yellow.colour), ("green", "yellow"));
        // 1 Mb/s for 15 s, in packets of 8000 bits.
        assert!((1870..=1880).contains(&green.arrived), "{green:?}");
        assert_eq!(green.arrived + yellow.arrived + untagged, queue.arrived);
        assert_eq!(green.dropped, 0);
        let dropped = queue.dropped();
        assert_eq!(yellow.dropped, dropped);
        assert_eq!(dropped > 800, drops, "{dropped}");
    }
}

/// Slow start on a line of 100 Mb/s and 40 ms, up to a window of 160 packets.
#[test]
fn pacing_keeps_the_queue_of_slow_start_short() {
    let longest = |pacing: bool| {
        let text = format!(
            r#"
name = "paced"
duration = "1s"
links = [
    {{ from = "a", to = "left", delay = "2ms" }},
    {{ name = "line", from = "left", to = "b", rate = "100mbit", delay = "18ms" }},
]
[[flows]]
name = "reno"
from = "a"
to = "b"
bytes = "448kB"
tcp = {{ pacing = {pacing} }}
"#
        );
        let file = ScenarioFile::parse("paced.toml", &text, &[], None).unwrap();
        let results = run(file.scenario(), 1, || true).unwrap().unwrap();
        assert!(results.flows[0].completion_s.is_some());
        results.queues[0].max_packets
    };
    // ACKs let packets leave at twice the line's rate, so that half of the window waits.
    assert!((75..=85).contains(&longest(false)), "{}", longest(false));
    // The window in half a round trip is 8000 packets a second, which the line's 8333 bear. At first ten leave at once.
    assert_eq!(longest(true), 9);
}
