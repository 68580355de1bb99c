/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reno (RFC 5681) with whole packets: test_control.py has the same steps in Python. */
#define CONTROL_INTERFACE 1
#include "control.h"

struct control {
	u32 acked;
};

POLICY_INLINE void control_on_ack(struct control *state, const struct control_ack *ack,
				  struct control_window *window)
{
	if (!ack->cwnd_limited)
		return;
	if (window->cwnd < window->ssthresh) {
		window->cwnd += ack->acked;
		return;
	}
	state->acked += ack->acked;
	if (state->acked >= window->cwnd) {
		state->acked -= window->cwnd;
		window->cwnd++;
	}
}

POLICY_INLINE u32 control_on_loss(struct control *state, const struct control_loss *loss)
{
	return policy_max(loss->cwnd / 2, 2);
}

POLICY_INLINE u32 control_on_timeout(struct control *state, const struct control_loss *loss)
{
	return policy_max(loss->in_flight / 2, 2);
}
