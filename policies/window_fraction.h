/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A window in 65536ths of a packet, for controls whose steps are smaller than a packet. */
#ifndef NETNICE_POLICY_WINDOW_FRACTION_H
#define NETNICE_POLICY_WINDOW_FRACTION_H

#include "integer.h"

#define WINDOW_PACKET 65536ULL
#define WINDOW_LIMIT (1ULL << 24) /* packets */

/* Returns cwnd after growth by `parts`; `*fraction` is what remains below a packet. */
POLICY_INLINE u32 window_grow(u32 *fraction, u32 cwnd, u64 parts)
{
	u64 window = cwnd * WINDOW_PACKET + *fraction + parts;

	*fraction = (u32)(window % WINDOW_PACKET);
	window /= WINDOW_PACKET;
	return window < WINDOW_LIMIT ? (u32)window : (u32)WINDOW_LIMIT;
}

/* Returns cwnd after a decrease by `parts`, at least `minimum` packets. */
POLICY_INLINE u32 window_shrink(u32 *fraction, u32 cwnd, u64 parts, u32 minimum)
{
	u64 window = cwnd * WINDOW_PACKET + *fraction;

	if (window < parts + minimum * WINDOW_PACKET) {
		*fraction = 0;
		return minimum;
	}
	window -= parts;
	*fraction = (u32)(window % WINDOW_PACKET);
	return (u32)(window / WINDOW_PACKET);
}

#endif
