// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scenarios on the running kernel: needs root and /dev/net/tun, and fails without them.
//!
//! Margins are wide enough for a busy machine, and narrow enough to notice what is wrong.

use netnice_emulation::{Lab, LabError};
use netnice_results::{FlowResult, QueueResult, RunResults, until_in_time};
use netnice_scenario::{Point, ScenarioFile};

/// Two access links and a bottleneck of 10 Mb/s with 40 ms of round trip.
const NETWORK: &str = "
name = \"live\"
[[links]]
from = \"a\"
to = \"left\"
rate = \"100mbit\"
delay = \"2ms\"
[[links]]
name = \"bottleneck\"
from = \"left\"
to = \"b\"
rate = \"10mbit\"
delay = \"18ms\"
queue = \"83p\"
";

fn point(settings: &str, flows: &str) -> Point {
    let text = format!("{settings}\n{NETWORK}\n{flows}");
    let file = ScenarioFile::parse("live.toml", &text, &[], None);
    let file = file.unwrap_or_else(|error| panic!("{error}"));
    let point = &file.points[0];
    let problems = netnice_emulation::check(&point.scenario, &point.layout().unwrap());
    assert!(problems.is_empty(), "{problems:?}");
    point.clone()
}

/// Runs a scenario, up to four times in all while the link says that the machine was late.
fn measure(point: &Point) -> RunResults {
    let lab = Lab::open([&point.scenario]).expect("a lab (these tests need root)");
    let on = || (&point.scenario, point.layout().unwrap());
    let results = until_in_time(3, || lab.run(on(), 1, None, || true));
    let results = results.unwrap().unwrap();
    lab.close().unwrap();
    let report = results.lab.as_ref().unwrap();
    assert_eq!(report.lost_outside, 0, "{report:?}");
    results
}

/// Makes a test of rates three times at most: a processor that comes late to the ends shows in no link's report. A claim that is
/// false fails each time.
fn in_one_of_three(test: impl Fn() + std::panic::RefUnwindSafe) {
    if (0..2).all(|_| std::panic::catch_unwind(&test).is_err()) {
        test();
    }
}

fn flow<'a>(results: &'a RunResults, name: &str) -> &'a FlowResult {
    results.flows.iter().find(|flow| flow.name == name).unwrap()
}

fn bottleneck(results: &RunResults) -> &QueueResult {
    let mut queues = results.queues.iter();
    queues.find(|queue| queue.link == "bottleneck").unwrap()
}

fn assert_between(what: &str, value: f64, low: f64, high: f64) {
    assert!(
        (low..=high).contains(&value),
        "{what} is {value}, expected {low} to {high}"
    );
}

/// Prints how many answers to marks the kernel began, and how many of these the control gave. `tests/kernels/run` shows the line.
fn tell_share(control: &str, feedback: &str, marked: u64, begun: u64, given: u64) {
    let share = 100 * given / begun.max(1);
    println!(
        "marks: {control}, {feedback}: {marked} marks, of {begun} answers the control gave {given} ({share} %)"
    );
}

/// The ways to report marks that this kernel has: RFC 3168, and AccECN (Linux 7.0).
fn feedback() -> &'static [&'static str] {
    const WAYS: &[&str] = &["ecn = true", "ecn = true, accurate_ecn = true"];
    let flow = format!("{CUBIC}tcp = {{ {} }}", WAYS[1]);
    let tried = point("duration = \"100ms\"", &flow);
    let lab = Lab::open([&tried.scenario]).unwrap();
    let on = (&tried.scenario, tried.layout().unwrap());
    let answer = lab.run(on, 1, None, || true);
    lab.close().unwrap();
    match answer {
        Err(LabError::NoAccurateEcn) => &WAYS[..1],
        other => other.map(|_| WAYS).unwrap(),
    }
}

const CUBIC: &str = "
[[flows]]
name = \"cubic\"
from = \"a\"
to = \"b\"
congestion_control = \"cubic\"
";

