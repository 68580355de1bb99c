/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * netnice: TCP-LP's idea (yield at the first sign of a queue, read from one-way delays) carried to
 * a control that also fills an idle link. docs/netnice-control.md tells what was tried and why.
 *
 *   signal     the smallest queueing delay of a round. Bursts, one's own and others', pass; a
 *              queue that stands for a whole round does not.
 *   threshold  two packets at the link's rate, and no less than a floor for clocks and schedulers.
 *   back-off   what stands in the queue is taken out of the window, whosever it is, and 1/16 more,
 *              so that the queue runs empty (and all see the true minimum) and flows turn equal.
 *              Beside a flow that keeps a queue this ends within rounds at two packets.
 *   yielding   two packets back to back (so that no ACK is delayed) every 1, 2, 4, 8 round trips.
 *   growth     towards the last window that was right quickly, beyond it one packet a round,
 *              doubling while no queue shows; never while the newest sample is over the threshold.
 */
#ifndef NETNICE_POLICY_NETNICE_H
#define NETNICE_POLICY_NETNICE_H

#include "delayed_ack.h"
#include "integer.h"
#include "one_way_delay.h"
#include "parameters.h"
#include "report.h"

#define NETNICE_THRESHOLD_US 1000U     /* the threshold's floor: stamps' grain, schedulers */
#define NETNICE_THRESHOLD_PACKETS 2U   /* a delayed ACK releases two packets at once */
#define NETNICE_MINIMUM_CWND 2U        /* the second packet gets the ACK sent at once */
#define NETNICE_SURPLUS_SHIFT 4U       /* the back-off beyond the queue: cwnd / 16 */
#define NETNICE_PROBE_ROUNDS 8U        /* longest pause between probes while yielding */
#define NETNICE_PROBE_PAUSE_US 1000000U
#define NETNICE_SLOW_START_SAMPLES 4U  /* samples in a row over the threshold end slow start */
#define NETNICE_RELEARN_US 30000000U   /* a delay so long unmoved is a longer path, no queue */
#define NETNICE_NO_SAMPLE 0xffffffffU

struct netnice {
	struct policy_report report; /* must be first */
	struct one_way_delay clock;
	u32 minimum_rtt_us;
	u32 minimum_one_way_us;
	u32 round_end;         /* `delivered` at which the round ends */
	u32 round_queue_us;    /* smallest queueing delay of the round */
	u32 round_one_way_us;  /* smallest one-way delay above its minimum */
	u32 previous_queue_us; /* of the round before, while yielding */
	u32 packet_ns;         /* time of one packet at the link's rate */
	u32 plateau;           /* the last window that filled the link without a queue */
	u32 growth;            /* packets per round */
	u32 credit;            /* progress towards the next packet of growth */
	u32 steady_since_us;   /* while yielding: where the delay has stayed since when */
	u32 steady_low_us;
	u32 steady_high_us;
	u32 threshold_floor_us;
	u8 lone_acks;
	u8 over_in_a_row;
	u8 settle; /* rounds until the last back-off shows */
	u8 probe_rounds;
	u8 slow_start : 1;
	u8 round_prompt : 1; /* a sample of this round is surely free of a delayed ACK */
	u8 recovering : 1;
};

/* One ACK, in the terms of any TCP with delivery-rate samples. Times wrap. */
struct netnice_ack {
	u32 now_us;
	u32 sample_rtt_us;   /* of the newest packet covered; 0 if unknown or ambiguous (Karn) */
	u32 tsval;           /* of the ACK, if has_timestamp */
	u32 acked;           /* packets newly delivered */
	u32 in_flight;       /* packets still out */
	u32 delivered;       /* packets delivered in all */
	u32 prior_delivered; /* the same when the newest packet covered was sent */
	u32 rate_delivered;  /* packets delivered in rate_interval_us; 0 if unknown */
	u32 rate_interval_us;
	u32 cwnd; /* packets */
	u8 has_timestamp;
	u8 in_recovery; /* fast recovery or after a time-out */
	u8 after_timeout;
	u8 app_limited;
};

