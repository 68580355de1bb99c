// SPDX-License-Identifier: GPL-2.0-only
/*
 * Low priority for the data that the sockets of a cgroup receive: passes arrivals to
 * congestion/policy/receiver.h, and advertises the window that it returns.
 *
 * The kernel asks for the length of header options before each segment leaves, pure ACKs included,
 * and chooses the window after that. The program writes no option and reserves no byte.
 *
 * TCP_WINDOW_CLAMP limits the advertised window. The kernel never takes back what it has offered,
 * so a window shrinks only as data arrives. It moves the clamp itself as it tunes the socket's
 * buffer, so the program sets the clamp for each segment.
 *
 * No option closes a window: netnice_window() rewrites the field in segments that leave.
 */
#include "attachments.h"
#include <bpf/bpf_core_read.h>
#include "maps.h"
#include "netnice.h"

/*
 * The verifier checks this once, not on each path that leads to it: that halves the load time. The
 * constant lets the compiler remove what only senders do, which would be too much for the verifier.
 */
__noinline u32 netnice_answer(struct netnice *state, const struct netnice_ack *ack)
{
	struct netnice_ack received;

	if (!state || !ack)
		return 0;
	received = *ack;
	received.at_receiver = 1;
	return netnice_on_ack(state, &received);
}

#define RECEIVER_POLICY netnice_answer
#include "receiver.h"
#include "receiver_round_trip.h"

/* Verified once, like netnice_answer. */
__noinline u32 receiver_answer(struct receiver *state, const struct receiver_segment *segment)
{
	return state && segment ? receiver_window(state, segment) : 0;
}

/* Verified once, too. */
__noinline u32 receiver_timed(struct receiver_round_trip *trip, const struct receiver *state,
			      struct receiver_segment *segment,
			      const struct receiver_advertised *advertised)
{
	if (!trip || !state || !segment || !advertised)
		return 0;
	receiver_time(trip, state, segment, advertised);
	return 1;
}

char _license[] SEC("license") = "GPL";

/* Gives a window scale of 8, which can still express a window of RECEIVER_PAUSE_BYTES. */
#define LARGEST_WINDOW ((16U << 20) - 1)
#define TIMESTAMP_BYTES 12 /* of each packet's header */
/*
 * Packets that a handshake offers room for: as many as a sender may begin with (RFC 6928). The 64 kB
 * of Linux let each of many connections that begin together fill a queue before it has a sample.
 */
#define FIRST_PACKETS 10
#define FRESH_US 1000  /* a stamp that old was not taken for this segment */
#define HELD_JIFFIES 2 /* no ACK that is sent at once takes so long */
#define UNSEEN 4       /* segments after which netnice_window() is not on their way */

/* State of a socket that receives at low priority. */
struct reception {
	struct reception_record record; /* must be first: user space reads it */
	struct receiver receiver;
	u32 received; /* sequence number up to which data had arrived */
	u32 edge;     /* end of what segments have advertised, as netnice_window() saw them */
	u8 closing;   /* netnice_window() is to advertise nothing more in the segment that leaves */
	u8 scale;     /* of the window field */
	u8 unseen;    /* segments since netnice_window() saw one */
	u8 reserved[5];
	struct receiver_round_trip round_trip; /* of a connection without timestamps */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct reception);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} receptions SEC(".maps");

/* A group's path from one host; IPv4 addresses take the first word. */
struct path_key {
	u64 group;
	u32 peer[4];
};

/* The paths that the connections of a group know. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct path_key);
	__type(value, struct receiver_path);
} receiver_paths SEC(".maps");

/* The connections of each group. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct receiver_group);
} receiver_groups SEC(".maps");

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

static __always_inline bool has_timestamps(const struct tcp_sock *tp)
{
	const struct tcp_options_received *options = &tp->rx_opt;

	return BPF_CORE_READ_BITFIELD(options, tstamp_ok);
}

static __always_inline void begin(struct bpf_sock_ops *ops, struct bpf_sock *sk,
				  struct tcp_sock *tp, const struct attachment *wanted)
{
	struct reception *own;
	u32 option_bytes = has_timestamps(tp) ? TIMESTAMP_BYTES : 0;
	u32 mss = policy_max(tp->advmss, 536 + option_bytes) - option_bytes;

	if (stays_on_this_host(ops) || !can_be_governed(tp))
		return;
	own = bpf_sk_storage_get(&receptions, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	/* A cgroup nearer to the socket governs it. */
	if (!own || own->record.group)
		return;
	own->record.group = wanted->group;
	own->record.since_ns = bpf_ktime_get_ns();
	own->received = tp->rcv_nxt;
	own->unseen = UNSEEN;
	receiver_init(&own->receiver, &wanted->parameters, tp->rcv_wnd, mss, (u32)tp->tcp_mstamp);
	own->record.window_bytes = own->receiver.window_bytes;
	bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_STATE_CB_FLAG |
					       BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
}

