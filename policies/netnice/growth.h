/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* netnice, layer 3: growth, of a window that fills the link and of one that returns. */
#ifndef NETNICE_POLICY_NETNICE_GROWTH_H
#define NETNICE_POLICY_NETNICE_GROWTH_H

#include "integer.h"
#include "netnice/believe.h"
#include "netnice/decisions.h"
#include "netnice/policer.h"
#include "netnice/state.h"

/* Returns the growth in the coming round, in packets. */
POLICY_INLINE u32 netnice_plan_growth(const struct netnice *state, u32 cwnd, u32 queue_us,
				      u32 threshold_us)
{
	if (cwnd < state->believed.plateau)
		return policy_max((state->believed.plateau - cwnd) / 2, 1);
	if (state->decided.inference || state->losses.blind_rounds)
		return 0;
	if (queue_us > threshold_us / 2)
		return 1;
	if (state->policer.limit)
		return 1;
	return policy_max(policy_min(state->decided.growth * 2, cwnd / 4), 1);
}

/*
 * Grows the window after yielding. The path's capacity is known, so there is no need to overshoot
 * it; the share that others leave is not, so the last part is slow unless others stay briefly.
 */
POLICY_CALLED u32 netnice_grow_back(struct netnice *state, const struct netnice_ack *ack, u32 cwnd)
{
	POLICY_STEP_NEEDS(state && ack);
	u32 product = netnice_capacity(state);
	u32 shift = state->decided.brief_stays ? 0 : NETNICE_RETURN_SHIFT;
	u32 progress = policy_min(ack->acked, cwnd) + state->decided.cwnd_cnt;

	if (cwnd < product >> shift)
		return cwnd + ack->acked;
	if (cwnd < product) {
		state->decided.cwnd_cnt = progress % (1U << NETNICE_RETURN_SHIFT);
		return cwnd + (progress >> NETNICE_RETURN_SHIFT);
	}
	state->believed.plateau = cwnd;
	/* A receiver does not space its probes by itself. On trial the delay may have been the path's. */
	if (!ack->at_receiver && !state->longer_path.on_trial && state->decided.deep &&
	    state->decided.pause_scale < NETNICE_BRIEF_PAUSE_SCALE)
		state->decided.brief_stays = NETNICE_BRIEF_STAYS;
	else
		state->decided.brief_stays = 0;
	if (state->policer.limit)
		state->losses.blind_rounds = NETNICE_BLIND_ROUNDS;
	netnice_move(state, NETNICE_BECAUSE_RETURNED);
	return cwnd;
}

/* Grows the window between the ends of rounds. */
POLICY_INLINE u32 netnice_grow(struct netnice *state, const struct netnice_ack *ack, u32 cwnd)
{
	u64 progress;

	if (ack->app_limited || state->measured.over_packets ||
	    !netnice_follows_reaction(&state->measured, ack))
		return cwnd;
	if (state->decided.phase == NETNICE_START)
		return cwnd + ack->acked;
	if (state->decided.phase == NETNICE_RETURN)
		return netnice_grow_back(state, ack, cwnd);
	progress =
		(u64)policy_min(ack->acked, cwnd) * state->decided.growth + state->decided.cwnd_cnt;
	state->decided.cwnd_cnt = (u32)(progress % cwnd);
	return cwnd + (u32)(progress / cwnd);
}

#endif
