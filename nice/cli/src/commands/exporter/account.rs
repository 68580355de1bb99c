// SPDX-License-Identifier: MIT OR Apache-2.0
//! From readings of the kernel to counters that only grow. No I/O.
//!
//! Where the kernel keeps sums over a group's finished connections, these and its open connections give the group's
//! counters, and connections that end between two readings count in full. Other connections count as far as the
//! readings show them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use netnice_kernel::abi::Totals;
use netnice_kernel::cgroup::paths::{Paths, without_ours};
use netnice_kernel::connections::{
    Connection, FinishedGroup, Governed, Phase, ReceivingPhase, Signal,
};
use netnice_kernel::control::Control;
use netnice_kernel::systemd;

use super::metrics::{Direction, Group, Health, Metrics, key};

/// A group without connections is left out after this time, as sessions and containers come and go.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(3600);

/// One reading.
pub struct Reading<'a> {
    /// Time since the previous one.
    pub elapsed: Duration,
    /// Open connections, listed after `finished` was read.
    pub open: &'a [Connection],
    /// Finished connections of the groups that the kernel counts.
    pub finished: &'a [FinishedGroup],
    /// Paths of cgroups.
    pub paths: &'a Paths,
}

/// The metrics, and what is needed to go on with them.
#[derive(Debug)]
pub struct Account {
    metrics: Metrics,
    /// Open connections at the last reading, by their cookies.
    seen: HashMap<u64, Seen>,
    /// Groups that the kernel counts, by their ids.
    counted: HashMap<u64, Counted>,
    /// Groups in the metrics, and the time since they had a connection.
    idle: BTreeMap<Group, Duration>,
    /// True once there was a reading.
    begun: bool,
}

/// Locks the account; nothing that holds it can leave it half changed.
pub fn lock(account: &Mutex<Account>) -> MutexGuard<'_, Account> {
    account.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
struct Seen {
    totals: Totals,
    retransmitted: u32,
}

#[derive(Debug, Default)]
struct Counted {
    /// The kernel's sums over finished connections.
    finished: Totals,
    /// All that is in the metrics.
    reported: Totals,
    /// Labels of a connection of the group, for a group whose own are unknown.
    group: Option<Group>,
}

impl Account {
    /// Creates an account without readings.
    pub fn new() -> Self {
        Self {
            metrics: Metrics::new(),
            seen: HashMap::new(),
            counted: HashMap::new(),
            idle: BTreeMap::new(),
            begun: false,
        }
    }

    /// Enters a reading.
    pub fn take(&mut self, reading: &Reading<'_>, health: &Health) {
        self.counted
            .retain(|id, _| reading.finished.iter().any(|group| group.id == *id));
        for finished in reading.finished {
            self.counted.entry(finished.id).or_default();
        }
        let mut open = BTreeMap::new();
        let mut sums: HashMap<u64, Totals> = HashMap::new();
        let mut seen = HashMap::new();
        for connection in reading.open {
            let group = labels(connection, reading.paths);
            for direction in directions(connection) {
                *open.entry(key(&group, direction)).or_default() += 1;
            }
            self.add_states(connection, &group, reading.elapsed);
            let totals = totals(connection);
            let before = self.seen.get(&connection.cookie);
            match connection
                .group()
                .and_then(|id| self.counted.get_mut(&id).map(|one| (id, one)))
            {
                Some((id, counted)) => {
                    counted.group = Some(group.clone());
                    sums.entry(id).or_default().add(&totals);
                }
                None => {
                    let before = before.map(|before| before.totals).unwrap_or_default();
                    self.metrics.add(&group, &totals.since(&before));
                }
            }
            let retransmitted = match before {
                Some(before) => connection
                    .retransmitted
                    .saturating_sub(before.retransmitted),
                // Nobody knows when the connections that were there first have retransmitted.
                None if !self.begun => 0,
                None => connection.retransmitted,
            };
            self.metrics.add_retransmitted(&group, retransmitted);
            self.idle.insert(group, Duration::ZERO);
            let retransmitted = connection.retransmitted;
            seen.insert(
                connection.cookie,
                Seen {
                    totals,
                    retransmitted,
                },
            );
        }
        for finished in reading.finished {
            let open = sums.remove(&finished.id).unwrap_or_default();
            self.add_group(finished, open, reading.paths);
        }
        self.seen = seen;
        self.begun = true;
        self.forget_idle(reading.elapsed);
        self.metrics
            .set_connections(&open, self.idle.keys().cloned());
        let unreadable = reading.open.iter().filter(|one| one.governed().is_none());
        self.metrics.set_health(health, unreadable.count());
    }

