/* SPDX-License-Identifier: GPL-2.0-only */
/* netnice's policy for data that is received, as the programs call it. */
#ifndef NETNICE_RECEIVER_ANSWER_H
#define NETNICE_RECEIVER_ANSWER_H

#include "receiver.h"

/* The verifier checks this once, not on each path that leads to it. */
__noinline u32 receiver_answer(struct receiver *state, const struct receiver_segment *segment)
{
	return state && segment ? receiver_window(state, segment) : 0;
}

#endif