#[test]
fn one_flow_fills_a_link_as_simulated() {
    let point = point(
        "duration = \"9s\"\nwarm_up = \"5s\"\nsampling = { interval = \"500ms\" }\n\
         phases = [{ name = \"late\", from = \"7s\", to = \"9s\" }]",
        CUBIC,
    );
    let measured = measure(&point);
    let simulated = netnice_sim::run(&point.scenario, 1, || true)
        .unwrap()
        .unwrap();
    let (real, model) = (flow(&measured, "cubic"), flow(&simulated, "cubic"));
    let ratio = |of: fn(&FlowResult) -> f64| of(real) / of(model);
    assert_between("goodput", ratio(|flow| flow.goodput_bps), 0.9, 1.02);
    assert_between("throughput", ratio(|flow| flow.throughput_bps), 0.9, 1.02);
    assert_between(
        "late goodput",
        ratio(|flow| flow.phases[0].goodput_bps),
        0.9,
        1.02,
    );
    // Which flow empties the queue at a loss within these seconds is chance; no packet is faster than the path.
    let smallest = real.one_way_delay.min_s;
    assert_between(
        "smallest delay",
        smallest,
        0.021,
        1.6 * model.one_way_delay.min_s,
    );
    assert_between("mean RTT", ratio(|flow| flow.rtt.mean_s), 0.6, 1.6);
    assert_between("mean window", ratio(|flow| flow.mean_cwnd), 0.6, 1.6);
    assert!(real.rtt.min_s > 0.040, "{:?}", real.rtt);
    assert!(bottleneck(&measured).utilisation > 0.9);
    // All kinds of series that the simulator has.
    let kinds = |results: &RunResults| {
        let series = results.series.iter();
        let mut kinds: Vec<_> = series
            .map(|one| (one.quantity.clone(), one.of.clone()))
            .collect();
        kinds.sort();
        kinds
    };
    assert_eq!(kinds(&measured), kinds(&simulated));
    assert!(
        measured
            .series
            .iter()
            .all(|series| series.time_s.len() == 18)
    );
}

#[test]
fn netnice_leaves_a_link_to_others() {
    in_one_of_three(netnice_leaves_a_link);
}

fn netnice_leaves_a_link() {
    let point = point(
        "duration = \"10s\"\nwarm_up = \"3s\"\n\
         phases = [{ name = \"beside\", from = \"6s\", to = \"10s\" }]",
        &format!(
            "{CUBIC}start = \"4s\"\n[[flows]]\nname = \"low\"\nfrom = \"a\"\nto = \"b\"\nclass = \"low\"\n\
             congestion_control = {{ name = \"netnice\", threshold_us = 1000 }}"
        ),
    );
    let results = measure(&point);
    let (cubic, low) = (flow(&results, "cubic"), flow(&results, "low"));
    let beside = |flow: &FlowResult| flow.phases[0].goodput_bps;
    let share = beside(low) / (beside(low) + beside(cubic));
    assert_between("netnice's share", share, 0.0, 0.2);
    assert_eq!(results.classes.len(), 2);
    // The control counts the indications it answered; the kernel's own counts none.
    assert!((1..100).contains(&low.early_indications), "{low:?}");
    assert_eq!(cubic.early_indications, 0);
}

/// With one packet in flight, each transmission starts with nothing in flight; TCP-LP must not take this for a pause
/// and forget the delays.
#[test]
fn tcplp_stays_at_a_window_of_one_beside_others() {
    in_one_of_three(tcplp_stays_at_a_window_of_one);
}

fn tcplp_stays_at_a_window_of_one() {
    let point = point(
        "duration = \"18s\"\nwarm_up = \"10s\"",
        &format!(
            "{CUBIC}start = \"3s\"\n[[flows]]\nname = \"low\"\nfrom = \"a\"\nto = \"b\"\nclass = \"low\"\n\
             congestion_control = \"tcplp\""
        ),
    );
    let results = measure(&point);
    let (cubic, low) = (flow(&results, "cubic"), flow(&results, "low"));
    assert_between("tcplp's mean window", low.mean_cwnd, 1.0, 1.8);
    assert_between(
        "tcplp's share",
        low.goodput_bps / (low.goodput_bps + cubic.goodput_bps),
        0.001,
        0.04,
    );
}

