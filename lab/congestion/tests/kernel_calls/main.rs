// SPDX-License-Identifier: MIT OR Apache-2.0
//! Replays what a running kernel passed to a control's BPF program through the simulator's implementation of the
//! control, and holds it to the program's answers, call by call.
//!
//! `netnice-bench --record FILE.toml`, a program of commit ab342372, has written `FILE.csv` (root, Linux 6.18); its columns are named as in
//! `struct tcp_sock` and the kernel's samples. Two rules say where kernel and simulator differ by design:
//!
//! 1. Programs with `pkts_acked` sample the delay before the kernel has updated `ca_state`; the simulator's sender
//!    passes the state after the ACK. The replay passes the recorded state.
//! 2. The kernel calls `cong_control` for the ACK of the SYN before `init`, with a zeroed state. The simulator has no
//!    control before the handshake; such calls must leave the window as it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use netnice_congestion::congestion_control::{Ack, CaState, Congestion, CongestionControl, Window};
use netnice_congestion::registry;
use netnice_parameters::ControlParameters;

/// `CA_EVENT_CWND_RESTART` of Linux: sending resumes after an idle time of at least one RTO.
const CWND_RESTART: i128 = 1;

/// One call of a program: a line of the file.
struct Call {
    line: usize,
    program: String,
    values: BTreeMap<String, i128>,
}

impl Call {
    fn get(&self, column: &str) -> i128 {
        self.values[column]
    }

    fn number(&self, column: &str) -> u32 {
        u32::try_from(self.get(column)).unwrap()
    }

    /// A count or a duration that is negative where the kernel has no sample.
    fn sample(&self, column: &str) -> u64 {
        u64::try_from(self.get(column)).unwrap_or(0)
    }

    fn is(&self, callback: &str) -> bool {
        self.program.ends_with(callback)
    }

    fn window(&self) -> Window {
        Window {
            cwnd: self.number("cwnd").into(),
            ssthresh: self.number("ssthresh").into(),
        }
    }

    fn now_ns(&self) -> u64 {
        self.sample("now_us") * 1000
    }

    fn smoothed_rtt_ns(&self) -> u64 {
        (self.sample("srtt_us_shift_3") >> 3) * 1000
    }

    /// 0 before the first sample, which the kernel writes as the largest number.
    fn min_rtt_ns(&self) -> u64 {
        match self.number("rtt_min_us") {
            u32::MAX => 0,
            min_rtt_us => u64::from(min_rtt_us) * 1000,
        }
    }

    /// `tcp_packets_in_flight()` of Linux.
    fn in_flight(&self) -> u32 {
        let left = self.number("sacked_out") + self.number("lost_out");
        (self.number("packets_out") + self.number("retrans_out")).saturating_sub(left)
    }

    /// `tcp_is_cwnd_limited()` of Linux.
    fn cwnd_limited(&self) -> bool {
        let (cwnd, ssthresh) = (self.number("cwnd"), self.number("ssthresh"));
        self.get("is_cwnd_limited") == 1
            || cwnd < ssthresh && cwnd < 2 * self.number("max_packets_out")
    }

    fn ca_state(&self) -> CaState {
        match self.get("ca_state") {
            0 => CaState::Open,
            1 => CaState::Disorder,
            2 => CaState::Cwr,
            3 => CaState::Recovery,
            4 => CaState::Loss,
            other => panic!("line {}: ca_state {other}", self.line),
        }
    }

    fn ack(&self) -> Ack {
        let has_timestamp = self.get("has_timestamp") == 1;
        let interval_us = self.sample("interval_us");
        let rate_delivered = u32::try_from(self.sample("rate_delivered")).unwrap();
        Ack {
            now_ns: self.now_ns(),
            rtt_ns: (self.get("rtt_us") > 0).then(|| self.sample("rtt_us") * 1000),
            smoothed_rtt_ns: self.smoothed_rtt_ns(),
            min_rtt_ns: self.min_rtt_ns(),
            tsval: has_timestamp.then(|| self.number("tsval")),
            tsecr: has_timestamp.then(|| self.number("tsecr")),
            acked: self.number("acked"),
            newly_lost: self.number("lost"),
            in_flight: self.in_flight(),
            delivered: self.sample("delivered"),
            prior_delivered: self.sample("prior_delivered"),
            rate_delivered: if interval_us == 0 { 0 } else { rate_delivered },
            rate_interval_ns: interval_us * 1000,
            ca_state: self.ca_state(),
            may_grow: false,
            cwnd_limited: self.cwnd_limited(),
            app_limited: self.get("app_limited") == 1,
            ..Ack::default()
        }
    }

    fn congestion(&self) -> Congestion {
        Congestion {
            now_ns: self.now_ns(),
            in_flight: self.in_flight(),
            smoothed_rtt_ns: self.smoothed_rtt_ns(),
            min_rtt_ns: self.min_rtt_ns(),
        }
    }

    #[track_caller]
    fn assert_ssthresh(&self, window: &Window) {
        let answer = self.number("answer").into();
        assert_eq!(window.ssthresh, answer, "line {}", self.line);
    }

    fn assert_window(&self, window: &Window) {
        assert_eq!(
            (window.cwnd, window.ssthresh),
            (
                self.number("cwnd_after").into(),
                self.number("ssthresh_after").into()
            ),
            "line {}: cwnd and ssthresh, simulator and kernel",
            self.line
        );
    }
}

fn calls(name: &str) -> Vec<Call> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/kernel_calls/{name}.csv"));
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').skip(1).collect();
    let calls = lines.enumerate().map(|(number, line)| {
        let (program, values) = line.split_once(',').unwrap();
        let values = values.split(',').map(|value| match value {
            "" => 0,
            value => value.parse().unwrap(),
        });
        Call {
            line: number + 2,
            program: program.to_owned(),
            values: columns
                .iter()
                .map(|name| (*name).to_owned())
                .zip(values)
                .collect(),
        }
    });
    calls.collect()
}

