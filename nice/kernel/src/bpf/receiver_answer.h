/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * netnice's policy for data that is received, as the programs call it. The verifier checks each of these
 * functions once, not on each path that leads to it.
 */
#ifndef NETNICE_RECEIVER_ANSWER_H
#define NETNICE_RECEIVER_ANSWER_H

#include "receiver.h"
#include "receiver_floor.h"

__noinline u32 receiver_answer(struct receiver *state, const struct receiver_segment *segment)
{
	return state && segment ? receiver_window(state, segment) : 0;
}

/* Hides a segment that is no evidence for low priority; returns whether it did. */
__noinline u32 receiver_hidden(struct receiver *state, const struct receiver_floor *own,
			       const struct receiver_segment *segment)
{
	if (!state || !own || !segment || !receiver_floor_is_hidden(state, own, segment))
		return 0;
	receiver_floor_hide(state, segment);
	return 1;
}

__noinline u32 receiver_above_floor(const struct receiver *state, struct floor *floor,
				    struct receiver_floor *own,
				    const struct receiver_segment *segment, u32 low_bytes)
{
	if (!state || !floor || !own || !segment)
		return 0;
	return receiver_floor_window(state, floor, own, segment, low_bytes);
}

/* Returns the window of a connection of a group that has a floor, or none: NULL. */
static __always_inline u32 receiver_answer_above(struct receiver *state, struct floor *floor,
						 struct receiver_floor *own,
						 const struct receiver_segment *segment)
{
	u32 window;

	if (floor && receiver_hidden(state, own, segment))
		window = state->window_bytes;
	else
		window = receiver_answer(state, segment);
	if (floor)
		return policy_max(window, receiver_above_floor(state, floor, own, segment, window));
	own->window_bytes = 0;
	return window;
}

#endif
