/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The delay filters of LEDBAT (RFC 6817, section 2.4.2): the smallest delay of each of the last ten
 * minutes, whose smallest is the base delay, and the last four samples, whose smallest is the
 * current delay. The arrays shift, because BPF's verifier permits no variable index into a socket's
 * state.
 */
#ifndef NETNICE_POLICY_LEDBAT_DELAYS_H
#define NETNICE_POLICY_LEDBAT_DELAYS_H

#include "integer.h"

#define LEDBAT_BASE_HISTORY 10U  /* minutes: BASE_HISTORY */
#define LEDBAT_CURRENT_FILTER 4U /* samples: CURRENT_FILTER */
#define LEDBAT_MINUTE_US 60000000U
#define LEDBAT_NO_DELAY 0xffffffffU

struct ledbat_delays {
	u32 base_us[LEDBAT_BASE_HISTORY]; /* of the current minute first */
	u32 current_us[LEDBAT_CURRENT_FILTER];
	u32 minute_us; /* start of the current minute */
};

/*
 * Returns the smaller of two delays without a branch: BPF's verifier follows every combination of
 * branches, and a minimum of ten values has a thousand.
 */
POLICY_INLINE u32 ledbat_smaller_us(u32 left_us, u32 right_us)
{
	u64 is_less = ((u64)left_us - right_us) >> 63;

	__asm__ volatile("" : "+r"(is_less)); /* keeps the compiler from making it a branch */
	return right_us ^ ((left_us ^ right_us) & (0 - (u32)is_less));
}

/* Returns the smallest of `delays_us`; LEDBAT_NO_DELAY if there is no sample. */
POLICY_INLINE u32 ledbat_smallest_us(const u32 *delays_us, u32 count)
{
	u32 smallest_us = LEDBAT_NO_DELAY;
	u32 index;

#pragma GCC unroll 10
	for (index = 0; index < count; index++)
		smallest_us = ledbat_smaller_us(delays_us[index], smallest_us);
	return smallest_us;
}

/* Makes room for a value at index 0; the oldest value is lost. */
POLICY_INLINE void ledbat_shift(u32 *delays_us, u32 count)
{
	u32 index;

#pragma GCC unroll 10
	for (index = count - 1; index > 0; index--)
		delays_us[index] = delays_us[index - 1];
}

POLICY_INLINE void ledbat_delays_forget_current(struct ledbat_delays *delays)
{
	u32 index;

#pragma GCC unroll 10
	for (index = 0; index < LEDBAT_CURRENT_FILTER; index++)
		delays->current_us[index] = LEDBAT_NO_DELAY;
}

/* Also initialises the filters. */
POLICY_INLINE void ledbat_delays_forget(struct ledbat_delays *delays)
{
	u32 index;

#pragma GCC unroll 10
	for (index = 0; index < LEDBAT_BASE_HISTORY; index++)
		delays->base_us[index] = LEDBAT_NO_DELAY;
	ledbat_delays_forget_current(delays);
}

/* update_base_delay() and update_current_delay() of RFC 6817, section 2.4.2. */
POLICY_INLINE void ledbat_delays_add(struct ledbat_delays *delays, u32 delay_us, u32 now_us)
{
	if (delays->base_us[0] == LEDBAT_NO_DELAY) {
		delays->minute_us = now_us;
		delays->base_us[0] = delay_us;
	} else if (now_us - delays->minute_us >= LEDBAT_MINUTE_US) {
		ledbat_shift(delays->base_us, LEDBAT_BASE_HISTORY);
		delays->minute_us = now_us;
		delays->base_us[0] = delay_us;
	} else {
		delays->base_us[0] = policy_min(delays->base_us[0], delay_us);
	}
	ledbat_shift(delays->current_us, LEDBAT_CURRENT_FILTER);
	delays->current_us[0] = delay_us;
}

/* The base delay; LEDBAT_NO_DELAY before the first sample. */
POLICY_INLINE u32 ledbat_delays_base_us(const struct ledbat_delays *delays)
{
	return ledbat_smallest_us(delays->base_us, LEDBAT_BASE_HISTORY);
}

/* queuing_delay of RFC 6817, section 2.4.2; 0 without a sample. */
POLICY_INLINE u32 ledbat_delays_queue_us(const struct ledbat_delays *delays)
{
	u32 current_us = ledbat_smallest_us(delays->current_us, LEDBAT_CURRENT_FILTER);
	u32 base_us = ledbat_delays_base_us(delays);

	if (current_us == LEDBAT_NO_DELAY || current_us < base_us)
		return 0;
	return current_us - base_us;
}

#endif
