// SPDX-License-Identifier: MIT OR Apache-2.0
//! BBR, version 1, as Linux has it (`tcp_bbr.c`; Cardwell et al., "BBR: Congestion-Based Congestion Control", 2016;
//! draft-cardwell-iccrg-bbr-congestion-control-00).
//!
//! It differs from Linux in this: a random phase begins the cycle of gains in Linux, and one drawn from the state of
//! the connection does here, so that runs repeat; a control knows no packet size, so that bursts are those of packets of
//! 1448 bytes; and an application that pauses for less than an RTO does not end its pause with the rate of the cycle's
//! neutral phase.

use crate::congestion_control::{
    Ack, CaState, Congestion, CongestionControl, Registration, Window,
};
use crate::controls::windowed_max::WindowedMax;

pub(crate) const REGISTRATION: Registration = Registration {
    name: "bbr",
    summary: "paces by measured bandwidth and smallest round-trip time, whatever is lost (BBR version 1, as in Linux)",
    build: |_| Box::new(Bbr::default()),
};

/// One packet per microsecond, in the unit of bandwidths here.
const BANDWIDTH_UNIT: u64 = 1 << 24;
/// A gain of 1.
const GAIN_UNIT: u64 = 1 << 8;
/// 2 / ln 2: the least pacing gain by which the rate doubles each round trip.
const HIGH_GAIN: u64 = GAIN_UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = GAIN_UNIT * 1000 / 2885;
const CWND_GAIN: u64 = 2 * GAIN_UNIT;
/// Pacing gains of the phases of `Mode::ProbeBandwidth`.
const CYCLE: [u64; 8] = [
    GAIN_UNIT * 5 / 4,
    GAIN_UNIT * 3 / 4,
    GAIN_UNIT,
    GAIN_UNIT,
    GAIN_UNIT,
    GAIN_UNIT,
    GAIN_UNIT,
    GAIN_UNIT,
];
/// The cycle begins at one of so many phases, the draining one never among them.
const CYCLE_STARTS: u64 = 7;
/// Percent of the rate that pacing leaves unused.
const PACING_MARGIN_PERCENT: u64 = 1;

/// Window of the bandwidth filter in round trips.
const BANDWIDTH_ROUNDS: u32 = 10;
const MIN_RTT_WINDOW_NS: u64 = 10_000_000_000;
const PROBE_RTT_NS: u64 = 200_000_000;
const MINIMUM_CWND: u32 = 4;
/// TCP_INIT_CWND of Linux.
const INITIAL_CWND: u32 = 10;

/// The pipe is full if the bandwidth grew by less than this for [`FULL_PIPE_ROUNDS`].
const FULL_PIPE_GROWTH: u64 = GAIN_UNIT * 5 / 4;
const FULL_PIPE_ROUNDS: u32 = 3;

/// Round trips of an interval in which a policer's rate is estimated, at least and at most.
const POLICED_ROUNDS: u32 = 4;
const POLICED_MOST_ROUNDS: u32 = 4 * POLICED_ROUNDS;
/// Lost of delivered packets from which an interval counts as policed, in 1/256.
const POLICED_LOSS: u64 = 50;
/// Two intervals whose bandwidths differ by at most 1/8, or by 4 kb/s, have the same.
const POLICED_RATIO: u64 = 8;
const POLICED_DIFFERENCE_BYTES_PER_S: u64 = 4000 / 8;
/// Round trips for which the policer's rate is believed.
const POLICED_BELIEVED_ROUNDS: u32 = 48;

/// Window of the filter of ACK aggregation in round trips: 5 to 10.
const AGGREGATION_ROUNDS: u32 = 5;
const AGGREGATION_RESET_PACKETS: u64 = 1 << 20;
const AGGREGATION_MOST_US: u64 = 100_000;

/// Data in a packet, where Linux' limits count bytes.
const PACKET_BYTES: u64 = 1448;
/// Rate in bytes per second from which packets leave in pairs at least.
const PAIRS_FROM_BYTES_PER_S: u64 = 1_200_000 / 8;
/// Longest burst in packets: 64 kB.
const LONGEST_BURST: u64 = 65_215 / PACKET_BYTES;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// The samples of one ACK.
#[derive(Debug, Clone, Copy)]
struct Sample {
    /// False if the ACK measures no delivery rate.
    valid: bool,
    delivered: u64,
    interval_us: u64,
    app_limited: bool,
    losses: u64,
}

