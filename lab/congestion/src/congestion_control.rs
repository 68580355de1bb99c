// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interface between a congestion control and the TCP sender that it governs.
//!
//! A control owns `cwnd` and `ssthresh` through [`Window`]; the sender detects losses, recovers from them, and limits
//! the data in flight before each transmission. Times are nanoseconds on the sender's clock and never decrease.
//!
//! A new control is one file in `controls/` that implements [`CongestionControl`], and a line each in `controls/mod.rs` and
//! `registry.rs`, where [`create`](crate::registry::create) creates controls by name.

use std::sync::{Arc, Mutex};

use netnice_parameters::Settings;
use netnice_parameters::exchange::Report;

use crate::decisions::Observer;
use crate::floor::Group;

/// The window, in packets of the sender's maximum segment size.
///
/// Fractions count as in ns-2 and in the papers: the sender has at most `floor(cwnd)` packets in flight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Congestion window in packets, at least 1.
    pub cwnd: f64,
    /// Slow start threshold in packets; infinite until first set.
    pub ssthresh: f64,
}

impl Window {
    /// Returns whether the window is below the threshold: RFC 5681 section 3.1.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// The state of a sender's loss recovery, with the numbers of `enum ca_state` in `policies/ca_state.h` and of Linux.
#[repr(u8)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// No sign of congestion.
    #[default]
    Open = 0,
    /// Duplicate ACKs or SACKs arrived, too few for a loss.
    Disorder = 1,
    /// A mark was echoed (RFC 3168 section 6.1.2), until the window sent by then is acknowledged.
    Cwr = 2,
    /// Fast recovery (RFC 5681 section 3.2, RFC 6582, RFC 6675).
    Recovery = 3,
    /// After an RTO, until everything sent before it is acknowledged.
    Loss = 4,
}

impl CaState {
    /// Returns whether the sender answers a loss or a mark.
    pub fn answers_congestion(self) -> bool {
        self >= CaState::Cwr
    }
}

/// An ACK of new data (or, with SACK, of data delivered out of order), as any TCP sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ack {
    /// Current time in nanoseconds.
    pub now_ns: u64,
    /// Round-trip time of the newest packet delivered, in nanoseconds; `None` if it was retransmitted and timestamps do
    /// not identify the transmission that was delivered (Karn).
    pub rtt_ns: Option<u64>,
    /// True if the newest packet delivered was retransmitted: [`Ack::rtt_ns`] is then in whole ticks of our clock.
    pub retransmitted: bool,
    /// Smoothed round-trip time (RFC 6298), in nanoseconds; 0 before the first sample.
    pub smoothed_rtt_ns: u64,
    /// Smallest round-trip time of the connection, in nanoseconds; 0 before the first sample.
    pub min_rtt_ns: u64,
    /// TSval of the ACK in ticks of the peer's clock; `None` if the peer sends no timestamps (RFC 7323).
    pub tsval: Option<u32>,
    /// TSecr of the ACK in ticks of our clock, which the paper's one-way delay uses; `None` if the peer sends no
    /// timestamps.
    pub tsecr: Option<u32>,
    /// Packets newly delivered by this ACK.
    pub acked: u32,
    /// Of them, those that the ACK reports as marked with congestion experienced, by its ECE flag.
    pub marked: u32,
    /// Packets newly deemed lost, retransmitted ones included; a [flight sample](CongestionControl::uses_flight_samples).
    pub newly_lost: u32,
    /// Packets sent, neither acknowledged nor deemed lost.
    pub in_flight: u32,
    /// [`Ack::in_flight`] before the ACK was processed; a flight sample.
    pub prior_in_flight: u32,
    /// Packets deemed lost since the start of the connection; a flight sample.
    pub lost: u64,
    /// Earliest time of the next transmission by pacing, in nanoseconds; in the past if pacing holds back nothing. A flight
    /// sample.
    pub next_send_ns: u64,
    /// Packets delivered since the start of the connection.
    pub delivered: u64,
    /// [`Ack::delivered`] when the newest packet delivered was sent.
    pub prior_delivered: u64,
    /// Packets delivered in [`Ack::rate_interval_ns`]: the delivery-rate sample of
    /// draft-cheng-iccrg-delivery-rate-estimation; 0 if unknown. A flight sample.
    pub rate_delivered: u32,
    /// Interval of the delivery-rate sample in nanoseconds; 0 if unknown. A flight sample.
    pub rate_interval_ns: u64,
    /// State of the sender's loss recovery after it has processed the ACK.
    pub ca_state: CaState,
    /// True if the ACK allows the window to grow (`tcp_may_raise_cwnd` of Linux): not in fast recovery, not a duplicate
    /// ACK, and not an echo of congestion (RFC 3168 section 6.1.2).
    pub may_grow: bool,
    /// True if cwnd, not the program or the receiver's window, limited the sender.
    pub cwnd_limited: bool,
    /// True if the program had nothing to send while the newest packet delivered was in flight: the delivery-rate
    /// sample may be too small for the path. A flight sample.
    pub app_limited: bool,
}