/// Linux's receiver changes how it delays ACKs within a connection: a window of one packet must not be for ever.
#[test]
fn tcplp_takes_the_link_again_when_others_have_gone() {
    in_one_of_three(tcplp_takes_the_link_again);
}

fn tcplp_takes_the_link_again() {
    let low: String = (0..4)
        .map(|number| {
            format!(
                "[[links]]\nfrom = \"a{number}\"\nto = \"left{number}\"\nrate = \"100mbit\"\ndelay = \"2ms\"\n\
                 [[links]]\nfrom = \"left{number}\"\nto = \"b{number}\"\nrate = \"10mbit\"\ndelay = \"18ms\"\n\
                 queue = \"83p\"\n\
                 [[flows]]\nname = \"cubic{number}\"\nfrom = \"a{number}\"\nto = \"b{number}\"\n\
                 congestion_control = \"cubic\"\nstart = \"4s\"\nstop = \"12s\"\n\
                 [[flows]]\nname = \"low{number}\"\nfrom = \"a{number}\"\nto = \"b{number}\"\nclass = \"low\"\n\
                 congestion_control = \"tcplp\"\n"
            )
        })
        .collect();
    let point = point("duration = \"28s\"\nwarm_up = \"20s\"", &low);
    let results = measure(&point);
    for number in 0..4 {
        let low = flow(&results, &format!("low{number}"));
        // 1 % of it would be one packet for each round trip.
        assert_between("tcplp's goodput", low.goodput_bps, 3e6, 9.7e6);
    }
}

/// Slow start on a line of 100 Mb/s and 40 ms, up to a window of 160 packets: ACKs let packets leave at twice the line's rate, and half of
/// the window waits; paced it takes half a round trip, which is slower than the line.
#[test]
fn pacing_keeps_the_queue_of_slow_start_short() {
    let longest = |pacing: bool| {
        let text = format!(
            "name = \"paced\"\nduration = \"1s\"\n\
             [[links]]\nfrom = \"a\"\nto = \"left\"\ndelay = \"2ms\"\n\
             [[links]]\nname = \"bottleneck\"\nfrom = \"left\"\nto = \"b\"\nrate = \"100mbit\"\ndelay = \"18ms\"\n\
             [[flows]]\nname = \"reno\"\nfrom = \"a\"\nto = \"b\"\nbytes = \"448kB\"\ntcp = {{ pacing = {pacing} }}\n"
        );
        let file = ScenarioFile::parse("paced.toml", &text, &[], None).unwrap();
        let measured = measure(&file.points[0]);
        let simulated = netnice_sim::run(file.scenario(), 1, || true)
            .unwrap()
            .unwrap();
        [measured, simulated].map(|results| {
            assert!(flow(&results, "reno").completion_s.is_some());
            bottleneck(&results).max_packets as f64
        })
    };
    let (paced, not_paced) = (longest(true), longest(false));
    println!("longest queues, measured and simulated: paced {paced:?}, else {not_paced:?}");
    assert_between("measured", not_paced[0] / paced[0], 2.5, 20.0);
    assert_between("simulated", not_paced[1] / paced[1], 5.0, 20.0);
}

#[test]
fn timed_sources_send_what_they_say() {
    let point = point(
        "duration = \"4s\"\nwarm_up = \"1s\"",
        "[[flows]]\nname = \"cbr\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\npacket_size = \"500B\"\n\
         application = { kind = \"cbr\", rate = \"2mbit\" }\n\
         [[flows]]\nname = \"poisson\"\nfrom = \"b\"\nto = \"a\"\ntransport = \"udp\"\n\
         application = { kind = \"poisson\", rate = \"1mbit\" }\n\
         [[flows]]\nname = \"over_tcp\"\nfrom = \"a\"\nto = \"b\"\n\
         application = { kind = \"cbr\", rate = \"1mbit\" }",
    );
    let measured = measure(&point);
    let simulated = netnice_sim::run(&point.scenario, 1, || true)
        .unwrap()
        .unwrap();
    for (name, tolerance) in [("cbr", 0.02), ("poisson", 0.1), ("over_tcp", 0.1)] {
        let (real, model) = (flow(&measured, name), flow(&simulated, name));
        let ratio = real.throughput_bps / model.throughput_bps;
        assert_between(name, ratio, 1.0 - tolerance, 1.0 + tolerance);
        assert_eq!(real.packets_lost, 0, "{name}");
        assert_between("delay", real.one_way_delay.min_s, 0.0199, 0.05);
    }
}

