/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * netnice: path estimates from ACKs: the link's rate, its smallest delays, the variation of samples
 * without a queue, and from these the queueing delay above which others have made a queue.
 */
#ifndef NETNICE_POLICY_NETNICE_SIGNAL_H
#define NETNICE_POLICY_NETNICE_SIGNAL_H

#include "delayed_ack.h"
#include "netnice/clock.h"
#include "ca_state.h"
#include "integer.h"
#include "netnice/decisions.h"
#include "netnice/state.h"
#include "one_way_delay.h"
#include "report.h"

/*
 * The delays that a path without a queue of others shows where a packet takes `packet_ns`. On a path with jitter,
 * changes of twice the jitter, or twice a round's spread, do not indicate a queue.
 */
POLICY_INLINE u32 netnice_variation_us(const struct netnice *state, u32 packet_ns)
{
	u32 jitter_us = policy_max(NETNICE_THRESHOLD_JITTERS * state->jitter_us,
				   NETNICE_THRESHOLD_SPREADS * state->spread_us);

	return policy_max(NETNICE_THRESHOLD_HALF_PACKETS * (packet_ns / 2000), jitter_us);
}

/* The threshold where a packet takes `packet_ns`. */
POLICY_INLINE u32 netnice_threshold_at_us(const struct netnice *state, u32 packet_ns)
{
	return policy_max(state->threshold_floor_us, netnice_variation_us(state, packet_ns));
}

POLICY_INLINE u32 netnice_threshold_us(const struct netnice *state)
{
	return netnice_threshold_at_us(state, state->packet_ns);
}

/*
 * Estimates the range of a round's samples when nobody adds a queue: the estimate follows wide
 * rounds slowly and narrow ones quickly, so that transient bursts do not change it. Jitter is in
 * every round. Two packets of the range are excluded, since delayed ACKs cause them in any flow.
 */
POLICY_INLINE void netnice_learn_spread(struct netnice *state)
{
	u32 low_us = state->round_queue_us + 2 * (state->packet_ns / 1000);
	u32 range_us = state->round_high_us - policy_min(state->round_high_us, low_us);

	range_us = policy_min(range_us, NETNICE_JITTER_LIMIT_US);
	if (range_us > state->spread_us)
		state->spread_us += (range_us - state->spread_us + 15) / 16;
	else
		state->spread_us -= (state->spread_us - range_us + 3) / 4;
}

/*
 * Estimates jitter as in RFC 3550, 6.4.1: the mean change from one delay to the next. While
 * yielding, the samples are too far apart: changes between them come from the others' queue.
 */
POLICY_INLINE void netnice_learn_jitter(struct netnice *state, u32 queue_us)
{
	u32 change_us = queue_us > state->latest_queue_us ? queue_us - state->latest_queue_us :
							    state->latest_queue_us - queue_us;

	if (netnice_yields(state))
		return;
	change_us = policy_min(change_us, NETNICE_JITTER_LIMIT_US);
	if (change_us > state->jitter_us)
		state->jitter_us += (change_us - state->jitter_us + 15) / 16;
	else
		state->jitter_us -= (state->jitter_us - change_us) / 16;
}

/* Window that fills the path without a queue, at the highest delivery rate measured. */
POLICY_INLINE u32 netnice_bandwidth_delay_product(const struct netnice *state)
{
	if (!state->packet_ns || state->minimum_rtt_us == NETNICE_NO_SAMPLE)
		return NETNICE_NO_SAMPLE;
	return (u32)((u64)state->minimum_rtt_us * 1000 / state->packet_ns) + 1;
}

/*
 * Follows a round trip below the minimum once three samples in a row, or a few more among others,
 * support it: a path may deliver one packet in a hundred early, and all others would seem to wait in
 * a queue. While yielding, samples are rare and one is enough. Returns the fall.
 */
