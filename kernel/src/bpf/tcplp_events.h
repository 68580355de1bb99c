/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's events in the terms of congestion/policy/tcplp.h, for TCP-LP and its descendants. */
#ifndef NETNICE_TCPLP_EVENTS_H
#define NETNICE_TCPLP_EVENTS_H

#include "connection.h"
#include "tcplp.h"

/* What `pkts_acked` brings: all that a sample of the delay needs. */
static __always_inline struct tcplp_ack tcplp_ack_of_sample(struct sock *sk,
							    const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct tcplp_ack ack = {
		.now_us = (u32)tp->tcp_mstamp,
		.sample_rtt_us = sample->rtt_us > 0 ? sample->rtt_us : 0,
		.tsval = tp->rx_opt.rcv_tsval,
		.acked = sample->pkts_acked,
		.in_flight = packets_in_flight(tp),
		.has_timestamp = peer_sends_timestamps(tp),
		.in_recovery = congestion_state_of_kernel(sk) >= TCP_CA_CWR,
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

/* Whether the connection sends again after nothing was in flight. */
static __always_inline bool tcplp_begins_anew(enum tcp_ca_event event)
{
	/*
	 * TX_START tells of no pause: with a window of one packet nothing is in flight whenever an ACK
	 * has come, and each packet begins so.
	 */
	return event == CA_EVENT_CWND_RESTART;
}

#endif