    /// Counts a reading that failed.
    pub fn fail(&mut self) {
        self.metrics.fail();
    }

    /// Returns the metrics in the text format of OpenMetrics 1.0.
    pub fn openmetrics(&self) -> String {
        self.metrics.openmetrics()
    }

    /// Returns the metrics in Prometheus's text format 0.0.4.
    pub fn classic(&self) -> String {
        self.metrics.classic()
    }

    /// Adds what a group has moved since the last reading.
    fn add_group(&mut self, finished: &FinishedGroup, open: Totals, paths: &Paths) {
        let counted = self.counted.entry(finished.id).or_default();
        let mut now = finished.totals;
        now.add(&open);
        if finished.totals.sockets < counted.finished.sockets
            || finished.totals.receiving_sockets < counted.finished.receiving_sockets
        {
            // The sums were made anew, as after `detach` and `attach`.
            counted.reported = open;
        }
        counted.finished = finished.totals;
        let added = now.since(&counted.reported);
        // A connection that has just ended may be in neither part; it is in the next reading.
        counted.reported.add(&added);
        if added == Totals::default() {
            return;
        }
        let control = finished.control.clone().unwrap_or_default();
        let group = match (paths.get(finished.id), &counted.group) {
            (Some(path), _) => named(path, control),
            (None, Some(group)) => group.clone(),
            (None, None) => named("", control),
        };
        self.metrics.add(&group, &added);
        self.idle.insert(group, Duration::ZERO);
    }

    fn add_states(&self, connection: &Connection, group: &Group, elapsed: Duration) {
        let known = |signal: Signal, delay: Duration| (signal != Signal::None).then_some(delay);
        // A state that nobody has been in yet has 0 seconds, so that its share is 0 and not unknown.
        for (direction, state) in states() {
            let governed = match direction {
                Direction::Sending => connection.policy.is_some(),
                Direction::Receiving => connection.reception.is_some(),
            };
            if governed {
                let nothing = Duration::ZERO;
                (self.metrics).add_state(group, direction, state, nothing, None);
            }
        }
        if let Some(policy) = &connection.policy {
            self.metrics.add_state(
                group,
                Direction::Sending,
                policy.phase.name(),
                elapsed.min(policy.age),
                known(policy.signal, policy.delay_over_minimum),
            );
        }
        if let Some(reception) = &connection.reception {
            self.metrics.add_state(
                group,
                Direction::Receiving,
                reception.phase.name(),
                elapsed.min(reception.age),
                known(reception.signal, reception.delay_over_minimum),
            );
        }
    }

    fn forget_idle(&mut self, elapsed: Duration) {
        let metrics = &self.metrics;
        self.idle.retain(|group, idle| {
            let forgotten = *idle >= FORGOTTEN_AFTER;
            if forgotten {
                metrics.forget(group, states());
            }
            *idle += elapsed;
            !forgotten
        });
    }
}

/// All states, with the direction that has them.
fn states() -> impl Iterator<Item = (Direction, &'static str)> {
    let sending = [
        Phase::SlowStart,
        Phase::Avoidance,
        Phase::Inference,
        Phase::Yielding,
    ];
    let receiving = [
        ReceivingPhase::Filling,
        ReceivingPhase::Inference,
        ReceivingPhase::Yielding,
        ReceivingPhase::Paused,
    ];
    let sending = sending.map(|phase| (Direction::Sending, phase.name()));
    let receiving = receiving.map(|phase| (Direction::Receiving, phase.name()));
    sending.into_iter().chain(receiving)
}