impl Ack {
    /// [`Ack::tsval`], if it is of the peer's own clock: one that repeats the TSecr beside it is our own stamp.
    pub fn peer_clock(&self) -> Option<u32> {
        self.tsval.filter(|_| self.tsval != self.tsecr)
    }
}

impl Default for Ack {
    /// An ACK with all values unknown, in the open state; the window may grow.
    fn default() -> Ack {
        Ack {
            now_ns: 0,
            rtt_ns: None,
            retransmitted: false,
            smoothed_rtt_ns: 0,
            min_rtt_ns: 0,
            tsval: None,
            tsecr: None,
            acked: 0,
            newly_lost: 0,
            marked: 0,
            in_flight: 0,
            prior_in_flight: 0,
            lost: 0,
            next_send_ns: 0,
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

/// A congestion indication: a loss found by duplicate ACKs or SACK, or an ECN echo.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Congestion {
    /// Current time in nanoseconds.
    pub now_ns: u64,
    /// Packets sent and not yet acknowledged (FlightSize of RFC 5681).
    pub in_flight: u32,
    /// Smoothed round-trip time (RFC 6298), in nanoseconds.
    pub smoothed_rtt_ns: u64,
    /// Smallest round-trip time of the connection, in nanoseconds.
    pub min_rtt_ns: u64,
}

/// How a receiver reports packets marked with congestion experienced, by the ECE flag of its ACKs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MarkFeedback {
    /// From a mark until the sender's CWR arrives (RFC 3168 section 6.1.3).
    #[default]
    UntilAnswered,
    /// On the ACKs of marked packets and no others (RFC 8257 section 3.2).
    EachPacket,
    /// By a counter of marked packets in each ACK, modulo 8 (AccECN, RFC 9768). No control asks for it: the ends agree on it.
    Accurate,
}

/// The algorithm that sets `cwnd` and `ssthresh`.
///
/// The sender calls [`on_ack`](CongestionControl::on_ack) for every ACK that delivers data;
/// [`on_loss`](CongestionControl::on_loss) once per recovery, at its start;
/// [`on_timeout`](CongestionControl::on_timeout) at an RTO, before `cwnd` falls to one packet, but not when the packet
/// retransmitted by the last RTO times out again (RFC 5681 section 3.1);
/// [`on_ecn_echo`](CongestionControl::on_ecn_echo) at most once per window of data.
pub trait CongestionControl: Send + std::fmt::Debug {
    /// The name in scenarios and on the command line.
    fn name(&self) -> &'static str;

    /// Learns, before all other calls, what the connections of its group on this host share, and the bytes of data in a full
    /// packet. By default nothing changes.
    fn join(&mut self, _group: &Arc<Mutex<Group>>, _mss: u32) {}

    /// Learns the round-trip time of the handshake, if there was one and none of its packets was retransmitted.
    fn on_handshake(&mut self, _rtt_ns: u64) {}

    /// Processes an ACK that has delivered data. The sender has processed it already and has announced a loss or mark
    /// that it reports by [`on_loss`](Self::on_loss) or [`on_ecn_echo`](Self::on_ecn_echo). Controls of the Reno family
    /// do nothing unless `ack.may_grow`.
    fn on_ack(&mut self, ack: &Ack, window: &mut Window);

