/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The arguments of a policy at the receiving end, which sets the window that a connection advertises. */
#ifndef NETNICE_POLICY_RECEIVER_SEGMENT_H
#define NETNICE_POLICY_RECEIVER_SEGMENT_H

#include "integer.h"

/* The stack's state when a segment is about to leave. Times wrap. */
struct receiver_segment {
	u32 now_us;      /* arrival of the newest packet */
	u32 rtt_us;      /* now less TSecr; 0 if unknown */
	u32 tsval;       /* of the newest packet */
	u32 bytes;       /* made available in order since the last segment left */
	u32 mss;         /* the stack's estimate of the peer's packets */
	u32 limit_bytes; /* largest window that can be advertised */
	u32 bound_bytes; /* largest window that would be advertised at once, whatever the limit */
	u8 gap;          /* data beyond a gap is queued */
	u8 ce;           /* a CE mark has come, and no CWR since; AccECN: since the one before */
	u8 delayed_ack;  /* a delayed ACK: now is later than the newest packet's arrival */
	u8 has_data;     /* the segment carries data of our own */
	u8 may_close;    /* the stack can close its window, and others of the group probe */
	u8 unscaled;     /* TCP without window scaling (RFC 7323): windows of up to 65,535 bytes */
};

/* What a policy knows of a connection, for the round trips of one without timestamps. */
struct receiver_known {
	u32 mss;
	u32 minimum_rtt_us;
	u32 newest_tsval; /* of data in order, or beyond a gap */
	u8 gap;           /* data was missing when the last segment left */
	u8 opens; /* the window is to have room for packets, not for the persist timer's data */
};

/*
 * Returns whether the newest packet was retransmitted: it fills a gap, and its TSval is later than that
 * of the data beyond (RFC 9840, 4.3). Follows both, as of the segment before.
 */
POLICY_INLINE int receiver_is_retransmitted(u8 *gap, u32 *newest_tsval,
					    const struct receiver_segment *segment)
{
	int filled = *gap && segment->bytes;
	int retransmitted = filled && policy_after(segment->tsval, *newest_tsval);

	if (!filled)
		*newest_tsval = segment->tsval;
	*gap = segment->gap;
	return retransmitted;
}

#endif