fn directions(connection: &Connection) -> Vec<Direction> {
    match connection.governed() {
        // One of which nothing can be read has a control of ours, else it would not be listed.
        Some(Governed::Sender) | None => vec![Direction::Sending],
        Some(Governed::Receiver) => vec![Direction::Receiving],
        Some(Governed::Both) => vec![Direction::Sending, Direction::Receiving],
    }
}

fn totals(connection: &Connection) -> Totals {
    let mut totals = Totals::default();
    for direction in directions(connection) {
        totals.add(&match direction {
            Direction::Sending => connection.sending_totals(),
            Direction::Receiving => connection.receiving_totals(),
        });
    }
    totals
}

fn labels(connection: &Connection, paths: &Paths) -> Group {
    let path = paths.get(connection.cgroup_of_settings());
    let ours = Control::find(&connection.control).is_ok();
    let control = if ours {
        connection.control.as_str()
    } else {
        ""
    };
    named(path.unwrap_or_default(), control.to_owned())
}

fn named(path: &str, control: String) -> Group {
    let cgroup = without_ours(path);
    Group {
        unit: systemd::unit_of(cgroup).unwrap_or_default().to_owned(),
        cgroup: cgroup.to_owned(),
        control,
    }
}

#[cfg(test)]
mod tests {
    use netnice_kernel::connections::PolicyState;

    use super::*;

    const CGROUP: u64 = 5;
    const ELAPSED: Duration = Duration::from_secs(1);

    fn connection(cookie: u64, group: u64, bytes_sent: u64) -> Connection {
        let address = "127.0.0.1:1".parse().unwrap();
        Connection {
            cookie,
            inode: 1,
            cgroup: CGROUP,
            network_namespace: 1,
            user: 0,
            local: address,
            remote: address,
            control: "netnice".to_owned(),
            cwnd: 10,
            ssthresh: 10,
            mss: 1448,
            rtt: Duration::from_millis(40),
            pacing_rate: 0,
            retransmitted: 0,
            bytes_sent,
            bytes_received: 0,
            peer_sends_timestamps: true,
            policy: Some(PolicyState {
                age: Duration::from_millis(300),
                group,
                delay_over_minimum: Duration::from_millis(3),
                threshold: Duration::from_millis(15),
                yields: 0,
                gave_way: [0; 4].into(),
                phase: Phase::Yielding,
                signal: Signal::OneWayDelay,
                target: None,
            }),
            reception: None,
        }
    }

    fn finished(sockets: u64, bytes_sent: u64) -> Vec<FinishedGroup> {
        vec![FinishedGroup {
            id: CGROUP,
            control: Some("netnice".to_owned()),
            totals: Totals {
                sockets,
                bytes_sent,
                ..Totals::default()
            },
        }]
    }

    fn take(account: &mut Account, open: &[Connection], finished: &[FinishedGroup]) {
        let path = "/system.slice/backup.service/netnice-run-7".to_owned();
        let reading = Reading {
            elapsed: ELAPSED,
            open,
            finished,
            paths: &[(CGROUP, path)].into_iter().collect(),
        };
        account.take(&reading, &Health::default());
    }