POLICY_INLINE u32 netnice_follow_fall(struct netnice *state, const struct netnice_ack *ack)
{
	int rare = netnice_yields(state);
	u32 sample_rtt_us = ack->sample_rtt_us;
	u32 fall_us;

	if (!sample_rtt_us)
		return 0;
	if (state->minimum_rtt_us == NETNICE_NO_SAMPLE)
		state->minimum_rtt_us = sample_rtt_us;
	/* A SACK block may cover what has not arrived: its round trip is as short as the peer likes. */
	if (ack->ca_state != CA_OPEN) {
		if (sample_rtt_us < state->minimum_rtt_us / 2)
			state->doubtful = 1;
		return 0;
	}
	/* Its round trip, rounded down to whole ticks, may be shorter than the path's by the time of several packets. */
	if (ack->retransmitted)
		return 0;
	if (sample_rtt_us >= state->minimum_rtt_us) {
		if (state->low_support)
			state->low_support -= 1;
		return 0;
	}
	fall_us = state->minimum_rtt_us - sample_rtt_us;
	if (rare || !state->low_support || fall_us > state->low_fall_us)
		state->low_fall_us = fall_us;
	if (!rare && state->low_support < NETNICE_LOW_ENOUGH - NETNICE_LOW_SUPPORT) {
		state->low_support += NETNICE_LOW_SUPPORT;
		return 0;
	}
	state->low_support = 0;
	/* What met no queue so far may have met a held ACK. */
	if (state->low_fall_us > state->threshold_floor_us)
		state->whole_acks = 0;
	state->one_way_slack_us = NETNICE_SLACK_UNKNOWN;
	state->excess_us -= policy_min(state->excess_us, state->low_fall_us);
	state->minimum_rtt_us -= state->low_fall_us;
	return state->low_fall_us;
}

/*
 * Returns the queueing delay of the forward path. The round trip's excess over its minimum is exact
 * but includes the return path; the excess of the one-way delay excludes it but is as coarse as the
 * peer's clock. The result is the smaller of the two.
 */
POLICY_INLINE u32 netnice_queue_us(struct netnice *state, const struct netnice_ack *ack)
{
	u32 queue_us, delay_us;
	u8 restarted;

	/* Too low to be believed yet: its one-way delay neither. */
	if (ack->sample_rtt_us < state->minimum_rtt_us)
		return 0;
	queue_us = ack->sample_rtt_us - state->minimum_rtt_us;
	delay_us = one_way_delay_of_ack(&state->clock, &state->report, ack->has_timestamp,
					ack->tsval, ack->sample_rtt_us, ack->now_us, &restarted);
	if (!delay_us)
		return queue_us;
	delay_us = netnice_one_way_queue_us(state, delay_us, queue_us, restarted);
	/* A round trip at its minimum shows an empty forward path: any excess is clock drift. */
	if (delay_us > NETNICE_DRIFT_US && queue_us < state->threshold_floor_us / 4)
		state->minimum_one_way_us += (delay_us - NETNICE_DRIFT_US) / 8;
	return policy_min(queue_us, delay_us);
}

POLICY_INLINE void netnice_learn_rate(struct netnice *state, const struct netnice_ack *ack)
{
	u32 packet_ns;

	if (ack->rate_delivered < NETNICE_RATE_PACKETS || !ack->rate_interval_us)
		return;
	packet_ns = (u32)((u64)ack->rate_interval_us * 1000 / ack->rate_delivered);
	if (!packet_ns || (state->packet_ns && packet_ns >= state->packet_ns))
		return;
	/* The link is faster by far than known: trains that found nobody do not count any more. */
	if (packet_ns + packet_ns / 4 < state->packet_ns) {
		state->share_wait = 0;
		state->gap_wait = 0;
	}
	state->packet_ns = packet_ns;
}

/*
 * Returns whether the newest packet covered was sent after the last reaction. Both are counted back
 * from now, since reactions may be further apart than the range of signed numbers.
 */
POLICY_INLINE int netnice_follows_reaction(const struct netnice *state,
					   const struct netnice_ack *ack)
{
	return ack->delivered - state->reaction_mark >= ack->delivered - ack->prior_delivered;
}

/*
 * Returns whether a receiver that makes ACKs rare may have held this one: some acknowledge 16 packets,
 * or what has come within 100 ms. A whole window may be less than it waits for. At the receiver itself
 * there are no ACKs.
 */
