// SPDX-License-Identifier: MIT OR Apache-2.0
//! Configuration of a sender and a receiver.

use std::time::Duration;

use netnice_congestion::congestion_control::MarkFeedback;

use super::Clock;

/// How a sender recovers from losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recovery {
    /// RFC 2581 as ns-2's `Agent/TCP/Reno` does it: the first ACK of new data ends fast recovery; a further loss of the
    /// same window is found by an RTO.
    Reno,
    /// RFC 6582: partial ACKs keep the sender in fast recovery.
    NewReno,
    /// RFC 6675: SACK blocks report the data that have arrived (RFC 2018).
    #[default]
    Sack,
}

/// Which end begins the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Opener {
    /// The sender of the data: an upload.
    #[default]
    Sender,
    /// The receiver of the data, which then asks for them: a download, an HTTP GET.
    Receiver,
}

/// The retransmission timeout, RTO (RFC 6298).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeoutConfig {
    /// RTO before the first round-trip time sample: 1 s by RFC 6298, 3 s by RFC 2988 and in ns-2.
    pub initial: Duration,
    /// Lower bound: 200 ms in Linux and ns-2.35, 1 s by RFC 6298.
    pub min: Duration,
    /// Upper bound, back-off included: 60 s or more.
    pub max: Duration,
    /// Round-trip times are measured in whole ticks of this length, as by ns-2's `tcpTick_`; zero measures exactly.
    pub rtt_tick: Duration,
}

impl Default for TimeoutConfig {
    fn default() -> TimeoutConfig {
        TimeoutConfig {
            initial: Duration::from_secs(1),
            min: Duration::from_millis(200),
            max: Duration::from_secs(120),
            rtt_tick: Duration::ZERO,
        }
    }
}

/// Configuration of a sender; the defaults are close to Linux. Fields that each packet needs come first.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct SenderConfig {
    /// Maximum segment size: bytes of data in a packet, headers not counted.
    pub mss: u32,
    /// Upper bound of the packets in flight, whatever cwnd is (ns-2's `window_`).
    pub max_window: u32,
    /// How losses are recovered from.
    pub recovery: Recovery,
    /// Each of the first two duplicate ACKs allows one more packet (RFC 3042).
    pub limited_transmit: bool,
    /// Segments carry timestamps (RFC 7323).
    pub timestamps: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// NewReno restarts the retransmission timer at the first partial ACK only (RFC 6582 section 4, "impatient").
    pub impatient: bool,
    /// SACK retransmits the last outstanding packet at the end of a recovery (RFC 6675 section 4, rule 4).
    pub rescue_retransmission: bool,
    /// After nothing was sent for longer than an RTO, cwnd is at most the initial window
    /// (RFC 5681 section 4.1), unless the control governs recovery: Linux does not change the window of a control with
    /// `cong_control`.
    pub slow_start_after_idle: bool,
    /// SYN and SYN-ACK precede the data; without them data go at once, as in ns-2's one-way agents.
    pub handshake: bool,
    /// The host's timestamp clock.
    pub clock: Clock,
    /// Which end begins.
    pub opener: Opener,
    /// SACK's fast recovery reduces cwnd in proportion to what is delivered (PRR, RFC 9937) rather than at once. Controls that
    /// govern recovery themselves are left alone.
    pub prr: bool,
    /// SACK finds losses by the times at which packets were sent, and probes for them at the end of a flight: RACK-TLP, RFC 8985.
    pub rack: bool,
    /// SACK recovers as Linux 6.18: with `rack` and `prr`, its RTO, and reductions taken back that were needless.
    pub linux: bool,
    /// With `ecn`: the receiver reports marks by AccECN (RFC 9768), if the handshake, where there is one, agrees on it; without one
    /// its [`ReceiverConfig::mark_feedback`] must be `Accurate`.
    pub accurate_ecn: bool,
    /// The sender paces as Linux does with SO_MAX_PACING_RATE or the queue discipline fq, where the control has no interval of its own.
    pub pacing: bool,
    /// Initial window in packets (RFC 6928: 10; ns-2.35: 2).
    pub initial_window: u32,
    /// Initial slow start threshold in packets; infinite by default.
    pub initial_ssthresh: f64,
    /// The retransmission timeout, RTO.
    pub timeout: TimeoutConfig,
}

