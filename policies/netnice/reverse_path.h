/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* netnice, evidence: a queue on the reverse path, which lengthens round trips and lets ACKs come faster than the link is. */
#ifndef NETNICE_POLICY_NETNICE_REVERSE_PATH_H
#define NETNICE_POLICY_NETNICE_REVERSE_PATH_H

#include "integer.h"
#include "netnice/believe.h"
#include "netnice/state.h"

/*
 * Returns whether a window fills a way back that has a queue: the path without queues holds less than half of the window,
 * and so long a queue on the way there would have indicated congestion before.
 */
POLICY_INLINE int netnice_fills_way_back(const struct netnice *state, u32 cwnd)
{
	return cwnd / 2 > netnice_bandwidth_delay_product(state);
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

#endif
