/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* netnice: answers to losses and ECN marks. */
#ifndef NETNICE_POLICY_NETNICE_LOSSES_H
#define NETNICE_POLICY_NETNICE_LOSSES_H

#include "ca_state.h"
#include "integer.h"
#include "netnice_signal.h"
#include "netnice_state.h"
#include "netnice_yielding.h"
#include "report.h"

/*
 * Returns whether no delay announced a loss: the queue is hardly longer than the threshold, and
 * losses are the only sign of others. If no packet waited at all, the loss is the path's own.
 */
POLICY_INLINE int netnice_is_blind(const struct netnice *state)
{
	return !state->over_packets && state->latest_queue_us >= state->packet_ns / 2000;
}

/*
 * The flow itself may have caused the first blind loss, since its window grew: it stays below that
 * window. Others caused a further one while the window did not grow, unless the queue cannot even
 * hold a probe.
 */
POLICY_INLINE u32 netnice_on_blind_loss(struct netnice *state, u32 cwnd)
{
	u32 product = netnice_bandwidth_delay_product(state);

	if (state->blind_rounds && cwnd >= NETNICE_PROBE_CWND)
		return netnice_yield_blindly(state);
	state->blind_rounds = NETNICE_BLIND_ROUNDS;
	state->plateau = policy_min(policy_min(state->plateau, cwnd - 1), product);
	state->plateau = policy_max(state->plateau, NETNICE_MINIMUM_CWND);
	return policy_max(cwnd / 2, NETNICE_MINIMUM_CWND);
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
	return !state->recovering || (ack->lost && netnice_follows_reaction(state, ack));
}

/* Answers a loss as Reno does (RFC 5681, equation 4), and returns cautiously. */
POLICY_INLINE u32 netnice_on_loss(struct netnice *state, const struct netnice_ack *ack, u32 cwnd)
{
	u32 product = netnice_bandwidth_delay_product(state);
	int blind = netnice_is_blind(state);

	netnice_mark_reaction(state, ack->delivered);
	state->plateau = policy_max(policy_min(cwnd - cwnd / 8, product), NETNICE_MINIMUM_CWND);
	state->slow_start = 0;
	/* If packets are lost, delay comes from a queue, however steady it is. */
	state->steady_since_us = 0;
	if (state->report.phase == POLICY_YIELDING && state->probe_rounds > NETNICE_PROBE_ROUNDS)
		return netnice_yield_blindly(state);
	if (blind)
		return netnice_on_blind_loss(state, cwnd);
	return policy_max(cwnd / 2, NETNICE_MINIMUM_CWND);
}

#endif
