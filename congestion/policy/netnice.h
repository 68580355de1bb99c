/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * netnice: TCP-LP's idea (yield at the first sign of a queue, read from one-way delays) carried to
 * a control that also fills an idle link. docs/netnice-control.md tells what was tried and why.
 *
 *   signal     a queueing delay over the threshold for seven eighths of a window in a row. Bursts,
 *              one's own and others', pass; a queue that stands does not.
 *   threshold  one and a half packets at the link's rate, twice what samples differ by on a path that
 *              jitters, or a floor for clocks and schedulers: whichever is the largest.
 *   back-off   one's own part of the queue is taken out of the window, and 1/32 more,
 *              so that the queue runs empty (and all see the true minimum) and flows turn equal.
 *              Beside a flow that keeps a queue this ends within rounds at two packets.
 *   yielding   two packets back to back (so that no ACK is delayed) every 1, 2, 4, 8 round trips,
 *              until four probes in a row met no queue.
 *   return     in slow start to a quarter of the path's capacity, from there by a quarter a round: to
 *              overflow a short queue would cost a best-effort flow half of its window.
 *   loss       Reno's answer. Where the queue is too short to show as delay, a second loss that no
 *              growth explains is the sign of others, and yielding takes longer.
 *   growth     towards the last window that was right quickly, beyond it one packet a round,
 *              doubling while no queue shows; never while the newest sample is over the threshold.
 */
#ifndef NETNICE_POLICY_NETNICE_H
#define NETNICE_POLICY_NETNICE_H

#include "integer.h"
#include "netnice_signal.h"
#include "netnice_state.h"
#include "netnice_yielding.h"
#include "report.h"

/* A flow's part of a queue: as much of the queue as it has of all that is on the way. */
POLICY_INLINE u32 netnice_own_backlog(const struct netnice *state, u32 cwnd, u32 queue_us)
{
	return (u32)((u64)cwnd * queue_us / ((u64)state->minimum_rtt_us + queue_us));
}

/* Only packets sent from now on tell what the reaction did. */
POLICY_INLINE void netnice_mark_reaction(struct netnice *state, u32 delivered)
{
	state->reaction_mark = delivered;
	state->round_end = delivered;
	state->over_packets = 0;
	state->growth = 1;
	state->credit = 0;
}

/*
 * The back-off beyond the queue, a share of the window: rounded up as often as its fraction says,
 * so that small windows too give way in proportion, and flows turn equal.
 */
POLICY_INLINE u32 netnice_surplus(u32 cwnd, u32 dither)
{
	u32 rounding = dither & ((1U << NETNICE_SURPLUS_SHIFT) - 1);

	return (cwnd + rounding) >> NETNICE_SURPLUS_SHIFT;
}

/*
 * An early congestion indication: take the queue out of the window. A second one within the
 * inference time-out, in which the window did not grow, is the work of others: halve at least.
 * A third ends in yielding.
 */
POLICY_INLINE u32 netnice_back_off(struct netnice *state, const struct netnice_ack *ack, u32 cwnd)
{
	u32 backlog = netnice_own_backlog(state, cwnd, state->over_queue_us);
	u32 surplus = netnice_surplus(cwnd, ack->delivered);
	u32 filled = cwnd > backlog ? cwnd - backlog : NETNICE_MINIMUM_CWND;
	u32 target;

	target = filled > surplus ? filled - surplus : 0;
	netnice_mark_reaction(state, ack->delivered);
	if (state->inference) {
		state->recurrences += 1;
		target = policy_min(target, cwnd / 2);
		state->plateau = filled;
	} else {
		state->recurrences = 0;
		state->plateau = policy_max(filled, policy_min(state->plateau, cwnd));
	}
	state->inference = NETNICE_INFERENCE_ROUNDS;
	if (target <= NETNICE_MINIMUM_CWND || state->recurrences >= 2)
		return netnice_yield(state);
	state->report.phase = POLICY_INFERENCE;
	return target;
}

