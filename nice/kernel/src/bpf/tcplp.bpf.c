// SPDX-License-Identifier: GPL-2.0-only
/* TCP-LP as in the paper: passes the kernel's events to policies/tcplp.h. */
#include "tcplp_pacing.h"

char _license[] SEC("license") = "GPL";

DELAY_POLICY_PROGRAMS(tcplp)

SEC("struct_ops")
u32 BPF_PROG(tcplp_min_tso_segs, struct sock *sk)
{
	return tcplp_pace(sk, congestion_state(sk));
}

SEC(".struct_ops.link")
struct tcp_congestion_ops tcplp = {
	DELAY_POLICY_OPERATIONS(tcplp),
	.min_tso_segs = (void *)tcplp_min_tso_segs,
	.flags = TCP_CONG_NON_RESTRICTED,
};
