// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structs and constants of the kernel's interface to TCP sockets, from linux/inet_diag.h, linux/sock_diag.h,
//! linux/tcp.h and net/tcp_states.h.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use bytemuck::{Pod, Zeroable};

pub(super) const SOCK_DIAG_BY_FAMILY: u16 = 20;
pub(super) const INET_DIAG_REQ_SK_BPF_STORAGES: u16 = 2;
pub(super) const SK_DIAG_BPF_STORAGE_REQ_MAP_FD: u16 = 1;
pub(super) const INET_DIAG_INFO: u16 = 2;
pub(super) const INET_DIAG_CONG: u16 = 4;
pub(super) const INET_DIAG_SK_BPF_STORAGES: u16 = 20;
pub(super) const INET_DIAG_CGROUP_ID: u16 = 21;
pub(super) const SK_DIAG_BPF_STORAGE: u16 = 1;
pub(super) const SK_DIAG_BPF_STORAGE_MAP_ID: u16 = 2;
pub(super) const SK_DIAG_BPF_STORAGE_MAP_VALUE: u16 = 3;

pub(super) const TCP_ESTABLISHED: u8 = 1;
pub(super) const TCP_FIN_WAIT1: u8 = 4;
pub(super) const TCP_FIN_WAIT2: u8 = 5;
pub(super) const TCP_CLOSE_WAIT: u8 = 8;
pub(super) const TCP_LAST_ACK: u8 = 9;
pub(super) const TCP_CLOSING: u8 = 11;

/// Bit of `TcpInfo::options`: both ends send timestamps (RFC 7323).
pub(super) const TCPI_OPT_TIMESTAMPS: u8 = 1;

/// `struct inet_diag_sockid`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct SocketId {
    pub(super) source_port: [u8; 2],
    pub(super) destination_port: [u8; 2],
    pub(super) source: [u8; 16],
    pub(super) destination: [u8; 16],
    pub(super) interface: u32,
    /// The lower half first.
    pub(super) cookie: [u32; 2],
}

/// `struct inet_diag_req_v2`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct InetRequest {
    pub(super) family: u8,
    pub(super) protocol: u8,
    /// Bit N - 1 asks for attribute N.
    pub(super) extensions: u8,
    pub(super) reserved: u8,
    /// Bit N asks for sockets in state N.
    pub(super) states: u32,
    pub(super) id: SocketId,
}

/// `struct inet_diag_msg`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct InetMessage {
    pub(super) family: u8,
    pub(super) state: u8,
    pub(super) timer: u8,
    pub(super) retransmissions: u8,
    pub(super) id: SocketId,
    pub(super) expires: u32,
    pub(super) receive_queue: u32,
    pub(super) send_queue: u32,
    pub(super) user: u32,
    pub(super) inode: u32,
}

impl InetMessage {
    pub(super) fn cookie(&self) -> u64 {
        let [low, high] = self.id.cookie.map(u64::from);
        low | high << 32
    }

    /// IPv4 addresses that an IPv6 socket has are returned as such.
    pub(super) fn local(&self) -> SocketAddr {
        self.address(self.id.source, self.id.source_port)
    }

    pub(super) fn remote(&self) -> SocketAddr {
        self.address(self.id.destination, self.id.destination_port)
    }

    fn address(&self, address: [u8; 16], port: [u8; 2]) -> SocketAddr {
        let [a, b, c, d, ..] = address;
        let address = if i32::from(self.family) == libc::AF_INET {
            IpAddr::from(Ipv4Addr::new(a, b, c, d))
        } else {
            Ipv6Addr::from(address).to_canonical()
        };
        SocketAddr::new(address, u16::from_be_bytes(port))
    }
}

/// The beginning of `struct tcp_info`, which grows with the kernel. Times are in microseconds.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct TcpInfo {
    pub(super) state: u8,
    pub(super) congestion_state: u8,
    pub(super) retransmits: u8,
    pub(super) probes: u8,
    pub(super) backoff: u8,
    pub(super) options: u8,
    pub(super) window_scales: u8,
    pub(super) flags: u8,
    pub(super) rto: u32,
    pub(super) ato: u32,
    pub(super) snd_mss: u32,
    pub(super) rcv_mss: u32,
    pub(super) unacked: u32,
    pub(super) sacked: u32,
    pub(super) lost: u32,
    pub(super) retrans: u32,
    pub(super) fackets: u32,
    pub(super) last_data_sent: u32,
    pub(super) last_ack_sent: u32,
    pub(super) last_data_recv: u32,
    pub(super) last_ack_recv: u32,
    pub(super) pmtu: u32,
    pub(super) rcv_ssthresh: u32,
    pub(super) rtt: u32,
    pub(super) rttvar: u32,
    pub(super) snd_ssthresh: u32,
    pub(super) snd_cwnd: u32,
    pub(super) advmss: u32,
    pub(super) reordering: u32,
    pub(super) rcv_rtt: u32,
    pub(super) rcv_space: u32,
    pub(super) total_retrans: u32,
    pub(super) pacing_rate: u64,
    pub(super) max_pacing_rate: u64,
    pub(super) bytes_acked: u64,
    pub(super) bytes_received: u64,
    pub(super) segs_out: u32,
    pub(super) segs_in: u32,
    pub(super) notsent_bytes: u32,
    pub(super) min_rtt: u32,
    pub(super) data_segs_in: u32,
    pub(super) data_segs_out: u32,
    pub(super) delivery_rate: u64,
    pub(super) busy_time: u64,
    pub(super) rwnd_limited: u64,
    pub(super) sndbuf_limited: u64,
    pub(super) delivered: u32,
    pub(super) delivered_ce: u32,
    pub(super) bytes_sent: u64,
    pub(super) bytes_retrans: u64,
}
