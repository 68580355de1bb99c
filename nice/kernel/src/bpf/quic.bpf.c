// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refuses UDP to port 443 for the sockets of a cgroup, so that programs which would use QUIC fall
 * back to TCP, which can be governed. They get EPERM from connect and sendmsg.
 *
 * Nothing here depends on the layout of the kernel's own types or needs a map.
 */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include "cgroup_types.h"

char _license[] SEC("license") = "GPL";

#define QUIC_PORT 443 /* of HTTP/3: RFC 9114, 3.1.1 */

/* Returns 1 to let a call pass. */
static __always_inline int passes(const struct bpf_sock_addr *address)
{
	return address->protocol != IPPROTO_UDP || address->user_port != bpf_htons(QUIC_PORT);
}

SEC("cgroup/connect4")
int netnice_conn4(struct bpf_sock_addr *address)
{
	return passes(address);
}

SEC("cgroup/connect6")
int netnice_conn6(struct bpf_sock_addr *address)
{
	return passes(address);
}

SEC("cgroup/sendmsg4")
int netnice_send4(struct bpf_sock_addr *address)
{
	return passes(address);
}

SEC("cgroup/sendmsg6")
int netnice_send6(struct bpf_sock_addr *address)
{
	return passes(address);
}
