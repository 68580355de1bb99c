/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* netnice: answers to losses and ECN marks. */
#ifndef NETNICE_POLICY_NETNICE_LOSSES_H
#define NETNICE_POLICY_NETNICE_LOSSES_H

#include "ca_state.h"
#include "integer.h"
#include "netnice/believe.h"
#include "netnice/decisions.h"
#include "netnice/state.h"
#include "netnice/policer.h"
#include "netnice/short_queue.h"
#include "netnice/yielding.h"
#include "report.h"

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
		if (netnice_began_blindly(state))
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
	if (netnice_yields(state) && netnice_began_blindly(state))
		netnice_return(state, NETNICE_BECAUSE_UNDO);
}

#endif
