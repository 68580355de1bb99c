/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * TCP-LP (Kuzmanovic and Knightly, "TCP-LP: A Distributed Algorithm for Low Priority Data
 * Transfer", INFOCOM 2003; LP03 in docs/papers.md), as the paper has it.
 *
 *   (1)  sd_i = (1 - gamma) * sd_{i-1} + gamma * d_i
 *   (2)  early congestion indication:  sd_i > d_min + (d_max - d_min) * delta
 *
 * "As suggested for ECN flows, TCP-LP also reacts to a congestion indication event at most once per
 * round-trip time" (III-B.2). That round trip is defined as for ECN (RFC 3168, 6.1.2: once for each
 * window of data): packets sent before a reaction, or before the answer to a loss, belong to it.
 * They make no indications and do not enter the average: delays were just rising, and an average
 * that includes them is above the threshold whatever the queue is by then. docs/tcplp.md has the
 * other readings and their results.
 *
 * Additions required by a real kernel, and nothing else: delays that wrap and come in either unit
 * (one_way_delay.h), clocks that drift or are set, delayed ACKs (delayed_ack.h), no samples during
 * loss recovery, a fresh average after an idle period, and a d_min that expires within minutes.
 */
#ifndef NETNICE_POLICY_TCPLP_H
#define NETNICE_POLICY_TCPLP_H

#include "delayed_ack.h"
#include "ca_state.h"
#include "integer.h"
#include "one_way_delay.h"
#include "parameters.h"
#include "report.h"

#define TCPLP_GAMMA_PERMILLE 125U         /* 1/8, LP03 III-D.1 */
#define TCPLP_DELTA_PERMILLE 150U         /* 0.15, LP03 III-D.2 */
#define TCPLP_INFERENCE_RTTS 3U           /* itt, LP03 III-D.3 */
#define TCPLP_MINIMUM_CWND 1U             /* LP03 III-B.2 */
#define TCPLP_MINIMUM_CWND_PERMILLE 1000U /* in thousandths of a packet */
#define TCPLP_LONGEST_PAUSE_US 5000000U   /* fq drops packets scheduled more than 10 s ahead */
#define TCPLP_MINIMUM_SSTHRESH 2U         /* RFC 5681, equation 4 */

/* d_min is the smallest delay of this and the previous epoch: it lasts two to four minutes. */
#define TCPLP_EPOCH_US 120000000U

struct tcplp {
	struct policy_report report; /* must be first */
	struct one_way_delay clock;
	u32 smoothed_us;    /* sd, 0 before the first sample */
	u32 minimum_us;     /* d_min */
	u32 span_us;        /* d_max - d_min */
	u32 maximum_rtt_us; /* largest RTT since d_max counts */
	u32 epoch_minimum_us;
	u32 epoch_start_us;
	u32 inference_end_us;
	u32 reaction_us;
	u32 cwnd_cnt; /* packets acknowledged towards the next increase of cwnd */
	u16 gamma_permille;
	u16 delta_permille;
	u16 inference_rtts;
	u16 minimum_cwnd_permille;
	u8 lone_acks;
	u8 inference_runs : 1;
	u8 ignoring : 1;    /* no packet sent since the reaction has been acknowledged */
	u8 indicated : 1;   /* the newest sample was an early congestion indication */
	u8 crowded : 1;     /* the newest certain delay, unaveraged, is over the threshold */
	u8 delayed_ack : 1; /* the receiver may have delayed the newest ACK */
};

/* One ACK of new data, as any TCP sees it. Times are in microseconds and may wrap. */
struct tcplp_ack {
	u32 now_us;
	u32 sample_rtt_us;   /* of the newest packet covered; 0 if unknown or ambiguous (Karn) */
	u32 smoothed_rtt_us; /* RFC 6298 */
	u32 minimum_rtt_us;  /* of the connection, including this ACK; 0 if unknown */
	u32 tsval;           /* of the ACK, if has_timestamp */
	u32 acked;           /* packets */
	u32 in_flight;       /* packets outstanding */
	u32 cwnd;            /* packets */
	u32 ssthresh;        /* packets */
	u8 has_timestamp;
	u8 ca_state; /* enum ca_state */
	u8 cwnd_limited;
};

