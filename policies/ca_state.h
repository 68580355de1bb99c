/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The state of a sender's loss recovery, which kernel and simulator pass to the policies. */
#ifndef NETNICE_POLICY_CA_STATE_H
#define NETNICE_POLICY_CA_STATE_H

#include "integer.h"

/* The numbers equal those of Linux's enum tcp_ca_state. */
enum ca_state {
	CA_OPEN = 0,     /* no sign of congestion */
	CA_DISORDER = 1, /* duplicate ACKs or SACKs arrived, too few for a loss */
	CA_CWR =
		2, /* a mark was echoed (RFC 3168, section 6.1.2), until the window of that time is acked */
	CA_RECOVERY = 3, /* fast recovery (RFC 6675) */
	CA_LOSS = 4,     /* after an RTO, until everything sent before it is acked */
};

/*
 * Returns whether the sender answers congestion: an ECN mark counts as a loss (RFC 3168, section
 * 6.1.2).
 */
POLICY_INLINE int ca_answers_congestion(u8 ca_state)
{
	return ca_state >= CA_CWR;
}

#endif
