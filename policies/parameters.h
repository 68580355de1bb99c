/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Parameters that a user may set for one run or cgroup. Zero in a member selects the policy's own
 * default, so that a zeroed struct is always valid. Its size is fixed, so that a member may serve
 * several controls: `threshold_us` is also LEDBAT's target, `delta_permille` TCP Nice's threshold,
 * `gamma_permille` LEDBAT's gain and TCP Nice's fraction, and `target_bits_per_s` netnice's floor. The table in foundation/parameters/src/table.rs has the
 * unit, range, default and offset of each member and the controls that read it; user space checks
 * against it.
 */
#ifndef NETNICE_POLICY_PARAMETERS_H
#define NETNICE_POLICY_PARAMETERS_H

#include "integer.h"

struct policy_parameters {
	u16 delta_permille;
	u16 gamma_permille;
	u16 inference_rtts;
	u16 minimum_cwnd_permille;
	u32 threshold_us;
	u32 c;
	u64 target_bits_per_s;
	u8 policy;
	u8 classes;
	u8 without_fair_window;
	u8 without_target_ssthresh;
	u8 without_ecn_by_profile;
	u8 slow_start;
	u8 reserved[2];
};

#endif
