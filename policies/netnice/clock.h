/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * netnice: finds out whether the peer's timestamps follow a clock.
 *
 * A packet cannot have waited on the forward path for longer than its round trip took over the
 * smallest one. So each sample gives a lower bound of the smallest one-way delay, and no later sample
 * lies below it, except for the drift of clocks. One that does shows stamps that do not follow time:
 * a clock that is slow by per cents, or that was set. Its queue would be read as empty. Then the round
 * trip alone counts, and where this happens again and again, for ever.
 *
 * A stamp of our own that comes back with something added is as old as the packet, so that its one-way
 * delay is empty whatever the queue. It is always as far ahead of ours, while a clock differs from ours
 * by a tick more or less, by where in a tick a packet was sent. Something random that is added makes
 * stamps run backwards, which a clock never does.
 *
 * The smallest round trip may itself contain a queue: on the way back one may never be empty. Then
 * one-way delays fall lower than it seems to allow, and the excess shows how much shorter the path's
 * round trip must be at least. An excess of up to half the smallest round trip is believed, once in a
 * connection.
 */
#ifndef NETNICE_POLICY_NETNICE_CLOCK_H
#define NETNICE_POLICY_NETNICE_CLOCK_H

#include "integer.h"
#include "netnice/state.h"
#include "one_way_delay.h"

/*
 * Clocks drift by less than a part in a thousand: one-way delays may fall by 1 ms in a second. Returns
 * the seconds since the last ACK.
 */
POLICY_INLINE u32 netnice_allow_drift(struct netnice_measured *measured, u32 now_us)
{
	u32 now_s = now_us / 1000000;
	u32 silent_s = now_s - measured->heard_s;

	/* The clock has wrapped: a pause of less than that. */
	if (now_s < measured->heard_s)
		silent_s += NETNICE_CLOCK_WRAPS_S;
	measured->heard_s = now_s;
	if (measured->one_way_slack_us != NETNICE_UNKNOWN)
		measured->one_way_slack_us += silent_s * NETNICE_DRIFT_US_PER_S;
	return silent_s;
}

/*
 * Follows whether stamps repeat ours, where a packet's round trip says that it has waited for longer
 * than its stamp says. Returns whether they seem to: then the round trip counts. The delay of a path
 * without jitter may lie so close to a whole tick that hardly a packet shows the next one, in three of
 * a hundred connections: they are governed as those of peers without timestamps.
 */
POLICY_INLINE int netnice_doubt_stamp(struct netnice_measured *measured,
				      const struct netnice_ack *ack, int contradicts)
{
	u8 doubts = measured->stamp_doubts;

	if (ack->stamp_lead != measured->stamp_lead)
		doubts -= policy_min(doubts, NETNICE_ECHO_RELIEF);
	else if (contradicts && doubts < NETNICE_ECHO_DOUBTS_LIMIT)
		doubts += 1;
	measured->stamp_lead = ack->stamp_lead;
	measured->stamp_doubts = doubts;
	if (ack->stamp_back)
		measured->clock.started += 1;
	return doubts >= NETNICE_ECHO_DOUBTS;
}

/* Returns whether a fall of `beyond_us` more than round trips allow shows a queue in the smallest one. */
POLICY_INLINE int netnice_believe_excess(struct netnice_measured *measured, u32 beyond_us)
{
	if (measured->excess_us + beyond_us > measured->minimum_rtt_us / 2)
		return 0;
	measured->excess_us += beyond_us;
	return 1;
}

/*
 * Returns by how much a one-way delay exceeds the smallest one, which it updates. `rtt_queue_us` is
 * the excess of the same packet's round trip.
 */
POLICY_INLINE u32 netnice_one_way_queue_us(struct netnice_measured *measured, u32 delay_us,
					   u32 rtt_queue_us, u8 restarted)
{
	u32 slack_us = measured->one_way_slack_us;
	u32 fall_us, queue_us;

	if (restarted || !measured->minimum_one_way_us) {
		measured->minimum_one_way_us = delay_us;
		slack_us = NETNICE_UNKNOWN;
	}
	if (delay_us < measured->minimum_one_way_us) {
		fall_us = measured->minimum_one_way_us - delay_us;
		measured->minimum_one_way_us = delay_us;
		if (slack_us == NETNICE_UNKNOWN) {
			/* No earlier sample limits the fall. */
		} else if (fall_us <= slack_us) {
			slack_us -= fall_us;
		} else if (netnice_believe_excess(measured, fall_us - slack_us)) {
			slack_us = 0;
		} else {
			measured->minimum_one_way_us -= rtt_queue_us;
			measured->clock.started += 1;
			slack_us = NETNICE_UNKNOWN;
		}
	}
	queue_us = delay_us - measured->minimum_one_way_us;
	/* The resolution of the stamps, too, lets delays fall. */
	fall_us = rtt_queue_us + measured->excess_us + NETNICE_DRIFT_US;
	fall_us -= policy_min(fall_us, queue_us);
	measured->one_way_slack_us = policy_min(slack_us, fall_us);
	return queue_us;
}

#endif
