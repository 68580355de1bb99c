// SPDX-License-Identifier: MIT OR Apache-2.0
//! BBR, version 3 (draft-ietf-ccwg-bbr-06, whose sections and names are given here).
//!
//! It differs from the draft in this. The draft records C.inflight and C.lost with each packet; here they are those of the
//! ACK before the packet was sent, so that RS.tx_in_flight is exact to the packets that one ACK releases, and a packet
//! found lost counts as sent together with the newest one delivered. Each ACK that reports losses counts as one lost
//! range (5.3.1.3), as in Linux. The random waits are drawn from the state of the connection, so that runs repeat. A control
//! knows no packet size: bursts are those of packets of 1448 bytes. Nothing is undone after a spurious recovery (5.5.11),
//! and ECN, which the draft leaves to other documents, changes nothing.

use std::collections::VecDeque;

use crate::congestion_control::{
    Ack, CaState, Congestion, CongestionControl, Registration, Window,
};
use crate::controls::windowed_max::WindowedMax;

pub(crate) const REGISTRATION: Registration = Registration {
    name: "bbr3",
    summary: "paces by measured bandwidth and smallest round-trip time, and bounds what is in flight by losses (BBR version 3)",
    build: |_| Box::new(Bbr3::default()),
};

/// BBR.LossThresh.
const LOSS_THRESHOLD: f64 = 0.02;
/// BBR.Beta.
const BETA: f64 = 0.7;
/// BBR.Headroom.
const HEADROOM: f64 = 0.15;
/// BBR.MinPipeCwnd, in packets.
const MINIMUM_CWND: f64 = 4.0;
/// C.InitialCwnd (RFC 6928), in packets.
const INITIAL_CWND: f64 = 10.0;

const STARTUP_PACING_GAIN: f64 = 2.77;
const DRAIN_PACING_GAIN: f64 = 0.5;
const DOWN_PACING_GAIN: f64 = 0.9;
const UP_PACING_GAIN: f64 = 1.25;
/// BBR.DefaultCwndGain.
const CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
/// BBR.ProbeRTTCwndGain.
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// (100 - BBR.PacingMarginPercent) / 100.
const PACING_SHARE: f64 = 0.99;

/// Growth from which the bandwidth still counts as rising, and rounds without it that fill the pipe (5.3.1.2).
const FULL_BANDWIDTH_GROWTH: f64 = 1.25;
const FULL_BANDWIDTH_ROUNDS: u32 = 3;
/// BBRStartupFullLossCnt.
const STARTUP_LOSSES: u32 = 6;
/// Rounds after which Drain ends in any case (5.3.2).
const DRAIN_ROUNDS: u64 = 3;
/// Most rounds between two probes beside Reno and CUBIC (5.3.3.8).
const RENO_ROUNDS: f64 = 63.0;
/// Most doublings of the slope of inflight_longterm.
const MOST_PROBE_UP_ROUNDS: u32 = 30;
/// BBR.ExtraAckedFilterLen, in rounds.
const EXTRA_ACKED_ROUNDS: u32 = 10;

/// BBR.MinRTTFilterLen, BBR.ProbeRTTInterval, BBR.ProbeRTTDuration and the least wait before a probe.
const MIN_RTT_FILTER_NS: u64 = 10_000_000_000;
const PROBE_RTT_INTERVAL_NS: u64 = 5_000_000_000;
const PROBE_RTT_NS: u64 = 200_000_000;
const PROBE_WAIT_NS: u64 = 2_000_000_000;

/// Data in a packet, where C.send_quantum counts bytes.
const PACKET_BYTES: f64 = 1448.0;
const LONGEST_QUANTUM_BYTES: f64 = 65_536.0;

/// BBR.state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// IsInAProbeBWState.
    fn probes_bandwidth(self) -> bool {
        matches!(
            self,
            State::Down | State::Cruise | State::Refill | State::Up
        )
    }

    /// IsProbingBW: the state accelerates.
    fn accelerates(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }

    /// BBR.pacing_gain (5.6.1).
    fn pacing_gain(self) -> f64 {
        match self {
            State::Startup => STARTUP_PACING_GAIN,
            State::Drain => DRAIN_PACING_GAIN,
            State::Down => DOWN_PACING_GAIN,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
            State::Up => UP_PACING_GAIN,
        }
    }

    /// BBR.cwnd_gain (5.6.1).
    fn cwnd_gain(self) -> f64 {
        match self {
            State::Up => UP_CWND_GAIN,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => CWND_GAIN,
        }
    }
}

/// BBR.ack_phase: what ACKs tell of a bandwidth probe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State at the time at which the packets sent after an ACK left.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    /// P.delivered.
    delivered: u64,
    /// P.lost.
    lost: u64,
    /// P.tx_in_flight of the last of them.
    in_flight: u32,
}

/// RS: the rate sample of one ACK, in packets and seconds.
#[derive(Debug, Clone, Copy, Default)]
struct RateSample {
    /// RS.delivery_rate; 0 if the ACK measures none.
    delivery_rate: f64,
    /// RS.delivered.
    delivered: f64,
    app_limited: bool,
    tx_in_flight: f64,
    lost: f64,
}

/// BBR version 3.
#[derive(Debug, Clone)]
pub struct Bbr3 {
    state: State,
    rs: RateSample,
    /// In the order of [`Sent::delivered`].
    sent: VecDeque<Sent>,

    round_count: u64,
    round_start: bool,
    next_round_delivered: u64,
    drain_start_round: u64,

    /// BBR.max_bw in the previous and in the present cycle, in packets per second.
    max_bandwidth: [f64; 2],
    bandwidth_shortterm: f64,
    bandwidth_latest: f64,
    inflight_longterm: f64,
    inflight_shortterm: f64,
    inflight_latest: f64,

    min_rtt_s: f64,
    min_rtt_at_ns: u64,
    probe_rtt_min_delay_s: f64,
    probe_rtt_min_at_ns: u64,
    probe_rtt_expired: bool,
    probe_rtt_done_ns: Option<u64>,
    probe_rtt_round_done: bool,
    /// Packets sent between these counts of delivered packets, in ProbeRTT, measure no bandwidth.
    limited: (u64, u64),
    idle_restart: bool,

