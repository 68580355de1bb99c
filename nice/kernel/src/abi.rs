// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface of user space and the BPF programs: the structs of `bpf/abi.h`, byte for byte.

use bytemuck::{Pod, Zeroable};
use netnice_parameters::exchange::{CAUSES, GaveWay, Parameters, Report};

/// DSCP of the Lower-Effort per-hop behaviour (RFC 8622).
pub const DSCP_LOWER_EFFORT: u8 = 1;

/// Makes the programs leave the DSCP of sockets unchanged.
pub(crate) const DSCP_UNCHANGED: u8 = 0xff;

/// `struct attachment`: the settings of a cgroup for its sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Attachment {
    pub(crate) group: u64,
    pub(crate) control: [u8; 16],
    pub(crate) dscp: u8,
    pub(crate) reserved: [u8; 7],
    pub(crate) parameters: Parameters,
}

/// `struct flow`: the record of each governed socket beside the control's own state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Flow {
    pub(crate) group: u64,
    pub(crate) since_ns: u64,
    pub(crate) bytes_acked_at_start: u64,
    pub(crate) bytes_received_at_start: u64,
    pub(crate) parameters: Parameters,
    pub(crate) unguarded: u8,
    pub(crate) reserved: [u8; 7],
    pub(crate) previous: [u8; 16],
    pub(crate) report: Report,
    pub(crate) gave_way: [u32; CAUSES],
}

/// `struct reception_record`: the beginning of the state of each socket that receives at low priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ReceptionRecord {
    pub(crate) group: u64,
    pub(crate) since_ns: u64,
    pub(crate) report: Report,
    pub(crate) window_bytes: u32,
    pub(crate) minimum_rtt_us: u32,
    pub(crate) paused: u8,
    pub(crate) reserved: [u8; 7],
    pub(crate) control: [u8; 16],
    pub(crate) gave_way: [u32; CAUSES],
}

/// `struct utp_group`: the settings of a cgroup for uTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct UtpGroup {
    pub(crate) parameters: Parameters,
    pub(crate) sends: u8,
    pub(crate) receives: u8,
    pub(crate) reserved: [u8; 6],
}

/// Reads a record from a value of a map. A newer version's value may be longer; a shorter one is unreadable.
pub(crate) fn read_record<T: Pod>(value: &[u8]) -> Option<T> {
    value
        .get(..size_of::<T>())
        .map(bytemuck::pod_read_unaligned)
}

/// Sums over connections of a group (`struct totals`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Totals {
    /// Connections that ran under one of netnice's controls.
    pub sockets: u64,
    /// Bytes that the peers have acknowledged.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Number of times the connections yielded to others.
    pub yields: u64,
    /// Connections whose peer sends no timestamps.
    pub without_timestamps: u64,
    /// Connections whose received data was governed, whatever control they had.
    pub receiving_sockets: u64,
    /// Bytes that these received.
    pub receiving_bytes: u64,
    /// Number of times these yielded to others.
    pub receiving_yields: u64,
    /// Connections on which the control could not be set.
    pub refused: u64,
    /// Number of times others put another control on a connection.
    pub displaced: u64,
    /// Number of times that was undone at once.
    pub restored: u64,
    /// `yields` by cause; zeros of controls that tell none.
    pub gave_way: GaveWay,
    /// `receiving_yields` by cause.
    pub receiving_gave_way: GaveWay,
    /// Connections over uTP that were recognised and governed.
    pub utp_connections: u64,
    /// Bytes of data in packets that left on these, retransmissions included.
    pub utp_bytes_sent: u64,
    /// Bytes of data in packets that arrived on these.
    pub utp_bytes_received: u64,
    /// Number of times these yielded to others, in both directions.
    pub utp_yields: u64,
    /// Bytes of large packets of other UDP that left.
    pub udp_bytes_sent: u64,
    /// Bytes of large packets of other UDP that arrived.
    pub udp_bytes_received: u64,
    /// Packets of other UDP of any size that left, whether or not it is governed.
    pub udp_packets_sent: u64,
}

