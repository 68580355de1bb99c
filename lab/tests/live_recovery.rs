// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the running kernel's TCP recovers from losses, beside `recovery = "linux"` of the simulator: needs root and /dev/net/tun, and
//! fails without them.
//!
//! The link loses packets by their number, so that both senders meet the same losses. Both worlds record each packet at the link, and
//! are compared packet by packet. `--nocapture` prints the figures.

use std::fs::File;
use std::path::Path;

use netnice_lab::experiment::{self, EventRecord, Lab};
use netnice_scenario::results::RunResults;
use netnice_scenario::{Layout, Scenario, ScenarioFile};
use netnice_sim::{Selection, Traces};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;

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

/// Bytes of data in a packet.
const DATA: u64 = 1448;

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

/// Every other packet of a whole window.
const HALF: Case = Case {
    name: "half of a window",
    packets: 1000,
    queue: "500p",
    lost: &[
        61, 63, 65, 67, 69, 71, 73, 75, 77, 79, 81, 83, 85, 87, 89, 91, 93, 95, 97, 99,
    ],
    window: None,
};

/// More than half of a window in a row.
const BURST: Case = Case {
    name: "packets in a row",
    packets: 600,
    queue: "500p",
    lost: &[
        200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210, 211, 212, 213, 214, 215, 216, 217,
        218, 219, 220, 221, 222, 223,
    ],
    window: Some(40),
};

/// Far enough apart that the window has grown again, some two or three to a window.
const SCATTERED: Case = Case {
    name: "scattered",
    packets: 1000,
    queue: "500p",
    lost: &[100, 230, 231, 380, 520, 523, 530, 700, 830, 900, 905],
    window: Some(20),
};

/// The queue drops what it drops in either world, by a packet more or less.
const OVERFLOW: Case = Case {
    name: "overflow",
    packets: 1500,
    queue: "60p",
    lost: &[],
    window: None,
};

/// A packet of data that its sender has put on the link.
#[derive(Debug, Clone, Copy)]
struct Sent {
    /// Milliseconds since the first one.
    at_ms: f64,
    /// Its place in the data, in packets.
    place: i64,
}

/// Figures that are compared.
struct Recovery {
    /// Each packet, retransmissions too, in order.
    sent: Vec<Sent>,
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
    let window = case.window.map_or(String::new(), |packets| {
        format!(", receiver_window = \"{}B\"", packets * DATA)
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
        case.packets * DATA
    );
    let file = ScenarioFile::parse("recovery.toml", &text, &[], None);
    let file = file.unwrap_or_else(|error| panic!("{error}"));
    file.scenario().clone()
}

/// The packets of data that arrive at the bottleneck, of a run's record of events.
fn sent(events: &Path) -> Vec<Sent> {
    let file = SerializedFileReader::new(File::open(events).unwrap()).unwrap();
    let rows = file.get_row_iter(None).unwrap().map(Result::unwrap);
    // Columns: time_ns, link, flow, event, cause, to_sender, sequence, bytes, waited_ns.
    let data = rows
        .filter(|row| row.get_string(3).unwrap() == "arrived" && row.get_long(7).unwrap() > 100);
    let all: Vec<(i64, i64)> = data
        .map(|row| (row.get_long(0).unwrap(), row.get_long(6).unwrap()))
        .collect();
    let in_ms = |at_ns: i64| (at_ns - all[0].0) as f64 / 1e6;
    let packets = all.iter().map(|&(at_ns, byte)| Sent {
        at_ms: in_ms(at_ns),
        place: byte / DATA as i64,
    });
    packets.collect()
}

fn recovery(results: &RunResults, events: &Path) -> Recovery {
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
        sent: sent(events),
        retransmissions: flow.retransmissions,
        timeouts: flow.timeouts,
        recoveries: flow.recoveries,
        falls_ms: after.first().map_or(f64::NAN, |first| first.0 * 1e3),
        lowest: rise.map_or(f64::NAN, |at| after[at].1),
        completion_ms: flow.completion_s.unwrap_or(f64::NAN) * 1e3,
    }
}

