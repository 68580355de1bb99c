// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP for Diff-Serv: passes the kernel's events to policies/dstcp.h.
 *
 * Recovery is the kernel's: proportional rate reduction brings the window to ssthresh, which is
 * half of the window, or one packet after a mark on an IN packet. Once it has ended, the next ACK
 * sets ssthresh to the target rate times the RTT, and slow start leads there.
 */
#include "connection.h"
#include "dstcp.h"

char _license[] SEC("license") = "GPL";

_Static_assert(sizeof(struct dstcp) <= 104, "state must fit icsk_ca_priv");

/* Size of a full packet as the network counts it against the target rate. */
static __always_inline u32 packet_bytes(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 ip_header = sk->__sk_common.skc_family == AF_INET ? 20 : 40;

	return tp->mss_cache + tp->tcp_header_len + ip_header;
}

SEC("struct_ops")
void BPF_PROG(dstcp_begin, struct sock *sk)
{
	struct dstcp *state = congestion_state(sk);
	struct policy_parameters none = {};
	struct flow *flow = flow_begin(sk);

	__builtin_memset(state, 0, sizeof(*state));
	dstcp_init(state, flow ? &flow->parameters : &none);
	state->packet_bytes = packet_bytes(sk);
}

SEC("struct_ops")
void BPF_PROG(dstcp_end, struct sock *sk)
{
	const struct dstcp *state = congestion_state(sk);

	flow_end(sk, &state->report);
}

SEC("struct_ops")
void BPF_PROG(dstcp_cong_avoid, struct sock *sk, u32 sequence, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dstcp *state = congestion_state(sk);
	struct dstcp_ack ack = {
		.smoothed_rtt_us = smoothed_rtt_us(tp),
		.minimum_rtt_us = minimum_rtt_us(tp),
		.acked = acked,
		.cwnd_limited = cwnd_limited(tp),
	};
	struct dstcp_window window = {
		.cwnd = tp->snd_cwnd,
		.ssthresh = tp->snd_ssthresh,
	};

	/* The path MTU may have changed. */
	state->packet_bytes = packet_bytes(sk);
	dstcp_on_ack(state, &ack, &window);
	tp->snd_ssthresh = window.ssthresh;
	set_cwnd(tp, window.cwnd);
	flow_report(sk, &state->report);
}

/* Returns ssthresh after a loss, an RTO or a mark. */
SEC("struct_ops")
u32 BPF_PROG(dstcp_recovery_window, struct sock *sk)
{
	return dstcp_on_loss(congestion_state(sk), tcp_sk(sk)->snd_cwnd);
}

/*
 * The kernel enters CWR when the peer echoes a mark. At this point it has requested ssthresh, as
 * for a loss, and has not begun to reduce the window.
 */
SEC("struct_ops")
void BPF_PROG(dstcp_set_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dstcp *state = congestion_state(sk);
	struct dstcp_window window = { .cwnd = tp->snd_cwnd };

	if (!is_answer_to_mark(tp, new_state))
		return;
	dstcp_on_ecn_echo(state, dstcp_within_profile(state, tp->snd_cwnd), &window);
	tp->snd_ssthresh = window.cwnd;
}

SEC("struct_ops")
u32 BPF_PROG(dstcp_undo_cwnd, struct sock *sk)
{
	return cwnd_before_recovery(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops dstcp = {
	.init = (void *)dstcp_begin,
	.release = (void *)dstcp_end,
	.cong_avoid = (void *)dstcp_cong_avoid,
	.ssthresh = (void *)dstcp_recovery_window,
	.set_state = (void *)dstcp_set_state,
	.undo_cwnd = (void *)dstcp_undo_cwnd,
	/* Not for all users: it takes what the network has assured, and yields to no one. */
	.name = "dstcp",
};
