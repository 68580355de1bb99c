// SPDX-License-Identifier: GPL-2.0-only
/*
 * uTP at low priority, at the network interfaces: rewrites the window in packets that leave, for what
 * arrives, and in packets that arrive, for what leaves, as policies/utp.h says.
 *
 * A packet that leaves belongs to the group of its socket's cgroup, or of the nearest one above that has
 * settings. Of one that arrives the socket is not known yet: it belongs to the connection that packets
 * which left have made known, so that peers cannot fill the map.
 *
 * Nothing here depends on the layout of the kernel's own types.
 */
#include "cgroup_types.h"
#include <bpf/bpf_helpers.h>
#include "floors.h"
#include "maps.h"
#include "receiver_answer.h"
#include "udp_groups.h"
#include "utp.h"

char _license[] SEC("license") = "GPL";

#define FLOWS 2048 /* the map is not exact in what it forgets, and shares room among processors */

/* IPv4 addresses take the first word. Ports and numbers are as in the packet. */
struct utp_key {
	u32 peer[4];
	__be16 peer_port;
	__be16 local_port;
	u16 leaving; /* number of the connection in packets that leave */
	u16 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FLOWS);
	__type(key, struct utp_key);
	__type(value, struct utp_flow);
} utp_flows SEC(".maps");

FLOORS(floors_sent, floor_sent)
FLOORS(floors_received, floor_received)

/* No stack has room for one. */
static const struct utp_flow unknown_flow;

/* A packet, and where it is. */
struct found {
	struct utp_packet packet;
	struct utp_key key; /* the number is still the packet's own */
	u32 position;       /* of the UDP header */
	__be32 window;      /* as in the packet */
};

/* Returns the position of the network header, which has these first bytes; -1 if it is not where it may be. */
static __always_inline int network_position(struct __sk_buff *skb, const u32 first[5])
{
	/* After an Ethernet header, with or without a VLAN tag in it, or without any. */
	const u32 starts[] = { 14, 0, 18 };
	u32 number;

	for (number = 0; number < sizeof(starts) / sizeof(starts[0]); number++) {
		u32 bytes[5];

		if (!bpf_skb_load_bytes(skb, starts[number], bytes, sizeof(bytes)) &&
		    bytes[0] == first[0] && bytes[1] == first[1] && bytes[2] == first[2] &&
		    bytes[3] == first[3] && bytes[4] == first[4])
			return starts[number];
	}
	return -1;
}

/* Finds a packet that can be of uTP. Returns whether it is one. */
static __noinline bool find(struct __sk_buff *skb, struct found *found, bool leaves)
{
	u32 first[5];
	const u8 *ip = (const u8 *)first;
	u8 header[UTP_HEADER_BYTES];
	struct {
		__be16 source, destination, length, check;
	} udp;
	int start;
	u32 position;

	/* Of several packets in one only the first would be rewritten. */
	if (!found || skb->gso_segs > 1 ||
	    bpf_skb_load_bytes_relative(skb, 0, first, sizeof(first), BPF_HDR_START_NET))
		return false;
	if (ip[0] >> 4 == 4) {
		/* Fragments have no header, or more behind. */
		if (ip[9] != IPPROTO_UDP || (ip[6] & 0x3f) || ip[7])
			return false;
		position = (ip[0] & 15) * 4;
		found->key.peer[0] = first[leaves ? 4 : 3];
	} else if (ip[0] >> 4 == 6 && ip[6] == IPPROTO_UDP) {
		position = 40;
		if (bpf_skb_load_bytes_relative(skb, leaves ? 24 : 8, found->key.peer,
						sizeof(found->key.peer), BPF_HDR_START_NET))
			return false;
	} else {
		return false;
	}
	if (bpf_skb_load_bytes_relative(skb, position, &udp, sizeof(udp), BPF_HDR_START_NET) ||
	    bpf_skb_load_bytes_relative(skb, position + sizeof(udp), header, sizeof(header),
					BPF_HDR_START_NET) ||
	    !utp_read(&found->packet, header, __builtin_bswap16(udp.length) - (u32)sizeof(udp)))
		return false;
	start = network_position(skb, first);
	if (start < 0)
		return false;
	found->position = start + position;
	found->key.peer_port = leaves ? udp.destination : udp.source;
	found->key.local_port = leaves ? udp.source : udp.destination;
	found->window = __builtin_bswap32(found->packet.window);
	return true;
}

