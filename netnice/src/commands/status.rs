// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice status`: shows the current low-priority connections.

mod screen;
mod watch;

use std::collections::{HashMap, HashSet};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use netnice_kernel::attach;
use netnice_kernel::connections::{self, Connection, Phase, PolicyState, Signal};
use netnice_kernel::control::Control;
use netnice_kernel::process;
use serde::Serialize;

use crate::{style, text};
use screen::{Entry, printable};

const EXAMPLES: &str = "\
Examples:
  netnice status
  netnice status --watch
  netnice status --json | jq '.connections[].peer'

Columns:
  STATE    slow start: finding out what the path carries; avoidance: probing for more; inference:
           has given way, watches whether others are still there; yielding: they are
  RATE     acknowledged by the peer in the last half second; with --watch, since the last line
  DELAY    latest filtered delay above the smallest one, and the threshold above that
  YIELDS   how often the window was given up to others
  SIGNAL   where the delay comes from; of dstcp, which measures none, the target rate

With --watch on a terminal:
  q ends it; s sorts by the next of rate, delay, yields, sent, received and process; p leaves out
  the single connections; arrows and page keys scroll. Columns for which there is no room are left
  out. Elsewhere the table is printed again every second.

Root sees the connections of all network namespaces that a process is in or that are mounted, other
users those of their own. STATE, DELAY, YIELDS and SIGNAL are the control's own: users other than
root see them of the programs that they may trace, as gdb would (Yama's ptrace_scope may forbid it).";

/// Show the connections that have low priority now.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Show them again every second
    #[arg(short, long)]
    watch: bool,
    /// Print one JSON object; with --watch one a second, each in a line
    #[arg(long)]
    json: bool,
}

/// Shows them, once or until interrupted.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut view = View::default();
    // The rate of a connection needs two readings.
    let first = connections::list()?;
    if !first.is_empty() {
        view.remember(&first);
        std::thread::sleep(Duration::from_millis(500));
    }
    if arguments.watch && !arguments.json && style::on_terminal() {
        return watch::watch(|| {
            let connections = connections::list()?;
            view.look_up(&connections);
            let entries = connections.iter().map(|one| view.entry(one)).collect();
            view.remember(&connections);
            Ok((entries, notes()))
        });
    }
    loop {
        let connections = connections::list()?;
        view.look_up(&connections);
        let shown = match arguments.json {
            true => view.json(&connections)?,
            false => view.table(&connections),
        };
        text::print_line(&shown)?;
        if !arguments.watch {
            return Ok(ExitCode::SUCCESS);
        }
        view.remember(&connections);
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// State kept from one reading to the next.
#[derive(Default)]
struct View {
    /// Inodes of sockets, and the processes that have them open.
    owners: HashMap<u64, Owner>,
    /// Bytes sent by each connection at the last reading.
    sent: HashMap<u64, u64>,
    last: Option<Instant>,
}

#[derive(Clone)]
struct Owner {
    pid: i32,
    name: String,
}

/// One connection in the output of `--json`. Units are in the names.
#[derive(Serialize)]
struct Told<'a> {
    pid: Option<i32>,
    process: Option<&'a str>,
    control: &'a str,
    local: String,
    peer: String,
    state: Option<&'static str>,
    rate_bits_per_second: u64,
    pacing_rate_bits_per_second: u64,
    cwnd_packets: u32,
    ssthresh_packets: u32,
    mss_bytes: u32,
    rtt_ms: f64,
    delay_over_minimum_ms: Option<f64>,
    threshold_ms: Option<f64>,
    yields: Option<u32>,
    retransmitted: u32,
    bytes_sent: u64,
    bytes_received: u64,
    signal: Option<&'static str>,
    target_bits_per_second: Option<u64>,
    age_ms: Option<f64>,
    user: u32,
    network_namespace: u32,
    socket: u64,
}

#[derive(Serialize)]
struct ToldAll<'a> {
    connections: Vec<Told<'a>>,
    attached: Vec<String>,
    no_longer_attached: Vec<String>,
}

