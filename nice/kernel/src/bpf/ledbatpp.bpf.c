// SPDX-License-Identifier: GPL-2.0-only
/* LEDBAT++: passes the kernel's events to policies/ledbatpp.h. */
#include "delay_policy.h"
#include "ledbatpp.h"

char _license[] SEC("license") = "GPL";

DELAY_POLICY_PROGRAMS(ledbatpp)

SEC(".struct_ops.link")
struct tcp_congestion_ops ledbatpp = {
	DELAY_POLICY_OPERATIONS(ledbatpp),
	.flags = TCP_CONG_NON_RESTRICTED,
};
