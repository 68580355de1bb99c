// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sending end of a connection.

mod acknowledge;
mod handshake;
mod linux;
mod loss_by_time;
mod outstanding;
mod pacing;
mod persist;
mod prefetch;
mod proportional_rate;
mod rack;
mod sent;
mod transmit;

use std::sync::Arc;
use std::time::Duration;

use netnice_congestion::congestion_control::{Congestion, CongestionControl, Window};
use netnice_queue::Time;

use super::receiver::FIRST_COUNT;
use super::timeout::RetransmissionTimeout;
use super::{Recovery, SenderConfig};
use crate::NEVER_NS;
use outstanding::Outstanding;
use proportional_rate::ProportionalRate;
use rack::{LossTimer, Rack};

/// State of a connection at its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SenderState {
    /// Before `open`.
    Closed,
    /// Waits for the receiver's SYN or request.
    Listening,
    /// Waits for the SYN-ACK.
    SynSent,
    /// The receiver's SYN has arrived, but not yet its ACK of our SYN-ACK.
    SynReceived,
    /// The receiver's request has arrived; the request's ACK goes before the data.
    Answering,
    /// Data flow, or have flowed.
    Established,
}

/// A sender's counters since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderStatistics {
    /// Data segments sent for the first time, a FIN of its own included.
    pub segments: u64,
    /// Bytes of data in them.
    pub bytes: u64,
    /// Data segments retransmitted.
    pub retransmitted_segments: u64,
    /// Bytes of data in them.
    pub retransmitted_bytes: u64,
    /// Expiries of the retransmission timer (RTOs), those of a SYN included.
    pub timeouts: u64,
    /// Fast recoveries begun.
    pub fast_recoveries: u64,
    /// Reactions to ECN echoes.
    pub ecn_reactions: u64,
    /// Bytes of data acknowledged.
    pub acked_bytes: u64,
}

/// Cause of the last window reduction (ns-2's `last_cwnd_action_`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastReduction {
    None,
    Loss,
    Ecn,
    Timeout,
}

/// The sending end of a connection: sends, finds losses and recovers from them. Its congestion control decides how much
/// may be in flight.
///
/// With thousands of connections each ACK finds its sender in memory, not in the cache. So the fields that every ACK
/// and every new packet need come first, seldom used ones after them; `prefetch.rs` relies on it.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Sender {
    /// SND.UNA: every byte before is acknowledged.
    unacknowledged: u64,
    /// The next new byte.
    next_sequence: u64,
    /// Right edge of the receive window, in sequence numbers.
    window_edge: u64,
    /// When the retransmission timer expires.
    timer_ns: u64,
    window: Window,
    /// Packets delivered, when last, and when the first packet of the flight then delivered was sent:
    /// draft-cheng-iccrg-delivery-rate-estimation.
    delivered: u64,
    delivered_ns: u64,

    first_sent_ns: u64,
    app_limited_until: u64,
    smoothed_rtt_ns: u64,
    min_rtt_ns: u64,
    /// Bytes that the program has supplied.
    supplied: u64,
    pacing_until_ns: u64,
    last_sent_ns: u64,
    /// Without timestamps one segment per round trip is timed: its end, 0 where none is.
    timed_end: u64,

    timeout: RetransmissionTimeout,

    control: Box<dyn CongestionControl>,
    duplicate_acks: u32,
    sent_by_limited_transmit: u32,
    /// Packets by which fast recovery inflates cwnd; NewReno's partial ACKs deflate, below 0 at times.
    inflation: i32,
    /// Packets that may yet leave together with the one sent last.
    burst_left: u16,
    /// The control's [`uses_flight_samples`](CongestionControl::uses_flight_samples).
    uses_flight_samples: bool,
    state: SenderState,
    closing: bool,
    fin_sent: bool,
    fast_recovery: bool,
    after_timeout: bool,
    /// The first outstanding packet is retransmitted next, regardless of the window.
    retransmit_first: bool,
    /// The next new data segment carries CWR.
    reduction_to_tell: bool,
    cwnd_limited: bool,
    /// Only pacing holds back the next segment.
    wants_pacing: bool,
    ack_to_send: bool,
    /// Nothing is outstanding, and the receive window is too small for the next segment: the timer is the persist timer.
    persisting: bool,
    /// The persist timer has expired.
    probe_due: bool,
    /// Purpose of `timer_ns`, with RACK-TLP.
    loss_timer: LossTimer,
    /// Largest window that the receiver has advertised, in bytes.
    largest_window: u32,
    /// The peer's newest timestamp; ACKs do not update it where no timestamps are sent.
    recent_timestamp: u32,
    /// Connections share it, so that it stays in the cache.
    config: Arc<SenderConfig>,

    handshake_sent_ns: u64,
    /// When the connection begins. Only its owner reads it, for whom it would take a cache line elsewhere.
    pub opened: Time,
    /// `next_sequence` at the last window reduction: `recover` of RFC 6582.
    recover: u64,
    /// SND.UNA at the last RTO.
    unacknowledged_at_timeout: u64,
    /// RACK-TLP, unless `loss_timer` is `Off`.
    rack: Option<Box<Rack>>,
    /// [`SenderStatistics::retransmitted_segments`] and [`SenderStatistics::retransmitted_bytes`].
    retransmitted_segments: u64,
    retransmitted_bytes: u64,
    /// As in [`SenderStatistics`].
    timeouts: u32,
    fast_recoveries: u32,
    ecn_reactions: u32,
    /// PRR: the state of this recovery.
    proportional_rate: ProportionalRate,
    /// Nanoseconds by which the burst left later than pacing let it, as far as they have not shortened the pause after it.
    late_ns: u32,
    handshake_sends: u32,
    /// Zero-window probes sent since data were sent last.
    zero_window_probes: u32,
    request: Option<u32>,
    /// Number of the request that the next bare ACK acknowledges; 0 where requests wait for one another.
    numbered_request: u32,
    last_reduction: LastReduction,
    /// NewReno: a partial ACK has come in this recovery.
    partial_ack_seen: bool,
    /// SACK: the rescue retransmission was made.
    rescued: bool,
    handshake_to_send: bool,
    /// AccECN: s.cep modulo 8, the marked packets that ACKs have reported (RFC 9768 section 3.2.2).
    marked_packets: u8,
    /// AccECN: the ACK before reported marks.
    marks_reported: bool,
    /// Its first cache line is the last one that every ACK needs.
    outstanding: Outstanding,
}

