/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A connection begins within the ranges, and neither the handshake nor a spurious recovery leaves them. */
#include "netnice_state.h"

int main(void)
{
	struct netnice begun = { 0 };
	struct netnice state = nondet_netnice();
	struct policy_parameters wanted = { .threshold_us = nondet_u32() };

	netnice_init(&begun, &wanted);
	netnice_on_handshake(&begun, nondet_u32());
	PROVE(netnice_holds(&begun), "a connection begins in range");
	ASSUME(netnice_holds(&state));
	netnice_on_undo(&state, nondet_u32());
	PROVE(netnice_holds(&state), "a spurious recovery leaves all in range");
	return 0;
}
