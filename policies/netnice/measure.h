/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * netnice, layer 1: from an ACK to a sample, the queueing delay that its newest packet met. It knows delayed, held and lone
 * ACKs and peers whose stamps follow no clock, but neither what the flow believes of the path nor what it does.
 */
#ifndef NETNICE_POLICY_NETNICE_MEASURE_H
#define NETNICE_POLICY_NETNICE_MEASURE_H

#include "ca_state.h"
#include "delayed_ack.h"
#include "integer.h"
#include "netnice/clock.h"
#include "netnice/state.h"
#include "one_way_delay.h"
#include "report.h"

/* What netnice_measure() has found. */
enum netnice_sample_kind {
	NETNICE_WITHOUT_SAMPLE,
	NETNICE_LATE_SAMPLE,   /* the receiver may have delayed the ACK */
	NETNICE_PROMPT_SAMPLE, /* it has not */
};

/* Begins a round: its samples are those of packets sent from now on. */
POLICY_INLINE void netnice_begin_round(struct netnice_measured *measured, u32 delivered)
{
	measured->round_end = delivered;
	measured->round_queue_us = NETNICE_UNKNOWN;
	measured->round_high_us = 0;
	measured->round_prompt = 0;
	measured->doubtful = 0;
}

/*
 * Returns whether the newest packet covered was sent after the last reaction. Both are counted back
 * from now, since reactions may be further apart than the range of signed numbers.
 */
POLICY_INLINE int netnice_follows_reaction(const struct netnice_measured *measured,
					   const struct netnice_ack *ack)
{
	return ack->delivered - measured->reaction_mark >= ack->delivered - ack->prior_delivered;
}

/* Lowers the minimum of round trips by a fall that samples support. Returns the fall. */
POLICY_CALLED u32 netnice_take_fall(struct netnice_measured *measured)
{
	POLICY_STEP_NEEDS(measured);
	measured->low_support = 0;
	/* What met no queue so far may have met a held ACK. */
	if (measured->low_fall_us > measured->threshold_floor_us)
		measured->whole_acks = 0;
	measured->one_way_slack_us = NETNICE_UNKNOWN;
	measured->excess_us -= policy_min(measured->excess_us, measured->low_fall_us);
	measured->minimum_rtt_us -= measured->low_fall_us;
	return measured->low_fall_us;
}

/*
 * Follows a round trip below the minimum once three samples in a row, or a few more among others,
 * support it: a path may deliver one packet in a hundred early, and all others would seem to wait in
 * a queue. Where samples are `rare`, one is enough. Returns the fall.
 */
POLICY_INLINE u32 netnice_follow_fall(struct netnice_measured *measured,
				      const struct netnice_ack *ack, int rare)
{
	u32 sample_rtt_us = ack->sample_rtt_us;
	u32 fall_us;

	if (!sample_rtt_us)
		return 0;
	if (measured->minimum_rtt_us == NETNICE_UNKNOWN)
		measured->minimum_rtt_us = sample_rtt_us;
	/* A SACK block may cover what has not arrived: its round trip is as short as the peer likes. */
	if (ack->ca_state != CA_OPEN) {
		if (sample_rtt_us < measured->minimum_rtt_us / 2)
			measured->doubtful = 1;
		return 0;
	}
	/* Its round trip, rounded down to whole ticks, may be shorter than the path's by the time of several packets. */
	if (ack->retransmitted)
		return 0;
	if (sample_rtt_us >= measured->minimum_rtt_us) {
		if (measured->low_support)
			measured->low_support -= 1;
		return 0;
	}
	fall_us = measured->minimum_rtt_us - sample_rtt_us;
	if (rare || !measured->low_support || fall_us > measured->low_fall_us)
		measured->low_fall_us = fall_us;
	if (!rare && measured->low_support < NETNICE_LOW_ENOUGH - NETNICE_LOW_SUPPORT) {
		measured->low_support += NETNICE_LOW_SUPPORT;
		return 0;
	}
	return netnice_take_fall(measured);
}

/*
 * Returns the queueing delay of the forward path. The round trip's excess over its minimum is exact
 * but includes the return path; the excess of the one-way delay excludes it but is as coarse as the
 * peer's clock. The result is the smaller of the two.
 */
