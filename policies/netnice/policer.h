/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* netnice, evidence: losses of a policer, behind which no packet ever waits, and its limit. */
#ifndef NETNICE_POLICY_NETNICE_POLICER_H
#define NETNICE_POLICY_NETNICE_POLICER_H

#include "integer.h"
#include "netnice/believe.h"
#include "netnice/decisions.h"
#include "netnice/state.h"
#include "netnice/yielding.h"

/* Packets that the path takes in a round trip without a queue. */
POLICY_INLINE u32 netnice_capacity(const struct netnice *state)
{
	u32 product = netnice_bandwidth_delay_product(state);

	if (!state->policer.limit)
		return product;
	return policy_min(product,
			  state->policer.limit - state->policer.limit / NETNICE_POLICED_PARTS);
}

/* Where packets wait, a queue was too short, and no policer dropped the packets. */
POLICY_INLINE void netnice_forget_limit(struct netnice *state)
{
	if (!state->policer.limit)
		return;
	state->policer.limit = 0;
	state->policer.evident = 0;
	state->policer.confirmed = 0;
	state->losses.blind_rounds = 0;
}

/* Forgets a limit that the flow exceeds twice without a loss. */
POLICY_INLINE void netnice_test_limit(struct netnice *state, u32 cwnd)
{
	if (cwnd > 2 * (u32)state->policer.limit)
		netnice_forget_limit(state);
}

/*
 * Returns whether the flow does not exceed a policer's limit: then others take the rest. Where losses
 * at random keep the window far below the limit, they are the likely reason. During a return the
 * window starts far below it.
 */
POLICY_INLINE int netnice_is_within_limit(const struct netnice *state, u32 cwnd)
{
	return state->policer.evident && cwnd <= state->policer.limit &&
	       (netnice_is_in_slow_start(state) || cwnd >= state->policer.limit / 2U);
}

/*
 * Returns whether a loss is a sign of others behind a policer. Losses in the same recovery, and in
 * the rounds after it, may follow from the flow's own excess: the bucket is still empty.
 */
POLICY_INLINE int netnice_may_be_policed_by_others(const struct netnice *state, u32 cwnd)
{
	u32 rounds = state->policer.confirmed ? NETNICE_LIMIT_ROUNDS : 2 * NETNICE_BLIND_ROUNDS;

	return (state->policer.confirmed || netnice_is_within_limit(state, cwnd)) &&
	       !state->decided.recovering &&
	       state->losses.blind_rounds + NETNICE_REFILL_ROUNDS <= rounds;
}

/*
 * Learns the rate of a policer: packets that met no queue were lost, many in one round trip, and
 * what was delivered meanwhile is what it passes. The flow stays below this rate. A limit met again
 * after rounds without growth is confirmed. If less is delivered while the flow does not grow, the
 * rest goes to others; but the first estimate may be too high, since the bucket was not yet empty.
 * Where `lost` is more than losses at random ever take of one window, the limit is evident.
 */
POLICY_INLINE u32 netnice_learn_limit(struct netnice *state, u32 lost, u32 delivered, u32 cwnd)
{
	u32 margin = state->policer.limit / 8;
	int below = state->policer.limit && delivered + margin < state->policer.limit;
	int alike = state->policer.limit && !below && delivered <= state->policer.limit + margin;
	int grew = !state->losses.blind_rounds;

	if (below && !grew &&
	    (state->policer.confirmed || state->losses.blind_rounds <= NETNICE_BLIND_ROUNDS))
		return netnice_yield_blindly(state, NETNICE_BECAUSE_POLICER);
	state->policer.confirmed |= alike && grew;
	state->policer.limit = delivered;
	if (delivered >= NETNICE_EVIDENT_LIMIT &&
	    lost * NETNICE_EVIDENT_PARTS >=
		    delivered + NETNICE_EVIDENT_LOSSES * NETNICE_EVIDENT_PARTS)
		state->policer.evident = 1;
	state->losses.blind_rounds = NETNICE_BLIND_ROUNDS;
	if (state->policer.confirmed)
		state->losses.blind_rounds = NETNICE_LIMIT_ROUNDS;
	else if (grew)
		state->losses.blind_rounds = 2 * NETNICE_BLIND_ROUNDS;
	state->believed.plateau = policy_max(netnice_capacity(state), NETNICE_MINIMUM_CWND);
	return policy_min(cwnd, state->believed.plateau);
}

/*
 * Raises a limit that was found beside others, or where the first packets after a burst of losses did
 * not fill the path: with its bucket empty a policer passes no more than its rate.
 */
POLICY_INLINE void netnice_raise_limit(struct netnice *state, u32 delivered)
{
	if (state->policer.evident && delivered > state->policer.limit)
		state->policer.limit = delivered;
}

/*
 * Judges a loss event at the first ACK of a packet sent after the reaction. Since there is no queue,
 * the path has delivered since the event what it takes in one round trip. Its late losses may be
 * found within the next quarter of a window. Returns the window.
 */
POLICY_CALLED u32 netnice_judge_losses(struct netnice *state, const struct netnice_ack *ack,
				       u32 cwnd)
{
	POLICY_STEP_NEEDS(state && ack);
	u32 delivered = ack->delivered - ack->acked - state->measured.reaction_mark;
	u32 lost = state->losses.judged_losses + ack->lost;

	state->losses.judged_losses = lost;
	if (!netnice_follows_reaction(&state->measured, ack))
		return cwnd;
	state->losses.judging = 0;
	state->measured.reaction_mark =
		ack->prior_delivered + policy_min(cwnd / 4, ack->delivered - ack->prior_delivered);
	if (ack->app_limited)
		return cwnd;
	if (lost < NETNICE_POLICED_LOSSES || lost * NETNICE_POLICED_PARTS < delivered) {
		netnice_raise_limit(state, delivered);
		return cwnd;
	}
	return netnice_learn_limit(state, lost, delivered, cwnd);
}

#endif
