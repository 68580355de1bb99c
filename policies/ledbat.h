/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * LEDBAT (RFC 6817), section 2.4.2, in packets. For each ACK:
 *
 *   queuing_delay = FILTER(current_delays) - MIN(base_delays)
 *   off_target = (TARGET - queuing_delay) / TARGET
 *   cwnd += GAIN * off_target * newly_acked / cwnd
 *   cwnd = max(min(cwnd, flightsize + ALLOWED_INCREASE), MIN_CWND)
 *
 * and for a loss, at most once per round trip, cwnd = min(cwnd, max(cwnd / 2, MIN_CWND)). The delays
 * are one-way delays by timestamps; with a peer that sends none they are round trips.
 *
 * The RFC's pseudocode has no slow start, and neither has this control unless it is requested; it
 * then ends when the queueing delay reaches the target.
 */
#ifndef NETNICE_POLICY_LEDBAT_H
#define NETNICE_POLICY_LEDBAT_H

#include "ledbat_delays.h"
#include "one_way_delay.h"
#include "parameters.h"
#include "tcplp.h"
#include "window_fraction.h"

#define LEDBAT_TARGET_US 100000U   /* the largest that section 2.5 permits */
#define LEDBAT_GAIN_PERMILLE 1000U /* section 2.5: at most 1 */
#define LEDBAT_ALLOWED_INCREASE 1U /* packets */
#define LEDBAT_MINIMUM_CWND 2U     /* packets */
#define LEDBAT_ACKED_LIMIT 1024U   /* keeps products within 64 bits, as does the next */
#define LEDBAT_QUEUE_LIMIT_US 4000000U

struct ledbat {
	struct policy_report report; /* must be first */
	struct one_way_delay clock;
	struct ledbat_delays delays;
	u32 fraction;       /* of cwnd: window_fraction.h */
	u32 target_us : 20; /* at most LEDBAT_TARGET_US */
	u32 gain_permille : 11;
	u32 slow_start : 1; /* requested */
};

POLICY_INLINE void ledbat_init(struct ledbat *state, const struct policy_parameters *wanted)
{
	ledbat_delays_forget(&state->delays);
	state->target_us = wanted->threshold_us ? wanted->threshold_us : LEDBAT_TARGET_US;
	state->gain_permille =
		wanted->gamma_permille ? wanted->gamma_permille : LEDBAT_GAIN_PERMILLE;
	state->slow_start = !!wanted->slow_start;
}

/* Samples the delay of an ACK. The filter's minimum removes the wait for a delayed ACK. */
POLICY_INLINE void ledbat_sample(struct ledbat *state, const struct tcplp_ack *ack)
{
	u32 delay_us;
	u8 restarted;

	if (!ack->sample_rtt_us)
		return;
	delay_us = one_way_delay_of_ack(&state->clock, &state->report, ack->has_timestamp,
					ack->tsval, ack->sample_rtt_us, ack->now_us, &restarted);
	if (!delay_us)
		delay_us = ack->sample_rtt_us;
	if (restarted)
		ledbat_delays_forget(&state->delays);
	ledbat_delays_add(&state->delays, delay_us, ack->now_us);
	state->report.delay_over_minimum_us = ledbat_delays_queue_us(&state->delays);
	state->report.threshold_us = state->target_us;
}

/* Returns GAIN * |off_target| * newly_acked / cwnd in 65536ths of a packet. */
POLICY_INLINE u64 ledbat_step(const struct ledbat *state, const struct tcplp_ack *ack,
			      u32 distance_us)
{
	u64 step = WINDOW_PACKET * state->gain_permille *
		   policy_min(distance_us, LEDBAT_QUEUE_LIMIT_US) *
		   policy_min(ack->acked, LEDBAT_ACKED_LIMIT);
	u64 scale = (u64)state->target_us * 1000;

	return scale && ack->cwnd ? step / scale / ack->cwnd : 0;
}

POLICY_INLINE u32 ledbat_grow(struct ledbat *state, const struct tcplp_ack *ack, u32 queue_us)
{
	u32 cwnd;

	if (state->slow_start && ack->cwnd < ack->ssthresh) {
		state->report.phase = POLICY_SLOW_START;
		cwnd = ack->cwnd + policy_min(ack->acked, ack->ssthresh - ack->cwnd);
	} else {
		state->report.phase = POLICY_AVOIDANCE;
		cwnd = window_grow(&state->fraction, ack->cwnd,
				   ledbat_step(state, ack, state->target_us - queue_us));
	}
	/* A connection limited by cwnd had that much in flight. */
	if (!ack->cwnd_limited)
		cwnd = policy_min(cwnd, ack->in_flight + ack->acked + LEDBAT_ALLOWED_INCREASE);
	return policy_max(cwnd, LEDBAT_MINIMUM_CWND);
}

/* Returns the window after an ACK outside loss recovery that has been sampled. */
POLICY_INLINE u32 ledbat_on_ack(struct ledbat *state, const struct tcplp_ack *ack)
{
	u32 queue_us = ledbat_delays_queue_us(&state->delays);
	u32 cwnd;

	if (queue_us <= state->target_us)
		return ledbat_grow(state, ack, queue_us);
	cwnd = window_shrink(&state->fraction, ack->cwnd,
			     ledbat_step(state, ack, queue_us - state->target_us),
			     LEDBAT_MINIMUM_CWND);
	if (cwnd == LEDBAT_MINIMUM_CWND && state->report.phase != POLICY_YIELDING) {
		state->report.phase = POLICY_YIELDING;
		state->report.yields += 1;
	}
	return cwnd;
}

/* Returns the new ssthresh after a loss. */
POLICY_INLINE u32 ledbat_on_loss(struct ledbat *state, u32 cwnd, u32 now_us)
{
	(void)now_us;
	state->fraction = 0;
	return policy_max(cwnd / 2, LEDBAT_MINIMUM_CWND);
}

/* After an idle period the current delay is unknown. */
POLICY_INLINE void ledbat_on_restart(struct ledbat *state)
{
	ledbat_delays_forget_current(&state->delays);
}

/* The window is never below one packet. */
POLICY_INLINE int ledbat_may_pause(const struct ledbat *state)
{
	(void)state;
	return 0;
}

POLICY_INLINE u32 ledbat_pause_us(const struct ledbat *state, u32 cwnd, u32 smoothed_rtt_us)
{
	(void)state;
	(void)cwnd;
	(void)smoothed_rtt_us;
	return 0;
}

#endif
