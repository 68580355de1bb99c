// SPDX-License-Identifier: GPL-2.0-only
/*
 * netnice at the receiving end: passes arrivals to policies/receiver.h.
 *
 * No option closes a window: netnice_window() rewrites the field in segments that leave.
 */
#include "cgroup_types.h"
#include <bpf/bpf_helpers.h>
#include "decision_record.h"
#include "floors.h"
#include "netnice/netnice.h"
#include "receiver_answer.h"
#include "reception.h"

/* Verified once, as receiver_answer() is. */
__noinline u32 receiver_timed(struct receiver_round_trip *trip, const struct receiver *state,
			      struct receiver_segment *segment,
			      const struct receiver_advertised *advertised)
{
	struct receiver_known known;

	if (!trip || !state || !segment || !advertised)
		return 0;
	known = receiver_known(state);
	receiver_time(trip, &known, segment, advertised);
	return 1;
}

#define RECEIVER_NAME "netnice"

struct governed {
	struct receiver receiver;
	struct receiver_round_trip round_trip; /* of a connection without timestamps */
	struct receiver_floor floor;
	struct told told;
};

char _license[] SEC("license") = "GPL";

FLOORS(floors_received, floor_received)

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

static __always_inline void governed_begin(struct governed *state,
					   const struct policy_parameters *wanted, u32 window_bytes,
					   u32 mss, u32 now_us)
{
	receiver_init(&state->receiver, wanted, window_bytes, mss, now_us);
}

static __always_inline u32 governed_clamp_bytes(const struct governed *state)
{
	return policy_max(receiver_clamp_bytes(&state->receiver), state->floor.window_bytes);
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

/* The record of the connection has the window before. */
static __noinline void tell_decision(const struct reception *own, struct governed *state,
				     u64 cookie, u32 window)
{
	struct decision record = {
		.connection = cookie,
		.window_before = own->record.window_bytes,
		.window_after = window,
		.at_receiver = 1,
	};

	write_decision(own->record.group, &state->receiver.policy, &state->told, &record);
}

static __always_inline u32 governed_window(struct bpf_sock_ops *ops, const struct tcp_sock *tp,
					   struct reception *own, struct governed *state,
					   struct receiver_segment *segment)
{
	struct receiver *receiver = &state->receiver;
	struct receiver_path *path = path_of(ops, own->record.group);
	struct receiver_group *group = group_of(own->record.group);
	struct floor *floor = floor_received(own->record.group);
	u32 number = (u32)bpf_get_socket_cookie(ops) | 1U << 31;
	u32 window, rtt_us;

	if (!has_timestamps(tp)) {
		struct receiver_advertised advertised = advertised_by(tp);

		receiver_timed(&state->round_trip, receiver, segment, &advertised);
	}
	/* Without stamps a probe of a closed window would give no sample. */
	if (group && own->unseen < UNSEEN && has_timestamps(tp))
		segment->may_close = receiver_others_probe(group, number, segment->now_us);
	if (path)
		receiver_adopt_path(receiver, path, segment);
	window = receiver_answer_above(receiver, floor, &state->floor, segment);
	if (path)
		receiver_share_path(receiver, path, segment);
	if (group)
		receiver_share_probing(receiver, group, number, segment->now_us);
	if (receiver->policy.decided.moves != state->told.moves)
		tell_decision(own, state, bpf_get_socket_cookie(ops), window);
	rtt_us = receiver->minimum_rtt_us;
	publish(tp, own, &receiver->policy.report, rtt_us == NETNICE_UNKNOWN ? 0 : rtt_us, window);
	__builtin_memcpy(own->record.gave_way, receiver->policy.gave_way,
			 sizeof(own->record.gave_way));
	own->record.paused = window <= RECEIVER_PAUSE_BYTES;
	return window;
}

#include "receive.h"

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
