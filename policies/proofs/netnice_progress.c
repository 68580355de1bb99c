/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * No phase lasts for good on an idle path: of each there is a number that each round without a queue makes smaller, or the
 * phase ends.
 */
#include "netnice_state.h"

int main(void)
{
	struct netnice state = nondet_netnice();
	struct netnice_ack ack = nondet_ack();
	struct netnice before;

	ASSUME(netnice_holds(&state) && ack_holds(&ack));
	/* What a round on an idle path shows: prompt samples, none of which met a queue. */
	state.measured.round_prompt = 1;
	state.measured.round_queue_us = 0;
	state.measured.latest_queue_us = 0;
	state.measured.over_packets = 0;
	ASSUME(ack.cwnd >= NETNICE_MINIMUM_CWND && !ack.app_limited && ack.sample_rtt_us &&
	       ack.acked);
	before = state;
	if (netnice_yields(&state)) {
		/* A lone packet of a long pause is no train; the next probe is one. */
		ASSUME(!state.decided.pausing && state.decided.clean_probes);
		if (netnice_sends_trains(&state))
			netnice_train_round(&state, &ack, 0);
		else
			netnice_round(&state, &ack, ack.cwnd);
		PROVE(!netnice_yields(&state) ||
			      state.decided.clean_probes < before.decided.clean_probes,
		      "each probe that meets nobody brings the end of yielding nearer");
	} else if (state.decided.phase == NETNICE_INFER) {
		ASSUME(state.decided.inference);
		netnice_round(&state, &ack, ack.cwnd);
		PROVE(state.decided.phase != NETNICE_INFER ||
			      state.decided.inference < before.decided.inference,
		      "each round without a queue brings the end of inference nearer");
	} else if (netnice_is_in_slow_start(&state)) {
		u32 cwnd;

		ASSUME(netnice_follows_reaction(&state.measured, &ack) &&
		       ack.cwnd < LARGEST_CWND / 2);
		/* Four packets, since a quarter of those delivered counts in the last part of a return. */
		ASSUME(ack.acked >= 1U << NETNICE_RETURN_SHIFT &&
		       ack.cwnd >= 1U << NETNICE_RETURN_SHIFT);
		cwnd = netnice_grow(&state, &ack, ack.cwnd);
		PROVE(cwnd > ack.cwnd || state.decided.phase == NETNICE_FILL,
		      "the window grows until it fills the path");
	}
	return 0;
}
