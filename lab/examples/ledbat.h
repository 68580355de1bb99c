/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* LEDBAT (RFC 6817) with round-trip times in place of one-way delays. */
#define CONTROL_INTERFACE 1
#include "control.h"

#define TARGET_US 60000U /* queueing delay; RFC 6817, 2.5: at most 100 ms */
#define STEP_US (TARGET_US / 1000)
#define BASE_HISTORY 10  /* minutes */
#define CURRENT_FILTER 4 /* samples */
#define MINUTE_US 60000000U
#define MINIMUM_CWND 2U

struct control {
	u32 minutes_us[BASE_HISTORY]; /* the smallest delay of each minute, the latest first */
	u32 base_us;                  /* the smallest of all minutes */
	u32 current_us[CURRENT_FILTER];
	u32 minute_us;    /* when the current minute began */
	u32 above, below; /* the target: thousandths of it, times packets acknowledged */
};

/* Puts a delay first, forgets the last one, and returns the smallest; 0 is no delay. */
POLICY_INLINE u32 put_first(u32 *delays_us, u32 count, u32 delay_us)
{
	u32 smallest_us = delay_us;

	for (u32 i = count - 1; i > 0; i--) {
		delays_us[i] = delays_us[i - 1];
		if (delays_us[i])
			smallest_us = policy_min(smallest_us, delays_us[i]);
	}
	delays_us[0] = delay_us;
	return smallest_us;
}

POLICY_INLINE void control_on_ack(struct control *state, const struct control_ack *ack,
				  struct control_window *window)
{
	u32 queue_us, acked = policy_min(ack->acked, 1000), round = 1000U * window->cwnd;

	if (!ack->rtt_us)
		return;
	if (!state->minute_us || ack->now_us - state->minute_us > MINUTE_US) {
		state->minute_us = ack->now_us | 1;
		state->base_us = put_first(state->minutes_us, BASE_HISTORY, ack->rtt_us);
	}
	state->minutes_us[0] = policy_min(state->minutes_us[0], ack->rtt_us);
	state->base_us = policy_min(state->base_us, ack->rtt_us);
	queue_us = put_first(state->current_us, CURRENT_FILTER, ack->rtt_us) - state->base_us;

	/* 2.4.2: cwnd += GAIN * (TARGET - queue) / TARGET * acked / cwnd, with GAIN = 1. */
	if (queue_us > TARGET_US)
		state->above += acked * policy_min((queue_us - TARGET_US) / STEP_US, 1000);
	else if (ack->cwnd_limited)
		state->below += acked * ((TARGET_US - queue_us) / STEP_US);
	if (state->below >= round) {
		state->below -= round;
		window->cwnd++;
	}
	if (state->above >= round) {
		state->above -= round;
		window->cwnd = policy_max(window->cwnd - 1, MINIMUM_CWND);
	}
}

POLICY_INLINE u32 control_on_loss(struct control *state, const struct control_loss *loss)
{
	return policy_max(loss->cwnd / 2, MINIMUM_CWND); /* 2.4.2: at most once in a round trip */
}

POLICY_INLINE u32 control_on_timeout(struct control *state, const struct control_loss *loss)
{
	return MINIMUM_CWND;
}
