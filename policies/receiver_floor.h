/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A floor (floor.h) under what the connections of a group receive: the window advertised is the larger
 * of that at low priority (receiver.h) and the share of the floor. The sender's own control answers
 * losses as well; the law makes many connections one flow.
 *
 * While netnice yields, what arrives by the floor is no evidence, but for one segment at each time at
 * which a probe would come.
 */
#ifndef NETNICE_POLICY_RECEIVER_FLOOR_H
#define NETNICE_POLICY_RECEIVER_FLOOR_H

#include "floor.h"
#include "integer.h"
#include "receiver.h"

#define RECEIVER_FLOOR_RTT_SHIFT                                                                   \
	3 /* the smoothed round trip: an eighth of each new one (RFC 6298) */

struct receiver_floor {
	struct floor_member member;
	u32 rtt_us;       /* smoothed; 0: unknown */
	u32 window_bytes; /* by the floor; 0 if it does not drive */
	u8 gap;
	u8 ce;
	u8 reserved[2];
	u32 newest_tsval; /* with `gap`, as receiver_is_retransmitted() follows them */
};

/* Returns the time from one probe to the next while netnice yields. */
POLICY_INLINE u32 receiver_floor_pause_us(const struct receiver *state, u32 rtt_us)
{
	if (netnice_pauses_long(&state->policy))
		return NETNICE_PROBE_PAUSE_US;
	return netnice_pause_us(&state->policy, rtt_us);
}

/* Returns whether a segment is no evidence. */
POLICY_INLINE int receiver_floor_is_hidden(const struct receiver *state,
					   const struct receiver_floor *own,
					   const struct receiver_segment *segment)
{
	if (!segment->bytes || !own->member.driven || !netnice_yields(&state->policy))
		return 0;
	return segment->now_us - own->member.probed_us <
	       receiver_floor_pause_us(state, own->rtt_us);
}

/* Counts what arrives in a segment that is no evidence. */
POLICY_INLINE void receiver_floor_hide(struct receiver *state,
				       const struct receiver_segment *segment)
{
	receiver_is_retransmitted(&state->gap, &state->beyond_tsval, segment);
	state->delivered += receiver_count(state, segment);
	state->arrived_us = segment->now_us;
	receiver_mark(state, segment);
}

/* Follows the round trip, and returns whether a loss or a mark has just shown. */
POLICY_INLINE int receiver_floor_observe(struct receiver_floor *own,
					 const struct receiver_segment *segment)
{
	int congested = receiver_is_retransmitted(&own->gap, &own->newest_tsval, segment) ||
			(segment->ce && !own->ce);

	own->ce = segment->ce;
	if (!own->rtt_us)
		own->rtt_us = segment->rtt_us;
	else if (segment->rtt_us && !segment->delayed_ack)
		own->rtt_us += (segment->rtt_us >> RECEIVER_FLOOR_RTT_SHIFT) -
			       (own->rtt_us >> RECEIVER_FLOOR_RTT_SHIFT);
	return congested;
}

/*
 * Returns the window by the floor after a segment, in bytes; 0 if low priority sets the window, which
 * is `low_bytes`.
 */
POLICY_INLINE u32 receiver_floor_window(const struct receiver *state, struct floor *floor,
					struct receiver_floor *own,
					const struct receiver_segment *segment, u32 low_bytes)
{
	struct floor_ack noted = {
		.now_us = segment->now_us,
		.acked = (segment->bytes + state->mss - 1) / state->mss,
		.bytes = segment->bytes,
		.mss = state->mss,
	};
	u32 packets;

	if (!segment->bytes)
		return own->window_bytes;
	if (own->member.driven && !receiver_floor_is_hidden(state, own, segment))
		own->member.probed_us = segment->now_us;
	noted.congested = receiver_floor_observe(own, segment);
	noted.rtt_us = own->rtt_us;
	/* One segment shows a loss: those of a round trip count once. */
	own->member.congested = 0;
	own->member.reduced_us = 0;
	packets = floor_share(floor, &own->member, &noted);
	own->window_bytes = 0;
	if (packets) {
		packets = policy_max(packets, FLOOR_LEAST_PACKETS);
		own->window_bytes = policy_min(packets * state->mss, segment->limit_bytes);
	}
	if (!netnice_yields(&state->policy) && own->window_bytes <= low_bytes)
		own->window_bytes = 0;
	own->member.driven = own->window_bytes > 0;
	return own->window_bytes;
}

#endif