POLICY_INLINE void netnice_init(struct netnice *state, const struct policy_parameters *wanted)
{
	state->threshold_floor_us = wanted->threshold_us ? wanted->threshold_us :
							   NETNICE_THRESHOLD_US;
	state->minimum_rtt_us = NETNICE_NO_SAMPLE;
	state->round_queue_us = NETNICE_NO_SAMPLE;
	state->round_one_way_us = NETNICE_NO_SAMPLE;
	state->plateau = NETNICE_NO_SAMPLE;
	state->growth = 1;
	state->slow_start = 1;
}

POLICY_INLINE u32 netnice_threshold_us(const struct netnice *state)
{
	return policy_max(state->threshold_floor_us,
			  NETNICE_THRESHOLD_PACKETS * (state->packet_ns / 1000));
}

/* How many packets a queueing delay means at the link's rate. */
POLICY_INLINE u32 netnice_backlog(const struct netnice *state, u32 queue_us)
{
	if (!state->packet_ns)
		return 0;
	return (u32)((u64)queue_us * 1000 / state->packet_ns);
}

/* The window that fills the path without a queue, by the highest rate ever delivered. */
POLICY_INLINE u32 netnice_bandwidth_delay_product(const struct netnice *state)
{
	if (!state->packet_ns || state->minimum_rtt_us == NETNICE_NO_SAMPLE)
		return NETNICE_NO_SAMPLE;
	return (u32)((u64)state->minimum_rtt_us * 1000 / state->packet_ns) + 1;
}

/*
 * The queueing delay on the way there: what the round trip took beyond its minimum, which is
 * exact but counts the way back too, bounded by the same of the one-way delay, which does not but
 * is as coarse as the peer's clock.
 */
POLICY_INLINE u32 netnice_queue_us(struct netnice *state, const struct netnice_ack *ack)
{
	u32 queue_us, delay_us = 0;
	u8 restarted = 0;

	state->minimum_rtt_us = policy_min(state->minimum_rtt_us, ack->sample_rtt_us);
	queue_us = ack->sample_rtt_us - state->minimum_rtt_us;
	if (ack->has_timestamp)
		delay_us = one_way_delay_sample(&state->clock, ack->tsval,
						ack->now_us - ack->sample_rtt_us, ack->now_us,
						&restarted);
	state->report.signal = delay_us ? POLICY_SIGNAL_ONE_WAY_DELAY : POLICY_SIGNAL_ROUND_TRIP;
	if (!delay_us)
		return queue_us;
	if (restarted || !state->minimum_one_way_us || delay_us < state->minimum_one_way_us)
		state->minimum_one_way_us = delay_us;
	delay_us -= state->minimum_one_way_us;
	state->round_one_way_us = policy_min(state->round_one_way_us, delay_us);
	return policy_min(queue_us, delay_us);
}

POLICY_INLINE void netnice_learn_rate(struct netnice *state, const struct netnice_ack *ack)
{
	u32 packet_ns;

	if (ack->rate_delivered < 4 || !ack->rate_interval_us)
		return;
	packet_ns = (u32)((u64)ack->rate_interval_us * 1000 / ack->rate_delivered);
	if (packet_ns && (!state->packet_ns || packet_ns < state->packet_ns))
		state->packet_ns = packet_ns;
}

POLICY_INLINE u32 netnice_yield(struct netnice *state)
{
	state->report.phase = POLICY_YIELDING;
	state->report.yields += 1;
	state->probe_rounds = 1;
	state->slow_start = 0;
	state->steady_since_us = 0;
	return NETNICE_MINIMUM_CWND;
}

/* A queue stood through the whole round: take it out of the window. */
POLICY_INLINE u32 netnice_back_off(struct netnice *state, u32 cwnd, u32 queue_us)
{
	u32 backlog = netnice_backlog(state, queue_us);
	u32 surplus = cwnd >> NETNICE_SURPLUS_SHIFT;

	state->plateau = cwnd > backlog ? cwnd - backlog : NETNICE_MINIMUM_CWND;
	state->growth = 1;
	state->credit = 0;
	state->settle = 1;
	if (cwnd <= backlog + surplus + NETNICE_MINIMUM_CWND)
		return netnice_yield(state);
	state->report.phase = POLICY_INFERENCE;
	return cwnd - backlog - surplus;
}

