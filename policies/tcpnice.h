/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * TCP Nice (Venkataramani, Kokku and Dahlin, "TCP Nice: A Mechanism for Background Transfers", OSDI
 * 2002): Vegas with three additions.
 *
 *   detection  a packet met congestion if its RTT > minRTT + (maxRTT - minRTT) * threshold
 *   halving    if in a round trip more than `fraction` of the packets did, W = W / 2
 *   W < 1      a packet every 1 / W round trips, at least every 48
 *
 * Otherwise Vegas decides once per round trip (Brakmo and Peterson 1995): with
 * diff = W * (RTT - minRTT) / RTT, W += 1 if diff < alpha, W -= 1 if diff > beta. The RTT of a round
 * is its smallest, which removes the wait for a delayed ACK.
 *
 * Slow start is Reno's, without the detection: it fills the queue once and so measures maxRTT. With
 * Vegas's, which ends before the queue grows, the range of round trips would be that of the
 * connection's own few packets, and the threshold a tenth of it.
 *
 * Of a lone packet the receiver may delay the ACK, so that its RTT says nothing: after such a round
 * trip the window becomes two packets, whose ACK comes at once.
 */
#ifndef NETNICE_POLICY_TCPNICE_H
#define NETNICE_POLICY_TCPNICE_H

#include "delayed_ack.h"
#include "parameters.h"
#include "tcplp.h"

#define TCPNICE_THRESHOLD_PERMILLE 100U
#define TCPNICE_FRACTION_PERMILLE 500U
#define TCPNICE_ALPHA 1U /* packets, as the next */
#define TCPNICE_BETA 3U
#define TCPNICE_MINIMUM_CWND 1U
#define TCPNICE_MINIMUM_SSTHRESH 2U /* RFC 5681, equation 4 */
#define TCPNICE_LONGEST_WAIT_RTTS 48U

struct tcpnice {
	struct policy_report report; /* must be first */
	u32 minimum_rtt_us;          /* 0 before the first sample */
	u32 maximum_rtt_us;
	u32 round_start_us;
	u32 round_rtt_us; /* smallest of the round; 0: no sample */
	u32 round_packets;
	u32 round_congested; /* of these */
	u16 threshold_permille;
	u16 fraction_permille;
	u8 wait_rtts; /* 1 / W for a window below one packet, otherwise 1 */
	u8 lone_acks;
	u8 round_ended : 1;
	u8 begun : 1;
};

POLICY_INLINE void tcpnice_init(struct tcpnice *state, const struct policy_parameters *wanted)
{
	state->threshold_permille =
		wanted->delta_permille ? wanted->delta_permille : TCPNICE_THRESHOLD_PERMILLE;
	state->fraction_permille =
		wanted->gamma_permille ? wanted->gamma_permille : TCPNICE_FRACTION_PERMILLE;
	state->wait_rtts = 1;
}

/* Threshold of congestion above minRTT. */
POLICY_INLINE u32 tcpnice_threshold_us(const struct tcpnice *state)
{
	return (u32)((u64)(state->maximum_rtt_us - state->minimum_rtt_us) *
		     state->threshold_permille / 1000);
}

/* Samples the round trip of an ACK. */
POLICY_INLINE void tcpnice_sample(struct tcpnice *state, const struct tcplp_ack *ack)
{
	int prompt = delayed_ack_is_prompt(&state->lone_acks, ack->acked, ack->in_flight);
	u32 rtt_us = ack->sample_rtt_us;

	if (!rtt_us)
		return;
	/* The round ends when a packet sent after its start is acknowledged. */
	if (!state->begun || !policy_after(state->round_start_us, ack->now_us - rtt_us))
		state->round_ended = 1;
	state->begun = 1;
	if (!state->minimum_rtt_us || rtt_us < state->minimum_rtt_us)
		state->minimum_rtt_us = rtt_us;
	state->maximum_rtt_us = policy_max(state->maximum_rtt_us, state->minimum_rtt_us);
	if (!prompt)
		return;
	if (delayed_ack_has_proof(ack->acked, ack->in_flight))
		state->maximum_rtt_us = policy_max(state->maximum_rtt_us, rtt_us);
	if (!state->round_rtt_us || rtt_us < state->round_rtt_us)
		state->round_rtt_us = rtt_us;
	state->round_packets += ack->acked;
	if (rtt_us - state->minimum_rtt_us > tcpnice_threshold_us(state))
		state->round_congested += ack->acked;
	state->report.signal = POLICY_SIGNAL_ROUND_TRIP;
	state->report.delay_over_minimum_us = rtt_us - state->minimum_rtt_us;
	state->report.threshold_us = tcpnice_threshold_us(state);
}