POLICY_INLINE int netnice_may_be_held(const struct netnice *state, const struct netnice_ack *ack)
{
	return !ack->at_receiver && delayed_ack_is_rare(ack->acked) &&
	       state->whole_acks < NETNICE_WHOLE_ACKS;
}

/*
 * Takes from a delay how long the newest packet of a rare ACK may have waited at the receiver: while
 * data still arrives, for no longer than the next packet took.
 */
POLICY_INLINE u32 netnice_less_held_us(const struct netnice_ack *ack, u32 queue_us)
{
	if (!ack->rate_delivered)
		return queue_us;
	return queue_us - policy_min(queue_us, ack->rate_interval_us / ack->rate_delivered);
}

/*
 * Returns whether a delay may be that of a lone ACK. Where packets are far apart, as at a small window
 * over a long round trip, a timer of the receiver releases the ACK of each, though others are in
 * flight.
 */
POLICY_INLINE int netnice_may_be_lone(const struct netnice_ack *ack, u32 excess_us)
{
	u32 spacing_us = ack->sample_rtt_us / policy_max(ack->in_flight + ack->acked, 1);

	return ack->acked < 2 && spacing_us > NETNICE_DELAYED_ACK_US &&
	       excess_us <= NETNICE_DELAYED_ACK_US;
}

/* Returns whether all that the flow sends are probes. A receiver sends none. */
POLICY_INLINE int netnice_sends_probes(const struct netnice *state, const struct netnice_ack *ack)
{
	return !ack->at_receiver && netnice_yields(state);
}

/*
 * Returns whether an ACK covers the first packet of a pair alone: after a silence of more than its RTO Linux delays none of
 * up to 16 ACKs (TCP_MAX_QUICKACKS). Probes have an even number of packets, which leave together, so that no timer has released
 * this ACK while the next packet was in flight.
 */
POLICY_INLINE int netnice_splits_pair(const struct netnice *state, const struct netnice_ack *ack)
{
	return netnice_sends_probes(state, ack) && ack->acked == 1 && ack->in_flight % 2;
}

/* Samples the delay of an ACK. */
POLICY_CALLED u32 netnice_sample(struct netnice *state, const struct netnice_ack *ack)
{
	POLICY_STEP_NEEDS(state && ack);
	u8 lone_acks = state->lone_acks;
	int prompt = delayed_ack_is_prompt(&lone_acks, ack->acked, ack->in_flight);
	int held = netnice_may_be_held(state, ack);
	u32 queue_us, agreed_us;

	state->lone_acks = lone_acks;
	if (!ack->sample_rtt_us || ca_answers_congestion(ack->ca_state))
		return 0;
	if (ack->ca_state != CA_OPEN && ack->sample_rtt_us < state->minimum_rtt_us)
		return 0;
	queue_us = netnice_queue_us(state, ack);
	/* The delay of a pair is that of its second packet, as with one ACK for both. */
	if (netnice_splits_pair(state, ack)) {
		state->round_prompt = 1;
		return 0;
	}
	if (held && ack->in_flight) {
		queue_us = netnice_less_held_us(ack, queue_us);
	} else if (held && queue_us <= netnice_threshold_us(state)) {
		state->whole_acks += 1;
	} else if (held && !netnice_yields(state)) {
		/* No sign of a queue: the window grows to what makes the receiver acknowledge at once. */
		state->round_queue_us =
			policy_min(state->round_queue_us, netnice_threshold_us(state) / 2);
		return 0;
	}
	agreed_us = policy_min(state->latest_queue_us, queue_us);
	netnice_learn_jitter(state, queue_us);
	state->latest_queue_us = queue_us;
	state->round_queue_us = policy_min(state->round_queue_us, queue_us);
	state->round_high_us = policy_max(state->round_high_us, queue_us);
	if (prompt)
		state->round_prompt = 1;
	if (queue_us <= netnice_threshold_us(state)) {
		state->over_packets = 0;
	} else if (prompt && netnice_follows_reaction(state, ack) &&
		   !netnice_may_be_lone(ack, queue_us - netnice_threshold_us(state))) {
		state->over_queue_us = agreed_us;
		state->over_packets += ack->acked;
	}
	return 0;
}

#endif
