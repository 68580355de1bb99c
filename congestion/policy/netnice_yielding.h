/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* netnice: behaviour while others use the link, and detection that they have stopped. */
#ifndef NETNICE_POLICY_NETNICE_YIELDING_H
#define NETNICE_POLICY_NETNICE_YIELDING_H

#include "integer.h"
#include "netnice_signal.h"
#include "netnice_state.h"
#include "report.h"

POLICY_INLINE u32 netnice_yield(struct netnice *state)
{
	state->report.phase = POLICY_YIELDING;
	state->report.yields += 1;
	state->probe_rounds = 1;
	state->pause_scale = NETNICE_PAUSE_UNIT;
	state->pausing = 0;
	state->judging = 0;
	state->inference = NETNICE_CLEAN_PROBES;
	state->slow_start = 0;
	state->steady_since_us = 0;
	return NETNICE_MINIMUM_CWND;
}

/* Probes cannot detect so short a queue; they only show that nothing is lost. */
POLICY_INLINE u32 netnice_yield_blindly(struct netnice *state)
{
	u32 scale = policy_max(state->pause_scale, NETNICE_PAUSE_UNIT);
	u32 cwnd;

	/*
	 * Behind a policer only a return finds out whether others have gone, at their cost: each
	 * one that meets them makes the next wait twice as long.
	 */
	if (!state->limit)
		scale = NETNICE_PAUSE_UNIT;
	else if (state->report.phase != POLICY_YIELDING)
		scale = policy_min(2 * scale, NETNICE_BLIND_SCALE_LIMIT);
	cwnd = netnice_yield(state);
	state->blind_rounds = 0;
	state->probe_rounds = NETNICE_BLIND_PROBE_ROUNDS;
	state->pause_scale = scale;
	state->inference = NETNICE_BLIND_PROBES * scale / NETNICE_PAUSE_UNIT;
	return cwnd;
}

/*
 * Range of the samples of a steady delay: at most the threshold, which may be wide if the flow
 * never had the link to itself. A full queue shared by many flows varies by a twelfth of itself.
 */
POLICY_INLINE u32 netnice_steady_range_us(const struct netnice *state)
{
	u32 range_us = state->steady_low * NETNICE_TICK_US / NETNICE_STEADY_PARTS;

	return policy_min(netnice_threshold_us(state), policy_max(range_us, NETNICE_DRIFT_US));
}

/*
 * Samples on both sides of a program's pause do not show what happened between them. `now_us` is
 * made odd like `steady_since_us`, which it could otherwise precede.
 */
POLICY_INLINE void netnice_notice_gap(struct netnice *state, u32 now_us)
{
	u32 steady_s = ((now_us | 1) - state->steady_since_us) / 1000000;

	if (steady_s > state->steady_heard_s + NETNICE_STEADY_GAP_S)
		state->steady_since_us = 0;
	state->steady_heard_s = policy_min(steady_s, 255);
}

/*
 * While yielding, a delay that stays constant for long without a loss is not a queue (queues in use
 * vary) but a longer path: it becomes the new minimum.
 */
