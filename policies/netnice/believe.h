/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * netnice, layer 2: what samples say of the path and its link: the time of a packet at the link's rate, the variation of
 * delays without others, and from these the queueing delay above which others have made a queue.
 */
#ifndef NETNICE_POLICY_NETNICE_BELIEVE_H
#define NETNICE_POLICY_NETNICE_BELIEVE_H

#include "integer.h"
#include "netnice/measure.h"
#include "netnice/state.h"

/*
 * The delays that a path without a queue of others shows where a packet takes `packet_ns`. On a path with jitter,
 * changes of twice the jitter, or twice a round's spread, do not indicate a queue.
 */
POLICY_INLINE u32 netnice_variation_us(const struct netnice *state, u32 packet_ns)
{
	u32 jitter_us = policy_max(NETNICE_THRESHOLD_JITTERS * state->believed.jitter_us,
				   NETNICE_THRESHOLD_SPREADS * state->believed.spread_us);

	return policy_max(NETNICE_THRESHOLD_HALF_PACKETS * (packet_ns / 2000), jitter_us);
}

/* The threshold where a packet takes `packet_ns`. */
POLICY_INLINE u32 netnice_threshold_at_us(const struct netnice *state, u32 packet_ns)
{
	return policy_max(state->measured.threshold_floor_us,
			  netnice_variation_us(state, packet_ns));
}

POLICY_INLINE u32 netnice_threshold_us(const struct netnice *state)
{
	return netnice_threshold_at_us(state, state->believed.packet_ns);
}

/*
 * Returns whether delays vary by much without others: their range makes the threshold, and is twice its floor, more than a queue
 * too short for the threshold makes.
 */
POLICY_INLINE int netnice_is_noisy(const struct netnice *state)
{
	u32 packets_us = NETNICE_THRESHOLD_HALF_PACKETS * (state->believed.packet_ns / 2000);

	return state->believed.spread_us > 2 * state->measured.threshold_floor_us + packets_us;
}

/* Window that fills the path without a queue, at the highest delivery rate measured. */
POLICY_INLINE u32 netnice_bandwidth_delay_product(const struct netnice *state)
{
	if (!state->believed.packet_ns || state->measured.minimum_rtt_us == NETNICE_UNKNOWN)
		return NETNICE_UNKNOWN;
	return policy_scale(state->measured.minimum_rtt_us, 1000, state->believed.packet_ns) + 1;
}

/* Returns whether the newest packet met a queue of more than so many packets. */
POLICY_INLINE int netnice_met_more_than(const struct netnice *state, u32 packets)
{
	return state->measured.latest_queue_us > packets * (state->believed.packet_ns / 1000);
}

/* Returns whether the newest packet waited for less than half a packet: there is no queue. */
POLICY_INLINE int netnice_met_no_queue(const struct netnice *state)
{
	return !state->measured.over_packets &&
	       state->measured.latest_queue_us < state->believed.packet_ns / 2000;
}

/* What growth, and a few other flows like this one, add to the range of a round's samples. */
POLICY_INLINE u32 netnice_growth_us(const struct netnice *state)
{
	return NETNICE_GROWTH_SPREAD * (state->believed.packet_ns / 1000);
}

/*
 * Estimates the range of a round's samples when nobody adds a queue: the estimate follows wide
 * rounds slowly and narrow ones quickly, so that transient bursts do not change it. Jitter is in
 * every round. Two packets of the range are excluded, since delayed ACKs cause them in any flow.
 */
POLICY_INLINE void netnice_learn_spread(struct netnice_believed *believed,
					const struct netnice_measured *measured)
{
	u32 low_us = measured->round_queue_us + 2 * (believed->packet_ns / 1000);
	u32 range_us = measured->round_high_us - policy_min(measured->round_high_us, low_us);

	range_us = policy_min(range_us, NETNICE_JITTER_LIMIT_US);
	if (range_us > believed->spread_us)
		believed->spread_us += (range_us - believed->spread_us + 15) / 16;
	else
		believed->spread_us -= (believed->spread_us - range_us + 3) / 4;
}

/* Estimates jitter as in RFC 3550, 6.4.1: the mean change from one delay to the next. */
POLICY_INLINE void netnice_learn_jitter(struct netnice_believed *believed,
					const struct netnice_measured *measured)
{
	u32 latest_us = measured->latest_queue_us;
	u32 previous_us = measured->previous_queue_us;
	u32 change_us = latest_us > previous_us ? latest_us - previous_us : previous_us - latest_us;

	change_us = policy_min(change_us, NETNICE_JITTER_LIMIT_US);
	if (change_us > believed->jitter_us)
		believed->jitter_us += (change_us - believed->jitter_us + 15) / 16;
	else
		believed->jitter_us -= (believed->jitter_us - change_us) / 16;
}

/* Learns a higher rate. Returns whether it is higher by far than the one known. */
POLICY_INLINE int netnice_learn_rate(struct netnice_believed *believed,
				     const struct netnice_ack *ack)
{
	u32 known_ns = believed->packet_ns;
	u32 packet_ns;

	if (ack->rate_delivered < NETNICE_RATE_PACKETS || !ack->rate_interval_us)
		return 0;
	packet_ns = policy_scale(ack->rate_interval_us, 1000, ack->rate_delivered);
	if (!packet_ns || (known_ns && packet_ns >= known_ns))
		return 0;
	believed->packet_ns = packet_ns;
	return packet_ns + packet_ns / 4 < known_ns;
}

/* Forgets a little of the rate in each round: a single sample that was too high (compressed ACKs) must not last for ever. */
POLICY_INLINE void netnice_leak_rate(struct netnice_believed *believed)
{
	believed->packet_ns += believed->packet_ns >> NETNICE_RATE_LEAK_SHIFT;
}

#endif