/// Runs a case in both worlds: simulated, measured.
fn both(case: &Case, control: &Control) -> (Recovery, Recovery) {
    let directory = tempfile::tempdir().unwrap();
    let traces = Traces {
        directory: directory.path().to_owned(),
        links: Selection::NONE,
        snap_length: 0,
        events: Selection::Named(vec!["bottleneck".to_owned()]),
    };
    let events = traces.events_file().unwrap();
    let described = scenario(case, control.simulated, 1);
    let model = netnice_sim::run_with_traces(&described, 1, Some(&traces), || true);
    let model = recovery(&model.unwrap().unwrap(), &events);
    let scenario = scenario(case, control.kernel, 2);
    let problems = experiment::check(&scenario);
    assert!(problems.is_empty(), "{problems:?}");
    let lab = Lab::open([&scenario]).expect("a lab (these tests need root)");
    let sink = traces.begin_events(&Layout::new(&scenario).unwrap());
    let record = EventRecord {
        links: traces.events.clone(),
        sink: sink.unwrap().unwrap(),
    };
    let results = lab.run_with_events(&scenario, 1, Some(record), || true);
    lab.close().unwrap();
    let real = recovery(&results.unwrap().unwrap(), &events);
    println!(
        "{}, {}: {}",
        case.name,
        control.kernel,
        comparison(&model, &real)
    );
    (model, real)
}

/// A congestion control in both worlds.
struct Control {
    simulated: &'static str,
    kernel: &'static str,
    /// Places by which a packet may be sent earlier or later in one world than in the other.
    displacement: usize,
}

const RENO: Control = Control {
    simulated: "{ name = \"reno\", linux = true }",
    kernel: "\"reno\"",
    displacement: 0,
};

/// The window is a function of time, which the kernel counts in ticks of up to 10 ms. Depending on their phase, and on how late the
/// machine is, it grows by a packet before or after a loss is detected, so that the kernel differs from itself from run to run.
const CUBIC: Control = Control {
    simulated: "{ name = \"cubic\", linux = true }",
    kernel: "\"cubic\"",
    displacement: 1,
};

const BBR: Control = Control {
    simulated: "\"bbr\"",
    kernel: "\"bbr\"",
    displacement: 0,
};

/// Returns the number of packets, from the first, that both worlds send in the same order, and by how much their times differ at most.
fn alike_packets(model: &Recovery, real: &Recovery) -> (usize, f64) {
    let pairs = model.sent.iter().zip(&real.sent);
    let same = pairs.take_while(|(model, real)| model.place == real.place);
    let apart = same.map(|(model, real)| (model.at_ms - real.at_ms).abs());
    apart.fold((0, 0.0), |(count, most), apart| {
        (count + 1, f64::max(most, apart))
    })
}

/// Returns true if both worlds send the same packets, each at most `displacement` places apart in their orders.
fn in_order(model: &[Sent], real: &[Sent], displacement: usize) -> bool {
    let by_place = |sent: &[Sent]| {
        let mut turns: Vec<(i64, usize)> = sent
            .iter()
            .enumerate()
            .map(|(turn, packet)| (packet.place, turn))
            .collect();
        turns.sort_unstable();
        turns
    };
    let (model, real) = (by_place(model), by_place(real));
    model.len() == real.len()
        && model
            .iter()
            .zip(&real)
            .all(|(model, real)| model.0 == real.0 && model.1.abs_diff(real.1) <= displacement)
}

/// Returns figures of both worlds, simulated first, and the packets at which they part.
fn comparison(model: &Recovery, real: &Recovery) -> String {
    let (same, apart_ms) = alike_packets(model, real);
    let figures = |it: &Recovery| {
        format!(
            "{} packets, {} retransmissions, {} RTOs, {} recoveries, cwnd falls at {:.0} ms to {}, complete at {:.1} ms",
            it.sent.len(),
            it.retransmissions,
            it.timeouts,
            it.recoveries,
            it.falls_ms,
            it.lowest,
            it.completion_ms
        )
    };
    let places = |it: &Recovery| -> Vec<i64> {
        let from = it.sent.iter().skip(same.saturating_sub(3));
        from.take(12).map(|packet| packet.place).collect()
    };
    let mut text = format!(
        "the first {same} packets are the same, within {apart_ms:.1} ms\n   {}\n   {}",
        figures(model),
        figures(real)
    );
    if same < model.sent.len().max(real.sent.len()) {
        text += &format!("\n   {:?}\n   {:?}", places(model), places(real));
    }
    text
}

