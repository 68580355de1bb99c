// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice status`: shows the current low-priority connections.

mod screen;
mod watch;

use std::collections::{HashMap, HashSet};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::builder::NonEmptyStringValueParser;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory};
use netnice_kernel::attach::{self, OverUdp};
use netnice_kernel::cgroup::paths::Paths;
use netnice_kernel::connections::{
    self, Connection, Governed, Phase, PolicyState, ReceivingPhase, Reception, Signal,
};
use netnice_kernel::control::Control;
use netnice_kernel::process;
use netnice_kernel::promise::Progress;
use netnice_parameters::policies;
use serde::Serialize;

use crate::figures::{Figures, Moved};
use crate::low_priority::{moved_udp, over_udp, over_utp};
use netnice_terminal::{style, text};
use screen::{COLUMNS, Entry, HISTORY, Sort, printable};

const EXAMPLES: &str = "\
Examples:
  netnice status
  netnice status --watch
  netnice status --sort delay --unit backup.service
  netnice status --cgroup /user.slice --top 5
  netnice status --json | jq '.connections[].peer'

Columns:
  GOVERNED   which data has low priority: sent data (sender), by the congestion
             control; received data (receiver), by the advertised window; or
             both
  SENDING    rate that the peer acknowledged in the last half second; with
             --watch, since the last reading
  RECEIVING  rate at which data arrived
  SENT, RECEIVED
             bytes since the connection got low priority

The following columns show the governed direction that moves more data:
  STATE      sending: slow start (finds out what the path carries), avoidance
             (probes for more), inference (has given way, watches whether others
             are still there), yielding (they are); receiving: filling,
             inference, yielding, paused (yielding, window below one packet)
  WINDOW     sending: congestion window; receiving: advertised window
  RTT        sending: smoothed round trip; receiving: the smallest one plus the
             delay
  DELAY      latest filtered delay above the smallest one, and the threshold
             above that
  YIELDS     how often the connection gave up its window to others
  SIGNAL     source of the delay, and at a receiver with another control the
             control's name; for dstcp, which measures no delay, the target rate;
             for tcplp_ecn, marks

For a command with a deadline (`run --by`) a line shows the part that is done, the rate that it needs from now on, and \
its present rate.

With --watch on a terminal:
  q quits; s sorts by the next of rate, delay, yields, sent, received, bytes and process; p hides single connections; \
  arrows and page keys scroll. Columns without room are omitted. LAST 30 S shows the rate of each second, the newest \
  to the right; the highest bar is the highest rate in the line. If the output is not a terminal, netnice prints the \
  table again every second.

Root sees the connections of all network namespaces that are mounted or have a process; other users see those of their \
own namespace. GOVERNED, STATE, DELAY, YIELDS and SIGNAL come from records in the kernel. Users other than root see \
these only for programs that they may trace, as with gdb (Yama's ptrace_scope may forbid it), and `-` for others. Only \
root sees connections of which only received data is governed.";

/// Show the connections that have low priority now.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Update the list every second
    #[arg(short, long)]
    watch: bool,
    /// Print one JSON object; with --watch, one line with an object every second
    #[arg(long)]
    json: bool,
    /// Sort by this column, the largest first; processes are sorted by name [default: the oldest first; with --watch on
    /// a terminal by rate]
    #[arg(long, value_enum, value_name = "BY")]
    sort: Option<Sort>,
    /// Show only connections of this systemd unit; a name without a suffix is a service
    #[arg(long, value_name = "UNIT")]
    unit: Option<String>,
    /// Show only connections of this cgroup and its descendants; the path is that of column CGROUP or of the cgroup
    /// file system
    #[arg(long, value_name = "PATH", value_parser = NonEmptyStringValueParser::new())]
    cgroup: Option<String>,
    /// Show only the first N in the chosen order [default order: by rate]
    #[arg(long, value_name = "N", conflicts_with = "watch", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// Show only connections with this congestion control
    #[arg(long, value_name = "NAME")]
    control: Option<String>,
}

impl Arguments {
    fn filters(&self) -> bool {
        self.unit.is_some() || self.cgroup.is_some() || self.control.is_some()
    }

