// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps what netnice has set on sockets where programs of others change it: a sockops program on a
 * cgroup above runs after those of a cgroup, and may set the callback flags of a socket, which ends
 * the calls that govern received data, or another control. This one is attached to the uppermost
 * cgroup that has such a program, behind it, so that it runs last.
 *
 * It leaves sockets alone to which no cgroup has given anything.
 */
#include "cgroup_types.h"
#include <bpf/bpf_helpers.h>
#include "placed.h"
#include "reception.h"

char _license[] SEC("license") = "GPL";

static __always_inline bool same_name(const char *one, const char *other)
{
	return *(const u64 *)one == *(const u64 *)other &&
	       *(const u64 *)(one + 8) == *(const u64 *)(other + 8);
}

/* Asks again for the calls by which received data is governed. */
static __always_inline void keep_callbacks(struct bpf_sock_ops *ops, struct bpf_sock *sk)
{
	const struct reception *own = bpf_sk_storage_get(&receptions, sk, 0, 0);
	u32 flags = ops->bpf_sock_ops_cb_flags;

	if (own && own->record.group && (flags & RECEPTION_CALLBACKS) != RECEPTION_CALLBACKS)
		bpf_sock_ops_cb_flags_set(ops, flags | RECEPTION_CALLBACKS);
}

/* Sets the control again. */
static __always_inline void keep_control(struct bpf_sock_ops *ops, struct bpf_sock *sk)
{
	struct attachment *wanted = bpf_sk_storage_get(&placed, sk, 0, 0);
	char current[sizeof(wanted->control)] = {};
	struct totals *sums;
	struct flow *flow;
	u64 group;

	if (!wanted || bpf_getsockopt(ops, SOL_TCP, TCP_CONGESTION, current, sizeof(current)) ||
	    same_name(current, wanted->control))
		return;
	/* The other control has ended the record. */
	flow = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!flow)
		return;
	group = wanted->group;
	flow->group = group;
	flow->parameters = wanted->parameters;
	__builtin_memcpy(flow->previous, current, sizeof(flow->previous));
	if (bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, wanted->control, sizeof(wanted->control)))
		return;
	sums = bpf_map_lookup_elem(&totals, &group);
	if (sums)
		__sync_fetch_and_add(&sums->restored, 1);
}

SEC("sockops")
int netnice_keep(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk;

	switch (ops->op) {
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_RTO_CB:
	case BPF_SOCK_OPS_RETRANS_CB:
	case BPF_SOCK_OPS_RTT_CB:
		break;
	default:
		return 1;
	}
	if (!sk)
		return 1;
	keep_callbacks(ops, sk);
	keep_control(ops, sk);
	return 1;
}
