// SPDX-License-Identifier: MIT OR Apache-2.0
//! Current low-priority connections, in all network namespaces that the reader may see.
//!
//! `sock_diag` lists them, as for `ss`: names of controls and `tcp_info` for all users. Root reads the policy's report
//! of each socket in the same answer. Other users read it through descriptors, for the sockets of processes that they
//! may trace (man 2 pidfd_getfd).

mod namespaces;
mod sock_diag;
mod totals;

use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use netlink_packet_sock_diag::constants::{
    TCP_CLOSE_WAIT, TCP_CLOSING, TCP_LAST_ACK, TCPI_OPT_TIMESTAMPS,
};
use netlink_packet_sock_diag::inet::nlas::TcpInfo;
pub use netnice_congestion::policy::{Phase, Signal};
use nix::time::{ClockId, clock_gettime};

use self::sock_diag::TcpSocket;
pub use self::totals::Sums;
pub(crate) use self::totals::{of_cookies, of_group};
use crate::abi::Flow;
use crate::error::{Error, Result};
use crate::objects::control::is_ours;
use crate::objects::shared_map::SharedMap;
use crate::sockets::process;

/// One low-priority connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Identifies the socket until the next boot.
    pub cookie: u64,
    /// Inode number of the socket's file, as in `/proc/PID/fd`; 0 once no process has it open.
    pub inode: u64,
    /// Inode number of the network namespace.
    pub network_namespace: u32,
    /// User id of the socket's creator.
    pub user: u32,
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
    /// Name of the congestion control.
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
    /// Phase of the policy.
    pub phase: Phase,
    /// Source of the delay.
    pub signal: Signal,
    /// Target rate of dstcp, in bits per second.
    pub target: Option<u64>,
}

/// Lists the connections that have one of netnice's controls, the oldest first. Root sees those of all network
/// namespaces that a process is in or that are mounted, other users those of their own.
pub fn list() -> Result<Vec<Connection>> {
    let flows = SharedMap::open("flows");
    let mut connections = if nix::unistd::geteuid().is_root() {
        let namespaces = namespaces::all();
        let found = namespaces::visit(&namespaces, |number| dump(number, flows.as_ref()));
        found.map(|found| found.concat())
    } else {
        namespaces::own().and_then(|number| dump(number, flows.as_ref()))
    }
    .map_err(Error::NoList)?;
    if let Some(flows) = &flows {
        read_by_descriptor(&mut connections, flows);
    }
    connections.sort_by_key(|one| std::cmp::Reverse(one.policy.as_ref().map(|policy| policy.age)));
    Ok(connections)
}

