// SPDX-License-Identifier: MIT OR Apache-2.0
//! Current low-priority connections, in all network namespaces that the reader may see.
//!
//! `sock_diag` lists them, as for `ss`: names of controls and `tcp_info` for all users. Root reads the programs'
//! records of each socket in the same answer. Other users read it through descriptors, for the sockets of processes that they
//! may trace (man 2 pidfd_getfd).

mod groups;
mod inet_diag;
mod namespaces;
mod own;
mod sock_diag;
mod totals;

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

pub use netnice_parameters::exchange::{GaveWay, Phase, Signal};
use nix::time::{ClockId, clock_gettime};

pub use self::groups::{FinishedGroup, finished_groups};
use self::inet_diag::{TCP_CLOSE_WAIT, TCP_CLOSING, TCP_LAST_ACK, TCPI_OPT_TIMESTAMPS, TcpInfo};
pub use self::own::{OwnReception, OwnReceptions, tcp_info_bytes};
use self::sock_diag::TcpSocket;
pub use self::totals::Sums;
pub(crate) use self::totals::{of_cookies, of_group};
use crate::abi::{Flow, ReceptionRecord, read_record, unpadded};
use crate::error::{Error, Result};
use crate::objects::control::is_ours;
use crate::objects::shared_map::SharedMap;
use crate::sockets::process;

/// Bit of a group's id that says that a supervisor made it; the others are ids of cgroups.
pub(crate) const OF_A_SUPERVISOR: u64 = 1 << 63;

/// One low-priority connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Identifies the socket until the next boot.
    pub cookie: u64,
    /// Inode number of the socket's file, as in `/proc/PID/fd`; 0 once no process has it open.
    pub inode: u64,
    /// Id of the cgroup in which the socket was made; 0 where the kernel does not say.
    pub cgroup: u64,
    /// Inode number of the network namespace.
    pub network_namespace: u32,
    /// User id of the socket's creator.
    pub user: u32,
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
    /// Name of the congestion control: one of netnice's, unless only received data is governed.
    pub control: String,
    /// Congestion window, in packets.
    pub cwnd: u32,
    /// Slow-start threshold, in packets.
    pub ssthresh: u32,
    /// Maximum segment size, in bytes of data.
    pub mss: u32,
    /// Smoothed round-trip time.
    pub rtt: Duration,
    /// Pacing rate: the kernel's limit, in bytes per second.
    pub pacing_rate: u64,
    /// Packets retransmitted.
    pub retransmitted: u32,
    /// Bytes that the peer has acknowledged since the control took over; without `policy`, since the connection began.
    pub bytes_sent: u64,
    /// Bytes received since then.
    pub bytes_received: u64,
    /// True if the peer sends timestamps (RFC 7323).
    pub peer_sends_timestamps: bool,
    /// Record of the socket. `None` if this user may not read it, or if another version of netnice governs the
    /// connection and keeps its record in another form.
    pub policy: Option<PolicyState>,
    /// State of the receiving side, if received data is governed and this user may read it.
    pub reception: Option<Reception>,
}

/// Directions of a connection that are governed, and by which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Governed {
    /// Sent data, by the congestion control.
    Sender,
    /// Received data, by the advertised window.
    Receiver,
    /// Both directions.
    Both,
}

impl Governed {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Both => "both",
        }
    }
}

/// Phase of a connection that receives at low priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceivingPhase {
    /// The window grows, or is near the one that fills the path.
    Filling,
    /// An indication of congestion was answered; checking whether it persists.
    Inference,
    /// Others are present.
    Yielding,
    /// Others are present, and the window is below one packet.
    Paused,
}

impl ReceivingPhase {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Filling => "filling",
            Self::Inference => "inference",
            Self::Yielding => "yielding",
            Self::Paused => "paused",
        }
    }
}

