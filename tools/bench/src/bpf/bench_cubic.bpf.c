// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls the kernel's own CUBIC from BPF, so that the run-time statistics of BPF programs count its
 * time, too: a reference for the cost of controls that are BPF programs themselves.
 */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

extern void cubictcp_init(struct sock *sk) __ksym;
extern u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_state(struct sock *sk, u8 new_state) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, u32 acknowledgement, u32 acked) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

SEC("struct_ops")
void BPF_PROG(bench_cubic_begin, struct sock *sk)
{
	cubictcp_init(sk);
}

SEC("struct_ops")
u32 BPF_PROG(bench_cubic_ssthresh, struct sock *sk)
{
	return cubictcp_recalc_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(bench_cubic_state, struct sock *sk, u8 new_state)
{
	cubictcp_state(sk, new_state);
}

SEC("struct_ops")
void BPF_PROG(bench_cubic_acked, struct sock *sk, const struct ack_sample *sample)
{
	cubictcp_acked(sk, sample);
}

SEC("struct_ops")
void BPF_PROG(bench_cubic_avoid, struct sock *sk, u32 acknowledgement, u32 acked)
{
	cubictcp_cong_avoid(sk, acknowledgement, acked);
}

SEC("struct_ops")
void BPF_PROG(bench_cubic_event, struct sock *sk, enum tcp_ca_event event)
{
	cubictcp_cwnd_event(sk, event);
}

SEC("struct_ops")
u32 BPF_PROG(bench_cubic_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops bench_cubic = {
	.init = (void *)bench_cubic_begin,
	.ssthresh = (void *)bench_cubic_ssthresh,
	.set_state = (void *)bench_cubic_state,
	.pkts_acked = (void *)bench_cubic_acked,
	.cong_avoid = (void *)bench_cubic_avoid,
	.cwnd_event = (void *)bench_cubic_event,
	.undo_cwnd = (void *)bench_cubic_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "bench_cubic",
};