/*
 * While yielding, a delay that does not move for half a minute is no queue (queues that somebody
 * uses move) but a path that became longer: it becomes the new minimum.
 */
POLICY_INLINE void netnice_relearn(struct netnice *state, u32 queue_us, u32 now_us)
{
	if (!state->steady_since_us) {
		state->steady_since_us = now_us | 1;
		state->steady_low_us = queue_us;
		state->steady_high_us = queue_us;
	}
	state->steady_low_us = policy_min(state->steady_low_us, queue_us);
	state->steady_high_us = policy_max(state->steady_high_us, queue_us);
	if (state->steady_high_us - state->steady_low_us > netnice_threshold_us(state)) {
		state->steady_since_us = 0;
		return;
	}
	if (now_us - state->steady_since_us < NETNICE_RELEARN_US)
		return;
	state->minimum_rtt_us += state->steady_low_us;
	if (state->minimum_one_way_us)
		state->minimum_one_way_us += state->steady_low_us;
	state->steady_since_us = 0;
}

/* Nothing but two packets now and then, until a pair of them finds no queue. */
POLICY_INLINE u32 netnice_yielding_round(struct netnice *state, const struct netnice_ack *ack,
					 u32 queue_us, u32 threshold_us)
{
	if (queue_us <= threshold_us) {
		state->report.phase = POLICY_SLOW_START;
		state->slow_start = 1;
		state->over_in_a_row = 0;
		state->probe_rounds = 0;
		return ack->cwnd;
	}
	if (queue_us >= state->previous_queue_us && state->probe_rounds < NETNICE_PROBE_ROUNDS)
		state->probe_rounds *= 2;
	netnice_relearn(state, queue_us, ack->now_us);
	return NETNICE_MINIMUM_CWND;
}

/* The pace of growth for the coming round, after a round without a queue. */
POLICY_INLINE void netnice_plan_growth(struct netnice *state, u32 cwnd)
{
	if (cwnd < state->plateau)
		state->growth = policy_max((state->plateau - cwnd) / 2, 1);
	else
		state->growth = policy_max(policy_min(state->growth * 2, cwnd / 4), 1);
}

/* What a finished round means for the window. */
POLICY_INLINE u32 netnice_round(struct netnice *state, const struct netnice_ack *ack, u32 cwnd)
{
	u32 queue_us = state->round_queue_us;
	u32 threshold_us = netnice_threshold_us(state);

	if (queue_us == NETNICE_NO_SAMPLE || (!state->round_prompt && queue_us > threshold_us))
		return cwnd;
	state->report.delay_over_minimum_us = queue_us;
	state->report.threshold_us = threshold_us;

	/* An empty round trip is proof that the way there was empty: follow the peer's clock. */
	if (state->minimum_one_way_us && state->round_one_way_us != NETNICE_NO_SAMPLE &&
	    queue_us < threshold_us / 4)
		state->minimum_one_way_us += state->round_one_way_us / 8;

	if (state->settle) {
		state->settle -= 1;
	} else if (state->report.phase == POLICY_YIELDING) {
		cwnd = netnice_yielding_round(state, ack, queue_us, threshold_us);
	} else if (queue_us > threshold_us && !state->slow_start) {
		cwnd = netnice_back_off(state, cwnd, queue_us);
	} else if (!state->slow_start) {
		state->report.phase = POLICY_AVOIDANCE;
		if (queue_us <= threshold_us / 2)
			netnice_plan_growth(state, cwnd);
		else
			state->growth = 1;
	}
	state->previous_queue_us = queue_us;
	return cwnd;
}