impl View {
    /// Searches /proc only if the owner of a socket is unknown.
    fn look_up(&mut self, connections: &[Connection]) {
        let open = connections.iter().map(|connection| connection.inode);
        let open: HashSet<u64> = open.filter(|inode| *inode != 0).collect();
        self.owners.retain(|inode, _| open.contains(inode));
        if open.iter().any(|inode| !self.owners.contains_key(inode)) {
            for (inode, pid) in process::owners(&open) {
                let name = process::name(pid).unwrap_or_default();
                self.owners.insert(inode, Owner { pid, name });
            }
        }
    }

    fn remember(&mut self, connections: &[Connection]) {
        let sent = connections.iter().map(|one| (one.cookie, one.bytes_sent));
        self.sent = sent.collect();
        self.last = Some(Instant::now());
    }

    /// Returns the bytes per second since the last reading; a newer connection had sent nothing then.
    fn rate(&self, connection: &Connection) -> u64 {
        let before = self.sent.get(&connection.cookie).copied();
        let bytes = (connection.bytes_sent).saturating_sub(before.unwrap_or_default());
        let seconds = self
            .last
            .map_or(f64::INFINITY, |last| last.elapsed().as_secs_f64());
        (bytes as f64 / seconds) as u64
    }

    fn table(&self, connections: &[Connection]) -> String {
        let attached: String = notes().iter().map(|note| format!("{note}\n")).collect();
        if connections.is_empty() {
            return format!(
                "{attached}no connection has low priority now: `netnice run -- COMMAND` gives it to \
                 a command, `netnice renice --pid PID` to a running one"
            );
        }
        let heading = [
            "PROCESS", "CONTROL", "PEER", "STATE", "RATE", "CWND", "RTT", "DELAY", "YIELDS",
            "SENT", "RECEIVED", "SIGNAL",
        ];
        let mut rows = vec![heading.map(str::to_owned).to_vec()];
        rows.extend(connections.iter().map(|connection| self.row(connection)));
        let mut lines = text::table(&rows, &[0, 1, 2, 3, 11]);
        for (line, connection) in lines.iter_mut().skip(1).zip(connections) {
            let phase = connection.policy.as_ref().map(|policy| policy.phase);
            if matches!(phase, Some(Phase::Yielding | Phase::Inference)) {
                *line = style::attention(&*line);
            }
        }
        lines[0] = style::heading(&lines[0]);
        let unread = connections
            .iter()
            .filter(|one| one.policy.is_none())
            .count();
        if unread > 0 {
            lines.push(format!(
                "- {}: {} not readable here, {}",
                text::count(unread as u64, "connection"),
                "state, delay and yields are",
                match nix::unistd::geteuid().is_root() {
                    true => "another version of netnice governs them",
                    false => "`sudo netnice status` shows them",
                }
            ));
        }
        format!("{attached}{}", lines.join("\n"))
    }

    fn entry(&self, connection: &Connection) -> Entry {
        let owner = self.owners.get(&connection.inode);
        let policy = connection.policy.as_ref();
        let or_dash = |words: Option<String>| words.unwrap_or_else(|| "-".to_owned());
        let phase = policy.map(|policy| policy.phase);
        Entry {
            process: or_dash(owner.map(|owner| format!("{} ({})", owner.name, owner.pid))),
            control: connection.control.clone(),
            peer: connection.remote.to_string(),
            state: phase.map_or("-", Phase::name).to_owned(),
            gives_way: matches!(phase, Some(Phase::Yielding | Phase::Inference)),
            rate: self.rate(connection),
            cwnd: connection.cwnd,
            rtt: connection.rtt,
            delay: policy
                .filter(|policy| policy.signal != Signal::None)
                .map(|policy| policy.delay_over_minimum),
            delays: or_dash(policy.map(delays)),
            yields: policy.map(|policy| policy.yields),
            sent: connection.bytes_sent,
            received: connection.bytes_received,
            signal: or_dash(policy.map(|policy| signal(&connection.control, policy))),
        }
    }

