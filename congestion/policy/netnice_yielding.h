/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* netnice: what it does while others use the link, and how it finds out that they have gone. */
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
	state->inference = NETNICE_CLEAN_PROBES;
	state->slow_start = 0;
	state->steady_since_us = 0;
	return NETNICE_MINIMUM_CWND;
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

#endif
