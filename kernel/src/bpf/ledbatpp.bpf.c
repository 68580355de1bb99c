// SPDX-License-Identifier: GPL-2.0-only
/* LEDBAT++: passes the kernel's events to congestion/policy/ledbatpp.h. */
#include "ledbat_events.h"
#include "ledbatpp.h"

char _license[] SEC("license") = "GPL";

SEC("struct_ops")
u32 BPF_PROG(ledbatpp_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return ledbatpp_on_loss(congestion_state(sk), tp->snd_cwnd, (u32)tp->tcp_mstamp);
}

LEDBAT_PROGRAMS(ledbatpp)

SEC(".struct_ops.link")
struct tcp_congestion_ops ledbatpp = {
	.init = (void *)ledbatpp_begin,
	.release = (void *)ledbatpp_end,
	.pkts_acked = (void *)ledbatpp_packets_acked,
	.cong_avoid = (void *)ledbatpp_cong_avoid,
	.ssthresh = (void *)ledbatpp_ssthresh,
	.undo_cwnd = (void *)ledbatpp_undo_cwnd,
	.cwnd_event = (void *)ledbatpp_cwnd_event,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "ledbatpp",
};
