// SPDX-License-Identifier: MIT OR Apache-2.0
//! Downloads at low priority from the receiving end: servers with other controls, checked with margins over one simulated
//! bottleneck.

use netnice_results::{FlowResult, RunResults};
use netnice_scenario::ScenarioFile;

const LINK_BPS: f64 = 10e6;

/// A link of 10 Mb/s with a queue of 2.5 bandwidth-delay products, and downloads over it.
struct Line {
    rtt_ms: u32,
    /// Further keys of the link.
    keys: &'static str,
    flows: String,
}

impl Line {
    fn new(rtt_ms: u32) -> Line {
        Line {
            rtt_ms,
            keys: "",
            flows: String::new(),
        }
    }

    /// Delays vary, in order, by up to `jitter`, a key of the link.
    fn with_jitter(self, jitter: &'static str) -> Line {
        Line {
            keys: jitter,
            ..self
        }
    }

    /// A flow from a server with `control`; `rest` are further keys of the flow.
    fn flow(mut self, name: &str, control: &str, rest: &str) -> Line {
        self.flows +=
            &format!("[[flows]]\nname = \"{name}\"\ncongestion_control = \"{control}\"\n{rest}\n");
        self
    }

    fn low(self, name: &str, control: &str, rest: &str) -> Line {
        self.by("netnice", name, control, rest)
    }

    /// A flow whose receiver sets the window by `receiver`.
    fn by(self, receiver: &str, name: &str, control: &str, rest: &str) -> Line {
        self.flow(name, control, &format!("receiver = \"{receiver}\"\n{rest}"))
    }

    fn run(&self, warm_up_s: u32, seconds: u32) -> RunResults {
        let Line {
            rtt_ms,
            keys,
            flows,
        } = self;
        // Packets of 1500 B take 1.2 ms.
        let queue = 2.5 * f64::from(*rtt_ms) / 1.2;
        let text = format!(
            "name = \"test\"\nduration = \"{seconds}s\"\nwarm_up = \"{warm_up_s}s\"\n\
             [defaults.flows]\nfrom = \"server\"\nto = \"home\"\nstart_spread = \"30ms\"\n\
             tcp = {{ delayed_ack = true, min_rto = \"200ms\" }}\n\
             [[links]]\nfrom = \"server\"\nto = \"home\"\nrate = \"10mbit\"\ndelay = \"{}us\"\n\
             queue = \"{queue:.0}p\"\n{keys}\n{flows}",
            rtt_ms * 500,
        );
        let file = match ScenarioFile::parse("test", &text, &[], None) {
            Ok(file) => file,
            Err(error) => panic!("{error}\n{text}"),
        };
        let run = netnice_sim::run(file.scenario(), 1, || true).unwrap();
        run.expect("nobody stops it")
    }
}

const NO_TIMESTAMPS: &str = "tcp = { delayed_ack = true, min_rto = \"200ms\", timestamps = false }";

fn flow<'a>(results: &'a RunResults, name: &str) -> &'a FlowResult {
    results.flows.iter().find(|flow| flow.name == name).unwrap()
}

/// A flow's share of the link, headers included.
fn share(results: &RunResults, name: &str) -> f64 {
    flow(results, name).throughput_bps / LINK_BPS
}

#[test]
fn a_download_alone_fills_the_line() {
    for control in ["cubic", "reno", "netnice"] {
        for rtt_ms in [4, 40, 100] {
            let results = Line::new(rtt_ms).low("own", control, "").run(5, 30);
            let share = share(&results, "own");
            assert!(share > 0.94, "{control}, {rtt_ms} ms: {share:.3}");
        }
    }
}

#[test]
fn a_download_fills_a_path_that_jitters_and_yields_it() {
    for jitter in ["jitter = \"4ms\"", "jitter = \"20ms\"", "jitter = \"40ms\""] {
        let alone = Line::new(40).with_jitter(jitter).low("own", "cubic", "");
        let alone = share(&alone.run(5, 60), "own");
        assert!(alone > 0.8, "{jitter}: {alone:.3}");
        let line = Line::new(40).with_jitter(jitter).low("own", "cubic", "");
        let beside = line.flow("plain", "cubic", "start = \"20s\"").run(30, 90);
        let (own, plain) = (share(&beside, "own"), share(&beside, "plain"));
        assert!(own < 0.05 * plain, "{jitter}: {own:.3}, {plain:.3}");
    }
}

#[test]
fn a_download_yields_to_a_plain_one_and_comes_back() {
    for rtt_ms in [4, 40, 100] {
        for rival in ["cubic", "reno"] {
            let line = Line::new(rtt_ms).low("own", "cubic", "").flow(
                "rival",
                rival,
                "start = \"10s\"\nstop = \"25s\"",
            );
            let case = format!("{rtt_ms} ms, {rival}");
            let beside = line.run(15, 25);
            let [own, theirs] = ["own", "rival"].map(|name| share(&beside, name));
            assert!(own < 0.01 && theirs > 0.98, "{case}: {own:.4}, {theirs:.4}");
            // The rival's queue drains, and the server begins with a small window.
            let from_s = 30 + rtt_ms / 20;
            let back = share(&line.run(from_s, from_s + 5), "own");
            assert!(back > 0.9, "{case}: {back:.3}");
        }
    }
}