POLICY_INLINE u32 netnice_queue_us(struct netnice_measured *measured, struct policy_report *report,
				   const struct netnice_ack *ack)
{
	u32 queue_us, delay_us;
	u8 restarted;

	/* Too low to be believed yet: its one-way delay neither. */
	if (ack->sample_rtt_us < measured->minimum_rtt_us)
		return 0;
	queue_us = ack->sample_rtt_us - measured->minimum_rtt_us;
	delay_us = one_way_delay_of_ack(&measured->clock, report, ack->has_timestamp, ack->tsval,
					ack->sample_rtt_us, ack->now_us, &restarted);
	if (!delay_us)
		return queue_us;
	delay_us = netnice_one_way_queue_us(measured, delay_us, queue_us, restarted);
	/* A round trip at its minimum shows an empty forward path: any excess is clock drift. */
	if (delay_us > NETNICE_DRIFT_US && queue_us < measured->threshold_floor_us / 4)
		measured->minimum_one_way_us += (delay_us - NETNICE_DRIFT_US) / 8;
	if (netnice_doubt_stamp(measured, ack, queue_us > delay_us + NETNICE_DRIFT_US)) {
		report->signal = POLICY_SIGNAL_ROUND_TRIP;
		return queue_us;
	}
	return policy_min(queue_us, delay_us);
}

/*
 * Returns whether a receiver that makes ACKs rare may have held this one: some acknowledge 16 packets,
 * or what has come within 100 ms. A whole window may be less than it waits for. At the receiver itself
 * there are no ACKs.
 */
POLICY_INLINE int netnice_may_be_held(const struct netnice_measured *measured,
				      const struct netnice_ack *ack)
{
	return !ack->at_receiver && delayed_ack_is_rare(ack->acked) &&
	       measured->whole_acks < NETNICE_WHOLE_ACKS;
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

/*
 * Returns whether an ACK covers the first packet of a pair alone: after a silence of more than its RTO Linux delays none of
 * up to 16 ACKs (TCP_MAX_QUICKACKS). Probes have an even number of packets, which leave together, so that no timer has released
 * this ACK while the next packet was in flight.
 */
POLICY_INLINE int netnice_splits_pair(const struct netnice_ack *ack)
{
	return !ack->at_receiver && ack->acked == 1 && ack->in_flight % 2;
}

/*
 * Takes the sample of an ACK, where a queue up to `threshold_us` is none, and `probes` is whether all that the flow sends are
 * probes. Returns enum netnice_sample_kind.
 */
POLICY_INLINE int netnice_measure(struct netnice_measured *measured, struct policy_report *report,
				  const struct netnice_ack *ack, u32 threshold_us, int probes)
{
	u8 lone_acks = measured->lone_acks;
	int prompt = delayed_ack_is_prompt(&lone_acks, ack->acked, ack->in_flight);
	int held = netnice_may_be_held(measured, ack);
	u32 queue_us;

	measured->lone_acks = lone_acks;
	if (!ack->sample_rtt_us || ca_answers_congestion(ack->ca_state))
		return NETNICE_WITHOUT_SAMPLE;
	if (ack->ca_state != CA_OPEN && ack->sample_rtt_us < measured->minimum_rtt_us)
		return NETNICE_WITHOUT_SAMPLE;
	queue_us = netnice_queue_us(measured, report, ack);
	/* The delay of a pair is that of its second packet, as with one ACK for both. */
	if (probes && netnice_splits_pair(ack)) {
		measured->round_prompt = 1;
		return NETNICE_WITHOUT_SAMPLE;
	}
	if (held && ack->in_flight) {
		queue_us = netnice_less_held_us(ack, queue_us);
	} else if (held && queue_us <= threshold_us) {
		measured->whole_acks += 1;
	} else if (held && !probes) {
		/* No sign of a queue: the window grows to what makes the receiver acknowledge at once. */
		measured->round_queue_us = policy_min(measured->round_queue_us, threshold_us / 2);
		return NETNICE_WITHOUT_SAMPLE;
	}
	measured->previous_queue_us = measured->latest_queue_us;
	measured->latest_queue_us = queue_us;
	measured->round_queue_us = policy_min(measured->round_queue_us, queue_us);
	measured->round_high_us = policy_max(measured->round_high_us, queue_us);
	if (!prompt)
		return NETNICE_LATE_SAMPLE;
	measured->round_prompt = 1;
	return NETNICE_PROMPT_SAMPLE;
}

/* Counts the packets in a row that met a queue of more than `threshold_us`, by the sample just taken. */
POLICY_INLINE void netnice_count_over(struct netnice_measured *measured,
				      const struct netnice_ack *ack, int kind, u32 threshold_us)
{
	u32 queue_us = measured->latest_queue_us;

	if (queue_us <= threshold_us) {
		measured->over_packets = 0;
	} else if (kind == NETNICE_PROMPT_SAMPLE && netnice_follows_reaction(measured, ack) &&
		   !netnice_may_be_lone(ack, queue_us - threshold_us)) {
		measured->over_queue_us = policy_min(measured->previous_queue_us, queue_us);
		measured->over_packets += ack->acked;
	}
}

#endif
