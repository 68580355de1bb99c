/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Integer names and small arithmetic shared by all policies. The BPF programs and the native
 * build (simulator, unit tests) include the very same files, so nothing here may name a kernel
 * type, and nothing may divide signed numbers: BPF before cpu v4 has no signed division.
 */
#ifndef NETNICE_POLICY_INTEGER_H
#define NETNICE_POLICY_INTEGER_H

#ifdef __bpf__
#include "kernel_types.h"
#else
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
#endif

#define POLICY_INLINE static inline __attribute__((always_inline, unused))

POLICY_INLINE u32 policy_min(u32 left, u32 right)
{
	return left < right ? left : right;
}

POLICY_INLINE u32 policy_max(u32 left, u32 right)
{
	return left > right ? left : right;
}

/* Whether time or timestamp `left` is after `right`; both may have wrapped (RFC 7323, 5.2). */
POLICY_INLINE int policy_after(u32 left, u32 right)
{
	return (s32)(left - right) > 0;
}

#endif
