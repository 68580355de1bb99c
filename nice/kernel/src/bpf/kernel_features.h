/* SPDX-License-Identifier: GPL-2.0-only */
/* What the loader tells of the running kernel (objects/compiled.rs). The verifier skips what these rule out. */
#ifndef NETNICE_KERNEL_FEATURES_H
#define NETNICE_KERNEL_FEATURES_H

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>

struct kernel_features {
	u32 cong_control_arguments; /* 2, or 4 since 6.10 */
	u32 sets_pacing; /* a control may write sk_pacing_status and sk_pacing_rate: since 6.0 */
};

const volatile struct kernel_features kernel SEC(".rodata.kernel") = {
	.cong_control_arguments = 2,
	.sets_pacing = 1,
};

#endif
