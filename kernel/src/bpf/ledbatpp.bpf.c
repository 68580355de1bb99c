// SPDX-License-Identifier: GPL-2.0-only
/* LEDBAT++: passes the kernel's events to congestion/policy/ledbatpp.h. */
#include "tcplp_events.h"
#include "ledbatpp.h"

char _license[] SEC("license") = "GPL";

_Static_assert(sizeof(struct ledbatpp) <= 104, "state must fit icsk_ca_priv");

SEC("struct_ops")
void BPF_PROG(ledbatpp_begin, struct sock *sk)
{
	struct ledbatpp *state = congestion_state(sk);
	struct policy_parameters none = {};
	struct flow *flow = flow_begin(sk);

	__builtin_memset(state, 0, sizeof(*state));
	ledbatpp_init(state, flow ? &flow->parameters : &none);
}

SEC("struct_ops")
void BPF_PROG(ledbatpp_end, struct sock *sk)
{
	const struct ledbatpp *state = congestion_state(sk);

	flow_end(sk, &state->report);
}

/* Called for each ACK of new data, before the window is set: takes the delay sample. */
SEC("struct_ops")
void BPF_PROG(ledbatpp_packets_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcplp_ack ack = tcplp_ack_of_sample(sk, sample);

	ledbatpp_sample(congestion_state(sk), &ack);
}

SEC("struct_ops")
void BPF_PROG(ledbatpp_cong_avoid, struct sock *sk, u32 sequence, u32 acked)
{
	struct tcplp_ack ack = tcplp_ack_of_window(sk, acked);
	struct ledbatpp *state = congestion_state(sk);

	tcplp_move_window(sk, &ack, ledbatpp_on_ack(state, &ack));
	flow_report(sk, &state->report);
}

SEC("struct_ops")
u32 BPF_PROG(ledbatpp_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return ledbatpp_on_loss(congestion_state(sk), tp->snd_cwnd, (u32)tp->tcp_mstamp);
}

SEC("struct_ops")
u32 BPF_PROG(ledbatpp_undo_cwnd, struct sock *sk)
{
	return cwnd_before_recovery(sk);
}

SEC("struct_ops")
void BPF_PROG(ledbatpp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (tcplp_begins_anew(event))
		ledbatpp_on_restart(congestion_state(sk));
}

SEC(".struct_ops.link")
struct tcp_congestion_ops ledbatpp = {
	.init = (void *)ledbatpp_begin,
	.release = (void *)ledbatpp_end,
	.pkts_acked = (void *)ledbatpp_packets_acked,
	.cong_avoid = (void *)ledbatpp_cong_avoid,
	.ssthresh = (void *)ledbatpp_ssthresh,
	.undo_cwnd = (void *)ledbatpp_undo_cwnd,
	.cwnd_event = (void *)ledbatpp_cwnd_event,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "ledbatpp",
};