/* The pace of growth for the coming round: packets. */
POLICY_INLINE u32 netnice_plan_growth(const struct netnice *state, u32 cwnd, u32 queue_us,
				      u32 threshold_us)
{
	if (cwnd < state->plateau)
		return policy_max((state->plateau - cwnd) / 2, 1);
	if (state->inference || state->blind_rounds)
		return 0;
	if (queue_us > threshold_us / 2)
		return 1;
	return policy_max(policy_min(state->growth * 2, cwnd / 4), 1);
}

/* What a finished round means. */
POLICY_INLINE void netnice_round(struct netnice *state, const struct netnice_ack *ack, u32 cwnd)
{
	u32 previous_queue_us = state->report.delay_over_minimum_us;
	u32 queue_us = state->round_queue_us;
	u32 threshold_us = netnice_threshold_us(state);

	if (queue_us == NETNICE_NO_SAMPLE || (!state->round_prompt && queue_us > threshold_us))
		return;
	state->report.delay_over_minimum_us = queue_us;
	state->report.threshold_us = threshold_us;
	if (state->report.phase != POLICY_YIELDING && !ack->app_limited) {
		/* One sample that was too good (ACKs that came in a heap) must not last for ever. */
		state->packet_ns += state->packet_ns >> NETNICE_RATE_LEAK_SHIFT;
		netnice_learn_spread(state);
	}
	if (state->report.phase == POLICY_YIELDING) {
		netnice_yielding_round(state, ack, previous_queue_us, queue_us, threshold_us);
	} else if (!state->slow_start) {
		if (state->inference)
			state->inference -= 1;
		if (state->blind_rounds)
			state->blind_rounds -= 1;
		if (!state->inference)
			state->report.phase = POLICY_AVOIDANCE;
		state->growth = netnice_plan_growth(state, cwnd, queue_us, threshold_us);
	}
}

/*
 * The return from yielding. The path's capacity is known, so there is no need to overshoot it; what
 * others leave of it is not, so the end is taken slowly.
 */
POLICY_INLINE u32 netnice_grow_back(struct netnice *state, u32 acked, u32 cwnd)
{
	u32 product = netnice_bandwidth_delay_product(state);
	u32 progress = policy_min(acked, cwnd) + state->credit;

	if (cwnd < product >> NETNICE_RETURN_SHIFT)
		return cwnd + acked;
	if (cwnd < product) {
		state->credit = progress % (1U << NETNICE_RETURN_SHIFT);
		return cwnd + (progress >> NETNICE_RETURN_SHIFT);
	}
	state->slow_start = 0;
	state->plateau = cwnd;
	state->report.phase = POLICY_AVOIDANCE;
	return cwnd;
}

/* Growth between the ends of rounds. */
POLICY_INLINE u32 netnice_grow(struct netnice *state, const struct netnice_ack *ack, u32 cwnd)
{
	u64 progress;

	if (ack->app_limited || state->over_packets || !netnice_follows_reaction(state, ack))
		return cwnd;
	if (state->slow_start)
		return state->report.yields ? netnice_grow_back(state, ack->acked, cwnd) :
					      cwnd + ack->acked;
	progress = (u64)policy_min(ack->acked, cwnd) * state->growth + state->credit;
	state->credit = (u32)(progress % cwnd);
	return cwnd + (u32)(progress / cwnd);
}

/*
 * Slow start ends at the first indication. The packets that met the queue left a round trip ago,
 * at half the window.
 */
POLICY_INLINE u32 netnice_leave_slow_start(struct netnice *state, const struct netnice_ack *ack,
					   u32 cwnd)
{
	u32 product = netnice_bandwidth_delay_product(state);
	u32 fits = cwnd;

	if (state->report.yields)
		fits -= netnice_own_backlog(state, cwnd, state->over_queue_us);
	netnice_mark_reaction(state, ack->delivered);
	state->slow_start = 0;
	state->plateau = policy_min(fits, product);
	state->inference = 1;
	state->recurrences = 0;
	state->report.phase = POLICY_INFERENCE;
	return policy_max(policy_min(cwnd / 2, product), NETNICE_MINIMUM_CWND);
}

