// SPDX-License-Identifier: MIT OR Apache-2.0
//! Losses that TCP of the simulator (`recovery = "linux"`) and of a kernel recover from, and how the two are compared; the kernel's part
//! is measured by `live_recovery.rs` and read from `../recorded` by `recorded_recovery.rs`.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};

use netnice_results::RunResults;
use netnice_scenario::{Scenario, ScenarioFile};
use netnice_sim::{Selection, Traces};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;

/// Losses that a sender meets, in both worlds.
pub struct Case {
    pub name: &'static str,
    /// Packets of the data, of which there are no fractions.
    packets: u64,
    queue: &'static str,
    /// Numbers of the data packets lost, retransmissions counted, from 1.
    lost: &'static [u64],
    /// The receiver's window in packets.
    window: Option<u64>,
    /// Under which it is compared.
    pub controls: &'static [&'static Control],
}

/// Bytes of data in a packet.
const DATA: u64 = 1448;

pub const ONE: Case = Case {
    name: "one packet",
    packets: 1000,
    queue: "500p",
    lost: &[25],
    window: None,
    controls: &[&RENO, &CUBIC],
};

/// Twenty packets are outstanding: the one lost is retransmitted as the twentieth after it.
pub const RETRANSMISSION: Case = Case {
    name: "a retransmission",
    packets: 300,
    queue: "500p",
    lost: &[100, 120],
    window: Some(20),
    controls: &[&RENO, &CUBIC],
};

pub const TAIL: Case = Case {
    name: "the last two packets",
    packets: 300,
    queue: "500p",
    lost: &[299, 300],
    window: Some(20),
    controls: &[&RENO, &CUBIC],
};

/// Every other packet of a whole window.
pub const HALF: Case = Case {
    name: "half of a window",
    packets: 1000,
    queue: "500p",
    lost: &[
        61, 63, 65, 67, 69, 71, 73, 75, 77, 79, 81, 83, 85, 87, 89, 91, 93, 95, 97, 99,
    ],
    window: None,
    controls: &[&RENO, &CUBIC, &BBR],
};

/// More than half of a window in a row.
pub const BURST: Case = Case {
    name: "packets in a row",
    packets: 600,
    queue: "500p",
    lost: &[
        200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210, 211, 212, 213, 214, 215, 216, 217,
        218, 219, 220, 221, 222, 223,
    ],
    window: Some(40),
    controls: &[&RENO, &CUBIC],
};

/// Far enough apart that the window has grown again, some two or three to a window.
pub const SCATTERED: Case = Case {
    name: "scattered",
    packets: 1000,
    queue: "500p",
    lost: &[100, 230, 231, 380, 520, 523, 530, 700, 830, 900, 905],
    window: Some(20),
    controls: &[&RENO, &CUBIC, &BBR],
};

/// The queue drops what it drops in either world, by a packet more or less.
pub const OVERFLOW: Case = Case {
    name: "overflow",
    packets: 1500,
    queue: "60p",
    lost: &[],
    window: None,
    controls: &[&RENO, &CUBIC],
};

/// A congestion control in both worlds.
pub struct Control {
    pub name: &'static str,
    /// As a scenario of the simulator has it.
    simulated: &'static str,
    order: Order,
}

/// How far the order of packets has to be the same where the losses are given.
enum Order {
    /// Each packet is sent by this many places earlier or later at most.
    Displaced(usize),
    /// The first flights are the same: a control that paces sends new data before or after a retransmission as the machine is late by
    /// a fraction of a millisecond.
    FirstFlights,
}

const RENO: Control = Control {
    name: "reno",
    simulated: "{ name = \"reno\", linux = true }",
    order: Order::Displaced(0),
};

/// The window is a function of time, which the kernel counts in ticks of up to 10 ms. Depending on their phase, and on how late the
/// machine is, it grows by a packet before or after a loss is detected, so that the kernel differs from itself from run to run.
const CUBIC: Control = Control {
    name: "cubic",
    simulated: "{ name = \"cubic\", linux = true }",
    order: Order::Displaced(1),
};

const BBR: Control = Control {
    name: "bbr",
    simulated: "\"bbr\"",
    order: Order::FirstFlights,
};

/// A packet of data that its sender has put on the link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sent {
    /// Milliseconds since the first one.
    pub at_ms: f64,
    /// Its place in the data, in packets.
    pub place: i64,
}