POLICY_INLINE void netnice_relearn(struct netnice *state, u32 queue_us, u32 now_us)
{
	if (!state->steady_since_us) {
		state->steady_since_us = now_us | 1;
		state->steady_heard_s = 0;
		state->steady_low = netnice_ticks(queue_us);
		state->steady_high = netnice_ticks(queue_us);
		return;
	}
	state->steady_low = policy_min(state->steady_low, netnice_ticks(queue_us));
	state->steady_high = policy_max(state->steady_high, netnice_ticks(queue_us));
	if ((u32)(state->steady_high - state->steady_low) * NETNICE_TICK_US >
	    netnice_steady_range_us(state)) {
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
 * Lengthens the longest pause by a sixteenth each time a probe after it finds others, so that a
 * pause is a sixteenth of the time for which others have been present: many flows that yield for
 * long add little load, and a late return costs little compared with the time that the others
 * stayed.
 */
POLICY_INLINE void netnice_lengthen_pause(struct netnice *state)
{
	u32 scale = state->pause_scale + (state->pause_scale >> NETNICE_PAUSE_GROWTH_SHIFT);

	state->pause_scale = policy_min(scale, NETNICE_PAUSE_SCALE_LIMIT);
}

/*
 * Returns whether probes have reached their longest interval in round trips and have still met a
 * queue.
 */
POLICY_INLINE int netnice_pauses_long(const struct netnice *state)
{
	return state->probe_rounds == NETNICE_PROBE_ROUNDS &&
	       state->pause_scale > NETNICE_PAUSE_UNIT;
}

/*
 * A probe is two packets together. While one is in flight, the next would go alone, and the
 * receiver would delay its ACK and all that follow: no sample would ever be free of that wait.
 * Linux sends at most half a window at once, hence a window of four for two packets.
 *
 * The pause after a packet is fixed when the packet leaves. An ACK that met no queue should be
 * followed by the next probe at once, not after a long pause; so the long pause follows a lone
 * packet, sent after the probe has met a queue.
 */
POLICY_INLINE u32 netnice_probe_cwnd(struct netnice *state, const struct netnice_ack *ack)
{
	if (ack->in_flight)
		return policy_min(ack->in_flight, NETNICE_PROBE_CWND);
	state->pausing = !state->pausing && netnice_pauses_long(state);
	return state->pausing ? 1 : NETNICE_PROBE_CWND;
}

/* Number of packets that pacing sends at once. */
POLICY_INLINE u32 netnice_burst_packets(const struct netnice *state)
{
	return state->report.phase == POLICY_YIELDING && !state->pausing ? 2 : 1;
}

/* Returns the time from one burst to the next. */
POLICY_INLINE u32 netnice_pause_us(const struct netnice *state, u32 smoothed_rtt_us)
{
	u32 pause_us = policy_min(state->probe_rounds * smoothed_rtt_us, NETNICE_PROBE_PAUSE_US);

	/* What was lost is repaired sooner: otherwise data would wait for many pauses. */
	if (state->recovering)
		pause_us = policy_min(pause_us, NETNICE_REPAIR_ROUNDS * smoothed_rtt_us);
	pause_us = policy_max(pause_us, smoothed_rtt_us);
	if (!netnice_pauses_long(state))
		return pause_us;
	if (!state->pausing)
		return NETNICE_VERDICT_ROUNDS * smoothed_rtt_us;
	pause_us = (u32)((u64)pause_us * state->pause_scale / NETNICE_PAUSE_UNIT);
	return policy_min(pause_us, NETNICE_LONGEST_PAUSE_US);
}

/*
 * Sends only pairs of packets until several in a row find no queue: a single pair may fall between
 * two bursts of a flow that is not, or no longer, at full speed. While pairs find none, their
 * interval shrinks.
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
	/* A small queue may be that of another low-priority flow. */
	if (state->probe_rounds <= NETNICE_PROBE_ROUNDS && queue_us > 2 * threshold_us)
		state->inference = NETNICE_CLEAN_PROBES;
	/* So far only losses showed the others; now delay shows them. */
	if (state->probe_rounds > NETNICE_PROBE_ROUNDS && queue_us > 4 * threshold_us) {
		state->inference = NETNICE_CLEAN_PROBES;
		state->probe_rounds = NETNICE_PROBE_ROUNDS;
		state->pause_scale = NETNICE_PAUSE_UNIT;
	}
	if (state->probe_rounds == NETNICE_PROBE_ROUNDS && !state->pausing)
		netnice_lengthen_pause(state);
	else if (queue_us >= previous_queue_us && state->probe_rounds < NETNICE_PROBE_ROUNDS)
		state->probe_rounds *= 2;
	netnice_relearn(state, queue_us, ack->now_us);
}

#endif