    /// Sets `ssthresh` when a loss starts fast recovery; the sender's recovery brings `cwnd` to it. A control that
    /// [`governs_recovery`](Self::governs_recovery) sets its window in [`on_ack`](Self::on_ack), by `ca_state`.
    fn on_loss(&mut self, congestion: &Congestion, window: &mut Window);

    /// Sets `ssthresh` at an RTO; the sender then sets `cwnd` to one packet (RFC 5681 section 3.1).
    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window);

    /// Sets `cwnd` and `ssthresh` when the peer echoes congestion experienced (RFC 3168 section 6.1.2). By default as
    /// for a loss, with `cwnd` at `ssthresh` at once. `in_profile` is true if the marked packet was IN (the papers'
    /// Diff-Serv TCP distinguishes the two) or if no marker tags packets.
    fn on_ecn_echo(&mut self, congestion: &Congestion, in_profile: bool, window: &mut Window) {
        let _ = in_profile;
        self.on_loss(congestion, window);
        window.cwnd = window.ssthresh.max(1.0);
    }

    /// Called at the end of recovery; `cwnd` is at `ssthresh`.
    fn on_recovery_end(&mut self, _now_ns: u64, _window: &mut Window) {}

    /// Called when a recovery has turned out to be spurious: nothing was lost, and the sender has restored `window` as it was
    /// before (`undo_cwnd` of Linux).
    fn on_undo(&mut self, _window: &mut Window) {}

    /// Returns whether the sender may take a spurious recovery back. BBR keeps its window (`bbr_undo_cwnd` of Linux).
    fn allows_undo(&self) -> bool {
        !self.governs_recovery()
    }

    /// Called when the sender restarts after nothing was in flight for longer than an RTO.
    fn on_restart(&mut self, _now_ns: u64, _window: &mut Window) {}

    /// Returns whether the control also sets `cwnd` in fast recovery, at every ACK; the sender then neither inflates
    /// nor deflates it (`cong_control` of Linux). Otherwise the sender governs recovery.
    fn governs_recovery(&self) -> bool {
        false
    }

    /// Returns whether the control reads flight samples: `newly_lost`, `prior_in_flight`, `lost`, `next_send_ns`,
    /// `rate_delivered`, `rate_interval_ns` and `app_limited` of [`Ack`]. The sender asks once and otherwise leaves them at
    /// their defaults, which saves a twentieth of what an ACK costs.
    fn uses_flight_samples(&self) -> bool {
        true
    }

    /// Learns, before all other calls, that the sender paces this connection wherever the control returns no interval: a control may
    /// judge the times of ACKs by it. By default nothing changes.
    fn sender_paces(&mut self) {}

    /// Returns the pacing interval between two packets in nanoseconds; `None` for ACK clocking.
    fn pacing_interval_ns(&self, _window: &Window, _smoothed_rtt_ns: u64) -> Option<u64> {
        None
    }

    /// Returns the number of packets, from 1 to 65,536, that pacing sends together, followed by as many intervals
    /// (`min_tso_segs` of Linux).
    fn pacing_burst_packets(&self) -> u32 {
        1
    }

    /// Returns how the receiver must report marks.
    fn mark_feedback(&self) -> MarkFeedback {
        MarkFeedback::UntilAnswered
    }

    /// Returns whether the control depends on routers' marks: without them it does nothing of its own and reacts to losses as others
    /// do. By default so if it has the receiver report each marked packet (RFC 8257 section 3.5).
    fn depends_on_marks(&self) -> bool {
        self.mark_feedback() == MarkFeedback::EachPacket
    }

    /// Returns whether the control is scalable (RFC 9331 section 4): its packets are sent with ECT(1), by which a queue of two
    /// classes knows them, and not with ECT(0).
    fn is_scalable(&self) -> bool {
        false
    }

    /// Has netnice's decisions told; other controls make none.
    fn observe(&mut self, _observer: &Observer) {}

    /// Returns the report of a low-priority policy; `None` for other controls.
    fn report(&self) -> Option<Report> {
        None
    }
}

/// Name, description and constructor of a control: the constant of its file that the registry lists.
pub(crate) struct Registration {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) build: fn(&Settings) -> Box<dyn CongestionControl>,
}