#[test]
fn web_objects_come_in_their_time() {
    let point = point(
        "duration = \"6s\"\nwarm_up = \"500ms\"",
        "[[flows]]\nname = \"web\"\nfrom = \"a\"\nto = \"b\"\n\
         [flows.application]\nkind = \"web\"\nsessions = 2\nbetween_pages = \"300ms\"\n\
         object_size = { mean = \"4kB\", shape = 1.2, max = \"100kB\" }",
    );
    let results = measure(&point);
    let responses = &results.response_times[0];
    let objects: u64 = responses.bins.iter().map(|bin| bin.response.count).sum();
    assert!(objects > 40, "{responses:?}");
    for bin in &responses.bins {
        // A handshake and a request: two round trips.
        assert!(bin.response.min_s > 0.080, "{bin:?}");
    }
    let bytes: f64 = responses
        .bins
        .iter()
        .map(|bin| bin.mean_bytes * bin.response.count as f64)
        .sum();
    // Plus heads of responses, and objects in transfer at either end of the measurement.
    let web = flow(&results, "web");
    assert_between("bytes", web.delivered_bytes as f64 / bytes, 0.95, 1.5);
    assert!(web.goodput_bps <= web.throughput_bps);
}

#[test]
fn a_router_marks_instead_of_dropping() {
    let red = "queue = { discipline = \"red\", limit = \"200p\", min_threshold = \"5p\", max_threshold = \"100p\", ecn = \"mark\" }";
    let network = NETWORK.replace("queue = \"83p\"", red);
    let text =
        format!("duration = \"6s\"\nwarm_up = \"1s\"\n{network}\n{CUBIC}tcp = {{ ecn = true }}\n");
    let file = ScenarioFile::parse("red.toml", &text, &[], None).unwrap();
    let results = measure(&file.points[0]);
    let queue = bottleneck(&results);
    assert!(queue.marked > 0, "{queue:?}");
    let dropped = queue.dropped();
    assert!(dropped <= queue.marked, "{queue:?}");
    assert!(queue.utilisation > 0.7, "{queue:?}");
}

/// The router of TCP-LP/ECN marks the low class alone, above 15 % of its queue; both flows are ECN-capable.
#[test]
fn tcplp_ecn_yields_to_what_a_router_does_not_mark() {
    for feedback in feedback() {
        in_one_of_three(|| tcplp_ecn_yields(feedback));
    }
}

fn tcplp_ecn_yields(feedback: &str) {
    let red = "queue = { discipline = \"red\", limit = \"83p\", min_threshold = \"15%\", max_threshold = \"15%\", \
               gentle = false, ecn = \"mark_low_class\" }";
    let network = NETWORK.replace("queue = \"83p\"", red);
    let text = format!(
        "duration = \"14s\"\nwarm_up = \"2s\"\n\
         phases = [{{ name = \"alone\", from = \"4s\", to = \"7s\" }}, \
         {{ name = \"beside\", from = \"10s\", to = \"14s\" }}]\n{network}\n{CUBIC}start = \"7s\"\n\
         tcp = {{ {feedback} }}\n[[flows]]\nname = \"low\"\nfrom = \"a\"\nto = \"b\"\nclass = \"low\"\n\
         congestion_control = \"tcplp_ecn\"\ntcp = {{ {feedback} }}\n"
    );
    let file = ScenarioFile::parse("ecn.toml", &text, &[], None).unwrap();
    let results = measure(&file.points[0]);
    let (cubic, low) = (flow(&results, "cubic"), flow(&results, "low"));
    let marked = bottleneck(&results).marked;
    // The first mark halves the window, as a loss does; those soon after it set it to one packet, and are counted.
    tell_share(
        "tcplp_ecn",
        feedback,
        marked,
        low.ecn_reactions,
        low.early_indications,
    );
    assert!(marked > 0);
    assert_eq!(
        cubic.ecn_reactions, 0,
        "the best-effort class is not marked"
    );
    assert!(low.ecn_reactions > 2, "{low:?}");
    assert!(low.early_indications > 0, "{low:?}");
    let [alone, beside] = [0, 1].map(|phase: usize| low.phases[phase].goodput_bps);
    // Of what cubic gets later: a machine with other work takes from both. Marks of its own queue halve the window now and then.
    let full = cubic.phases[1].goodput_bps;
    assert_between("alone, of what cubic gets", alone / full, 0.4, 1.1);
    assert_between("share beside cubic", beside / (beside + full), 0.0, 0.1);
}