/// Cache lines are what thousands of connections cost.
const _: () = assert!(size_of::<Sender>() == 512);

impl Sender {
    /// Returns a closed sender that `control` governs; `open` begins the connection.
    ///
    /// Connections of equal configurations may share one.
    pub fn new(
        config: impl Into<Arc<SenderConfig>>,
        mut control: Box<dyn CongestionControl>,
    ) -> Sender {
        let mut config = config.into();
        if config.pacing {
            control.sender_paces();
        }
        if config.linux && !(config.rack && config.prr) {
            Arc::make_mut(&mut config).settle();
        }
        let by_time = config.rack && config.recovery == Recovery::Sack;
        Sender {
            loss_timer: if by_time {
                LossTimer::Timeout
            } else {
                LossTimer::Off
            },
            rack: by_time.then(|| Box::new(Rack::new())),
            window: Window {
                cwnd: f64::from(config.initial_window.max(1)),
                ssthresh: config.initial_ssthresh,
            },
            state: SenderState::Closed,
            outstanding: Outstanding::default(),
            unacknowledged: 0,
            next_sequence: 0,
            supplied: 0,
            window_edge: u64::MAX,
            closing: false,
            fin_sent: false,
            timeout: RetransmissionTimeout::new(&config.timeout),
            timer_ns: NEVER_NS,
            timed_end: 0,
            handshake_sent_ns: 0,
            smoothed_rtt_ns: 0,
            min_rtt_ns: 0,
            recent_timestamp: 0,
            duplicate_acks: 0,
            sent_by_limited_transmit: 0,
            uses_flight_samples: control.uses_flight_samples(),
            inflation: 0,
            fast_recovery: false,
            after_timeout: false,
            last_reduction: LastReduction::None,
            partial_ack_seen: false,
            rescued: false,
            proportional_rate: ProportionalRate::default(),
            retransmit_first: false,
            recover: 0,
            unacknowledged_at_timeout: 0,
            reduction_to_tell: false,
            delivered: 0,
            delivered_ns: 0,
            first_sent_ns: 0,
            app_limited_until: 0,
            cwnd_limited: false,
            last_sent_ns: 0,
            pacing_until_ns: 0,
            burst_left: 0,
            late_ns: 0,
            wants_pacing: false,
            ack_to_send: false,
            persisting: false,
            probe_due: false,
            largest_window: 0,
            marked_packets: FIRST_COUNT,
            marks_reported: false,
            zero_window_probes: 0,
            handshake_to_send: false,
            handshake_sends: 0,
            request: None,
            numbered_request: 0,
            opened: Time::ZERO,
            retransmitted_segments: 0,
            retransmitted_bytes: 0,
            timeouts: 0,
            fast_recoveries: 0,
            ecn_reactions: 0,
            config,
            control,
        }
    }