/// Round trips are the signal then, and pauses give none.
#[test]
fn a_download_without_timestamps_yields_and_comes_back() {
    let plain = NO_TIMESTAMPS;
    for (server, rtt_ms) in [("cubic", 4), ("cubic", 40), ("reno", 40), ("cubic", 100)] {
        let case = format!("{server}, {rtt_ms} ms");
        let alone = Line::new(rtt_ms).low("own", server, plain).run(5, 30);
        let alone = share(&alone, "own");
        assert!(alone > 0.94, "{case}: {alone:.3}");
        let line = Line::new(rtt_ms).low("own", server, plain).flow(
            "rival",
            "cubic",
            "start = \"10s\"\nstop = \"25s\"",
        );
        let beside = line.run(15, 25);
        let [own, theirs] = ["own", "rival"].map(|name| share(&beside, name));
        assert!(own < 0.01 && theirs > 0.98, "{case}: {own:.4}, {theirs:.4}");
        let back = share(&line.run(40, 45), "own");
        assert!(back > 0.85, "{case}: {back:.3}");
    }
}

#[test]
fn yields_of_a_receiver_are_counted() {
    let line = Line::new(40)
        .low("own", "cubic", "")
        .flow("rival", "cubic", "start = \"5s\"");
    let results = line.run(4, 15);
    assert!(flow(&results, "own").early_indications > 0);
    assert_eq!(flow(&results, "rival").early_indications, 0);
}

#[test]
fn a_page_is_fetched_at_low_priority() {
    let page = "application = { kind = \"web\", sessions = 1, objects_per_page = 1, \
                object_size = { mean = \"10kB\" }, between_pages = \"200ms\" }";
    let time = |receiver: &str| {
        let line = Line::new(40).flow("page", "cubic", &format!("{receiver}{page}"));
        let bins = line.run(0, 30).response_times.remove(0).bins;
        let objects: u64 = bins.iter().map(|bin| bin.response.count).sum();
        let sum_s: f64 = bins
            .iter()
            .map(|bin| bin.response.count as f64 * bin.response.mean_s)
            .sum();
        sum_s / objects as f64
    };
    let [plain, low] = ["", "receiver = \"netnice\"\n"].map(time);
    assert!(low < 1.05 * plain, "{low:.4} s, not {plain:.4} s");
}

/// RFC 9840: a target of 60 ms of queue, two packets beside a flow that keeps more, and slow start afterwards.
#[test]
fn an_rledbat_receiver_fills_yields_and_returns() {
    for server in ["cubic", "reno"] {
        let alone = Line::new(40).by("rledbat", "own", server, "").run(5, 60);
        let alone = share(&alone, "own");
        assert!(alone > 0.9, "{server}: {alone:.3}");
        let line = Line::new(40).by("rledbat", "own", server, "").flow(
            "rival",
            "cubic",
            "start = \"10s\"\nstop = \"30s\"",
        );
        let beside = line.run(15, 30);
        let [own, theirs] = ["own", "rival"].map(|name| share(&beside, name));
        // Two packets of 1.2 ms in each 40 to 140 ms.
        assert!(own > 0.012 && own < 0.06, "{server}: {own:.4}");
        assert!(theirs > 0.93, "{server}: {theirs:.4}");
        let back = share(&line.run(38, 60), "own");
        assert!(back > 0.8, "{server}: {back:.3}");
    }
}

/// By one-way delays, and without timestamps by round trips.
#[test]
fn tcplp_receivers_fill_yield_and_return() {
    for (receiver, settings) in [
        ("tcplp", ""),
        ("hstcplp", ""),
        ("tcplp", NO_TIMESTAMPS),
        ("hstcplp", NO_TIMESTAMPS),
    ] {
        let case = format!("{receiver} {settings}");
        let alone = Line::new(40).by(receiver, "own", "cubic", settings);
        let alone = share(&alone.run(5, 60), "own");
        assert!(alone > 0.8, "{case}: {alone:.3}");
        let line = Line::new(40).by(receiver, "own", "cubic", settings).flow(
            "rival",
            "cubic",
            "start = \"10s\"\nstop = \"30s\"",
        );
        let beside = line.run(15, 30);
        let [own, theirs] = ["own", "rival"].map(|name| share(&beside, name));
        assert!(
            own > 0.002 && own < 0.03 && theirs > 0.96,
            "{case}: {own:.4}, {theirs:.4}"
        );
        let back = share(&line.run(38, 60), "own");
        assert!(back > 0.7, "{case}: {back:.3}");
    }
}

/// Growth by a packet in each round makes packets wait for 2.6 ms on average, every 16th round for 1.3 ms.
#[test]
fn a_download_alone_leaves_a_short_queue() {
    for control in ["cubic", "reno"] {
        let results = Line::new(40).low("own", control, "").run(5, 60);
        let queue = results.queues.iter().find(|queue| queue.delivered > 10_000);
        let wait_ms = 1e3 * queue.expect("of the link").waiting.mean_s;
        assert!(wait_ms < 1.8, "{control}: {wait_ms:.2} ms");
        let share = share(&results, "own");
        assert!(share > 0.97, "{control}: {share:.3}");
    }
}