/// The kernel's programs for what is received, each a link of its own.
#[test]
fn receivers_of_each_kind_fill_a_link_and_yield_it() {
    in_one_of_three(receivers_fill_and_yield);
}

fn receivers_fill_and_yield() {
    // TCP-LP halves its window at each early indication of its own queue: the mean of four seconds depends on where in
    // this sawtooth they begin.
    let receivers = [("netnice", 0.8), ("tcplp", 0.4), ("hstcplp", 0.4)];
    let flows: String = receivers
        .map(|(receiver, _)| {
            let link = format!(
                "[[links]]\nname = \"{receiver}\"\nfrom = \"server_{receiver}\"\nto = \"home_{receiver}\"\n\
                 rate = \"10mbit\"\ndelay = \"20ms\"\nqueue = \"83p\"\n"
            );
            let flow = |name: &str, rest: &str| {
                format!(
                    "[[flows]]\nname = \"{name}_{receiver}\"\nfrom = \"server_{receiver}\"\n\
                     to = \"home_{receiver}\"\ncongestion_control = \"cubic\"\n{rest}\n"
                )
            };
            let low = flow("low", &format!("receiver = \"{receiver}\""));
            link + &low + &flow("plain", "start = \"8s\"")
        })
        .concat();
    let text = format!(
        "name = \"live\"\nduration = \"16s\"\nwarm_up = \"2s\"\n\
         phases = [{{ name = \"alone\", from = \"4s\", to = \"8s\" }}, \
         {{ name = \"beside\", from = \"11s\", to = \"16s\" }}]\n{flows}"
    );
    let file = ScenarioFile::parse("receivers.toml", &text, &[], None).unwrap();
    let point = &file.points[0];
    let problems = netnice_emulation::check(&point.scenario, &point.layout().unwrap());
    assert!(problems.is_empty());
    let results = measure(point);
    for (receiver, least) in receivers {
        let low = flow(&results, &format!("low_{receiver}"));
        let plain = flow(&results, &format!("plain_{receiver}"));
        let [alone, beside] = [0, 1].map(|phase: usize| low.phases[phase].goodput_bps);
        let full = plain.phases[1].goodput_bps;
        assert_between(receiver, alone / full, least, 1.1);
        assert_between(receiver, beside / (beside + full), 0.0, 0.1);
    }
}

/// BBR answers no marks and fills the link, so that what is missing is the receiver's answer.
#[test]
fn a_receiver_answers_marks() {
    let red = "queue = { discipline = \"red\", limit = \"200p\", min_threshold = \"4p\", max_threshold = \"4p\", \
               weight = 1.0, gentle = false, ecn = \"mark_always\" }";
    let network = NETWORK.replace("queue = \"83p\"", red);
    for feedback in feedback() {
        let text = format!(
            "duration = \"9s\"\nwarm_up = \"3s\"\n{network}\n[[flows]]\nname = \"low\"\nfrom = \"a\"\n\
             to = \"b\"\ncongestion_control = \"bbr\"\nreceiver = \"netnice\"\ntcp = {{ {feedback} }}\n"
        );
        let file = ScenarioFile::parse("marks.toml", &text, &[], None).unwrap();
        let results = measure(&file.points[0]);
        let marked = bottleneck(&results).marked;
        let goodput = flow(&results, "low").goodput_bps;
        println!(
            "marks: receiver netnice, {feedback}: {marked} marks, {goodput:.0} of 10000000 b/s"
        );
        assert!(marked > 0, "{feedback}");
        assert_between(feedback, goodput, 2e5, 6.5e6);
    }
}

