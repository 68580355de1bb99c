// SPDX-License-Identifier: GPL-2.0-only
/* TCP-LP as in the paper: passes the kernel's events to congestion/policy/tcplp.h. */
#include "tcplp_events.h"

char _license[] SEC("license") = "GPL";

TCPLP_ASSERT_FITS(tcplp);

SEC("struct_ops")
void BPF_PROG(tcplp_begin, struct sock *sk)
{
	struct tcplp *state = congestion_state(sk);
	struct policy_parameters parameters = tcplp_connect(sk);

	tcplp_init(state, &parameters);
	tcplp_begin_pacing(sk, state);
}

SEC("struct_ops")
void BPF_PROG(tcplp_end, struct sock *sk)
{
	const struct tcplp *state = congestion_state(sk);

	flow_end(sk, &state->report);
}

/* Called for each ACK of new data, before the window is set: takes the delay sample. */
SEC("struct_ops")
void BPF_PROG(tcplp_packets_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcplp_ack ack = tcplp_ack_of_delivery(sk, sample);

	tcplp_sample(congestion_state(sk), &ack);
}

SEC("struct_ops")
void BPF_PROG(tcplp_cong_avoid, struct sock *sk, u32 sequence, u32 acked)
{
	struct tcplp_ack ack = tcplp_ack_of_window(sk, acked);
	struct tcplp *state = congestion_state(sk);

	tcplp_move_window(sk, &ack, tcplp_on_ack(state, &ack));
	flow_report(sk, &state->report);
}

SEC("struct_ops")
u32 BPF_PROG(tcplp_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tcplp_on_loss(congestion_state(sk), tp->snd_cwnd, (u32)tp->tcp_mstamp);
}

SEC("struct_ops")
u32 BPF_PROG(tcplp_undo_cwnd, struct sock *sk)
{
	return cwnd_before_recovery(sk);
}

SEC("struct_ops")
void BPF_PROG(tcplp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (tcplp_begins_anew(event))
		tcplp_on_restart(congestion_state(sk));
}

SEC("struct_ops")
u32 BPF_PROG(tcplp_min_tso_segs, struct sock *sk)
{
	const struct tcplp *state = congestion_state(sk);

	return tcplp_pace(sk, state);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops tcplp = {
	.init = (void *)tcplp_begin,
	.release = (void *)tcplp_end,
	.pkts_acked = (void *)tcplp_packets_acked,
	.cong_avoid = (void *)tcplp_cong_avoid,
	.ssthresh = (void *)tcplp_ssthresh,
	.undo_cwnd = (void *)tcplp_undo_cwnd,
	.min_tso_segs = (void *)tcplp_min_tso_segs,
	.cwnd_event = (void *)tcplp_cwnd_event,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "tcplp",
};