POLICY_INLINE void tcplp_init(struct tcplp *state, const struct policy_parameters *wanted)
{
	state->gamma_permille =
		wanted->gamma_permille ? wanted->gamma_permille : TCPLP_GAMMA_PERMILLE;
	state->delta_permille =
		wanted->delta_permille ? wanted->delta_permille : TCPLP_DELTA_PERMILLE;
	state->inference_rtts =
		wanted->inference_rtts ? wanted->inference_rtts : TCPLP_INFERENCE_RTTS;
	state->minimum_cwnd_permille = wanted->minimum_cwnd_permille ?
					       wanted->minimum_cwnd_permille :
					       TCPLP_MINIMUM_CWND_PERMILLE;
}

/* Threshold of the early congestion indication above d_min: equation (2). */
POLICY_INLINE u32 tcplp_threshold_us(const struct tcplp *state)
{
	return (u32)((u64)state->span_us * state->delta_permille / 1000);
}

/*
 * Longest queueing delay that a packet of that round trip can have met: the excess over the
 * smallest.
 */
POLICY_INLINE u32 tcplp_wait_us(const struct tcplp_ack *ack, u32 rtt_us)
{
	return rtt_us > ack->minimum_rtt_us ? rtt_us - ack->minimum_rtt_us : 0;
}

/*
 * Limits a one-way delay to what the round trip allows, within a tick of the peer's clock. The
 * excess is a gain of the clock since d_min, or a forward step; it is not a queue.
 */
POLICY_INLINE u32 tcplp_without_gain_us(const struct tcplp *state, const struct tcplp_ack *ack,
					u32 delay_us)
{
	if (!ack->minimum_rtt_us || !state->smoothed_us)
		return delay_us;
	return policy_min(delay_us, state->minimum_us + tcplp_wait_us(ack, ack->sample_rtt_us) +
					    state->clock.tick_us);
}

/*
 * Updates d_min and d_max. The span stays when d_min rises: clock drift moves both alike. Nothing
 * lowers d_max, so only `certain` delays raise it, which contain no wait at the receiver; and
 * whatever the clocks say, no queue is longer than the range of round trips.
 */
POLICY_INLINE void tcplp_learn_extremes(struct tcplp *state, const struct tcplp_ack *ack,
					u32 delay_us, int certain)
{
	if (ack->now_us - state->epoch_start_us > TCPLP_EPOCH_US) {
		state->minimum_us = state->epoch_minimum_us;
		state->epoch_minimum_us = delay_us;
		state->epoch_start_us = ack->now_us;
	}
	state->epoch_minimum_us = policy_min(state->epoch_minimum_us, delay_us);
	if (delay_us < state->minimum_us) {
		state->span_us += state->minimum_us - delay_us;
		state->minimum_us = delay_us;
	}
	if (certain)
		state->span_us = policy_max(state->span_us, delay_us - state->minimum_us);
	if (!ack->minimum_rtt_us)
		return;
	state->maximum_rtt_us = policy_max(state->maximum_rtt_us, ack->sample_rtt_us);
	state->span_us = policy_min(state->span_us, tcplp_wait_us(ack, state->maximum_rtt_us) +
							    state->clock.tick_us);
}

/* Equation (1), in whole microseconds. */
POLICY_INLINE u32 tcplp_smooth_us(u32 smoothed_us, u32 delay_us, u32 gamma_permille)
{
	if (delay_us >= smoothed_us)
		return smoothed_us +
		       (u32)(((u64)(delay_us - smoothed_us) * gamma_permille + 500) / 1000);
	return smoothed_us - (u32)(((u64)(smoothed_us - delay_us) * gamma_permille + 500) / 1000);
}

