// SPDX-License-Identifier: MIT OR Apache-2.0
//! State of the programs' connections.

use netnice_queue::Time;
use netnice_scenario::network::UnloadedPath;
use netnice_sim::traffic::{Session, Web};
use socket2::Socket;

use crate::tcp_info::TcpInfo;

/// A sender's socket.
pub(super) struct Sender {
    pub(super) flow: usize,
    pub(super) socket: Socket,
    /// Bytes that the program has written and the socket has not accepted.
    pub(super) to_write: u64,
    /// The program will write no more.
    pub(super) complete: bool,
    pub(super) shut: bool,
    /// `TCP_INFO` when it was last read.
    pub(super) info: TcpInfo,
    /// Early indications answered, at the last reading.
    pub(super) yields: u32,
}

/// A web session of one client.
pub(super) struct WebSession {
    pub(super) session: Session,
    pub(super) web: Web,
    pub(super) flow: usize,
    /// For each client the paths from each server with nobody else on them; empty where slowdown is not measured.
    pub(super) unloaded: Vec<Vec<UnloadedPath>>,
    pub(super) request_bytes: usize,
}

/// Connection of a server.
pub(super) struct WebServer {
    pub(super) flow: usize,
    pub(super) socket: Socket,
    pub(super) begun: Option<Time>,
    pub(super) request: Vec<u8>,
    pub(super) head: Vec<u8>,
    pub(super) body: u64,
    pub(super) shut: bool,
}

/// Connection of a client.
pub(super) struct WebClient {
    pub(super) session: usize,
    pub(super) socket: Socket,
    pub(super) asked: Time,
    /// Nanoseconds that the transfer takes with nobody else on the path.
    pub(super) unloaded: Option<u64>,
    pub(super) request: Vec<u8>,
    pub(super) bytes: u64,
    /// Bytes of the response still to come.
    pub(super) left: u64,
    /// The response began with the expected status line.
    pub(super) good: bool,
}

impl WebServer {
    pub(super) fn new(flow: usize, socket: Socket) -> WebServer {
        WebServer {
            flow,
            socket,
            begun: None,
            request: Vec::new(),
            head: Vec::new(),
            body: 0,
            shut: false,
        }
    }
}

/// Sums over the probes of a flow's connection. Recoveries and reactions that begin and end between two probes are
/// missed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Probe {
    windows: f64,
    looks: u64,
    /// Expirations of the RTO.
    pub(crate) timeouts: u64,
    /// Fast recoveries begun.
    pub(crate) recoveries: u64,
    /// Window reductions for ECN marks.
    pub(crate) ecn_reactions: u64,
    /// Early indications that one of netnice's low-priority controls has answered.
    pub(crate) early_indications: u64,
}

impl Probe {
    /// Returns the mean congestion window, in packets; 0 without probes.
    pub(crate) fn mean_cwnd(&self) -> f64 {
        self.windows / self.looks.max(1) as f64
    }

    pub(super) fn look(&mut self, info: &TcpInfo, before: &TcpInfo) {
        self.windows += f64::from(info.cwnd);
        self.looks += 1;
        self.recoveries += u64::from(info.has_begun_recovery_since(before));
        self.ecn_reactions += u64::from(info.has_reacted_to_ecn_since(before));
        let timeouts = |info: &TcpInfo| info.timeouts.unwrap_or_default();
        self.timeouts += timeouts(info).saturating_sub(timeouts(before));
    }
}
