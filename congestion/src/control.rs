// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a congestion control and the TCP sender that it governs tell each other.
//!
//! A control owns `cwnd` and `ssthresh` through [`Window`]; the sender detects losses, recovers from them, and asks
//! before each transmission what may be in flight. Times are nanoseconds on the sender's clock and never decrease.
//!
//! A new control is one file in `controls/` that implements [`CongestionControl`], and one line in `registry.rs`, where
//! [`create`](crate::registry::create) makes them by name.

use crate::parameters::Settings;
use crate::policy::Report;

/// The window, in packets of the sender's maximum segment size.
///
/// Fractions count as in ns-2 and in the papers: the sender has at most `floor(cwnd)` packets in flight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Congestion window in packets, at least 1.
    pub cwnd: f64,
    /// Slow start threshold in packets; infinite until something sets it.
    pub ssthresh: f64,
}

impl Window {
    /// The window is below the threshold: RFC 5681 section 3.1.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// The state of a sender's loss recovery, with the numbers of `enum ca_state` in `policy/ca_state.h` and of Linux.
#[repr(u8)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// Nothing is amiss.
    #[default]
    Open = 0,
    /// Duplicate ACKs or SACKs came, too few for a loss.
    Disorder = 1,
    /// A mark was echoed (RFC 3168 section 6.1.2), until the window sent by then is acknowledged.
    Cwr = 2,
    /// Fast recovery (RFC 5681 section 3.2, RFC 6582, RFC 6675).
    Recovery = 3,
    /// After an RTO, until everything sent before it is acknowledged.
    Loss = 4,
}

impl CaState {
    /// The sender answers a loss or a mark.
    pub fn answers_congestion(self) -> bool {
        self >= CaState::Cwr
    }
}

/// An ACK of new data (or, with SACK, of data delivered out of order), in the terms of any TCP.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ack {
    /// Now, in nanoseconds.
    pub now_ns: u64,
    /// Round-trip time of the newest packet delivered, in nanoseconds; `None` if it was retransmitted and timestamps
    /// do not tell which transmission was delivered (Karn).
    pub rtt_ns: Option<u64>,
    /// Smoothed round-trip time (RFC 6298), in nanoseconds; 0 before the first sample.
    pub smoothed_rtt_ns: u64,
    /// Smallest round-trip time of the connection, in nanoseconds; 0 before the first sample.
    pub min_rtt_ns: u64,
    /// TSval of the ACK in ticks of the peer's clock; `None` where the peer sends no timestamps (RFC 7323).
    pub tsval: Option<u32>,
    /// TSecr of the ACK in ticks of our clock, as the paper's one-way delay has it; `None` likewise.
    pub tsecr: Option<u32>,
    /// Packets newly delivered by this ACK.
    pub acked: u32,
    /// Packets sent and neither acknowledged nor deemed lost.
    pub in_flight: u32,
    /// Packets delivered since the beginning.
    pub delivered: u64,
    /// [`Ack::delivered`] when the newest packet delivered was sent.
    pub prior_delivered: u64,
    /// Packets delivered in [`Ack::rate_interval_ns`]: the delivery-rate sample of
    /// draft-cheng-iccrg-delivery-rate-estimation; 0 if unknown.
    pub rate_delivered: u32,
    /// Interval of the delivery-rate sample in nanoseconds; 0 if unknown.
    pub rate_interval_ns: u64,
    /// State of the sender's loss recovery once it has taken the ACK in.
    pub ca_state: CaState,
    /// The ACK allows the window to grow (`tcp_may_raise_cwnd` of Linux). Not in fast recovery, not a duplicate ACK, and
    /// not one that echoes congestion (RFC 3168 section 6.1.2).
    pub may_grow: bool,
    /// The window, not the program or the receiver's window, kept the sender from sending more.
    pub cwnd_limited: bool,
    /// The program had nothing to send while the newest packet delivered was on its way: the delivery-rate sample may
    /// be too small for the path.
    pub app_limited: bool,
}