/// The estimator of a token-bucket policer's rate (`lt_bw` of Linux): two intervals of the same bandwidth with a fifth
/// of the packets lost.
#[derive(Debug, Clone, Copy, Default)]
struct Policer {
    sampling: bool,
    /// The estimate is used in place of the filter's maximum.
    believed: bool,
    rounds: u32,
    bandwidth: u64,
    began_ns: u64,
    delivered_before: u64,
    lost_before: u64,
}

/// BBR.
#[derive(Debug, Clone)]
pub struct Bbr {
    mode: Mode,
    bandwidth: WindowedMax<u64>,
    rounds: u32,
    round_start: bool,
    /// [`Ack::delivered`] at which the round ends.
    round_end_delivered: u64,

    min_rtt_us: Option<u64>,
    min_rtt_at_ns: u64,
    probe_rtt_done_ns: Option<u64>,
    probe_rtt_round_done: bool,
    /// Packets sent between these counts of delivered packets, while `Mode::ProbeRtt` limited the window, measure no
    /// bandwidth.
    limited: (u64, u64),
    idle_restart: bool,

    pacing_gain: u64,
    cwnd_gain: u64,
    cycle_phase: usize,
    phase_began_ns: u64,

    full_bandwidth: u64,
    full_rounds: u32,
    full_pipe: bool,

    policer: Policer,

    previous_state: CaState,
    /// The window before recovery or `Mode::ProbeRtt` cut it.
    prior_cwnd: u32,
    packet_conservation: bool,

    /// The two last maxima of packets delivered beyond the bandwidth in an epoch, the current first.
    extra_acked: [u32; 2],
    extra_acked_rounds: u32,
    epoch_began_ns: u64,
    epoch_acked: u64,

    /// Bandwidth times gain less the margin; 0 before the first ACK.
    pacing_rate: u64,
    /// The window that this control set last.
    cwnd: u32,
    /// [`Ack::delivered`], [`Ack::lost`] and the time of the last ACK.
    delivered: u64,
    lost: u64,
    now_ns: u64,
}

impl Default for Bbr {
    fn default() -> Bbr {
        Bbr {
            mode: Mode::Startup,
            bandwidth: WindowedMax::new(BANDWIDTH_ROUNDS),
            rounds: 0,
            round_start: false,
            round_end_delivered: 0,
            min_rtt_us: None,
            min_rtt_at_ns: 0,
            probe_rtt_done_ns: None,
            probe_rtt_round_done: false,
            limited: (1, 0),
            idle_restart: false,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            cycle_phase: 0,
            phase_began_ns: 0,
            full_bandwidth: 0,
            full_rounds: 0,
            full_pipe: false,
            policer: Policer::default(),
            previous_state: CaState::Open,
            prior_cwnd: 0,
            packet_conservation: false,
            extra_acked: [0; 2],
            extra_acked_rounds: 0,
            epoch_began_ns: 0,
            epoch_acked: 0,
            pacing_rate: 0,
            cwnd: 0,
            delivered: 0,
            lost: 0,
            now_ns: 0,
        }
    }
}

/// Applies a gain and the pacing margin to a bandwidth.
fn paced(bandwidth: u64, gain: u64) -> u64 {
    bandwidth.saturating_mul(gain) / GAIN_UNIT * (100 - PACING_MARGIN_PERCENT) / 100
}

/// The rate before the first ACK: the window in a round-trip time, of which 1 ms stands for an unknown one.
fn initial_pacing_rate(cwnd: f64, smoothed_rtt_ns: u64) -> u64 {
    let rtt_us = match smoothed_rtt_ns / 1000 {
        0 => 1000,
        rtt_us => rtt_us,
    };
    paced(
        (cwnd as u64).saturating_mul(BANDWIDTH_UNIT) / rtt_us,
        HIGH_GAIN,
    )
}

