/* SPDX-License-Identifier: GPL-2.0-only */
/* Common parts of all congestion controls here: casts, and the records of the flow. */
#ifndef NETNICE_CONNECTION_H
#define NETNICE_CONNECTION_H

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "maps.h"

static __always_inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline void *congestion_state(struct sock *sk)
{
	return ((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

/* `enum ca_state` of the policies has the kernel's numbers. */
static __always_inline u8 ca_state(const struct sock *sk)
{
	const struct inet_connection_sock *icsk = (const struct inet_connection_sock *)sk;

	return BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
}

/* Packets that the kernel believes to be in the network: tcp_packets_in_flight(). */
static __always_inline u32 packets_in_flight(const struct tcp_sock *tp)
{
	u32 left = tp->sacked_out + tp->lost_out;
	u32 out = tp->packets_out + tp->retrans_out;

	return out > left ? out - left : 0;
}

static __always_inline bool peer_sends_timestamps(const struct tcp_sock *tp)
{
	const struct tcp_options_received *options = &tp->rx_opt;

	return BPF_CORE_READ_BITFIELD(options, tstamp_ok);
}

/*
 * Returns true if the newest TSval is of the peer's own clock. One that repeats the TSecr beside it is
 * our own stamp: the packet would seem to have arrived as it left. The kernel has taken the
 * connection's offset from the TSecr.
 */
static __always_inline bool peer_sends_clock(const struct tcp_sock *tp)
{
	const struct tcp_options_received *options = &tp->rx_opt;

	return peer_sends_timestamps(tp) && options->rcv_tsval != options->rcv_tsecr + tp->tsoffset;
}

/* Returns true if cwnd, not the program, limits the connection: tcp_is_cwnd_limited(). */
static __always_inline bool cwnd_limited(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

static __always_inline u32 smoothed_rtt_us(const struct tcp_sock *tp)
{
	return tp->srtt_us >> 3;
}

/* Minimum of the last minutes (net.ipv4.tcp_min_rtt_wlen); 0 before the first sample. */
static __always_inline u32 minimum_rtt_us(const struct tcp_sock *tp)
{
	u32 rtt_us = tp->rtt_min.s[0].v;

	return rtt_us == 0xffffffffU ? 0 : rtt_us;
}

static __always_inline void set_cwnd(struct tcp_sock *tp, u32 cwnd)
{
	tp->snd_cwnd = policy_min(cwnd, tp->snd_cwnd_clamp);
}

/*
 * Returns true if the kernel enters CWR for a mark that the peer reports, by RFC 3168 or AccECN.
 * Without ECN, CWR means a full queue of this host.
 */
static __always_inline bool is_answer_to_mark(const struct tcp_sock *tp, u8 new_state)
{
	return new_state == TCP_CA_CWR &&
	       (tp->ecn_flags & (TCP_ECN_MODE_RFC3168 | TCP_ECN_MODE_ACCECN));
}

/* After a spurious recovery, restores the window before it: tcp_reno_undo_cwnd(). */
static __always_inline u32 cwnd_before_recovery(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return policy_max(tp->snd_cwnd, tp->prior_cwnd);
}

/* Round trip of the handshake, of a connection that has sent no data yet; 0 if it is unknown. */
static __always_inline u32 handshake_rtt_us(const struct tcp_sock *tp)
{
	return tp->bytes_sent ? 0 : minimum_rtt_us(tp);
}

/*
 * Bytes of data that the peer has acknowledged. `bytes_acked` also counts SYN and FIN as one byte
 * each; the bytes sent for the first time are data alone.
 */
static __always_inline u64 data_acked(const struct tcp_sock *tp)
{
	u64 sent = tp->bytes_sent - tp->bytes_retrans;

	return tp->bytes_acked < sent ? tp->bytes_acked : sent;
}

/* Bytes of data received. `bytes_received` also counts the peer's FIN as one byte. */
static __always_inline u64 data_received(struct sock *sk)
{
	u64 fin = sk->__sk_common.skc_flags & (1 << SOCK_DONE) ? 1 : 0;

	return tcp_sk(sk)->bytes_received - fin;
}

/*
 * Starts the record of a connection that one of netnice's controls takes over. The record may exist
 * already, with a group and parameters, written by whoever set the control.
 */
static __always_inline struct flow *flow_begin(struct sock *sk)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (flow && !flow->since_ns) {
		flow->since_ns = bpf_ktime_get_ns();
		flow->bytes_acked_at_start = data_acked(tcp_sk(sk));
		flow->bytes_received_at_start = data_received(sk);
	}
	return flow;
}

#define REPORT_TICK_SHIFT 13 /* 8 ms: a look-up at each ACK would cost a fifth of the policy */

/*
 * Copies the policy's report to the record that user space reads, unless just done. Returns the record where it has
 * done so, for what else the policy tells.
 */
static __always_inline struct flow *flow_report(struct sock *sk, struct policy_report *report)
{
	u16 now = tcp_sk(sk)->tcp_mstamp >> REPORT_TICK_SHIFT;
	struct flow *flow;

	if (report->published == now)
		return 0;
	report->published = now;
	flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	if (flow)
		flow->report = *report;
	return flow;
}

/* Computes the sums of a connection, kept after its end. */
static __always_inline void flow_totals(struct sock *sk, const struct flow *flow,
					const struct policy_report *report, struct totals *to)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 cause;

	to->sockets = 1;
	to->bytes_sent = data_acked(tp) - flow->bytes_acked_at_start;
	to->bytes_received = data_received(sk) - flow->bytes_received_at_start;
	to->yields = report->yields;
	for (cause = 0; cause < POLICY_CAUSES; cause++)
		to->gave_way[cause] = flow->gave_way[cause];
	to->without_timestamps = !peer_sends_timestamps(tp);
}

static __always_inline void add_to_group(struct totals *sums, const struct totals *one)
{
	u32 cause;

	__sync_fetch_and_add(&sums->sockets, one->sockets);
	__sync_fetch_and_add(&sums->bytes_sent, one->bytes_sent);
	__sync_fetch_and_add(&sums->bytes_received, one->bytes_received);
	__sync_fetch_and_add(&sums->yields, one->yields);
	__sync_fetch_and_add(&sums->without_timestamps, one->without_timestamps);
	__sync_fetch_and_add(&sums->displaced, one->displaced);
	for (cause = 0; cause < POLICY_CAUSES; cause++)
		__sync_fetch_and_add(&sums->gave_way[cause], one->gave_way[cause]);
}

/* Ends the record: the connection ends, or another control takes it over. */
static __always_inline void flow_end(struct sock *sk, const struct policy_report *report)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	struct finished last = {};
	struct totals *sums;
	u64 group, cookie;

	if (!flow)
		return;
	group = flow->group;
	cookie = sk->__sk_common.skc_cookie.counter;
	if (flow->since_ns) {
		flow_totals(sk, flow, report, &last.totals);
		/* netnice itself lets go of a socket only when it has taken the guard off. */
		if (sk->__sk_common.skc_state != TCP_CLOSE && group && !flow->unguarded) {
			last.totals.sockets = 0;
			last.totals.without_timestamps = 0;
			last.totals.displaced = 1;
		}
		sums = bpf_map_lookup_elem(&totals, &group);
		if (sums) {
			add_to_group(sums, &last.totals);
		} else if (!group && cookie) {
			bpf_map_update_elem(&finished, &cookie, &last, BPF_ANY);
		}
	}
	bpf_sk_storage_delete(&flows, sk);
}

#endif
