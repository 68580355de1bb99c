/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which group a packet of UDP belongs to: that of its socket's cgroup, or of the nearest one above that has settings.
 */
#ifndef NETNICE_UDP_GROUPS_H
#define NETNICE_UDP_GROUPS_H

#include "cgroup_types.h"
#include <bpf/bpf_helpers.h>
#include "abi.h"

#define DEEPEST_LEVEL 15 /* of a cgroup above that may have settings */

/* Settings by group; user space writes and removes the entries. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct utp_group);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} utp_groups SEC(".maps");

static __always_inline bool is_governed(const struct utp_group *settings)
{
	return settings->sends || settings->receives;
}

/* Returns the socket of UDP that a packet comes from; NULL if it is none. A tunnel's packets have the sockets of those in it. */
static __always_inline struct bpf_sock *udp_socket(struct __sk_buff *skb)
{
	struct bpf_sock *socket = skb->sk;

	if (!socket)
		return 0;
	socket = bpf_sk_fullsock(socket);
	return socket && socket->protocol == IPPROTO_UDP ? socket : 0;
}

/* Returns the settings of the cgroup nearest to the socket that has some; NULL if none has. */
static __noinline const struct utp_group *group_of(struct __sk_buff *skb, u64 *group)
{
	const struct utp_group *settings;
	int level;

	if (!group)
		return 0;
	*group = bpf_skb_cgroup_id(skb);
	settings = bpf_map_lookup_elem(&utp_groups, group);
	if (settings || !*group)
		return settings;
	for (level = DEEPEST_LEVEL; level >= 0; level--) {
		*group = bpf_skb_ancestor_cgroup_id(skb, level);
		settings = *group ? bpf_map_lookup_elem(&utp_groups, group) : 0;
		if (settings)
			return settings;
	}
	return 0;
}

#endif