/// Returns true if the kernel recovers as the simulator says, within 15 % of its times. Where the losses are given, both
/// send the same packets, in the same order but for `displacement`.
fn alike(case: &Case, displacement: usize, model: &Recovery, real: &Recovery) -> bool {
    let apart = model.retransmissions.abs_diff(real.retransmissions);
    let near = |simulated: f64, measured: f64| (measured / simulated - 1.0).abs() < 0.15;
    (case.lost.is_empty() || in_order(&model.sent, &real.sent, displacement))
        && model.timeouts == real.timeouts
        && model.recoveries == real.recoveries
        && apart <= 1 + model.retransmissions / 5
        && near(model.falls_ms, real.falls_ms)
        && near(model.lowest, real.lowest)
        && near(model.completion_ms, real.completion_ms)
}

/// Returns true if a kernel that paces recovers as the simulator says, within 15 % of its times, and if both pace the first two flights
/// alike. Later a packet of new data leaves before or after a retransmission as the machine is late by a fraction of a millisecond.
fn alike_paced(model: &Recovery, real: &Recovery) -> bool {
    const FLIGHTS: usize = 30;
    let first = model.sent.iter().zip(&real.sent).take(FLIGHTS);
    let apart_ms: f64 = first
        .map(|(model, real)| (model.at_ms - real.at_ms).abs())
        .sum();
    let near = |simulated: f64, measured: f64| (measured / simulated - 1.0).abs() < 0.15;
    alike_packets(model, real).0 >= FLIGHTS
        && apart_ms / (FLIGHTS as f64) < 2.0
        && model.timeouts == real.timeouts
        && model.recoveries == real.recoveries
        && model.retransmissions == real.retransmissions
        && near(model.falls_ms, real.falls_ms)
        && near(model.lowest, real.lowest)
        && near(model.completion_ms, real.completion_ms)
}

/// Compares both worlds; measures again where the machine may have come late to a sample.
fn compare(case: &Case, control: &Control) {
    compare_by(case, control, |model, real| {
        alike(case, control.displacement, model, real)
    });
}

fn compare_by(case: &Case, control: &Control, alike: impl Fn(&Recovery, &Recovery) -> bool) {
    let (mut model, mut real) = both(case, control);
    for _ in 0..2 {
        if alike(&model, &real) {
            return;
        }
        (model, real) = both(case, control);
    }
    let differ = comparison(&model, &real);
    assert!(alike(&model, &real), "{}: {differ}", case.name);
}

#[test]
fn an_order_is_the_same_but_for_its_displacement() {
    let sent = |places: &[i64]| -> Vec<Sent> {
        let packets = places.iter().map(|&place| Sent { at_ms: 0.0, place });
        packets.collect()
    };
    let model = sent(&[0, 1, 2, 3, 1, 4]);
    assert!(in_order(&model, &model, 0));
    // The retransmission is a place earlier.
    let earlier = sent(&[0, 1, 2, 1, 3, 4]);
    assert!(!in_order(&model, &earlier, 0));
    assert!(in_order(&model, &earlier, 1));
    // Two places earlier, a packet missing, another one in its place.
    assert!(!in_order(&model, &sent(&[0, 1, 1, 2, 3, 4]), 1));
    assert!(!in_order(&model, &model[..5], 1));
    assert!(!in_order(&model, &sent(&[0, 1, 2, 3, 2, 4]), 1));
}

#[test]
fn one_lost_packet_is_recovered_as_simulated() {
    compare(&ONE, &RENO);
    compare(&ONE, &CUBIC);
}

#[test]
fn half_of_a_window_is_recovered_as_simulated() {
    compare(&HALF, &RENO);
    compare(&HALF, &CUBIC);
}

#[test]
fn a_burst_of_losses_is_recovered_as_simulated() {
    compare(&BURST, &RENO);
    compare(&BURST, &CUBIC);
}

#[test]
fn scattered_losses_are_recovered_as_simulated() {
    compare(&SCATTERED, &RENO);
    compare(&SCATTERED, &CUBIC);
}

#[test]
fn an_overflow_is_recovered_as_simulated() {
    compare(&OVERFLOW, &RENO);
    compare(&OVERFLOW, &CUBIC);
}

#[test]
fn a_lost_retransmission_is_recovered_as_simulated() {
    compare(&RETRANSMISSION, &RENO);
    compare(&RETRANSMISSION, &CUBIC);
}

#[test]
fn a_lost_tail_is_recovered_as_simulated() {
    compare(&TAIL, &RENO);
    compare(&TAIL, &CUBIC);
}

#[test]
fn bbr_paces_and_recovers_as_simulated() {
    compare_by(&HALF, &BBR, alike_paced);
    compare_by(&SCATTERED, &BBR, alike_paced);
}
