/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * TCP for Diff-Serv (Fang and Peterson, "TCP mechanisms for Diff-Serv Architecture"): Reno with
 * three mechanisms that suit a network which assures a target rate. Each can be switched.
 *
 *   fair window  in congestion avoidance the window opens by c * rtt packets per round trip
 *                (policy 1), or by c * rtt^2 (policy 2), rtt in seconds: 3.2.1
 *   ssthresh     target rate * rtt, from the beginning and after congestion: 3.2.2
 *   ECN          a marked OUT packet halves cwnd, a marked IN packet sets it to one; ssthresh is
 *                target rate * rtt: 3.2.3
 *
 * The paper notes that c * rtt^2 can exceed slow start on long paths; here it never does. rtt is
 * the smoothed RTT, since the paper derives ssthresh from the estimated round trip. Table 5's
 * classes use the smallest RTT instead, as a service agreement would specify it: a queue does not
 * change a connection's class.
 */
#ifndef NETNICE_POLICY_DSTCP_H
#define NETNICE_POLICY_DSTCP_H

#include "integer.h"
#include "parameters.h"
#include "report.h"

#define DSTCP_C 100U /* DS 4.1 */
#define DSTCP_POLICY 2U
#define DSTCP_PACKET_BYTES 1000U
#define DSTCP_MINIMUM_SSTHRESH 2U /* RFC 5681, equation 4 */
#define DSTCP_MICRO 1000000ULL
/* Bounds that keep products within 64 bits. */
#define DSTCP_RTT_LIMIT_US 100000000U
#define DSTCP_CWND_LIMIT (1U << 24)
#define DSTCP_ACKED_LIMIT (1U << 16)

struct dstcp {
	struct policy_report report; /* must be first */
	u64 target_bits_per_s;
	u64 cwnd_cnt; /* millionths of a packet per packet acknowledged, towards the next increase */
	u32 packet_bytes;
	u32 c;
	u32 smoothed_rtt_us;
	u32 ssthresh_limit; /* the default until the first congestion, then none */
	u8 policy;
	u8 classes : 1;
	u8 fair_window : 1;
	u8 target_ssthresh : 1;
	u8 ecn_by_profile : 1;
	u8 begun : 1;
};

/* One ACK of new data outside fast recovery. */
struct dstcp_ack {
	u32 smoothed_rtt_us; /* RFC 6298; 0 before the first sample */
	u32 minimum_rtt_us;  /* of the connection; 0 before the first sample */
	u32 acked;           /* packets */
	u32 cwnd_limited;    /* the window, not the program, limits the connection */
};

struct dstcp_window {
	u32 cwnd; /* packets */
	u32 ssthresh;
};

/* A full packet is 1000 bytes until the caller sets `packet_bytes`. */
POLICY_INLINE void dstcp_init(struct dstcp *state, const struct policy_parameters *wanted)
{
	state->target_bits_per_s = wanted->target_bits_per_s;
	state->packet_bytes = DSTCP_PACKET_BYTES;
	state->c = wanted->c ? wanted->c : DSTCP_C;
	state->policy = wanted->policy ? wanted->policy : DSTCP_POLICY;
	state->classes = !!wanted->classes;
	state->fair_window = !wanted->without_fair_window;
	state->target_ssthresh = !wanted->without_target_ssthresh;
	state->ecn_by_profile = !wanted->without_ecn_by_profile;
}

POLICY_INLINE u32 dstcp_rtt_us(const struct dstcp *state)
{
	return policy_min(state->smoothed_rtt_us, DSTCP_RTT_LIMIT_US);
}

/* Target rate times RTT in packets, at least two; 0 while either is unknown. */
POLICY_INLINE u32 dstcp_target(const struct dstcp *state)
{
	u64 packets;

	if (!state->target_bits_per_s || !state->smoothed_rtt_us || !state->packet_bytes)
		return 0;
	packets = state->target_bits_per_s * dstcp_rtt_us(state) /
		  (8 * DSTCP_MICRO * state->packet_bytes);
	return policy_max((u32)packets, DSTCP_MINIMUM_SSTHRESH);
}

/* The constant c: the one configured, or that of the connection's class in Table 5. */
POLICY_INLINE u32 dstcp_c(const struct dstcp *state, u32 minimum_rtt_us)
{
	if (!state->classes)
		return state->c;
	if (minimum_rtt_us <= 50000)
		return 1024;
	if (minimum_rtt_us <= 100000)
		return 256;
	return minimum_rtt_us <= 200000 ? 64 : 4;
}