    /// The value of the only sample of this name whose labels contain `label`.
    #[track_caller]
    fn value(account: &Account, name: &str, label: &str) -> f64 {
        let text = account.openmetrics();
        let mut found = text.lines().filter(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('{') && rest.contains(label))
        });
        let line = found
            .next()
            .unwrap_or_else(|| panic!("{name} {label}:\n{text}"));
        assert_eq!(found.next(), None, "{text}");
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }

    #[test]
    fn connections_that_no_reading_shows_count_in_their_group() {
        let mut account = Account::new();
        take(&mut account, &[connection(1, CGROUP, 100)], &finished(0, 0));
        // It ends with 150 bytes, and another begins and ends with 1000.
        take(&mut account, &[], &finished(2, 1150));
        let labels =
            "cgroup=\"/system.slice/backup.service\",unit=\"backup.service\",control=\"netnice\"";
        assert_eq!(value(&account, "netnice_sent_bytes_total", labels), 1150.0);
        let started = value(&account, "netnice_started_connections_total", labels);
        assert_eq!(started, 2.0);
        assert_eq!(value(&account, "netnice_connections", labels), 0.0);
    }

    #[test]
    fn a_counter_never_falls_nor_counts_twice() {
        let mut account = Account::new();
        let open = [connection(1, CGROUP, 700), connection(2, CGROUP, 50)];
        take(&mut account, &open, &finished(0, 0));
        let sent = |account: &Account| value(account, "netnice_sent_bytes_total", "");
        assert_eq!(sent(&account), 750.0);
        // The first ended between the two parts of the reading, and is in neither.
        take(&mut account, &open[1..], &finished(0, 0));
        assert_eq!(sent(&account), 750.0);
        take(&mut account, &open[1..], &finished(1, 720));
        assert_eq!(sent(&account), 770.0);
        // Detached and attached again: the kernel's sums begin anew.
        take(&mut account, &open[1..], &finished(0, 0));
        take(&mut account, &open[1..], &finished(1, 30));
        assert_eq!(sent(&account), 800.0);
    }

    #[test]
    fn without_sums_of_the_kernel_readings_are_added() {
        let mut account = Account::new();
        take(&mut account, &[connection(1, 0, 100)], &[]);
        let mut later = connection(1, 0, 180);
        later.retransmitted = 4;
        take(&mut account, &[later, connection(2, 0, 20)], &[]);
        take(&mut account, &[], &[]);
        assert_eq!(value(&account, "netnice_sent_bytes_total", ""), 200.0);
        let started = value(&account, "netnice_started_connections_total", "");
        assert_eq!(started, 2.0);
        let packets = value(&account, "netnice_retransmitted_packets_total", "");
        assert_eq!(packets, 4.0);
    }

    #[test]
    fn time_is_given_to_the_state_that_was_found() {
        let mut account = Account::new();
        let mut one = connection(1, CGROUP, 1);
        take(&mut account, std::slice::from_ref(&one), &finished(0, 0));
        let policy = one.policy.as_mut().unwrap();
        policy.age = Duration::from_secs(2);
        policy.phase = Phase::Avoidance;
        take(&mut account, &[one], &finished(0, 0));
        let seconds = |state| value(&account, "netnice_state_seconds_total", state);
        // It was 300 ms old at the first reading.
        assert_eq!(seconds("state=\"yielding\""), 0.3);
        assert_eq!(seconds("state=\"avoidance\""), 1.0);
        assert_eq!(seconds("state=\"inference\""), 0.0);
        let below = "le=\"0.005\"";
        let delays = value(&account, "netnice_queueing_delay_seconds_bucket", below);
        assert_eq!(delays, 2.0);
    }

    #[test]
    fn groups_without_connections_go_after_an_hour() {
        let mut account = Account::new();
        take(&mut account, &[connection(1, 0, 100)], &[]);
        for _ in 1..FORGOTTEN_AFTER.as_secs() {
            take(&mut account, &[], &[]);
        }
        assert!(account.openmetrics().contains("backup.service"));
        take(&mut account, &[], &[]);
        assert!(!account.openmetrics().contains("backup.service"));
    }

    #[test]
    fn what_may_not_be_read_is_counted_as_such() {
        let mut account = Account::new();
        let mut one = connection(1, 0, 100);
        one.policy = None;
        take(&mut account, &[one], &[]);
        let text = account.classic();
        assert!(
            text.contains("\nnetnice_unreadable_connections 1\n"),
            "{text}"
        );
        assert!(!text.contains("state="), "{text}");
    }
}
