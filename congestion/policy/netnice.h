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

#include "delayed_ack.h"
#include "integer.h"
#include "netnice_state.h"
#include "one_way_delay.h"
#include "report.h"

/* Ticks that fit 16 bits: a second. */
POLICY_INLINE u32 netnice_ticks(u32 microseconds)
{
	return policy_min(microseconds / NETNICE_TICK_US, 65535);
}

/* Changes of two packets, or of a round, on a path that jitters say nothing about its queue. */
POLICY_INLINE u32 netnice_threshold_us(const struct netnice *state)
{
	u32 threshold_us = policy_max(state->threshold_floor * NETNICE_TICK_US,
				      NETNICE_THRESHOLD_HALF_PACKETS * (state->packet_ns / 2000));
	u32 jitter_us = policy_max(NETNICE_THRESHOLD_JITTERS * state->jitter_us,
				   NETNICE_THRESHOLD_SPREADS * state->spread * NETNICE_TICK_US);

	return policy_max(threshold_us, jitter_us);
}

/*
 * The range of a round's samples as it is when nobody adds a queue: it follows wide rounds slowly
 * and narrow ones quickly, so that bursts that pass leave it alone. Jitter is in every round. Two
 * packets of it are what delayed ACKs make of any flow.
 */
POLICY_INLINE void netnice_learn_spread(struct netnice *state)
{
	u32 low = netnice_ticks(state->round_queue_us + state->packet_ns / 500);
	u32 range = state->round_high > low ? state->round_high - low : 0;

	range = policy_min(range, NETNICE_JITTER_LIMIT_US / NETNICE_TICK_US);
	if (range > state->spread)
		state->spread += (range - state->spread + 15) / 16;
	else
		state->spread -= (state->spread - range + 3) / 4;
}

/*
 * Jitter as in RFC 3550, 6.4.1: the mean change from one delay to the next. While yielding, the
 * samples lie too far apart: what changes between them is the others' queue.
 */
POLICY_INLINE void netnice_learn_jitter(struct netnice *state, u32 queue_us)
{
	u32 change_us = queue_us > state->latest_queue_us ? queue_us - state->latest_queue_us :
							    state->latest_queue_us - queue_us;

	if (state->report.phase == POLICY_YIELDING)
		return;
	change_us = policy_min(change_us, NETNICE_JITTER_LIMIT_US);
	if (change_us > state->jitter_us)
		state->jitter_us += (change_us - state->jitter_us + 15) / 16;
	else
		state->jitter_us -= (state->jitter_us - change_us) / 16;
}

/* A flow's part of a queue: as much of the queue as it has of all that is on the way. */
POLICY_INLINE u32 netnice_own_backlog(const struct netnice *state, u32 cwnd, u32 queue_us)
{
	return (u32)((u64)cwnd * queue_us / ((u64)state->minimum_rtt_us + queue_us));
}

/* The window that fills the path without a queue, by the highest rate ever delivered. */
POLICY_INLINE u32 netnice_bandwidth_delay_product(const struct netnice *state)
{
	if (!state->packet_ns || state->minimum_rtt_us == NETNICE_NO_SAMPLE)
		return NETNICE_NO_SAMPLE;
	return (u32)((u64)state->minimum_rtt_us * 1000 / state->packet_ns) + 1;
}

/*
 * The queueing delay on the way there: what the round trip took beyond its minimum, which is
 * exact but counts the way back too, bounded by the same of the one-way delay, which does not but
 * is as coarse as the peer's clock.
 */
POLICY_INLINE u32 netnice_queue_us(struct netnice *state, const struct netnice_ack *ack)
{
	u32 queue_us, delay_us = 0;
	u8 restarted = 0;

	state->minimum_rtt_us = policy_min(state->minimum_rtt_us, ack->sample_rtt_us);
	queue_us = ack->sample_rtt_us - state->minimum_rtt_us;
	if (ack->has_timestamp)
		delay_us = one_way_delay_sample(&state->clock, ack->tsval,
						ack->now_us - ack->sample_rtt_us, ack->now_us,
						&restarted);
	state->report.signal = delay_us ? POLICY_SIGNAL_ONE_WAY_DELAY : POLICY_SIGNAL_ROUND_TRIP;
	if (!delay_us)
		return queue_us;
	if (restarted || !state->minimum_one_way_us || delay_us < state->minimum_one_way_us)
		state->minimum_one_way_us = delay_us;
	delay_us -= state->minimum_one_way_us;
	/* A round trip at its minimum proves the way there empty: the clocks drift, follow. */
	if (delay_us > NETNICE_DRIFT_US && queue_us < state->threshold_floor * NETNICE_TICK_US / 4)
		state->minimum_one_way_us += (delay_us - NETNICE_DRIFT_US) / 8;
	return policy_min(queue_us, delay_us);
}