/// State of the receiving side of one connection.
#[derive(Clone, Debug)]
pub struct Reception {
    /// Time since the window was first governed.
    pub age: Duration,
    /// Id of the cgroup whose settings govern it.
    pub group: u64,
    /// Name of the control whose policy sets the window.
    pub control: String,
    /// Latest window advertised, in bytes.
    pub window: u32,
    /// Latest filtered delay minus the smallest known one.
    pub delay_over_minimum: Duration,
    /// Delay above the smallest one at which the receiver yields.
    pub threshold: Duration,
    /// Number of times the receiver yielded.
    pub yields: u32,
    /// `yields` by cause; zeros of policies that tell none.
    pub gave_way: GaveWay,
    /// Phase of the receiver.
    pub phase: ReceivingPhase,
    /// Source of the delay.
    pub signal: Signal,
    /// Smallest round-trip time that arriving packets have shown, if any has.
    pub minimum_rtt: Option<Duration>,
}

impl Reception {
    fn new(record: &ReceptionRecord, now: Duration) -> Self {
        let report = &record.report;
        let phase = match report.phase() {
            Phase::Yielding if record.paused != 0 => ReceivingPhase::Paused,
            Phase::Yielding => ReceivingPhase::Yielding,
            Phase::Inference => ReceivingPhase::Inference,
            Phase::SlowStart | Phase::Avoidance => ReceivingPhase::Filling,
        };
        let minimum_rtt = Duration::from_micros(record.minimum_rtt_us.into());
        Self {
            age: now.saturating_sub(Duration::from_nanos(record.since_ns)),
            group: record.group,
            control: unpadded(&record.control),
            window: record.window_bytes,
            delay_over_minimum: Duration::from_micros(report.delay_over_minimum_us.into()),
            threshold: Duration::from_micros(report.threshold_us.into()),
            yields: report.yields,
            gave_way: record.gave_way.into(),
            phase,
            signal: report.signal(),
            minimum_rtt: (record.minimum_rtt_us > 0).then_some(minimum_rtt),
        }
    }
}

/// The maps that hold records beside sockets, as far as there are any that this user may read.
struct Maps {
    flows: Option<SharedMap>,
    receptions: Option<SharedMap>,
}

impl Maps {
    fn open() -> Self {
        Self {
            flows: SharedMap::open("flows"),
            receptions: SharedMap::open("receptions"),
        }
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let maps = [&self.flows, &self.receptions];
        maps.into_iter().flatten().map(AsFd::as_fd).collect()
    }
}

/// Returns the value that a map has for a socket.
fn stored<'a>(socket: &'a TcpSocket, map: Option<&SharedMap>) -> Option<&'a [u8]> {
    let id = map?.id();
    let mut values = socket.storage.iter();
    values
        .find(|(of, _)| *of == id)
        .map(|(_, value)| &value[..])
}

/// State of the policy of one connection.
#[derive(Clone, Debug)]
pub struct PolicyState {
    /// Time since the control took over.
    pub age: Duration,
    /// Id of the cgroup whose settings set the control; 0 if set by other means.
    pub group: u64,
    /// Latest filtered delay minus the smallest known one.
    pub delay_over_minimum: Duration,
    /// Delay above the smallest one at which the control yields.
    pub threshold: Duration,
    /// Number of times the control yielded.
    pub yields: u32,
    /// `yields` by cause; zeros of controls that tell none.
    pub gave_way: GaveWay,
    /// Phase of the policy.
    pub phase: Phase,
    /// Source of the delay.
    pub signal: Signal,
    /// Target rate of dstcp, in bits per second.
    pub target: Option<u64>,
}

/// Lists the connections that have one of netnice's controls, or whose received data is governed as far as this user may
/// read that, the oldest first. Root sees those of all network
/// namespaces that a process is in or that are mounted, other users those of their own.
pub fn list() -> Result<Vec<Connection>> {
    let maps = Maps::open();
    let mut connections = if nix::unistd::geteuid().is_root() {
        let namespaces = namespaces::all();
        let found = namespaces::visit(&namespaces, |number| dump(number, &maps));
        found.map(|found| found.concat())
    } else {
        namespaces::own().and_then(|number| dump(number, &maps))
    }
    .map_err(Error::NoList)?;
    read_by_descriptor(&mut connections, &maps);
    connections.sort_by_key(|one| std::cmp::Reverse(one.age()));
    Ok(connections)
}

