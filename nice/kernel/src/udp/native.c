// SPDX-License-Identifier: MIT OR Apache-2.0
/* Gives the functions of policies/aggregate.h addresses, so that Rust can call them. */
#include "aggregate.h"

void udp_aggregate_begin(struct aggregate *state, const struct policy_parameters *wanted,
			 u32 arrives, u32 now_us, u32 rtt_us, const struct aggregate_bytes *bytes,
			 u64 rate)
{
	aggregate_begin(state, wanted, arrives, now_us, rtt_us, bytes, rate);
}

void udp_aggregate_on_echo(struct aggregate *state, struct aggregate_echo *echo, u32 now_us,
			   const struct aggregate_bytes *bytes)
{
	aggregate_on_echo(state, echo, now_us, bytes);
}

void udp_aggregate_on_reply(struct aggregate *state, const struct aggregate_echo *echo, u32 now_us,
			    u32 read_us, const struct aggregate_bytes *bytes, u32 lost)
{
	aggregate_on_reply(state, echo, now_us, read_us, bytes, lost);
}

void udp_aggregate_on_timeout(struct aggregate *state, u32 now_us)
{
	aggregate_on_timeout(state, now_us);
}

u32 udp_aggregate_echo_us(const struct aggregate *state)
{
	return aggregate_echo_us(state);
}

/* What is told of a direction, in the order of Told in aggregate.rs. */
void udp_aggregate_told(const struct aggregate *state, u64 told[5])
{
	told[0] = state->rate;
	told[1] = netnice_yields(&state->policy);
	told[2] = state->policy.report.yields;
	told[3] = state->smoothed_rtt_us;
	told[4] = state->policy.believed.packet_ns;
}

_Static_assert(sizeof(struct aggregate) <= 512, "state must fit Aggregate of aggregate.rs");
_Static_assert(sizeof(struct aggregate_echo) == 48, "as Echo of aggregate.rs");