POLICY_INLINE void netnice_learn_rate(struct netnice *state, const struct netnice_ack *ack)
{
	u32 packet_ns;

	if (ack->rate_delivered < 4 || !ack->rate_interval_us)
		return;
	packet_ns = (u32)((u64)ack->rate_interval_us * 1000 / ack->rate_delivered);
	if (packet_ns && (!state->packet_ns || packet_ns < state->packet_ns))
		state->packet_ns = packet_ns;
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

POLICY_INLINE u32 netnice_yield(struct netnice *state)
{
	state->report.phase = POLICY_YIELDING;
	state->report.yields += 1;
	state->probe_rounds = 1;
	state->inference = NETNICE_CLEAN_PROBES;
	state->slow_start = 0;
	state->steady_since_us = 0;
	return NETNICE_MINIMUM_CWND;
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

/*
 * While yielding, a delay that does not move for half a minute is no queue (queues that somebody
 * uses move) but a path that became longer: it becomes the new minimum.
 */
POLICY_INLINE void netnice_relearn(struct netnice *state, u32 queue_us, u32 now_us)
{
	if (!state->steady_since_us) {
		state->steady_since_us = now_us | 1;
		state->steady_low = netnice_ticks(queue_us);
		state->steady_high = netnice_ticks(queue_us);
		return;
	}
	state->steady_low = policy_min(state->steady_low, netnice_ticks(queue_us));
	state->steady_high = policy_max(state->steady_high, netnice_ticks(queue_us));
	if ((u32)(state->steady_high - state->steady_low) * NETNICE_TICK_US >
	    netnice_threshold_us(state)) {
		state->steady_since_us = 0;
		return;
	}
	if (now_us - state->steady_since_us < NETNICE_RELEARN_US)
		return;
	state->minimum_rtt_us += state->steady_low * NETNICE_TICK_US;
	if (state->minimum_one_way_us)
		state->minimum_one_way_us += state->steady_low * NETNICE_TICK_US;
	state->steady_since_us = 0;
}

/*
 * A probe is two packets together. When one is still out, the next would go alone, its ACK would
 * be held, and so would all that follow: no sample would ever be free of the receiver's wait.
 * Linux sends no more than half a window at once, hence four for two.
 */
POLICY_INLINE u32 netnice_probe_cwnd(const struct netnice_ack *ack)
{
	return ack->in_flight ? policy_min(ack->in_flight, NETNICE_PROBE_CWND) : NETNICE_PROBE_CWND;
}

/*
 * Nothing but two packets now and then, until some pairs in a row find no queue: one pair alone may
 * have come between two bursts of a flow that is not yet, or not any more, at full speed. While
 * pairs find none they follow each other faster.
 */
POLICY_INLINE void netnice_yielding_round(struct netnice *state, const struct netnice_ack *ack,
					  u32 previous_queue_us, u32 queue_us, u32 threshold_us)
{
	if (queue_us <= threshold_us) {
		if (state->inference > 1) {
			state->inference -= 1;
			if (state->probe_rounds > 1 && state->probe_rounds <= NETNICE_PROBE_ROUNDS)
				state->probe_rounds /= 2;
			return;
		}
		state->report.phase = POLICY_SLOW_START;
		state->slow_start = 1;
		state->over_packets = 0;
		state->inference = 0;
		return;
	}
	/* A small queue may be that of another flow of low priority. */
	if (state->probe_rounds <= NETNICE_PROBE_ROUNDS && queue_us > 2 * threshold_us)
		state->inference = NETNICE_CLEAN_PROBES;
	if (queue_us >= previous_queue_us && state->probe_rounds < NETNICE_PROBE_ROUNDS)
		state->probe_rounds *= 2;
	netnice_relearn(state, queue_us, ack->now_us);
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

	if (ack->app_limited || state->over_packets ||
	    (s32)(ack->prior_delivered - state->reaction_mark) < 0)
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

/* Probes can't see a queue so short; what they tell is that nothing is lost. */
POLICY_INLINE u32 netnice_yield_blindly(struct netnice *state)
{
	u32 cwnd = netnice_yield(state);

	state->blind_rounds = 0;
	state->probe_rounds = NETNICE_BLIND_PROBE_ROUNDS;
	state->inference = NETNICE_BLIND_PROBES;
	return cwnd;
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
	if (state->report.phase == POLICY_YIELDING && state->probe_rounds > NETNICE_PROBE_ROUNDS)
		return netnice_yield_blindly(state);
	if (blind)
		return netnice_on_blind_loss(state, cwnd);
	return policy_max(cwnd / 2, NETNICE_MINIMUM_CWND);
}

/* Takes the delay sample that an ACK brings. */
POLICY_INLINE void netnice_sample(struct netnice *state, const struct netnice_ack *ack)
{
	int prompt = delayed_ack_is_prompt(&state->lone_acks, ack->acked, ack->in_flight);
	u32 queue_us, agreed_us;

	if (!ack->sample_rtt_us || ack->in_recovery)
		return;
	queue_us = netnice_queue_us(state, ack);
	agreed_us = policy_min(state->latest_queue_us, queue_us);
	netnice_learn_jitter(state, queue_us);
	state->latest_queue_us = queue_us;
	state->round_queue_us = policy_min(state->round_queue_us, queue_us);
	state->round_high = policy_max(state->round_high, netnice_ticks(queue_us));
	if (prompt)
		state->round_prompt = 1;
	if (queue_us <= netnice_threshold_us(state)) {
		state->over_packets = 0;
	} else if (prompt && (s32)(ack->prior_delivered - state->reaction_mark) >= 0) {
		state->over_queue_us = agreed_us;
		state->over_packets += ack->acked;
	}
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

	netnice_learn_rate(state, ack);
	netnice_sample(state, ack);
	if (ack->in_recovery) {
		if (!state->recovering && !ack->after_timeout)
			cwnd = netnice_on_loss(state, ack, cwnd);
		state->recovering = 1;
		if (ack->after_timeout)
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
		return netnice_probe_cwnd(ack);
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
	u32 pause_us;

	if (state->report.phase != POLICY_YIELDING) {
		if (!state->slow_start)
			return smoothed_rtt_us - smoothed_rtt_us / 16;
		return state->report.yields ? smoothed_rtt_us - smoothed_rtt_us / 4 :
					      smoothed_rtt_us / 2;
	}
	pause_us = policy_min(state->probe_rounds * smoothed_rtt_us, NETNICE_PROBE_PAUSE_US);
	return policy_max(pause_us, smoothed_rtt_us) * cwnd / 2;
}

#endif
