/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A sender's policy of TCP-LP's family (struct tcplp_ack) at the receiving end: the data that an ACK
 * covers give the policy's arguments, and its window is advertised.
 *
 *   round trip        arrival less the stamp echoed, TSecr (RFC 9840, 4.2.1)
 *   one-way delay     arrival less TSval, on the scale of round trips
 *   acknowledged      packets that have arrived in order
 *   limited           as much arrived in a round trip as was advertised at its start
 *   loss              a packet below the highest sequence number with a later TSval (RFC 9840, 4.3),
 *                     or a CE mark
 *
 * Losses reduce the window at most once per round trip (RFC 9840, 4.3), in which it does not change
 * otherwise. An ACK that was delayed gives no sample: its packet has waited here. Without timestamps
 * receiver_round_trip.h makes them up from round trips.
 */
#ifndef NETNICE_POLICY_ARRIVALS_H
#define NETNICE_POLICY_ARRIVALS_H

#include "ca_state.h"
#include "integer.h"
#include "one_way_delay.h"
#include "receiver_segment.h"
#include "report.h"
#include "tcplp.h"

#define ARRIVALS_IDLE_US 1000000U /* after so long without data the current delay is too old */
#define ARRIVALS_TICK_US 1000U    /* a stamp echoed covers this time: Linux counts milliseconds */
/* An ACK may cover so many packets: as many may be missing of a window that limits the sender. */
#define ARRIVALS_SLACK_PACKETS 2U
/* RttThresh of HyStart++ (RFC 9406, 4.2), and its bounds. */
#define ARRIVALS_RTT_THRESH_SHIFT 3U
#define ARRIVALS_MIN_RTT_THRESH_US 4000U
#define ARRIVALS_MAX_RTT_THRESH_US 16000U

/* The delay that a policy samples. */
enum arrivals_delay {
	ARRIVALS_ROUND_TRIP, /* with the queue on the way back */
	ARRIVALS_ONE_WAY,    /* of the data */
};

/* What newly arrived data mean for the window. */
enum arrivals_verdict {
	ARRIVALS_NOTHING, /* less than a packet */
	ARRIVALS_SAMPLE,  /* a sample only: the round trip after a loss */
	ARRIVALS_LOSS,
	ARRIVALS_GROWTH, /* the policy sets the window */
};

struct arrivals {
	struct one_way_delay clock;
	u32 mss;
	u32 remainder_bytes; /* towards the next packet */
	u32 delivered;       /* packets */
	u32 anchor_rtt_us; /* the first one-way delay begins at its round trip: one scale for both */
	u32 anchor_us;     /* that one-way delay */
	u32 minimum_rtt_us;
	u32 smoothed_rtt_us;
	u32 arrived_us;     /* latest data */
	u32 round_began_us; /* a round trip: from an ACK until data arrive that were sent after it */
	u32 round_delivered; /* `delivered` at its start */
	u32 round_window;    /* packets advertised at its start */
	u32 newest_tsval;    /* TSV.HGH: of data in order, or beyond a gap */
	u32 cwnd;            /* packets, as a sender's */
	u32 ssthresh;
	u32 held_until_us; /* end of the round trip after a loss, while `held` */
	u8 delay;          /* enum arrivals_delay */
	u8 anchored;
	u8 limited; /* the window limits the sender */
	u8 gap;     /* data were missing when the last segment left */
	u8 ce;
	u8 held;
	u8 reserved[2];
};

/* `mss` is the MSS that we have advertised to the peer, less its options. All else is zero. */
POLICY_INLINE void arrivals_init(struct arrivals *state, enum arrivals_delay delay,
				 u32 window_bytes, u32 mss, u32 now_us)
{
	state->delay = delay;
	state->mss = policy_max(mss, 1);
	state->cwnd = policy_max(window_bytes / state->mss, 1);
	state->ssthresh = ~0U;
	state->arrived_us = now_us;
	state->round_began_us = now_us;
	state->round_window = state->cwnd;
	state->limited = 1;
}

/* Returns the whole packets that have arrived since the segment before. */
POLICY_INLINE u32 arrivals_count(struct arrivals *state, u32 bytes)
{
	u32 packets;

	state->remainder_bytes += bytes;
	packets = state->remainder_bytes / state->mss;
	state->remainder_bytes -= packets * state->mss;
	state->delivered += packets;
	return packets;
}

/* Returns whether a loss or a mark shows: RFC 9840, 4.3. */
POLICY_INLINE int arrivals_are_congested(struct arrivals *state,
					 const struct receiver_segment *segment)
{
	int retransmitted = receiver_is_retransmitted(&state->gap, &state->newest_tsval, segment);
	int marked = segment->ce && !state->ce;

	state->ce = segment->ce;
	return retransmitted || marked;
}

