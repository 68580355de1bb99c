// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rivals of the grid: a line each.

/// The delay by which a rival's user judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delay {
    /// 95th percentile of the packets' one-way delays.
    OneWay,
    /// Mean time of a transfer from its start to its last ACK.
    Completion,
    /// Mean time from a request for a web object to its last byte.
    Response,
}

/// Other traffic on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rival {
    /// Name on the command line and in results.
    pub name: &'static str,
    /// In words.
    pub describe: &'static str,
    /// Keys of its flow in TOML. `$control` is the control under test, `$part` two thirds of the rate in bit/s,
    /// `$start` and `$stop` the begin and end of its time, `$time` the length.
    flow: &'static str,
    pub(crate) delay: Delay,
    /// Sends as fast as it may for all of its time, so that shares have a meaning.
    pub greedy: bool,
    /// Part of `--quick`.
    pub quick: bool,
}

const fn rival(
    name: &'static str,
    describe: &'static str,
    flow: &'static str,
    delay: Delay,
    greedy: bool,
    quick: bool,
) -> Rival {
    Rival {
        name,
        describe,
        flow,
        delay,
        greedy,
        quick,
    }
}

/// The rival that is another connection of the control under test.
pub const ITSELF: &str = "itself";

const ALL_ITS_TIME: &str = "start = \"$start\"\nstop = \"$stop\"\n";

/// All rivals; a new one is a line.
#[rustfmt::skip]
pub const RIVALS: &[Rival] = &[
    rival("cubic", "a CUBIC transfer", "congestion_control = \"cubic\"", Delay::OneWay, true, true),
    rival("reno", "a Reno transfer", "congestion_control = \"reno\"", Delay::OneWay, true, false),
    rival(ITSELF, "another connection of the same control", "congestion_control = \"$control\"", Delay::OneWay, true, true),
    rival("short", "transfers of 10 kB at random times", "congestion_control = \"cubic\"\ncount = 40\nbytes = \"10kB\"\nstart = \"$start\"\nstart_spread = \"$time\"", Delay::Completion, false, true),
    rival("web", "two people who read web pages", "congestion_control = \"cubic\"\napplication = { kind = \"web\", sessions = 2, object_size = { mean = \"12kB\" } }", Delay::Response, false, false),
    rival("on-off", "CUBIC, on for 2 s at two thirds of the rate and off for 2 s, as video is", "congestion_control = \"cubic\"\napplication = { kind = \"square_wave\", rate = \"$partbit\", period = \"4s\" }", Delay::OneWay, false, false),
    rival("call", "a call: UDP of 64 kbit/s in packets of 200 bytes", "transport = \"udp\"\npacket_size = \"200B\"\napplication = { kind = \"cbr\", rate = \"64kbit\" }", Delay::OneWay, false, false),
    rival("udp-square", "UDP of two thirds of the rate, on and off for 1.6 s each", "transport = \"udp\"\napplication = { kind = \"square_wave\", rate = \"$partbit\", period = \"3200ms\" }", Delay::OneWay, false, true),
];

/// A line of a flow's table: its receiver acknowledges as Linux's does.
pub(crate) const LINUX_RECEIVER: &str =
    "tcp = { delayed_ack = true, quick_acks = true, min_rto = \"200ms\" }\n";

impl Rival {
    /// The flow as a table of a scenario file.
    pub(crate) fn toml(&self, control: &str, rate_bps: f64, start_ms: u64, stop_ms: u64) -> String {
        let tcp = match self.flow.contains("transport") {
            true => "",
            false => LINUX_RECEIVER,
        };
        let time = match self.flow.contains("start") {
            true => "",
            false => ALL_ITS_TIME,
        };
        let flow = format!("[[flows]]\nname = \"rival\"\n{}\n{tcp}{time}", self.flow);
        flow.replace("$control", control)
            .replace("$part", &format!("{:.0}", rate_bps * 2.0 / 3.0))
            .replace("$start", &format!("{start_ms}ms"))
            .replace("$stop", &format!("{stop_ms}ms"))
            .replace("$time", &format!("{}ms", stop_ms - start_ms))
    }
}
