// SPDX-License-Identifier: GPL-2.0-only
/*
 * UDP of a group at low priority, but for uTP: its large packets are led through queues of our own, whose rates a process in the
 * background sets (src/udp/keeper.rs).
 *
 *   out  a device's egress -> the queue of a veth -> its peer -> the veth's ingress -> the device's egress
 *   in   a device's ingress -> the queue of another veth -> its peer -> that veth's ingress -> the device's ingress
 *
 * The peers are in a network namespace of that process, so that all of it goes as the process ends. A packet that crosses into
 * another namespace loses its socket: at the device's egress it is nobody's then, and leaves. One that arrives has its group's mark
 * on its second way: programs of other groups, at the same device, let it pass.
 *
 * Small packets pass by, so that calls, games and DNS do not wait, and so do the long headers of QUIC, which make connections.
 * Of a packet that arrives the socket is not known yet: it is the group's if packets which left have made its ports known.
 */
#include "cgroup_types.h"
#include <bpf/bpf_helpers.h>
#include "floors.h"
#include "maps.h"
#include "udp_groups.h"

char _license[] SEC("license") = "GPL";

#define SMALL_BYTES 300 /* at the network layer */
#define ETHERNET_BYTES 14
#define UDP_BYTES 8
#define LONG_HEADER 0xc0 /* of QUIC, in the first byte (RFC 8999, 5.1; RFC 9000, 17.2) */
#define RETURNED 0x6e    /* in the first byte of a mark */
#define PEERS 1024
#define FLOWS 4096

enum way { OUT, IN, WAYS };

struct udp_settings {
	u64 group;
	u32 device;       /* whose packets pass the queues; 0: none */
	u32 queues[WAYS]; /* veths at the device; 0: packets do not wait */
	u32 link_header;  /* bytes of the device's header */
};

/* Bytes, with a header of Ethernet. */
struct udp_counts {
	u64 held;   /* before a queue */
	u64 passed; /* behind it */
	/* Of the group's floor, when a packet last passed. */
	u64 floor_bytes_per_s; /* 0: it has none */
	u64 floor_bytes;       /* what its connections have moved */
};

FLOORS(floors_sent, floor_sent)
FLOORS(floors_received, floor_received)

/* IPv4 addresses take the first word. */
struct udp_peer {
	u32 address[4];
	u32 device;
	u32 version; /* of IP */
};

struct udp_flow {
	u32 peer[4];
	__be16 peer_port;
	__be16 local_port;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct udp_settings);
} udp_settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WAYS);
	__type(key, u32);
	__type(value, struct udp_counts);
} udp_counts SEC(".maps");

/* Bytes of large packets by peer and way. */
struct moved {
	u64 bytes[WAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PEERS);
	__type(key, struct udp_peer);
	__type(value, struct moved);
} udp_peers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FLOWS);
	__type(key, struct udp_flow);
	__type(value, u8);
} udp_flows SEC(".maps");

struct found {
	struct udp_peer peer;
	struct udp_flow flow; /* without ports in fragments but the first */
	u32 network_header;   /* bytes of its header */
	bool large;
};

/* Returns the bytes of a packet on the wire: what is taken apart later (GSO, GRO) gets a header, of `header` bytes, for each part. */
static __always_inline u32 on_wire(const struct __sk_buff *skb, u32 header)
{
	u32 parts = skb->gso_segs;

	return skb->len + (parts > 1 ? (parts - 1) * header : 0);
}

