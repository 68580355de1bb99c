/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * netnice: TCP-LP's idea (yield at the first sign of a queue, measured by one-way delays) extended
 * to a control that also fills an idle link. docs/netnice-control.md gives the alternatives tried
 * and the reasons.
 *
 *   signal     a queueing delay over the threshold for seven eighths of a window in a row. Bursts,
 *              its own and others', are shorter; a standing queue is not.
 *   threshold  the largest of one and a half packets at the link's rate, twice the variation of
 *              samples on a path with jitter, and a floor for clocks and schedulers.
 *   back-off   the window shrinks by the flow's own part of the queue, and by 1/32 more, so that the
 *              queue empties (and all flows see the true minimum) and flows converge to equal
 *              shares. Beside a flow that keeps a queue it reaches two packets within rounds.
 *   yielding   two packets back to back (so that no ACK is delayed) every 1, 2, 4, 8 round trips,
 *              until four probes in a row met no queue, or one where delays vary.
 *   return     in slow start to a quarter of the path's capacity, then by a quarter per round: the
 *              overflow of a short queue would cost a best-effort flow half of its window.
 *   loss       Reno's answer. If the queue is too short to show as delay, a second loss that no
 *              growth explains indicates others, and yielding takes longer.
 *   trial      a delay that stands still while yielding is taken for the path's until a queue shows.
 *   trains     a rate that has fallen means others in a fair queue, or a slower link: the delays
 *              of six packets sent together tell which.
 *   gaps       between ACKs, of whole packets' times, show the rate of a fair queue's link that others
 *              used first; a full packet's round trip beside the handshake's confirms it.
 *   growth     fast towards the last window that was right, beyond it one packet per round,
 *              doubling while no queue shows; none while the newest sample is over the threshold.
 */
#ifndef NETNICE_POLICY_NETNICE_H
#define NETNICE_POLICY_NETNICE_H

#include "integer.h"
#include "netnice/gaps.h"
#include "netnice/losses.h"
#include "netnice/believe.h"
#include "netnice/state.h"
#include "netnice/trains.h"
#include "netnice/yielding.h"
#include "report.h"

/*
 * Returns whether a window fills a way back that has a queue: the path without queues holds less than half of the window,
 * and so long a queue on the way there would have indicated congestion before.
 */
POLICY_INLINE int netnice_fills_way_back(const struct netnice *state, u32 cwnd)
{
	return cwnd / 2 > netnice_bandwidth_delay_product(state);
}

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

/* Evaluates a finished round. */
POLICY_CALLED u32 netnice_round(struct netnice *state, const struct netnice_ack *ack, u32 cwnd)
{
	POLICY_STEP_NEEDS(state && ack);
	u32 previous_queue_us = state->report.delay_over_minimum_us;
	u32 queue_us = state->measured.round_queue_us;
	u32 threshold_us = netnice_threshold_us(state);

	if (queue_us == NETNICE_NO_SAMPLE ||
	    (!state->measured.round_prompt && queue_us > threshold_us))
		return 0;
	state->report.delay_over_minimum_us = queue_us;
	state->report.threshold_us = threshold_us;
	if (!netnice_yields(state) && !ack->app_limited) {
		netnice_leak_rate(&state->believed);
		netnice_learn_spread(&state->believed, &state->measured);
	}
	if (netnice_yields(state)) {
		netnice_yielding_round(state, ack, previous_queue_us, queue_us, threshold_us);
	} else if (!netnice_is_in_slow_start(state)) {
		/* Of a small window all packets make an indication: it is complete as the round ends. */
		if (state->decided.inference && !netnice_is_indication(state, cwnd))
			state->decided.inference -= 1;
		if (state->losses.blind_rounds && !--state->losses.blind_rounds)
			state->losses.blind_scale = 0;
		netnice_test_limit(state, cwnd);
		if (!state->decided.inference && state->decided.phase == NETNICE_INFER)
			netnice_move(state, NETNICE_BECAUSE_TIMEOUT);
		state->decided.growth = netnice_plan_growth(state, cwnd, queue_us, threshold_us);
	}
	return 0;
}

/*
 * Grows the window after yielding. The path's capacity is known, so there is no need to overshoot
 * it; the share that others leave is not, so the last part is slow unless others stay briefly.
 */