impl Totals {
    /// Fewest packets of other UDP that netnice reports: DNS queries are fewer.
    const MENTIONED: u64 = 200;

    /// Returns true if the group has moved enough over other UDP for a report.
    pub fn moved_other_udp(&self) -> bool {
        self.udp_bytes_sent + self.udp_bytes_received > 0
            || self.udp_packets_sent >= Self::MENTIONED
    }

    /// Adds the sums over other connections.
    pub fn add(&mut self, other: &Self) {
        self.sockets += other.sockets;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.yields += other.yields;
        self.without_timestamps += other.without_timestamps;
        self.receiving_sockets += other.receiving_sockets;
        self.receiving_bytes += other.receiving_bytes;
        self.receiving_yields += other.receiving_yields;
        self.refused += other.refused;
        self.displaced += other.displaced;
        self.restored += other.restored;
        self.gave_way.add(&other.gave_way);
        self.receiving_gave_way.add(&other.receiving_gave_way);
        self.utp_connections += other.utp_connections;
        self.utp_bytes_sent += other.utp_bytes_sent;
        self.utp_bytes_received += other.utp_bytes_received;
        self.utp_yields += other.utp_yields;
        self.udp_bytes_sent += other.udp_bytes_sent;
        self.udp_bytes_received += other.udp_bytes_received;
        self.udp_packets_sent += other.udp_packets_sent;
    }

    /// Returns how often a connection was left with a control that is not the cgroup's.
    pub fn ungoverned(&self) -> u64 {
        self.refused + self.displaced.saturating_sub(self.restored)
    }

    /// Returns true if the direction that root alone has at low priority moved most.
    pub fn mostly_received(&self) -> bool {
        self.bytes_received > 4 * self.bytes_sent.max(10_000)
    }

    /// Returns what has been added since `earlier`; 0 where the earlier sum is larger.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            sockets: self.sockets.saturating_sub(earlier.sockets),
            bytes_sent: self.bytes_sent.saturating_sub(earlier.bytes_sent),
            bytes_received: self.bytes_received.saturating_sub(earlier.bytes_received),
            yields: self.yields.saturating_sub(earlier.yields),
            without_timestamps: (self.without_timestamps)
                .saturating_sub(earlier.without_timestamps),
            receiving_sockets: (self.receiving_sockets).saturating_sub(earlier.receiving_sockets),
            receiving_bytes: self.receiving_bytes.saturating_sub(earlier.receiving_bytes),
            receiving_yields: (self.receiving_yields).saturating_sub(earlier.receiving_yields),
            refused: self.refused.saturating_sub(earlier.refused),
            displaced: self.displaced.saturating_sub(earlier.displaced),
            restored: self.restored.saturating_sub(earlier.restored),
            gave_way: self.gave_way.since(&earlier.gave_way),
            receiving_gave_way: (self.receiving_gave_way).since(&earlier.receiving_gave_way),
            utp_connections: (self.utp_connections).saturating_sub(earlier.utp_connections),
            utp_bytes_sent: self.utp_bytes_sent.saturating_sub(earlier.utp_bytes_sent),
            utp_bytes_received: (self.utp_bytes_received)
                .saturating_sub(earlier.utp_bytes_received),
            utp_yields: self.utp_yields.saturating_sub(earlier.utp_yields),
            udp_bytes_sent: self.udp_bytes_sent.saturating_sub(earlier.udp_bytes_sent),
            udp_bytes_received: (self.udp_bytes_received)
                .saturating_sub(earlier.udp_bytes_received),
            udp_packets_sent: (self.udp_packets_sent).saturating_sub(earlier.udp_packets_sent),
        }
    }
}

/// `struct finished`: sums of a connection that belongs to no group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Finished {
    pub(crate) totals: Totals,
}

