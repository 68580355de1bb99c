/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records each call of a congestion control: what the kernel passed, and the window that the
 * control left. Included before the source of a control, it wraps each of its programs. An object
 * for developers: only struct_ops programs, since some kernels refuse all that trace.
 */
#ifndef NETNICE_BENCH_RECORD_H
#define NETNICE_BENCH_RECORD_H

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* The control's maps are then of this object alone. */
#define LIBBPF_PIN_BY_NAME LIBBPF_PIN_NONE
#include "connection.h"

#define RECORDED_CALLS 32768

/* The variables that a control may set. */
struct window {
	u64 pacing_rate; /* bytes per second */
	u32 cwnd;
	u32 ssthresh;
};

/*
 * One call; `main.rs beside it` mirrors it. Members are named as in struct tcp_sock and the samples,
 * and are 0 where the program has no such argument.
 */
struct call {
	char program[24];
	u64 now_us; /* tcp_mstamp */
	s64 rtt_us;
	s64 interval_us;
	struct window before;
	struct window after;
	u32 port; /* of this end: tells connections apart */
	u32 event;
	u32 answer;
	u32 acked; /* acked_sacked, pkts_acked, or the argument of cong_avoid */
	u32 lost;  /* losses */
	u32 tsval;
	u32 tsecr;
	u32 srtt_us_shift_3;
	u32 rtt_min_us;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 delivered;
	u32 prior_delivered;
	s32 rate_delivered;
	u32 max_packets_out;
	u32 mss;
	u8 ca_state;
	u8 has_timestamp;
	u8 is_cwnd_limited;
	u8 app_limited;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RECORDED_CALLS + 1); /* the last one takes those that find no room */
	__type(key, u32);
	__type(value, struct call);
} calls SEC(".maps");

u32 count; /* calls, including those that found no room */

static __always_inline void read_window(const struct sock *sk, struct window *window)
{
	const struct tcp_sock *tp = (const struct tcp_sock *)sk;

	window->cwnd = tp->snd_cwnd;
	window->ssthresh = tp->snd_ssthresh;
	window->pacing_rate = sk->sk_pacing_rate;
}

static __always_inline struct call *begin_call(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 place = policy_min(__sync_fetch_and_add(&count, 1), RECORDED_CALLS);
	struct call *call = bpf_map_lookup_elem(&calls, &place);

	if (!call)
		return 0;
	call->port = sk->__sk_common.skc_num;
	call->now_us = tp->tcp_mstamp;
	call->ca_state = ca_state(sk);
	call->has_timestamp = peer_sends_timestamps(tp);
	call->is_cwnd_limited = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
	call->tsval = tp->rx_opt.rcv_tsval;
	call->tsecr = tp->rx_opt.rcv_tsecr;
	call->srtt_us_shift_3 = tp->srtt_us;
	call->rtt_min_us = tp->rtt_min.s[0].v;
	call->packets_out = tp->packets_out;
	call->sacked_out = tp->sacked_out;
	call->lost_out = tp->lost_out;
	call->retrans_out = tp->retrans_out;
	call->delivered = tp->delivered;
	call->max_packets_out = tp->max_packets_out;
	call->mss = tp->mss_cache;
	read_window(sk, &call->before);
	return call;
}

static __always_inline void read_rate_sample(const struct rate_sample *sample, struct call *call)
{
	call->rtt_us = sample->rtt_us;
	call->interval_us = sample->interval_us;
	call->prior_delivered = sample->prior_delivered;
	call->rate_delivered = sample->delivered;
	call->acked = sample->acked_sacked;
	call->lost = sample->losses > 0 ? sample->losses : 0;
	call->app_limited = sample->is_app_limited;
}

static __always_inline void read_ack_sample(const struct ack_sample *sample, struct call *call)
{
	call->rtt_us = sample->rtt_us;
	call->acked = sample->pkts_acked;
}

/* The compiler evaluates this: `program` and `ending` are literals. */
#define ENDS_WITH(program, ending)                                                                 \
	(sizeof(program) > sizeof(ending) &&                                                       \
	 !__builtin_strcmp(                                                                        \
		 &(program)[sizeof(program) > sizeof(ending) ? sizeof(program) - sizeof(ending) :  \
							       0],                                 \
		 ending))

#define READ_ARGUMENTS(program, ctx, call)                                                         \
	do {                                                                                       \
		if (ENDS_WITH(program, "_cong_control"))                                           \
			read_rate_sample((const struct rate_sample *)ctx[RATE_SAMPLE], call);      \
		if (ENDS_WITH(program, "_packets_acked"))                                          \
			read_ack_sample((const struct ack_sample *)ctx[1], call);                  \
		if (ENDS_WITH(program, "_cong_avoid"))                                             \
			call->acked = ctx[2];                                                      \
		if (ENDS_WITH(program, "_cwnd_event"))                                             \
			call->event = ctx[1];                                                      \
	} while (0)

/* Argument of cong_control since 6.10; the recorder runs on no older kernel. */
#define RATE_SAMPLE 3

/*
 * As in bpf_tracing.h, with a record before and after the program. There is always a call to fill: a
 * second way into the control, without one, would double the verifier's work.
 */
#undef BPF_PROG
#define BPF_PROG(name, args...)                                                                    \
	name(unsigned long long *ctx);                                                             \
	static __always_inline typeof(name(0)) ____##name(unsigned long long *ctx, ##args);        \
	typeof(name(0)) name(unsigned long long *ctx)                                              \
	{                                                                                          \
		struct sock *sk_of_call = (struct sock *)ctx[0];                                   \
		struct call *call = begin_call(sk_of_call);                                        \
		u64 answer;                                                                        \
                                                                                                   \
		if (!call)                                                                         \
			return (typeof(name(0)))0;                                                 \
		__builtin_memcpy(call->program, #name, sizeof(#name));                             \
		READ_ARGUMENTS(#name, ctx, call);                                                  \
		_Pragma("GCC diagnostic push") _Pragma(                                            \
			"GCC diagnostic ignored \"-Wint-conversion\"") answer =                    \
			__builtin_choose_expr(__builtin_types_compatible_p(typeof(name(0)), void), \
					      (____##name(___bpf_ctx_cast(args)), 0),              \
					      ____##name(___bpf_ctx_cast(args)));                  \
		_Pragma("GCC diagnostic pop") call->answer = answer;                               \
		read_window(sk_of_call, &call->after);                                             \
		return (typeof(name(0)))answer;                                                    \
	}                                                                                          \
	static __always_inline typeof(name(0)) ____##name(unsigned long long *ctx, ##args)

#endif