    full_bandwidth: f64,
    full_bandwidth_count: u32,
    full_bandwidth_now: bool,
    full_bandwidth_reached: bool,

    loss_round_delivered: u64,
    loss_round_start: bool,
    loss_in_round: bool,
    losses_in_round: u32,

    ack_phase: AckPhase,
    bandwidth_probe_sample: bool,
    probe_up_rounds: u32,
    probe_up_acked: f64,
    probe_up_acked_per_inc: f64,
    rounds_since_probe_up: u64,
    probe_wait_ns: u64,
    cycle_at_ns: u64,
    previous_too_high: bool,
    previous_precautionary: bool,

    extra_acked: WindowedMax<f64>,
    extra_acked_began_ns: u64,
    extra_acked_delivered: f64,

    previous_ca_state: CaState,
    prior_cwnd: f64,
    pacing_rate: f64,
    /// C.inflight, C.cwnd, [`Ack::delivered`], [`Ack::lost`] and the time of the last ACK.
    in_flight: f64,
    cwnd: f64,
    /// cwnd was fully used at some time in this round trip, and in the one before.
    cwnd_used: [bool; 2],
    delivered: u64,
    lost: u64,
    now_ns: u64,
}

impl Default for Bbr3 {
    /// OnInit (5.2.1).
    fn default() -> Bbr3 {
        Bbr3 {
            state: State::Startup,
            rs: RateSample::default(),
            sent: VecDeque::new(),
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            drain_start_round: 0,
            max_bandwidth: [0.0; 2],
            bandwidth_shortterm: f64::INFINITY,
            bandwidth_latest: 0.0,
            inflight_longterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_latest: 0.0,
            min_rtt_s: f64::INFINITY,
            min_rtt_at_ns: 0,
            probe_rtt_min_delay_s: f64::INFINITY,
            probe_rtt_min_at_ns: 0,
            probe_rtt_expired: false,
            probe_rtt_done_ns: None,
            probe_rtt_round_done: false,
            limited: (1, 0),
            idle_restart: false,
            full_bandwidth: 0.0,
            full_bandwidth_count: 0,
            full_bandwidth_now: false,
            full_bandwidth_reached: false,
            loss_round_delivered: 0,
            loss_round_start: false,
            loss_in_round: false,
            losses_in_round: 0,
            ack_phase: AckPhase::Init,
            bandwidth_probe_sample: false,
            probe_up_rounds: 0,
            probe_up_acked: 0.0,
            probe_up_acked_per_inc: f64::INFINITY,
            rounds_since_probe_up: 0,
            probe_wait_ns: 0,
            cycle_at_ns: 0,
            previous_too_high: false,
            previous_precautionary: false,
            extra_acked: WindowedMax::new(EXTRA_ACKED_ROUNDS),
            extra_acked_began_ns: 0,
            extra_acked_delivered: 0.0,
            previous_ca_state: CaState::Open,
            prior_cwnd: 0.0,
            pacing_rate: 0.0,
            in_flight: 0.0,
            cwnd: 0.0,
            cwnd_used: [false; 2],
            delivered: 0,
            lost: 0,
            now_ns: 0,
        }
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 * 1e-9
}

/// InitPacingRate (5.6.2), in packets per second; 1 ms stands for an unknown round-trip time.
fn initial_pacing_rate(cwnd: f64, smoothed_rtt_ns: u64) -> f64 {
    let rtt_s = match smoothed_rtt_ns {
        0 => 1e-3,
        nanoseconds => seconds(nanoseconds),
    };
    STARTUP_PACING_GAIN * cwnd / rtt_s
}

/// InflightAtLoss (5.5.10.2): what was in flight when losses crossed the threshold, for a packet of which `lost`, itself
/// included, were lost of the `tx_in_flight` in flight with it.
fn inflight_at_loss(tx_in_flight: f64, lost: f64) -> f64 {
    let (inflight_before, lost_before) = (tx_in_flight - 1.0, lost - 1.0);
    let lost_prefix = (LOSS_THRESHOLD * inflight_before - lost_before) / (1.0 - LOSS_THRESHOLD);
    // Where the packets before were too many already, none of this one fits.
    inflight_before + lost_prefix.max(0.0)
}

impl Bbr3 {
    /// BBR.max_bw.
    fn max_bandwidth(&self) -> f64 {
        self.max_bandwidth[0].max(self.max_bandwidth[1])
    }

    /// BBR.bw (BoundBWForModel).
    fn bandwidth(&self) -> f64 {
        self.max_bandwidth().min(self.bandwidth_shortterm)
    }

    /// A random number below `bound`, from the state of the connection.
    fn draw(&self, bound: u64) -> u64 {
        let mixed = (self.now_ns ^ self.delivered.rotate_left(32))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(31)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 33) % bound
    }

    /// BDPMultiple.
    fn product(&self, bandwidth: f64, gain: f64) -> f64 {
        match self.min_rtt_s.is_finite() {
            true => gain * bandwidth * self.min_rtt_s,
            false => INITIAL_CWND,
        }
    }

    /// C.send_quantum in packets (5.6.3).
    fn quantum(&self) -> f64 {
        let bytes = self.pacing_rate * 1e-3 * PACKET_BYTES;
        let quantum = bytes.min(LONGEST_QUANTUM_BYTES) / PACKET_BYTES;
        quantum.floor().max(2.0)
    }

    /// QuantizationBudget (5.6.4.2).
    fn with_budget(&self, inflight: f64) -> f64 {
        let inflight = inflight.max(3.0 * self.quantum()).max(MINIMUM_CWND);
        match self.state {
            State::Up => inflight + 2.0,
            _ => inflight,
        }
    }

    /// Inflight, in packets.
    fn target(&self, bandwidth: f64, gain: f64) -> f64 {
        self.with_budget(self.product(bandwidth, gain))
    }

    /// TargetInflight.
    fn target_in_flight(&self) -> f64 {
        self.product(self.bandwidth(), 1.0).min(self.cwnd)
    }