/// The later of many that begin together meet the queue of the earlier from their first packet on.
#[test]
fn many_that_began_together_yield_within_seconds() {
    let line = Line::new(40)
        .low("many", "cubic", "count = 20\nstart_spread = \"1s\"")
        .flow("rival", "cubic", "start = \"5s\"");
    let results = line.run(7, 10);
    let many = results
        .flows
        .iter()
        .filter(|flow| flow.group == "many")
        .map(|flow| flow.throughput_bps / LINK_BPS);
    let many: f64 = many.sum();
    assert!(many < 0.25, "{many:.3}");
    let rival = share(&results, "rival");
    assert!(rival > 0.75, "{rival:.3}");
}

/// A few of a group probe, and the others close their windows; later they all come back.
#[test]
fn many_that_yield_take_no_more_than_a_few() {
    let line = Line::new(40)
        .low("many", "cubic", "count = 20\nstart_spread = \"1s\"")
        .flow("rival", "cubic", "start = \"8s\"\nstop = \"25s\"");
    let many = |warm_up_s, seconds| -> f64 {
        let results = line.run(warm_up_s, seconds);
        let of_group = results.flows.iter().filter(|flow| flow.group == "many");
        of_group.map(|flow| flow.throughput_bps / LINK_BPS).sum()
    };
    let beside = many(20, 25);
    assert!(beside < 0.03, "{beside:.4}");
    let after = many(30, 40);
    assert!(after > 0.95, "{after:.3}");
}

/// Losses, packets out of order, and a rival that comes and goes: a window that stayed closed would leave a transfer unfinished.
#[test]
fn thousands_of_short_downloads_all_end() {
    let text = "name = \"test\"\nduration = \"400s\"\n\
         [defaults.flows]\nfrom = \"server\"\nto = \"home\"\nstop = \"300s\"\n\
         congestion_control = \"cubic\"\ntcp = { delayed_ack = true, min_rto = \"200ms\" }\n\
         [[links]]\nfrom = \"server\"\nto = \"home\"\nrate = \"10mbit\"\ndelay = \"20ms\"\nqueue = \"83p\"\n\
         loss = \"1%\"\njitter = { size = \"5ms\", reordering = true }\n\
         [[flows]]\nname = \"low\"\nreceiver = \"netnice\"\n\
         application = { kind = \"arrivals\", between_flows = \"100ms\", \
                         size = { kind = \"pareto\", mean = \"60kB\", max = \"1MB\" } }\n\
         [[flows]]\nname = \"rival\"\n\
         application = { kind = \"square_wave\", rate = \"9mbit\", period = \"20s\" }\n";
    let file = ScenarioFile::parse("test", text, &[], None).unwrap();
    for seed in 1..=3 {
        let run = netnice_sim::run(file.scenario(), seed, || true).unwrap();
        let results = run.expect("nobody stops it");
        let times = &results.response_times[0];
        let ended: u64 = times.bins.iter().map(|bin| bin.response.count).sum();
        assert!(ended > 2500, "seed {seed}: {ended}");
        assert_eq!(times.unfinished, 0, "seed {seed}");
    }
}

/// After losses of others two packets of a small window may come half a round trip apart. Then each waits for a delayed ACK, and no
/// sample ever ends the yielding: a pause lets both leave together.
#[test]
fn packets_out_of_step_do_not_keep_a_download_back() {
    let text = include_str!("../../../scenarios/netnice_beside_cubic.toml");
    for (rate_kbit, delay_us, rival) in [(14_359, 75_560, "cubic"), (24_820, 79_612, "reno")] {
        let settings = [
            ("links.bottleneck.rate", format!("{rate_kbit}kbit")),
            ("links.bottleneck.delay", format!("{delay_us}us")),
            (
                "links.bottleneck.queue",
                "{ discipline = \"codel\" }".to_owned(),
            ),
            ("defaults.links.delay", "200us".to_owned()),
            ("defaults.links.rate", "1gbit".to_owned()),
            ("flows.cubic.congestion_control", rival.to_owned()),
            ("flows.cubic.tcp.recovery", "linux".to_owned()),
            ("flows.netnice.tcp.recovery", "linux".to_owned()),
            ("flows.netnice.congestion_control", "cubic".to_owned()),
            ("flows.netnice.receiver", "netnice".to_owned()),
        ];
        let settings = settings.map(|(key, value)| (key.to_owned(), value));
        let file = ScenarioFile::parse("netnice_beside_cubic.toml", text, &settings, None).unwrap();
        for seed in 1..=3 {
            let results = netnice_sim::run(file.scenario(), seed, || true).unwrap();
            let results = results.expect("nobody stops it");
            let phases = &flow(&results, "netnice").phases;
            let again = phases[2].goodput_bps / f64::from(rate_kbit * 1000);
            assert!(again > 0.5, "{rate_kbit} kb/s, seed {seed}: {again:.3}");
        }
    }
}
