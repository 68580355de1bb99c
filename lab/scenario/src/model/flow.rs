// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows: who sends to whom, by which transport.

use netnice_queue::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{
    Application, CongestionControl, Dscp, ReceiverControl, TimeSpan, TrafficClass,
    congestion_control,
};

/// A flow, or a group of flows that differ only in their hosts and random draws.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Name in results and sweeps.
    pub name: String,
    /// Where the data comes from: a node, or a group whose hosts are taken in turn.
    pub from: String,
    /// Where the data goes.
    pub to: String,
    /// The data goes from `to` to `from` instead.
    #[serde(default)]
    pub reverse: bool,
    /// Number of flows; where it is not given, one for each host of the larger of the two groups. With 0 it is left out.
    #[serde(default)]
    #[schemars(schema_with = "count_or_parameter")]
    pub count: Option<u32>,
    /// Transport protocol.
    #[serde(default)]
    pub transport: Transport,
    /// Congestion control of a TCP flow: a name, or a table of `name` and its parameters. `reno` where it is not given.
    #[serde(default)]
    #[schemars(schema_with = "congestion_control::schema")]
    pub congestion_control: CongestionControl,
    /// Control of the window that the receiver of a TCP flow advertises: `netnice` gives the flow low priority from its
    /// receiving end, `plain` advertises what there is room for.
    #[serde(default)]
    pub receiver: ReceiverControl,
    /// Full packet as it is on the link, headers included.
    #[serde(default = "packet_size")]
    pub packet_size: Bytes,
    /// Headers of the network and transport layers in each packet; an ACK has nothing else. Where it is not given, 40
    /// bytes for TCP, 52 with timestamps, 28 for UDP.
    pub header_size: Option<Bytes>,
    /// When the flow begins.
    #[serde(default)]
    pub start: TimeSpan,
    /// Each flow begins later by a random time from 0 to this, uniform.
    #[serde(default)]
    pub start_spread: TimeSpan,
    /// When the application stops sending; the end of the run where it is not given.
    pub stop: Option<TimeSpan>,
    /// The application sends so many bytes, and ends.
    pub bytes: Option<Bytes>,
    /// Deadline, from the beginning of the run: the `bytes` of all flows of this name are to be sent by then. They have low priority by
    /// `netnice` until that needs a floor, as with `netnice run --by`. Simulated.
    pub by: Option<TimeSpan>,
    /// The flow's class for a queue with priorities, and in the results.
    #[serde(default)]
    pub class: TrafficClass,
    /// Differentiated services code point: a number or a name; LE for `class = "low"`, else CS0.
    pub dscp: Option<Dscp>,
    /// The source of traffic.
    #[serde(default)]
    pub application: Application,
    /// Settings of TCP.
    #[serde(default)]
    pub tcp: Tcp,
}

/// IPv4 header of 20 bytes and TCP header of 20.
const TCP_HEADERS: u64 = 40;
/// Timestamps (RFC 7323), with two bytes of padding.
const TIMESTAMPS: u64 = 12;
/// IPv4 header of 20 bytes and UDP header of 8.
const UDP_HEADERS: u64 = 28;

impl Flow {
    /// Headers in each packet of the flow, as given or by the protocols.
    pub fn headers(&self) -> Bytes {
        let headers = match (self.transport, self.tcp.timestamps) {
            (Transport::Udp, _) => UDP_HEADERS,
            (Transport::Tcp, false) => TCP_HEADERS,
            (Transport::Tcp, true) => TCP_HEADERS + TIMESTAMPS,
        };
        self.header_size.unwrap_or(Bytes::new(headers))
    }

    /// A full packet on the link, headers included: as given, or as the application makes it.
    pub fn full_packet(&self) -> Bytes {
        match &self.application {
            Application::Call(call) => call.packet_size(self.headers()),
            _ => self.packet_size,
        }
    }

    /// Returns whether `packet_size` is given, other than by its default.
    pub(crate) fn gives_packet_size(&self) -> bool {
        self.packet_size != packet_size()
    }
}

fn packet_size() -> Bytes {
    Bytes::new(1500)
}

/// Transport protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
}

/// As RFC 5681 section 4.2 and Linux have it.
const DEFAULT_PACKETS_PER_ACK: u32 = 2;

