// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections of programs, and what is known of each.

use netnice_queue::Time;
use netnice_sim::traffic::{Session, Web};
use socket2::Socket;

use crate::experiment::tcp_info::TcpInfo;

/// A sender's socket.
pub(super) struct Sender {
    pub(super) flow: usize,
    pub(super) socket: Socket,
    /// Bytes that the program has written and the socket has not taken.
    pub(super) to_write: u64,
    /// No more will be written.
    pub(super) complete: bool,
    pub(super) shut: bool,
    /// `TCP_INFO` when it was last read.
    pub(super) info: TcpInfo,
    /// Early indications answered when they were last read.
    pub(super) yields: u32,
}

/// A session, at work for one client.
pub(super) struct WebSession {
    pub(super) session: Session,
    pub(super) web: Web,
    pub(super) flow: usize,
    /// Its client among the flow's receivers.
    pub(super) client: usize,
    pub(super) request_bytes: usize,
}

/// A server's connection.
pub(super) struct WebServer {
    pub(super) flow: usize,
    pub(super) socket: Socket,
    pub(super) begun: Option<Time>,
    pub(super) request: Vec<u8>,
    pub(super) head: Vec<u8>,
    pub(super) body: u64,
    pub(super) shut: bool,
}

/// A client's connection.
pub(super) struct WebClient {
    pub(super) session: usize,
    pub(super) socket: Socket,
    pub(super) asked: Time,
    pub(super) request: Vec<u8>,
    pub(super) bytes: u64,
    /// Bytes of the whole answer that are still to come.
    pub(super) left: u64,
    /// The answer has begun as it should.
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

/// The looks at a flow's connection, summed up. Recoveries and reactions that began and ended between two looks
/// are missed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Probe {
    windows: f64,
    looks: u64,
    /// Expirations of the RTO.
    pub(crate) timeouts: u64,
    /// Fast recoveries begun.
    pub(crate) recoveries: u64,
    /// Reductions for ECN marks.
    pub(crate) ecn_reactions: u64,
    /// Early indications that a low-priority control of ours has answered.
    pub(crate) early_indications: u64,
}

impl Probe {
    /// Mean congestion window, in packets; 0 where there was none.
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