/// Figures that are compared.
pub struct Recovery {
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

/// Runs a case in the simulator, where a SYN precedes the data.
pub fn simulate(case: &Case, control: &Control) -> Recovery {
    let directory = tempfile::tempdir().unwrap();
    let (traces, events) = recorded_events(directory.path());
    let scenario = scenario(case, control.simulated, 1);
    let results = netnice_sim::run_with_traces(&scenario, 1, Some(&traces), || true);
    recovery(&results.unwrap().unwrap(), &events)
}

/// A record of what happens at the bottleneck, and its file.
pub fn recorded_events(directory: &Path) -> (Traces, PathBuf) {
    let traces = Traces {
        directory: directory.to_owned(),
        links: Selection::NONE,
        snap_length: 0,
        events: Selection::Named(vec!["bottleneck".to_owned()]),
        decisions: false,
    };
    let file = traces.events_file().unwrap();
    (traces, file)
}

/// One flow over 10 Mb/s with 40 ms of round trip. Before the data `preceding` packets pass the link.
pub fn scenario(case: &Case, control: &str, preceding: u64) -> Scenario {
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

pub fn recovery(results: &RunResults, events: &Path) -> Recovery {
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
pub fn in_order(model: &[Sent], real: &[Sent], displacement: usize) -> bool {
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
pub fn comparison(model: &Recovery, real: &Recovery) -> String {
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
/// send the same packets in the order that the control keeps.
pub fn alike(case: &Case, control: &Control, model: &Recovery, real: &Recovery) -> bool {
    let near = |simulated: f64, measured: f64| (measured / simulated - 1.0).abs() < 0.15;
    let may_differ = match case.lost.is_empty() {
        true => 1 + model.retransmissions / 5,
        false => 0,
    };
    let ordered = match control.order {
        _ if case.lost.is_empty() => true,
        Order::Displaced(places) => in_order(&model.sent, &real.sent, places),
        Order::FirstFlights => first_flights_alike(model, real),
    };
    ordered
        && model.timeouts == real.timeouts
        && model.recoveries == real.recoveries
        && model.retransmissions.abs_diff(real.retransmissions) <= may_differ
        && near(model.falls_ms, real.falls_ms)
        && near(model.lowest, real.lowest)
        && near(model.completion_ms, real.completion_ms)
}

/// Returns true if both send the same packets in the first two flights, their times 2 ms apart at most in the mean.
fn first_flights_alike(model: &Recovery, real: &Recovery) -> bool {
    const FLIGHTS: usize = 30;
    let first = model.sent.iter().zip(&real.sent).take(FLIGHTS);
    let apart_ms: f64 = first
        .map(|(model, real)| (model.at_ms - real.at_ms).abs())
        .sum();
    alike_packets(model, real).0 >= FLIGHTS && apart_ms / (FLIGHTS as f64) < 2.0
}

/// A recovery of a kernel in a case, as stored in a file of `lab/emulation/tests/recorded`.
pub struct Recorded {
    /// Of the kernel.
    pub version: String,
    /// Day of the recording.
    pub date: String,
    /// Which of the runs that the live test allows it is: the first that agreed with the simulator, or the last.
    pub run: usize,
    pub recovery: Recovery,
}

impl Recorded {
    /// Returns the file of a case.
    pub fn file_name(case: &Case, control: &Control) -> String {
        format!("{}-{}.csv", case.name.replace(' ', "-"), control.name)
    }

    /// Returns it as text.
    pub fn text(&self, case: &Case, control: &Control) -> String {
        let it = &self.recovery;
        let mut text = format!(
            "# SPDX-License-Identifier: MIT OR Apache-2.0
# Data packets as the TCP of a kernel sent them: README.md.
# case: {}
# control: {}
# kernel: {}
# date: {}
# run: {}
# retransmissions: {}
# timeouts: {}
# recoveries: {}
# falls_ms: {}
# lowest: {}
# completion_ms: {:.3}
time_us,packet
",
            case.name,
            control.name,
            self.version,
            self.date,
            self.run,
            it.retransmissions,
            it.timeouts,
            it.recoveries,
            it.falls_ms,
            it.lowest,
            it.completion_ms
        );
        for packet in &it.sent {
            let at_us = (packet.at_ms * 1e3).round();
            writeln!(text, "{at_us},{}", packet.place).unwrap();
        }
        text
    }

    /// Reads what [`Recorded::text`] returns.
    pub fn parse(text: &str) -> Recorded {
        let field = |name: &str| {
            let start = format!("# {name}: ");
            let found = text.lines().find_map(|line| line.strip_prefix(&*start));
            found.unwrap_or_else(|| panic!("no {name} in a recording"))
        };
        let count = |name: &str| field(name).parse().unwrap();
        let number = |name: &str| field(name).parse().unwrap();
        let rows = text
            .lines()
            .skip_while(|line| line.starts_with('#'))
            .skip(1);
        let sent = rows.map(|row| {
            let (at_us, place) = row.split_once(',').unwrap();
            Sent {
                at_ms: at_us.parse::<f64>().unwrap() / 1e3,
                place: place.parse().unwrap(),
            }
        });
        Recorded {
            version: field("kernel").to_owned(),
            date: field("date").to_owned(),
            run: field("run").parse().unwrap(),
            recovery: Recovery {
                sent: sent.collect(),
                retransmissions: count("retransmissions"),
                timeouts: count("timeouts"),
                recoveries: count("recoveries"),
                falls_ms: number("falls_ms"),
                lowest: number("lowest"),
                completion_ms: number("completion_ms"),
            },
        }
    }
}
