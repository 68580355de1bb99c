/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* LEDBAT (RFC 6817) with round-trip times in place of one-way delays. */
#define CONTROL_INTERFACE 1
#include "control.h"

#define TARGET_US 60000U /* queueing delay; RFC 6817, 2.5: at most 100 ms */
#define BASE_HISTORY 10  /* minutes */
#define CURRENT_FILTER 4 /* samples */
#define MINUTE_US 60000000U
#define MINIMUM_CWND 2U

struct control {
	u32 base_us
		[BASE_HISTORY]; /* the smallest delay of each minute, the latest first; 0: none */
	u32 current_us[CURRENT_FILTER];
	u32 minute_us; /* when the current minute began */
	u32 gained;    /* thousandths of the target, times packets acknowledged */
	u32 lost;
};

POLICY_INLINE u32 smallest(const u32 *values, u32 count)
{
	u32 least = 0;

	for (u32 i = 0; i < count; i++)
		if (values[i] && (!least || values[i] < least))
			least = values[i];
	return least;
}

/* Puts a value first; the last one is forgotten. */
POLICY_INLINE void put_first(u32 *values, u32 count, u32 value)
{
	for (u32 i = count - 1; i > 0; i--)
		values[i] = values[i - 1];
	values[0] = value;
}

POLICY_INLINE void control_on_ack(struct control *state, const struct control_ack *ack,
				  struct control_window *window)
{
	u32 queue_us, acked = policy_min(ack->acked, 1000), round = 1000U * window->cwnd;

	if (!ack->rtt_us)
		return;
	if (!state->minute_us || ack->now_us - state->minute_us > MINUTE_US) {
		state->minute_us = ack->now_us | 1;
		put_first(state->base_us, BASE_HISTORY, ack->rtt_us);
	}
	state->base_us[0] = policy_min(state->base_us[0], ack->rtt_us);
	put_first(state->current_us, CURRENT_FILTER, ack->rtt_us);
	queue_us = smallest(state->current_us, CURRENT_FILTER) -
		   smallest(state->base_us, BASE_HISTORY);

	/* 2.4.2: cwnd += GAIN * (TARGET - queue) / TARGET * acked / cwnd, with GAIN = 1. */
	if (queue_us <= TARGET_US && ack->cwnd_limited)
		state->gained += acked * ((TARGET_US - queue_us) / (TARGET_US / 1000));
	else if (queue_us > TARGET_US)
		state->lost +=
			acked * policy_min((queue_us - TARGET_US) / (TARGET_US / 1000), 1000);
	if (state->gained >= round) {
		state->gained -= round;
		window->cwnd++;
	}
	if (state->lost >= round) {
		state->lost -= round;
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