/// A target below the link's rate is exceeded when marks come, so the window is halved. A target above it is not: the
/// sender takes the mark for one of an IN packet, sets the window to one packet and slow-starts to the target (Fang and
/// Peterson, 3.2.3).
#[test]
fn dstcp_answers_a_mark_as_its_target_rate_wants() {
    for feedback in feedback() {
        in_one_of_three(|| dstcp_answers(feedback));
    }
}

fn dstcp_answers(feedback: &str) {
    let link = |from: &str, to: &str| {
        format!(
            "[[links]]\nname = \"{from}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"10mbit\"\ndelay = \"20ms\"\n\
             queue = {{ discipline = \"red\", limit = \"200p\", min_threshold = \"10p\", max_threshold = \"100p\", ecn = \"mark\" }}\n"
        )
    };
    let sender = |name: &str, from: &str, to: &str, target: u64| {
        format!(
            "[[flows]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\ntcp = {{ {feedback} }}\n\
             congestion_control = {{ name = \"dstcp\", target_rate_bps = {target}, c = 1000 }}\n"
        )
    };
    let text = [
        "name = \"live\"\nduration = \"8s\"\nwarm_up = \"3s\"\nsampling = { interval = \"10ms\" }\n",
        &link("a", "b"),
        &link("c", "d"),
        &sender("beyond", "a", "b", 2_000_000),
        &sender("within", "c", "d", 20_000_000),
    ]
    .concat();
    let file = ScenarioFile::parse("marks.toml", &text, &[], None).unwrap();
    let results = measure(&file.points[0]);
    const SMALL: f64 = 4.0; // packets: slow start begins at once
    let marked = |link: &str| {
        let mut queues = results.queues.iter();
        queues.find(|queue| queue.link == link).unwrap().marked
    };
    let windows = |name: &str| -> Vec<f64> {
        let mut series = results.series.iter();
        let series = series.find(|one| one.of == name && one.quantity == "cwnd");
        let series = series.unwrap();
        let samples = series.time_s.iter().zip(series.value.iter());
        let measured = samples.filter(|&(&time, _)| time > 3.0);
        measured.map(|(_, &cwnd)| cwnd).collect()
    };
    let set_to_one = windows("within");
    let falls = set_to_one.windows(2);
    let falls = falls.filter(|pair| pair[0] > SMALL && pair[1] <= SMALL);
    let begun = flow(&results, "within").ecn_reactions;
    tell_share("dstcp", feedback, marked("c"), begun, falls.count() as u64);
    for (name, link) in [("beyond", "a"), ("within", "c")] {
        let flow = flow(&results, name);
        assert!(marked(link) > 0, "{results:?}");
        assert!(flow.ecn_reactions > 0, "{flow:?}");
        assert_eq!(flow.timeouts, 0, "{flow:?}");
    }
    let smallest = |windows: &[f64]| windows.iter().copied().fold(f64::INFINITY, f64::min);
    assert_between("halved", smallest(&windows("beyond")), 10.0, 40.0);
    assert_between("set to one", smallest(&set_to_one), 1.0, SMALL);
}

#[test]
fn settings_of_tcp_reach_the_kernel() {
    // A window of 20 packets and 40 ms: 20 * 948 B * 8 / 40 ms = 3.8 Mb/s at most.
    let point = point(
        "duration = \"5s\"\nwarm_up = \"1s\"",
        &format!(
            "{CUBIC}packet_size = \"1000B\"\ntcp = {{ receiver_window = \"20kB\", timestamps = true, recovery = \"newreno\" }}\n"
        ),
    );
    let results = measure(&point);
    let limited = flow(&results, "cubic");
    assert_between("goodput", limited.goodput_bps, 1.5e6, 4.1e6);
    let size = limited.throughput_bps * results.measured_s / 8.0 / limited.packets_received as f64;
    assert_between("packet size", size, 950.0, 1000.0);
    // An ACK for every packet.
    let mut queues = results.queues.iter();
    let acks = queues
        .find(|queue| queue.link == "bottleneck (reverse)")
        .unwrap();
    let per_packet = acks.delivered as f64 / limited.packets_received as f64;
    assert_between("ACKs per packet", per_packet, 0.95, 1.05);
}