/* Adds a connection that ends to the sums of its group. */
static __always_inline void count_finished(const struct tcp_sock *tp, struct reception *own)
{
	const struct sock_common *common = &tp->inet_conn.icsk_inet.sk.__sk_common;
	u64 fin = common->skc_flags & (1 << SOCK_DONE) ? 1 : 0;
	u64 group = own->record.group;
	struct totals *sums = bpf_map_lookup_elem(&totals, &group);

	if (!sums)
		return;
	__sync_fetch_and_add(&sums->receiving_sockets, 1);
	__sync_fetch_and_add(&sums->receiving_bytes, tp->bytes_received - fin);
	__sync_fetch_and_add(&sums->receiving_yields, own->record.report.yields);
}

/* Copies what user space reads of a connection. */
static __always_inline void publish(struct reception *own, u32 window_bytes)
{
	struct reception_record *record = &own->record;
	u32 rtt_us = own->receiver.minimum_rtt_us;

	record->report = own->receiver.policy.report;
	record->window_bytes = window_bytes;
	record->minimum_rtt_us = rtt_us == NETNICE_NO_SAMPLE ? 0 : rtt_us;
	record->paused = window_bytes <= RECEIVER_PAUSE_BYTES;
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

/* Returns what the group knows of the path from the peer; NULL if there is no memory for it. */
static __always_inline struct receiver_path *path_of(const struct bpf_sock_ops *ops, u64 group)
{
	struct path_key key = { .group = group };
	struct receiver_path unknown = {};
	struct receiver_path *path;

	if (ops->family == AF_INET) {
		key.peer[0] = ops->remote_ip4;
	} else {
		key.peer[0] = ops->remote_ip6[0];
		key.peer[1] = ops->remote_ip6[1];
		key.peer[2] = ops->remote_ip6[2];
		key.peer[3] = ops->remote_ip6[3];
	}
	path = bpf_map_lookup_elem(&receiver_paths, &key);
	if (path)
		return path;
	bpf_map_update_elem(&receiver_paths, &key, &unknown, BPF_NOEXIST);
	return bpf_map_lookup_elem(&receiver_paths, &key);
}

/* Returns what is known of a group; NULL if there is no memory for it. */
static __always_inline struct receiver_group *group_of(u64 group)
{
	struct receiver_group unknown = {};
	struct receiver_group *found = bpf_map_lookup_elem(&receiver_groups, &group);

	if (found)
		return found;
	bpf_map_update_elem(&receiver_groups, &group, &unknown, BPF_NOEXIST);
	return bpf_map_lookup_elem(&receiver_groups, &group);
}

/* Completes `segment` of a connection without timestamps. */
static __always_inline void time_without_stamps(const struct tcp_sock *tp, struct reception *own,
						struct receiver_segment *segment)
{
	struct receiver_advertised advertised = {
		.left_us = bpf_ktime_get_ns() / 1000,
		.received = tp->rcv_nxt,
		.edge = tp->rcv_wup + tp->rcv_wnd,
	};

	receiver_timed(&own->round_trip, &own->receiver, segment, &advertised);
}

static __always_inline void advertise(struct bpf_sock_ops *ops, struct tcp_sock *tp,
				      struct reception *own)
{
	const struct tcp_options_received *options = &tp->rx_opt;
	u32 scale = BPF_CORE_READ_BITFIELD(options, rcv_wscale) & 15;
	struct receiver_segment segment = {
		.now_us = (u32)tp->tcp_mstamp,
		.rtt_us = round_trip_us(tp),
		.tsval = tp->rx_opt.rcv_tsval,
		.bytes = tp->rcv_nxt - own->received,
		.mss = tp->inet_conn.icsk_ack.rcv_mss,
		.limit_bytes = policy_min(65535U << scale, LARGEST_WINDOW),
		.bound_bytes = tp->rcv_ssthresh,
		.gap = tp->out_of_order_queue.rb_node != 0,
		.ce = (tp->ecn_flags & TCP_ECN_DEMAND_CWR) != 0,
		.delayed_ack = is_delayed_ack(tp),
		.has_data = ops->skb_len > 0,
	};
	struct receiver_path *path = path_of(ops, own->record.group);
	struct receiver_group *group = group_of(own->record.group);
	u32 number = (u32)bpf_get_socket_cookie(ops) | 1U << 31;
	u32 window;

	own->received = tp->rcv_nxt;
	own->scale = scale;
	if (!has_timestamps(tp))
		time_without_stamps(tp, own, &segment);
	/* Without stamps a probe of a closed window would give no sample. */
	if (group && own->unseen < UNSEEN && has_timestamps(tp))
		segment.may_close = receiver_others_probe(group, number, segment.now_us);
	if (path)
		receiver_adopt_path(&own->receiver, path, &segment);
	window = receiver_answer(&own->receiver, &segment);
	if (path)
		receiver_share_path(&own->receiver, path, &segment);
	if (group)
		receiver_share_probing(&own->receiver, group, number, segment.now_us);
	publish(own, window);
	if (!has_timestamps(tp) && own->record.report.signal == POLICY_SIGNAL_ONE_WAY_DELAY)
		own->record.report.signal = POLICY_SIGNAL_ROUND_TRIP;
	own->closing = !window;
	own->unseen = policy_min(own->unseen + 1, UNSEEN);
	window = receiver_clamp_bytes(&own->receiver);
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
	if (tp && ops->op == BPF_SOCK_OPS_STATE_CB)
		count_finished(tp, own);
	else if (tp)
		advertise(ops, tp, own);
	return 1;
}

/* Returns the position of the TCP header of a packet from `sk`; 0 if it is not where it may be. */
static __always_inline u32 tcp_position(struct __sk_buff *skb, const struct bpf_sock *sk)
{
	/* After an Ethernet header, with or without a VLAN tag in it, or without any. */
	const u32 starts[] = { 14, 0, 18 };
	u32 number;

	for (number = 0; number < sizeof(starts) / sizeof(starts[0]); number++) {
		u32 start = starts[number], position;
		struct {
			__be16 source, destination;
		} ports;
		u8 ip[10];

		if (bpf_skb_load_bytes(skb, start, ip, sizeof(ip)))
			continue;
		if (ip[0] >> 4 == 4 && ip[9] == IPPROTO_TCP)
			position = start + (ip[0] & 15) * 4;
		else if (ip[0] >> 4 == 6 && ip[6] == IPPROTO_TCP)
			position = start + 40;
		else
			continue;
		if (!bpf_skb_load_bytes(skb, position, &ports, sizeof(ports)) &&
		    ports.source == __builtin_bswap16((u16)sk->src_port) &&
		    ports.destination == sk->dst_port)
			return position;
	}
	return 0;
}

/* Closes the window in the segments of connections whose policy asks for it. */
SEC("tc")
int netnice_window(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	struct reception *own;
	u32 position, edge, left, grains;
	__be16 offered, wanted;
	__be32 acknowledged;
	bool known, closing;

	sk = sk ? bpf_sk_fullsock(sk) : sk;
	own = sk ? bpf_sk_storage_get(&receptions, sk, 0, 0) : 0;
	if (!own)
		return TCX_NEXT;
	position = tcp_position(skb, sk);
	if (!position)
		return TCX_NEXT;
	if (bpf_skb_load_bytes(skb, position + 8, &acknowledged, 4) ||
	    bpf_skb_load_bytes(skb, position + 14, &offered, 2))
		return TCX_NEXT;
	edge = __builtin_bswap32(acknowledged) +
	       ((u32)__builtin_bswap16(offered) << (own->scale & 15));
	known = own->unseen < UNSEEN;
	closing = own->closing && known;
	own->unseen = 0;
	/* For this segment only: netnice_receive() may never be called again. */
	own->closing = 0;
	if (!known || (!closing && policy_after(edge, own->edge)))
		own->edge = edge;
	if (!closing || !policy_after(edge, own->edge))
		return TCX_NEXT;
	left = own->edge - __builtin_bswap32(acknowledged);
	if ((s32)left < 0)
		left = 0;
	grains = (left + (1U << (own->scale & 15)) - 1) >> (own->scale & 15);
	if (grains >= __builtin_bswap16(offered))
		return TCX_NEXT;
	wanted = __builtin_bswap16((u16)grains);
	bpf_l4_csum_replace(skb, position + 16, offered, wanted, sizeof(wanted));
	bpf_skb_store_bytes(skb, position + 14, &wanted, sizeof(wanted), 0);
	return TCX_NEXT;
}
