// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the running kernel's TCP recovers from losses, beside `recovery = "linux"` of the simulator: needs root and /dev/net/tun, and
//! fails without them.
//!
//! The link loses packets by their number, so that both senders meet the same losses. `--nocapture` prints the figures.

use netnice_lab::experiment::{self, Lab};
use netnice_scenario::results::RunResults;
use netnice_scenario::{Scenario, ScenarioFile};

/// Losses that a sender meets, in both worlds.
struct Case {
    name: &'static str,
    /// Packets of the data, of which there are no fractions.
    packets: u64,
    queue: &'static str,
    /// Numbers of the data packets lost, retransmissions counted, from 1.
    lost: &'static [u64],
    /// The receiver's window in packets.
    window: Option<u64>,
}

const ONE: Case = Case {
    name: "one packet",
    packets: 1000,
    queue: "500p",
    lost: &[25],
    window: None,
};

/// Twenty packets are outstanding: the one lost is retransmitted as the twentieth after it.
const RETRANSMISSION: Case = Case {
    name: "a retransmission",
    packets: 300,
    queue: "500p",
    lost: &[100, 120],
    window: Some(20),
};

const TAIL: Case = Case {
    name: "the last two packets",
    packets: 300,
    queue: "500p",
    lost: &[299, 300],
    window: Some(20),
};

const OVERFLOW: Case = Case {
    name: "overflow",
    packets: 1500,
    queue: "60p",
    lost: &[],
    window: None,
};

/// Figures that are compared.
#[derive(Debug)]
struct Recovery {
    retransmissions: u64,
    timeouts: u64,
    recoveries: u64,
    /// When cwnd first falls, by samples of 5 ms.
    falls_ms: f64,
    /// The lowest window before it grows again, and the next one.
    lowest: f64,
    completion_ms: f64,
}

/// One flow over 10 Mb/s with 40 ms of round trip. Before the data `preceding` packets pass the link: a SYN, and of a kernel an ACK.
fn scenario(case: &Case, control: &str, preceding: u64) -> Scenario {
    let numbers: Vec<u64> = case.lost.iter().map(|number| number + preceding).collect();
    let loss = match numbers.is_empty() {
        true => String::new(),
        // ACKs have numbers of their own, of which none is lost.
        false => format!(
            "loss_model = {{ kind = \"listed\", packets = {numbers:?} }}
reverse = {{ loss_model = {{ kind = \"listed\", packets = [1000000] }} }}"
        ),
    };
    let data = 1448;
    let window = case.window.map_or(String::new(), |packets| {
        format!(", receiver_window = \"{}B\"", packets * data)
    });
    let text = format!(
        "name = \"recovery\"
duration = \"4s\"
sampling = {{ interval = \"5ms\" }}
[[links]]
name = \"bottleneck\"
from = \"a\"
to = \"b\"
rate = \"10mbit\"
delay = \"20ms\"
queue = \"{}\"
{loss}
[[flows]]
name = \"flow\"
from = \"a\"
to = \"b\"
bytes = \"{}B\"
congestion_control = {control}
tcp = {{ recovery = \"linux\", delayed_ack = false{window} }}
",
        case.queue,
        case.packets * data
    );
    let file = ScenarioFile::parse("recovery.toml", &text, &[], None);
    let file = file.unwrap_or_else(|error| panic!("{error}"));
    file.scenario().clone()
}

fn recovery(results: &RunResults) -> Recovery {
    let flow = &results.flows[0];
    let mut series = results.series.iter();
    let cwnd = series.find(|series| series.quantity == "cwnd").unwrap();
    let whole: Vec<(f64, f64)> = cwnd
        .time_s
        .iter()
        .copied()
        .zip(cwnd.value.iter().map(|value| value.floor()))
        .collect();
    let fall = whole.windows(2).position(|pair| pair[1].1 < pair[0].1);
    let falls_at = fall.map_or(whole.len(), |at| at + 1);
    let after = &whole[falls_at..];
    let rise = after.windows(2).position(|pair| pair[1].1 > pair[0].1);
    Recovery {
        retransmissions: flow.retransmissions,
        timeouts: flow.timeouts,
        recoveries: flow.recoveries,
        falls_ms: after.first().map_or(f64::NAN, |first| first.0 * 1e3),
        lowest: rise.map_or(f64::NAN, |at| after[at].1),
        completion_ms: flow.completion_s.unwrap_or(f64::NAN) * 1e3,
    }
}

/// Runs a case in both worlds: simulated, measured.
fn both(case: &Case, simulated: &str, kernel: &str) -> (Recovery, Recovery) {
    let model = netnice_sim::run(&scenario(case, simulated, 1), 1, || true);
    let model = recovery(&model.unwrap().unwrap());
    let scenario = scenario(case, kernel, 2);
    let problems = experiment::check(&scenario);
    assert!(problems.is_empty(), "{problems:?}");
    let lab = Lab::open([&scenario]).expect("a lab (these tests need root)");
    let results = lab.run(&scenario, 1, || true).unwrap().unwrap();
    lab.close().unwrap();
    let real = recovery(&results);
    for (world, seen) in [("simulated", &model), ("lab", &real)] {
        println!("{}, {kernel}, {world}: {seen:?}", case.name);
    }
    (model, real)
}

const RENO: (&str, &str) = ("\"reno\"", "\"reno\"");
const CUBIC: (&str, &str) = ("{ name = \"cubic\", linux = true }", "\"cubic\"");

/// Returns true if the kernel recovers as the simulator says, within 15 % of its times.
fn alike(model: &Recovery, real: &Recovery) -> bool {
    let apart = model.retransmissions.abs_diff(real.retransmissions);
    let near = |simulated: f64, measured: f64| (measured / simulated - 1.0).abs() < 0.15;
    model.timeouts == real.timeouts
        && model.recoveries == real.recoveries
        && apart <= 1 + model.retransmissions / 5
        && near(model.falls_ms, real.falls_ms)
        && near(model.lowest, real.lowest)
        && near(model.completion_ms, real.completion_ms)
}

/// Compares both worlds; measures again where the machine may have come late to a sample.
fn compare(case: &Case, (simulated, kernel): (&str, &str)) {
    let (mut model, mut real) = both(case, simulated, kernel);
    for _ in 0..2 {
        if alike(&model, &real) {
            return;
        }
        (model, real) = both(case, simulated, kernel);
    }
    assert!(alike(&model, &real), "{model:?} {real:?}");
}

#[test]
fn one_lost_packet_is_recovered_as_simulated() {
    compare(&ONE, RENO);
    compare(&ONE, CUBIC);
}

#[test]
fn an_overflow_is_recovered_as_simulated() {
    compare(&OVERFLOW, RENO);
    compare(&OVERFLOW, CUBIC);
}

#[test]
fn a_lost_retransmission_is_recovered_as_simulated() {
    compare(&RETRANSMISSION, RENO);
    compare(&RETRANSMISSION, CUBIC);
}

#[test]
fn a_lost_tail_is_recovered_as_simulated() {
    compare(&TAIL, RENO);
    compare(&TAIL, CUBIC);
}