/* Samples the one-way delay of an ACK; sets `indicated`. */
POLICY_INLINE void tcplp_sample(struct tcplp *state, const struct tcplp_ack *ack)
{
	int prompt = delayed_ack_is_prompt(&state->lone_acks, ack->acked, ack->in_flight);
	int certain = prompt && delayed_ack_has_proof(ack->acked, ack->in_flight);
	u32 measured_us, delay_us;
	u8 restarted;
	u8 was_delayed_ack = state->delayed_ack;

	state->indicated = 0;
	state->delayed_ack = !prompt;
	if (ca_answers_congestion(ack->ca_state) || !ack->sample_rtt_us)
		return;
	measured_us = one_way_delay_of_ack(&state->clock, &state->report, ack->has_timestamp,
					   ack->tsval, ack->sample_rtt_us, ack->now_us, &restarted);
	if (!measured_us)
		measured_us = ack->sample_rtt_us;
	if (restarted)
		state->smoothed_us = 0;
	delay_us = tcplp_without_gain_us(state, ack, measured_us);
	if (!prompt && (!state->smoothed_us || delay_us > state->smoothed_us))
		return;
	if (!state->smoothed_us) {
		state->smoothed_us = delay_us;
		state->minimum_us = delay_us;
		state->epoch_minimum_us = delay_us;
		state->epoch_start_us = ack->now_us;
		state->maximum_rtt_us = 0;
		state->span_us = 0;
	}
	tcplp_learn_extremes(state, ack, measured_us, certain);
	/* Compares ages: as signed times, a reaction 36 minutes ago would lie in the future. */
	if (ack->now_us - state->reaction_us >= ack->sample_rtt_us)
		state->ignoring = 0;
	/*
	 * Delayed ACKs lowered the average to their own wait: the first prompt sample restarts it.
	 */
	if (was_delayed_ack && prompt && delay_us < state->smoothed_us)
		state->smoothed_us = delay_us;
	if (!state->ignoring)
		state->smoothed_us =
			tcplp_smooth_us(state->smoothed_us, delay_us, state->gamma_permille);
	state->report.threshold_us = tcplp_threshold_us(state);
	state->report.delay_over_minimum_us =
		state->smoothed_us > state->minimum_us ? state->smoothed_us - state->minimum_us : 0;
	/* Delayed ACKs may have lowered the average to their own wait and no further. */
	state->indicated =
		prompt && state->report.delay_over_minimum_us > state->report.threshold_us;
	if (delay_us - state->minimum_us <= state->report.threshold_us)
		state->crowded = 0;
	else if (prompt)
		state->crowded = 1;
}

/* Returns whether a window below one packet was requested. */
POLICY_INLINE int tcplp_may_pause(const struct tcplp *state)
{
	return state->minimum_cwnd_permille < TCPLP_MINIMUM_CWND_PERMILLE;
}

/* Returns whether the connection itself causes the gaps between its packets. */
POLICY_INLINE int tcplp_is_paced(const struct tcplp *state)
{
	return state->crowded && tcplp_may_pause(state);
}

/*
 * Returns the interval between packets at a window below one packet; 0 leaves the ACKs to clock
 * them.
 *
 * With others present, LP's window is one packet per round trip, too much if LP flows are many.
 * TCP-LP's testbed paper shrinks the packet to 64 bytes; sending a full one every 1448 / 64 round
 * trips adds the same load. This lasts while delays are over the threshold; the first below it
 * restores one packet per round trip. If the receiver delays ACKs, only a pair measures the delay,
 * so single packets go half as often.
 */
POLICY_INLINE u32 tcplp_pause_us(const struct tcplp *state, u32 cwnd, u32 smoothed_rtt_us)
{
	u64 pause_us;

	if (cwnd > TCPLP_MINIMUM_CWND || !tcplp_is_paced(state))
		return 0;
	pause_us = (u64)smoothed_rtt_us * 1000 / state->minimum_cwnd_permille;
	if (state->delayed_ack)
		pause_us *= 2;
	return pause_us < TCPLP_LONGEST_PAUSE_US ? (u32)pause_us : TCPLP_LONGEST_PAUSE_US;
}