/// Returns the names of the congestion controls that the kernel has.
pub fn available_controls() -> Vec<String> {
    crate::objects::control::available()
}

/// Lists the connections of the calling thread's network namespace, which has this inode number.
fn dump(network_namespace: u32, maps: &Maps) -> io::Result<Vec<Connection>> {
    let wanted = maps.descriptors();
    let sockets = match sock_diag::tcp_sockets(&wanted) {
        // Only those with CAP_BPF may read maps this way.
        Err(error) if !wanted.is_empty() && error.raw_os_error() == Some(libc::EPERM) => {
            sock_diag::tcp_sockets(&[])
        }
        other => other,
    }?;
    let now = now()?;
    let mut connections = Vec::new();
    for socket in &sockets {
        let flow = stored(socket, maps.flows.as_ref()).and_then(read_record);
        let reception = stored(socket, maps.receptions.as_ref()).and_then(read_record);
        if is_ours(&socket.control) || reception.is_some() {
            let mut connection = Connection::from_socket(socket, network_namespace);
            connection.take(flow.as_ref(), reception.as_ref(), now);
            connections.push(connection);
        }
    }
    Ok(connections)
}

/// Returns the time of the clock that stamps records: `bpf_ktime_get_ns`.
fn now() -> io::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_MONOTONIC)?.into())
}

/// Returns the bytes of data that the peer has acknowledged, as `data_acked` of `bpf/connection.h` does.
fn data_acked(info: &TcpInfo) -> u64 {
    let sent = info.bytes_sent.saturating_sub(info.bytes_retrans);
    info.bytes_acked.min(sent)
}

/// Returns the bytes of data received. `bytes_received` also counts the peer's FIN as one byte.
fn data_received(state: u8, info: &TcpInfo) -> u64 {
    let fin = matches!(state, TCP_CLOSE_WAIT | TCP_LAST_ACK | TCP_CLOSING);
    info.bytes_received.saturating_sub(fin.into())
}

/// Fills in the records that the kernel did not list, if a descriptor of the socket can be copied.
fn read_by_descriptor(connections: &mut [Connection], maps: &Maps) {
    let unread = connections.iter().filter(|one| one.is_unread());
    let unread: HashSet<u64> = unread
        .map(|one| one.inode)
        .filter(|inode| *inode != 0)
        .collect();
    if unread.is_empty() {
        return;
    }
    let Ok(now) = now() else { return };
    let holders = process::holders(&unread);
    for connection in connections.iter_mut().filter(|one| one.is_unread()) {
        let Some(&(pid, descriptor)) = holders.get(&connection.inode) else {
            continue;
        };
        let copy = process::Handle::open(pid).and_then(|pid| pid.copy_descriptor(descriptor));
        if let Ok(copy) = copy {
            let flow = looked_up(maps.flows.as_ref(), &copy);
            let reception = looked_up(maps.receptions.as_ref(), &copy);
            connection.take(flow.as_ref(), reception.as_ref(), now);
        }
    }
}

/// Looks up the record of an open socket.
fn looked_up<T: bytemuck::Pod>(map: Option<&SharedMap>, socket: &OwnedFd) -> Option<T> {
    map?.lookup(&socket.as_raw_fd().to_ne_bytes())
}

impl Connection {
    /// Returns the directions that are governed; `None` if this user may not read that.
    pub fn governed(&self) -> Option<Governed> {
        match (&self.policy, &self.reception) {
            (Some(_), Some(_)) => Some(Governed::Both),
            (Some(_), None) => Some(Governed::Sender),
            (None, Some(_)) if is_ours(&self.control) => Some(Governed::Both),
            (None, Some(_)) => Some(Governed::Receiver),
            (None, None) => None,
        }
    }