POLICY_INLINE u32 netnice_grow_back(struct netnice *state, const struct netnice_ack *ack, u32 cwnd)
{
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

/* Returns whether an ACK ends a round. A probe is one, though a receiver may acknowledge each of its packets. */
POLICY_INLINE int netnice_ends_round(const struct netnice *state, const struct netnice_ack *ack)
{
	if (netnice_sends_probes(state, ack) && (ack->in_flight || netnice_sends_trains(state)))
		return !ack->in_flight;
	return (s32)(ack->prior_delivered - state->measured.round_end) >= 0;
}

/* Returns the largest window after an RTO; while yielding that of a probe. */
POLICY_INLINE u32 netnice_repair_cwnd(const struct netnice *state)
{
	if (netnice_yields(state))
		return 2 * netnice_probe_packets(state);
	return policy_max(state->believed.plateau / 2, NETNICE_MINIMUM_CWND);
}

/*
 * Takes the sample of an ACK. While yielding, samples are too far apart for jitter: changes between them come from the
 * others' queue.
 */
POLICY_CALLED u32 netnice_sample(struct netnice *state, const struct netnice_ack *ack)
{
	POLICY_STEP_NEEDS(state && ack);
	int yields = netnice_yields(state);
	int kind = netnice_measure(&state->measured, &state->report, ack,
				   netnice_threshold_us(state), yields);

	if (kind == NETNICE_WITHOUT_SAMPLE)
		return 0;
	if (!yields)
		netnice_learn_jitter(&state->believed, &state->measured);
	netnice_count_over(&state->measured, ack, kind, netnice_threshold_us(state));
	return 0;
}

/* Returns the window after an ACK. */
POLICY_INLINE u32 netnice_on_ack(struct netnice *state, const struct netnice_ack *ack)
{
	u32 previous_queue_us;
	u32 cwnd = ack->cwnd;

	netnice_notice_gap(state, netnice_allow_drift(&state->measured, ack->now_us));
	/* The link is faster by far than known: trains that found nobody do not count any more. */
	if (netnice_learn_rate(&state->believed, ack)) {
		state->trains.share_wait = 0;
		state->gaps.gap_wait = 0;
	}
	if (netnice_contradicts_trial(
		    state, ack, netnice_follow_fall(&state->measured, ack, netnice_yields(state))))
		cwnd = netnice_resume_yielding(state);
	previous_queue_us = state->measured.latest_queue_us;
	netnice_sample(state, ack);
	netnice_learn_gap(state, ack);
	if (state->losses.judging)
		cwnd = netnice_judge_losses(state, ack, cwnd);
	else
		netnice_await_late_losses(state, ack);
	if (ca_answers_congestion(ack->ca_state)) {
		if (state->longer_path.on_trial) {
			state->decided.recovering = 1;
			return netnice_resume_yielding(state);
		}
		/* Trains for a rate that is not confirmed may be too long for the queue. */
		if (state->trains.claimed_slots && netnice_follows_reaction(&state->measured, ack))
			netnice_return(state, NETNICE_BECAUSE_NO_SLOTS);
		if (netnice_is_loss_event(state, ack))
			cwnd = netnice_on_loss(state, ack, cwnd);
		state->decided.recovering = 1;
		if (ack->ca_state == CA_LOSS)
			cwnd = policy_min(cwnd + ack->acked, netnice_repair_cwnd(state));
		return policy_max(cwnd, NETNICE_MINIMUM_CWND);
	}
	state->decided.recovering = 0;

	if (netnice_ends_round(state, ack)) {
		if (netnice_sends_probes(state, ack) && netnice_sends_trains(state)) {
			netnice_train_round(state, ack, previous_queue_us);
			/* One ACK may cover a train, whose window is no measure of the path's. */
			cwnd = policy_min(cwnd, NETNICE_PROBE_CWND);
		} else {
			netnice_round(state, ack, cwnd);
		}
		netnice_begin_round(&state->measured, ack->delivered);
	}
	if (netnice_yields(state))
		return netnice_probe_cwnd(state, ack);
	netnice_judge_trial(state, ack);
	if (!netnice_is_indication(state, cwnd))
		cwnd = netnice_grow(state, ack, cwnd);
	else if (state->longer_path.on_trial && netnice_is_in_slow_start(state))
		cwnd = netnice_resume_yielding(state);
	else if (netnice_is_in_slow_start(state))
		cwnd = netnice_leave_slow_start(state, ack, cwnd);
	else
		cwnd = netnice_back_off(state, ack, cwnd);
	return policy_max(cwnd, NETNICE_MINIMUM_CWND);
}

/*
 * Returns the time over which to send a window, before pacing's excess. When a queue on the way back drains, the round trip
 * falls faster than its smoothed value, and ACKs come faster than the link is: its rate is the limit then. Less a little
 * while that queue is there, so that none grows before the link: its packets would be lost, and compressed ACKs would raise
 * the rate. But a round trip always has room for two rate samples: paced to fewer packets, the flow could never see that
 * the link has become faster.
 */
POLICY_INLINE u32 netnice_window_us(const struct netnice *state, u32 cwnd, u32 smoothed_rtt_us)
{
	u32 packet_ns = state->believed.packet_ns;

	if (!netnice_fills_way_back(state, cwnd))
		return smoothed_rtt_us;
	if (smoothed_rtt_us > state->measured.minimum_rtt_us + state->measured.minimum_rtt_us / 2)
		packet_ns += packet_ns / NETNICE_UNDER_RATE_PARTS;
	packet_ns = policy_min(packet_ns,
			       state->measured.minimum_rtt_us / (2 * NETNICE_RATE_PACKETS) * 1000);
	return policy_max(smoothed_rtt_us, policy_scale(cwnd, packet_ns, 1000));
}

/* Returns the time over which to send `cwnd` packets in bursts that are `pause_us` apart. */
POLICY_INLINE u32 netnice_bursts_us(const struct netnice *state, u32 cwnd, u32 pause_us)
{
	u64 time_us = (u64)pause_us * cwnd / netnice_burst_packets(state);

	return time_us > 0xffffffffU ? 0xffffffffU : (u32)time_us;
}

/* Returns the time over which to send `cwnd` packets: the pacing rate is their quotient. */
POLICY_INLINE u32 netnice_pacing_us(const struct netnice *state, u32 cwnd, u32 smoothed_rtt_us)
{
	if (netnice_yields(state))
		return netnice_bursts_us(state, cwnd, netnice_pause_us(state, smoothed_rtt_us));
	if (!netnice_is_in_slow_start(state)) {
		smoothed_rtt_us = netnice_window_us(state, cwnd, smoothed_rtt_us);
		return smoothed_rtt_us - smoothed_rtt_us / 16;
	}
	return state->decided.phase == NETNICE_RETURN ? smoothed_rtt_us - smoothed_rtt_us / 4 :
							smoothed_rtt_us / 2;
}

#endif
