// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP-LP/ECN: passes the kernel's events to policies/tcplp_ecn.h.
 *
 * The kernel answers a mark as a loss, by CWR: it asks for ssthresh, then announces the state, and
 * brings the window to ssthresh within a round trip by proportional rate reduction. Only the state
 * tells a mark from a loss.
 */
#include "delay_policy.h"
#include "tcplp_ecn.h"

char _license[] SEC("license") = "GPL";

DELAY_POLICY_BUT_LOSSES(tcplp_ecn)

/* As for a loss. The policy hears of it from the state. */
SEC("struct_ops")
u32 BPF_PROG(tcplp_ecn_ssthresh, struct sock *sk)
{
	return tcplp_loss_ssthresh(tcp_sk(sk)->snd_cwnd);
}

SEC("struct_ops")
void BPF_PROG(tcplp_ecn_set_state, struct sock *sk, u8 new_state)
{
	struct tcplp_ack ack = ack_of_window(sk, 0);
	struct tcp_sock *tp = tcp_sk(sk);

	if (is_answer_to_mark(tp, new_state))
		tp->snd_ssthresh = tcplp_ecn_on_mark(congestion_state(sk), &ack);
	else if (new_state >= TCP_CA_CWR)
		tcplp_ecn_on_loss(congestion_state(sk), ack.cwnd, ack.now_us);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops tcplp_ecn = {
	DELAY_POLICY_OPERATIONS(tcplp_ecn), .set_state = (void *)tcplp_ecn_set_state,
	/* Not for all users: it yields only where a router marks it. */
};
