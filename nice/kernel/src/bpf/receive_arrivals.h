/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A policy of TCP-LP's family at the receiving end: passes arrivals to policies/arrivals.h.
 * RECEIVER_POLICY is the policy's name, as of its functions. Its file is included before this.
 */
#ifndef NETNICE_RECEIVE_ARRIVALS_H
#define NETNICE_RECEIVE_ARRIVALS_H

#include "cgroup_types.h"
#include <bpf/bpf_helpers.h>
#include "arrivals.h"
#include "reception.h"

#define RECEIVER_JOINED(name, rest) name##rest
#define RECEIVER_FUNCTION(name, rest) RECEIVER_JOINED(name, rest)
#define RECEIVER_QUOTED(name) #name
#define RECEIVER_STRING(name) RECEIVER_QUOTED(name)
#define RECEIVER_OF(name) ARRIVALS_RECEIVER(name)

RECEIVER_OF(RECEIVER_POLICY)

#define RECEIVER_NAME RECEIVER_STRING(RECEIVER_POLICY)

struct governed {
	struct RECEIVER_FUNCTION(RECEIVER_POLICY, _receiver) receiver;
	struct receiver_round_trip round_trip; /* of a connection without timestamps */
};

/* The verifier checks this once, not on each path that leads to it. */
__noinline u32 governed_answer(struct governed *state, const struct receiver_segment *segment)
{
	if (!state || !segment)
		return 0;
	return RECEIVER_FUNCTION(RECEIVER_POLICY, _receiver_window)(&state->receiver, segment);
}

/* Verified once, too. */
__noinline u32 governed_timed(struct governed *state, struct receiver_segment *segment,
			      const struct receiver_advertised *advertised)
{
	struct receiver_known known;

	if (!state || !segment || !advertised)
		return 0;
	known = arrivals_known(&state->receiver.arrivals);
	receiver_time(&state->round_trip, &known, segment, advertised);
	return 1;
}

static __always_inline void governed_begin(struct governed *state,
					   const struct policy_parameters *wanted, u32 window_bytes,
					   u32 mss, u32 now_us)
{
	RECEIVER_FUNCTION(RECEIVER_POLICY, _receiver_init)
	(&state->receiver, wanted, ARRIVALS_ONE_WAY, policy_max(window_bytes, FIRST_PACKETS * mss),
	 mss, now_us);
}

static __always_inline u32 governed_clamp_bytes(const struct governed *state)
{
	return arrivals_window_bytes(&state->receiver.arrivals);
}

static __always_inline u32 governed_window(struct bpf_sock_ops *ops, const struct tcp_sock *tp,
					   struct reception *own, struct governed *state,
					   struct receiver_segment *segment)
{
	/* The report is the state's first member. */
	const struct policy_report *report = (const void *)state;
	struct receiver_advertised advertised = advertised_by(tp);
	u32 window;

	if (!has_timestamps(tp))
		governed_timed(state, segment, &advertised);
	window = governed_answer(state, segment);
	publish(tp, own, report, state->receiver.arrivals.minimum_rtt_us, window);
	return window;
}

#endif
