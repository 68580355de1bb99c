// SPDX-License-Identifier: GPL-2.0-only
/* LEDBAT (RFC 6817): passes the kernel's events to policies/ledbat.h. */
#include "delay_policy.h"
#include "ledbat.h"

char _license[] SEC("license") = "GPL";

DELAY_POLICY_PROGRAMS(ledbat)

SEC(".struct_ops.link")
struct tcp_congestion_ops ledbat = {
	DELAY_POLICY_OPERATIONS(ledbat),
	.flags = TCP_CONG_NON_RESTRICTED,
};