/*
 * A loss that no delay announced: the queue is hardly longer than the threshold, and losses are all
 * that is to be seen of others. Where no packet waited at all, the loss was the path's own.
 */
POLICY_INLINE int netnice_is_blind(const struct netnice *state)
{
	return !state->over_packets && state->latest_queue_us >= state->packet_ns / 2000;
}

/*
 * The first blind loss may be one's own work, for the window grew: stay below it. One that follows
 * while the window did not grow is the work of others, unless the queue can't even hold a probe.
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

/* A loss: Reno's answer (RFC 5681, equation 4), and a cautious return. */
POLICY_INLINE u32 netnice_on_loss(struct netnice *state, const struct netnice_ack *ack, u32 cwnd)
{
	u32 product = netnice_bandwidth_delay_product(state);
	int blind = netnice_is_blind(state);

	netnice_mark_reaction(state, ack->delivered);
	state->plateau = policy_max(policy_min(cwnd - cwnd / 8, product), NETNICE_MINIMUM_CWND);
	state->slow_start = 0;
	/* Where packets are lost, delay is a queue, however steady it is. */
	state->steady_since_us = 0;
	if (state->report.phase == POLICY_YIELDING && state->probe_rounds > NETNICE_PROBE_ROUNDS)
		return netnice_yield_blindly(state);
	if (blind)
		return netnice_on_blind_loss(state, cwnd);
	return policy_max(cwnd / 2, NETNICE_MINIMUM_CWND);
}

/* So many packets in a row over the threshold are an indication. On the return fewer are enough. */
POLICY_INLINE u32 netnice_indication_packets(const struct netnice *state, u32 cwnd)
{
	int returns = state->slow_start && state->report.yields;

	return policy_max(returns ? cwnd / 4 : cwnd - cwnd / 8, NETNICE_INDICATION_PACKETS);
}

/* The window after an ACK. */
POLICY_INLINE u32 netnice_on_ack(struct netnice *state, const struct netnice_ack *ack)
{
	u32 cwnd = ack->cwnd;

	netnice_notice_gap(state, ack->now_us);
	netnice_learn_rate(state, ack);
	netnice_sample(state, ack);
	if (ca_answers_congestion(ack->ca_state)) {
		if (!state->recovering && ack->ca_state != CA_LOSS)
			cwnd = netnice_on_loss(state, ack, cwnd);
		state->recovering = 1;
		if (ack->ca_state == CA_LOSS)
			cwnd = policy_min(cwnd + ack->acked, policy_max(state->plateau / 2, 2));
		return policy_max(cwnd, NETNICE_MINIMUM_CWND);
	}
	state->recovering = 0;

	if ((s32)(ack->prior_delivered - state->round_end) >= 0) {
		netnice_round(state, ack, cwnd);
		state->round_end = ack->delivered;
		state->round_queue_us = NETNICE_NO_SAMPLE;
		state->round_high = 0;
		state->round_prompt = 0;
	}
	if (state->report.phase == POLICY_YIELDING)
		return netnice_probe_cwnd(state, ack);
	if (state->over_packets < netnice_indication_packets(state, cwnd))
		cwnd = netnice_grow(state, ack, cwnd);
	else if (state->slow_start)
		cwnd = netnice_leave_slow_start(state, ack, cwnd);
	else
		cwnd = netnice_back_off(state, ack, cwnd);
	return policy_max(cwnd, NETNICE_MINIMUM_CWND);
}

/* The time over which `cwnd` packets are to be sent: the pacing rate is the one by the other. */
POLICY_INLINE u32 netnice_pacing_us(const struct netnice *state, u32 cwnd, u32 smoothed_rtt_us)
{
	if (state->report.phase == POLICY_YIELDING)
		return netnice_pause_us(state, smoothed_rtt_us) * cwnd /
		       netnice_burst_packets(state);
	if (!state->slow_start)
		return smoothed_rtt_us - smoothed_rtt_us / 16;
	return state->report.yields ? smoothed_rtt_us - smoothed_rtt_us / 4 : smoothed_rtt_us / 2;
}

#endif