    /// Returns the time since the connection was first governed.
    fn age(&self) -> Option<Duration> {
        let sending = self.policy.as_ref().map(|policy| policy.age);
        sending.max(self.reception.as_ref().map(|reception| reception.age))
    }

    /// Returns the id of the cgroup that gave it low priority, or where no cgroup did, or this user may not read which, of
    /// the one in which the socket was made; 0 if unknown.
    pub fn cgroup_of_settings(&self) -> u64 {
        match self.group() {
            Some(group) if group & OF_A_SUPERVISOR == 0 => group,
            _ => self.cgroup,
        }
    }

    /// Returns the group in whose sums the connection will be counted, if it belongs to one.
    pub fn group(&self) -> Option<u64> {
        let sending = self.policy.as_ref().map(|policy| policy.group);
        let receiving = self.reception.as_ref().map(|reception| reception.group);
        let groups = [sending, receiving].into_iter().flatten();
        groups.into_iter().find(|group| *group != 0)
    }

    fn is_unread(&self) -> bool {
        self.policy.is_none() && self.reception.is_none()
    }

    fn from_socket(socket: &TcpSocket, network_namespace: u32) -> Self {
        let (header, info) = (&socket.header, &socket.info);
        Self {
            cookie: header.cookie(),
            inode: header.inode.into(),
            cgroup: socket.cgroup,
            network_namespace,
            user: header.user,
            local: header.local(),
            remote: header.remote(),
            control: socket.control.clone(),
            cwnd: info.snd_cwnd,
            ssthresh: info.snd_ssthresh,
            mss: info.snd_mss,
            rtt: Duration::from_micros(info.rtt.into()),
            pacing_rate: info.pacing_rate,
            retransmitted: info.total_retrans,
            bytes_sent: data_acked(info),
            bytes_received: data_received(header.state, info),
            peer_sends_timestamps: info.options & TCPI_OPT_TIMESTAMPS != 0,
            policy: None,
            reception: None,
        }
    }