/* Returns the connection of a packet that leaves; NULL if there is no memory for it. */
static __noinline struct utp_flow *flow_of_departure(struct found *found)
{
	struct utp_key *key = &found->key;
	struct utp_flow *flow;

	key->leaving = found->packet.connection;
	if (found->packet.type == UTP_SYN) {
		key->leaving = utp_opened(found->packet.connection);
		bpf_map_update_elem(&utp_flows, key, &unknown_flow, BPF_ANY);
	}
	flow = bpf_map_lookup_elem(&utp_flows, key);
	if (!flow) {
		bpf_map_update_elem(&utp_flows, key, &unknown_flow, BPF_NOEXIST);
		flow = bpf_map_lookup_elem(&utp_flows, key);
	}
	if (flow && found->packet.type == UTP_SYN) {
		flow->arriving_connection = found->packet.connection;
		flow->arriving_known = 1;
	}
	return flow;
}

/* Returns the connection of key `key` if packets with the number `arriving` may arrive on it; otherwise NULL. */
static __always_inline struct utp_flow *flow_if_arriving(struct utp_key *key, u16 leaving,
							 u16 arriving)
{
	struct utp_flow *flow;

	key->leaving = leaving;
	flow = bpf_map_lookup_elem(&utp_flows, key);
	return flow && (!flow->arriving_known || flow->arriving_connection == arriving) ? flow : 0;
}

/* Returns the connection of a packet that has arrived; NULL if none is known. */
static __noinline struct utp_flow *flow_of_arrival(struct found *found)
{
	u16 number = found->packet.connection;
	struct utp_flow *flow;

	if (found->packet.type == UTP_SYN) {
		/* The ports and numbers of an older connection are used again: packets would have number + 1. */
		found->key.leaving = number;
		bpf_map_delete_elem(&utp_flows, &found->key);
		found->key.leaving = utp_opened(number + 1);
		bpf_map_delete_elem(&utp_flows, &found->key);
		return 0;
	}
	flow = flow_if_arriving(&found->key, utp_opened(number), number);
	if (!flow)
		flow = flow_if_arriving(&found->key, number - 1, number);
	if (flow && !flow->arriving_known) {
		flow->arriving_connection = number;
		flow->arriving_known = 1;
	}
	return flow;
}

/* Writes the window that the policy answers, if it is smaller than the program's. */
static __noinline int rewrite(struct __sk_buff *skb, struct found *found, struct utp_side *side,
			      u32 answer)
{
	u32 window = side && found ? utp_window(side, &found->packet, answer) : 0;
	__be32 wanted = __builtin_bswap32(window);

	if (!window)
		return 0;
	/* A checksum of 0 says that there is none. */
	bpf_l4_csum_replace(skb, found->position + 6, found->window, wanted,
			    sizeof(wanted) | BPF_F_MARK_MANGLED_0);
	bpf_skb_store_bytes(skb, found->position + 8 + 12, &wanted, sizeof(wanted), 0);
	return 1;
}

/* Adds the times that a direction has yielded since it was last asked. */
static __always_inline void tell_yields(struct totals *sums, struct utp_side *side)
{
	u32 yields = side->receiver.policy.report.yields;

	if (yields == side->yields)
		return;
	if (sums)
		__sync_fetch_and_add(&sums->utp_yields, yields - side->yields);
	side->yields = yields;
}

/* Asks the policy of a direction for the window. */
static __always_inline void govern(struct __sk_buff *skb, struct found *found, struct totals *sums,
				   struct utp_side *side, const struct receiver_segment *segment,
				   struct floor *floor)
{
	u32 answer = receiver_answer_above(&side->receiver, floor, &side->floor, segment);