/* Returns the newest packet's delay in microseconds; 0 if unknown. */
POLICY_INLINE u32 arrivals_sample_us(struct arrivals *state, const struct receiver_segment *segment)
{
	u32 rtt_us = segment->rtt_us;
	u32 one_way_us, change_us;
	u8 restarted;

	one_way_us =
		one_way_delay_of_data(&state->clock, segment->tsval, segment->now_us, &restarted);
	if (restarted)
		state->anchored = 0;
	if (!rtt_us || segment->delayed_ack)
		return 0;
	if (!state->minimum_rtt_us || rtt_us < state->minimum_rtt_us)
		state->minimum_rtt_us = rtt_us;
	/* RFC 6298, equations 2.2 and 2.3. */
	if (state->smoothed_rtt_us)
		state->smoothed_rtt_us += rtt_us / 8 - state->smoothed_rtt_us / 8;
	else
		state->smoothed_rtt_us = rtt_us;
	if (state->delay != ARRIVALS_ONE_WAY || !one_way_us)
		return rtt_us;
	if (!state->anchored) {
		state->anchored = 1;
		state->anchor_rtt_us = rtt_us;
		state->anchor_us = one_way_us;
	}
	change_us = one_way_us - state->anchor_us;
	if ((s32)change_us >= 0)
		return change_us < ~state->anchor_rtt_us ? state->anchor_rtt_us + change_us : ~0U;
	change_us = -change_us;
	return change_us < state->anchor_rtt_us ? state->anchor_rtt_us - change_us : 1;
}

/*
 * Finds out, once in a round trip, whether the window limits the sender. In slow start the window is
 * ahead of what it brings: half of it suffices.
 */
POLICY_INLINE void arrivals_end_round(struct arrivals *state,
				      const struct receiver_segment *segment)
{
	u32 echoed_us = segment->now_us - segment->rtt_us + ARRIVALS_TICK_US - 1;
	u32 came = state->delivered - state->round_delivered;
	u32 slack = ARRIVALS_SLACK_PACKETS;

	if (!segment->rtt_us || policy_after(state->round_began_us, echoed_us))
		return;
	slack += state->cwnd < state->ssthresh ? came : came / 8;
	state->limited = (u64)came + slack >= state->round_window;
	state->round_began_us = segment->now_us;
	state->round_delivered = state->delivered;
	state->round_window = state->cwnd;
}

/* Returns whether data arrive after a pause, so that the policy begins anew. */
POLICY_INLINE int arrivals_were_idle(const struct arrivals *state,
				     const struct receiver_segment *segment)
{
	return segment->now_us - state->arrived_us > ARRIVALS_IDLE_US;
}

/* Takes newly arrived data: describes them in `ack` as to a sender, unless they mean nothing. */
POLICY_INLINE enum arrivals_verdict
arrivals_take(struct arrivals *state, const struct receiver_segment *segment, struct tcplp_ack *ack)
{
	u32 acked = arrivals_count(state, segment->bytes);
	int congested = arrivals_are_congested(state, segment);

	state->arrived_us = segment->now_us;
	if (!acked && !congested)
		return ARRIVALS_NOTHING;
	ack->now_us = segment->now_us;
	ack->sample_rtt_us = arrivals_sample_us(state, segment);
	ack->smoothed_rtt_us = state->smoothed_rtt_us;
	ack->minimum_rtt_us = state->minimum_rtt_us;
	ack->acked = acked;
	/* A window of packets is under way: a lone ACK that was not delayed is prompt. */
	ack->in_flight = 1;
	ack->cwnd = state->cwnd;
	ack->ssthresh = state->ssthresh;
	arrivals_end_round(state, segment);
	if (state->held && !policy_after(state->held_until_us, segment->now_us))
		state->held = 0;
	ack->ca_state = state->held || congested ? CA_RECOVERY : CA_OPEN;
	ack->cwnd_limited = state->limited;
	if (state->held)
		return ARRIVALS_SAMPLE;
	return congested ? ARRIVALS_LOSS : ARRIVALS_GROWTH;
}

/*
 * Ends slow start without a loss. Most senders leave slow start before they lose a packet, and some
 * never fill a queue: their connections would stay in slow start, in which the policies heed no
 * indication. It ends where the sender's own window is the smaller one, and packets wait.
 */