/// Returns a name in the kernel's form: NUL-padded, 15 characters at most.
pub(crate) fn padded(name: &str) -> [u8; 16] {
    let mut padded = [0; 16];
    let length = name.len().min(15);
    padded[..length].copy_from_slice(&name.as_bytes()[..length]);
    padded
}

/// Returns a name from the kernel's form.
pub(crate) fn unpadded(name: &[u8; 16]) -> String {
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(16);
    String::from_utf8_lossy(&name[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use libbpf_rs::btf::types::{MemberAttr, Struct};
    use libbpf_rs::btf::{Btf, HasSize};
    use netnice_parameters::decisions::Transition;

    use super::*;

    /// Returns the size of a struct, and the names and offsets of its members, as clang compiled it.
    fn layout(types: &Btf<'_>, name: &str) -> (usize, Vec<(String, usize)>) {
        let found: Struct<'_> = types.type_by_name(name).unwrap();
        let members = found.iter().map(|member| {
            let MemberAttr::Normal { offset } = member.attr else {
                panic!("{name} has a bit field");
            };
            let name = member.name.unwrap().to_str().unwrap();
            (name.to_owned(), offset as usize / 8)
        });
        (found.size(), members.collect())
    }

    /// Compares a struct with its mirror. A missing member does not compile.
    macro_rules! assert_mirror {
        ($types:expr, $name:literal, $mirror:ident { $($member:ident),* }) => {
            let _all = |$mirror { $($member: _),* }: $mirror| ();
            let members = [$((stringify!($member).to_owned(), offset_of!($mirror, $member))),*];
            assert_eq!(layout($types, $name), (size_of::<$mirror>(), members.to_vec()));
        };
    }

    #[test]
    #[rustfmt::skip]
    fn structs_are_those_of_the_programs() {
        let types = Btf::from_path(concat!(env!("OUT_DIR"), "/netnice.bpf.o")).unwrap();
        assert_mirror!(&types, "flow", Flow {
            group, since_ns, bytes_acked_at_start, bytes_received_at_start, parameters, unguarded,
            reserved, previous, report, gave_way
        });
        assert_mirror!(&types, "totals", Totals {
            sockets, bytes_sent, bytes_received, yields, without_timestamps, receiving_sockets,
            receiving_bytes, receiving_yields, refused, displaced, restored, gave_way, receiving_gave_way,
            utp_connections, utp_bytes_sent, utp_bytes_received, utp_yields, udp_bytes_sent,
            udp_bytes_received, udp_packets_sent
        });
        assert_mirror!(&types, "finished", Finished { totals });
        assert_mirror!(&types, "decision", Transition {
            time_ns, connection, number, moves, window_before, window_after, queue_us, threshold_us,
            before, after, reason, at_receiver, reserved
        });
        assert_mirror!(&types, "policy_report", Report {
            delay_over_minimum_us, threshold_us, yields, phase, signal, published
        });
        let types = Btf::from_path(concat!(env!("OUT_DIR"), "/attachment.bpf.o")).unwrap();
        assert_mirror!(&types, "attachment", Attachment {
            group, control, dscp, reserved, parameters
        });
        let types = Btf::from_path(concat!(env!("OUT_DIR"), "/receive_netnice.bpf.o")).unwrap();
        assert_mirror!(&types, "reception_record", ReceptionRecord {
            group, since_ns, report, window_bytes, minimum_rtt_us, paused, reserved, control, gave_way
        });
        let types = Btf::from_path(concat!(env!("OUT_DIR"), "/utp.bpf.o")).unwrap();
        assert_mirror!(&types, "utp_group", UtpGroup { parameters, sends, receives, reserved });
    }

    #[test]
    fn names_survive_the_kernels_form() {
        assert_eq!(unpadded(&padded("netnice")), "netnice");
        assert_eq!(
            unpadded(&padded("longer_than_the_kernel_allows")),
            "longer_than_the"
        );
    }
}
