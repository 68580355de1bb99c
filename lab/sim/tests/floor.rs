// SPDX-License-Identifier: MIT OR Apache-2.0
//! The promises of a floor under netnice, over one simulated bottleneck with ends as in Linux.

use netnice_results::RunResults;
use netnice_scenario::ScenarioFile;

/// The floor, in bits per second.
const FLOOR: f64 = 2e6;

/// 10 Mb/s, a round trip of 40 ms, a queue of 2.5 bandwidth-delay products.
struct Bed {
    flows: String,
}

impl Bed {
    fn new() -> Bed {
        Bed {
            flows: String::new(),
        }
    }

    /// Flows whose control is written as in a scenario.
    fn flow(mut self, name: &str, control: &str, rest: &str) -> Bed {
        self.flows += &format!(
            "[[flows]]\nname = \"{name}\"\nfrom = \"near\"\nto = \"far\"\ncongestion_control = {control}\n\
             start_spread = \"30ms\"\n\
             tcp = {{ delayed_ack = true, quick_acks = true, min_rto = \"200ms\" }}\n{rest}\n"
        );
        self
    }

    /// The connections that have low priority, above the floor if there is one.
    fn low(self, floor: Option<f64>, connections: u32) -> Bed {
        let control = match floor {
            Some(rate) => format!("{{ name = \"netnice\", at_least_bps = {rate:.1} }}"),
            None => "\"netnice\"".to_owned(),
        };
        self.flow("low", &control, &format!("count = {connections}"))
    }

    /// Downloads, whose servers know nothing.
    fn received(self, floor: Option<f64>, connections: u32) -> Bed {
        let receiver = match floor {
            Some(rate) => format!("{{ name = \"netnice\", at_least_bps = {rate:.1} }}"),
            None => "\"netnice\"".to_owned(),
        };
        self.flow(
            "low",
            "\"cubic\"",
            &format!("count = {connections}\nreceiver = {receiver}"),
        )
    }

    fn cubic(self, name: &str, count: u32) -> Bed {
        self.flow(name, "\"cubic\"", &format!("count = {count}"))
    }

    fn run(&self, warm_up_s: u32, seconds: u32) -> Results {
        self.run_with_seed(1, warm_up_s, seconds)
    }

    fn run_with_seed(&self, seed: u64, warm_up_s: u32, seconds: u32) -> Results {
        let text = format!(
            "name = \"test\"\nduration = \"{seconds}s\"\nwarm_up = \"{warm_up_s}s\"\n\
             [[links]]\nfrom = \"near\"\nto = \"far\"\nrate = \"10mbit\"\ndelay = \"20ms\"\nqueue = \"83p\"\n{}",
            self.flows
        );
        let file = ScenarioFile::parse("test", &text, &[], None)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let run = netnice_sim::run(file.scenario(), seed, || true).unwrap();
        Results(run.expect("nobody stops it"))
    }
}

struct Results(RunResults);

impl Results {
    /// What the flows of this name got together, in bits per second of data.
    fn goodput(&self, name: &str) -> f64 {
        let flows = self.0.flows.iter();
        flows
            .filter(|flow| flow.name == name || flow.group == name)
            .map(|flow| flow.goodput_bps)
            .sum()
    }
}

/// The mean of what the flows of this name got with several seeds, in bits per second of data.
fn mean_goodput(bed: &Bed, name: &str) -> f64 {
    const SEEDS: u64 = 4;
    let runs = (1..=SEEDS).map(|seed| bed.run_with_seed(seed, 20, 120).goodput(name));
    runs.sum::<f64>() / SEEDS as f64
}

/// What one CUBIC flow gets beside so many others.
fn seat(others: u32) -> f64 {
    mean_goodput(&Bed::new().cubic("other", others).cubic("seat", 1), "seat")
}