    /// Copies the records of the socket. A record that no control has started has no report.
    fn take(&mut self, flow: Option<&Flow>, reception: Option<&ReceptionRecord>, now: Duration) {
        self.reception = reception
            .filter(|record| record.group > 0)
            .map(|record| Reception::new(record, now));
        let Some(flow) = flow.filter(|flow| flow.since_ns > 0 && is_ours(&self.control)) else {
            return;
        };
        self.bytes_sent = self.bytes_sent.saturating_sub(flow.bytes_acked_at_start);
        self.bytes_received = (self.bytes_received).saturating_sub(flow.bytes_received_at_start);
        let report = &flow.report;
        self.policy = Some(PolicyState {
            age: now.saturating_sub(Duration::from_nanos(flow.since_ns)),
            group: flow.group,
            delay_over_minimum: Duration::from_micros(report.delay_over_minimum_us.into()),
            threshold: Duration::from_micros(report.threshold_us.into()),
            yields: report.yields,
            gave_way: flow.gave_way.into(),
            phase: report.phase(),
            signal: report.signal(),
            target: flow
                .parameters
                .member("target_bits_per_s")
                .filter(|target| *target > 0),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use bytemuck::Zeroable;

    use super::inet_diag::{InetMessage, SocketId};
    use super::*;
    use crate::abi::padded;
    use netnice_parameters::exchange::Report;

    fn socket() -> TcpSocket {
        let mapped = Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped();
        let mut info = TcpInfo::zeroed();
        // All data is acknowledged, and so are SYN and FIN; 300 bytes were retransmitted.
        info.bytes_acked = 5002;
        info.bytes_sent = 5300;
        info.bytes_retrans = 300;
        info.bytes_received = 701;
        info.options = 1;
        TcpSocket {
            header: InetMessage {
                family: libc::AF_INET6 as u8,
                state: TCP_CLOSE_WAIT,
                id: SocketId {
                    source_port: 40_000u16.to_be_bytes(),
                    destination_port: 443u16.to_be_bytes(),
                    source: Ipv6Addr::LOCALHOST.octets(),
                    destination: mapped.octets(),
                    cookie: [77, 1],
                    ..SocketId::zeroed()
                },
                user: 1000,
                inode: 12,
                ..InetMessage::zeroed()
            },
            control: "netnice".to_owned(),
            info,
            cgroup: 11,
            storage: Vec::new(),
        }
    }

    fn flow() -> Flow {
        Flow {
            group: 9,
            since_ns: 2_000_000_000,
            bytes_acked_at_start: 1000,
            bytes_received_at_start: 100,
            report: Report {
                delay_over_minimum_us: 1500,
                yields: 3,
                phase: 3,
                ..Report::zeroed()
            },
            ..Flow::zeroed()
        }
    }

    #[test]
    fn a_socket_and_its_record_become_a_connection() {
        let mut connection = Connection::from_socket(&socket(), 4);
        connection.take(Some(&flow()), None, Duration::from_secs(5));
        assert_eq!(connection.governed(), Some(Governed::Sender));
        assert_eq!(connection.remote.to_string(), "192.0.2.1:443");
        assert_eq!(connection.local.to_string(), "[::1]:40000");
        assert_eq!(
            (connection.cookie, connection.network_namespace),
            (77 + (1 << 32), 4)
        );
        assert_eq!(
            (connection.bytes_sent, connection.bytes_received),
            (4000, 600)
        );
        assert!(connection.peer_sends_timestamps);
        let policy = connection.policy.unwrap();
        assert_eq!(policy.age, Duration::from_secs(3));
        assert_eq!((policy.group, policy.yields), (9, 3));
        assert_eq!(policy.phase, Phase::Yielding);
        assert_eq!(policy.delay_over_minimum, Duration::from_micros(1500));
    }

    #[test]
    fn the_receiving_side_is_read_beside_the_sending_one() {
        let record = ReceptionRecord {
            group: 9,
            since_ns: 4_000_000_000,
            report: Report {
                delay_over_minimum_us: 2500,
                yields: 2,
                phase: 3,
                ..Report::zeroed()
            },
            window_bytes: 1152,
            minimum_rtt_us: 40_000,
            paused: 1,
            control: padded("hstcplp"),
            ..ReceptionRecord::zeroed()
        };
        let now = Duration::from_secs(5);
        for (control, flow, governed) in [
            ("netnice", Some(flow()), Governed::Both),
            ("cubic", None, Governed::Receiver),
        ] {
            let mut connection = Connection::from_socket(&socket(), 4);
            connection.control = control.to_owned();
            connection.take(flow.as_ref(), Some(&record), now);
            assert_eq!(connection.governed(), Some(governed));
            let reception = connection.reception.unwrap();
            assert_eq!(reception.age, Duration::from_secs(1));
            assert_eq!(reception.control, "hstcplp");
            assert_eq!(reception.phase, ReceivingPhase::Paused);
            assert_eq!((reception.window, reception.yields), (1152, 2));
            assert_eq!(reception.delay_over_minimum, Duration::from_micros(2500));
            assert_eq!(reception.minimum_rtt, Some(Duration::from_millis(40)));
        }
    }

    #[test]
    fn without_a_record_the_policys_state_is_not_known() {
        let mut unopened = flow();
        unopened.since_ns = 0;
        let whole = flow();
        let shorter = &bytemuck::bytes_of(&whole)[..size_of::<Flow>() - 1];
        for flow in [None, Some(unopened), read_record(shorter)] {
            let mut connection = Connection::from_socket(&socket(), 4);
            connection.take(flow.as_ref(), None, Duration::from_secs(5));
            assert!(connection.policy.is_none());
            assert_eq!(connection.governed(), None);
            assert_eq!(connection.bytes_sent, 5000);
        }
    }

    #[test]
    fn a_longer_record_is_read_as_far_as_it_is_known() {
        let mut longer = bytemuck::bytes_of(&flow()).to_vec();
        longer.extend([0xff; 8]);
        assert_eq!(read_record::<Flow>(&longer).unwrap().report.yields, 3);
    }
}
