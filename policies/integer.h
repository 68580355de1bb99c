/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Integer names and small arithmetic shared by all policies. The BPF programs and the native build
 * (simulator, unit tests) include the same files, so nothing here may name a kernel type, and
 * nothing may divide signed numbers: BPF before cpu v4 has no signed division.
 */
#ifndef NETNICE_POLICY_INTEGER_H
#define NETNICE_POLICY_INTEGER_H

/* The kernel's names stand for the same types, so that both declarations are compatible. */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;

#define POLICY_INLINE static inline __attribute__((always_inline, unused))
/*
 * A function of numbers alone that branches and is called in many places. The kernel's verifier
 * checks it once, and takes its result for any number, in place of following each branch at each call.
 */
#ifdef __bpf__
#define POLICY_CALLED __attribute__((noinline))
#else
#define POLICY_CALLED POLICY_INLINE
#endif
/*
 * A step that works on a policy's state: POLICY_CALLED with pointers. The verifier follows the paths
 * within each step, whose numbers add up, in place of those through all of them, whose numbers
 * multiply. It knows neither that the pointers point to something nor of steps without a result.
 * A call costs time: small functions that each ACK needs stay inline. The verifier of Linux 7.3
 * looks through a step anew for each chain of calls that hands it a pointer to a stack: what steps are told lies in the state
 * where it can.
 */
#ifdef __bpf__
#define POLICY_STEP_NEEDS(pointers)                                                                \
	do {                                                                                       \
		if (!(pointers))                                                                   \
			return 0;                                                                  \
	} while (0)
#else
#define POLICY_STEP_NEEDS(pointers)
#endif

/* What holds whenever this is reached. Builds that test or prove the policies define it; a kernel pays nothing. */
#ifndef POLICY_ASSERT
#define POLICY_ASSERT(condition) ((void)0)
#endif

POLICY_INLINE u32 policy_min(u32 left, u32 right)
{
	return left < right ? left : right;
}

POLICY_INLINE u32 policy_max(u32 left, u32 right)
{
	return left > right ? left : right;
}

/*
 * Returns value * times / parts, where parts is not 0. A proof replaces it by what it needs to know of it: no solver has a
 * product and a quotient of 64 bits in time.
 */
#ifndef POLICY_PROOF
POLICY_INLINE u32 policy_scale(u32 value, u32 times, u64 parts)
{
	return (u32)((u64)value * times / parts);
}
#endif

/*
 * Returns whether time or timestamp `left` is after `right`; both may have wrapped (RFC 7323, 5.2).
 */
POLICY_INLINE int policy_after(u32 left, u32 right)
{
	return (s32)(left - right) > 0;
}

#endif