/* Finds a packet of UDP. Returns whether it is one. */
static __noinline bool find(struct __sk_buff *skb, struct found *found, u32 link_header,
			    bool leaves)
{
	u8 ip[40];
	struct {
		__be16 source, destination, length, check;
	} udp;
	u32 position, network_bytes;
	u8 first = 0;
	bool ports = true;

	if (!found || bpf_skb_load_bytes_relative(skb, 0, ip, 20, BPF_HDR_START_NET))
		return false;
	if (ip[0] >> 4 == 4) {
		if (ip[9] != IPPROTO_UDP)
			return false;
		position = (ip[0] & 15) * 4;
		/* Fragments but the first have no header. */
		ports = !((ip[6] & 0x1f) || ip[7]);
		__builtin_memcpy(found->peer.address, ip + (leaves ? 16 : 12), 4);
	} else if (ip[0] >> 4 == 6 && ip[6] == IPPROTO_UDP) {
		position = 40;
		if (bpf_skb_load_bytes_relative(skb, leaves ? 24 : 8, found->peer.address,
						sizeof(found->peer.address), BPF_HDR_START_NET))
			return false;
	} else {
		return false;
	}
	found->peer.version = ip[0] >> 4;
	found->peer.device = skb->ifindex;
	found->network_header = position;
	if (ports) {
		if (bpf_skb_load_bytes_relative(skb, position, &udp, sizeof(udp),
						BPF_HDR_START_NET))
			return false;
		/* Without data there is no such byte. */
		bpf_skb_load_bytes_relative(skb, position + sizeof(udp), &first, 1,
					    BPF_HDR_START_NET);
		__builtin_memcpy(found->flow.peer, found->peer.address, sizeof(found->flow.peer));
		found->flow.peer_port = leaves ? udp.destination : udp.source;
		found->flow.local_port = leaves ? udp.source : udp.destination;
	}
	network_bytes = skb->len - link_header;
	found->large = network_bytes >= SMALL_BYTES && (first & LONG_HEADER) != LONG_HEADER &&
		       skb->cb[0] != UTP_RECOGNISED;
	return ports || leaves;
}

static __always_inline void count(const struct udp_settings *settings, const struct found *found,
				  u32 bytes, enum way way)
{
	struct moved *moved = bpf_map_lookup_elem(&udp_peers, &found->peer);
	struct totals *sums;
	u64 group = settings->group;

	if (!moved) {
		struct moved none = {};

		bpf_map_update_elem(&udp_peers, &found->peer, &none, BPF_NOEXIST);
		moved = bpf_map_lookup_elem(&udp_peers, &found->peer);
	}
	if (moved)
		__sync_fetch_and_add(&moved->bytes[way], bytes);
	sums = bpf_map_lookup_elem(&totals, &group);
	if (!sums)
		return;
	if (way == OUT)
		__sync_fetch_and_add(&sums->udp_bytes_sent, bytes);
	else
		__sync_fetch_and_add(&sums->udp_bytes_received, bytes);
}

/* Leads a packet of `version` of IP to the queue of a veth, which wants a header of Ethernet. */
static __always_inline int lead(struct __sk_buff *skb, const struct udp_settings *settings,
				const struct found *found, enum way way)
{
	u32 key = way;
	struct udp_counts *counts = bpf_map_lookup_elem(&udp_counts, &key);
	__be16 kind =
		found->peer.version == 4 ? __builtin_bswap16(0x0800) : __builtin_bswap16(0x86dd);
	u32 queue = settings->queues[way & 1];

	if (settings->device != skb->ifindex || !queue || !counts)
		return TCX_NEXT;
	if (!settings->link_header) {
		if (bpf_skb_change_head(skb, ETHERNET_BYTES, 0))
			return TCX_NEXT;
		bpf_skb_store_bytes(skb, 12, &kind, sizeof(kind), 0);
	}
	__sync_fetch_and_add(&counts->held,
			     on_wire(skb, ETHERNET_BYTES + found->network_header + UDP_BYTES));
	return bpf_redirect(queue, 0);
}

/* Returns the mark of what has passed the group's queue. */
static __always_inline u32 mark_of(const struct udp_settings *settings)
{
	return RETURNED << 24 | (settings->group & 0xffffff);
}