/* Growth of the window in congestion avoidance, in millionths of a packet per round trip. */
POLICY_INLINE u64 dstcp_increase_micro(const struct dstcp *state, u32 minimum_rtt_us, u32 cwnd)
{
	u64 slow_start_micro = DSTCP_MICRO * policy_min(cwnd, DSTCP_CWND_LIMIT);
	u64 micro = (u64)dstcp_c(state, minimum_rtt_us) * dstcp_rtt_us(state);

	if (!state->fair_window || !state->smoothed_rtt_us)
		return DSTCP_MICRO;
	if (state->policy != 1)
		micro = micro / 1000 * dstcp_rtt_us(state) / 1000;
	return micro < slow_start_micro ? micro : slow_start_micro;
}

POLICY_INLINE u32 dstcp_avoid(struct dstcp *state, const struct dstcp_ack *ack, u32 cwnd)
{
	u64 window_micro = DSTCP_MICRO * cwnd;
	u64 grown;

	state->report.phase = POLICY_AVOIDANCE;
	state->cwnd_cnt += dstcp_increase_micro(state, ack->minimum_rtt_us, cwnd) *
			   policy_min(ack->acked, DSTCP_ACKED_LIMIT);
	if (!window_micro)
		return cwnd;
	grown = state->cwnd_cnt / window_micro;
	state->cwnd_cnt %= window_micro;
	return cwnd + (u32)grown;
}

/* Returns ssthresh if the target sets it, otherwise `otherwise`. */
POLICY_INLINE u32 dstcp_ssthresh(const struct dstcp *state, u32 otherwise)
{
	u32 target = dstcp_target(state);

	if (!state->target_ssthresh || !target)
		return otherwise;
	return policy_min(target, state->ssthresh_limit);
}

/* Updates the window after an ACK outside fast recovery. */
POLICY_INLINE void dstcp_on_ack(struct dstcp *state, const struct dstcp_ack *ack,
				struct dstcp_window *window)
{
	if (!state->begun) {
		state->begun = 1;
		state->ssthresh_limit = window->ssthresh;
	}
	state->smoothed_rtt_us = ack->smoothed_rtt_us;
	window->ssthresh = dstcp_ssthresh(state, window->ssthresh);
	if (window->cwnd < window->ssthresh)
		state->report.phase = POLICY_SLOW_START;
	if (!ack->cwnd_limited)
		return;
	if (window->cwnd < window->ssthresh)
		window->cwnd += policy_min(ack->acked, window->ssthresh - window->cwnd);
	else
		window->cwnd = dstcp_avoid(state, ack, window->cwnd);
}

POLICY_INLINE void dstcp_congested(struct dstcp *state)
{
	state->begun = 1;
	state->ssthresh_limit = 0xffffffffU;
	state->cwnd_cnt = 0;
}

/* Returns the window at the end of recovery after a loss; ssthresh is then dstcp_ssthresh(). */
POLICY_INLINE u32 dstcp_on_loss(struct dstcp *state, u32 cwnd)
{
	dstcp_congested(state);
	return policy_max(cwnd / 2, DSTCP_MINIMUM_SSTHRESH);
}

/* Returns the new ssthresh after an RTO. */
POLICY_INLINE u32 dstcp_on_timeout(struct dstcp *state, u32 cwnd)
{
	u32 half = dstcp_on_loss(state, cwnd);

	return dstcp_ssthresh(state, half);
}

/*
 * Returns whether to treat a marked packet as IN. The sender has to guess: the paper's receiver
 * copies the packet's tag into the ACK (6.1), which no TCP does. A window within the target rate is
 * all IN. A larger one is partly OUT, and a RIO gateway marks that part first by far.
 */
POLICY_INLINE int dstcp_within_profile(const struct dstcp *state, u32 cwnd)
{
	u32 target = dstcp_target(state);

	return target && cwnd <= target;
}

/* Updates the window after an echo of a mark on a packet in profile (IN) or not (OUT). */
POLICY_INLINE void dstcp_on_ecn_echo(struct dstcp *state, u32 in_profile,
				     struct dstcp_window *window)
{
	u32 target = dstcp_target(state);
	u32 half = dstcp_on_loss(state, window->cwnd);

	if (!state->ecn_by_profile) {
		window->cwnd = half;
		window->ssthresh = dstcp_ssthresh(state, half);
		return;
	}
	window->cwnd = in_profile ? 1 : policy_max(window->cwnd / 2, 1);
	window->ssthresh = target ? target : half;
}

#endif