/* Growth between the ends of rounds. */
POLICY_INLINE u32 netnice_grow(struct netnice *state, const struct netnice_ack *ack, u32 cwnd)
{
	if (state->settle || ack->app_limited || state->over_in_a_row)
		return cwnd;
	if (state->slow_start)
		return cwnd + ack->acked;
	state->credit += policy_min(ack->acked, cwnd) * state->growth;
	if (state->credit >= cwnd) {
		u32 packets = state->credit / cwnd;

		state->credit -= packets * cwnd;
		cwnd += packets;
	}
	return cwnd;
}

/*
 * Slow start ends at the first queue that stays for some samples. The packets that met it left a
 * round trip ago, at half the window.
 */
POLICY_INLINE u32 netnice_leave_slow_start(struct netnice *state, u32 cwnd)
{
	u32 product = netnice_bandwidth_delay_product(state);

	state->slow_start = 0;
	state->plateau = policy_min(cwnd, product);
	state->settle = 1;
	state->growth = 1;
	state->report.phase = POLICY_INFERENCE;
	return policy_max(policy_min(cwnd / 2, product), NETNICE_MINIMUM_CWND);
}

/* A loss: Reno's answer (RFC 5681, equation 4), and a cautious return. */
POLICY_INLINE u32 netnice_on_loss(struct netnice *state, u32 cwnd)
{
	state->plateau = policy_max(cwnd - cwnd / 4, NETNICE_MINIMUM_CWND);
	state->slow_start = 0;
	state->growth = 1;
	state->credit = 0;
	state->settle = 1;
	return policy_max(cwnd / 2, NETNICE_MINIMUM_CWND);
}

/* The window after an ACK. */
POLICY_INLINE u32 netnice_on_ack(struct netnice *state, const struct netnice_ack *ack)
{
	u32 cwnd = ack->cwnd;
	int prompt = delayed_ack_is_prompt(&state->lone_acks, ack->acked, ack->in_flight);

	netnice_learn_rate(state, ack);
	if (ack->sample_rtt_us && !ack->in_recovery) {
		u32 queue_us = netnice_queue_us(state, ack);

		state->round_queue_us = policy_min(state->round_queue_us, queue_us);
		if (prompt)
			state->round_prompt = 1;
		if (queue_us <= netnice_threshold_us(state))
			state->over_in_a_row = 0;
		else if (prompt && state->over_in_a_row < 255)
			state->over_in_a_row += 1;
	}
	if (ack->in_recovery) {
		if (!state->recovering && !ack->after_timeout)
			cwnd = netnice_on_loss(state, cwnd);
		state->recovering = 1;
		if (ack->after_timeout)
			cwnd = policy_min(cwnd + ack->acked, policy_max(state->plateau / 2, 2));
		return policy_max(cwnd, NETNICE_MINIMUM_CWND);
	}
	state->recovering = 0;

	if ((s32)(ack->prior_delivered - state->round_end) >= 0) {
		cwnd = netnice_round(state, ack, cwnd);
		state->round_end = ack->delivered;
		state->round_queue_us = NETNICE_NO_SAMPLE;
		state->round_one_way_us = NETNICE_NO_SAMPLE;
		state->round_prompt = 0;
	}
	if (state->report.phase == POLICY_YIELDING)
		return NETNICE_MINIMUM_CWND;
	if (state->slow_start && state->over_in_a_row >= NETNICE_SLOW_START_SAMPLES)
		cwnd = netnice_leave_slow_start(state, cwnd);
	else
		cwnd = netnice_grow(state, ack, cwnd);
	return policy_max(cwnd, NETNICE_MINIMUM_CWND);
}

/* The time over which a whole window is to be sent: the pacing rate is cwnd packets per that. */
POLICY_INLINE u32 netnice_pacing_us(const struct netnice *state, u32 smoothed_rtt_us)
{
	u32 pause_us;

	if (state->report.phase != POLICY_YIELDING)
		return state->slow_start ? smoothed_rtt_us / 2 :
					   smoothed_rtt_us - smoothed_rtt_us / 6;
	pause_us = state->probe_rounds * smoothed_rtt_us;
	return policy_max(policy_min(pause_us, NETNICE_PROBE_PAUSE_US), smoothed_rtt_us);
}

#endif
