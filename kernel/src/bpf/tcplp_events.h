/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's events in the terms of congestion/policy/tcplp.h, for TCP-LP and its descendants. */
#ifndef NETNICE_TCPLP_EVENTS_H
#define NETNICE_TCPLP_EVENTS_H

#include "connection.h"
#include "tcplp.h"

#define TCPLP_SEGMENTS_AT_ONCE 2 /* as without `min_tso_segs`: the sysctl's default */

/* What `pkts_acked` brings: all that a sample of the delay needs. */
static __always_inline struct tcplp_ack tcplp_ack_of_sample(struct sock *sk,
							    const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct tcplp_ack ack = {
		.now_us = (u32)tp->tcp_mstamp,
		.sample_rtt_us = sample->rtt_us > 0 ? sample->rtt_us : 0,
		.minimum_rtt_us = minimum_rtt_us(tp),
		.tsval = tp->rx_opt.rcv_tsval,
		.acked = sample->pkts_acked,
		.in_flight = packets_in_flight(tp),
		.has_timestamp = peer_sends_timestamps(tp),
		.ca_state = ca_state(sk),
	};

	return ack;
}

/* What `cong_avoid` brings: all that moving the window needs. */
static __always_inline struct tcplp_ack tcplp_ack_of_window(struct sock *sk, u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct tcplp_ack ack = {
		.now_us = (u32)tp->tcp_mstamp,
		.smoothed_rtt_us = smoothed_rtt_us(tp),
		.acked = acked,
		.cwnd = tp->snd_cwnd,
		.ssthresh = tp->snd_ssthresh,
		.cwnd_limited = cwnd_limited(tp),
	};

	return ack;
}

/* A window that an indication has made smaller does not slow-start back. */
static __always_inline void tcplp_move_window(struct sock *sk, const struct tcplp_ack *ack,
					      u32 cwnd)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (cwnd < ack->cwnd)
		tp->snd_ssthresh = cwnd;
	set_cwnd(tp, cwnd);
}

/*
 * Lets the kernel pace a window below one packet. Called by `min_tso_segs`, which the kernel asks
 * right before it sends: at each ACK it has set the rate to the whole window's in the meantime. A
 * pair that is to tell of the delay goes at once.
 */
static __always_inline u32 tcplp_pace(struct sock *sk, const struct tcplp *state)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 pause_us = tcplp_pause_us(state, tp->snd_cwnd, smoothed_rtt_us(tp));
	u64 rate = sk->sk_max_pacing_rate;

	if (tcplp_is_paced(state) && tp->snd_cwnd <= 2) {
		if (pause_us)
			rate = policy_max((u64)tp->mss_cache * 1000000 / pause_us, 1);
		sk->sk_pacing_rate = rate;
	}
	return TCPLP_SEGMENTS_AT_ONCE;
}

/* The kernel paces for those who ask for it, where no `fq` queue discipline does. */
static __always_inline void tcplp_begin_pacing(struct sock *sk, const struct tcplp *state)
{
	if (state->minimum_cwnd_permille < TCPLP_MINIMUM_CWND_PERMILLE &&
	    sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* Whether the connection sends again after a pause of a time-out or more. */
static __always_inline bool tcplp_begins_anew(enum tcp_ca_event event)
{
	/*
	 * TX_START tells of no pause: with a window of one packet nothing is in flight whenever an ACK
	 * has come, and each packet begins so.
	 */
	return event == CA_EVENT_CWND_RESTART;
}

#endif
