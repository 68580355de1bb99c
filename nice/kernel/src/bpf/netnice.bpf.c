// SPDX-License-Identifier: GPL-2.0-only
/* Default control: passes the kernel's events to policies/netnice/above_floor.h, netnice above a floor. */
#include "connection.h"
#include "decision_record.h"
#include "floors.h"
#include "kernel_features.h"
#include "netnice/above_floor.h"

char _license[] SEC("license") = "GPL";

FLOORS(floors_sent, floor_sent)

struct sender {
	struct netnice policy;
	struct floor_member member;
	u64 group; /* from struct flow */
	struct told told;
	struct netnice_ack ack; /* the newest. Not on the stack: see POLICY_STEP_NEEDS */
};

/* The state is larger than what a socket has for a congestion control. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sender);
} senders SEC(".maps");

static __always_inline struct sender *sender(struct sock *sk)
{
	return bpf_sk_storage_get(&senders, sk, 0, 0);
}

/* Sets the rate at which TCP itself paces, also without an fq queue discipline. */
static __always_inline void set_pacing_rate(struct sock *sk, const struct sender *state)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = smoothed_rtt_us(tp);
	u64 bytes = (u64)tp->snd_cwnd * (tp->mss_cache + 40);
	u64 rate;
	u32 window_us;

	if (!rtt_us)
		return;
	window_us = netnice_floor_pacing_us(&state->policy, &state->member, tp->snd_cwnd, rtt_us,
					    tp->mss_cache);
	if (!window_us)
		window_us = 1;
	rate = bytes * 1000000 / window_us;
	sk->sk_pacing_rate = rate < sk->sk_max_pacing_rate ? rate : sk->sk_max_pacing_rate;
}

/* Copies what the report lacks to the record, if there is one. */
static __always_inline void tell_causes(struct flow *flow, const struct netnice *state)
{
	if (flow)
		__builtin_memcpy(flow->gave_way, state->gave_way, sizeof(flow->gave_way));
}

static __noinline void tell_decision(const struct sock *sk, struct sender *state, u32 cwnd_before,
				     u32 cwnd)
{
	struct decision record = {
		.connection = sk->__sk_common.skc_cookie.counter,
		.window_before = cwnd_before,
		.window_after = cwnd,
	};

	write_decision(state->group, &state->policy, &state->told, &record);
}

SEC("struct_ops")
void BPF_PROG(netnice_begin, struct sock *sk)
{
	struct policy_parameters none = {};
	struct flow *flow = flow_begin(sk);
	struct sender *state = bpf_sk_storage_get(&senders, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	/* Without memory for it the window stays as it is: that of a connection which has just begun. */
	if (!state)
		return;
	netnice_init(&state->policy, flow ? &flow->parameters : &none);
	netnice_on_handshake(&state->policy, handshake_rtt_us(tcp_sk(sk)));
	state->policy.measured.round_end = tcp_sk(sk)->delivered;
	state->group = flow ? flow->group : 0;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	set_pacing_rate(sk, state);
}

SEC("struct_ops")
void BPF_PROG(netnice_end, struct sock *sk)
{
	const struct sender *state = sender(sk);
	struct policy_report none = {};

	if (state)
		tell_causes(bpf_sk_storage_get(&flows, sk, 0, 0), &state->policy);
	flow_end(sk, state ? &state->policy.report : &none);
	bpf_sk_storage_delete(&senders, sk);
}

/* Has no rate, so that nothing is written to it. Not on the stack, of which little is left. */
struct floor no_floor;

static __always_inline void control(struct sock *sk, const struct rate_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct sender *state = sender(sk);
	struct netnice_ack *ack;
	struct floor *floor;
	u32 cwnd;

	if (!state)
		return;
	ack = &state->ack;
	ack->now_us = (u32)tp->tcp_mstamp;
	ack->sample_rtt_us = sample->rtt_us > 0 ? (u32)sample->rtt_us : 0;
	ack->tsval = tp->rx_opt.rcv_tsval;
	ack->acked = sample->acked_sacked;
	ack->lost = sample->losses > 0 ? (u32)sample->losses : 0;
	ack->in_flight = packets_in_flight(tp);
	ack->delivered = tp->delivered;
	ack->prior_delivered = sample->prior_delivered;
	ack->rate_delivered =
		sample->delivered > 0 && sample->interval_us > 0 ? (u32)sample->delivered : 0;
	ack->rate_interval_us = sample->interval_us > 0 ? (u32)sample->interval_us : 0;
	ack->cwnd = tp->snd_cwnd;
	ack->has_timestamp = peer_sends_clock(tp);
	ack->stamp_lead = (u8)(tp->rx_opt.rcv_tsval - tp->rx_opt.rcv_tsecr);
	ack->stamp_back = policy_after(tp->rx_opt.ts_recent, tp->rx_opt.rcv_tsval);
	ack->ca_state = ca_state(sk);
	ack->app_limited = sample->is_app_limited;
	ack->retransmitted = sample->is_retrans;
	floor = floor_sent(state->group);
	cwnd = netnice_floor_on_ack(&state->policy, floor ? floor : &no_floor, &state->member, ack,
				    smoothed_rtt_us(tp), tp->mss_cache);
	set_cwnd(tp, cwnd);
	set_pacing_rate(sk, state);
	tell_causes(flow_report(sk, &state->policy.report), &state->policy);
	if (state->policy.decided.moves != state->told.moves)
		tell_decision(sk, state, ack->cwnd, tp->snd_cwnd);
}

/* With four arguments the ACK's number and flags come before the sample. */
SEC("struct_ops")
void BPF_PROG(netnice_cong_control, struct sock *sk)
{
	if (kernel.cong_control_arguments == 4)
		control(sk, (const struct rate_sample *)ctx[3]);
	else
		control(sk, (const struct rate_sample *)ctx[1]);
}

/* cong_control sets the window itself; this only informs the kernel's own code. */
SEC("struct_ops")
u32 BPF_PROG(netnice_ssthresh, struct sock *sk)
{
	return policy_max(tcp_sk(sk)->snd_cwnd / 2, NETNICE_MINIMUM_CWND);
}

SEC("struct_ops")
u32 BPF_PROG(netnice_undo_cwnd, struct sock *sk)
{
	u32 cwnd = cwnd_before_recovery(sk);
	struct sender *state = sender(sk);

	/* A window that the floor has set says nothing on netnice's. */
	if (!state || state->member.driven)
		return cwnd;
	netnice_on_undo(&state->policy, cwnd);
	if (state->policy.decided.moves != state->told.moves)
		tell_decision(sk, state, tcp_sk(sk)->snd_cwnd, cwnd);
	return cwnd;
}

/* Bursts queue behind themselves: at low rates at most two packets leave at once. */
SEC("struct_ops")
u32 BPF_PROG(netnice_min_tso_segs, struct sock *sk)
{
	const struct sender *state = sender(sk);

	return state ? netnice_floor_burst_packets(&state->policy, &state->member) : 1;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops netnice = {
	.init = (void *)netnice_begin,
	.release = (void *)netnice_end,
	.cong_control = (void *)netnice_cong_control,
	.ssthresh = (void *)netnice_ssthresh,
	.undo_cwnd = (void *)netnice_undo_cwnd,
	.min_tso_segs = (void *)netnice_min_tso_segs,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "netnice",
};
