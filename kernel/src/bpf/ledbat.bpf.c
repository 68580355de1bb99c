// SPDX-License-Identifier: GPL-2.0-only
/* LEDBAT (RFC 6817): passes the kernel's events to congestion/policy/ledbat.h. */
#include "tcplp_events.h"
#include "ledbat.h"

char _license[] SEC("license") = "GPL";

_Static_assert(sizeof(struct ledbat) <= 104, "state must fit icsk_ca_priv");

SEC("struct_ops")
void BPF_PROG(ledbat_begin, struct sock *sk)
{
	struct ledbat *state = congestion_state(sk);
	struct policy_parameters none = {};
	struct flow *flow = flow_begin(sk);

	__builtin_memset(state, 0, sizeof(*state));
	ledbat_init(state, flow ? &flow->parameters : &none);
}

SEC("struct_ops")
void BPF_PROG(ledbat_end, struct sock *sk)
{
	const struct ledbat *state = congestion_state(sk);

	flow_end(sk, &state->report);
}

/* Called for each ACK of new data, before the window is set: takes the delay sample. */
SEC("struct_ops")
void BPF_PROG(ledbat_packets_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcplp_ack ack = tcplp_ack_of_sample(sk, sample);

	ledbat_sample(congestion_state(sk), &ack);
}

SEC("struct_ops")
void BPF_PROG(ledbat_cong_avoid, struct sock *sk, u32 sequence, u32 acked)
{
	struct tcplp_ack ack = tcplp_ack_of_window(sk, acked);
	struct ledbat *state = congestion_state(sk);

	tcplp_move_window(sk, &ack, ledbat_on_ack(state, &ack));
	flow_report(sk, &state->report);
}

SEC("struct_ops")
u32 BPF_PROG(ledbat_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return ledbat_on_loss(congestion_state(sk), tp->snd_cwnd);
}

SEC("struct_ops")
u32 BPF_PROG(ledbat_undo_cwnd, struct sock *sk)
{
	return cwnd_before_recovery(sk);
}

SEC("struct_ops")
void BPF_PROG(ledbat_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (tcplp_begins_anew(event))
		ledbat_on_restart(congestion_state(sk));
}

SEC(".struct_ops.link")
struct tcp_congestion_ops ledbat = {
	.init = (void *)ledbat_begin,
	.release = (void *)ledbat_end,
	.pkts_acked = (void *)ledbat_packets_acked,
	.cong_avoid = (void *)ledbat_cong_avoid,
	.ssthresh = (void *)ledbat_ssthresh,
	.undo_cwnd = (void *)ledbat_undo_cwnd,
	.cwnd_event = (void *)ledbat_cwnd_event,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "ledbat",
};
