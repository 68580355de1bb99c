// SPDX-License-Identifier: GPL-2.0-only
/* LEDBAT (RFC 6817): passes the kernel's events to congestion/policy/ledbat.h. */
#include "ledbat_events.h"
#include "ledbat.h"

char _license[] SEC("license") = "GPL";

SEC("struct_ops")
u32 BPF_PROG(ledbat_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return ledbat_on_loss(congestion_state(sk), tp->snd_cwnd);
}

LEDBAT_PROGRAMS(ledbat)

SEC(".struct_ops.link")
struct tcp_congestion_ops ledbat = {
	.init = (void *)ledbat_begin,
	.release = (void *)ledbat_end,
	.pkts_acked = (void *)ledbat_packets_acked,
	.cong_avoid = (void *)ledbat_cong_avoid,
	.ssthresh = (void *)ledbat_ssthresh,
	.undo_cwnd = (void *)ledbat_undo_cwnd,
	.cwnd_event = (void *)ledbat_cwnd_event,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "ledbat",
};