#[test]
fn a_transfer_of_so_many_bytes_ends() {
    let point = point(
        "duration = \"4s\"",
        &format!("{CUBIC}bytes = \"500kB\"\nstart = \"500ms\"\n"),
    );
    let results = measure(&point);
    let transfer = flow(&results, "cubic");
    assert_eq!(transfer.delivered_bytes, 500_000);
    // 0.41 s on the link, after slow start.
    assert_between("completion", transfer.completion_s.unwrap(), 0.4, 2.5);
}

#[test]
fn a_flow_that_cannot_connect_gets_nothing() {
    let text = "name = \"cut\"\nduration = \"1s\"\n\
                [[links]]\nfrom = \"a\"\nto = \"b\"\nloss = \"100%\"\n\
                [[flows]]\nname = \"bulk\"\nfrom = \"a\"\nto = \"b\"\n";
    let file = ScenarioFile::parse("cut.toml", text, &[], None).unwrap();
    let results = measure(&file.points[0]);
    assert_eq!(flow(&results, "bulk").delivered_bytes, 0);
    // Starvation is a result, not a failure of the flow.
    let report = results.lab.unwrap();
    assert!(!report.reason.contains("flow bulk"), "{}", report.reason);
}

#[test]
fn labs_at_once_do_not_meet() {
    let point = point("duration = \"4s\"\nwarm_up = \"2s\"", CUBIC);
    let goodputs: Vec<f64> = std::thread::scope(|scope| {
        let labs: Vec<_> = (0..2).map(|_| scope.spawn(|| measure(&point))).collect();
        let results = labs.into_iter().map(|lab| lab.join().unwrap());
        results
            .map(|results| flow(&results, "cubic").goodput_bps)
            .collect()
    });
    for goodput in goodputs {
        assert_between("goodput", goodput, 8e6, 9.7e6);
    }
}

#[test]
fn programs_of_the_user_are_measured() {
    let page = tempfile::tempdir().unwrap();
    std::fs::write(page.path().join("page"), vec![b'x'; 300_000]).unwrap();
    let server = format!(
        "python3 -m http.server --directory {} 8000",
        page.path().display()
    );
    let flows = format!(
        "[[flows]]\nname = \"curl\"\nfrom = \"a\"\nto = \"b\"\nstart = \"200ms\"\n\
         congestion_control = \"cubic\"\n\
         [flows.application]\nkind = \"command\"\nat = \"receiver\"\n\
         command = \"curl --silent --fail --noproxy '*' --output /dev/null http://$NETNICE_FAR:8000/page\"\n\
         server = \"{server} 2>/dev/null\"\n\
         [[flows]]\nname = \"failing\"\nfrom = \"a\"\nto = \"b\"\napplication = {{ kind = \"command\", command = \"exit 3\" }}\n"
    );
    let results = measure(&point("duration = \"4s\"", &flows));
    let curl = flow(&results, "curl");
    // The page and its response head.
    assert_between("bytes", curl.delivered_bytes as f64, 300_000.0, 301_000.0);
    assert_between("completion", curl.completion_s.unwrap(), 0.3, 3.0);
    let report = results.lab.unwrap();
    assert!(!report.trustworthy);
    let expected = "flow failing: `exit 3` failed with exit code 3";
    assert!(report.reason.contains(expected), "{}", report.reason);
}

#[test]
fn a_run_that_is_stopped_has_no_results() {
    let point = point("duration = \"60s\"", CUBIC);
    let lab = Lab::open([&point.scenario]).unwrap();
    let mut questions = 0;
    let on = (&point.scenario, point.layout().unwrap());
    let results = lab.run(on, 1, None, || {
        questions += 1;
        questions < 5
    });
    assert_eq!(results.unwrap(), None);
    assert_eq!(questions, 5);
}
