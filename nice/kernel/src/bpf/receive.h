/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Low priority for the data that the sockets of a cgroup receive: passes arrivals to a policy, and
 * advertises the window that it returns. A file `receive_NAME.bpf.c` for each policy includes this;
 * sockets get the policy of their cgroup's control, or netnice's where that control has none.
 *
 * The kernel asks for the length of header options before each segment leaves, pure ACKs included,
 * and chooses the window after that. The program writes no option and reserves no byte.
 *
 * TCP_WINDOW_CLAMP limits the advertised window. The kernel never takes back what it has offered,
 * so a window shrinks only as data arrives. It moves the clamp itself as it tunes the socket's
 * buffer, so the program sets the clamp for each segment.
 *
 * The file includes "reception.h" and defines before it includes this:
 *
 *   RECEIVER_NAME         name of the control, as a string
 *   struct governed       what the policy keeps of a connection, all zero at first
 *   governed_begin        begins with the window that was advertised last; `mss` is the smaller of
 *                         what we and the peer advertised, less options
 *   governed_window       returns the window to advertise in a segment that is about to leave, in
 *                         bytes; 0 only where a program at the interface can close it. Publishes
 *                         the policy's state
 *   governed_clamp_bytes  returns the limit that the stack keeps for the window
 */
#ifndef NETNICE_RECEIVE_H
#define NETNICE_RECEIVE_H

#include "reception.h"
#include "receiver_segment.h"

/* Gives a window scale of 8, which can still express a window of one packet. */
#define LARGEST_WINDOW ((16U << 20) - 1)
#define TIMESTAMP_BYTES 12 /* of each packet's header */
#define FRESH_US 1000      /* a stamp that old was not taken for this segment */
#define HELD_JIFFIES 2     /* no ACK that is sent at once takes so long */

_Static_assert(sizeof(struct governed) <= GOVERNED_BYTES, "all policies share a map");

static __always_inline struct governed *governed_of(struct reception *own)
{
	return (struct governed *)own->state;
}

/* A path to the same host has no link to share. */
static __always_inline bool stays_on_this_host(const struct bpf_sock_ops *ops)
{
	if (ops->family == AF_INET)
		return ops->remote_ip4 == ops->local_ip4 ||
		       __builtin_bswap32(ops->remote_ip4) >> 24 == 127;
	return ops->remote_ip6[0] == ops->local_ip6[0] && ops->remote_ip6[1] == ops->local_ip6[1] &&
	       ops->remote_ip6[2] == ops->local_ip6[2] && ops->remote_ip6[3] == ops->local_ip6[3];
}

/* MPTCP, not a subflow, sets its windows. */
static __always_inline bool can_be_governed(const struct tcp_sock *tp)
{
	return !bpf_core_field_exists(tp->is_mptcp) || !BPF_CORE_READ_BITFIELD(tp, is_mptcp);
}

/* Returns true if this policy has the state, not that of the control that the cgroup had earlier. */
static __always_inline bool is_of_this_policy(const struct reception *own)
{
	const char name[16] = RECEIVER_NAME;

	return *(const u64 *)own->record.control == *(const u64 *)name &&
	       own->governed_bytes == sizeof(struct governed);
}

static __always_inline void begin(struct bpf_sock_ops *ops, struct bpf_sock *sk,
				  struct tcp_sock *tp, const struct attachment *wanted)
{
	const char name[16] = RECEIVER_NAME;
	struct reception *own;
	u32 option_bytes = has_timestamps(tp) ? TIMESTAMP_BYTES : 0;
	u32 advertised = policy_min(tp->advmss, tp->rx_opt.mss_clamp);
	u32 mss = policy_max(advertised, 536 + option_bytes) - option_bytes;

	if (stays_on_this_host(ops) || !can_be_governed(tp))
		return;
	own = bpf_sk_storage_get(&receptions, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	/* A cgroup nearer to the socket governs it. */
	if (!own || own->record.group)
		return;
	own->record.group = wanted->group;
	own->record.since_ns = bpf_ktime_get_ns();
	__builtin_memcpy(own->record.control, name, sizeof(name));
	own->governed_bytes = sizeof(struct governed);
	own->received = tp->rcv_nxt;
	if (bpf_core_field_exists(tp->received_ecn_bytes))
		own->marked_bytes = tp->received_ecn_bytes[CE_BYTES];
	own->unseen = UNSEEN;
	governed_begin(governed_of(own), &wanted->parameters, tp->rcv_wnd, mss,
		       (u32)tp->tcp_mstamp);
	own->record.window_bytes = governed_clamp_bytes(governed_of(own));
	bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | RECEPTION_CALLBACKS);
}

/* Takes a connection over from another policy, whose window may be small. */
static __always_inline void begin_anew(struct bpf_sock_ops *ops, struct bpf_sock *sk,
				       struct tcp_sock *tp, const struct attachment *wanted)
{
	u32 largest = LARGEST_WINDOW;

	bpf_sk_storage_delete(&receptions, sk);
	bpf_setsockopt(ops, SOL_TCP, TCP_WINDOW_CLAMP, &largest, sizeof(largest));
	begin(ops, sk, tp, wanted);
}

/* Adds a connection that ends to the sums of its group. */
static __always_inline void count_finished(const struct tcp_sock *tp, struct reception *own)
{
	const struct sock_common *common = &tp->inet_conn.icsk_inet.sk.__sk_common;
	u64 fin = common->skc_flags & (1 << SOCK_DONE) ? 1 : 0;
	u64 group = own->record.group;
	struct totals *sums = bpf_map_lookup_elem(&totals, &group);
	u32 cause;

	if (!sums)
		return;
	__sync_fetch_and_add(&sums->receiving_sockets, 1);
	__sync_fetch_and_add(&sums->receiving_bytes, tp->bytes_received - fin);
	__sync_fetch_and_add(&sums->receiving_yields, own->record.report.yields);
	for (cause = 0; cause < POLICY_CAUSES; cause++)
		__sync_fetch_and_add(&sums->receiving_gave_way[cause], own->record.gave_way[cause]);
}

