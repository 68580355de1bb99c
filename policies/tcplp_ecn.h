/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * TCP-LP/ECN (LP03 IV-A): a router's mark is the indication of congestion, in place of a delay, and
 * there are no samples. The router marks the low class alone, above delta of its queue: without such
 * a router this is Reno.
 *
 * A mark counts in slow start too, since there is no d_max to measure. TCP itself reports one mark
 * per window of data (RFC 3168), so the smoothed RTT suffices for the round trip ignored here.
 */
#ifndef NETNICE_POLICY_TCPLP_ECN_H
#define NETNICE_POLICY_TCPLP_ECN_H

#include "tcplp.h"

struct tcplp_ecn {
	struct tcplp lp; /* must be first; its delays are not used */
};

POLICY_INLINE void tcplp_ecn_init(struct tcplp_ecn *state, const struct policy_parameters *wanted)
{
	tcplp_init(&state->lp, wanted);
}

/* Takes no sample: delays mean nothing. */
POLICY_INLINE void tcplp_ecn_sample(struct tcplp_ecn *state, const struct tcplp_ack *ack)
{
	(void)state;
	(void)ack;
}

/* Returns the window after an ACK outside loss recovery. */
POLICY_INLINE u32 tcplp_ecn_on_ack(struct tcplp_ecn *state, const struct tcplp_ack *ack)
{
	return tcplp_on_ack(&state->lp, ack);
}

/* Returns the window after a mark; a smaller one is also the new ssthresh. */
POLICY_INLINE u32 tcplp_ecn_on_mark(struct tcplp_ecn *state, const struct tcplp_ack *ack)
{
	struct tcplp *lp = &state->lp;
	u32 cwnd;

	if (ack->now_us - lp->reaction_us >= ack->smoothed_rtt_us)
		lp->ignoring = 0;
	lp->indicated = 1;
	cwnd = tcplp_avoid(lp, ack);
	lp->indicated = 0;
	return cwnd;
}

/* Returns the new ssthresh after a loss; marks in the next RTT are ignored. */
POLICY_INLINE u32 tcplp_ecn_on_loss(struct tcplp_ecn *state, u32 cwnd, u32 now_us)
{
	return tcplp_on_loss(&state->lp, cwnd, now_us);
}

/* The window is at least one packet. */
POLICY_INLINE int tcplp_ecn_may_pause(const struct tcplp_ecn *state)
{
	(void)state;
	return 0;
}

POLICY_INLINE u32 tcplp_ecn_pause_us(const struct tcplp_ecn *state, u32 cwnd, u32 smoothed_rtt_us)
{
	(void)state;
	(void)cwnd;
	(void)smoothed_rtt_us;
	return 0;
}

POLICY_INLINE void tcplp_ecn_on_restart(struct tcplp_ecn *state)
{
	tcplp_on_restart(&state->lp);
}

#endif
