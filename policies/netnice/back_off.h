/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* netnice, layer 3: the answer to a queue, and what it tells of others. */
#ifndef NETNICE_POLICY_NETNICE_BACK_OFF_H
#define NETNICE_POLICY_NETNICE_BACK_OFF_H

#include "integer.h"
#include "netnice/believe.h"
#include "netnice/decisions.h"
#include "netnice/policer.h"
#include "netnice/reverse_path.h"
#include "netnice/state.h"
#include "netnice/trains.h"
#include "netnice/yielding.h"

/*
 * A flow's share of a queue equals its share of all data in flight. A queue on the way back holds some of that, too:
 * there the round trip is longer than its minimum and the queue make it.
 */
POLICY_INLINE u32 netnice_own_backlog(const struct netnice *state, const struct netnice_ack *ack,
				      u32 cwnd, u32 queue_us)
{
	u32 rest_us = state->measured.minimum_rtt_us;

	/* A window that a receiver advertises may be more than the sender uses. */
	if (!ack->at_receiver && netnice_fills_way_back(state, cwnd) &&
	    ack->sample_rtt_us > state->measured.latest_queue_us)
		rest_us = policy_max(rest_us, ack->sample_rtt_us - state->measured.latest_queue_us);
	return policy_scale(cwnd, queue_us, (u64)rest_us + queue_us);
}

/*
 * Returns the plateau after an indication at `cwnd`, where the link took `filled` packets. Of what an earlier
 * plateau lies beyond that, but for two packets that rounding may miss, half remains: so a flow leaves to others
 * like it what they have gained. All remains where jitter makes `filled` too small. What growth and the ticks of a
 * clock add to a round's range is no jitter.
 */
POLICY_INLINE u32 netnice_next_plateau(const struct netnice *state, u32 cwnd, u32 filled)
{
	u32 calm_us = policy_max(netnice_growth_us(state), state->measured.threshold_floor_us);
	u32 plateau = policy_max(filled, policy_min(state->believed.plateau, cwnd));
	u32 beyond = plateau - filled;

	if (state->believed.spread_us > calm_us)
		return plateau;
	return plateau - (beyond - policy_min(beyond, NETNICE_PLATEAU_PACKETS)) / 2;
}

/*
 * The queue of an indication less what jitter adds to delays on average: a window without that leaves
 * the link idle.
 */
POLICY_INLINE u32 netnice_standing_queue_us(const struct netnice *state)
{
	u32 spread_us = state->believed.spread_us;
	u32 jitter_us = spread_us - policy_min(spread_us, netnice_growth_us(state));

	return state->measured.over_queue_us -
	       policy_min(state->measured.over_queue_us, jitter_us - jitter_us / 4);
}

/*
 * The back-off beyond the queue, a fraction of the window: rounded up in proportion to its
 * fractional part, so that small windows too back off in proportion, and flows converge to equal
 * shares.
 */
POLICY_INLINE u32 netnice_surplus(u32 cwnd, u32 dither)
{
	u32 rounding = dither & ((1U << NETNICE_SURPLUS_SHIFT) - 1);

	return (cwnd + rounding) >> NETNICE_SURPLUS_SHIFT;
}

/*
 * Returns whether the queue, where the last stays of others were brief, is longer than growth at the
 * path's capacity makes it: they have come again.
 */
POLICY_INLINE int netnice_is_visited(const struct netnice *state)
{
	return state->decided.brief_stays && state->measured.over_queue_us >
						     state->measured.minimum_rtt_us >>
						     NETNICE_VISIT_SHIFT;
}

/*
 * Returns whether others are in slow start: soon after a back-off of a window that filled most of the path, and that a
 * queue on the way back does not explain, more packets wait than a burst of the flow's own or a page of others. They
 * double that queue each round trip, and a short one overflows before a third indication. Where a round's range is an
 * eighth of the round trip, jitter may make a queue of a few packets.
 */
POLICY_INLINE int netnice_others_start(const struct netnice *state, u32 cwnd)
{
	u32 product;

	if (!state->decided.inference || !netnice_met_more_than(state, NETNICE_START_PACKETS))
		return 0;
	product = netnice_bandwidth_delay_product(state);
	return cwnd >= product - product / 4 && cwnd <= product + product / 4 &&
	       state->believed.spread_us <= state->measured.minimum_rtt_us / 8;
}

/*
 * Returns what an indication shows, where the window without the own part of the queue would be `target`: a slow start of
 * others at the second indication in a row, and a brief stay at the first. On short paths the flow's own bursts exceed the
 * threshold and a quarter of a round trip.
 */