    /// Reads the connections that are to be shown.
    fn list(&self, paths: &mut Paths) -> Result<Vec<Connection>> {
        let mut connections = connections::list()?;
        if let Some(control) = &self.control {
            connections.retain(|one| one.control == *control);
        }
        if let Some(unit) = &self.unit {
            let cgroups = connections.iter().map(Connection::cgroup_of_settings);
            paths.find(cgroups.collect());
            connections.retain(|one| {
                let path = paths.get(one.cgroup_of_settings());
                path.is_some_and(|path| is_in_unit(path, unit))
            });
        }
        if let Some(cgroup) = &self.cgroup {
            let within = attach::find(cgroup)?
                .path()
                .trim_end_matches('/')
                .to_owned();
            let cgroups = connections.iter().map(Connection::cgroup_of_settings);
            paths.find(cgroups.collect());
            connections.retain(|one| {
                let path = paths.get(one.cgroup_of_settings());
                path.is_some_and(|path| is_within(path, &within))
            });
        }
        Ok(connections)
    }

    /// Returns the order, if one is asked for: the first connections are those with the largest rates.
    fn order(&self) -> Option<Sort> {
        self.sort.or_else(|| self.top.map(|_| Sort::default()))
    }
}

/// Returns true if a cgroup is another one or below it.
fn is_within(path: &str, above: &str) -> bool {
    let below = path.strip_prefix(above);
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

/// Returns true if a cgroup belongs to a unit: if the unit's name is a part of its path.
fn is_in_unit(path: &str, unit: &str) -> bool {
    let service = format!("{unit}.service");
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    parts.any(|part| part == unit || part == service)
}

/// Shows them, once or until interrupted.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(control) = &arguments.control {
        check_control(control)?;
    }
    let mut view = View::default();
    let mut paths = Paths::default();
    // The rate of a connection needs two readings.
    let first = arguments.list(&mut paths)?;
    if !first.is_empty() {
        view.moved.remember(&first);
        std::thread::sleep(Duration::from_millis(500));
    }
    if arguments.watch && !arguments.json && style::on_terminal() {
        return watch::watch(arguments.sort.unwrap_or_default(), || {
            let connections = arguments.list(&mut paths)?;
            view.look_up(&connections);
            view.add_to_history(&connections);
            let entries = connections.iter().map(|one| view.entry(one)).collect();
            view.moved.remember(&connections);
            Ok((entries, notes()))
        });
    }
    loop {
        let mut connections = arguments.list(&mut paths)?;
        view.look_up(&connections);
        if let Some(sort) = arguments.order() {
            // Stable: what is equal stays in the order of age.
            connections.sort_by_cached_key(|one| sort.order(&view.entry(one)));
        }
        connections.truncate(arguments.top.map_or(usize::MAX, |top| top as usize));
        let shown = match arguments.json {
            true => view.json(&connections)?,
            false => view.table(&connections, arguments.filters()),
        };
        text::print_line(&shown)?;
        if !arguments.watch {
            return Ok(ExitCode::SUCCESS);
        }
        view.moved.remember(&connections);
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Refuses a control that no connection could have: a kernel that lists none of that name has none.
fn check_control(control: &str) -> Result<()> {
    if Control::find(control).is_ok() {
        return Ok(());
    }
    let available = connections::available_controls();
    if available.iter().any(|name| name == control) {
        return Ok(());
    }
    let controls = Control::all().map(Control::name).collect::<Vec<_>>();
    let mut message = format!(
        "there is no control `{control}`: netnice has {}; received data may be governed beside {}",
        controls.join(", "),
        available.join(", "),
    );
    let known = |ours: &&str| Control::find(ours).is_ok() || available.iter().any(|it| it == ours);
    if let Some(ours) = policies::called_here(control).filter(known) {
        message = format!("there is no control `{control}`: it is called `{ours}` here");
    }
    Err(crate::Netnice::command()
        .error(ErrorKind::InvalidValue, message)
        .into())
}

/// State kept from one reading to the next.
#[derive(Default)]
struct View {
    /// Inodes of sockets, and the processes that have them open.
    owners: HashMap<u64, Owner>,
    moved: Moved,
    /// Bytes per second that each connection has moved in the last seconds, by cookie, the latest last.
    history: HashMap<u64, Vec<u64>>,
}

#[derive(Clone)]
struct Owner {
    pid: i32,
    name: String,
}

/// One connection in the output of `--json`. Units are in the names.
#[derive(Serialize)]
struct JsonConnection<'a> {
    pid: Option<i32>,
    process: Option<&'a str>,
    control: &'a str,
    governed: Option<&'static str>,
    local: String,
    peer: String,
    #[serde(flatten)]
    figures: Figures,
    user: u32,
    network_namespace: u32,
    socket: u64,
}

