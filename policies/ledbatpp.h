/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus), in packets: LEDBAT with round trips in place of
 * one-way delays, and four changes.
 *
 *   increase     GAIN = 1 / min(16, ceil(2 * TARGET / base)) packets per round trip
 *   decrease     per round trip W += max(GAIN - W * (delay / TARGET - 1), -W / 2), the draft's
 *                Constant being 1; it is applied to each packet acknowledged, as 1 / W of it
 *   slow start   cwnd += GAIN per packet acknowledged; the first ends above 3/4 of the target
 *   slowdown     two round trips after the first slow start, cwnd is two packets for two round
 *                trips, so that the base delay becomes visible; slow start then restores it. The
 *                next slowdown follows after nine times the time that this one took.
 */
#ifndef NETNICE_POLICY_LEDBATPP_H
#define NETNICE_POLICY_LEDBATPP_H

#include "ledbat_delays.h"
#include "parameters.h"
#include "tcplp.h"
#include "window_fraction.h"

#define LEDBATPP_TARGET_US 60000U
#define LEDBATPP_DIVISOR_LIMIT 16U
#define LEDBATPP_MINIMUM_CWND 2U /* packets */
#define LEDBATPP_FREEZE_RTTS 2U
#define LEDBATPP_SLOWDOWN_SHARE 9U /* at most a tenth of the time is spent in slowdowns */
#define LEDBATPP_INTERVAL_LIMIT_US (1U << 30)
#define LEDBATPP_ACKED_LIMIT 1024U

enum ledbatpp_stage {
	LEDBATPP_FIRST_SLOW_START = 0,
	LEDBATPP_LEFT_SLOW_START = 1, /* no slowdown has been scheduled yet */
	LEDBATPP_SCHEDULED = 2,       /* the next slowdown begins at `next_us` */
	LEDBATPP_FROZEN = 3,          /* until `next_us` */
	LEDBATPP_RAMPING = 4,         /* to `resume_cwnd` */
};

struct ledbatpp {
	struct policy_report report; /* must be first */
	struct ledbat_delays delays;
	u32 target_us;
	u32 fraction; /* of cwnd: window_fraction.h */
	u32 resume_cwnd;
	u32 slowdown_us; /* start of the latest slowdown */
	u32 next_us;
	u8 stage; /* enum ledbatpp_stage */
};

POLICY_INLINE void ledbatpp_init(struct ledbatpp *state, const struct policy_parameters *wanted)
{
	ledbat_delays_forget(&state->delays);
	state->target_us = wanted->threshold_us ? wanted->threshold_us : LEDBATPP_TARGET_US;
}

/* Samples the round trip of an ACK. */
POLICY_INLINE void ledbatpp_sample(struct ledbatpp *state, const struct tcplp_ack *ack)
{
	if (!ack->sample_rtt_us)
		return;
	ledbat_delays_add(&state->delays, ack->sample_rtt_us, ack->now_us);
	state->report.signal = POLICY_SIGNAL_ROUND_TRIP;
	state->report.delay_over_minimum_us = ledbat_delays_queue_us(&state->delays);
	state->report.threshold_us = state->target_us;
}

/* Returns 1 / GAIN. */
POLICY_INLINE u32 ledbatpp_divisor(const struct ledbatpp *state)
{
	u32 base_us = ledbat_delays_base_us(&state->delays);

	if (!base_us || base_us == LEDBAT_NO_DELAY)
		return LEDBATPP_DIVISOR_LIMIT;
	return policy_max(
		policy_min((2 * state->target_us - 1) / base_us + 1, LEDBATPP_DIVISOR_LIMIT), 1);
}

POLICY_INLINE void ledbatpp_end_slowdown(struct ledbatpp *state, u32 now_us)
{
	u32 limit_us = LEDBATPP_INTERVAL_LIMIT_US / LEDBATPP_SLOWDOWN_SHARE;

	state->stage = LEDBATPP_SCHEDULED;
	state->next_us = now_us + LEDBATPP_SLOWDOWN_SHARE *
					  policy_min(now_us - state->slowdown_us, limit_us);
}

POLICY_INLINE u32 ledbatpp_begin_slowdown(struct ledbatpp *state, const struct tcplp_ack *ack)
{
	state->stage = LEDBATPP_FROZEN;
	state->report.phase = POLICY_INFERENCE;
	state->resume_cwnd = ack->cwnd;
	state->slowdown_us = ack->now_us;
	state->next_us = ack->now_us + LEDBATPP_FREEZE_RTTS * ack->smoothed_rtt_us;
	state->fraction = 0;
	return policy_min(ack->cwnd, LEDBATPP_MINIMUM_CWND);
}

/* cwnd += GAIN per packet acknowledged, up to `limit`. */
POLICY_INLINE u32 ledbatpp_slow_start(struct ledbatpp *state, const struct tcplp_ack *ack,
				      u32 limit)
{
	u64 step = WINDOW_PACKET * policy_min(ack->acked, LEDBATPP_ACKED_LIMIT);

	state->report.phase = POLICY_SLOW_START;
	if (!ack->cwnd_limited)
		return ack->cwnd;
	return policy_min(window_grow(&state->fraction, ack->cwnd, step / ledbatpp_divisor(state)),
			  limit);
}