POLICY_INLINE u32 tcpnice_halve(struct tcpnice *state, u32 cwnd)
{
	if (cwnd > TCPNICE_MINIMUM_CWND) {
		state->report.phase = POLICY_INFERENCE;
		return cwnd / 2;
	}
	if (state->report.phase != POLICY_YIELDING)
		state->report.yields += 1;
	state->report.phase = POLICY_YIELDING;
	state->wait_rtts = (u8)policy_min(2U * state->wait_rtts, TCPNICE_LONGEST_WAIT_RTTS);
	return TCPNICE_MINIMUM_CWND;
}

/* Vegas's decision on a round trip without congestion. */
POLICY_INLINE u32 tcpnice_vegas(struct tcpnice *state, const struct tcplp_ack *ack)
{
	u64 queued_us = state->round_rtt_us ?
				(u64)ack->cwnd * (state->round_rtt_us - state->minimum_rtt_us) :
				0;
	u64 rtt_us = state->round_rtt_us;

	state->report.phase = POLICY_AVOIDANCE;
	if (queued_us > TCPNICE_BETA * rtt_us)
		return policy_max(ack->cwnd - 1, TCPNICE_MINIMUM_SSTHRESH);
	return ack->cwnd_limited && queued_us <= TCPNICE_ALPHA * rtt_us ? ack->cwnd + 1 : ack->cwnd;
}

POLICY_INLINE void tcpnice_begin_round(struct tcpnice *state, u32 now_us)
{
	state->round_ended = 0;
	state->round_start_us = now_us;
	state->round_rtt_us = 0;
	state->round_packets = 0;
	state->round_congested = 0;
}

/* Decides on a finished round trip. */
POLICY_INLINE u32 tcpnice_end_round(struct tcpnice *state, const struct tcplp_ack *ack)
{
	u32 cwnd;

	if ((u64)state->round_congested * 1000 >
	    (u64)state->round_packets * state->fraction_permille) {
		cwnd = tcpnice_halve(state, ack->cwnd);
	} else {
		cwnd = tcpnice_vegas(state, ack);
		state->wait_rtts = 1;
	}
	tcpnice_begin_round(state, ack->now_us);
	return cwnd;
}

/* Returns the window after an ACK outside loss recovery that has been sampled. */
POLICY_INLINE u32 tcpnice_on_ack(struct tcpnice *state, const struct tcplp_ack *ack)
{
	if (ack->cwnd < ack->ssthresh) {
		state->report.phase = POLICY_SLOW_START;
		tcpnice_begin_round(state, ack->now_us);
		if (!ack->cwnd_limited)
			return ack->cwnd;
		return ack->cwnd + policy_min(ack->acked, ack->ssthresh - ack->cwnd);
	}
	return state->round_ended ? tcpnice_end_round(state, ack) : ack->cwnd;
}

/* Returns the new ssthresh after a loss, as Reno's (RFC 5681, equation 4). */
POLICY_INLINE u32 tcpnice_on_loss(struct tcpnice *state, u32 cwnd, u32 now_us)
{
	(void)state;
	(void)now_us;
	return policy_max(cwnd / 2, TCPNICE_MINIMUM_SSTHRESH);
}

/* A round that an idle time has prolonged ends with the next ACKs. */
POLICY_INLINE void tcpnice_on_restart(struct tcpnice *state)
{
	(void)state;
}

POLICY_INLINE int tcpnice_may_pause(const struct tcpnice *state)
{
	(void)state;
	return 1;
}

/* Returns the microseconds between packets of a window below one packet, otherwise 0. */
POLICY_INLINE u32 tcpnice_pause_us(const struct tcpnice *state, u32 cwnd, u32 smoothed_rtt_us)
{
	u64 pause_us = (u64)smoothed_rtt_us * state->wait_rtts;

	if (cwnd > TCPNICE_MINIMUM_CWND || state->wait_rtts <= 1)
		return 0;
	return pause_us < TCPLP_LONGEST_PAUSE_US ? (u32)pause_us : TCPLP_LONGEST_PAUSE_US;
}

#endif
