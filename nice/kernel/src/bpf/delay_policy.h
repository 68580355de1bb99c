/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The programs of a policy that sets the window from TCP-LP's ACKs (struct tcplp_ack). They pass the
 * kernel's events to the policy's functions, which lab/congestion/src/native.c lists.
 */
#ifndef NETNICE_DELAY_POLICY_H
#define NETNICE_DELAY_POLICY_H

#include "connection.h"
#include "kernel_features.h"
#include "tcplp.h"

#define SEGMENTS_AT_ONCE 2 /* as without `min_tso_segs`: the sysctl's default */

#define DELAY_POLICY_BYTES 100

/* State of a connection whose delay samples count the packets newly delivered. */
struct delay_connection {
	u8 policy[DELAY_POLICY_BYTES];
	u32 delivered; /* packets, until the previous ACK */
};

_Static_assert(sizeof(struct delay_connection) <= 104, "state must fit icsk_ca_priv");

/*
 * Converts the arguments of `pkts_acked`: all that a delay sample needs. `acked` counts the packets
 * newly delivered. `pkts_acked` also counts packets that earlier ACKs reported by SACK, so that the
 * ACK of a retransmission would pass for that of a window.
 */
static __always_inline struct tcplp_ack ack_of_sample(struct sock *sk,
						      const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct delay_connection *connection = congestion_state(sk);
	struct tcplp_ack ack = {
		.now_us = (u32)tp->tcp_mstamp,
		.sample_rtt_us = sample->rtt_us > 0 ? sample->rtt_us : 0,
		.minimum_rtt_us = minimum_rtt_us(tp),
		.tsval = tp->rx_opt.rcv_tsval,
		.acked = tp->delivered - connection->delivered,
		.in_flight = packets_in_flight(tp),
		.has_timestamp = peer_sends_clock(tp),
		.ca_state = ca_state(sk),
	};

	connection->delivered = tp->delivered;
	return ack;
}

/* Converts the arguments of `cong_avoid`: all that setting the window needs. */
static __always_inline struct tcplp_ack ack_of_window(struct sock *sk, u32 acked)
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
static __always_inline void move_window(struct sock *sk, const struct tcplp_ack *ack, u32 cwnd)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (cwnd < ack->cwnd)
		tp->snd_ssthresh = cwnd;
	set_cwnd(tp, cwnd);
}

/*
 * Sets the rate of a window below one packet; 0 leaves the kernel's. `min_tso_segs` calls this, just
 * before the kernel sends, because the kernel resets the rate to that of the window at each ACK.
 * Where the kernel does not let it, the window is at least one packet.
 */
static __always_inline void pace(struct sock *sk, u32 pause_us)
{
	if (kernel.sets_pacing && pause_us)
		sk->sk_pacing_rate = policy_max((u64)tcp_sk(sk)->mss_cache * 1000000 / pause_us, 1);
}

/* Where no `fq` queue discipline paces, the kernel paces sockets that request it. */
static __always_inline void begin_pacing(struct sock *sk)
{
	if (kernel.sets_pacing && sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* Clears the state of a connection that the control takes over, and returns its parameters. */
static __always_inline struct policy_parameters begin_connection(struct sock *sk)
{
	struct delay_connection *connection = congestion_state(sk);
	struct policy_parameters none = {};
	struct flow *flow = flow_begin(sk);

	__builtin_memset(connection, 0, sizeof(*connection));
	connection->delivered = tcp_sk(sk)->delivered;
	return flow ? flow->parameters : none;
}

/* Returns true if the connection resumes after an idle time of at least one RTO. */
static __always_inline bool begins_anew(enum tcp_ca_event event)
{
	/*
	 * TX_START does not indicate a pause: with a window of one packet nothing is in flight
	 * after each ACK, so every packet raises it.
	 */
	return event == CA_EVENT_CWND_RESTART;
}

/*
 * Defines the programs of DELAY_POLICY_OPERATIONS. A policy that paces a window below one packet adds
 * `min_tso_segs`.
 */
#define DELAY_POLICY_PROGRAMS(policy)                                                              \
	DELAY_POLICY_BUT_LOSSES(policy)                                                            \
                                                                                                   \
	SEC("struct_ops")                                                                          \
	u32 BPF_PROG(policy##_ssthresh, struct sock *sk)                                           \
	{                                                                                          \
		const struct tcp_sock *tp = tcp_sk(sk);                                            \
                                                                                                   \
		return policy##_on_loss(congestion_state(sk), tp->snd_cwnd, (u32)tp->tcp_mstamp);  \
	}

/*
 * All of these programs but `ssthresh`. The kernel calls `packets_acked` for each ACK of new data,
 * before the window is set: it takes the delay sample.
 */
#define DELAY_POLICY_BUT_LOSSES(policy)                                                            \
	_Static_assert(sizeof(struct policy) <= DELAY_POLICY_BYTES,                                \
		       "state must fit icsk_ca_priv");                                             \
                                                                                                   \
	SEC("struct_ops")                                                                          \
	void BPF_PROG(policy##_begin, struct sock *sk)                                             \
	{                                                                                          \
		struct policy *state = congestion_state(sk);                                       \
		struct policy_parameters parameters = begin_connection(sk);                        \
                                                                                                   \
		policy##_init(state, &parameters);                                                 \
		if (policy##_may_pause(state))                                                     \
			begin_pacing(sk);                                                          \
	}                                                                                          \
                                                                                                   \
	SEC("struct_ops")                                                                          \
	void BPF_PROG(policy##_end, struct sock *sk)                                               \
	{                                                                                          \
		flow_end(sk, congestion_state(sk)); /* the report is the first member */           \
	}                                                                                          \
                                                                                                   \
	SEC("struct_ops")                                                                          \
	void BPF_PROG(policy##_packets_acked, struct sock *sk, const struct ack_sample *sample)    \
	{                                                                                          \
		struct tcplp_ack ack = ack_of_sample(sk, sample);                                  \
                                                                                                   \
		policy##_sample(congestion_state(sk), &ack);                                       \
	}                                                                                          \
                                                                                                   \
	SEC("struct_ops")                                                                          \
	void BPF_PROG(policy##_cong_avoid, struct sock *sk, u32 sequence, u32 acked)               \
	{                                                                                          \
		struct tcplp_ack ack = ack_of_window(sk, acked);                                   \
                                                                                                   \
		move_window(sk, &ack, policy##_on_ack(congestion_state(sk), &ack));                \
		flow_report(sk, congestion_state(sk));                                             \
	}                                                                                          \
                                                                                                   \
	SEC("struct_ops")                                                                          \
	u32 BPF_PROG(policy##_undo_cwnd, struct sock *sk)                                          \
	{                                                                                          \
		return cwnd_before_recovery(sk);                                                   \
	}                                                                                          \
                                                                                                   \
	SEC("struct_ops")                                                                          \
	void BPF_PROG(policy##_cwnd_event, struct sock *sk, enum tcp_ca_event event)               \
	{                                                                                          \
		if (begins_anew(event))                                                            \
			policy##_on_restart(congestion_state(sk));                                 \
	}

/* The members that all these controls have; the flags decide who may choose the control. */
#define DELAY_POLICY_OPERATIONS(policy)                                                            \
	.init = (void *)policy##_begin, .release = (void *)policy##_end,                           \
	.pkts_acked = (void *)policy##_packets_acked, .cong_avoid = (void *)policy##_cong_avoid,   \
	.ssthresh = (void *)policy##_ssthresh, .undo_cwnd = (void *)policy##_undo_cwnd,            \
	.cwnd_event = (void *)policy##_cwnd_event, .name = #policy

#endif
