// SPDX-License-Identifier: MIT OR Apache-2.0
//! The low-priority connections of the moment, in all network namespaces that the reader may see.

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use libbpf_rs::MapCore;
pub use netnice_congestion::policy::{Phase, Signal};

use crate::control::Control;
use crate::error::{Context, Result};
use crate::flow::{Finished, Record, Totals, unpadded};
use crate::pins::{self, Pins};
use crate::programs::Set;

/// One low-priority connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Names the socket for as long as the kernel runs.
    pub cookie: u64,
    /// Of the socket's file, as in `/proc/PID/fd`; 0 once no process has it open.
    pub inode: u64,
    /// Inode number of the network namespace.
    pub network_namespace: u32,
    /// User id of who made the socket.
    pub user: u32,
    /// Our end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Name of the congestion control.
    pub control: String,
    /// Congestion window, in packets.
    pub cwnd: u32,
    /// Slow-start threshold, in packets.
    pub ssthresh: u32,
    /// Bytes of a full packet's data.
    pub mss: u16,
    /// Smoothed round-trip time.
    pub rtt: Duration,
    /// Rate at which the peer last acknowledged, in bytes per second.
    pub delivery_rate: u64,
    /// Rate that the kernel does not exceed, in bytes per second.
    pub pacing_rate: u64,
    /// Packets sent again.
    pub retransmitted: u32,
    /// Acknowledged by the peer since the control took over.
    pub bytes_sent: u64,
    /// Come in since the control took over.
    pub bytes_received: u64,
    /// For how long the control has had the connection.
    pub age: Duration,
    /// The cgroup, by id, whose settings put the control there; 0 if it was something else.
    pub group: u64,
    /// Latest filtered delay, above the smallest one known.
    pub delay_over_minimum: Duration,
    /// The delay above the smallest one that makes the control give way.
    pub threshold: Duration,
    /// How often the window was given up to others.
    pub yields: u32,
    /// What the connection is doing.
    pub phase: Phase,
    /// Where the delay comes from.
    pub signal: Signal,
    /// The target rate that dstcp was told, in bits per second.
    pub target: Option<u64>,
}

const LIST: &str = "netnice_list";
const ENDED: &str = "netnice_ended";

fn programs() -> Set {
    Set::new("connections")
}

/// Loads and pins what lists the connections, unless it is there already. From then on anybody
/// may [`list`] them.
pub fn load(pins: &Pins) -> Result<()> {
    if programs().is_pinned(pins) {
        return Ok(());
    }
    programs().load(&pins.while_loading()?, pins, |loaded, directory| {
        for (name, map) in [(LIST, "flows"), (ENDED, "finished")] {
            let map = loaded.maps().find(|known| known.name() == map);
            let map = map.expect("maps.h declares the map");
            let program = loaded.progs_mut().find(|program| program.name() == name);
            let program = program.expect("connections.bpf.c has the program");
            let mut iterator = program.attach_iter(map.as_fd())?;
            let pin = directory.join(name);
            iterator.pin(&pin)?;
            // The programs themselves show a reader no more than is the reader's to see.
            fs::set_permissions(&pin, Permissions::from_mode(0o444))
                .map_err(libbpf_rs::Error::from)?;
        }
        Ok(())
    })
}

/// Whether [`list`] can tell: whether root has loaded the means.
pub fn can_be_listed() -> bool {
    programs().find(&pins::home().join("bpf"), LIST).is_some()
}

/// Lists the connections that have one of our controls. Where the means have not been loaded
/// there seem to be none. Who is not root sees those of the own network namespace.
pub fn list() -> Result<Vec<Connection>> {
    let Some(pin) = programs().find(&pins::home().join("bpf"), LIST) else {
        return Ok(Vec::new());
    };
    let bytes =
        fs::read(&pin).doing(|| format!("reading the list of connections at {}", pin.display()))?;
    let mut connections = parse(&bytes);
    connections.sort_by_key(|connection| std::cmp::Reverse(connection.age));
    Ok(connections)
}

/// Sums over the connections of a group that are still open.
pub(crate) fn open_totals(group: u64) -> Result<Totals> {
    let open = list()?;
    Ok(sums(open.iter().filter(|one| one.group == group)))
}

/// Sums over the connections with these cookies that belong to no group, open or finished.
pub(crate) fn totals_of(cookies: &HashSet<u64>) -> Result<Totals> {
    let Some(pin) = programs().find(&pins::home().join("bpf"), ENDED) else {
        return Ok(Totals::default());
    };
    let open = list()?;
    let mut sums = sums(open.iter().filter(|one| cookies.contains(&one.cookie)));
    // Read later, so that none that ends meanwhile is missed.
    let bytes = fs::read(&pin).doing(|| format!("reading {}", pin.display()))?;
    for finished in bytes.chunks_exact(size_of::<Finished>()) {
        let finished: Finished = bytemuck::pod_read_unaligned(finished);
        let counted = open.iter().any(|one| one.cookie == finished.cookie);
        if cookies.contains(&finished.cookie) && !counted {
            sums.add(&finished.totals);
        }
    }
    Ok(sums)
}