/* Returns whether a packet that leaves is from a socket of the group, and not a tunnel's, which holds such a packet. */
static __always_inline bool is_own(struct __sk_buff *skb, const struct udp_settings *settings,
				   const struct found *found)
{
	const struct bpf_sock *socket = udp_socket(skb);
	__be16 port = found->flow.local_port;
	u64 group;

	return socket && (!port || socket->src_port == __builtin_bswap16(port)) &&
	       group_of(skb, &group) && group == settings->group;
}

/* At both ways of a device. */
SEC("tc")
int netnice_udp(struct __sk_buff *skb)
{
	u32 zero = 0;
	const struct udp_settings *settings = bpf_map_lookup_elem(&udp_settings, &zero);
	struct found found = {};
	bool leaves = !skb->ingress_ifindex;
	enum way way = leaves ? OUT : IN;
	u32 link_header;
	u8 known = 1;

	if (!settings)
		return TCX_NEXT;
	if (!leaves && skb->mark >> 24 == RETURNED) {
		if (skb->mark == mark_of(settings))
			skb->mark = 0;
		return TCX_NEXT;
	}
	/* What this host forwards is neither. */
	if (!leaves && skb->ingress_ifindex != skb->ifindex)
		return TCX_NEXT;
	link_header = settings->device == skb->ifindex ? settings->link_header : ETHERNET_BYTES;
	if (!find(skb, &found, link_header, leaves) || (leaves && !is_own(skb, settings, &found)))
		return TCX_NEXT;
	if (leaves) {
		if (!bpf_map_lookup_elem(&udp_flows, &found.flow))
			bpf_map_update_elem(&udp_flows, &found.flow, &known, BPF_ANY);
	} else if (!bpf_map_lookup_elem(&udp_flows, &found.flow)) {
		return TCX_NEXT;
	}
	if (!found.large)
		return TCX_NEXT;
	count(settings, &found, on_wire(skb, found.network_header + UDP_BYTES) - link_header, way);
	return lead(skb, settings, &found, way);
}

/* At a veth's peer: the packet has passed the queue. */
static __always_inline int turn(struct __sk_buff *skb, enum way way)
{
	u32 zero = 0;
	const struct udp_settings *settings = bpf_map_lookup_elem(&udp_settings, &zero);
	u32 key = way;
	struct udp_counts *counts = bpf_map_lookup_elem(&udp_counts, &key);
	struct floor *floor;

	if (!settings || !counts)
		return bpf_redirect(skb->ifindex, 0);
	/* No larger than a packet of the device, as the queue was told. */
	__sync_fetch_and_add(&counts->passed, skb->len);
	floor = way == OUT ? floor_sent(settings->group) : floor_received(settings->group);
	counts->floor_bytes_per_s = floor ? floor->bytes_per_s : 0;
	if (floor) {
		floor_count_beside(floor, skb->len);
		counts->floor_bytes = floor->counted_bytes;
	}
	return bpf_redirect(skb->ifindex, 0);
}

SEC("tc")
int netnice_turn_out(struct __sk_buff *skb)
{
	return turn(skb, OUT);
}

SEC("tc")
int netnice_turn_in(struct __sk_buff *skb)
{
	return turn(skb, IN);
}

/* At a veth's ingress: back to where the packet was. */
SEC("tc")
int netnice_back_out(struct __sk_buff *skb)
{
	u32 zero = 0;
	const struct udp_settings *settings = bpf_map_lookup_elem(&udp_settings, &zero);

	return settings ? bpf_redirect(settings->device, 0) : TCX_NEXT;
}

SEC("tc")
int netnice_back_in(struct __sk_buff *skb)
{
	u32 zero = 0;
	const struct udp_settings *settings = bpf_map_lookup_elem(&udp_settings, &zero);

	if (!settings)
		return TCX_NEXT;
	skb->mark = mark_of(settings);
	return bpf_redirect(settings->device, BPF_F_INGRESS);
}