/// Lists the connections of the calling thread's network namespace, which has this inode number.
fn dump(network_namespace: u32, flows: Option<&SharedMap>) -> io::Result<Vec<Connection>> {
    let sockets = match sock_diag::tcp_sockets(flows.map(AsFd::as_fd)) {
        // Only those with CAP_BPF may read maps this way.
        Err(error) if flows.is_some() && error.raw_os_error() == Some(libc::EPERM) => {
            sock_diag::tcp_sockets(None)
        }
        other => other,
    }?;
    let now = now()?;
    let connections = sockets.iter().filter(|socket| is_ours(&socket.control));
    Ok(connections
        .map(|socket| Connection::from_socket(socket, network_namespace, now))
        .collect())
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
fn read_by_descriptor(connections: &mut [Connection], flows: &SharedMap) {
    let unread = connections.iter().filter(|one| one.policy.is_none());
    let unread: HashSet<u64> = unread
        .map(|one| one.inode)
        .filter(|inode| *inode != 0)
        .collect();
    if unread.is_empty() {
        return;
    }
    let Ok(now) = now() else { return };
    let holders = process::holders(&unread);
    for connection in connections.iter_mut().filter(|one| one.policy.is_none()) {
        let Some(&(pid, descriptor)) = holders.get(&connection.inode) else {
            continue;
        };
        let copy = process::Handle::open(pid).and_then(|pid| pid.copy_descriptor(descriptor));
        let flow = copy
            .ok()
            .and_then(|copy| flows.lookup(&copy.as_raw_fd().to_ne_bytes()));
        if let Some(flow) = flow {
            connection.take(&flow, now);
        }
    }
}

impl Connection {
    fn from_socket(socket: &TcpSocket, network_namespace: u32, now: Duration) -> Self {
        let (id, info) = (&socket.header.socket_id, &socket.info);
        let address = |address: IpAddr, port| SocketAddr::new(address.to_canonical(), port);
        let mut connection = Self {
            cookie: u64::from_ne_bytes(id.cookie),
            inode: socket.header.inode.into(),
            network_namespace,
            user: socket.header.uid,
            local: address(id.source_address, id.source_port),
            remote: address(id.destination_address, id.destination_port),
            control: socket.control.clone(),
            cwnd: info.snd_cwnd,
            ssthresh: info.snd_ssthresh,
            mss: info.snd_mss,
            rtt: Duration::from_micros(info.rtt.into()),
            pacing_rate: info.pacing_rate,
            retransmitted: info.total_retrans,
            bytes_sent: data_acked(info),
            bytes_received: data_received(socket.header.state, info),
            peer_sends_timestamps: info.options & TCPI_OPT_TIMESTAMPS != 0,
            policy: None,
        };
        if let Some(flow) = socket.storage.as_deref().and_then(Flow::from_bytes) {
            connection.take(&flow, now);
        }
        connection
    }

    /// Copies the record of the socket. A record that no control has started has no report.
    fn take(&mut self, flow: &Flow, now: Duration) {
        if flow.since_ns == 0 {
            return;
        }
        self.bytes_sent = self.bytes_sent.saturating_sub(flow.bytes_acked_at_start);
        self.bytes_received = (self.bytes_received).saturating_sub(flow.bytes_received_at_start);
        let report = &flow.report;
        self.policy = Some(PolicyState {
            age: now.saturating_sub(Duration::from_nanos(flow.since_ns)),
            group: flow.group,
            delay_over_minimum: Duration::from_micros(report.delay_over_minimum_us.into()),
            threshold: Duration::from_micros(report.threshold_us.into()),
            yields: report.yields,
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
    use netlink_packet_sock_diag::inet::{InetResponseHeader, SocketId};

    use super::*;
    use netnice_congestion::policy::Report;

    fn socket() -> TcpSocket {
        let mapped = Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped();
        let mut info = TcpInfo::parse(&[0; 256]).unwrap();
        // All data is acknowledged, and so are SYN and FIN; 300 bytes were retransmitted.
        info.bytes_acked = 5002;
        info.bytes_sent = 5300;
        info.bytes_retrans = 300;
        info.bytes_received = 701;
        info.options = 1;
        TcpSocket {
            header: InetResponseHeader {
                family: libc::AF_INET6 as u8,
                state: TCP_CLOSE_WAIT,
                timer: None,
                socket_id: SocketId {
                    source_port: 40_000,
                    destination_port: 443,
                    source_address: Ipv6Addr::LOCALHOST.into(),
                    destination_address: mapped.into(),
                    interface_id: 0,
                    cookie: 77u64.to_ne_bytes(),
                },
                recv_queue: 0,
                send_queue: 0,
                uid: 1000,
                inode: 12,
            },
            control: "netnice".to_owned(),
            info,
            storage: None,
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
        let mut socket = socket();
        socket.storage = Some(bytemuck::bytes_of(&flow()).to_vec());
        let connection = Connection::from_socket(&socket, 4, Duration::from_secs(5));
        assert_eq!(connection.remote.to_string(), "192.0.2.1:443");
        assert_eq!((connection.cookie, connection.network_namespace), (77, 4));
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
    fn without_a_record_the_policys_state_is_not_known() {
        let mut unopened = flow();
        unopened.since_ns = 0;
        let shorter = bytemuck::bytes_of(&flow())[..size_of::<Flow>() - 1].to_vec();
        for storage in [
            None,
            Some(bytemuck::bytes_of(&unopened).to_vec()),
            Some(shorter),
        ] {
            let socket = TcpSocket {
                storage,
                ..socket()
            };
            let connection = Connection::from_socket(&socket, 4, Duration::from_secs(5));
            assert!(connection.policy.is_none());
            assert_eq!(connection.bytes_sent, 5000);
        }
    }

    #[test]
    fn a_longer_record_is_read_as_far_as_it_is_known() {
        let mut longer = bytemuck::bytes_of(&flow()).to_vec();
        longer.extend([0xff; 8]);
        let socket = TcpSocket {
            storage: Some(longer),
            ..socket()
        };
        let connection = Connection::from_socket(&socket, 4, Duration::from_secs(5));
        assert_eq!(connection.policy.unwrap().yields, 3);
    }
}
