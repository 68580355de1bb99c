/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* netnice: answers to losses and ECN marks. */
#ifndef NETNICE_POLICY_NETNICE_LOSSES_H
#define NETNICE_POLICY_NETNICE_LOSSES_H

#include "ca_state.h"
#include "integer.h"
#include "netnice/believe.h"
#include "netnice/decisions.h"
#include "netnice/state.h"
#include "netnice/yielding.h"
#include "report.h"

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
	return state->decided.phase == NETNICE_RETURN &&
	       state->decided.probe_rounds > NETNICE_PROBE_ROUNDS;
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
POLICY_INLINE u32 netnice_on_blind_loss(struct netnice *state, u32 cwnd, int others)
{
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

/*
 * Losses of packets sent before a reaction may be found only by ACKs of packets sent after it: the end of a window has
 * none behind it. Those of the round after a reaction are the same loss event.
 */
POLICY_INLINE void netnice_await_late_losses(struct netnice *state, const struct netnice_ack *ack)
{
	if (!state->losses.late_losses || !netnice_follows_reaction(&state->measured, ack))
		return;
	state->losses.late_losses = 0;
	if (ca_answers_congestion(ack->ca_state))
		state->measured.reaction_mark = ack->delivered;
}

/*
 * Returns whether an ACK shows a new loss event: the first losses or mark of a recovery, or losses
 * of packets sent after the reaction to the last event. A recovery may last for many round trips.
 * Losses in two successive windows, and of retransmissions, are two indications (RFC 5681, 4.3).
 */
POLICY_INLINE int netnice_is_loss_event(const struct netnice *state, const struct netnice_ack *ack)
{
	if (ack->ca_state == CA_LOSS)
		return 0;
	return !state->decided.recovering ||
	       (ack->lost && netnice_follows_reaction(&state->measured, ack));
}

/* Answers a loss as Reno does (RFC 5681, equation 4), and returns cautiously. */
POLICY_CALLED u32 netnice_on_loss(struct netnice *state, const struct netnice_ack *ack, u32 cwnd)
{
	POLICY_STEP_NEEDS(state && ack);
	u32 product = netnice_bandwidth_delay_product(state);
	int returns = netnice_returns_to_others(state, ack, cwnd);
	int blind = netnice_is_blind(state, ack, cwnd);
	int others = blind ? netnice_met_short_queue_of_others(state, ack, cwnd) :
			     state->measured.over_packets &&
				     netnice_met_queue_of_others(state, ack, cwnd);

	netnice_mark_reaction(state, ack->delivered);
	state->losses.judging = !state->decided.recovering && netnice_met_no_queue(state) &&
				state->measured.round_high_us <= netnice_threshold_us(state);
	state->losses.late_losses = !state->losses.judging;
	state->losses.judged_losses = ack->lost;
	/* What was sent beyond the limit explains the loss. */
	if (state->policer.limit && cwnd > state->policer.limit)
		state->losses.blind_rounds = 0;
	state->believed.plateau =
		policy_max(policy_min(cwnd - cwnd / 8, product), NETNICE_MINIMUM_CWND);
	if (netnice_is_in_slow_start(state))
		netnice_move(state, NETNICE_BECAUSE_START_LOSS);
	/* If packets are lost, delay comes from a queue, however steady it is. */
	state->longer_path.steady_since_us = 0;
	if (netnice_yields(state)) {
		state->losses.judging = 0;
		if (state->decided.probe_rounds > NETNICE_PROBE_ROUNDS)
			return netnice_yield_blindly(state, NETNICE_BECAUSE_BLIND_LOSS);
	}
	if (blind)
		return netnice_on_blind_loss(state, cwnd, others);
	if (returns && others)
		return netnice_yield_blindly(state, NETNICE_BECAUSE_OVERFLOW);
	if (others)
		state->losses.blind_rounds = NETNICE_BLIND_ROUNDS;
	return policy_max(cwnd / 2, NETNICE_MINIMUM_CWND);
}

/*
 * Takes back the answer to a recovery that was spurious: nothing was lost (RFC 3522, RFC 3708), and the
 * sender has restored `cwnd`. A yielding within that recovery began at a larger window than that of
 * probes.
 */
POLICY_INLINE void netnice_on_undo(struct netnice *state, u32 cwnd)
{
	state->losses.judging = 0;
	state->losses.blind_rounds = 0;
	if (!state->policer.confirmed)
		netnice_forget_limit(state);
	if (cwnd <= NETNICE_PROBE_CWND)
		return;
	state->believed.plateau = policy_max(state->believed.plateau, cwnd);
	if (netnice_yields(state) && state->decided.probe_rounds > NETNICE_PROBE_ROUNDS)
		netnice_return(state, NETNICE_BECAUSE_UNDO);
}

#endif
