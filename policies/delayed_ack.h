/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Detection of ACKs that the receiver may have delayed (RFC 1122, 4.2.3.2; RFC 5681, 4.2).
 *
 * A receiver delays the ACK of a lone packet for up to 500 ms (40 ms or more in Linux) and sends it
 * at once when a second packet arrives. A delay sample from a delayed ACK is too large by that
 * wait. At a window of one packet every ACK is delayed: taken at face value, the samples would
 * indicate congestion, keep the window at one packet, and repeat for ever. Such a sample is an
 * upper bound; it may clear a connection of congestion but never indicate congestion.
 */
#ifndef NETNICE_POLICY_DELAYED_ACK_H
#define NETNICE_POLICY_DELAYED_ACK_H

#include "integer.h"

/* After this many lone ACKs in a row with more packets in flight, the receiver delays no ACKs. */
#define DELAYED_ACK_LONE_IN_A_ROW 8

/*
 * After this many ACKs with no packet in flight, that is no longer certain. Linux starts with up to
 * 16 immediate ACKs, does so again after losses, and then delays ACKs. One more lone ACK with a
 * packet in flight restores the certainty.
 */
#define DELAYED_ACK_LONE_WITHOUT_PROOF 16

/*
 * Returns whether a prompt ACK is proven prompt: a second packet triggered it, or the receiver did
 * not wait for one still in flight. Without proof the newest ACK may be delayed, since a receiver
 * may have begun to delay ACKs unnoticed.
 */
POLICY_INLINE int delayed_ack_has_proof(u32 acked, u32 in_flight)
{
	return acked >= 2 || in_flight > 0;
}

/*
 * Returns whether the receiver sent an ACK that covers `acked` packets, with `in_flight` packets
 * outstanding, at once. `lone` counts lone ACKs in a row up to the first limit, and above it what
 * remains of the second.
 */
POLICY_INLINE int delayed_ack_is_prompt(u8 *lone, u32 acked, u32 in_flight)
{
	if (acked >= 2) {
		*lone = 0;
		return 1;
	}
	if (in_flight > 0) {
		*lone += 1;
		if (*lone >= DELAYED_ACK_LONE_IN_A_ROW)
			*lone = DELAYED_ACK_LONE_IN_A_ROW + DELAYED_ACK_LONE_WITHOUT_PROOF;
	} else if (*lone >= DELAYED_ACK_LONE_IN_A_ROW) {
		*lone -= 1;
	}
	return *lone >= DELAYED_ACK_LONE_IN_A_ROW;
}

/*
 * Returns whether an ACK covers more than the two packets that a receiver may leave without one (RFC
 * 5681, 4.2). Then a timer may have released it, though it covers several packets.
 */
POLICY_INLINE int delayed_ack_is_rare(u32 acked)
{
	return acked > 2;
}

#endif