    /// Adds `bytes` to the data that the program supplies; does nothing after `close`.
    pub fn supply(&mut self, bytes: u64) {
        if !self.closing {
            self.supplied = self.supplied.saturating_add(bytes);
        }
    }

    /// Supplies data without end until `close`, as an FTP of the papers does.
    pub fn supply_unlimited(&mut self) {
        self.supply(u64::MAX);
    }

    /// Ends the program's data: a FIN follows them. An unlimited supply ends with the data sent so far.
    pub fn close(&mut self) {
        if !self.closing {
            self.closing = true;
            if self.supplied == u64::MAX {
                self.supplied = self.next_sequence;
            }
        }
    }

    /// Ends the program's data early: discards data not sent yet, and a FIN follows.
    pub fn end_supply(&mut self) {
        self.closing = true;
        self.supplied = self.supplied.min(self.data_sent());
    }

    /// Returns when to call [`Sender::on_timer`] and then `poll_transmit`; `None` if no timer runs. The time may move
    /// later: a caller that keeps one event for it need only ask again when that event comes.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        let mut deadline = self.timer_ns;
        if self.wants_pacing {
            deadline = deadline.min(self.pacing_until_ns);
        }
        (deadline != NEVER_NS).then(|| Time::from_nanos(deadline))
    }

    /// Handles what is due at `now`, such as an RTO. A call before the deadline does nothing.
    pub fn on_timer(&mut self, now: Time) {
        let now_ns = now.as_nanos();
        if self.timer_ns > now_ns {
            return;
        }
        self.timer_ns = NEVER_NS;
        if self.persisting {
            self.probe_due = true;
        } else if self.loss_timer == LossTimer::Reordering {
            self.on_reordering_timer(now_ns);
        } else if self.loss_timer == LossTimer::Probe {
            self.on_probe_timer();
        } else if self.state == SenderState::Established {
            self.on_retransmission_timeout(now_ns);
        } else {
            self.on_handshake_timeout();
        }
    }

    /// RFC 5681 section 3.1, RFC 6298 section 5: slow start from one packet, which retransmits everything.
    fn on_retransmission_timeout(&mut self, now_ns: u64) {
        if self.outstanding.is_empty() {
            return;
        }
        self.timeouts += 1;
        if !self.is_repeated_timeout() {
            self.remember_window();
            self.control
                .on_timeout(&self.congestion(now_ns), &mut self.window);
        }
        self.unacknowledged_at_timeout = self.unacknowledged;
        if self.loss_timer == LossTimer::Off {
            self.window.cwnd = 1.0;
            self.outstanding.deem_all_lost();
        } else {
            self.rack_deems_lost_on_timeout(now_ns);
        }
        self.recover = self.next_sequence;
        self.take_reduction_by_marks();
        self.last_reduction = LastReduction::Timeout;
        // For a lost packet as for a mark (RFC 3168 section 6.1.2), or the echo would go on beyond this window.
        self.reduction_to_tell = self.tells_reductions();
        self.fast_recovery = false;
        self.after_timeout = true;
        self.retransmit_first = false;
        self.inflation = 0;
        self.duplicate_acks = 0;
        self.sent_by_limited_transmit = 0;
        self.timed_end = 0;
        self.timeout.back_off();
        self.restart_timer(now_ns);
    }

    /// Returns true if the packet retransmitted after an RTO times out again: `ssthresh` stays (RFC 5681 section 3.1),
    /// unless new data were acknowledged in between, as in Linux. ns-2's Reno halves the window left by the first RTO.
    fn is_repeated_timeout(&self) -> bool {
        self.after_timeout
            && self.unacknowledged == self.unacknowledged_at_timeout
            && self.config.recovery != Recovery::Reno
            // Linux reduces once, whether the RTO comes in a fast recovery or not.
            || self.config.linux && self.fast_recovery
    }

    #[inline]
    fn restart_timer(&mut self, now_ns: u64) {
        self.timer_ns = now_ns.saturating_add(self.timeout.value_ns());
        if self.loss_timer != LossTimer::Off {
            self.rack_notes_timeout();
        }
    }

    fn congestion(&self, now_ns: u64) -> Congestion {
        Congestion {
            now_ns,
            in_flight: self.flight_to_reduce(),
            smoothed_rtt_ns: self.smoothed_rtt_ns,
            min_rtt_ns: self.min_rtt_ns,
        }
    }

    /// The packets that a reduction goes by: those outstanding, but in Linux cwnd, however much of it is used.
    #[inline]
    fn flight_to_reduce(&self) -> u32 {
        // RFC 5681 section 3.2, step 2: packets sent by limited transmit do not count.
        let outstanding = self.outstanding.len() - self.sent_by_limited_transmit;
        match self.config.linux {
            true => outstanding.max(self.window.cwnd as u32),
            false => outstanding,
        }
    }

    /// Bytes of data sent, the number that the FIN takes not counted.
    #[inline]
    fn data_sent(&self) -> u64 {
        self.next_sequence - u64::from(self.fin_sent)
    }

    /// Packets in flight: sent, and neither acknowledged nor deemed lost.
    pub fn in_flight(&self) -> u32 {
        match self.config.recovery {
            Recovery::Sack => self.outstanding.pipe(),
            _ if self.outstanding.next < self.outstanding.end() => {
                (self.outstanding.next - self.outstanding.first()) as u32
            }
            _ => self.outstanding.len().saturating_sub(self.duplicate_acks),
        }
    }

    /// The congestion window in packets; inflation in fast recovery not counted.
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    /// The slow start threshold in packets; infinite until something sets it.
    pub fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    /// The smoothed round-trip time (RFC 6298), measured exactly; `None` before the first sample.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        (self.smoothed_rtt_ns != 0).then(|| Duration::from_nanos(self.smoothed_rtt_ns))
    }

    /// The current RTO.
    pub fn retransmission_timeout(&self) -> Duration {
        Duration::from_nanos(self.timeout.value_ns())
    }

    /// Where the connection is.
    pub fn state(&self) -> SenderState {
        self.state
    }

    /// Returns true in fast recovery, and while the sender repairs losses from before an RTO.
    pub fn in_recovery(&self) -> bool {
        self.fast_recovery || self.after_timeout
    }

    /// Returns true once all data and the FIN after them are acknowledged.
    pub fn finished(&self) -> bool {
        self.fin_sent && self.unacknowledged == self.next_sequence
    }

    /// Returns true if CWR tells the receiver of reductions: it waits for that, unless feedback is AccECN's.
    fn tells_reductions(&self) -> bool {
        self.config.ecn && !self.config.accurate_ecn
    }

    /// Returns true if data packets are ECN-capable (ECT, RFC 3168 section 5), as agreed in the handshake.
    pub fn ecn_capable(&self) -> bool {
        self.config.ecn
    }

    /// Returns the counters since the start.
    pub fn statistics(&self) -> SenderStatistics {
        SenderStatistics {
            // Each new packet has the next number, and each byte of data the next sequence number.
            segments: self.outstanding.end(),
            bytes: self.data_sent(),
            acked_bytes: self.unacknowledged - u64::from(self.finished()),
            retransmitted_segments: self.retransmitted_segments,
            retransmitted_bytes: self.retransmitted_bytes,
            timeouts: self.timeouts.into(),
            fast_recoveries: self.fast_recoveries.into(),
            ecn_reactions: self.ecn_reactions.into(),
        }
    }

    /// Probes sent at the end of a flight (RFC 8985 section 7); those that were no new packet are among the retransmissions.
    pub fn tail_loss_probes(&self) -> u64 {
        self.rack.as_ref().map_or(0, |rack| rack.probes)
    }

    /// The configuration; the handshake may have turned ECN off.
    pub fn config(&self) -> &SenderConfig {
        &self.config
    }

    /// The congestion control.
    pub fn control(&self) -> &dyn CongestionControl {
        &*self.control
    }
}
