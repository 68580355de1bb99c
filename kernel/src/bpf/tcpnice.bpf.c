// SPDX-License-Identifier: GPL-2.0-only
/* TCP Nice: passes the kernel's events to congestion/policy/tcpnice.h. */
#include "tcplp_events.h"
#include "tcpnice.h"

char _license[] SEC("license") = "GPL";

TCPLP_ASSERT_FITS(tcpnice);

SEC("struct_ops")
void BPF_PROG(tcpnice_begin, struct sock *sk)
{
	struct tcpnice *state = congestion_state(sk);
	struct policy_parameters parameters = tcplp_connect(sk);

	tcpnice_init(state, &parameters);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

SEC("struct_ops")
void BPF_PROG(tcpnice_end, struct sock *sk)
{
	const struct tcpnice *state = congestion_state(sk);

	flow_end(sk, &state->report);
}

/* Called for each ACK of new data, before the window is set: takes the delay sample. */
SEC("struct_ops")
void BPF_PROG(tcpnice_packets_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcplp_ack ack = tcplp_ack_of_delivery(sk, sample);

	tcpnice_sample(congestion_state(sk), &ack);
}

SEC("struct_ops")
void BPF_PROG(tcpnice_cong_avoid, struct sock *sk, u32 sequence, u32 acked)
{
	struct tcplp_ack ack = tcplp_ack_of_window(sk, acked);
	struct tcpnice *state = congestion_state(sk);

	tcplp_move_window(sk, &ack, tcpnice_on_ack(state, &ack));
	flow_report(sk, &state->report);
}

SEC("struct_ops")
u32 BPF_PROG(tcpnice_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tcpnice_on_loss(tp->snd_cwnd);
}

SEC("struct_ops")
u32 BPF_PROG(tcpnice_undo_cwnd, struct sock *sk)
{
	return cwnd_before_recovery(sk);
}

/*
 * Paces a window below one packet. The kernel calls this just before it sends, and sets the rate to
 * that of the window again at each ACK.
 */
SEC("struct_ops")
u32 BPF_PROG(tcpnice_min_tso_segs, struct sock *sk)
{
	const struct tcpnice *state = congestion_state(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 pause_us = tcpnice_pause_us(state, tp->snd_cwnd, smoothed_rtt_us(tp));

	if (pause_us)
		sk->sk_pacing_rate = policy_max((u64)tp->mss_cache * 1000000 / pause_us, 1);
	return TCPLP_SEGMENTS_AT_ONCE;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops tcpnice = {
	.init = (void *)tcpnice_begin,
	.release = (void *)tcpnice_end,
	.pkts_acked = (void *)tcpnice_packets_acked,
	.cong_avoid = (void *)tcpnice_cong_avoid,
	.ssthresh = (void *)tcpnice_ssthresh,
	.undo_cwnd = (void *)tcpnice_undo_cwnd,
	.min_tso_segs = (void *)tcpnice_min_tso_segs,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "tcpnice",
};
