/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What holds of a connection under netnice between two calls: the ranges of its members. */
#ifndef NETNICE_PROOFS_NETNICE_STATE_H
#define NETNICE_PROOFS_NETNICE_STATE_H

#include "model.h"
#include "netnice/netnice.h"

#define LARGEST_CWND (1U << 30) /* packets: the kernel's own limit is lower */
#define LONGEST_RTT_US (1U << 30)
#define LARGEST_LEAD_NS (NETNICE_LEAD_LIMIT_US * 1000)

struct netnice nondet_netnice(void);
struct netnice_ack nondet_ack(void);

/* Returns whether delays are below 18 minutes. Sums of two of them fit, then. */
POLICY_INLINE int delays_hold(const struct netnice *state)
{
	const struct netnice_measured *measured = &state->measured;

	return (measured->minimum_rtt_us <= LONGEST_RTT_US ||
		measured->minimum_rtt_us == NETNICE_UNKNOWN) &&
	       measured->latest_queue_us <= LONGEST_RTT_US &&
	       state->longer_path.steady_low_us <= LONGEST_RTT_US;
}

POLICY_INLINE int measured_holds(const struct netnice_measured *measured)
{
	if (measured->minimum_rtt_us == NETNICE_UNKNOWN && measured->low_support)
		return 0;
	return measured->minimum_rtt_us && measured->low_support < NETNICE_LOW_ENOUGH &&
	       (!measured->low_support || measured->low_fall_us < measured->minimum_rtt_us) &&
	       measured->whole_acks <= NETNICE_WHOLE_ACKS;
}

POLICY_INLINE int decided_holds(const struct netnice_decided *decided)
{
	return decided->phase <= NETNICE_SHARE && decided->reason < NETNICE_REASONS &&
	       decided->inference <= NETNICE_INFERENCE_ROUNDS &&
	       decided->brief_stays <= NETNICE_BRIEF_STAYS &&
	       decided->pause_scale <= NETNICE_PAUSE_SCALE_LIMIT &&
	       decided->cwnd_cnt <= LARGEST_CWND;
}

POLICY_INLINE int evidence_holds(const struct netnice *state)
{
	return state->losses.blind_scale <= NETNICE_BLIND_SCALE_LIMIT &&
	       state->longer_path.trial_waits <= NETNICE_TRIAL_WAITS &&
	       state->trains.share_wait <= NETNICE_SHARE_WAITS &&
	       state->trains.turn_waits <= NETNICE_TURN_WAITS &&
	       state->trains.claimed_slots < NETNICE_GAP_FEWEST_SLOTS + NETNICE_GAP_HYPOTHESES &&
	       (!state->trains.claimed_slots || state->decided.phase == NETNICE_SHARE) &&
	       state->trains.lead_ns <= (s32)LARGEST_LEAD_NS &&
	       state->trains.lead_ns >= -(s32)LARGEST_LEAD_NS &&
	       state->trains.weighed <= NETNICE_CONFIRM_TRAINS &&
	       state->gaps.gap_wait <= NETNICE_SHARE_WAITS &&
	       state->gaps.gap_parts < NETNICE_GAP_HYPOTHESES &&
	       state->gaps.gap_support <= NETNICE_GAP_SUPPORT &&
	       state->gaps.gap_evidence <= NETNICE_GAP_EVIDENCE_LIMIT;
}

/* A path on trial is known, and is used after a yielding. Neither then nor while yielding is a loss still to be judged. */
POLICY_INLINE int longer_path_holds(const struct netnice *state)
{
	const struct netnice_longer_path *path = &state->longer_path;

	if (netnice_yields(state) || state->measured.minimum_rtt_us == NETNICE_UNKNOWN)
		return !path->on_trial && (!netnice_yields(state) || !state->losses.judging);
	if (!path->on_trial)
		return 1;
	return path->on_trial == 1 && !state->losses.judging &&
	       state->decided.phase != NETNICE_START &&
	       path->added_us < state->measured.minimum_rtt_us;
}

/* Returns whether each member is within its range. */
POLICY_INLINE int netnice_holds(const struct netnice *state)
{
	return measured_holds(&state->measured) && decided_holds(&state->decided) &&
	       evidence_holds(state) && longer_path_holds(state) &&
	       (!netnice_yields(state) || state->measured.minimum_rtt_us != NETNICE_UNKNOWN);
}

/* Any ACK, of a connection whose window and counts are within what TCP allows; also one that a floor drives in the middle of trains. */
POLICY_INLINE int ack_holds(const struct netnice_ack *ack)
{
	return ack->cwnd && ack->cwnd <= LARGEST_CWND && ack->acked <= LARGEST_CWND &&
	       ack->in_flight <= LARGEST_CWND && ack->sample_rtt_us <= LONGEST_RTT_US &&
	       ack->ca_state <= CA_LOSS;
}

#endif