impl Default for Ack {
    /// Nothing known, in the open state; the window may grow.
    fn default() -> Ack {
        Ack {
            now_ns: 0,
            rtt_ns: None,
            smoothed_rtt_ns: 0,
            min_rtt_ns: 0,
            tsval: None,
            tsecr: None,
            acked: 0,
            in_flight: 0,
            delivered: 0,
            prior_delivered: 0,
            rate_delivered: 0,
            rate_interval_ns: 0,
            ca_state: CaState::Open,
            may_grow: true,
            cwnd_limited: false,
            app_limited: false,
        }
    }
}

/// Something that says "congestion": a loss found by duplicate ACKs or SACK, or an ECN echo.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Congestion {
    /// Now, in nanoseconds.
    pub now_ns: u64,
    /// Packets sent and not yet acknowledged (FlightSize of RFC 5681).
    pub in_flight: u32,
    /// Smoothed round-trip time (RFC 6298), in nanoseconds.
    pub smoothed_rtt_ns: u64,
    /// Smallest round-trip time of the connection, in nanoseconds.
    pub min_rtt_ns: u64,
}

/// The algorithm that sets `cwnd` and `ssthresh`.
///
/// The sender calls [`on_ack`](CongestionControl::on_ack) for every ACK that delivers something;
/// [`on_loss`](CongestionControl::on_loss) once for each recovery, at its beginning;
/// [`on_timeout`](CongestionControl::on_timeout) at an RTO, before `cwnd` falls to one packet, and not where the packet
/// that the last one retransmitted times out again (RFC 5681 section 3.1);
/// [`on_ecn_echo`](CongestionControl::on_ecn_echo) at most once for each window of data.
pub trait CongestionControl: Send + std::fmt::Debug {
    /// The name in scenarios and on the command line.
    fn name(&self) -> &'static str;

    /// An ACK has delivered something, and the sender has taken it in: a loss or a mark that it reports was announced by
    /// [`on_loss`](Self::on_loss) or [`on_ecn_echo`](Self::on_ecn_echo) before. Controls of the Reno family do nothing
    /// unless `ack.may_grow`.
    fn on_ack(&mut self, ack: &Ack, window: &mut Window);

    /// A loss was found and fast recovery begins: sets `ssthresh`, to which the sender's recovery brings `cwnd`. A control
    /// that [`governs_recovery`](Self::governs_recovery) sets its window in [`on_ack`](Self::on_ack), by `ca_state`.
    fn on_loss(&mut self, congestion: &Congestion, window: &mut Window);

    /// A retransmission time-out: sets `ssthresh`; the sender then sets `cwnd` to one packet (RFC 5681 section 3.1).
    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window);

    /// The peer echoes congestion experienced (RFC 3168 section 6.1.2): sets `cwnd` and `ssthresh`. By default the same
    /// as for a loss, with `cwnd` at `ssthresh` at once. `in_profile` tells of a packet that was marked IN (the papers'
    /// Diff-Serv TCP tells the two apart); true where nothing tags.
    fn on_ecn_echo(&mut self, congestion: &Congestion, in_profile: bool, window: &mut Window) {
        let _ = in_profile;
        self.on_loss(congestion, window);
        window.cwnd = window.ssthresh.max(1.0);
    }

    /// Recovery has ended; `cwnd` is at `ssthresh`.
    fn on_recovery_end(&mut self, _now_ns: u64, _window: &mut Window) {}

    /// Sending again after nothing was in flight for longer than a retransmission time-out.
    fn on_restart(&mut self, _now_ns: u64, _window: &mut Window) {}

    /// The control sets `cwnd` in fast recovery as well, at every ACK; the sender then neither inflates nor deflates it
    /// (`cong_control` of Linux). Otherwise recovery is the sender's.
    fn governs_recovery(&self) -> bool {
        false
    }

    /// Where the control paces: nanoseconds between two packets. `None` sends as ACKs come.
    fn pacing_interval_ns(&self, _window: &Window, _smoothed_rtt_ns: u64) -> Option<u64> {
        None
    }

    /// Where the control paces: so many packets leave together, and then as many intervals pass (`min_tso_segs` of Linux).
    fn pacing_burst_packets(&self) -> u32 {
        1
    }

    /// What a low-priority policy tells about itself.
    fn report(&self) -> Option<Report> {
        None
    }
}

/// Names, describes and makes a control: the constant of its file that stands in the registry.
pub(crate) struct Registration {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) build: fn(&Settings) -> Box<dyn CongestionControl>,
}