/// Checks that the connections get what they are promised beside so many CUBIC flows, which `least` is the part of that must
/// come, and not more than a flow of these gets, but for a tenth, and what plain netnice takes.
#[track_caller]
fn check_beside(others: u32, connections: u32, least: f64) {
    let seat = seat(others);
    let plain = mean_goodput(
        &Bed::new().low(None, connections).cubic("other", others),
        "low",
    );
    let bed = Bed::new()
        .low(Some(FLOOR), connections)
        .cubic("other", others);
    let got = mean_goodput(&bed, "low");
    let promised = seat.min(FLOOR);
    println!(
        "beside {others}: {connections} get {got:.0} of {promised:.0}, one CUBIC flow {seat:.0}, without a floor {plain:.0}"
    );
    assert!(got > least * promised);
    assert!(got < 1.1 * promised + plain);
}

#[test]
fn one_connection_gets_the_floor_beside_cubic() {
    check_beside(1, 1, 0.95);
    check_beside(5, 1, 0.95);
    check_beside(20, 1, 0.95);
}

/// Together they are one flow: where their window is small, they lose a little by RTOs, which one flow would not have.
#[test]
fn several_connections_are_no_more_than_one_flow() {
    check_beside(1, 4, 0.95);
    check_beside(5, 4, 0.85);
    check_beside(20, 4, 0.85);
    check_beside(1, 20, 0.95);
}

#[test]
fn a_floor_above_the_share_is_that_of_one_flow() {
    // Twice the line's rate, which nobody can have beside others.
    for (others, connections) in [(1, 1), (5, 1), (20, 1), (1, 4), (5, 4)] {
        let bed = Bed::new()
            .low(Some(20e6), connections)
            .cubic("other", others);
        let (got, seat) = (mean_goodput(&bed, "low"), seat(others));
        println!("beside {others}: {connections} get {got:.0}, one CUBIC flow {seat:.0}");
        // Several connections with a few packets each lose a little by RTOs.
        let least = if connections == 1 { 0.9 } else { 0.75 };
        assert!(
            (least..1.15).contains(&(got / seat)),
            "{others} {connections}"
        );
    }
}

#[test]
fn an_idle_line_is_filled_whatever_the_floor() {
    for floor in [None, Some(FLOOR), Some(9e6), Some(20e6)] {
        for connections in [1, 4] {
            let got = Bed::new()
                .low(floor, connections)
                .run(20, 80)
                .goodput("low");
            assert!(got > 0.94 * 9.65e6, "{floor:?} {connections}: {got}");
        }
    }
}

#[test]
fn two_groups_have_a_floor_each() {
    let control = |rate: f64| format!("{{ name = \"netnice\", at_least_bps = {rate:.1} }}");
    let bed = Bed::new()
        .flow("one", &control(1e6), "count = 3")
        .flow("two", &control(2e6), "")
        .cubic("other", 2);
    for (name, floor) in [("one", 1e6), ("two", 2e6)] {
        let got = mean_goodput(&bed, name);
        assert!((0.95..1.1).contains(&(got / floor)), "{name}: {got}");
    }
}

/// Pages of some 500 kB each few seconds, on a line that is idle otherwise.
#[test]
fn above_the_floor_pages_lose_no_more_than_beside_netnice() {
    let pages = |bed: Bed| {
        let application = "application = { kind = \"web\", sessions = 1, objects_per_page = 5, \
                           object_size = { mean = \"100kB\" }, between_pages = \"3s\", multiplexing = \"none\" }";
        let run = bed.flow("pages", "\"cubic\"", application).run(20, 320);
        let load = &run.0.response_times[0]
            .pages
            .as_ref()
            .expect("pages are measured")
            .load;
        (load.mean_s, run.goodput("low"))
    };
    let (alone_s, _) = pages(Bed::new());
    let (plain_s, plain) = pages(Bed::new().low(None, 1));
    let (floor_s, floor) = pages(Bed::new().low(Some(FLOOR), 1));
    println!(
        "pages take {alone_s} s alone, {plain_s} beside netnice, {floor_s} above a floor, which take {plain} and {floor}"
    );
    // Of a line of 10 Mb/s a flow of 2 Mb/s leaves 8.
    assert!(floor_s < plain_s + 0.3 * alone_s);
    assert!(floor > 0.95 * plain);
}