/* GAIN / W - (delay / TARGET - 1) for each packet acknowledged, at least -1/2. */
POLICY_INLINE u32 ledbatpp_avoid(struct ledbatpp *state, const struct tcplp_ack *ack)
{
	u32 queue_us = ledbat_delays_queue_us(&state->delays);
	u32 over_us = queue_us > state->target_us ? queue_us - state->target_us : 0;
	u64 acked = policy_min(ack->acked, LEDBATPP_ACKED_LIMIT);
	u64 gain = ack->cwnd ? WINDOW_PACKET / ledbatpp_divisor(state) / ack->cwnd : 0;
	u64 pressure = state->target_us ? WINDOW_PACKET * over_us / state->target_us : 0;
	u64 cut;
	u32 cwnd;

	if (pressure <= gain) {
		state->report.phase = POLICY_AVOIDANCE;
		if (!ack->cwnd_limited)
			return ack->cwnd;
		return window_grow(&state->fraction, ack->cwnd, (gain - pressure) * acked);
	}
	cut = pressure - gain < WINDOW_PACKET / 2 ? pressure - gain : WINDOW_PACKET / 2;
	cwnd = window_shrink(&state->fraction, ack->cwnd, cut * acked, LEDBATPP_MINIMUM_CWND);
	if (cwnd == LEDBATPP_MINIMUM_CWND && state->report.phase != POLICY_YIELDING) {
		state->report.phase = POLICY_YIELDING;
		state->report.yields += 1;
	}
	return cwnd;
}

/* Returns whether the slow start that the window is in continues. */
POLICY_INLINE int ledbatpp_is_in_slow_start(struct ledbatpp *state, const struct tcplp_ack *ack)
{
	if (ack->cwnd >= ack->ssthresh)
		return 0;
	if (state->stage != LEDBATPP_FIRST_SLOW_START)
		return 1;
	return ledbat_delays_queue_us(&state->delays) <= state->target_us / 4 * 3;
}

/* Returns the window after an ACK outside loss recovery that has been sampled. */
POLICY_INLINE u32 ledbatpp_on_ack(struct ledbatpp *state, const struct tcplp_ack *ack)
{
	if (state->stage == LEDBATPP_FROZEN) {
		if (policy_after(state->next_us, ack->now_us))
			return policy_min(ack->cwnd, LEDBATPP_MINIMUM_CWND);
		state->stage = LEDBATPP_RAMPING;
	}
	if (state->stage == LEDBATPP_RAMPING) {
		if (ack->cwnd < state->resume_cwnd)
			return ledbatpp_slow_start(state, ack, state->resume_cwnd);
		ledbatpp_end_slowdown(state, ack->now_us);
	}
	if (state->stage == LEDBATPP_SCHEDULED && !policy_after(state->next_us, ack->now_us))
		return ledbatpp_begin_slowdown(state, ack);
	if (ledbatpp_is_in_slow_start(state, ack))
		return ledbatpp_slow_start(state, ack, ack->ssthresh);
	if (state->stage <= LEDBATPP_LEFT_SLOW_START) {
		state->stage = LEDBATPP_SCHEDULED;
		state->next_us = ack->now_us + LEDBATPP_FREEZE_RTTS * ack->smoothed_rtt_us;
		/* A window equal to ssthresh is not in slow start. */
		return policy_min(ack->cwnd, ack->ssthresh) - (ack->cwnd < ack->ssthresh);
	}
	return ledbatpp_avoid(state, ack);
}

/* Returns the new ssthresh after a loss, which ends a slow start or a slowdown. */
POLICY_INLINE u32 ledbatpp_on_loss(struct ledbatpp *state, u32 cwnd, u32 now_us)
{
	state->fraction = 0;
	if (state->stage == LEDBATPP_FIRST_SLOW_START)
		state->stage = LEDBATPP_LEFT_SLOW_START;
	if (state->stage >= LEDBATPP_FROZEN)
		ledbatpp_end_slowdown(state, now_us);
	return policy_max(cwnd / 2, LEDBATPP_MINIMUM_CWND);
}

/* After an idle period the current delay is unknown. */
POLICY_INLINE void ledbatpp_on_restart(struct ledbatpp *state)
{
	ledbat_delays_forget_current(&state->delays);
}

/* The window is never below one packet. */
POLICY_INLINE int ledbatpp_may_pause(const struct ledbatpp *state)
{
	(void)state;
	return 0;
}

POLICY_INLINE u32 ledbatpp_pause_us(const struct ledbatpp *state, u32 cwnd, u32 smoothed_rtt_us)
{
	(void)state;
	(void)cwnd;
	(void)smoothed_rtt_us;
	return 0;
}

#endif
