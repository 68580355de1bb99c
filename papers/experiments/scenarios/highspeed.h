/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * HighSpeed TCP (RFC 3649), for a kernel without tcp_highspeed: a window of w packets grows by a(w)
 * packets per round trip, and a loss takes b(w) of it.
 */
#define CONTROL_INTERFACE 1
#include "control.h"

#define ROWS 73U
#define WHOLE 1024U /* b(w) = 1, in the table's unit */
#define MINIMUM_CWND 2U

struct control {
	u32 progress; /* towards the next packet of cwnd: a(w) for each packet acknowledged */
};

/* From a window of `cwnd` packets on, a(w) is the row's number, counted from one. */
struct row {
	u32 cwnd;
	u32 decrease; /* b(w) there, in 1024ths */
};

/* RFC 3649, appendix B; b(w) with more digits, by the equation of section 5. */
static const struct row rows[ROWS] = {
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

/* Returns the index of a window's row, from zero: binary search in seven steps. */
POLICY_INLINE u32 row_of(u32 cwnd)
{
	u32 row = 0;

	for (u32 step = 64; step; step /= 2)
		if (row + step < ROWS && rows[row + step].cwnd <= cwnd)
			row += step;
	return row;
}

POLICY_INLINE void control_on_ack(struct control *state, const struct control_ack *ack,
				  struct control_window *window)
{
	u32 increase, grown, acked = policy_min(ack->acked, 1000);

	if (!ack->cwnd_limited)
		return;
	if (window->cwnd < window->ssthresh) {
		window->cwnd += policy_min(acked, window->ssthresh - window->cwnd);
		return;
	}
	increase = row_of(window->cwnd) + 1;
	state->progress += increase * acked;
	grown = state->progress / window->cwnd;
	state->progress %= window->cwnd;
	window->cwnd += policy_min(grown, increase);
}

POLICY_INLINE u32 control_on_loss(struct control *state, const struct control_loss *loss)
{
	u32 row = row_of(loss->cwnd);
	u32 cut;

	if (row >= ROWS) /* never; required by BPF's verifier */
		row = ROWS - 1;
	cut = (u32)((u64)loss->cwnd * rows[row].decrease / WHOLE);
	state->progress = 0;
	return policy_max(loss->cwnd - cut, MINIMUM_CWND);
}

/* RFC 3649 leaves the answer to an RTO as it is. */
POLICY_INLINE u32 control_on_timeout(struct control *state, const struct control_loss *loss)
{
	state->progress = 0;
	return policy_max(loss->cwnd / 2, MINIMUM_CWND);
}
