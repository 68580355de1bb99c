/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a user may set for one run or cgroup. Zero in a field means the policy's own default, so
 * that a zeroed struct is always valid. Ranges are checked in user space.
 */
#ifndef NETNICE_POLICY_PARAMETERS_H
#define NETNICE_POLICY_PARAMETERS_H

#include "integer.h"

struct policy_parameters {
	u16 delta_permille;        /* threshold within [d_min, d_max]; 1..1000 */
	u16 gamma_permille;        /* weight of a new sample in the smoothed delay; 1..1000 */
	u16 inference_rtts;        /* inference time-out, in round-trip times; 1..100 */
	u16 minimum_cwnd_permille; /* tcplp, hstcplp: least window, thousandths of a packet; 1..1000 */
	u32 threshold_us; /* netnice: floor under the threshold, above the minimum; 100..1000000 */
};

#endif
