// SPDX-License-Identifier: GPL-2.0-only
/* TCP-LP as the paper has it: hands the kernel's events to congestion/policy/tcplp.h. */
#include "connection.h"
#include "tcplp.h"

char _license[] SEC("license") = "GPL";

_Static_assert(sizeof(struct tcplp) <= 104, "state must fit icsk_ca_priv");

SEC("struct_ops")
void BPF_PROG(tcplp_begin, struct sock *sk)
{
	struct tcplp *state = congestion_state(sk);
	struct policy_parameters none = {};
	struct flow *flow = flow_begin(sk);

	__builtin_memset(state, 0, sizeof(*state));
	tcplp_init(state, flow ? &flow->parameters : &none);
}

SEC("struct_ops")
void BPF_PROG(tcplp_end, struct sock *sk)
{
	const struct tcplp *state = congestion_state(sk);

	flow_end(sk, &state->report);
}

/* Called for each ACK of new data, before the window is set: the place of the delay sample. */
SEC("struct_ops")
void BPF_PROG(tcplp_packets_acked, struct sock *sk, const struct ack_sample *sample)
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

	tcplp_sample(congestion_state(sk), &ack);
}

SEC("struct_ops")
void BPF_PROG(tcplp_cong_avoid, struct sock *sk, u32 sequence, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct tcplp *state = congestion_state(sk);
	struct tcplp_ack ack = {
		.now_us = (u32)tp->tcp_mstamp,
		.smoothed_rtt_us = smoothed_rtt_us(tp),
		.acked = acked,
		.cwnd = tp->snd_cwnd,
		.ssthresh = tp->snd_ssthresh,
		.cwnd_limited = cwnd_limited(tp),
	};
	u32 cwnd = tcplp_on_ack(state, &ack);

	if (cwnd < ack.cwnd)
		tp->snd_ssthresh = cwnd;
	tp->snd_cwnd = policy_min(cwnd, tp->snd_cwnd_clamp);
}

SEC("struct_ops")
u32 BPF_PROG(tcplp_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tcplp_on_loss(congestion_state(sk), tp->snd_cwnd, (u32)tp->tcp_mstamp,
			     smoothed_rtt_us(tp));
}

/* A recovery that proves spurious gives back the window it took: tcp_reno_undo_cwnd(). */
SEC("struct_ops")
u32 BPF_PROG(tcplp_undo_cwnd, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return policy_max(tp->snd_cwnd, tp->prior_cwnd);
}

SEC("struct_ops")
void BPF_PROG(tcplp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
		tcplp_on_restart(congestion_state(sk));
}

SEC(".struct_ops.link")
struct tcp_congestion_ops tcplp = {
	.init = (void *)tcplp_begin,
	.release = (void *)tcplp_end,
	.pkts_acked = (void *)tcplp_packets_acked,
	.cong_avoid = (void *)tcplp_cong_avoid,
	.ssthresh = (void *)tcplp_ssthresh,
	.undo_cwnd = (void *)tcplp_undo_cwnd,
	.cwnd_event = (void *)tcplp_cwnd_event,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "tcplp",
};