/// Packets in a time in microseconds.
fn packets_in(rate: u64, time_us: u64) -> u64 {
    let packets = u128::from(rate) * u128::from(time_us) / u128::from(BANDWIDTH_UNIT);
    u64::try_from(packets).unwrap_or(u64::MAX)
}

fn bytes_per_second(rate: u64) -> u64 {
    packets_in(rate, 1_000_000).saturating_mul(PACKET_BYTES)
}

impl Bbr {
    /// The estimate of the path's bandwidth.
    fn estimate(&self) -> u64 {
        if self.policer.believed {
            self.policer.bandwidth
        } else {
            self.bandwidth.get()
        }
    }

    /// The bandwidth-delay product times `gain`, in packets, rounded up.
    fn product(&self, bandwidth: u64, gain: u64) -> u32 {
        let Some(min_rtt_us) = self.min_rtt_us else {
            return INITIAL_CWND;
        };
        let scaled = u128::from(bandwidth) * u128::from(min_rtt_us * gain) / u128::from(GAIN_UNIT);
        u32::try_from(scaled.div_ceil(BANDWIDTH_UNIT.into())).unwrap_or(u32::MAX)
    }

    /// Packets that leave together (`bbr_tso_segs_goal` of Linux): about 1 ms at the pacing rate.
    fn burst(&self) -> u32 {
        let bytes_per_s = bytes_per_second(self.pacing_rate);
        let least = if bytes_per_s < PAIRS_FROM_BYTES_PER_S {
            1
        } else {
            2
        };
        (bytes_per_s / 1024 / PACKET_BYTES).clamp(least, LONGEST_BURST) as u32
    }

    /// Adds what bursts and delayed ACKs need (`bbr_quantization_budget`).
    fn with_budget(&self, cwnd: u32) -> u32 {
        let mut cwnd = cwnd.saturating_add(3 * self.burst()).min(u32::MAX - 4);
        cwnd += cwnd % 2;
        if self.mode == Mode::ProbeBandwidth && self.cycle_phase == 0 {
            cwnd += 2;
        }
        cwnd
    }

    fn target_in_flight(&self, bandwidth: u64, gain: u64) -> u32 {
        self.with_budget(self.product(bandwidth, gain))
    }

    /// Packets in the network when the next one leaves, of `in_flight` now (`bbr_packets_in_net_at_edt`).
    fn in_flight_at_departure(&self, ack: &Ack, in_flight: u32) -> u32 {
        let wait_us = ack.next_send_ns.saturating_sub(ack.now_ns) / 1000;
        let delivered = packets_in(self.estimate(), wait_us);
        let burst = if self.pacing_gain > GAIN_UNIT {
            self.burst()
        } else {
            0
        };
        let then = u64::from(in_flight + burst).saturating_sub(delivered);
        u32::try_from(then).unwrap_or(u32::MAX)
    }

    fn save_cwnd(&mut self, cwnd: f64) {
        let cwnd = cwnd as u32;
        let cut = self.previous_state >= CaState::Recovery || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if cut { self.prior_cwnd.max(cwnd) } else { cwnd };
    }