    fn row(&self, connection: &Connection) -> Vec<String> {
        let entry = self.entry(connection);
        vec![
            printable(&entry.process),
            entry.control,
            entry.peer,
            entry.state,
            text::rate(entry.rate),
            entry.cwnd.to_string(),
            text::time(entry.rtt),
            entry.delays,
            (entry.yields).map_or("-".to_owned(), |yields| yields.to_string()),
            text::bytes(entry.sent),
            text::bytes(entry.received),
            entry.signal,
        ]
    }

    fn json(&self, connections: &[Connection]) -> Result<String> {
        let milliseconds = |time: Duration| time.as_micros() as f64 / 1000.0;
        let connections = connections.iter().map(|one| {
            let owner = self.owners.get(&one.inode);
            let policy = one.policy.as_ref();
            Told {
                pid: owner.map(|owner| owner.pid),
                process: owner.map(|owner| owner.name.as_str()),
                control: &one.control,
                local: one.local.to_string(),
                peer: one.remote.to_string(),
                state: policy.map(|policy| policy.phase.name()),
                rate_bits_per_second: 8 * self.rate(one),
                pacing_rate_bits_per_second: one.pacing_rate.saturating_mul(8),
                cwnd_packets: one.cwnd,
                ssthresh_packets: one.ssthresh,
                mss_bytes: one.mss,
                rtt_ms: milliseconds(one.rtt),
                delay_over_minimum_ms: policy.map(|policy| milliseconds(policy.delay_over_minimum)),
                threshold_ms: policy.map(|policy| milliseconds(policy.threshold)),
                yields: policy.map(|policy| policy.yields),
                retransmitted: one.retransmitted,
                bytes_sent: one.bytes_sent,
                bytes_received: one.bytes_received,
                signal: policy.and_then(|policy| match policy.signal {
                    Signal::None => None,
                    Signal::OneWayDelay => Some("one-way delay"),
                    Signal::RoundTrip => Some("rtt"),
                }),
                target_bits_per_second: policy.and_then(|policy| policy.target),
                age_ms: policy.map(|policy| milliseconds(policy.age)),
                user: one.user,
                network_namespace: one.network_namespace,
                socket: one.inode,
            }
        });
        let all = ToldAll {
            connections: connections.collect(),
            attached: attach::attached(),
            no_longer_attached: attach::lost(),
        };
        Ok(serde_json::to_string(&all)?)
    }
}

/// Cgroups and services that are attached, and those that no longer are, a line each.
fn notes() -> Vec<String> {
    let attached = attach::attached();
    let attached = (!attached.is_empty()).then(|| format!("attached: {}", attached.join(", ")));
    let lost = attach::lost().into_iter().map(|path| {
        format!(
            "no longer attached: {path} (its service has stopped or restarted since; `netnice \
             attach --persist {0}` attaches it at each start, `netnice detach {0}` removes this \
             line)",
            path.rsplit('/').next().unwrap_or(&path),
        )
    });
    attached.into_iter().chain(lost).collect()
}

fn signal(control: &str, policy: &PolicyState) -> String {
    let low_priority = Control::find(control).is_ok_and(Control::is_low_priority);
    match (policy.target, policy.signal) {
        (Some(target), _) => format!("target {}", text::rate(target / 8)),
        _ if !low_priority => "no target".to_owned(),
        (_, Signal::None) => "none yet".to_owned(),
        (_, Signal::OneWayDelay) => "one-way delay".to_owned(),
        (_, Signal::RoundTrip) => "rtt: peer sends no timestamps".to_owned(),
    }
}

fn delays(policy: &PolicyState) -> String {
    if policy.signal == Signal::None {
        return "-".to_owned();
    }
    let over = text::time(policy.delay_over_minimum);
    let over = over.trim_end_matches(" ms");
    format!("{over} / {}", text::time(policy.threshold))
}