impl Default for SenderConfig {
    fn default() -> SenderConfig {
        SenderConfig {
            mss: 1448,
            initial_window: 10,
            initial_ssthresh: f64::INFINITY,
            max_window: u32::MAX,
            recovery: Recovery::Sack,
            limited_transmit: true,
            impatient: true,
            rescue_retransmission: false,
            prr: false,
            rack: false,
            linux: false,
            accurate_ecn: false,
            pacing: false,
            timeout: TimeoutConfig::default(),
            timestamps: true,
            clock: Clock::default(),
            ecn: false,
            opener: Opener::Sender,
            handshake: true,
            slow_start_after_idle: true,
        }
    }
}

impl SenderConfig {
    /// Sets what other fields imply.
    pub fn settle(&mut self) {
        self.rack |= self.linux;
        self.prr |= self.linux;
    }

    /// The defaults of ns-2.35's `Agent/TCP/Reno` with packets of `mss` bytes of data; `window_` is not among them,
    /// since nobody keeps its default of 20 packets.
    pub fn ns2(mss: u32) -> SenderConfig {
        SenderConfig {
            mss,
            initial_window: 2,
            recovery: Recovery::Reno,
            timeout: TimeoutConfig {
                initial: Duration::from_secs(3),
                min: Duration::from_millis(200),
                max: Duration::from_secs(60),
                rtt_tick: Duration::from_millis(10),
            },
            timestamps: false,
            ..SenderConfig::default()
        }
    }
}

/// Limits of a delayed ACK (RFC 5681 section 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayedAck {
    /// In-order segments per ACK: 2.
    pub segments: u32,
    /// Longest delay after the first of them: 40 ms in Linux, 100 ms in ns-2.
    pub timeout: Duration,
}

impl Default for DelayedAck {
    fn default() -> DelayedAck {
        DelayedAck {
            segments: 2,
            timeout: Duration::from_millis(40),
        }
    }
}

/// Configuration of a receiver; the defaults are close to Linux. Fields that each packet needs come first.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct ReceiverConfig {
    /// Limits of delayed ACKs; `None` acknowledges every segment at once.
    pub delayed_ack: Option<DelayedAck>,
    /// Receive buffer in bytes, at least one. It bounds the data in flight, since programs here read at once.
    pub window: u32,
    /// Shift of the window field (RFC 7323 section 2), which holds at most 65535 such units.
    pub window_scale: u8,
    /// ACKs report data that arrived out of order in SACK blocks (RFC 2018).
    pub sack: bool,
    /// Segments carry timestamps (RFC 7323).
    pub timestamps: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// The host's timestamp clock.
    pub clock: Clock,
    /// With `sack`: the first block reports a segment that had arrived before (DSACK, RFC 2883).
    pub duplicate_sack: bool,
    /// How ACKs report marks: as the sender's control wants it, or `Accurate`, if the handshake, where there is one, agrees on it.
    pub mark_feedback: MarkFeedback,
    /// Which end begins; equal to the sender's.
    pub opener: Opener,
    /// SYN and SYN-ACK precede the data; equal to the sender's.
    pub handshake: bool,
    /// Bytes of the request that the receiver sends if it is the opener.
    pub request_length: u32,
    /// With `delayed_ack`: ACKs of the first data, and of data after a gap longer than its RTO, are not delayed, as in Linux.
    pub quick_acks: bool,
    /// RTO of its SYN and its request.
    pub timeout: TimeoutConfig,
}

impl Default for ReceiverConfig {
    fn default() -> ReceiverConfig {
        ReceiverConfig {
            window: 6 << 20,
            window_scale: 10,
            delayed_ack: Some(DelayedAck::default()),
            sack: true,
            timestamps: true,
            clock: Clock::default(),
            ecn: false,
            duplicate_sack: false,
            mark_feedback: MarkFeedback::default(),
            opener: Opener::Sender,
            handshake: true,
            request_length: 300,
            quick_acks: false,
            timeout: TimeoutConfig::default(),
        }
    }
}

impl ReceiverConfig {
    /// The defaults of ns-2.35's `Agent/TCPSink`: an ACK for each segment, and nothing else.
    pub fn ns2() -> ReceiverConfig {
        ReceiverConfig {
            window: u32::MAX,
            window_scale: 16,
            delayed_ack: None,
            sack: false,
            timestamps: false,
            timeout: SenderConfig::ns2(1).timeout,
            ..ReceiverConfig::default()
        }
    }
}

/// Nanoseconds of a duration.
pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
