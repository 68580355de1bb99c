/* SPDX-License-Identifier: GPL-2.0-only */
/* Pacing of a window below one packet by TCP-LP and HSTCP-LP. */
#ifndef NETNICE_TCPLP_PACING_H
#define NETNICE_TCPLP_PACING_H

#include "delay_policy.h"

/* Called by `min_tso_segs`. A pair that probes the delay leaves at once. */
static __always_inline u32 tcplp_pace(struct sock *sk, const struct tcplp *state)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 pause_us = tcplp_pause_us(state, tp->snd_cwnd, smoothed_rtt_us(tp));

	if (kernel.sets_pacing && tcplp_is_paced(state) && tp->snd_cwnd <= 2) {
		sk->sk_pacing_rate = sk->sk_max_pacing_rate;
		pace(sk, pause_us);
	}
	return SEGMENTS_AT_ONCE;
}

#endif
