/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * netnice above a floor (policies/floor.h): a connection's window is the larger of the two.
 *
 * Packets that the floor sends while netnice yields are no evidence of their own, but for one at each
 * time at which netnice would send a probe: its delay counts as the probe's. So netnice returns as
 * late as without a floor. It cannot send trains meanwhile, as a receiver cannot, and takes a steady
 * delay on trial.
 */
#ifndef NETNICE_POLICY_NETNICE_ABOVE_FLOOR_H
#define NETNICE_POLICY_NETNICE_ABOVE_FLOOR_H

#include "floor.h"
#include "integer.h"
#include "netnice/netnice.h"

#define NETNICE_FLOOR_SPARE_PACKETS 2U /* a delayed ACK releases two */

/* Returns the window at low priority after an ACK on a connection that the floor drives. */
POLICY_INLINE struct netnice_ack netnice_floor_ack(const struct floor_member *member,
						   const struct netnice_ack *ack)
{
	struct netnice_ack seen = *ack;

	if (member->driven) {
		seen.cwnd = member->low_cwnd;
		seen.at_receiver = 1;
	}
	return seen;
}

/* Returns whether netnice is to see an ACK: one of its own packets, or one that stands for a probe. */
POLICY_INLINE int netnice_floor_is_seen(const struct netnice *state,
					const struct floor_member *member,
					const struct netnice_ack *ack, u32 rtt_us)
{
	if (!member->driven || !netnice_yields(state))
		return 1;
	return ack->now_us - member->probed_us >= netnice_pause_us(state, rtt_us);
}

/* Returns the window after an ACK, in packets of `mss` bytes. */
POLICY_INLINE u32 netnice_floor_on_ack(struct netnice *state, struct floor *floor,
				       struct floor_member *member, const struct netnice_ack *ack,
				       u32 rtt_us, u32 mss)
{
	struct floor_ack noted = {
		.now_us = ack->now_us,
		.rtt_us = rtt_us,
		.acked = ack->acked,
		.bytes = ack->acked * mss,
		.mss = mss,
		.spare = NETNICE_FLOOR_SPARE_PACKETS,
		.congested = ca_answers_congestion(ack->ca_state),
		/* An RTO reduces the window that was set. */
		.timed_out = ack->ca_state == CA_LOSS && ack->cwnd < member->cwnd,
		.app_limited = ack->app_limited,
	};
	struct netnice_ack seen = netnice_floor_ack(member, ack);
	u32 cwnd;

	if (netnice_floor_is_seen(state, member, ack, rtt_us)) {
		member->low_cwnd = netnice_on_ack(state, &seen);
		if (member->driven && netnice_yields(state) &&
		    state->measured.round_end == ack->delivered) {
			member->probed_us = ack->now_us;
			seen.in_flight = 0;
			member->low_cwnd = netnice_probe_cwnd(state, &seen);
		}
	}
	cwnd = floor_share(floor, member, &noted);
	/* While netnice yields it sends a few packets in long intervals: any share is more. */
	member->driven = cwnd > member->low_cwnd || (cwnd && netnice_yields(state));
	member->cwnd = member->driven ? cwnd : member->low_cwnd;
	return member->cwnd;
}

/* Returns the time over which to send `cwnd` packets. */
POLICY_INLINE u32 netnice_floor_pacing_us(const struct netnice *state,
					  const struct floor_member *member, u32 cwnd, u32 rtt_us,
					  u32 mss)
{
	if (member->driven)
		return floor_pacing_us(member, cwnd, mss);
	return netnice_pacing_us(state, cwnd, rtt_us);
}

/* Returns the number of packets that pacing sends at once. */
POLICY_INLINE u32 netnice_floor_burst_packets(const struct netnice *state,
					      const struct floor_member *member)
{
	return member->driven ? FLOOR_BURST_PACKETS : netnice_burst_packets(state);
}

#endif
