/* SPDX-License-Identifier: GPL-2.0-only */
/* The programs of LEDBAT and its descendant, which differ in their policy and in what a loss needs. */
#ifndef NETNICE_LEDBAT_EVENTS_H
#define NETNICE_LEDBAT_EVENTS_H

#include "tcplp_events.h"

/*
 * Defines all programs of `policy` but `policy_ssthresh`. The kernel calls `packets_acked` for each
 * ACK of new data, before the window is set: it takes the delay sample.
 */
#define LEDBAT_PROGRAMS(policy)                                                                    \
	_Static_assert(sizeof(struct policy) <= 104, "state must fit icsk_ca_priv");               \
                                                                                                   \
	SEC("struct_ops")                                                                          \
	void BPF_PROG(policy##_begin, struct sock *sk)                                             \
	{                                                                                          \
		struct policy *state = congestion_state(sk);                                       \
		struct policy_parameters none = {};                                                \
		struct flow *flow = flow_begin(sk);                                                \
                                                                                                   \
		__builtin_memset(state, 0, sizeof(*state));                                        \
		policy##_init(state, flow ? &flow->parameters : &none);                            \
	}                                                                                          \
                                                                                                   \
	SEC("struct_ops")                                                                          \
	void BPF_PROG(policy##_end, struct sock *sk)                                               \
	{                                                                                          \
		const struct policy *state = congestion_state(sk);                                 \
                                                                                                   \
		flow_end(sk, &state->report);                                                      \
	}                                                                                          \
                                                                                                   \
	SEC("struct_ops")                                                                          \
	void BPF_PROG(policy##_packets_acked, struct sock *sk, const struct ack_sample *sample)    \
	{                                                                                          \
		struct tcplp_ack ack = tcplp_ack_of_sample(sk, sample);                            \
                                                                                                   \
		policy##_sample(congestion_state(sk), &ack);                                       \
	}                                                                                          \
                                                                                                   \
	SEC("struct_ops")                                                                          \
	void BPF_PROG(policy##_cong_avoid, struct sock *sk, u32 sequence, u32 acked)               \
	{                                                                                          \
		struct tcplp_ack ack = tcplp_ack_of_window(sk, acked);                             \
		struct policy *state = congestion_state(sk);                                       \
                                                                                                   \
		tcplp_move_window(sk, &ack, policy##_on_ack(state, &ack));                         \
		flow_report(sk, &state->report);                                                   \
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
		if (tcplp_begins_anew(event))                                                      \
			policy##_on_restart(congestion_state(sk));                                 \
	}

#endif
