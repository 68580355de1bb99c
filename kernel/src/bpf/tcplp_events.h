/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's events as congestion/policy/tcplp.h takes them, for TCP-LP and its descendants. */
#ifndef NETNICE_TCPLP_EVENTS_H
#define NETNICE_TCPLP_EVENTS_H

#include "connection.h"
#include "tcplp.h"

#define TCPLP_SEGMENTS_AT_ONCE 2 /* as without `min_tso_segs`: the sysctl's default */

#define TCPLP_STATE_BYTES 100

/* State of a connection whose delay samples count the packets newly delivered. */
struct tcplp_connection {
	u8 policy[TCPLP_STATE_BYTES];
	u32 delivered; /* packets, until the previous ACK */
};

#define TCPLP_ASSERT_FITS(policy)                                                                  \
	_Static_assert(sizeof(struct policy) <= TCPLP_STATE_BYTES, "state must fit icsk_ca_priv")
_Static_assert(sizeof(struct tcplp_connection) <= 104, "state must fit icsk_ca_priv");

/* Converts the arguments of `pkts_acked`: all that a delay sample needs. */
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

/*
 * As above, with the packets newly delivered. `pkts_acked` also counts packets that earlier ACKs
 * reported by SACK, so that the ACK of a retransmission would pass for that of a window.
 */
static __always_inline struct tcplp_ack tcplp_ack_of_delivery(struct sock *sk,
							      const struct ack_sample *sample)
{
	struct tcplp_connection *connection = congestion_state(sk);
	struct tcplp_ack ack = tcplp_ack_of_sample(sk, sample);
	u32 delivered = tcp_sk(sk)->delivered;

	ack.acked = delivered - connection->delivered;
	connection->delivered = delivered;
	return ack;
}

/* Converts the arguments of `cong_avoid`: all that setting the window needs. */
static __always_inline struct tcplp_ack tcplp_ack_of_window(struct sock *sk, u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct tcplp_ack ack = {
		.now_us = (u32)tp->tcp_mstamp,
		.smoothed_rtt_us = smoothed_rtt_us(tp),
		.acked = acked,
		.in_flight = packets_in_flight(tp),
		.cwnd = tp->snd_cwnd,
		.ssthresh = tp->snd_ssthresh,
		.cwnd_limited = cwnd_limited(tp),
	};

	return ack;
}

/* A window reduced by an indication does not slow-start back. */
static __always_inline void tcplp_move_window(struct sock *sk, const struct tcplp_ack *ack,
					      u32 cwnd)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (cwnd < ack->cwnd)
		tp->snd_ssthresh = cwnd;
	set_cwnd(tp, cwnd);
}

/*
 * Lets the kernel pace a window below one packet. `min_tso_segs` calls this, just before the kernel
 * sends, because the kernel resets the rate to that of the whole window at each ACK. A pair that
 * probes the delay leaves at once.
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

/* Where no `fq` queue discipline paces, the kernel paces sockets that request it. */
static __always_inline void tcplp_begin_pacing(struct sock *sk, const struct tcplp *state)
{
	if (state->minimum_cwnd_permille < TCPLP_MINIMUM_CWND_PERMILLE &&
	    sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* Clears the state of a connection that the control takes over, and returns its parameters. */
static __always_inline struct policy_parameters tcplp_connect(struct sock *sk)
{
	struct tcplp_connection *connection = congestion_state(sk);
	struct policy_parameters none = {};
	struct flow *flow = flow_begin(sk);

	__builtin_memset(connection, 0, sizeof(*connection));
	connection->delivered = tcp_sk(sk)->delivered;
	return flow ? flow->parameters : none;
}

/* Returns true if the connection resumes after an idle time of at least one RTO. */
static __always_inline bool tcplp_begins_anew(enum tcp_ca_event event)
{
	/*
	 * TX_START does not indicate a pause: with a window of one packet nothing is in flight
	 * after each ACK, so every packet raises it.
	 */
	return event == CA_EVENT_CWND_RESTART;
}

#endif