fn sums<'a>(connections: impl Iterator<Item = &'a Connection>) -> Totals {
    let mut sums = Totals::default();
    for connection in connections {
        sums.add(&Totals {
            sockets: 1,
            bytes_sent: connection.bytes_sent,
            bytes_received: connection.bytes_received,
            yields: connection.yields.into(),
            without_timestamps: (connection.signal == Signal::RoundTrip).into(),
        });
    }
    sums
}

/// Records of a newer version may be longer, those of an older one shorter: the rest is zero.
fn parse(mut bytes: &[u8]) -> Vec<Connection> {
    let mut connections = Vec::new();
    while let Some(size) = bytes
        .first_chunk::<4>()
        .map(|size| u32::from_ne_bytes(*size))
    {
        let Some((record, rest)) = bytes.split_at_checked(size.max(4) as usize) else {
            break;
        };
        let mut whole = [0; size_of::<Record>()];
        let shared = whole.len().min(record.len());
        whole[..shared].copy_from_slice(&record[..shared]);
        connections.extend(Connection::from_record(&bytemuck::cast(whole)));
        bytes = rest;
    }
    connections
}

impl Connection {
    /// `None` if the socket listens, has another control by now, or is not connected yet.
    fn from_record(record: &Record) -> Option<Self> {
        const SYN_SENT: u32 = 2;
        const CLOSE: u32 = 7;
        const LISTEN: u32 = 10;
        let control = unpadded(&record.control);
        let ours = Control::all().any(|known| known.name() == control);
        if !ours || matches!(record.state, SYN_SENT | CLOSE | LISTEN) {
            return None;
        }
        let interval = u64::from(record.delivered_interval_us);
        let bytes = u64::from(record.delivered) * u64::from(record.mss);
        Some(Self {
            cookie: record.cookie,
            inode: record.inode,
            network_namespace: record.network_namespace,
            user: record.user,
            local: address(record.family, &record.local_address, record.local_port),
            remote: address(record.family, &record.remote_address, record.remote_port),
            control,
            cwnd: record.cwnd,
            ssthresh: record.ssthresh,
            mss: record.mss,
            rtt: Duration::from_micros(record.smoothed_rtt_us.into()),
            delivery_rate: (bytes * 1_000_000).checked_div(interval).unwrap_or(0),
            pacing_rate: record.pacing_rate,
            retransmitted: record.retransmitted,
            bytes_sent: record.bytes_acked,
            bytes_received: record.bytes_received,
            age: Duration::from_nanos(record.age_ns),
            group: record.group,
            delay_over_minimum: Duration::from_micros(record.report.delay_over_minimum_us.into()),
            threshold: Duration::from_micros(record.report.threshold_us.into()),
            yields: record.report.yields,
            phase: Phase::from_number(record.report.phase),
            signal: Signal::from_number(record.report.signal),
            target: Some(record.target_bits_per_s).filter(|target| *target > 0),
        })
    }
}

/// An IPv4 address that an IPv6 socket is connected to is shown as what it is.
fn address(family: u16, bytes: &[u8; 16], port: u16) -> SocketAddr {
    let address = if i32::from(family) == libc::AF_INET {
        IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]))
    } else {
        IpAddr::V6(Ipv6Addr::from(*bytes)).to_canonical()
    };
    SocketAddr::new(address, port)
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;
    use crate::flow::padded;

    fn record() -> Record {
        let mut record = Record {
            size: size_of::<Record>() as u32,
            state: 1,
            family: libc::AF_INET as u16,
            remote_port: 443,
            mss: 1000,
            control: padded("netnice"),
            delivered: 30,
            delivered_interval_us: 20_000,
            ..Record::zeroed()
        };
        record.remote_address[..4].copy_from_slice(&[192, 0, 2, 1]);
        record
    }

    #[test]
    fn a_record_becomes_a_connection() {
        let connections = parse(bytemuck::bytes_of(&record()));
        assert_eq!(connections.len(), 1);
        assert_eq!(connections[0].remote.to_string(), "192.0.2.1:443");
        // 30 packets of 1000 bytes in 20 ms.
        assert_eq!(connections[0].delivery_rate, 1_500_000);
    }

    #[test]
    fn records_of_other_versions_are_understood_as_far_as_they_go() {
        let mut longer = record();
        longer.size += 8;
        let mut bytes = bytemuck::bytes_of(&longer).to_vec();
        bytes.extend([0xff; 8]);
        let mut shorter = record();
        shorter.size = std::mem::offset_of!(Record, report) as u32;
        shorter.report.yields = 9;
        bytes.extend(&bytemuck::bytes_of(&shorter)[..shorter.size as usize]);
        let connections = parse(&bytes);
        assert_eq!(connections.len(), 2);
        assert_eq!(connections[1].yields, 0);
    }

    #[test]
    fn what_is_not_a_low_priority_connection_is_left_out() {
        let mut listening = record();
        listening.state = 10;
        let mut moved = record();
        moved.control = padded("cubic");
        for record in [listening, moved] {
            assert!(parse(bytemuck::bytes_of(&record)).is_empty());
        }
        assert!(parse(&[1, 0, 0]).is_empty());
        assert!(parse(&[0; 64]).is_empty());
    }
}
