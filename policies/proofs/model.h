/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a proof by bounded model checking (cbmc) has in place of a machine: inputs that may be anything, assertions, and an
 * approximation of what no solver has in time. See tools/prove.
 */
#ifndef NETNICE_PROOFS_MODEL_H
#define NETNICE_PROOFS_MODEL_H

#define POLICY_PROOF
#define POLICY_ASSERT(condition) __CPROVER_assert(condition, #condition)
#include "integer.h"

#define ASSUME(condition) __CPROVER_assume(condition)
#define PROVE(condition, claim) __CPROVER_assert(condition, claim)

u32 nondet_u32(void);

/* Any number that value * times / parts can be, and more: all that is known is that a part of a number is not larger. */
POLICY_INLINE u32 policy_scale(u32 value, u32 times, u64 parts)
{
	u32 scaled = nondet_u32();

	PROVE(parts != 0, "policy_scale() does not divide by zero");
	ASSUME(times > parts || scaled <= value);
	ASSUME(value > parts || scaled <= times);
	return scaled;
}

#endif