/// Settings of both TCP endpoints.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tcp {
    /// How the sender recovers from losses.
    pub recovery: Recovery,
    /// SACK's fast recovery reduces cwnd in proportion to what is delivered (PRR, RFC 9937) rather than at once, as Linux does.
    /// Simulated; controls that govern recovery themselves, such as BBR, are left alone.
    pub prr: bool,
    /// SACK's losses are found by the times at which packets were sent, with probes at the end of a flight (RACK-TLP, RFC 8985), and
    /// receivers report duplicates (DSACK, RFC 2883), as in Linux. Simulated.
    pub rack: bool,
    /// Receive window: a limit on the data in flight.
    pub receiver_window: Option<Bytes>,
    /// The receiver acknowledges every second packet, or after this time.
    pub delayed_ack: DelayedAck,
    /// Packets in order after which a delayed ACK is sent without a wait; RFC 5681 section 4.2 allows two at most.
    #[schemars(range(min = 2, max = 1000))]
    pub packets_per_ack: u32,
    /// With `delayed_ack`: up to 16 ACKs at the beginning, and after a gap longer than the RTO, are not delayed, as in Linux. True
    /// with Linux's recovery, else false. Simulated.
    pub quick_acks: Option<bool>,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// With `ecn`: ACKs count marked packets (AccECN, RFC 9768). Simulated.
    pub accurate_ecn: bool,
    /// Packets are paced as by Linux with SO_MAX_PACING_RATE or the queue discipline fq, in place of leaving as ACKs come. Controls that
    /// pace themselves, such as BBR, are left alone.
    pub pacing: bool,
    /// Retransmission timeout (RTO) before the first round-trip time is measured.
    pub initial_rto: TimeSpan,
    /// Smallest retransmission timeout (RTO); 200 ms with Linux's recovery, else 1 s.
    pub min_rto: Option<TimeSpan>,
    /// Unit in which round-trip times for the RTO are counted, as by ns-2's `tcpTick_`; exact at 0.
    pub rtt_tick: TimeSpan,
    /// Packets sent at the beginning (RFC 6928: 10).
    #[schemars(range(min = 1, max = 1000))]
    pub initial_window: u32,
    /// Slow start threshold at the beginning, in packets; infinite where it is not given.
    #[schemars(range(min = 1.0))]
    pub initial_ssthresh: Option<f64>,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// The connection is opened by a handshake; otherwise data is sent at once.
    pub handshake: bool,
}

impl Default for Tcp {
    fn default() -> Tcp {
        Tcp {
            recovery: Recovery::default(),
            prr: false,
            rack: false,
            receiver_window: None,
            delayed_ack: DelayedAck::default(),
            packets_per_ack: DEFAULT_PACKETS_PER_ACK,
            quick_acks: None,
            ecn: false,
            accurate_ecn: false,
            pacing: false,
            initial_rto: TimeSpan::from_secs(1),
            min_rto: None,
            rtt_tick: TimeSpan::default(),
            initial_window: 10,
            initial_ssthresh: None,
            timestamps: true,
            handshake: true,
        }
    }
}

impl Tcp {
    /// The smallest retransmission timeout.
    pub fn least_rto(&self) -> TimeSpan {
        let usual = match self.recovery {
            Recovery::Linux => TimeSpan::from_millis(200),
            _ => TimeSpan::from_secs(1),
        };
        self.min_rto.unwrap_or(usual)
    }

    /// Returns true if the receiver reports data that arrived beyond a gap (RFC 2018).
    pub fn has_sack(&self) -> bool {
        matches!(self.recovery, Recovery::Sack | Recovery::Linux)
    }

    /// Returns true if ACKs are not delayed at the beginning and after a gap.
    pub fn has_quick_acks(&self) -> bool {
        let delays = self.delayed_ack != DelayedAck::Off;
        delays && self.quick_acks.unwrap_or(self.recovery == Recovery::Linux)
    }

    /// Returns true if losses are found by RACK-TLP (RFC 8985).
    pub fn has_rack(&self) -> bool {
        self.rack || self.recovery == Recovery::Linux
    }
}

/// How a TCP sender recovers from losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// Fast retransmit and fast recovery (RFC 2581): any new ACK ends it.
    Reno,
    /// With partial ACKs (RFC 6582).
    NewReno,
    /// With selective acknowledgements (RFC 6675).
    #[default]
    Sack,
    /// As Linux: with selective acknowledgements, RACK-TLP, PRR, its RTO, and reductions taken back that were needless.
    Linux,
}

/// When a receiver acknowledges: `false` for every packet, `true` for every second or after 40 ms, or that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DelayedAck {
    /// An ACK for every packet.
    #[default]
    Off,
    /// An ACK for every second packet, or after this time.
    After(TimeSpan),
}

impl DelayedAck {
    /// The longest delay of an ACK, or `None` where ACKs are not delayed.
    pub fn timeout(self) -> Option<TimeSpan> {
        match self {
            DelayedAck::Off => None,
            DelayedAck::After(timeout) => Some(timeout),
        }
    }
}

/// A number of flows, or the name of one of the scenario's parameters, as `"$others"`.
fn count_or_parameter(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [
        {"type": ["integer", "null"], "minimum": 0, "maximum": 1_000_000},
        {"type": "string", "pattern": "^\\$\\w+$"},
    ]})
}