POLICY_INLINE u8 netnice_judge_queue(const struct netnice *state, u32 cwnd, u32 target)
{
	if (target <= NETNICE_MINIMUM_CWND || state->decided.recurrences >= 2)
		return NETNICE_BECAUSE_QUEUE;
	if (state->decided.recurrences && netnice_others_start(state, cwnd))
		return NETNICE_BECAUSE_OTHERS_START;
	if (netnice_is_visited(state) &&
	    state->measured.over_queue_us > NETNICE_LONG_QUEUE * netnice_threshold_us(state))
		return NETNICE_BECAUSE_VISIT;
	return NETNICE_BECAUSE_INDICATION;
}

/*
 * Answers an early congestion indication: removes the flow's share of the queue from the window. A
 * second indication within the inference time-out, in which the window did not grow, comes from
 * others: the window is at least halved. A third starts yielding; the second one does if others
 * are in slow start.
 */
POLICY_CALLED u32 netnice_back_off(struct netnice *state, const struct netnice_ack *ack, u32 cwnd)
{
	POLICY_STEP_NEEDS(state && ack);
	u32 backlog = netnice_own_backlog(state, ack, cwnd, netnice_standing_queue_us(state));
	u32 surplus = netnice_surplus(cwnd, ack->delivered);
	u32 filled = cwnd > backlog ? cwnd - backlog : NETNICE_MINIMUM_CWND;
	u32 target;
	u8 reason;

	target = filled > surplus ? filled - surplus : 0;
	netnice_mark_reaction(state, ack->delivered);
	/* A limit met twice is certain: one late packet does not disprove it. */
	if (!state->policer.confirmed && cwnd > state->policer.limit / 2)
		netnice_forget_limit(state);
	if (state->decided.inference) {
		state->decided.recurrences += 1;
		target = policy_min(target, cwnd / 2);
		state->believed.plateau = filled;
	} else {
		state->decided.recurrences = 0;
		state->believed.plateau = netnice_next_plateau(state, cwnd, filled);
	}
	state->decided.inference = NETNICE_INFERENCE_ROUNDS;
	if (!state->longer_path.on_trial && netnice_learn_share(state, ack))
		return netnice_yield_share(state, ack);
	reason = netnice_judge_queue(state, cwnd, target);
	if (reason == NETNICE_BECAUSE_INDICATION) {
		netnice_move(state, reason);
		return target;
	}
	return state->longer_path.on_trial ? netnice_resume_yielding(state) :
					     netnice_yield(state, reason);
}

/*
 * Ends slow start at the first indication. The packets that met the queue left a round trip ago, at
 * half the window.
 */
POLICY_CALLED u32 netnice_leave_slow_start(struct netnice *state, const struct netnice_ack *ack,
					   u32 cwnd)
{
	POLICY_STEP_NEEDS(state && ack);
	u32 product = netnice_bandwidth_delay_product(state);
	u32 fits = cwnd;

	if (state->decided.phase == NETNICE_RETURN) {
		fits -= netnice_own_backlog(state, ack, cwnd, state->measured.over_queue_us);
		if (state->decided.brief_stays)
			state->decided.brief_stays -= 1;
	}
	netnice_mark_reaction(state, ack->delivered);
	netnice_move(state, state->decided.phase == NETNICE_START ? NETNICE_BECAUSE_START_QUEUE :
								    NETNICE_BECAUSE_RETURN_QUEUE);
	state->believed.plateau = policy_min(fits, product);
	state->decided.inference = 1;
	state->decided.recurrences = 0;
	return policy_max(policy_min(cwnd / 2, product), NETNICE_MINIMUM_CWND);
}

/*
 * Returns the packets in a row over the threshold that make an indication; fewer after yielding, where
 * others come often for a short time, and where they are in slow start: they lose more by a late indication
 * than we by one too many.
 */
POLICY_INLINE u32 netnice_indication_packets(const struct netnice *state, u32 cwnd)
{
	int returns = state->decided.phase == NETNICE_RETURN;
	int few = returns || netnice_is_visited(state) || netnice_others_start(state, cwnd);

	return policy_max(few ? cwnd / 4 : cwnd - cwnd / 8, NETNICE_INDICATION_PACKETS);
}

/* Returns whether so many packets in a row have been over the threshold that they indicate congestion. */
POLICY_INLINE int netnice_is_indication(const struct netnice *state, u32 cwnd)
{
	return state->measured.over_packets >= netnice_indication_packets(state, cwnd);
}

#endif