	tell_yields(sums, side);
	rewrite(skb, found, side, answer);
}

/* Returns true if the packet is uTP's for certain. */
static __always_inline bool departs(struct __sk_buff *skb, struct found *found, u64 group,
				    const struct utp_group *settings, struct totals *sums)
{
	u32 now_us = (u32)(bpf_ktime_get_ns() / 1000);
	struct receiver_segment segment = {};
	struct utp_flow *flow;
	enum utp_clock clock;
	u32 bytes;

	flow = flow_of_departure(found);
	if (!flow)
		return false;
	flow->group = group;
	bytes = utp_count(&flow->leaving, &found->packet);
	clock = utp_follow_clock(flow, found->packet.stamp_us, now_us);
	if (clock == UTP_CLOCK_SET) {
		bpf_map_delete_elem(&utp_flows, &found->key);
		return false;
	}
	if (clock == UTP_CLOCK_CERTAIN && sums)
		__sync_fetch_and_add(&sums->utp_connections, 1);
	if (flow->certain)
		skb->cb[0] = UTP_RECOGNISED;
	if (flow->certain && sums)
		__sync_fetch_and_add(&sums->utp_bytes_sent, bytes);
	if (settings->receives &&
	    utp_segment_of_departure(flow, &settings->parameters, &found->packet, now_us, &segment))
		govern(skb, found, sums, &flow->arriving, &segment, floor_received(group));
	return flow->certain;
}

/* A packet of UDP leaves. */
static __always_inline void leave(struct __sk_buff *skb)
{
	const struct utp_group *settings;
	struct found found = {};
	struct totals *sums;
	u64 group;

	settings = group_of(skb, &group);
	if (!settings || !is_governed(settings))
		return;
	sums = bpf_map_lookup_elem(&totals, &group);
	if (find(skb, &found, true) && departs(skb, &found, group, settings, sums))
		return;
	/* By these it is noticed that the group transfers over other UDP (src/udp/watch.rs). */
	if (sums)
		__sync_fetch_and_add(&sums->udp_packets_sent,
				     skb->gso_segs > 1 ? skb->gso_segs : 1);
}

/* A packet arrives. */
static __always_inline void arrive(struct __sk_buff *skb)
{
	u32 now_us = (u32)(bpf_ktime_get_ns() / 1000);
	struct receiver_segment segment = {};
	struct found found = {};
	const struct utp_group *settings;
	struct utp_flow *flow;
	struct totals *sums;
	u64 group;
	u32 bytes;

	if (!find(skb, &found, false))
		return;
	flow = flow_of_arrival(&found);
	if (!flow)
		return;
	group = flow->group;
	settings = bpf_map_lookup_elem(&utp_groups, &group);
	if (!settings || !is_governed(settings))
		return;
	sums = bpf_map_lookup_elem(&totals, &group);
	bytes = utp_count(&flow->arriving, &found.packet);
	utp_on_arrival(flow, &found.packet, now_us);
	if (flow->certain)
		skb->cb[0] = UTP_RECOGNISED;
	if (flow->certain && sums)
		__sync_fetch_and_add(&sums->utp_bytes_received, bytes);
	if (settings->sends &&
	    utp_segment_of_arrival(flow, &settings->parameters, &found.packet, now_us, &segment))
		govern(skb, &found, sums, &flow->leaving, &segment, floor_sent(group));
}

/* At both ways of an interface, so that the kernel verifies the policy once. */
SEC("tc")
int netnice_utp(struct __sk_buff *skb)
{
	bool leaves = !skb->ingress_ifindex;

	if (leaves) {
		if (udp_socket(skb))
			leave(skb);
		return TCX_NEXT;
	}
	/* What this host forwards is not the group's. */
	if (skb->ingress_ifindex == skb->ifindex)
		arrive(skb);
	return TCX_NEXT;
}