/* cwnd += 1 for each cwnd packets acknowledged. */
POLICY_INLINE u32 tcplp_increase(struct tcplp *state, u32 cwnd, u32 acked)
{
	state->cwnd_cnt += acked;
	if (state->cwnd_cnt >= cwnd) {
		state->cwnd_cnt -= cwnd;
		if (state->cwnd_cnt > cwnd)
			state->cwnd_cnt = 0;
		cwnd += 1;
	}
	return cwnd;
}

/*
 * Applies LP03's reaction to indications in congestion avoidance (its figure 3) at each new ACK:
 * updates `*cwnd`. Returns whether the window may grow instead.
 */
POLICY_INLINE int tcplp_react(struct tcplp *state, const struct tcplp_ack *ack, u32 *cwnd)
{
	if (state->inference_runs && !policy_after(state->inference_end_us, ack->now_us))
		state->inference_runs = 0;

	if (state->indicated && !state->ignoring) {
		if (state->inference_runs) {
			*cwnd = TCPLP_MINIMUM_CWND;
			state->report.phase = POLICY_YIELDING;
			state->report.yields += 1;
		} else {
			*cwnd = policy_max(*cwnd / 2, TCPLP_MINIMUM_CWND);
			state->report.phase = POLICY_INFERENCE;
		}
		state->cwnd_cnt = 0;
		state->inference_runs = 1;
		state->inference_end_us =
			ack->now_us + state->inference_rtts * ack->smoothed_rtt_us;
		state->ignoring = 1;
		state->reaction_us = ack->now_us;
		return 0;
	}
	if (state->inference_runs)
		return 0;
	state->report.phase = POLICY_AVOIDANCE;
	return ack->cwnd_limited;
}

/* Returns the new cwnd by LP03's congestion avoidance. */
POLICY_INLINE u32 tcplp_avoid(struct tcplp *state, const struct tcplp_ack *ack)
{
	u32 cwnd = ack->cwnd;

	if (tcplp_react(state, ack, &cwnd))
		cwnd = tcplp_increase(state, cwnd, ack->acked);
	return cwnd;
}

/*
 * Returns the new cwnd by Reno's slow start (LP derives from Reno, LP03 IV): it fills the queue
 * once and so measures d_max.
 */
POLICY_INLINE u32 tcplp_slow_start(struct tcplp *state, const struct tcplp_ack *ack)
{
	state->report.phase = POLICY_SLOW_START;
	if (!ack->cwnd_limited)
		return ack->cwnd;
	return ack->cwnd + policy_min(ack->acked, ack->ssthresh - ack->cwnd);
}

/*
 * Returns the window after an ACK outside loss recovery. Indications count in congestion avoidance.
 */
POLICY_INLINE u32 tcplp_on_ack(struct tcplp *state, const struct tcplp_ack *ack)
{
	if (ack->cwnd >= ack->ssthresh)
		return tcplp_avoid(state, ack);
	return tcplp_slow_start(state, ack);
}

/* Reno's answer to a loss (RFC 5681, equation 4). */
POLICY_INLINE u32 tcplp_loss_ssthresh(u32 cwnd)
{
	return policy_max(cwnd / 2, TCPLP_MINIMUM_SSTHRESH);
}

/* Returns the new ssthresh after a loss; indications in the next RTT are ignored. */
POLICY_INLINE u32 tcplp_on_loss(struct tcplp *state, u32 cwnd, u32 now_us)
{
	state->ignoring = 1;
	state->reaction_us = now_us;
	return tcplp_loss_ssthresh(cwnd);
}

/* Resets the average after an idle period: its old value is no longer valid. */
POLICY_INLINE void tcplp_on_restart(struct tcplp *state)
{
	/* Nothing is in flight: all data acknowledged from now on was sent after the reaction. */
	state->ignoring = 0;
	if (tcplp_is_paced(state))
		return;
	if (state->smoothed_us)
		state->smoothed_us = state->minimum_us;
	state->inference_runs = 0;
	state->indicated = 0;
	state->cwnd_cnt = 0;
}

#endif
