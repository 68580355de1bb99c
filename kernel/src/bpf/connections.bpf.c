// SPDX-License-Identifier: GPL-2.0-only
/* Lists the connections that have a control of ours, and what came of those that have ended. */
#include "iterator_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "maps.h"

char _license[] SEC("license") = "GPL";

/* `src/flow.rs` has the same numbers. */
_Static_assert(sizeof(struct connection) == 176, "a new member needs a change in user space");
_Static_assert(__builtin_offsetof(struct connection, target_bits_per_s) == 168, "as above");

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
	to->target_bits_per_s = flow->parameters.target_bits_per_s;
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

/* Who is not root sees what came of the own connections. */
SEC("iter/bpf_map_elem")
int netnice_ended(struct bpf_iter__bpf_map_elem *context)
{
	u32 reader = bpf_get_current_uid_gid();
	struct finished *last = context->value;
	struct finished copy;

	if (!last)
		return 0;
	__builtin_memcpy(&copy, last, sizeof(copy));
	if (!reader || reader == copy.user)
		bpf_seq_write(context->meta->seq, &copy, sizeof(copy));
	return 0;
}
