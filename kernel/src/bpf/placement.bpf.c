// SPDX-License-Identifier: GPL-2.0-only
/*
 * Puts a congestion control on the sockets of a cgroup, keeps it there, and lists the
 * connections that have one of ours.
 *
 * A socket belongs to the cgroup in which it was made, and to that one's ancestors. Where more
 * than one of these has settings the nearest wins: its program runs first and marks the flow.
 */
#include "cgroup_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "maps.h"

char _license[] SEC("license") = "GPL";

#define DSCP_UNCHANGED 0xff
#define LARGEST_OPTION 4096 /* the kernel shows programs no more than a page of a value */

/*
 * The settings of each cgroup that the programs are attached to, keyed by the cgroup's id. The
 * kernel makes an entry, zeroed, when a program is attached, and removes it with the cgroup.
 */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_STORAGE);
	__type(key, u64);
	__type(value, struct placement);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} placements SEC(".maps");

/* The flow of a socket, made if there is none; NULL if a nearer cgroup has its hand on it. */
static __always_inline struct flow *own_flow(struct bpf_sock *sk, u64 group)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!flow || (flow->group && flow->group != group))
		return 0;
	flow->group = group;
	return flow;
}

/* The kernel keeps the two ECN bits as they are, whatever is set here. */
static __always_inline void set_dscp(struct bpf_sock_ops *ops, u8 dscp)
{
	int field = dscp << 2;

	if (dscp == DSCP_UNCHANGED)
		return;
	if (ops->family == AF_INET)
		bpf_setsockopt(ops, SOL_IP, IP_TOS, &field, sizeof(field));
	else
		bpf_setsockopt(ops, SOL_IPV6, IPV6_TCLASS, &field, sizeof(field));
}

static __always_inline void set_control(struct bpf_sock_ops *ops, struct flow *flow,
					struct placement *wanted)
{
	/* The control's `init` reads these, at once or when the connection is established. */
	flow->parameters = wanted->parameters;
	bpf_getsockopt(ops, SOL_TCP, TCP_CONGESTION, flow->previous, sizeof(flow->previous));
	bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, wanted->control, sizeof(wanted->control));
}

/*
 * The control is set when the connection is established, before a packet of data: set earlier,
 * its `init` would run without knowing what the handshake tells (timestamps, the first RTT).
 */
SEC("sockops")
int netnice_place(struct bpf_sock_ops *ops)
{
	struct placement *wanted = bpf_get_local_storage(&placements, 0);
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
	set_dscp(ops, wanted->dscp);
	if (ops->op != BPF_SOCK_OPS_TCP_CONNECT_CB)
		set_control(ops, flow, wanted);
	return 1;
}

static __always_inline bool ours_to_set(const struct bpf_sockopt *option,
					const struct placement *wanted)
{
	if (option->level == SOL_TCP)
		return option->optname == TCP_CONGESTION;
	if (wanted->dscp == DSCP_UNCHANGED)
		return false;
	return (option->level == SOL_IP && option->optname == IP_TOS) ||
	       (option->level == SOL_IPV6 && option->optname == IPV6_TCLASS);
}

/* What a program sets of these options is dropped, and it is told that all went well. */
SEC("cgroup/setsockopt")
int netnice_guard(struct bpf_sockopt *option)
{
	struct placement *wanted = bpf_get_local_storage(&placements, 0);
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

/* Root sees all connections; others see those of their own network namespace, as with ss. */
static __always_inline bool may_be_seen(struct sock *sk)
{
	struct task_struct *reader = (void *)bpf_get_current_task();
	struct net *network = BPF_CORE_READ(reader, nsproxy, net_ns);

	return !(u32)bpf_get_current_uid_gid() || network == sk->__sk_common.skc_net.net;
}

static __always_inline void read_addresses(struct sock *sk, struct connection *to)
{
	struct sock_common *common = &sk->__sk_common;

	to->family = common->skc_family;
	to->local_port = common->skc_num;
	to->remote_port = __builtin_bswap16(common->skc_dport);
	if (to->family == AF_INET) {
		bpf_core_read(to->local_address, 4, &common->skc_rcv_saddr);
		bpf_core_read(to->remote_address, 4, &common->skc_daddr);
	} else if (bpf_core_field_exists(common->skc_v6_daddr)) {
		bpf_core_read(to->local_address, 16, &common->skc_v6_rcv_saddr);
		bpf_core_read(to->remote_address, 16, &common->skc_v6_daddr);
	}
}

static __always_inline void read_progress(struct tcp_sock *tp, const struct flow *flow,
					  struct connection *to)
{
	struct sock *sk = (struct sock *)tp;

	to->mss = tp->mss_cache;
	to->cwnd = tp->snd_cwnd;
	to->ssthresh = tp->snd_ssthresh;
	to->smoothed_rtt_us = tp->srtt_us >> 3;
	to->delivered = tp->rate_delivered;
	to->delivered_interval_us = tp->rate_interval_us;
	to->retransmitted = tp->total_retrans;
	to->pacing_rate = sk->sk_pacing_rate;
	to->bytes_acked = tp->bytes_acked - flow->bytes_acked_at_start;
	to->bytes_received = tp->bytes_received - flow->bytes_received_at_start;
	to->age_ns = flow->since_ns ? bpf_ktime_get_ns() - flow->since_ns : 0;
	to->group = flow->group;
}

SEC("iter/bpf_sk_storage_map")
int netnice_list(struct bpf_iter__bpf_sk_storage_map *context)
{
	struct connection to = { .size = sizeof(to) };
	struct inet_connection_sock *icsk;
	struct flow *flow = context->value;
	struct sock *sk = context->sk;
	struct socket_alloc *socket;
	struct tcp_sock *tp;

	if (!sk || !flow || !may_be_seen(sk))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	icsk = &tp->inet_conn;
	to.state = sk->__sk_common.skc_state;
	to.cookie = bpf_get_socket_cookie(sk);
	to.network_namespace = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	to.user = sk->sk_uid.val;
	socket = (struct socket_alloc *)sk->sk_socket;
	if (socket)
		to.inode = BPF_CORE_READ(socket, vfs_inode.i_ino);
	bpf_core_read(to.control, sizeof(to.control), &icsk->icsk_ca_ops->name);
	bpf_core_read(&to.report, sizeof(to.report), &icsk->icsk_ca_priv);
	read_addresses(sk, &to);
	read_progress(tp, flow, &to);
	bpf_seq_write(context->meta->seq, &to, sizeof(to));
	return 0;
}
