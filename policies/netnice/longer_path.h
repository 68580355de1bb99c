/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * netnice: distinguishes a longer path from the queue of others.
 *
 * A delay that stands still while the flow yields may be a longer path, or the queue behind a sender
 * limited by its peer's buffer. Only growth tells them apart: on a path that is longer and otherwise
 * empty the delay stays as it is until the window fills the path; behind a queue each packet of
 * ours adds to the delay at once. So the flow takes the delay for the path's on trial. If a queue
 * shows before the window fills the path, the earlier minimum is valid again, and the delay has to
 * stand still for four times as long before the next trial.
 */
#ifndef NETNICE_POLICY_NETNICE_LONGER_PATH_H
#define NETNICE_POLICY_NETNICE_LONGER_PATH_H

#include "integer.h"
#include "netnice/gaps.h"
#include "netnice/believe.h"
#include "netnice/decisions.h"
#include "netnice/state.h"

/*
 * Range of the samples of a steady delay: at most the threshold, which may be wide if the flow
 * never had the link to itself. A full queue shared by many flows varies by a twelfth of itself.
 */
POLICY_INLINE u32 netnice_steady_range_us(const struct netnice *state)
{
	u32 range_us = state->longer_path.steady_low_us / NETNICE_STEADY_PARTS;

	return policy_min(netnice_threshold_us(state) + NETNICE_DRIFT_US / 2,
			  policy_max(range_us, NETNICE_DRIFT_US));
}

/* Samples on both sides of a program's pause do not show what happened between them. */
POLICY_INLINE void netnice_notice_gap(struct netnice *state, u32 silent_s)
{
	if (!state->longer_path.on_trial && silent_s > NETNICE_STEADY_GAP_S)
		state->longer_path.steady_since_us = 0;
}

/*
 * Multiplies the time for which a delay must stand still before the next trial by four, but no more than `waits` times.
 */
POLICY_INLINE void netnice_defer_trial(struct netnice *state, u32 waits)
{
	state->longer_path.steady_since_us = 0;
	if (state->longer_path.trial_waits < waits)
		state->longer_path.trial_waits += 1;
}

/* Returns for how long a delay must stand still: the shortest time holds several probes. */
POLICY_INLINE u32 netnice_trial_wait_us(const struct netnice *state)
{
	u32 rounds_us = NETNICE_TRIAL_WAIT_ROUNDS *
			(state->measured.minimum_rtt_us + state->longer_path.steady_low_us);

	return policy_max(rounds_us, NETNICE_TRIAL_WAIT_US << 2 * state->longer_path.trial_waits);
}

/* While yielding: returns whether the delay has stood still for long enough to try it. */
POLICY_INLINE int netnice_is_steady(struct netnice *state, u32 queue_us, u32 now_us)
{
	if (!state->longer_path.steady_since_us) {
		state->longer_path.steady_since_us = now_us | 1;
		state->longer_path.steady_low_us = queue_us;
		state->longer_path.steady_high_us = queue_us;
		return 0;
	}
	state->longer_path.steady_low_us = policy_min(state->longer_path.steady_low_us, queue_us);
	state->longer_path.steady_high_us = policy_max(state->longer_path.steady_high_us, queue_us);
	if (state->longer_path.steady_high_us - state->longer_path.steady_low_us >
	    netnice_steady_range_us(state)) {
		/*
		 * The queue of others has moved. It may stand still for some seconds, as CUBIC's does on its
		 * plateau (RFC 9438, 4.2); a delay that does so for longer is there after they have left.
		 */
		netnice_defer_trial(state, NETNICE_MOVED_WAITS);
		return 0;
	}
	return now_us - state->longer_path.steady_since_us >= netnice_trial_wait_us(state);
}

/* Takes the steady delay for the path's, on trial. */
POLICY_INLINE void netnice_begin_trial(struct netnice *state, u32 delivered)
{
	u32 added_us = state->longer_path.steady_low_us;

	state->longer_path.on_trial = 1;
	state->longer_path.added_us = added_us;
	state->longer_path.rate_before_ns = state->believed.packet_ns;
	state->believed.handshake_us = 0;
	state->longer_path.trial_start = delivered;
	state->measured.minimum_rtt_us += added_us;
	if (state->measured.minimum_one_way_us)
		state->measured.minimum_one_way_us += added_us;
	state->measured.latest_queue_us -= policy_min(state->measured.latest_queue_us, added_us);
	/* What was added may fall again. */
	if (state->measured.one_way_slack_us != NETNICE_UNKNOWN)
		state->measured.one_way_slack_us += state->longer_path.added_us;
}

/* A queue has shown: the delays before the trial are the path's. */
POLICY_INLINE void netnice_fail_trial(struct netnice *state)
{
	u32 added_us = state->longer_path.added_us;

	state->longer_path.on_trial = 0;
	/* Falls below the minimum on trial are none below the earlier one. */
	state->measured.low_support = 0;
	state->believed.packet_ns =
		policy_min(state->believed.packet_ns, state->longer_path.rate_before_ns);
	state->measured.minimum_rtt_us -= added_us;
	if (state->measured.minimum_one_way_us)
		state->measured.minimum_one_way_us -= added_us;
	state->measured.latest_queue_us += added_us;
	state->measured.one_way_slack_us = NETNICE_UNKNOWN;
	state->measured.round_queue_us = NETNICE_UNKNOWN;
	netnice_defer_trial(state, NETNICE_TRIAL_WAITS);
}

/*
 * Ends a trial in which no queue has shown while the window filled the path, as far as its capacity
 * is known, and many packets were delivered without a loss: beside many others a queue is full, and
 * a few more packets do not change it. Where one-way delays showed the longer path, the way back may
 * have become longer, too: the round trip shows by how much, and the return goes on.
 */
POLICY_INLINE void netnice_judge_trial(struct netnice *state, const struct netnice_ack *ack)
{
	u32 there_us = state->measured.minimum_rtt_us + state->measured.latest_queue_us;
	u32 back_us = ack->sample_rtt_us - policy_min(ack->sample_rtt_us, there_us);

	if (!state->longer_path.on_trial || netnice_is_in_slow_start(state) ||
	    ack->delivered - state->longer_path.trial_start < NETNICE_TRIAL_PACKETS)
		return;
	state->longer_path.on_trial = 0;
	state->longer_path.trial_waits = 0;
	netnice_forget_gaps(state);
	if (back_us <= netnice_threshold_us(state))
		return;
	state->measured.minimum_rtt_us += back_us;
	netnice_move(state, NETNICE_BECAUSE_LONGER_BACK);
}

/*
 * Returns whether a fall of the smallest round trip contradicts the trial: a delay that falls again
 * was a queue. A smaller fall than the threshold corrects what was added.
 */
POLICY_INLINE int netnice_contradicts_trial(struct netnice *state, const struct netnice_ack *ack,
					    u32 fall_us)
{
	if (!state->longer_path.on_trial || !fall_us)
		return 0;
	fall_us = policy_min(fall_us, state->longer_path.added_us);
	state->longer_path.added_us -= fall_us;
	if (state->measured.minimum_one_way_us)
		state->measured.minimum_one_way_us -= fall_us;
	/* A receiver that held the probes' ACKs does not hold those of a larger window. */
	return fall_us > netnice_threshold_us(state) && !netnice_may_be_held(&state->measured, ack);
}

#endif
