// SPDX-License-Identifier: GPL-2.0-only
/*
 * Puts a congestion control on the sockets of a cgroup, and keeps it there.
 *
 * A socket belongs to the cgroup in which it was made, and to that one's ancestors. Where more
 * than one of these has settings the nearest wins: its program runs first and marks the flow.
 *
 * Nothing here depends on the layout of the kernel's own types: reading their description takes
 * most of the time that loading a program takes, and a command waits for these programs.
 */
#include "cgroup_types.h"
#include <bpf/bpf_helpers.h>
#include "maps.h"
#include "attachments.h"
#include "placed.h"

char _license[] SEC("license") = "GPL";

#define DSCP_UNCHANGED 0xff
#define LARGEST_OPTION 4096 /* the kernel shows programs no more than a page of a value */

/* Returns the flow of a socket, created if missing; NULL if a nearer cgroup governs the socket. */
static __always_inline struct flow *own_flow(struct bpf_sock *sk, u64 group)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!flow || (flow->group && flow->group != group))
		return 0;
	flow->group = group;
	return flow;
}

/* The kernel preserves the two ECN bits, but derives the socket's priority from the rest: a priority of the program's own
 * is set again. */
static __always_inline void set_dscp(struct bpf_sock_ops *ops, u8 dscp)
{
	int field = dscp << 2;
	int priority = 0;

	if (dscp == DSCP_UNCHANGED)
		return;
	bpf_getsockopt(ops, SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority));
	if (ops->family == AF_INET)
		bpf_setsockopt(ops, SOL_IP, IP_TOS, &field, sizeof(field));
	else
		bpf_setsockopt(ops, SOL_IPV6, IPV6_TCLASS, &field, sizeof(field));
	if (priority)
		bpf_setsockopt(ops, SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority));
}

static __always_inline void count_refused(u64 group)
{
	struct totals *sums = bpf_map_lookup_elem(&totals, &group);

	if (sums)
		__sync_fetch_and_add(&sums->refused, 1);
}

/* Leaves the settings for netnice_keep(), which runs after the programs of others. */
static __always_inline void note_placed(struct bpf_sock *sk, const struct attachment *wanted)
{
	struct attachment *kept = bpf_sk_storage_get(&placed, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (kept)
		*kept = *wanted;
}

static __always_inline void set_control(struct bpf_sock_ops *ops, struct flow *flow,
					struct attachment *wanted)
{
	/* The control's `init` reads these, at once or when the connection is established. */
	flow->parameters = wanted->parameters;
	bpf_getsockopt(ops, SOL_TCP, TCP_CONGESTION, flow->previous, sizeof(flow->previous));
	if (bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, wanted->control,
			   sizeof(wanted->control)) &&
	    ops->op != BPF_SOCK_OPS_TCP_LISTEN_CB)
		count_refused(wanted->group);
}

/*
 * Sets the control when the connection is established, before any packet of data: set earlier, its
 * `init` would run without the results of the handshake (timestamps, the first RTT).
 */
SEC("sockops")
int netnice_place(struct bpf_sock_ops *ops)
{
	struct attachment *wanted = bpf_get_local_storage(&attachments, 0);
	struct bpf_sock *sk = ops->sk;
	struct flow *flow;

	switch (ops->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		break;
	default:
		return 1;
	}
	if (!sk || !wanted->control[0])
		return 1;
	flow = own_flow(sk, wanted->group);
	if (!flow)
		return 1;
	/* The kernel makes it when it is first asked for, which a control cannot do: records of decisions name it. */
	bpf_get_socket_cookie(ops);
	if (ops->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		flow->unguarded = 0; /* copied while netnice changes the listening socket */
	set_dscp(ops, wanted->dscp);
	if (ops->op != BPF_SOCK_OPS_TCP_CONNECT_CB)
		set_control(ops, flow, wanted);
	if (ops->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB ||
	    ops->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		note_placed(sk, wanted);
	return 1;
}

static __always_inline bool ours_to_set(const struct bpf_sockopt *option,
					const struct attachment *wanted)
{
	if (option->level == SOL_TCP)
		return option->optname == TCP_CONGESTION;
	if (wanted->dscp == DSCP_UNCHANGED)
		return false;
	return (option->level == SOL_IP && option->optname == IP_TOS) ||
	       (option->level == SOL_IPV6 && option->optname == IPV6_TCLASS);
}

/*
 * Ignores a program's attempts to set these options, and reports success. The kernel does not run
 * this for calls of 32-bit programs on a 64-bit system.
 */
SEC("cgroup/setsockopt")
int netnice_guard(struct bpf_sockopt *option)
{
	struct attachment *wanted = bpf_get_local_storage(&attachments, 0);
	struct bpf_sock *sk = option->sk;
	struct flow *flow;

	if (option->optlen > LARGEST_OPTION)
		option->optlen = 0; /* the kernel uses the value that it has not shown */
	if (!sk || (sk->protocol != IPPROTO_TCP && sk->protocol != IPPROTO_MPTCP))
		return 1;
	if (!wanted->control[0] || !ours_to_set(option, wanted))
		return 1;
	flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	if (!flow || !flow->unguarded)
		option->optlen = -1;
	return 1;
}
