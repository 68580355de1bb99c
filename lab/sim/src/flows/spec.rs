// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptions of flows for the simulator.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use netnice_congestion::congestion_control::CongestionControl;
use netnice_queue::Time;
use netnice_scenario::network::UnloadedPath;

use crate::flows::path::Path;
use crate::flows::web_paths::WebPaths;
use crate::labels::TcpLabels;
use crate::tcp::{LowPriority, Opener, ReceiverConfig, SenderConfig};
use crate::traffic::{Traffic, Web};

/// One flow, or one population of web sessions.
#[derive(Debug, Clone)]
pub struct FlowSpec {
    /// Name in results, and of its random stream. Should be unique.
    pub name: String,
    /// Class of strict priority, of drop counts and of sums in the results; 0 goes first.
    pub class: u8,
    /// Code point in traces (RFC 2474).
    pub dscp: u8,
    /// Bytes of headers in each packet: IP and transport.
    pub header_bytes: u16,
    /// When the program begins.
    pub start: Time,
    /// A uniformly random time from 0 to this is added.
    pub start_spread: Duration,
    /// The program writes nothing from here on.
    pub stop: Option<Time>,
    /// The program ends after so many bytes of data.
    pub bytes: Option<u64>,
    /// Its work and its transport.
    pub program: Program,
    /// Time series of the flow (cwnd and others) are recorded at the sampling interval.
    pub sampled: bool,
}

/// The work of a flow.
#[derive(Debug, Clone)]
pub enum Program {
    /// Each write is a packet, and nothing comes back.
    Udp {
        /// The way there.
        path: Path,
        /// When packets are sent. A bulk transfer is none.
        traffic: Traffic,
    },
    /// One TCP connection.
    Tcp {
        /// The way there and back.
        path: Path,
        /// When the program writes.
        traffic: Traffic,
        /// The connection.
        tcp: TcpSpec,
    },
    /// Web sessions, or arriving transfers; each object has a TCP connection of its own.
    Web {
        /// The ways between clients and servers; web sessions belong to clients in turn, and each transfer that arrives to one
        /// at random.
        paths: WebPaths,
        /// For each client the ways from each server with nobody else on them, for the slowdown of transfers; empty where it is not
        /// measured.
        unloaded: Vec<Vec<UnloadedPath>>,
        /// Sizes in bytes that divide the classes whose completion times are measured; `None` measures no classes.
        size_classes: Option<Vec<u64>>,
        /// The sessions.
        web: Web,
        /// The connections.
        tcp: TcpSpec,
    },
}

/// Makes the congestion control of a new connection.
pub type MakeControl = Arc<dyn Fn() -> Box<dyn CongestionControl> + Send + Sync>;

/// Configuration of TCP connections.
#[derive(Clone)]
pub struct TcpSpec {
    /// The sending end.
    pub sender: SenderConfig,
    /// The receiving end.
    pub receiver: ReceiverConfig,
    /// Low priority from the receiving end; `None` for a receiver that advertises what it has room for.
    pub low_priority: Option<LowPriority>,
    /// The congestion control.
    pub control: MakeControl,
}

impl fmt::Debug for TcpSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpSpec")
            .field("sender", &self.sender)
            .field("receiver", &self.receiver)
            .field("low_priority", &self.low_priority)
            .field("control", &(self.control)().name())
            .finish()
    }
}

impl TcpSpec {
    /// Parameters that the handshake of such a connection carries.
    pub(crate) fn labels(&self) -> TcpLabels {
        TcpLabels {
            mss: self.sender.mss,
            timestamps: self.sender.timestamps && self.receiver.timestamps,
            sack: self.receiver.sack,
            window_scale: self.receiver.window_scale,
            request_bytes: match self.receiver.opener {
                Opener::Sender => 0,
                Opener::Receiver => self.receiver.request_length,
            },
        }
    }
}

impl FlowSpec {
    /// A flow that begins at once and has 40 bytes of headers, 28 for UDP.
    pub fn new(name: impl Into<String>, program: Program) -> FlowSpec {
        FlowSpec {
            name: name.into(),
            class: 0,
            dscp: 0,
            header_bytes: if matches!(program, Program::Udp { .. }) {
                28
            } else {
                40
            },
            start: Time::ZERO,
            start_spread: Duration::ZERO,
            stop: None,
            bytes: None,
            program,
            sampled: false,
        }
    }
}
