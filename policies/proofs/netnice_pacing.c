/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pacing of any connection and window: no undefined behaviour, and while it yields no pause is longer than promised. */
#include "netnice_state.h"

int main(void)
{
	struct netnice state = nondet_netnice();
	u32 cwnd = nondet_u32();
	u32 smoothed_rtt_us = nondet_u32();
	u32 pause_us;

	ASSUME(netnice_holds(&state) && cwnd && cwnd <= LARGEST_CWND);
	netnice_pacing_us(&state, cwnd, smoothed_rtt_us);
	PROVE(netnice_burst_packets(&state) >= 1, "a burst has a packet");
	PROVE(netnice_burst_packets(&state) <= NETNICE_TRAIN_LIMIT, "and no more than a train");
	if (!netnice_yields(&state))
		return 0;
	ASSUME(state.measured.minimum_rtt_us < 1000000 && smoothed_rtt_us < 1000000);
	pause_us = netnice_pause_us(&state, smoothed_rtt_us);
	PROVE(pause_us <= NETNICE_LONGEST_PAUSE_US, "a pause ends within its limit");
	return 0;
}