/// A transfer with a deadline in the output of `--json`.
#[derive(Serialize)]
struct JsonDeadline {
    cgroup: String,
    bytes: u64,
    bytes_moved: u64,
    /// Seconds since 1970.
    by: u64,
    needs_bits_per_second: u64,
    has_bits_per_second: u64,
}

impl From<Progress> for JsonDeadline {
    fn from(progress: Progress) -> Self {
        Self {
            cgroup: progress.cgroup,
            bytes: progress.bytes,
            bytes_moved: progress.done,
            by: progress.by,
            needs_bits_per_second: progress.needs * 8,
            has_bits_per_second: progress.has * 8,
        }
    }
}

/// The line on a transfer with a deadline.
fn deadline(progress: &Progress) -> String {
    let percent = progress.done.min(progress.bytes) * 100 / progress.bytes.max(1);
    let rate = |bytes: u64| format!("{:.1}", bytes as f64 * 8.0 / 1e6);
    format!(
        "{}: {percent} %, needs {} Mb/s from now on, has {}",
        printable(&progress.cgroup),
        rate(progress.needs),
        rate(progress.has)
    )
}

#[derive(Serialize)]
struct JsonStatus<'a> {
    connections: Vec<JsonConnection<'a>>,
    attached: Vec<String>,
    no_longer_attached: Vec<String>,
    deadlines: Vec<JsonDeadline>,
    /// Cgroups, of running commands too, to whose sockets QUIC is refused; empty for users other than root.
    without_quic: Vec<String>,
    /// Cgroups, of running commands too, in which uTP was governed; empty for users other than root.
    utp: Vec<JsonUtp>,
    /// Cgroups, of running commands too, that have moved other UDP; empty for users other than root.
    udp: Vec<JsonUdp>,
}

/// The uTP traffic of a cgroup, in the output of `--json`.
#[derive(Serialize)]
struct JsonUtp {
    cgroup: String,
    connections: u64,
    bytes_sent: u64,
    bytes_received: u64,
    yields: u64,
}

impl JsonUtp {
    fn new(over: &OverUdp) -> Option<Self> {
        let totals = &over.totals;
        (totals.utp_connections > 0).then(|| Self {
            cgroup: over.path.clone(),
            connections: totals.utp_connections,
            bytes_sent: totals.utp_bytes_sent,
            bytes_received: totals.utp_bytes_received,
            yields: totals.utp_yields,
        })
    }
}

/// What was moved over other UDP in a cgroup, in the output of `--json`.
#[derive(Serialize)]
struct JsonUdp {
    cgroup: String,
    bytes_sent: u64,
    bytes_received: u64,
    packets_sent: u64,
    /// How it is governed, or why not.
    told: Option<String>,
}

impl JsonUdp {
    fn new(over: &OverUdp) -> Option<Self> {
        let totals = &over.totals;
        moved_udp(totals, over.told.as_deref()).then(|| Self {
            cgroup: over.path.clone(),
            bytes_sent: totals.udp_bytes_sent,
            bytes_received: totals.udp_bytes_received,
            packets_sent: totals.udp_packets_sent,
            told: over.told.clone(),
        })
    }
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

    /// Adds a second's rates.
    fn add_to_history(&mut self, connections: &[Connection]) {
        let mut history = HashMap::new();
        for one in connections {
            let mut rates = self.history.remove(&one.cookie).unwrap_or_default();
            let (sending, receiving) = self.moved.rates(one);
            rates.push(sending + receiving);
            let surplus = rates.len().saturating_sub(HISTORY);
            rates.drain(..surplus);
            history.insert(one.cookie, rates);
        }
        self.history = history;
    }

