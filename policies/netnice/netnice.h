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
#include "netnice/back_off.h"
#include "netnice/believe.h"
#include "netnice/decisions.h"
#include "netnice/gaps.h"
#include "netnice/growth.h"
#include "netnice/longer_path.h"
#include "netnice/losses.h"
#include "netnice/policer.h"
#include "netnice/reverse_path.h"
#include "netnice/state.h"
#include "netnice/trains.h"
#include "netnice/yielding.h"
#include "report.h"

/* Evaluates a finished round. */
POLICY_CALLED u32 netnice_round(struct netnice *state, const struct netnice_ack *ack, u32 cwnd)
{
	POLICY_STEP_NEEDS(state && ack);
	u32 previous_queue_us = state->report.delay_over_minimum_us;
	u32 queue_us = state->measured.round_queue_us;
	u32 threshold_us = netnice_threshold_us(state);

	if (queue_us == NETNICE_UNKNOWN ||
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