    fn begin_probing_bandwidth(&mut self) {
        self.mode = Mode::ProbeBandwidth;
        let draw = (self.now_ns ^ self.delivered.rotate_left(32))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(31)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9)
            >> 33;
        self.cycle_phase = CYCLE.len() - 1 - (draw % CYCLE_STARTS) as usize;
        self.advance_phase();
    }

    fn advance_phase(&mut self) {
        self.cycle_phase = (self.cycle_phase + 1) % CYCLE.len();
        self.phase_began_ns = self.now_ns;
    }

    fn restore_mode(&mut self) {
        if self.full_pipe {
            self.begin_probing_bandwidth();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn begin_policer_interval(&mut self) {
        self.policer.began_ns = self.now_ns;
        self.policer.delivered_before = self.delivered;
        self.policer.lost_before = self.lost;
        self.policer.rounds = 0;
    }

    fn forget_policer(&mut self) {
        self.policer = Policer::default();
        self.begin_policer_interval();
    }

    /// Looks for a policer (`bbr_lt_bw_sampling`).
    fn sample_policer(&mut self, losses: u64, app_limited: bool) {
        if self.policer.believed {
            if self.mode == Mode::ProbeBandwidth && self.round_start {
                self.policer.rounds += 1;
                if self.policer.rounds >= POLICED_BELIEVED_ROUNDS {
                    self.forget_policer();
                    self.begin_probing_bandwidth();
                }
            }
            return;
        }
        // Until the first loss the bucket's tokens last, and rates are larger than the policer's.
        if !self.policer.sampling {
            if losses == 0 {
                return;
            }
            self.begin_policer_interval();
            self.policer.sampling = true;
        }
        if app_limited {
            self.forget_policer();
            return;
        }
        self.policer.rounds += u32::from(self.round_start);
        if self.policer.rounds < POLICED_ROUNDS {
            return;
        }
        if self.policer.rounds > POLICED_MOST_ROUNDS {
            self.forget_policer();
            return;
        }
        // A loss ends the interval: the tokens are used up then.
        if losses == 0 {
            return;
        }
        let lost = self.lost - self.policer.lost_before;
        let delivered = self.delivered - self.policer.delivered_before;
        if delivered == 0 || lost * GAIN_UNIT < POLICED_LOSS * delivered {
            return;
        }
        let passed_us = (self.now_ns - self.policer.began_ns) / 1_000_000 * 1000;
        if passed_us == 0 {
            return;
        }
        let bandwidth = delivered * BANDWIDTH_UNIT / passed_us;
        let before = self.policer.bandwidth;
        let difference = bandwidth.abs_diff(before);
        let same = difference * POLICED_RATIO <= before
            || bytes_per_second(paced(difference, GAIN_UNIT)) <= POLICED_DIFFERENCE_BYTES_PER_S;
        if before > 0 && same {
            self.policer.bandwidth = (bandwidth + before) / 2;
            self.policer.believed = true;
            self.policer.rounds = 0;
            self.pacing_gain = GAIN_UNIT;
            return;
        }
        self.policer.bandwidth = bandwidth;
        self.begin_policer_interval();
    }

    fn update_bandwidth(&mut self, ack: &Ack, sample: &Sample) {
        self.round_start = false;
        if !sample.valid {
            return;
        }
        if ack.prior_delivered >= self.round_end_delivered {
            self.round_end_delivered = ack.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.sample_policer(sample.losses, sample.app_limited);
        let bandwidth = sample.delivered * BANDWIDTH_UNIT / sample.interval_us;
        if !sample.app_limited || bandwidth >= self.bandwidth.get() {
            self.bandwidth.add(self.rounds, bandwidth);
        }
    }

    /// Measures by how many packets ACKs run ahead of the bandwidth (`bbr_update_ack_aggregation`).
    fn update_aggregation(&mut self, ack: &Ack, sample: &Sample, cwnd: u32) {
        if !sample.valid || ack.acked == 0 {
            return;
        }
        if self.round_start {
            self.extra_acked_rounds += 1;
            if self.extra_acked_rounds >= AGGREGATION_ROUNDS {
                self.extra_acked_rounds = 0;
                self.extra_acked = [0, self.extra_acked[0]];
            }
        }
        let acked = u64::from(ack.acked);
        let epoch_us = (ack.now_ns - self.epoch_began_ns) / 1000;
        let mut expected = packets_in(self.estimate(), epoch_us);
        if self.epoch_acked <= expected || self.epoch_acked + acked >= AGGREGATION_RESET_PACKETS {
            self.epoch_acked = 0;
            self.epoch_began_ns = ack.now_ns;
            expected = 0;
        }
        self.epoch_acked += acked;
        let extra = (self.epoch_acked.saturating_sub(expected)).min(cwnd.into()) as u32;
        self.extra_acked[0] = self.extra_acked[0].max(extra);
    }

    fn update_phase(&mut self, ack: &Ack, sample: &Sample) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let min_rtt_ns = self
            .min_rtt_us
            .map_or(u64::MAX, |us| us.saturating_mul(1000));
        let full_length = ack.now_ns - self.phase_began_ns > min_rtt_ns;
        let in_flight = self.in_flight_at_departure(ack, ack.prior_in_flight);
        let bandwidth = self.bandwidth.get();
        let ends = if self.pacing_gain == GAIN_UNIT {
            full_length
        } else if self.pacing_gain > GAIN_UNIT {
            full_length
                && (sample.losses > 0
                    || in_flight >= self.target_in_flight(bandwidth, self.pacing_gain))
        } else {
            full_length || in_flight <= self.target_in_flight(bandwidth, GAIN_UNIT)
        };
        if ends {
            self.advance_phase();
        }
    }

    fn check_full_pipe(&mut self, sample: &Sample) {
        if self.full_pipe || !self.round_start || sample.app_limited {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if bandwidth >= self.full_bandwidth * FULL_PIPE_GROWTH / GAIN_UNIT {
            self.full_bandwidth = bandwidth;
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full_pipe = self.full_rounds >= FULL_PIPE_ROUNDS;
    }

    fn check_drained(&mut self, ack: &Ack, window: &mut Window) {
        if self.mode == Mode::Startup && self.full_pipe {
            self.mode = Mode::Drain;
            window.ssthresh = self
                .target_in_flight(self.bandwidth.get(), GAIN_UNIT)
                .into();
        }
        if self.mode == Mode::Drain
            && self.in_flight_at_departure(ack, ack.in_flight)
                <= self.target_in_flight(self.bandwidth.get(), GAIN_UNIT)
        {
            self.begin_probing_bandwidth();
        }
    }

    fn update_min_rtt(&mut self, ack: &Ack, window: &mut Window) {
        let expired = ack.now_ns > self.min_rtt_at_ns + MIN_RTT_WINDOW_NS;
        if let Some(rtt_ns) = ack.rtt_ns {
            let rtt_us = rtt_ns.div_ceil(1000);
            if expired || self.min_rtt_us.is_none_or(|least| rtt_us <= least) {
                self.min_rtt_us = Some(rtt_us);
                self.min_rtt_at_ns = ack.now_ns;
            }
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_cwnd(window.cwnd);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_done_ns = None;
            self.limited.0 = ack.delivered;
        }
        if self.mode == Mode::ProbeRtt {
            self.limited.1 = ack.delivered + u64::from(ack.in_flight);
            match self.probe_rtt_done_ns {
                None if ack.in_flight <= MINIMUM_CWND => {
                    self.probe_rtt_done_ns = Some(ack.now_ns + PROBE_RTT_NS);
                    self.probe_rtt_round_done = false;
                    self.round_end_delivered = ack.delivered;
                }
                Some(done_ns) => {
                    self.probe_rtt_round_done |= self.round_start;
                    if self.probe_rtt_round_done && ack.now_ns > done_ns {
                        self.min_rtt_at_ns = ack.now_ns;
                        window.cwnd = window.cwnd.max(self.prior_cwnd.into());
                        self.restore_mode();
                    }
                }
                None => {}
            }
        }
        if ack.rate_delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth if self.policer.believed => (GAIN_UNIT, CWND_GAIN),
            Mode::ProbeBandwidth => (CYCLE[self.cycle_phase], CWND_GAIN),
            Mode::ProbeRtt => (GAIN_UNIT, GAIN_UNIT),
        };
    }

    fn set_pacing_rate(&mut self) {
        let rate = paced(self.estimate(), self.pacing_gain);
        if self.full_pipe || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// The window in recovery and after it (`bbr_set_cwnd_to_recover_or_restore`); `Err` if packet conservation
    /// determines it.
    fn recover_or_restore(&mut self, ack: &Ack, sample: &Sample, cwnd: u32) -> Result<u32, u32> {
        let losses = u32::try_from(sample.losses).unwrap_or(u32::MAX);
        let mut cwnd = match losses {
            0 => cwnd,
            _ => cwnd.saturating_sub(losses).max(1),
        };
        let previous = std::mem::replace(&mut self.previous_state, ack.ca_state);
        if ack.ca_state == CaState::Recovery && previous != CaState::Recovery {
            self.packet_conservation = true;
            self.round_end_delivered = ack.delivered;
            cwnd = ack.in_flight + ack.acked;
        } else if previous >= CaState::Recovery && ack.ca_state < CaState::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        if self.packet_conservation {
            return Err(cwnd.max(ack.in_flight + ack.acked));
        }
        Ok(cwnd)
    }

    fn set_cwnd(&mut self, ack: &Ack, sample: &Sample, window: &mut Window) {
        let mut cwnd = window.cwnd as u32;
        if ack.acked > 0 {
            cwnd = match self.recover_or_restore(ack, sample, cwnd) {
                Err(conserved) => conserved,
                Ok(cwnd) => {
                    let bandwidth = self.estimate();
                    let mut target = self.product(bandwidth, self.cwnd_gain);
                    if self.full_pipe {
                        let most = packets_in(bandwidth, AGGREGATION_MOST_US);
                        let extra = self.extra_acked[0].max(self.extra_acked[1]);
                        target = target.saturating_add(u64::from(extra).min(most) as u32);
                    }
                    let target = self.with_budget(target);
                    let opened = cwnd.saturating_add(ack.acked);
                    let next = if self.full_pipe {
                        opened.min(target)
                    } else if cwnd < target || ack.delivered < u64::from(INITIAL_CWND) {
                        opened
                    } else {
                        cwnd
                    };
                    next.max(MINIMUM_CWND)
                }
            };
        }
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(MINIMUM_CWND);
        }
        self.cwnd = cwnd;
        window.cwnd = cwnd.into();
    }
}

impl CongestionControl for Bbr {
    fn name(&self) -> &'static str {
        REGISTRATION.name
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if self.pacing_rate == 0 {
            self.pacing_rate = initial_pacing_rate(window.cwnd, ack.smoothed_rtt_ns);
            self.epoch_began_ns = ack.now_ns;
            if ack.min_rtt_ns > 0 {
                self.min_rtt_us = Some(ack.min_rtt_ns.div_ceil(1000));
                self.min_rtt_at_ns = ack.now_ns;
            }
        }
        let limited = (self.limited.0..=self.limited.1).contains(&ack.prior_delivered);
        let sample = Sample {
            valid: ack.rate_interval_ns >= 1000,
            delivered: ack.rate_delivered.into(),
            interval_us: ack.rate_interval_ns / 1000,
            app_limited: ack.app_limited || limited,
            losses: ack.lost.saturating_sub(self.lost),
        };
        self.delivered = ack.delivered;
        self.lost = self.lost.max(ack.lost);
        self.now_ns = ack.now_ns;
        self.update_bandwidth(ack, &sample);
        self.update_aggregation(ack, &sample, window.cwnd as u32);
        self.update_phase(ack, &sample);
        self.check_full_pipe(&sample);
        self.check_drained(ack, window);
        self.update_min_rtt(ack, window);
        self.update_gains();
        self.set_pacing_rate();
        self.set_cwnd(ack, &sample, window);
    }

    fn on_loss(&mut self, _congestion: &Congestion, window: &mut Window) {
        self.save_cwnd(window.cwnd);
    }

    /// An RTO counts as the end of a round, and the pipe's fill is measured anew.
    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window) {
        self.save_cwnd(window.cwnd);
        self.now_ns = congestion.now_ns;
        self.previous_state = CaState::Loss;
        self.full_bandwidth = 0;
        self.round_start = true;
        self.sample_policer(1, false);
    }

    /// Marks change nothing but the window that the end of a recovery restores.
    fn on_ecn_echo(&mut self, _congestion: &Congestion, _in_profile: bool, window: &mut Window) {
        self.save_cwnd(window.cwnd);
    }

    /// Paces at the estimate.
    fn on_restart(&mut self, now_ns: u64, _window: &mut Window) {
        self.idle_restart = true;
        self.epoch_began_ns = now_ns;
        self.epoch_acked = 0;
        if self.mode == Mode::ProbeBandwidth {
            self.pacing_rate = paced(self.estimate(), GAIN_UNIT);
        }
    }

    fn governs_recovery(&self) -> bool {
        true
    }

    fn pacing_interval_ns(&self, window: &Window, smoothed_rtt_ns: u64) -> Option<u64> {
        let rate = match self.pacing_rate {
            0 => initial_pacing_rate(window.cwnd, smoothed_rtt_ns),
            rate => rate,
        };
        (rate > 0).then(|| 1000 * BANDWIDTH_UNIT / rate)
    }

    fn pacing_burst_packets(&self) -> u32 {
        self.burst()
    }
}