    /// InflightWithHeadroom.
    fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = (HEADROOM * self.inflight_longterm).max(1.0);
        (self.inflight_longterm - headroom).max(MINIMUM_CWND)
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.product(self.bandwidth(), PROBE_RTT_CWND_GAIN)
            .max(MINIMUM_CWND)
    }

    /// C.is_cwnd_limited (2.2).
    fn is_cwnd_limited(&self) -> bool {
        self.cwnd_used[0] || self.cwnd_used[1]
    }

    /// StartRound.
    fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    fn reset_congestion_signals(&mut self) {
        self.loss_in_round = false;
        self.bandwidth_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    fn reset_short_term_model(&mut self) {
        self.bandwidth_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    fn reset_full_bandwidth(&mut self, baseline: f64) {
        self.full_bandwidth = baseline;
        self.full_bandwidth_count = 0;
        self.full_bandwidth_now = false;
    }

    fn start_down(&mut self) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = f64::INFINITY;
        // PickProbeWait: 0 or 1 rounds, and 2 to 3 seconds.
        self.rounds_since_probe_up = self.draw(2);
        self.probe_wait_ns = PROBE_WAIT_NS + self.draw(1_000_000_001);
        self.cycle_at_ns = self.now_ns;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::Down;
    }

    fn start_refill(&mut self) {
        self.reset_short_term_model();
        self.probe_up_rounds = 0;
        self.probe_up_acked = 0.0;
        self.previous_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    fn start_up(&mut self) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bandwidth(self.rs.delivery_rate);
        self.state = State::Up;
        self.raise_longterm_slope();
    }

    /// UpdateLatestDeliverySignals (5.5.10.3).
    fn update_latest_delivery_signals(&mut self, ack: &Ack) {
        self.loss_round_start = false;
        self.bandwidth_latest = self.bandwidth_latest.max(self.rs.delivery_rate);
        self.inflight_latest = self.inflight_latest.max(self.rs.delivered);
        if ack.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = ack.delivered;
            self.loss_round_start = true;
        }
    }

    /// AdvanceLatestDeliverySignals.
    fn advance_latest_delivery_signals(&mut self) {
        if self.loss_round_start {
            self.bandwidth_latest = self.rs.delivery_rate;
            self.inflight_latest = self.rs.delivered;
        }
    }

    /// UpdateMaxBw with UpdateRound (5.5.1, 5.5.5).
    fn update_max_bandwidth(&mut self, ack: &Ack) {
        self.round_start = ack.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.cwnd_used = [false, self.cwnd_used[0]];
            self.rounds_since_probe_up += 1;
        }
        let rate = self.rs.delivery_rate;
        if rate > 0.0 && (rate >= self.max_bandwidth() || !self.rs.app_limited) {
            self.max_bandwidth[1] = self.max_bandwidth[1].max(rate);
        }
    }

    /// AdvanceMaxBwFilter; a cycle without a sample keeps the one before it.
    fn advance_max_bandwidth_filter(&mut self) {
        if self.max_bandwidth[1] > 0.0 {
            self.max_bandwidth = [self.max_bandwidth[1], 0.0];
        }
    }

    /// UpdateCongestionSignals, AdaptLowerBoundsFromCongestion.
    fn update_congestion_signals(&mut self, ack: &Ack) {
        self.update_max_bandwidth(ack);
        if !self.loss_round_start {
            return;
        }
        if self.loss_in_round && !self.state.accelerates() {
            // InitLowerBounds, LossLowerBounds.
            if self.bandwidth_shortterm.is_infinite() {
                self.bandwidth_shortterm = self.max_bandwidth();
            }
            if self.inflight_shortterm.is_infinite() {
                self.inflight_shortterm = self.cwnd;
            }
            self.bandwidth_shortterm = self.bandwidth_latest.max(BETA * self.bandwidth_shortterm);
            self.inflight_shortterm = self.inflight_latest.max(BETA * self.inflight_shortterm);
        }
    }

    /// UpdateACKAggregation (5.5.9).
    fn update_ack_aggregation(&mut self, acked: f64) {
        let interval_s = seconds(self.now_ns - self.extra_acked_began_ns);
        let mut expected = self.bandwidth() * interval_s;
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0.0;
            self.extra_acked_began_ns = self.now_ns;
            expected = 0.0;
        }
        self.extra_acked_delivered += acked;
        let extra = (self.extra_acked_delivered - expected).min(self.cwnd);
        // In Startup only the present round counts.
        if !self.full_bandwidth_reached && self.round_start {
            self.extra_acked = WindowedMax::new(EXTRA_ACKED_ROUNDS);
        }
        let round = u32::try_from(self.round_count).unwrap_or(u32::MAX);
        self.extra_acked.add(round, extra);
    }

    /// CheckFullBWReached (5.3.1.2).
    fn check_full_bandwidth(&mut self) {
        if self.full_bandwidth_now || !self.round_start || self.rs.app_limited {
            return;
        }
        if self.rs.delivery_rate >= self.full_bandwidth * FULL_BANDWIDTH_GROWTH {
            self.reset_full_bandwidth(self.rs.delivery_rate);
            return;
        }
        self.full_bandwidth_count += 1;
        self.full_bandwidth_now = self.full_bandwidth_count >= FULL_BANDWIDTH_ROUNDS;
        self.full_bandwidth_reached |= self.full_bandwidth_now;
    }

    /// CheckStartupDone, CheckStartupHighLoss (5.3.1.3), and the end of a round of losses.
    fn check_startup_done(&mut self, ack: &Ack) {
        if self.state == State::Startup
            && self.loss_round_start
            && ack.ca_state == CaState::Recovery
            && self.losses_in_round >= STARTUP_LOSSES
            && self.is_inflight_too_high()
        {
            self.full_bandwidth_reached = true;
            self.inflight_longterm = self.target_in_flight_of_losses().floor();
        }
        if self.loss_round_start {
            self.loss_in_round = false;
            self.losses_in_round = 0;
        }
        if self.state == State::Startup && self.full_bandwidth_reached {
            self.state = State::Drain;
            self.drain_start_round = self.round_count;
        }
    }

    /// The level that the losses of Startup suggest: max(BBR.bdp, BBR.inflight_latest).
    fn target_in_flight_of_losses(&self) -> f64 {
        self.product(self.bandwidth(), 1.0)
            .max(self.inflight_latest)
    }

    /// CheckDrainDone (5.3.2).
    fn check_drain_done(&mut self) {
        if self.state == State::Drain
            && (self.in_flight <= self.target(self.bandwidth(), 1.0)
                || self.round_count > self.drain_start_round + DRAIN_ROUNDS)
        {
            self.start_down();
        }
    }

    /// IsInflightTooHigh (5.5.10.2).
    fn is_inflight_too_high(&self) -> bool {
        self.rs.lost > self.rs.tx_in_flight * LOSS_THRESHOLD
    }

    /// HandleInflightTooHigh.
    fn handle_inflight_too_high(&mut self) {
        self.previous_too_high = true;
        self.bandwidth_probe_sample = false;
        if !self.rs.app_limited {
            let level = self.rs.tx_in_flight.max(self.target_in_flight() * BETA);
            // cwnd is whole packets, and has to reach it.
            self.inflight_longterm = level.floor();
        }
        if self.state == State::Up {
            self.start_down();
        }
    }

    /// NoteLoss and HandleLostPacket, for the packets that an ACK finds lost.
    fn handle_lost_packets(&mut self, newly_lost: u64) {
        if newly_lost == 0 {
            return;
        }
        if !self.loss_in_round {
            self.loss_round_delivered = self.delivered;
            self.save_cwnd();
        }
        self.loss_in_round = true;
        self.losses_in_round += 1;
        if !self.bandwidth_probe_sample || !self.is_inflight_too_high() {
            return;
        }
        // The packet of this ACK whose loss crossed the threshold: the last one that is too many by less than itself.
        let tolerated = (self.rs.tx_in_flight * LOSS_THRESHOLD).floor() + 1.0;
        let before = self.rs.lost - newly_lost as f64;
        let lost = tolerated.max(before + 1.0);
        self.rs.tx_in_flight = inflight_at_loss(self.rs.tx_in_flight, lost);
        self.handle_inflight_too_high();
    }

    /// RaiseInflightLongtermSlope.
    fn raise_longterm_slope(&mut self) {
        let growth = f64::from(1u32 << self.probe_up_rounds);
        self.probe_up_rounds = (self.probe_up_rounds + 1).min(MOST_PROBE_UP_ROUNDS);
        self.probe_up_acked_per_inc = (self.cwnd / growth).max(1.0);
    }

    /// ProbeInflightLongtermUpward.
    fn probe_longterm_upward(&mut self, acked: f64) {
        if !self.is_cwnd_limited() || self.cwnd < self.inflight_longterm {
            return;
        }
        self.probe_up_acked += acked;
        if self.probe_up_acked >= self.probe_up_acked_per_inc {
            let delta = (self.probe_up_acked / self.probe_up_acked_per_inc).floor();
            self.probe_up_acked -= delta * self.probe_up_acked_per_inc;
            self.inflight_longterm += delta;
        }
        if self.round_start {
            self.raise_longterm_slope();
        }
    }

    /// AdaptLongTermModel; true if it has decided a transition.
    fn adapt_long_term_model(&mut self, acked: f64) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.bandwidth_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.state.probes_bandwidth() && !self.rs.app_limited {
                self.advance_max_bandwidth_filter();
            }
            if self.state.probes_bandwidth()
                && self.previous_precautionary
                && !self.previous_too_high
            {
                self.start_refill();
                return true;
            }
        }
        if !self.is_inflight_too_high() && self.inflight_longterm.is_finite() {
            self.inflight_longterm = self.inflight_longterm.max(self.rs.tx_in_flight);
            if self.state == State::Up {
                self.probe_longterm_upward(acked);
            }
        }
        false
    }

    /// IsTimeToProbeBW with IsRenoCoexistenceProbeTime.
    fn is_time_to_probe(&self) -> bool {
        let rounds = self.target_in_flight().min(RENO_ROUNDS);
        self.now_ns > self.cycle_at_ns + self.probe_wait_ns
            || self.rounds_since_probe_up as f64 >= rounds
    }

    /// IsTimeToCruise.
    fn is_time_to_cruise(&self) -> bool {
        self.in_flight <= self.inflight_with_headroom()
            && self.in_flight <= self.target(self.max_bandwidth(), 1.0)
    }

    /// IsTimeToGoDown.
    fn is_time_to_go_down(&mut self) -> bool {
        if self.previous_too_high && self.in_flight >= self.inflight_longterm {
            self.previous_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= self.inflight_longterm {
            self.reset_full_bandwidth(self.rs.delivery_rate);
            return false;
        }
        self.full_bandwidth_now
    }

    /// UpdateProbeBWCyclePhase (5.3.3.9).
    fn update_cycle_phase(&mut self, acked: f64) {
        if !self.full_bandwidth_reached || self.adapt_long_term_model(acked) {
            return;
        }
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe() => self.start_refill(),
            State::Down if self.is_time_to_cruise() => self.state = State::Cruise,
            State::Refill if self.round_start => {
                self.bandwidth_probe_sample = true;
                self.start_up();
            }
            State::Up if self.is_time_to_go_down() => {
                self.previous_too_high = false;
                self.start_down();
            }
            _ => {}
        }
    }

    /// UpdateMinRTT (5.3.4.3).
    fn update_min_rtt(&mut self, ack: &Ack) {
        self.probe_rtt_expired = ack.now_ns > self.probe_rtt_min_at_ns + PROBE_RTT_INTERVAL_NS;
        if let Some(rtt_ns) = ack.rtt_ns {
            let rtt_s = seconds(rtt_ns);
            if rtt_s < self.probe_rtt_min_delay_s || self.probe_rtt_expired {
                self.probe_rtt_min_delay_s = rtt_s;
                self.probe_rtt_min_at_ns = ack.now_ns;
            }
        }
        let min_rtt_expired = ack.now_ns > self.min_rtt_at_ns + MIN_RTT_FILTER_NS;
        if self.probe_rtt_min_delay_s < self.min_rtt_s || min_rtt_expired {
            self.min_rtt_s = self.probe_rtt_min_delay_s;
            self.min_rtt_at_ns = self.probe_rtt_min_at_ns;
        }
    }

    /// CheckProbeRTT, HandleProbeRTT.
    fn check_probe_rtt(&mut self, ack: &Ack) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt_done_ns = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
            self.limited.0 = ack.delivered;
        }
        if self.state == State::ProbeRtt {
            self.limited.1 = ack.delivered + u64::from(ack.in_flight);
            match self.probe_rtt_done_ns {
                None if self.in_flight <= self.probe_rtt_cwnd() => {
                    self.probe_rtt_done_ns = Some(ack.now_ns + PROBE_RTT_NS);
                    self.probe_rtt_round_done = false;
                    self.start_round();
                }
                None => {}
                Some(_) => {
                    self.probe_rtt_round_done |= self.round_start;
                    if self.probe_rtt_round_done {
                        self.check_probe_rtt_done();
                    }
                }
            }
        }
        if self.rs.delivered > 0.0 {
            self.idle_restart = false;
        }
    }

    /// CheckProbeRTTDone, ExitProbeRTT (5.3.4.4).
    fn check_probe_rtt_done(&mut self) {
        if self
            .probe_rtt_done_ns
            .is_none_or(|done_ns| self.now_ns <= done_ns)
        {
            return;
        }
        self.probe_rtt_min_at_ns = self.now_ns;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.reset_short_term_model();
        if self.full_bandwidth_reached {
            self.start_down();
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// SetPacingRateWithGain (5.6.2).
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bandwidth() * PACING_SHARE;
        if self.full_bandwidth_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// SaveCwnd (5.6.4.4).
    fn save_cwnd(&mut self) {
        let cut = self.previous_ca_state >= CaState::Recovery || self.state == State::ProbeRtt;
        self.prior_cwnd = match cut {
            true => self.prior_cwnd.max(self.cwnd),
            false => self.cwnd,
        };
    }

    /// SetCwnd (5.6.4.6), with BoundCwndForProbeRTT and BoundCwndForModel.
    fn set_cwnd(&mut self, acked: f64) {
        let most = self.product(self.bandwidth(), self.state.cwnd_gain()) + self.extra_acked.get();
        let max_inflight = self.with_budget(most);
        if self.full_bandwidth_reached {
            self.cwnd = (self.cwnd + acked).min(max_inflight);
        } else if self.cwnd < max_inflight || (self.delivered as f64) < INITIAL_CWND {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(MINIMUM_CWND);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::ProbeRtt | State::Cruise => self.inflight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        self.cwnd = self
            .cwnd
            .min(cap.min(self.inflight_shortterm).max(MINIMUM_CWND));
    }

    /// The sample of an ACK, with what held when its newest packet was sent.
    fn sample(&mut self, ack: &Ack) {
        // The packets sent since the ACK before left with no more in flight than there was now.
        if let Some(last) = self.sent.back_mut() {
            last.in_flight = ack.prior_in_flight;
        }
        while self.sent.len() > 1 && self.sent[1].delivered <= ack.prior_delivered {
            self.sent.pop_front();
        }
        let at_transmit = self.sent.front().copied().unwrap_or(Sent {
            in_flight: ack.prior_in_flight,
            ..Sent::default()
        });
        let limited = (self.limited.0..=self.limited.1).contains(&ack.prior_delivered);
        let valid = ack.rate_interval_ns > 0;
        self.rs = RateSample {
            delivery_rate: match valid {
                true => f64::from(ack.rate_delivered) / seconds(ack.rate_interval_ns),
                false => 0.0,
            },
            delivered: f64::from(ack.rate_delivered),
            app_limited: ack.app_limited || limited,
            tx_in_flight: f64::from(at_transmit.in_flight),
            lost: ack.lost.saturating_sub(at_transmit.lost) as f64,
        };
        self.sent.push_back(Sent {
            delivered: ack.delivered,
            lost: ack.lost,
            in_flight: ack.in_flight,
        });
    }
}

impl CongestionControl for Bbr3 {
    fn name(&self) -> &'static str {
        REGISTRATION.name
    }

    /// UpdateOnACK (5.2.3), after HandleLostPacket of the packets that the ACK finds lost.
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if self.pacing_rate == 0.0 {
            self.pacing_rate = initial_pacing_rate(window.cwnd, ack.smoothed_rtt_ns);
            self.extra_acked_began_ns = ack.now_ns;
            self.probe_rtt_min_at_ns = ack.now_ns;
            self.min_rtt_at_ns = ack.now_ns;
            if ack.min_rtt_ns > 0 {
                self.min_rtt_s = seconds(ack.min_rtt_ns);
            }
        }
        let acked = f64::from(ack.acked);
        let newly_lost = ack.lost.saturating_sub(self.lost);
        self.now_ns = ack.now_ns;
        self.in_flight = ack.in_flight.into();
        self.cwnd = window.cwnd;
        self.cwnd_used[0] |= f64::from(ack.prior_in_flight) >= window.cwnd.floor();
        self.delivered = ack.delivered;
        self.lost = self.lost.max(ack.lost);
        self.sample(ack);
        self.handle_lost_packets(newly_lost);
        // RestoreCwnd at the end of a recovery.
        let previous = std::mem::replace(&mut self.previous_ca_state, ack.ca_state);
        if previous >= CaState::Recovery && ack.ca_state < CaState::Recovery {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
        self.update_latest_delivery_signals(ack);
        self.update_congestion_signals(ack);
        self.update_ack_aggregation(acked);
        self.check_full_bandwidth();
        self.check_startup_done(ack);
        self.check_drain_done();
        self.update_cycle_phase(acked);
        self.update_min_rtt(ack);
        self.check_probe_rtt(ack);
        self.advance_latest_delivery_signals();
        self.set_pacing_rate(self.state.pacing_gain());
        self.set_cwnd(acked);
        self.cwnd = self.cwnd.floor();
        window.cwnd = self.cwnd;
    }

    /// OnEnterFastRecovery.
    fn on_loss(&mut self, _congestion: &Congestion, window: &mut Window) {
        self.cwnd = window.cwnd;
        self.save_cwnd();
    }

    /// OnEnterRTO.
    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window) {
        self.cwnd = window.cwnd;
        self.now_ns = congestion.now_ns;
        self.save_cwnd();
        self.previous_ca_state = CaState::Loss;
    }

    /// A mark changes nothing.
    fn on_ecn_echo(&mut self, _congestion: &Congestion, _in_profile: bool, _window: &mut Window) {}

    /// HandleRestartFromIdle (5.4.1).
    fn on_restart(&mut self, now_ns: u64, window: &mut Window) {
        self.now_ns = now_ns;
        self.cwnd = window.cwnd;
        self.idle_restart = true;
        self.extra_acked_began_ns = now_ns;
        self.extra_acked_delivered = 0.0;
        if self.state.probes_bandwidth() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done();
            window.cwnd = self.cwnd.floor();
        }
    }

    fn governs_recovery(&self) -> bool {
        true
    }

    fn pacing_interval_ns(&self, window: &Window, smoothed_rtt_ns: u64) -> Option<u64> {
        let rate = match self.pacing_rate {
            rate if rate > 0.0 => rate,
            _ => initial_pacing_rate(window.cwnd, smoothed_rtt_ns),
        };
        (rate > 0.0).then(|| (1e9 / rate) as u64)
    }

    fn pacing_burst_packets(&self) -> u32 {
        self.quantum() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A control in ProbeBW on a path of 1000 packets/s and 50 ms: BBR.bdp is 50 packets.
    fn cruising() -> Bbr3 {
        Bbr3 {
            state: State::Cruise,
            max_bandwidth: [1000.0, 0.0],
            min_rtt_s: 0.05,
            min_rtt_at_ns: 1_000_000_000,
            probe_rtt_min_delay_s: 0.05,
            probe_rtt_min_at_ns: 1_000_000_000,
            full_bandwidth_reached: true,
            pacing_rate: 990.0,
            cwnd: 100.0,
            in_flight: 50.0,
            delivered: 5000,
            next_round_delivered: 5000,
            now_ns: 1_000_000_000,
            cycle_at_ns: 1_000_000_000,
            probe_wait_ns: 2_500_000_000,
            ..Bbr3::default()
        }
    }

    /// An ACK of one packet after the state of `cruising`, sent and delivered at the path's rate.
    fn ack() -> Ack {
        Ack {
            now_ns: 1_001_000_000,
            rtt_ns: Some(50_000_000),
            smoothed_rtt_ns: 50_000_000,
            min_rtt_ns: 50_000_000,
            acked: 1,
            in_flight: 50,
            prior_in_flight: 51,
            delivered: 5001,
            prior_delivered: 4950,
            rate_delivered: 50,
            rate_interval_ns: 50_000_000,
            ..Ack::default()
        }
    }

    fn window() -> Window {
        Window {
            cwnd: 100.0,
            ssthresh: f64::INFINITY,
        }
    }

    /// Section 5.6.1: the table of gains.
    #[test]
    fn gains_are_those_of_the_table() {
        for (state, pacing, cwnd) in [
            (State::Startup, 2.77, 2.0),
            (State::Drain, 0.5, 2.0),
            (State::Down, 0.9, 2.0),
            (State::Cruise, 1.0, 2.0),
            (State::Refill, 1.0, 2.0),
            (State::Up, 1.25, 2.25),
            (State::ProbeRtt, 1.0, 0.5),
        ] {
            assert_eq!((state.pacing_gain(), state.cwnd_gain()), (pacing, cwnd));
        }
    }

    /// Of 101 packets in flight with it the packet is the third lost: (0.02 * 100 - 2) / 0.98 = 0, so 100 packets fit. As the
    /// second it is tolerated in whole, (0.02 * 100 - 1) / 0.98 = 1.02 packets; as the fourth nothing of it.
    #[test]
    fn losses_cross_the_threshold_within_a_packet() {
        assert_eq!(inflight_at_loss(101.0, 3.0), 100.0);
        assert!((inflight_at_loss(101.0, 2.0) - 101.0204).abs() < 1e-4);
        assert_eq!(inflight_at_loss(101.0, 4.0), 100.0);
    }

    /// A plateau of three rounds ends Startup, and half of the rate drains the queue (5.3.1.2, 5.3.2).
    #[test]
    fn startup_ends_after_three_rounds_without_growth() {
        let mut control = Bbr3 {
            cwnd: 100.0,
            in_flight: 200.0,
            min_rtt_s: 0.05,
            max_bandwidth: [0.0, 1000.0],
            ..Bbr3::default()
        };
        control.round_start = true;
        for (rate, count, reached) in [
            (800.0, 0, false),
            // 1000 is 800 * 1.25: it still grows.
            (1000.0, 0, false),
            (1200.0, 1, false),
            (1249.0, 2, false),
            (1000.0, 3, true),
        ] {
            control.rs.delivery_rate = rate;
            control.check_full_bandwidth();
            control.check_startup_done(&Ack::default());
            let seen = (control.full_bandwidth_count, control.full_bandwidth_reached);
            assert_eq!(seen, (count, reached), "at {rate}");
        }
        assert_eq!(control.state, State::Drain);
        control.check_drain_done();
        assert_eq!(control.state, State::Drain);
        // 1000 packets/s * 50 ms.
        control.in_flight = 50.0;
        control.check_drain_done();
        assert_eq!(control.state, State::Down);
    }

    /// Six ACKs with losses in a round of recovery, and more than 2 % lost (5.3.1.3).
    #[test]
    fn startup_ends_by_losses() {
        let high = Bbr3 {
            losses_in_round: 6,
            loss_round_start: true,
            inflight_latest: 80.0,
            min_rtt_s: 0.05,
            max_bandwidth: [0.0, 1000.0],
            rs: RateSample {
                lost: 3.0,
                tx_in_flight: 149.0,
                ..RateSample::default()
            },
            ..Bbr3::default()
        };
        let recovery = Ack {
            ca_state: CaState::Recovery,
            ..Ack::default()
        };
        let mut control = high.clone();
        control.check_startup_done(&recovery);
        // The larger of bdp, 50, and inflight_latest.
        assert_eq!(
            (control.state, control.inflight_longterm),
            (State::Drain, 80.0)
        );
        for (lost, losses, ca_state) in [
            (2.0, 6, CaState::Recovery),
            (3.0, 5, CaState::Recovery),
            (3.0, 6, CaState::Open),
        ] {
            let mut control = high.clone();
            control.rs.lost = lost;
            control.losses_in_round = losses;
            control.check_startup_done(&Ack {
                ca_state,
                ..recovery
            });
            assert_eq!(
                control.state,
                State::Startup,
                "{lost} {losses} {ca_state:?}"
            );
        }
    }

    /// Sections 5.3.3.7 and 5.5.10.2: a probe that loses more than 2 % sets inflight_longterm to what was in flight, or to 0.7 of
    /// the target if that is more, and goes down.
    #[test]
    fn a_probe_with_losses_bounds_what_is_in_flight() {
        let probing = Bbr3 {
            state: State::Up,
            bandwidth_probe_sample: true,
            lost: 10,
            ..cruising()
        };
        let sample = |tx_in_flight: f64, lost: f64| RateSample {
            tx_in_flight,
            lost,
            ..RateSample::default()
        };
        // 2 of 100 are tolerated.
        let mut control = probing.clone();
        control.rs = sample(100.0, 2.0);
        control.handle_lost_packets(1);
        assert_eq!(control.state, State::Up);
        assert!(control.inflight_longterm.is_infinite());
        // The third of 101 is not: 100 packets fit.
        let mut control = probing.clone();
        control.rs = sample(101.0, 3.0);
        control.handle_lost_packets(1);
        assert_eq!(
            (control.state, control.inflight_longterm),
            (State::Down, 100.0)
        );
        assert!(control.previous_too_high && !control.bandwidth_probe_sample);
        // Of 103 there fit 102 and (0.02 * 102 - 2) / 0.98 = 0.04 of a packet: whole ones, or cwnd would never reach it.
        let mut control = probing.clone();
        control.rs = sample(103.0, 3.0);
        control.handle_lost_packets(1);
        assert_eq!(control.inflight_longterm, 102.0);
        // 0.7 * min(50, 100) = 35 is more than 20.
        let mut control = probing.clone();
        control.rs = sample(20.0, 1.0);
        control.handle_lost_packets(1);
        assert_eq!(control.inflight_longterm, 35.0);
        // A rate that the program limited says nothing of the path.
        let mut control = probing;
        control.rs = RateSample {
            app_limited: true,
            ..sample(101.0, 3.0)
        };
        control.handle_lost_packets(1);
        assert!(control.inflight_longterm.is_infinite());
    }

    /// Section 5.5.10.3: once a round with losses bw_shortterm and inflight_shortterm fall to what was delivered, by 30 % at most.
    #[test]
    fn losses_while_cruising_lower_the_short_term_model() {
        let mut control = Bbr3 {
            loss_in_round: true,
            bandwidth_latest: 800.0,
            inflight_latest: 40.0,
            loss_round_start: true,
            ..cruising()
        };
        control.update_congestion_signals(&ack());
        assert_eq!(control.bandwidth_shortterm, 800.0);
        // 0.7 * cwnd of 100.
        assert_eq!(control.inflight_shortterm, 70.0);
        assert_eq!(control.bandwidth(), 800.0);
        control.loss_in_round = true;
        control.bandwidth_latest = 500.0;
        control.update_congestion_signals(&ack());
        // 0.7 * 800 and 0.7 * 70.
        assert!((control.bandwidth_shortterm - 560.0).abs() < 1e-9);
        assert!((control.inflight_shortterm - 49.0).abs() < 1e-9);
        // A refill forgets both.
        control.start_refill();
        assert_eq!(control.bandwidth(), 1000.0);
        // While it accelerates, losses do not count so.
        control.loss_in_round = true;
        control.update_congestion_signals(&ack());
        assert!(control.bandwidth_shortterm.is_infinite());
    }

    /// Section 5.3.3.5: in the rounds of a probe inflight_longterm grows by 1, 2, 4 and so on packets for each cwnd
    /// acknowledged.
    #[test]
    fn the_long_term_bound_grows_faster_round_by_round() {
        let mut control = Bbr3 {
            state: State::Up,
            inflight_longterm: 100.0,
            cwnd_used: [true; 2],
            ..cruising()
        };
        control.raise_longterm_slope();
        let mut cwnd = 100.0;
        for growth in [1.0, 2.0, 4.0, 8.0] {
            let before = control.inflight_longterm;
            control.cwnd = before;
            let per_increase = control.probe_up_acked_per_inc;
            assert_eq!(per_increase, cwnd / growth);
            control.round_start = false;
            control.probe_longterm_upward(per_increase * growth - 0.5);
            assert_eq!(control.inflight_longterm, before + growth - 1.0);
            cwnd = control.inflight_longterm;
            control.cwnd = cwnd;
            control.round_start = true;
            control.probe_longterm_upward(0.5);
            assert_eq!(control.inflight_longterm, before + growth);
        }
        // Not while the bound does not limit it.
        let before = control.inflight_longterm;
        control.cwnd_used = [false; 2];
        control.probe_longterm_upward(1000.0);
        assert_eq!(control.inflight_longterm, before);
    }

    /// Section 5.3.3.8: beside Reno a probe comes after as many rounds as the target has packets, 63 at most, and in 2 to 3 s.
    #[test]
    fn a_probe_comes_by_rounds_or_by_time() {
        let mut control = cruising();
        control.rounds_since_probe_up = 49;
        assert!(!control.is_time_to_probe());
        control.rounds_since_probe_up = 50;
        assert!(control.is_time_to_probe());
        // A product of 200 packets.
        control.max_bandwidth = [4000.0, 0.0];
        control.cwnd = 400.0;
        control.rounds_since_probe_up = 62;
        assert!(!control.is_time_to_probe());
        control.rounds_since_probe_up = 63;
        assert!(control.is_time_to_probe());
        control.rounds_since_probe_up = 0;
        control.now_ns = 3_500_000_000;
        assert!(!control.is_time_to_probe());
        control.now_ns = 3_500_000_001;
        assert!(control.is_time_to_probe());
        control.start_down();
        assert!((2_000_000_000..=3_000_000_000).contains(&control.probe_wait_ns));
        assert!(control.rounds_since_probe_up <= 1);
    }

    /// The four states in their order, and what each waits for (5.3.3.9).
    #[test]
    fn a_cycle_goes_down_cruises_refills_and_goes_up() {
        let mut control = Bbr3 {
            state: State::Down,
            in_flight: 60.0,
            ..cruising()
        };
        control.update_cycle_phase(1.0);
        assert_eq!(control.state, State::Down);
        control.in_flight = 50.0;
        control.update_cycle_phase(1.0);
        assert_eq!(control.state, State::Cruise);
        control.rounds_since_probe_up = 63;
        control.update_cycle_phase(1.0);
        assert_eq!(control.state, State::Refill);
        control.round_start = false;
        control.update_cycle_phase(1.0);
        assert_eq!(control.state, State::Refill);
        control.round_start = true;
        control.update_cycle_phase(1.0);
        assert_eq!(control.state, State::Up);
        assert!(control.bandwidth_probe_sample);
        control.round_start = false;
        control.update_cycle_phase(1.0);
        assert_eq!(control.state, State::Up);
        control.full_bandwidth_now = true;
        control.update_cycle_phase(1.0);
        assert_eq!(
            (control.state, control.ack_phase),
            (State::Down, AckPhase::ProbeStopping)
        );
    }

    /// After a probe that lost too much the next one ends at inflight_longterm, and without losses another follows at once (5.3.3.6).
    #[test]
    fn a_probe_after_losses_is_precautionary() {
        let mut control = Bbr3 {
            state: State::Up,
            ack_phase: AckPhase::ProbeFeedback,
            previous_too_high: true,
            inflight_longterm: 80.0,
            in_flight: 79.0,
            ..cruising()
        };
        control.update_cycle_phase(1.0);
        assert_eq!(control.state, State::Up);
        control.in_flight = 80.0;
        control.update_cycle_phase(1.0);
        assert_eq!(control.state, State::Down);
        assert!(control.previous_precautionary && !control.previous_too_high);
        control.round_start = true;
        control.update_cycle_phase(1.0);
        assert_eq!(control.state, State::Refill);
        assert!(!control.previous_precautionary);
    }

    /// Cruising leaves 15 % of inflight_longterm to others (5.3.3.9, 5.6.4.7).
    #[test]
    fn cruising_leaves_headroom() {
        let mut control = Bbr3 {
            inflight_longterm: 60.0,
            ..cruising()
        };
        control.set_cwnd(1.0);
        assert_eq!(control.cwnd, 51.0);
        control.state = State::Refill;
        control.set_cwnd(20.0);
        assert_eq!(control.cwnd, 60.0);
        // Twice the product without such a bound.
        control.inflight_longterm = f64::INFINITY;
        control.set_cwnd(100.0);
        assert_eq!(control.cwnd, 100.0);
    }

    /// Each 5 s without a shorter round trip, half of the product for 200 ms and a round (5.3.4.3).
    #[test]
    fn half_of_the_product_probes_the_round_trip() {
        let mut control = cruising();
        let mut window = window();
        let later = Ack {
            now_ns: 6_000_000_001,
            rtt_ns: Some(60_000_000),
            ..ack()
        };
        control.on_ack(&later, &mut window);
        assert_eq!((control.state, window.cwnd), (State::ProbeRtt, 25.0));
        let drained = |now_ns, delivered, prior_delivered| Ack {
            now_ns,
            in_flight: 25,
            prior_in_flight: 26,
            delivered,
            prior_delivered,
            ..ack()
        };
        control.on_ack(&drained(6_050_000_000, 5030, 5000), &mut window);
        assert_eq!(control.probe_rtt_done_ns, Some(6_250_000_000));
        // A round later, but 200 ms are not over; then they are.
        control.on_ack(&drained(6_250_000_000, 5060, 5030), &mut window);
        assert_eq!(control.state, State::ProbeRtt);
        control.on_ack(&drained(6_250_000_001, 5061, 5031), &mut window);
        assert_eq!(control.state, State::Cruise);
        // The window from before, and the packet acknowledged.
        assert_eq!(window.cwnd, 101.0);
    }

    /// Two cycles are remembered (5.5.6).
    #[test]
    fn the_bandwidth_is_that_of_two_cycles() {
        let mut control = cruising();
        control.advance_max_bandwidth_filter();
        assert_eq!(control.max_bandwidth(), 1000.0);
        control.rs.delivery_rate = 900.0;
        control.update_max_bandwidth(&ack());
        assert_eq!(control.max_bandwidth(), 1000.0);
        control.advance_max_bandwidth_filter();
        assert_eq!(control.max_bandwidth(), 900.0);
        // A sample that the program limited counts only where it is larger.
        control.rs = RateSample {
            delivery_rate: 800.0,
            app_limited: true,
            ..RateSample::default()
        };
        control.update_max_bandwidth(&ack());
        assert_eq!(control.max_bandwidth, [900.0, 0.0]);
        control.rs.delivery_rate = 950.0;
        control.update_max_bandwidth(&ack());
        assert_eq!(control.max_bandwidth(), 950.0);
    }

    /// In flight and lost of a sample are those of the time at which the newest packet delivered was sent.
    #[test]
    fn a_sample_knows_what_was_in_flight() {
        let mut control = Bbr3::default();
        let ack = |delivered, prior_delivered, prior_in_flight, lost| Ack {
            delivered,
            prior_delivered,
            prior_in_flight,
            in_flight: prior_in_flight - 1,
            lost,
            ..Ack::default()
        };
        control.sample(&ack(1, 0, 10, 0));
        assert_eq!((control.rs.tx_in_flight, control.rs.lost), (10.0, 0.0));
        control.sample(&ack(2, 0, 11, 0));
        // Sent when 1 was delivered: 11 were in flight at most before the second ACK.
        control.sample(&ack(3, 1, 12, 2));
        assert_eq!((control.rs.tx_in_flight, control.rs.lost), (11.0, 2.0));
        // Sent when 3 were delivered and 2 lost.
        control.sample(&ack(4, 3, 13, 3));
        assert_eq!((control.rs.tx_in_flight, control.rs.lost), (13.0, 1.0));
    }
}