/// Others come after a minute, stay for one, and go.
#[test]
fn the_floor_holds_as_others_come_and_go() {
    let bed = |floor| {
        Bed::new().low(floor, 1).flow(
            "other",
            "\"cubic\"",
            "count = 3\nstart = \"60s\"\nstop = \"120s\"",
        )
    };
    let during = |floor| bed(floor).run(60, 121).goodput("low") * 61.0 / 60.0;
    let after = |floor| bed(floor).run(120, 180).goodput("low");
    let (with, without) = (during(Some(FLOOR)), during(None));
    assert!(
        with > 0.95 * FLOOR && without < 0.2 * FLOOR,
        "{with} {without}"
    );
    let (with, without) = (after(Some(FLOOR)), after(None));
    assert!(with > 0.98 * without && without > 7e6, "{with} {without}");
}

/// Downloads, whose senders are CUBIC flows of their own: one is as one flow, and several stay within the floor.
#[test]
fn downloads_get_the_floor() {
    for (others, connections, least) in [
        (1, 1, 0.95),
        (5, 1, 0.95),
        (20, 1, 0.95),
        (1, 4, 0.95),
        (1, 20, 0.95),
    ] {
        let promised = seat(others).min(FLOOR);
        let bed = |floor| {
            Bed::new()
                .received(floor, connections)
                .cubic("other", others)
        };
        let plain = mean_goodput(&bed(None), "low");
        let got = mean_goodput(&bed(Some(FLOOR)), "low");
        println!(
            "beside {others}: {connections} get {got:.0} of {promised:.0}, without a floor {plain:.0}"
        );
        assert!(got > least * promised && got < 1.1 * promised + plain);
    }
}

#[test]
fn downloads_fill_an_idle_line_whatever_the_floor() {
    for connections in [1, 4] {
        let alone = |floor| mean_goodput(&Bed::new().received(floor, connections), "low");
        assert!(alone(Some(FLOOR)) > 0.99 * alone(None), "{connections}");
    }
}

#[test]
fn one_connection_gets_the_floor_beside_bbr() {
    let beside = |bed: Bed| bed.flow("other", "\"bbr\"", "");
    let seat = mean_goodput(&beside(Bed::new().cubic("seat", 1)), "seat");
    let got = mean_goodput(&beside(Bed::new().low(Some(FLOOR), 1)), "low");
    println!("beside bbr: {got:.0}, one CUBIC flow {seat:.0}");
    assert!(got > 0.95 * seat.min(FLOOR) && got < 1.1 * seat.max(FLOOR));
}

/// 120 MB within 300 s of a line that another flow shares from 50 s on. The transfer has low priority while there is time.
#[test]
fn a_deadline_is_met_by_a_late_floor() {
    let bed = |by: &str| {
        Bed::new()
            .flow(
                "low",
                "\"netnice\"",
                &format!("count = 2\nbytes = \"60MB\"\n{by}"),
            )
            .flow("other", "\"cubic\"", "start = \"50s\"")
    };
    let done = |by, end_s| {
        let run = bed(by).run(0, end_s);
        let bytes = run.goodput("low") * f64::from(end_s) / 8.0;
        bytes / 120e6
    };
    let kept = done("by = \"300s\"", 300);
    let early = done("by = \"300s\"", 100);
    let without = done("", 300);
    println!("{kept} of it is done at the deadline, {early} at 100 s, {without} without one");
    assert!(kept > 0.999 && without < 0.6);
    // 50 s alone, and little in the next 50.
    assert!(early < 0.55);
}
