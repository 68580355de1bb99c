// SPDX-License-Identifier: GPL-2.0-only
/* HSTCP-LP: passes the kernel's events to policies/hstcplp.h. */
#include "tcplp_pacing.h"
#include "hstcplp.h"

char _license[] SEC("license") = "GPL";

DELAY_POLICY_PROGRAMS(hstcplp)

SEC("struct_ops")
u32 BPF_PROG(hstcplp_min_tso_segs, struct sock *sk)
{
	const struct hstcplp *state = congestion_state(sk);

	return tcplp_pace(sk, &state->lp);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops hstcplp = {
	DELAY_POLICY_OPERATIONS(hstcplp),
	.min_tso_segs = (void *)hstcplp_min_tso_segs,
	.flags = TCP_CONG_NON_RESTRICTED,
};