/// Returns the recorded connection from `init` on, after a check of rule 2.
fn from_init(name: &str) -> Vec<Call> {
    let mut calls = calls(name);
    let init = calls.iter().position(|call| call.is("_begin")).unwrap();
    for call in &calls[..init] {
        call.assert_window(&call.window());
    }
    calls.split_off(init)
}

fn control(name: &str) -> Box<dyn CongestionControl> {
    registry::create(name, &ControlParameters::default()).unwrap()
}

/// Checks that a record has calls of each kind that it is there for.
fn assert_any(calls: &[Call], kind: &str, is: impl Fn(&Call) -> bool) {
    assert!(calls.iter().any(is), "no call with {kind}: record again");
}

/// An ACK that the receiver delayed: of a lone packet, long after the shortest round trip.
fn is_delayed_ack(call: &Call) -> bool {
    call.in_flight() == 0 && call.get("rtt_us") >= call.get("rtt_min_us") + 35_000
}

fn assert_varied(calls: &[Call]) {
    assert_any(calls, "slow start", |call| {
        call.get("cwnd_after") > call.get("cwnd") && call.get("ssthresh") > 1 << 30
    });
    assert_any(calls, "recovery", |call| {
        call.ca_state() == CaState::Recovery
    });
    assert_any(calls, "an RTO", |call| call.ca_state() == CaState::Loss);
    assert_any(calls, "a delayed ACK", is_delayed_ack);
    let idle = calls
        .windows(2)
        .any(|pair| pair[1].now_ns() - pair[0].now_ns() > 1_000_000_000);
    assert!(idle, "no call after a second without: record again");
}

fn replay_netnice(calls: &[Call]) {
    let mut control = control("netnice");
    for call in &calls[1..] {
        let mut window = call.window();
        if call.is("_cong_control") {
            control.on_ack(&call.ack(), &mut window);
            call.assert_window(&window);
            let interval_ns = control
                .pacing_interval_ns(&window, call.smoothed_rtt_ns())
                .unwrap();
            // The kernel's rate is in whole bytes per second, and the simulator's interval in whole nanoseconds.
            let bytes = f64::from(call.number("mss") + 40);
            let rate = bytes * 1e9 / interval_ns as f64;
            let kernel = call.get("pacing_rate") as f64;
            assert!(
                (rate - kernel).abs() <= 1.0 + rate / interval_ns as f64,
                "line {}: pacing at {rate} bytes per second, {kernel} by the kernel",
                call.line
            );
        } else if call.is("_ssthresh") {
            control.on_loss(&call.congestion(), &mut window);
            call.assert_ssthresh(&window);
        } else if call.is("_min_tso_segs") {
            assert_eq!(
                control.pacing_burst_packets(),
                call.number("answer"),
                "line {}",
                call.line
            );
        } else {
            panic!("line {}: {}", call.line, call.program);
        }
    }
}

fn replay_tcplp(calls: &[Call]) {
    let mut control = control("tcplp");
    // The simulator has no undo, and of the events only the restart.
    let counted = |call: &&Call| {
        !call.is("_undo_cwnd") && (!call.is("_cwnd_event") || call.get("event") == CWND_RESTART)
    };
    let mut delivered = calls[0].number("delivered");
    let mut calls = calls[1..].iter().filter(counted).peekable();
    while let Some(call) = calls.next() {
        let mut window = call.window();
        if call.is("_packets_acked") {
            let mut ack = call.ack();
            ack.acked = call.number("delivered") - delivered;
            delivered += ack.acked;
            // One call of the simulator is two of the kernel where the window may grow.
            let grows = calls.next_if(|next| next.is("_cong_avoid"));
            if let Some(next) = grows {
                ack.smoothed_rtt_ns = next.smoothed_rtt_ns();
                assert_eq!(ack.acked, next.number("acked"), "line {}", next.line);
                ack.cwnd_limited = next.cwnd_limited();
                ack.may_grow = true;
                window = next.window();
            }
            control.on_ack(&ack, &mut window);
            grows.unwrap_or(call).assert_window(&window);
        } else if call.is("_ssthresh") {
            control.on_loss(&call.congestion(), &mut window);
            call.assert_ssthresh(&window);
        } else if call.is("_cwnd_event") {
            control.on_restart(call.now_ns(), &mut window);
        } else if call.is("_min_tso_segs") {
            let interval_ns = control.pacing_interval_ns(&window, call.smoothed_rtt_ns());
            assert_eq!(interval_ns, None, "line {}", call.line);
        } else {
            panic!("line {}: {}", call.line, call.program);
        }
    }
}

#[test]
fn netnice_answers_as_in_the_kernel() {
    let calls = from_init("netnice");
    assert_varied(&calls);
    replay_netnice(&calls);
}

#[test]
fn netnice_answers_marks_as_in_the_kernel() {
    let calls = from_init("netnice_marks");
    assert_any(&calls, "a mark", |call| call.ca_state() == CaState::Cwr);
    replay_netnice(&calls);
}

#[test]
fn tcplp_answers_as_in_the_kernel() {
    let calls = from_init("tcplp");
    assert_varied(&calls);
    assert_any(&calls, "a restart", |call| {
        call.is("_cwnd_event") && call.get("event") == CWND_RESTART
    });
    replay_tcplp(&calls);
}

#[test]
fn tcplp_answers_marks_as_in_the_kernel() {
    let calls = from_init("tcplp_marks");
    assert_any(&calls, "a mark", |call| call.ca_state() == CaState::Cwr);
    replay_tcplp(&calls);
}
