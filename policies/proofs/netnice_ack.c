/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Whatever an ACK says, and whatever a connection has been through: no undefined behaviour, no division by zero, each
 * transition in the table, a window of a packet at least, or of two where it does not yield, and each member in its range.
 */
#include "netnice_state.h"

int main(void)
{
	struct netnice state = nondet_netnice();
	struct netnice_ack ack = nondet_ack();
	u32 cwnd;

	ASSUME(netnice_holds(&state) && delays_hold(&state) && ack_holds(&ack));
	cwnd = netnice_on_ack(&state, &ack);
	PROVE(cwnd >= 1, "the window has a packet");
	PROVE(cwnd >= NETNICE_MINIMUM_CWND || netnice_yields(&state), "that of use has two");
	PROVE(measured_holds(&state.measured), "what is measured stays in range");
	PROVE(decided_holds(&state.decided), "what is decided stays in range");
	PROVE(evidence_holds(&state), "evidence stays in range");
	PROVE(longer_path_holds(&state), "a path on trial stays one");
	return 0;
}
