// SPDX-License-Identifier: MIT OR Apache-2.0
//! The metrics: names, help and types, and the two formats in which Prometheus reads them.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use netnice_kernel::connections::GaveWay;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::commands::version;

/// Labels of a group of connections.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
pub struct Group {
    /// Path as in `/proc/PID/cgroup`; empty if unknown.
    pub cgroup: String,
    /// Unit of systemd that the cgroup belongs to; empty without one.
    pub unit: String,
    /// Name of netnice's control; empty where only received data is governed.
    pub control: String,
}

/// Direction whose data is governed.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum Direction {
    Sending,
    Receiving,
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Self::Sending => "sending",
            Self::Receiving => "receiving",
        }
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Directed {
    #[prometheus(flatten)]
    group: Group,
    direction: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByCause {
    #[prometheus(flatten)]
    group: Group,
    direction: &'static str,
    cause: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct InState {
    #[prometheus(flatten)]
    group: Group,
    direction: &'static str,
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Build {
    version: &'static str,
    commit: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Named {
    control: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Unlabelled {}

/// Upper bounds of the delay's buckets, in seconds: from a queue in a LAN to a large buffer.
const DELAYS: [f64; 12] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0,
];

#[derive(Clone, Debug)]
struct Delays;

impl MetricConstructor<Histogram> for Delays {
    fn new_metric(&self) -> Histogram {
        Histogram::new(DELAYS)
    }
}

type Seconds = Counter<f64, AtomicU64>;

/// State of netnice itself.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// The controls of this version, and whether they are registered.
    pub controls: Vec<(&'static str, bool)>,
    /// Number of attached cgroups; `None` if this user may not read it.
    pub attached: Option<usize>,
    /// Number of cgroups that are no longer attached, as their services restarted.
    pub lost: Option<usize>,
    /// Time that reading has taken.
    pub reading: Duration,
}

/// Makes [`Metrics`] and its `new` of a row for each metric: field, type, name, unit if it has one, help.
macro_rules! metrics {
    ($($(#[$doc:meta])* $field:ident: $type:ty $(= $new:expr)?, $name:literal $([$unit:expr])?, $help:literal;)*) => {
        /// The metrics with their values.
        #[derive(Debug)]
        pub struct Metrics {
            registry: Registry,
            $($(#[$doc])* $field: $type,)*
        }

        impl Metrics {
            /// Creates them, without groups.
            pub fn new() -> Self {
                let mut registry = Registry::with_prefix("netnice");
                $(let $field: $type = metrics!(@new $($new)?);
                metrics!(@register registry, $name, $help, $field.clone() $(, $unit)?);)*
                let build = Family::<Build, Gauge>::default();
                let labels = Build { version: version::NUMBER, commit: version::COMMIT.unwrap_or_default() };
                build.get_or_create(&labels).set(1);
                registry.register("build_info", "The running netnice; the value is 1", build);
                Self { registry, $($field),* }
            }
        }
    };
    (@new) => { Default::default() };
    (@new $new:expr) => { $new };
    (@register $registry:ident, $name:literal, $help:literal, $metric:expr) => {
        $registry.register($name, $help, $metric)
    };
    (@register $registry:ident, $name:literal, $help:literal, $metric:expr, $unit:expr) => {
        $registry.register_with_unit($name, $help, $unit, $metric)
    };
}

metrics! {
    connections: Family<Directed, Gauge>, "connections", "Open connections whose data in this direction is governed";
    started: Family<Directed, Counter>, "started_connections", "Connections whose data in this direction is or was governed";
    sent: Family<Group, Counter>, "sent" [Unit::Bytes], "Bytes that the peers have acknowledged";
    received: Family<Group, Counter>, "received" [Unit::Bytes], "Bytes received";
    utp_sent: Family<Group, Counter>, "utp_sent" [Unit::Bytes], "Bytes of data that left over uTP, retransmissions included";
    utp_received: Family<Group, Counter>, "utp_received" [Unit::Bytes], "Bytes of data that arrived over uTP";
    udp_sent: Family<Group, Counter>, "udp_sent" [Unit::Bytes], "Bytes of large packets that left over other UDP";
    udp_received: Family<Group, Counter>, "udp_received" [Unit::Bytes], "Bytes of large packets that arrived over other UDP";
    udp_packets: Family<Group, Counter>, "udp_sent" [Unit::Other("packets".to_owned())],
        "Packets that left over other UDP, whether or not it is governed";
    yields: Family<Directed, Counter>, "yields", "Number of times that connections yielded to others";
    gave_way: Family<ByCause, Counter>, "gave_way", "Number of times that connections yielded to others, by cause, where the control tells it";
    ungoverned: Family<Group, Counter>, "ungoverned_connections",
        "Times that connections had another control: the kernel refused netnice's, or somebody replaced it";
    retransmitted: Family<Group, Counter>, "retransmitted" [Unit::Other("packets".to_owned())], "Packets retransmitted";
    in_state: Family<InState, Seconds>, "state" [Unit::Seconds],
        "Time that connections spent in each state, as found at the readings";
    delay: Family<Directed, Histogram, Delays> = Family::new_with_constructor(Delays), "queueing_delay" [Unit::Seconds],
        "Filtered delay above the smallest one, of each connection at each reading";
    registered: Family<Named, Gauge>, "control_registered", "1 if the kernel has the congestion control, else 0";
    /// Families without labels, so that they can be left out where the values are unknown.
    attached: Family<Unlabelled, Gauge>, "attached_cgroups", "Cgroups that have been attached";
    lost: Family<Unlabelled, Gauge>, "lost_cgroups",
        "Cgroups that are no longer attached, as their services have stopped or restarted";
    unreadable: Gauge, "unreadable_connections", "Open connections whose state and delay the exporter may not read";
    readings: Counter, "readings", "Readings of the kernel";
    failed: Counter, "failed_readings", "Readings that failed; the figures are then those of the last one that did not";
    reading: Gauge<f64, AtomicU64>, "reading_duration" [Unit::Seconds], "Time that the latest reading took";
}

impl Metrics {
    /// Sets the number of open connections of all groups; `known` are those that have been seen before.
    pub fn set_connections(
        &self,
        open: &BTreeMap<(Group, &'static str), i64>,
        known: impl Iterator<Item = Group>,
    ) {
        self.connections.clear();
        let zeros = known.flat_map(|group| {
            let directions = [Direction::Sending, Direction::Receiving];
            directions.map(|direction| directed(&group, direction))
        });
        // A group without connections has 0 of those that it ever had.
        for labels in zeros.filter(|labels| self.started.get(labels).is_some()) {
            self.connections.get_or_create(&labels).set(0);
        }
        for ((group, direction), count) in open {
            let labels = Directed {
                group: group.clone(),
                direction,
            };
            self.connections.get_or_create(&labels).set(*count);
        }
    }

    /// Adds to a group's sums.
    pub fn add(&self, group: &Group, added: &netnice_kernel::abi::Totals) {
        self.sent.get_or_create(group).inc_by(added.bytes_sent);
        self.ungoverned
            .get_or_create(group)
            .inc_by(added.ungoverned());
        // A connection that is governed in both directions is in both sums.
        let received = added.bytes_received.max(added.receiving_bytes);
        self.received.get_or_create(group).inc_by(received);
        // Few groups have such series.
        if added.utp_connections > 0 || self.utp_sent.get(group).is_some() {
            let sent = self.utp_sent.get_or_create(group);
            sent.inc_by(added.utp_bytes_sent);
            let received = self.utp_received.get_or_create(group);
            received.inc_by(added.utp_bytes_received);
        }
        if added.moved_other_udp() || self.udp_sent.get(group).is_some() {
            let sent = self.udp_sent.get_or_create(group);
            sent.inc_by(added.udp_bytes_sent);
            let received = self.udp_received.get_or_create(group);
            received.inc_by(added.udp_bytes_received);
            let packets = self.udp_packets.get_or_create(group);
            packets.inc_by(added.udp_packets_sent);
        }
        for (direction, started, yields, gave_way) in [
            (
                Direction::Sending,
                added.sockets,
                added.yields,
                added.gave_way,
            ),
            (
                Direction::Receiving,
                added.receiving_sockets,
                added.receiving_yields,
                added.receiving_gave_way,
            ),
        ] {
            let labels = directed(group, direction);
            if started > 0 || yields > 0 || self.started.get(&labels).is_some() {
                self.started.get_or_create(&labels).inc_by(started);
                self.yields.get_or_create(&labels).inc_by(yields);
            }
            // Controls that tell no causes have no series.
            if gave_way != GaveWay::default() {
                for (cause, _, times) in gave_way.by_cause() {
                    let labels = by_cause(group, direction, cause);
                    self.gave_way.get_or_create(&labels).inc_by(times);
                }
            }
        }
    }

    /// Adds packets that connections of a group have retransmitted.
    pub fn add_retransmitted(&self, group: &Group, packets: u32) {
        let counter = self.retransmitted.get_or_create(group);
        counter.inc_by(packets.into());
    }

    /// Adds time that a connection has spent in a state, and its delay if one is known.
    pub fn add_state(
        &self,
        group: &Group,
        direction: Direction,
        state: &'static str,
        time: Duration,
        delay: Option<Duration>,
    ) {
        let labels = InState {
            group: group.clone(),
            direction: direction.name(),
            state,
        };
        let seconds = self.in_state.get_or_create(&labels);
        seconds.inc_by(time.as_secs_f64());
        if let Some(delay) = delay {
            let labels = directed(group, direction);
            let histogram = self.delay.get_or_create(&labels);
            histogram.observe(delay.as_secs_f64());
        }
    }

    /// Removes a group.
    pub fn forget(&self, group: &Group, states: impl Iterator<Item = (Direction, &'static str)>) {
        self.sent.remove(group);
        self.received.remove(group);
        self.utp_sent.remove(group);
        self.utp_received.remove(group);
        self.udp_sent.remove(group);
        self.udp_received.remove(group);
        self.udp_packets.remove(group);
        self.retransmitted.remove(group);
        self.ungoverned.remove(group);
        for direction in [Direction::Sending, Direction::Receiving] {
            let labels = directed(group, direction);
            self.connections.remove(&labels);
            self.started.remove(&labels);
            self.yields.remove(&labels);
            for (cause, ..) in GaveWay::default().by_cause() {
                self.gave_way.remove(&by_cause(group, direction, cause));
            }
            self.delay.remove(&labels);
        }
        for (direction, state) in states {
            self.in_state.remove(&InState {
                group: group.clone(),
                direction: direction.name(),
                state,
            });
        }
    }

    /// Sets what does not depend on groups, after a reading.
    pub fn set_health(&self, health: &Health, unreadable: usize) {
        for (control, registered) in &health.controls {
            let gauge = self.registered.get_or_create(&Named { control });
            gauge.set((*registered).into());
        }
        for (family, value) in [(&self.attached, health.attached), (&self.lost, health.lost)] {
            match value {
                Some(value) => drop(family.get_or_create(&Unlabelled {}).set(value as i64)),
                None => drop(family.remove(&Unlabelled {})),
            }
        }
        self.unreadable.set(unreadable as i64);
        self.readings.inc();
        self.reading.set(health.reading.as_secs_f64());
    }

    /// Counts a reading that failed.
    pub fn fail(&self) {
        self.readings.inc();
        self.failed.inc();
    }

    /// Returns the metrics in the text format of OpenMetrics 1.0.
    pub fn openmetrics(&self) -> String {
        let mut written = String::new();
        // Writing to a String does not fail.
        let _ = text::encode(&mut written, &self.registry);
        written
    }

    /// Returns the metrics in Prometheus's own text format 0.0.4, which node_exporter reads.
    pub fn classic(&self) -> String {
        classic(&self.openmetrics())
    }
}

fn directed(group: &Group, direction: Direction) -> Directed {
    Directed {
        group: group.clone(),
        direction: direction.name(),
    }
}

fn by_cause(group: &Group, direction: Direction, cause: &'static str) -> ByCause {
    ByCause {
        group: group.clone(),
        direction: direction.name(),
        cause,
    }
}

/// Key of a group's connections in one direction.
pub fn key(group: &Group, direction: Direction) -> (Group, &'static str) {
    (group.clone(), direction.name())
}

/// Rewrites OpenMetrics as text format 0.0.4: there a counter's family has the name of its samples, with `_total`, and
/// there are neither units nor an end mark.
fn classic(openmetrics: &str) -> String {
    let counters: HashSet<&str> = openmetrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let mut written = String::with_capacity(openmetrics.len());
    for line in openmetrics.lines() {
        let described = ["# HELP ", "# TYPE "].into_iter().find_map(|keyword| {
            let (name, rest) = line.strip_prefix(keyword)?.split_once(' ')?;
            Some((keyword, name, rest))
        });
        // Writing to a String does not fail.
        let _ = match described {
            Some((keyword, name, rest)) if counters.contains(name) => {
                writeln!(written, "{keyword}{name}_total {rest}")
            }
            None if line.starts_with('#') => Ok(()),
            _ => writeln!(written, "{line}"),
        };
    }
    written
}

#[cfg(test)]
mod tests {
    use netnice_kernel::abi::Totals;

    use super::*;

    fn filled() -> Metrics {
        let metrics = Metrics::new();
        let group = Group {
            cgroup: "/a \"quoted\\path\"\nof two lines".to_owned(),
            unit: "backup.service".to_owned(),
            control: "netnice".to_owned(),
        };
        let totals = Totals {
            sockets: 2,
            bytes_sent: 1_234_567_890_123,
            bytes_received: 10,
            receiving_bytes: 12,
            receiving_sockets: 1,
            yields: 3,
            gave_way: [2, 0, 1, 0].into(),
            refused: 1,
            displaced: 4,
            restored: 2,
            utp_connections: 1,
            utp_bytes_sent: 13,
            ..Totals::default()
        };
        metrics.add(&group, &totals);
        metrics.add_retransmitted(&group, 7);
        let second = Duration::from_millis(1500);
        let delay = Some(Duration::from_millis(30));
        metrics.add_state(&group, Direction::Sending, "yielding", second, delay);
        metrics.set_connections(
            &BTreeMap::from([(key(&group, Direction::Sending), 1)]),
            [group.clone()].into_iter(),
        );
        let health = Health {
            controls: vec![("netnice", true), ("tcplp", false)],
            attached: Some(2),
            lost: None,
            reading: Duration::from_millis(4),
        };
        metrics.set_health(&health, 5);
        metrics
    }

    const LABELS: &str = "cgroup=\"/a \\\"quoted\\\\path\\\"\\nof two lines\",unit=\"backup.service\",control=\"netnice\"";

    #[test]
    fn names_types_and_escaped_labels_are_as_specified() {
        let shown = filled().openmetrics();
        for expected in [
            "# TYPE netnice_sent_bytes counter".to_owned(),
            "# UNIT netnice_sent_bytes bytes".to_owned(),
            format!("netnice_sent_bytes_total{{{LABELS}}} 1234567890123"),
            format!("netnice_received_bytes_total{{{LABELS}}} 12"),
            format!("netnice_utp_sent_bytes_total{{{LABELS}}} 13"),
            format!("netnice_utp_received_bytes_total{{{LABELS}}} 0"),
            format!("netnice_retransmitted_packets_total{{{LABELS}}} 7"),
            format!("netnice_connections{{{LABELS},direction=\"sending\"}} 1"),
            format!("netnice_connections{{{LABELS},direction=\"receiving\"}} 0"),
            format!("netnice_started_connections_total{{{LABELS},direction=\"sending\"}} 2"),
            format!("netnice_yields_total{{{LABELS},direction=\"sending\"}} 3"),
            format!("netnice_gave_way_total{{{LABELS},direction=\"sending\",cause=\"queue\"}} 2"),
            format!("netnice_gave_way_total{{{LABELS},direction=\"sending\",cause=\"losses\"}} 0"),
            format!(
                "netnice_gave_way_total{{{LABELS},direction=\"sending\",cause=\"fair_queue\"}} 1"
            ),
            format!("netnice_ungoverned_connections_total{{{LABELS}}} 3"),
            format!(
                "netnice_state_seconds_total{{{LABELS},direction=\"sending\",state=\"yielding\"}} 1.5"
            ),
            "# TYPE netnice_queueing_delay_seconds histogram".to_owned(),
            format!(
                "netnice_queueing_delay_seconds_bucket{{le=\"0.02\",{LABELS},direction=\"sending\"}} 0"
            ),
            format!(
                "netnice_queueing_delay_seconds_bucket{{le=\"0.05\",{LABELS},direction=\"sending\"}} 1"
            ),
            "netnice_control_registered{control=\"tcplp\"} 0".to_owned(),
            "netnice_attached_cgroups{} 2".to_owned(),
            "netnice_unreadable_connections 5".to_owned(),
            "netnice_reading_duration_seconds 0.004".to_owned(),
        ] {
            let found = shown.lines().any(|line| line == expected);
            assert!(found, "{expected}\n{shown}");
        }
        // Unknown is not 0.
        assert!(!shown.contains("\nnetnice_lost_cgroups "), "{shown}");
        assert!(shown.ends_with("# EOF\n"));
    }

    #[test]
    fn in_the_older_format_counters_have_their_samples_names() {
        let shown = filled().classic();
        for expected in [
            "# HELP netnice_sent_bytes_total Bytes that the peers have acknowledged.",
            "# TYPE netnice_sent_bytes_total counter",
            "# TYPE netnice_connections gauge",
            "# TYPE netnice_queueing_delay_seconds histogram",
        ] {
            assert!(shown.lines().any(|line| line == expected), "{shown}");
        }
        assert!(
            !shown.contains("# UNIT") && !shown.contains("# EOF"),
            "{shown}"
        );
        let samples = |text: &str| {
            let samples = text.lines().filter(|line| !line.starts_with('#'));
            samples.map(str::to_owned).collect::<HashSet<_>>()
        };
        assert_eq!(samples(&shown), samples(&filled().openmetrics()));
    }

    #[test]
    fn a_group_that_is_forgotten_leaves_nothing() {
        let metrics = filled();
        let group = Group {
            cgroup: "/a \"quoted\\path\"\nof two lines".to_owned(),
            unit: "backup.service".to_owned(),
            control: "netnice".to_owned(),
        };
        let states = [(Direction::Sending, "yielding")];
        metrics.forget(&group, states.into_iter());
        assert!(!metrics.openmetrics().contains("backup.service"));
    }
}