    fn table(&self, connections: &[Connection], filtered: bool) -> String {
        let attached: String = notes().iter().map(|note| format!("{note}\n")).collect();
        if connections.is_empty() && filtered {
            return format!("{attached}no connection of low priority is of that unit and control");
        }
        if connections.is_empty() {
            return format!(
                "{attached}no TCP connection has low priority now: `netnice run -- COMMAND` gives it to \
                 a command, `netnice renice --pid PID` to a running one"
            );
        }
        let entries: Vec<Entry> = connections.iter().map(|one| self.entry(one)).collect();
        // There is no history: the last column would be empty.
        let columns = &COLUMNS[..COLUMNS.len() - 1];
        let mut rows = vec![
            columns
                .iter()
                .map(|column| column.heading.to_owned())
                .collect(),
        ];
        let row = |entry: &Entry| {
            screen::cells(entry, &printable(&entry.process))[..columns.len()].to_vec()
        };
        rows.extend(entries.iter().map(row));
        let left: Vec<usize> = (0..columns.len()).filter(|&at| columns[at].left).collect();
        let mut lines = text::table(&rows, &left);
        for (line, entry) in lines.iter_mut().skip(1).zip(&entries) {
            if entry.gives_way {
                *line = style::attention(&*line);
            }
        }
        lines[0] = style::heading(&lines[0]);
        let unread = connections
            .iter()
            .filter(|one| one.governed().is_none())
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
        let (sending, receiving) = self.moved.rates(connection);
        let mut entry = Entry {
            process: or_dash(owner.map(|owner| format!("{} ({})", owner.name, owner.pid))),
            control: connection.control.clone(),
            peer: connection.remote.to_string(),
            governed: or_dash(
                connection
                    .governed()
                    .map(|governed| governed.name().to_owned()),
            ),
            sending,
            receiving,
            sent: connection.bytes_sent,
            received: connection.bytes_received,
            history: (self.history.get(&connection.cookie).cloned()).unwrap_or_default(),
            ..Entry::default()
        };
        match &connection.reception {
            Some(reception) if shows_receiver(connection, sending, receiving) => {
                show_receiver(&mut entry, connection, reception);
            }
            _ => show_sender(&mut entry, connection),
        }
        entry
    }

    fn json(&self, connections: &[Connection]) -> Result<String> {
        let connections = connections.iter().map(|one| {
            let owner = self.owners.get(&one.inode);
            JsonConnection {
                pid: owner.map(|owner| owner.pid),
                process: owner.map(|owner| owner.name.as_str()),
                control: &one.control,
                governed: one.governed().map(Governed::name),
                local: one.local.to_string(),
                peer: one.remote.to_string(),
                figures: Figures::new(one, self.moved.rates(one)),
                user: one.user,
                network_namespace: one.network_namespace,
                socket: one.inode,
            }
        });
        let over_udp = attach::over_udp();
        let all = JsonStatus {
            connections: connections.collect(),
            attached: attach::attached(),
            no_longer_attached: attach::lost(),
            deadlines: Progress::all().into_iter().map(Into::into).collect(),
            without_quic: attach::without_quic(),
            utp: over_udp.iter().filter_map(JsonUtp::new).collect(),
            udp: over_udp.iter().filter_map(JsonUdp::new).collect(),
        };
        Ok(serde_json::to_string(&all)?)
    }
}

fn or_dash(words: Option<String>) -> String {
    words.unwrap_or_else(|| "-".to_owned())
}

/// Returns true if the state of the receiving side is shown: if only that one is governed, or if more is received than
/// sent, now or, where nothing is moved now, in total.
fn shows_receiver(connection: &Connection, sending: u64, receiving: u64) -> bool {
    match connection.governed() {
        Some(Governed::Receiver) => true,
        _ if sending == receiving => connection.bytes_received > connection.bytes_sent,
        _ => receiving > sending,
    }
}

/// Fills in the state of the sending side.
fn show_sender(entry: &mut Entry, connection: &Connection) {
    let policy = connection.policy.as_ref();
    let phase = policy.map(|policy| policy.phase);
    entry.state = phase.map_or("-", Phase::name).to_owned();
    entry.gives_way = matches!(phase, Some(Phase::Yielding | Phase::Inference));
    entry.window = u64::from(connection.cwnd) * u64::from(connection.mss);
    entry.rtt = connection.rtt;
    entry.delay = policy
        .filter(|policy| policy.signal != Signal::None)
        .map(|policy| policy.delay_over_minimum);
    entry.delays = or_dash(
        policy.map(|policy| delays(policy.signal, policy.delay_over_minimum, policy.threshold)),
    );
    entry.yields = policy.map(|policy| policy.yields);
    entry.signal = or_dash(policy.map(|policy| signal(&connection.control, policy)));
}

