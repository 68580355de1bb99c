/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * HSTCP-LP (Kuzmanovic, Knightly and Cottrell): TCP-LP for paths of a high bandwidth-delay product.
 *
 *   increase    HighSpeed TCP's a(w) packets per round trip (RFC 3649)
 *   loss        HighSpeed TCP's decrease by b(w) of the window
 *   indication  TCP-LP's, by one-way delays; and TCP-LP's answer: half of the window, a packet
 *               when the indication recurs within the inference time-out
 *
 * Below 118 packets it equals TCP-LP, except for the loss. tcplp.h defines delays, indication and
 * inference.
 */
#ifndef NETNICE_POLICY_HSTCPLP_H
#define NETNICE_POLICY_HSTCPLP_H

#include "tcplp.h"

#define HSTCPLP_ROWS 73U
#define HSTCPLP_DECREASE_ONE 1024U /* the whole window, in the table's unit */

/* From a window of `cwnd` packets on, a(w) is the row's number, counted from one. */
struct hstcplp_row {
	u32 cwnd;
	u32 decrease; /* b(w) there, in 1024ths */
};

/* The windows are from RFC 3649, appendix B. A test recomputes both columns. */
static const struct hstcplp_row hstcplp_rows[HSTCPLP_ROWS] = {
	{ 38, 512 },    { 118, 452 },   { 221, 418 },   { 347, 394 },   { 495, 375 },
	{ 663, 360 },   { 851, 346 },   { 1058, 335 },  { 1284, 324 },  { 1529, 315 },
	{ 1793, 307 },  { 2076, 299 },  { 2378, 292 },  { 2699, 285 },  { 3039, 279 },
	{ 3399, 273 },  { 3778, 267 },  { 4177, 262 },  { 4596, 257 },  { 5036, 252 },
	{ 5497, 247 },  { 5979, 243 },  { 6483, 238 },  { 7009, 234 },  { 7558, 230 },
	{ 8130, 226 },  { 8726, 222 },  { 9346, 219 },  { 9991, 215 },  { 10661, 212 },
	{ 11358, 208 }, { 12082, 205 }, { 12834, 202 }, { 13614, 199 }, { 14424, 196 },
	{ 15265, 193 }, { 16137, 190 }, { 17042, 187 }, { 17981, 184 }, { 18955, 181 },
	{ 19965, 178 }, { 21013, 176 }, { 22101, 173 }, { 23230, 170 }, { 24402, 168 },
	{ 25618, 165 }, { 26881, 162 }, { 28193, 160 }, { 29557, 157 }, { 30975, 155 },
	{ 32450, 152 }, { 33986, 150 }, { 35586, 148 }, { 37253, 145 }, { 38992, 143 },
	{ 40808, 140 }, { 42707, 138 }, { 44694, 135 }, { 46776, 133 }, { 48961, 131 },
	{ 51258, 128 }, { 53677, 126 }, { 56230, 123 }, { 58932, 121 }, { 61799, 118 },
	{ 64851, 116 }, { 68113, 113 }, { 71617, 110 }, { 75401, 108 }, { 79517, 105 },
	{ 84035, 102 }, { 89053, 99 },  { 94717, 95 }
};

struct hstcplp {
	struct tcplp lp; /* must be first; cwnd_cnt counts a(w) for each packet acknowledged */
};

POLICY_INLINE void hstcplp_init(struct hstcplp *state, const struct policy_parameters *wanted)
{
	tcplp_init(&state->lp, wanted);
}

/* Returns the index of a window's row, from zero: binary search in seven steps. */
POLICY_INLINE u32 hstcplp_row_of(u32 cwnd)
{
	u32 row = 0;
	u32 step;

	for (step = 64; step; step /= 2)
		if (row + step < HSTCPLP_ROWS && hstcplp_rows[row + step].cwnd <= cwnd)
			row += step;
	return row;
}

/* Adds a(w) packets per cwnd packets acknowledged; one ACK adds at most a(w). */
POLICY_INLINE u32 hstcplp_increase(struct hstcplp *state, u32 cwnd, u32 acked)
{
	u32 increase = hstcplp_row_of(cwnd) + 1;
	u64 progress, grown;

	if (increase == 1)
		return tcplp_increase(&state->lp, cwnd, acked);
	progress = (u64)state->lp.cwnd_cnt + (u64)increase * acked;
	grown = progress / cwnd;
	state->lp.cwnd_cnt = (u32)(progress % cwnd);
	return cwnd + (grown < increase ? (u32)grown : increase);
}

/* Samples the one-way delay of an ACK. */
POLICY_INLINE void hstcplp_sample(struct hstcplp *state, const struct tcplp_ack *ack)
{
	tcplp_sample(&state->lp, ack);
}

/* Returns the window after an ACK outside loss recovery. */
POLICY_INLINE u32 hstcplp_on_ack(struct hstcplp *state, const struct tcplp_ack *ack)
{
	u32 cwnd = ack->cwnd;

	if (ack->cwnd < ack->ssthresh)
		return tcplp_slow_start(&state->lp, ack);
	if (tcplp_react(&state->lp, ack, &cwnd))
		cwnd = hstcplp_increase(state, cwnd, ack->acked);
	return cwnd;
}

/* Returns the new ssthresh after a loss. As in TCP-LP, indications in the next RTT are ignored. */
POLICY_INLINE u32 hstcplp_on_loss(struct hstcplp *state, u32 cwnd, u32 now_us)
{
	u32 row = hstcplp_row_of(cwnd);
	u64 cut;

	tcplp_on_loss(&state->lp, cwnd, now_us);
	if (row >= HSTCPLP_ROWS) /* never; required by BPF's verifier */
		row = HSTCPLP_ROWS - 1;
	cut = (u64)cwnd * hstcplp_rows[row].decrease / HSTCPLP_DECREASE_ONE;
	return policy_max(cwnd - (u32)cut, TCPLP_MINIMUM_SSTHRESH);
}

POLICY_INLINE int hstcplp_may_pause(const struct hstcplp *state)
{
	return tcplp_may_pause(&state->lp);
}

/*
 * Returns the interval between packets at a window below one packet; 0 leaves the ACKs to clock
 * them.
 */
POLICY_INLINE u32 hstcplp_pause_us(const struct hstcplp *state, u32 cwnd, u32 smoothed_rtt_us)
{
	return tcplp_pause_us(&state->lp, cwnd, smoothed_rtt_us);
}

/* Restarts the delay average after an idle period. */
POLICY_INLINE void hstcplp_on_restart(struct hstcplp *state)
{
	tcplp_on_restart(&state->lp);
}

#endif
