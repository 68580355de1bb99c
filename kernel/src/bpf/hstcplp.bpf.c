// SPDX-License-Identifier: GPL-2.0-only
/* HSTCP-LP: passes the kernel's events to congestion/policy/hstcplp.h. */
#include "tcplp_events.h"
#include "hstcplp.h"

char _license[] SEC("license") = "GPL";

TCPLP_ASSERT_FITS(hstcplp);

SEC("struct_ops")
void BPF_PROG(hstcplp_begin, struct sock *sk)
{
	struct hstcplp *state = congestion_state(sk);
	struct policy_parameters parameters = tcplp_connect(sk);

	hstcplp_init(state, &parameters);
	tcplp_begin_pacing(sk, &state->lp);
}

SEC("struct_ops")
void BPF_PROG(hstcplp_end, struct sock *sk)
{
	const struct hstcplp *state = congestion_state(sk);

	flow_end(sk, &state->lp.report);
}

/* Called for each ACK of new data, before the window is set: takes the delay sample. */
SEC("struct_ops")
void BPF_PROG(hstcplp_packets_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcplp_ack ack = tcplp_ack_of_delivery(sk, sample);

	hstcplp_sample(congestion_state(sk), &ack);
}

SEC("struct_ops")
void BPF_PROG(hstcplp_cong_avoid, struct sock *sk, u32 sequence, u32 acked)
{
	struct tcplp_ack ack = tcplp_ack_of_window(sk, acked);
	struct hstcplp *state = congestion_state(sk);

	tcplp_move_window(sk, &ack, hstcplp_on_ack(state, &ack));
	flow_report(sk, &state->lp.report);
}

SEC("struct_ops")
u32 BPF_PROG(hstcplp_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return hstcplp_on_loss(congestion_state(sk), tp->snd_cwnd, (u32)tp->tcp_mstamp);
}

SEC("struct_ops")
u32 BPF_PROG(hstcplp_undo_cwnd, struct sock *sk)
{
	return cwnd_before_recovery(sk);
}

SEC("struct_ops")
void BPF_PROG(hstcplp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (tcplp_begins_anew(event))
		hstcplp_on_restart(congestion_state(sk));
}

SEC("struct_ops")
u32 BPF_PROG(hstcplp_min_tso_segs, struct sock *sk)
{
	const struct hstcplp *state = congestion_state(sk);

	return tcplp_pace(sk, &state->lp);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops hstcplp = {
	.init = (void *)hstcplp_begin,
	.release = (void *)hstcplp_end,
	.pkts_acked = (void *)hstcplp_packets_acked,
	.cong_avoid = (void *)hstcplp_cong_avoid,
	.ssthresh = (void *)hstcplp_ssthresh,
	.undo_cwnd = (void *)hstcplp_undo_cwnd,
	.min_tso_segs = (void *)hstcplp_min_tso_segs,
	.cwnd_event = (void *)hstcplp_cwnd_event,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "hstcplp",
};