/// Fills in the state of the receiving side.
fn show_receiver(entry: &mut Entry, connection: &Connection, reception: &Reception) {
    let delay = reception.delay_over_minimum;
    entry.state = reception.phase.name().to_owned();
    entry.gives_way = reception.phase != ReceivingPhase::Filling;
    entry.window = reception.window.into();
    entry.rtt = (reception.minimum_rtt).map_or(connection.rtt, |minimum| minimum + delay);
    entry.delay = (reception.signal != Signal::None).then_some(delay);
    entry.delays = delays(reception.signal, delay, reception.threshold);
    entry.yields = Some(reception.yields);
    entry.signal = match reception.signal {
        Signal::None => "none yet".to_owned(),
        Signal::RoundTrip => "rtt: peer sends no timestamps".to_owned(),
        Signal::OneWayDelay => "one-way delay".to_owned(),
    };
    if !reception.control.is_empty() && reception.control != connection.control {
        entry.signal += &format!(" by {}", reception.control);
    }
}

/// Cgroups and services that are attached, those to which QUIC is refused, and those no longer attached, a line each.
fn notes() -> Vec<String> {
    let attached = attach::attached();
    let others = attached
        .iter()
        .flat_map(|path| attach::with_other_connections(path));
    let others: Vec<String> = others
        .map(|(pid, number)| {
            format!(
                "no low priority: {} of process {pid}, made in another cgroup than the attached one, or changed by another program \
                 (`netnice renice {pid}` governs them)",
                text::count(number as u64, "connection")
            )
        })
        .collect();
    let attached = (!attached.is_empty()).then(|| format!("attached: {}", attached.join(", ")));
    let without_quic = attach::without_quic();
    let without_quic =
        (!without_quic.is_empty()).then(|| format!("QUIC is refused: {}", without_quic.join(", ")));
    let udp = attach::over_udp().into_iter().flat_map(|over| {
        let path = printable(&over.path);
        let utp = over_utp(&over.totals).map(|moved| format!("uTP in {path}: {moved}"));
        let other = over_udp(&over.totals, over.told.as_deref());
        let other = other.map(|moved| format!("other UDP in {path}: {moved}"));
        utp.into_iter().chain(other)
    });
    let lost = attach::lost().into_iter().map(|path| {
        format!(
            "no longer attached: {path} (its service has stopped or restarted since; `netnice \
             attach --persist {0}` attaches it at each start, `netnice detach {0}` removes this \
             line)",
            path.rsplit('/').next().unwrap_or(&path),
        )
    });
    let deadlines = Progress::all();
    attached
        .into_iter()
        .chain(deadlines.iter().map(deadline))
        .chain(others)
        .chain(without_quic)
        .chain(udp)
        .chain(lost)
        .collect()
}

fn signal(control: &str, policy: &PolicyState) -> String {
    let low_priority = Control::find(control).is_ok_and(Control::is_low_priority);
    match (policy.target, policy.signal) {
        (Some(target), _) if !low_priority => format!("target {}", text::rate(target / 8)),
        _ if netnice_parameters::of(control).any(|one| one.name == "target_rate_bps") => {
            "no target".to_owned()
        }
        _ if !low_priority => "marks".to_owned(),
        (_, Signal::None) => "none yet".to_owned(),
        (_, Signal::OneWayDelay) => "one-way delay".to_owned(),
        (_, Signal::RoundTrip) => "rtt: peer sends no timestamps".to_owned(),
    }
}

fn delays(signal: Signal, over: Duration, threshold: Duration) -> String {
    if signal == Signal::None {
        return "-".to_owned();
    }
    let over = text::time(over);
    let over = over.trim_end_matches(" ms");
    format!("{over} / {}", text::time(threshold))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_is_within_itself_and_those_above() {
        for (path, above, expected) in [
            ("/a/b", "/a", true),
            ("/a", "/a", true),
            ("/ab", "/a", false),
            ("/", "/a", false),
            ("/a", "", true),
        ] {
            assert_eq!(is_within(path, above), expected, "{path} {above}");
        }
    }

    #[test]
    fn a_units_connections_are_those_in_its_cgroup_and_below() {
        let path = "/system.slice/backup.service/netnice-run-7";
        for unit in ["backup.service", "backup", "system.slice"] {
            assert!(is_in_unit(path, unit), "{unit}");
        }
        for unit in ["back", "backup.serv", "", "backup.service/netnice-run-7"] {
            assert!(!is_in_unit(path, unit), "{unit}");
        }
    }

    #[test]
    fn a_control_that_does_not_exist_is_refused() {
        check_control("tcplp").unwrap();
        check_control("reno").unwrap();
        let error = check_control("netnic").unwrap_err().to_string();
        assert!(
            error.contains("netnice has ") && error.contains("reno"),
            "{error}"
        );
    }
}
