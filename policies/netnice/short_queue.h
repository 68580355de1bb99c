/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* netnice, evidence: losses in a queue so short that no delay announces them, and what they tell of others. */
#ifndef NETNICE_POLICY_NETNICE_SHORT_QUEUE_H
#define NETNICE_POLICY_NETNICE_SHORT_QUEUE_H

#include "integer.h"
#include "netnice/believe.h"
#include "netnice/decisions.h"
#include "netnice/policer.h"
#include "netnice/state.h"
#include "netnice/yielding.h"

/* Returns whether the newest packet waited for more than four thresholds. */
POLICY_INLINE int netnice_met_long_queue(const struct netnice *state)
{
	return state->measured.latest_queue_us > NETNICE_LONG_QUEUE * netnice_threshold_us(state);
}

/*
 * Returns whether no delay announced a loss: the queue is hardly longer than the threshold, and
 * losses are the only sign of others. In the rounds after such a loss, in which the window stays below it, one
 * that delay announced is such a sign, too. A long queue after an answer, which begins the count of delays anew, has
 * announced it, but to a receiver, which sees losses late. If no packet waited at all, the loss is the path's own, unless
 * the path has a policer, behind which no packet ever waits. What SACK blocks report that are false
 * is no sign of anybody.
 */
POLICY_INLINE int netnice_is_blind(const struct netnice *state, const struct netnice_ack *ack,
				   u32 cwnd)
{
	if (state->measured.doubtful)
		return 0;
	if (netnice_met_no_queue(state))
		return netnice_may_be_policed_by_others(state, cwnd);
	if (!ack->at_receiver && netnice_met_long_queue(state))
		return 0;
	return !state->measured.over_packets ||
	       (state->losses.blind_rounds && !state->policer.limit && !state->decided.recovering);
}

/* Returns whether a loss is the first of a recovery that tells about others. */
POLICY_INLINE int netnice_may_tell_of_others(const struct netnice *state,
					     const struct netnice_ack *ack)
{
	/* A window that a receiver advertises may be more than the sender uses. */
	return !state->decided.recovering && !state->policer.limit && !ack->at_receiver &&
	       !netnice_yields(state);
}

/*
 * Returns whether others made most of the queue that has overflowed: a window that the path holds without a queue
 * overflows none by itself.
 */
POLICY_INLINE int netnice_met_queue_of_others(const struct netnice *state,
					      const struct netnice_ack *ack, u32 cwnd)
{
	return netnice_may_tell_of_others(state, ack) &&
	       cwnd <= netnice_bandwidth_delay_product(state);
}

/*
 * Returns whether others made most of a queue that has stood for a round: by how much the window exceeds the path explains
 * less than half of it. What a busy machine has held back and then sends at once fills a queue, too, but for less than a
 * round.
 */
POLICY_INLINE int netnice_met_standing_queue(const struct netnice *state, u32 cwnd)
{
	u32 excess = cwnd - policy_min(cwnd, netnice_bandwidth_delay_product(state));

	return state->report.delay_over_minimum_us >=
	       (u64)excess * state->believed.packet_ns / 1000 + state->measured.latest_queue_us / 2;
}

/*
 * Returns whether the flow returns from a yielding after a blind loss: its window has not filled the path since others
 * did.
 */
POLICY_INLINE int netnice_returns_blindly(const struct netnice *state)
{
	return state->decided.phase == NETNICE_RETURN && netnice_began_blindly(state);
}

/* Returns whether, in such a return, a queue of others that no burst fills has overflowed. */
POLICY_INLINE int netnice_returns_to_others(const struct netnice *state,
					    const struct netnice_ack *ack, u32 cwnd)
{
	return netnice_returns_blindly(state) &&
	       netnice_met_more_than(state, NETNICE_LONG_BURST_PACKETS) &&
	       netnice_met_queue_of_others(state, ack, cwnd);
}

/*
 * Returns whether others made most of a queue, too short for the threshold, that has overflowed, or use a quarter of the
 * path or more. In the first slow start the path is not known yet, and during a return the window has been small.
 */
POLICY_INLINE int netnice_met_short_queue_of_others(const struct netnice *state,
						    const struct netnice_ack *ack, u32 cwnd)
{
	if (!netnice_may_tell_of_others(state, ack) ||
	    !netnice_met_more_than(state, NETNICE_BURST_PACKETS))
		return 0;
	if (!netnice_is_in_slow_start(state))
		return netnice_met_queue_of_others(state, ack, cwnd + (cwnd + 2) / 3) ||
		       netnice_met_standing_queue(state, cwnd);
	return netnice_returns_to_others(state, ack, cwnd) ||
	       (netnice_returns_blindly(state) && netnice_met_standing_queue(state, cwnd));
}

/*
 * Rounds for which the window stays below one at which a blind loss occurred. Where a round has few packets, more rounds
 * pass from one loss to the next.
 */
POLICY_INLINE u32 netnice_hold_rounds(const struct netnice *state)
{
	u32 rtt_us =
		policy_max(state->measured.minimum_rtt_us + state->measured.latest_queue_us, 1);
	u32 hold_us = policy_min(state->believed.packet_ns / 1000 * NETNICE_HOLD_PACKETS,
				 NETNICE_HOLD_US);

	if (state->policer.limit)
		return NETNICE_BLIND_ROUNDS;
	return policy_min(policy_max(hold_us / rtt_us, NETNICE_BLIND_ROUNDS), NETNICE_LIMIT_ROUNDS);
}

/*
 * The flow itself may have caused the first blind loss, since its window grew: it stays below that
 * window. Others caused one that shows them (`others`), a further one while the window did not grow, and any within a
 * policer's limit, unless the queue cannot even hold a probe.
 */
POLICY_CALLED u32 netnice_on_blind_loss(struct netnice *state, u32 cwnd, int others)
{
	POLICY_STEP_NEEDS(state);
	u32 product = netnice_bandwidth_delay_product(state);
	/* In the same recovery it may follow from the first one: a short queue drops retransmissions, too. */
	int again = state->losses.blind_rounds && !state->decided.recovering;

	if ((others || again || netnice_is_within_limit(state, cwnd)) && cwnd >= NETNICE_PROBE_CWND)
		return netnice_yield_blindly(state, NETNICE_BECAUSE_BLIND_LOSS);
	state->losses.blind_rounds = netnice_hold_rounds(state);
	state->believed.plateau =
		policy_min(policy_min(state->believed.plateau, cwnd - 1), product);
	state->believed.plateau = policy_max(state->believed.plateau, NETNICE_MINIMUM_CWND);
	return policy_max(cwnd / 2, NETNICE_MINIMUM_CWND);
}

#endif