/*
 * Returns true if the ACK of the newest packet was delayed and got a fresh timestamp. An ACK that
 * waited for a program to read carries the timestamp of the packet.
 */
static __always_inline bool is_delayed_ack(const struct tcp_sock *tp)
{
	u32 waited = (u32)bpf_jiffies64() - tp->inet_conn.icsk_ack.lrcvtime;
	u64 age_us = bpf_ktime_get_ns() / 1000 - tp->tcp_mstamp;

	return waited >= HELD_JIFFIES && age_us < FRESH_US;
}

/* Now minus this host's echoed timestamp, in milliseconds unless the route says otherwise. */
static __always_inline u32 round_trip_us(const struct tcp_sock *tp)
{
	u32 now_us = (u32)tp->tcp_mstamp;
	u32 echo = tp->rx_opt.rcv_tsecr;

	if (!echo)
		return 0;
	if (bpf_core_field_exists(tp->tcp_usec_ts) && BPF_CORE_READ_BITFIELD(tp, tcp_usec_ts))
		return now_us - echo;
	return now_us - echo * 1000;
}

/*
 * Returns true if this segment reports a CE mark to the policy. Under RFC 3168 the flag stays set until
 * the peer's CWR. AccECN counts the marks. The policy sees a new mark only where the flag goes from unset
 * to set, so the segment after a report never reports, and marks that came meanwhile wait for the next one.
 */
static __always_inline bool tells_mark(const struct tcp_sock *tp, struct reception *own)
{
	if (!bpf_core_field_exists(tp->received_ecn_bytes) ||
	    !(tp->ecn_flags & TCP_ECN_MODE_ACCECN))
		return tp->ecn_flags & TCP_ECN_DEMAND_CWR;
	own->ce = !own->ce && tp->received_ecn_bytes[CE_BYTES] != own->marked_bytes;
	if (own->ce)
		own->marked_bytes = tp->received_ecn_bytes[CE_BYTES];
	return own->ce;
}

static __always_inline void advertise(struct bpf_sock_ops *ops, struct tcp_sock *tp,
				      struct reception *own)
{
	const struct tcp_options_received *options = &tp->rx_opt;
	u32 scale = BPF_CORE_READ_BITFIELD(options, rcv_wscale) & 15;
	struct receiver_segment *segment = &own->segment;
	u32 window;

	segment->now_us = (u32)tp->tcp_mstamp;
	segment->rtt_us = round_trip_us(tp);
	segment->tsval = tp->rx_opt.rcv_tsval;
	segment->bytes = tp->rcv_nxt - own->received;
	segment->mss = tp->inet_conn.icsk_ack.rcv_mss;
	segment->limit_bytes = policy_min(65535U << scale, LARGEST_WINDOW);
	segment->bound_bytes = tp->rcv_ssthresh;
	segment->gap = tp->out_of_order_queue.rb_node != 0;
	segment->ce = tells_mark(tp, own);
	segment->delayed_ack = is_delayed_ack(tp);
	segment->has_data = ops->skb_len > 0;
	segment->may_close = 0;
	segment->unscaled = !scale;
	own->received = tp->rcv_nxt;
	own->scale = scale;
	own->closing = !governed_window(ops, tp, own, governed_of(own), segment);
	own->unseen = policy_min(own->unseen + 1, UNSEEN);
	window = governed_clamp_bytes(governed_of(own));
	/* A zero window is the kernel's own: before 6.1.68 a clamp froze the connection. */
	if (tp->rcv_wnd)
		bpf_setsockopt(ops, SOL_TCP, TCP_WINDOW_CLAMP, &window, sizeof(window));
}

SEC("sockops")
int netnice_receive(struct bpf_sock_ops *ops)
{
	struct attachment *wanted = bpf_get_local_storage(&attachments, 0);
	u32 largest = LARGEST_WINDOW;
	struct bpf_sock *sk = ops->sk;
	struct reception *own;
	struct tcp_sock *tp;

	if (!wanted->group)
		return 1;
	/* The socket of a request that comes in is not yet a full one. */
	if (ops->op == BPF_SOCK_OPS_RWND_INIT) {
		ops->reply = FIRST_PACKETS;
		return 1;
	}
	if (!sk)
		return 1;
	switch (ops->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
		bpf_setsockopt(ops, SOL_TCP, TCP_WINDOW_CLAMP, &largest, sizeof(largest));
		return 1;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		tp = bpf_skc_to_tcp_sock(sk);
		if (tp)
			begin(ops, sk, tp, wanted);
		return 1;
	case BPF_SOCK_OPS_STATE_CB:
		if (ops->args[1] != BPF_TCP_CLOSE)
			return 1;
		break;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		/* The kernel may ask only for the size of packets. */
		if (ops->args[0] == BPF_WRITE_HDR_TCP_CURRENT_MSS)
			return 1;
		break;
	default:
		return 1;
	}
	own = bpf_sk_storage_get(&receptions, sk, 0, 0);
	if (!own || own->record.group != wanted->group)
		return 1;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 1;
	if (ops->op == BPF_SOCK_OPS_STATE_CB)
		count_finished(tp, own);
	else if (is_of_this_policy(own))
		advertise(ops, tp, own);
	else
		begin_anew(ops, sk, tp, wanted);
	return 1;
}

#endif
