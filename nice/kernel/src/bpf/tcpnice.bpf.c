// SPDX-License-Identifier: GPL-2.0-only
/* TCP Nice: passes the kernel's events to policies/tcpnice.h. */
#include "delay_policy.h"
#include "tcpnice.h"

char _license[] SEC("license") = "GPL";

DELAY_POLICY_PROGRAMS(tcpnice)

SEC("struct_ops")
u32 BPF_PROG(tcpnice_min_tso_segs, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	pace(sk, tcpnice_pause_us(congestion_state(sk), tp->snd_cwnd, smoothed_rtt_us(tp)));
	return SEGMENTS_AT_ONCE;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops tcpnice = {
	DELAY_POLICY_OPERATIONS(tcpnice),
	.min_tso_segs = (void *)tcpnice_min_tso_segs,
	.flags = TCP_CONG_NON_RESTRICTED,
};