POLICY_INLINE void arrivals_end_slow_start(struct arrivals *state,
					   const struct policy_report *report)
{
	u32 threshold_us = state->minimum_rtt_us >> ARRIVALS_RTT_THRESH_SHIFT;

	threshold_us = policy_max(threshold_us, ARRIVALS_MIN_RTT_THRESH_US);
	threshold_us = policy_min(threshold_us, ARRIVALS_MAX_RTT_THRESH_US);
	if (!state->limited && report->delay_over_minimum_us >= threshold_us)
		state->ssthresh = policy_min(state->ssthresh, state->cwnd);
}

/* Takes over the ssthresh that the policy has answered a loss with, for a round trip. */
POLICY_INLINE void arrivals_lose(struct arrivals *state, const struct receiver_segment *segment,
				 u32 ssthresh)
{
	state->ssthresh = ssthresh;
	state->cwnd = ssthresh;
	state->held = 1;
	state->held_until_us = segment->now_us + policy_max(segment->rtt_us, state->minimum_rtt_us);
}

/* Takes over the policy's window. As for a sender, slow start would otherwise undo a smaller one. */
POLICY_INLINE void arrivals_set_window(struct arrivals *state, u32 cwnd)
{
	if (cwnd < state->cwnd)
		state->ssthresh = cwnd;
	state->cwnd = cwnd;
}

/* Returns the window in bytes. */
POLICY_INLINE u32 arrivals_window_bytes(const struct arrivals *state)
{
	u64 bytes = (u64)state->cwnd * state->mss;

	return bytes < ~0U ? (u32)bytes : ~0U;
}

/* Returns what receiver_time() is to know of the connection. The window has room for a packet. */
POLICY_INLINE struct receiver_known arrivals_known(const struct arrivals *state)
{
	struct receiver_known known = {
		.mss = state->mss,
		.minimum_rtt_us = state->minimum_rtt_us,
		.newest_tsval = state->newest_tsval,
		.gap = state->gap,
	};

	return known;
}

/*
 * Defines the receiver of a policy: its state, which begins with the policy's report, what creates it
 * in zeroed memory, and what returns the window to advertise in a segment that is about to leave, in
 * bytes. lab/congestion/src/native.c lists the policy's functions.
 */
#define ARRIVALS_RECEIVER(name)                                                                    \
	struct name##_receiver {                                                                   \
		struct name policy;                                                                \
		struct arrivals arrivals;                                                          \
	};                                                                                         \
                                                                                                   \
	POLICY_INLINE void name##_receiver_init(                                                   \
		struct name##_receiver *state, const struct policy_parameters *wanted,             \
		enum arrivals_delay delay, u32 window_bytes, u32 mss, u32 now_us)                  \
	{                                                                                          \
		name##_init(&state->policy, wanted);                                               \
		arrivals_init(&state->arrivals, delay, window_bytes, mss, now_us);                 \
	}                                                                                          \
                                                                                                   \
	POLICY_INLINE u32 name##_receiver_window(struct name##_receiver *state,                    \
						 const struct receiver_segment *segment)           \
	{                                                                                          \
		struct policy_report *report = (struct policy_report *)&state->policy;             \
		struct arrivals *arrivals = &state->arrivals;                                      \
		struct tcplp_ack ack = {};                                                         \
		enum arrivals_verdict verdict;                                                     \
		u32 most = policy_max(segment->limit_bytes / arrivals->mss, 1);                    \
                                                                                                   \
		if (!segment->bytes) {                                                             \
			if (segment->gap)                                                          \
				arrivals_are_congested(arrivals, segment);                         \
			return arrivals_window_bytes(arrivals);                                    \
		}                                                                                  \
		if (arrivals_were_idle(arrivals, segment))                                         \
			name##_on_restart(&state->policy);                                         \
		verdict = arrivals_take(arrivals, segment, &ack);                                  \
		if (verdict != ARRIVALS_NOTHING)                                                   \
			name##_sample(&state->policy, &ack);                                       \
		if (verdict == ARRIVALS_LOSS)                                                      \
			arrivals_lose(arrivals, segment,                                           \
				      name##_on_loss(&state->policy, arrivals->cwnd, ack.now_us)); \
		else if (verdict == ARRIVALS_GROWTH) {                                             \
			arrivals_end_slow_start(arrivals, report);                                 \
			ack.ssthresh = arrivals->ssthresh;                                         \
			arrivals_set_window(arrivals, name##_on_ack(&state->policy, &ack));        \
		}                                                                                  \
		if (arrivals->anchored)                                                            \
			report->signal = POLICY_SIGNAL_ONE_WAY_DELAY;                              \
		arrivals->cwnd = policy_min(arrivals->cwnd, most);                                 \
		return arrivals_window_bytes(arrivals);                                            \
	}

#endif
