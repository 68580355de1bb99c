/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Which ACKs may have waited in the receiver (RFC 1122, 4.2.3.2; RFC 5681, 4.2).
 *
 * A receiver holds the ACK of a lone packet for up to 500 ms (40 ms or more in Linux) and sends it
 * at once when a second packet comes. A delay taken from a held ACK is too large by that wait, and
 * at a window of one packet every ACK is held: taken at its word it would be a congestion
 * indication, keep the window at one, and so go on for ever. Such a sample is an upper bound; it
 * may clear a connection of congestion but never convict it.
 */
#ifndef NETNICE_POLICY_DELAYED_ACK_H
#define NETNICE_POLICY_DELAYED_ACK_H

#include "integer.h"

/* So many lone ACKs in a row, with more packets behind them, and the receiver delays none. */
#define DELAYED_ACK_LONE_IN_A_ROW 8

/*
 * So many ACKs of packets that had none behind them, and that is no longer sure. Linux begins with
 * up to 16 ACKs at once, does so again after losses, and then holds them back. One more lone ACK
 * with a packet behind makes it sure again.
 */
#define DELAYED_ACK_LONE_WITHOUT_PROOF 16

/*
 * Whether an ACK that is prompt proves it: a second packet made the receiver send it, or one still
 * to come did not make it wait. Of others the last may have been held, as it shows on none of them
 * that a receiver has begun to hold ACKs back.
 */
POLICY_INLINE int delayed_ack_has_proof(u32 acked, u32 in_flight)
{
	return acked >= 2 || in_flight > 0;
}

/*
 * Whether an ACK that covers `acked` packets, with `in_flight` packets still out, was sent at
 * once. `lone` counts lone ACKs in a row up to the first number, and from there what is left of the
 * second.
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

#endif
