// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls the kernel's own CUBIC from BPF, so that the run-time statistics of BPF programs count its
 * time, too: a reference for the cost of controls that are BPF programs themselves.
 */
#include "kernel_types.h"

#define SEC(name) __attribute__((section(name), used))
#define KERNEL __attribute__((section(".ksyms")))

char _license[] SEC("license") = "GPL";

extern void cubictcp_init(struct sock *sk) KERNEL;
extern u32 cubictcp_recalc_ssthresh(struct sock *sk) KERNEL;
extern void cubictcp_state(struct sock *sk, u8 new_state) KERNEL;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) KERNEL;
extern void cubictcp_cong_avoid(struct sock *sk, u32 acknowledgement, u32 acked) KERNEL;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) KERNEL;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) KERNEL;

/* The kernel passes a program its arguments as an array. */
#define SK ((struct sock *)arguments[0])

SEC("struct_ops")
void bench_cubic_begin(u64 *arguments)
{
	cubictcp_init(SK);
}

SEC("struct_ops")
u32 bench_cubic_ssthresh(u64 *arguments)
{
	return cubictcp_recalc_ssthresh(SK);
}

SEC("struct_ops")
void bench_cubic_state(u64 *arguments)
{
	cubictcp_state(SK, arguments[1]);
}

SEC("struct_ops")
void bench_cubic_acked(u64 *arguments)
{
	cubictcp_acked(SK, (const struct ack_sample *)arguments[1]);
}

SEC("struct_ops")
void bench_cubic_avoid(u64 *arguments)
{
	cubictcp_cong_avoid(SK, arguments[1], arguments[2]);
}

SEC("struct_ops")
void bench_cubic_event(u64 *arguments)
{
	cubictcp_cwnd_event(SK, arguments[1]);
}

SEC("struct_ops")
u32 bench_cubic_undo(u64 *arguments)
{
	return tcp_reno_undo_cwnd(SK);
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
