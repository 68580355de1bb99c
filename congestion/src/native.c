// SPDX-License-Identifier: MIT OR Apache-2.0
/* Gives the policies' inline functions addresses, so that Rust can call them. */
#include "netnice.h"
#include "tcplp.h"

void native_tcplp_init(struct tcplp *state, const struct policy_parameters *wanted)
{
	tcplp_init(state, wanted);
}

void native_tcplp_sample(struct tcplp *state, const struct tcplp_ack *ack)
{
	tcplp_sample(state, ack);
}

u32 native_tcplp_on_ack(struct tcplp *state, const struct tcplp_ack *ack)
{
	return tcplp_on_ack(state, ack);
}

u32 native_tcplp_on_loss(struct tcplp *state, u32 cwnd, u32 now_us, u32 smoothed_rtt_us)
{
	return tcplp_on_loss(state, cwnd, now_us, smoothed_rtt_us);
}

u32 native_tcplp_on_ecn_echo(struct tcplp *state, const struct tcplp_ack *ack)
{
	return tcplp_on_ecn_echo(state, ack);
}

void native_tcplp_on_restart(struct tcplp *state)
{
	tcplp_on_restart(state);
}

void native_netnice_init(struct netnice *state, const struct policy_parameters *wanted)
{
	netnice_init(state, wanted);
}

u32 native_netnice_on_ack(struct netnice *state, const struct netnice_ack *ack)
{
	return netnice_on_ack(state, ack);
}

u32 native_netnice_pacing_us(const struct netnice *state, u32 cwnd, u32 smoothed_rtt_us)
{
	return netnice_pacing_us(state, cwnd, smoothed_rtt_us);
}

/* The sizes that Rust mirrors, for a test that the mirrors are true. */
const u32 native_sizes[] = {
	sizeof(struct policy_report), sizeof(struct policy_parameters), sizeof(struct tcplp),
	sizeof(struct tcplp_ack),     sizeof(struct netnice),           sizeof(struct netnice_ack),
};
