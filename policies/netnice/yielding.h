/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* netnice: behaviour while others use the link, and detection that they have stopped. */
#ifndef NETNICE_POLICY_NETNICE_YIELDING_H
#define NETNICE_POLICY_NETNICE_YIELDING_H

#include "integer.h"
#include "netnice/gaps.h"
#include "netnice/believe.h"
#include "netnice/state.h"
#include "netnice/longer_path.h"
#include "report.h"

/* Packets of a probe while yielding. */
POLICY_INLINE u32 netnice_probe_packets(const struct netnice *state)
{
	return netnice_sends_trains(state) ? netnice_train_packets(state) : NETNICE_PAIR_PACKETS;
}

/* Returns whether all that the flow sends are probes. A receiver sends none. */
POLICY_INLINE int netnice_sends_probes(const struct netnice *state, const struct netnice_ack *ack)
{
	return !ack->at_receiver && netnice_yields(state);
}

/* Returns the clean probes in a row that end yielding: one where delays vary, since several in a row hardly ever come there. */
POLICY_INLINE u32 netnice_clean_probes(const struct netnice *state)
{
	if (netnice_is_noisy(state))
		return 1;
	return state->decided.brief_stays ? NETNICE_BRIEF_CLEAN_PROBES : NETNICE_CLEAN_PROBES;
}

/*
 * Trains have not confirmed the rate that gaps between ACKs showed: the highest rate had is the link's, as far as it is
 * known. Of back-offs at which gaps alone show more, only one of 8, 64, 128 counts from now on, until the flow has a higher
 * rate or a turn: ACKs that a busy machine delays have such gaps for as long as it is busy.
 */
POLICY_INLINE void netnice_forget_slots(struct netnice *state)
{
	if (!state->trains.claimed_slots)
		return;
	state->believed.packet_ns *= state->trains.claimed_slots + 1;
	state->trains.claimed_slots = 0;
	state->gaps.gap_wait =
		policy_min(state->gaps.gap_wait + NETNICE_GAP_WAITS, NETNICE_SHARE_WAITS);
}

/* Gives way to others. */
POLICY_CALLED u32 netnice_yield(struct netnice *state, u8 reason)
{
	POLICY_STEP_NEEDS(state);
	netnice_forget_slots(state);
	netnice_move(state, reason);
	state->decided.probe_rounds = 1;
	state->decided.pause_scale = NETNICE_PAUSE_UNIT;
	state->decided.pausing = 0;
	state->losses.judging = 0;
	state->decided.inference = 0;
	state->decided.clean_probes = netnice_clean_probes(state);
	state->longer_path.steady_since_us = 0;
	state->trains.together = 0;
	state->decided.recurrences = 0;
	return NETNICE_MINIMUM_CWND;
}

/*
 * Returns whether a blind loss began the latest yielding: then probes are so far apart that they only tell when to try
 * again.
 */
POLICY_INLINE int netnice_began_blindly(const struct netnice *state)
{
	return state->decided.probe_rounds > NETNICE_PROBE_ROUNDS;
}

/* Returns the clean probes that end a yielding after a blind loss. */
POLICY_INLINE u32 netnice_blind_probes(const struct netnice *state)
{
	return NETNICE_BLIND_PROBES * policy_max(state->losses.blind_scale, 1);
}

/* Probes cannot detect so short a queue for certain. */
POLICY_INLINE u32 netnice_yield_blindly(struct netnice *state, u8 reason)
{
	u32 scale = netnice_began_blindly(state) ? state->losses.blind_scale : 0;
	u32 cwnd;

	/*
	 * Only a return finds out whether others have gone, at their cost: each one that meets them makes the
	 * next wait twice as long.
	 */
	if (!netnice_yields(state))
		scale = policy_min(2 * scale, NETNICE_BLIND_SCALE_LIMIT);
	cwnd = netnice_yield(state, reason);
	state->losses.blind_rounds = 0;
	state->decided.probe_rounds = NETNICE_BLIND_PROBE_ROUNDS;
	state->losses.blind_scale = policy_max(scale, 1);
	state->decided.clean_probes = netnice_blind_probes(state);
	return cwnd;
}

/*
 * Lengthens the longest pause by a sixteenth each time a probe after it finds others, so that a
 * pause is a sixteenth of the time for which others have been present: many flows that yield for
 * long add little load, and a late return costs little compared with the time that the others
 * stayed.
 */
POLICY_INLINE void netnice_lengthen_pause(struct netnice *state)
{
	state->decided.pause_scale =
		policy_min(state->decided.pause_scale +
				   (state->decided.pause_scale >> NETNICE_PAUSE_GROWTH_SHIFT),
			   NETNICE_PAUSE_SCALE_LIMIT);
}

/*
 * Returns whether probes have reached their longest interval in round trips and have still met a
 * queue.
 */
POLICY_INLINE int netnice_pauses_long(const struct netnice *state)
{
	return state->decided.probe_rounds == NETNICE_PROBE_ROUNDS &&
	       state->decided.pause_scale > NETNICE_PAUSE_UNIT;
}

/* Returns whether the next train decides between yielding and a return: the delay has stood still. */
POLICY_INLINE int netnice_train_decides(const struct netnice *state)
{
	return state->decided.phase == NETNICE_VERDICT;
}

/*
 * A probe is two packets together, or a train. While one is in flight, the next would go alone, and the
 * receiver would delay its ACK and all that follow: no sample would ever be free of that wait.
 * Linux sends at most half a window at once, hence a window of twice as many packets.
 *
 * The pause after a packet is fixed when the packet leaves. An ACK that met no queue should be
 * followed by the next probe at once, not after a long pause; so the long pause follows a lone
 * packet, sent after the probe has met a queue.
 */
POLICY_CALLED u32 netnice_probe_cwnd(struct netnice *state, const struct netnice_ack *ack)
{
	POLICY_STEP_NEEDS(state && ack);
	u32 cwnd = 2 * netnice_probe_packets(state);

	if (ack->in_flight)
		return policy_min(ack->in_flight, cwnd);
	state->decided.pausing = !state->decided.pausing && netnice_pauses_long(state) &&
				 !netnice_train_decides(state);
	return state->decided.pausing ? 1 : cwnd;
}

/* Number of packets that pacing sends at once. */
POLICY_INLINE u32 netnice_burst_packets(const struct netnice *state)
{
	if (!netnice_yields(state) || state->decided.pausing)
		return 1;
	return netnice_probe_packets(state);
}

/*
 * Returns the round trip by which probes are spaced. Where a stay may be brief it is that of the latest
 * probe: the smoothed one still contains the queue that others have left behind.
 */
POLICY_INLINE u32 netnice_probe_round_us(const struct netnice *state, u32 smoothed_rtt_us)
{
	if (!state->decided.brief_stays)
		return smoothed_rtt_us;
	return policy_min(smoothed_rtt_us,
			  state->measured.minimum_rtt_us + state->measured.latest_queue_us);
}

/*
 * Returns the smoothed round trip, where it is seconds no longer than that of the latest probe: a queue of seconds that has
 * gone would keep probes apart, of which each takes but an eighth of it away.
 */
POLICY_INLINE u32 netnice_recent_rtt_us(const struct netnice *state, u32 smoothed_rtt_us)
{
	u32 latest_us = state->measured.minimum_rtt_us + state->measured.latest_queue_us;

	return policy_min(smoothed_rtt_us, policy_max(latest_us, NETNICE_PROBE_PAUSE_US));
}

/* Returns the time from one burst to the next. */
POLICY_INLINE u32 netnice_pause_us(const struct netnice *state, u32 smoothed_rtt_us)
{
	u32 rtt_us = netnice_recent_rtt_us(state, smoothed_rtt_us);
	u32 round_us = netnice_probe_round_us(state, rtt_us);
	u32 pause_us = policy_min(state->decided.probe_rounds * round_us, NETNICE_PROBE_PAUSE_US);

	/* What was lost is repaired sooner: otherwise data would wait for many pauses. */
	if (state->decided.recovering)
		pause_us = policy_min(pause_us, NETNICE_REPAIR_ROUNDS * rtt_us);
	if (netnice_train_decides(state))
		pause_us = policy_min(pause_us, NETNICE_VERDICT_ROUNDS * rtt_us);
	pause_us = policy_max(pause_us, rtt_us);
	if (!netnice_pauses_long(state))
		return pause_us;
	if (!state->decided.pausing)
		return NETNICE_VERDICT_ROUNDS * rtt_us;
	pause_us = policy_scale(pause_us, state->decided.pause_scale, NETNICE_PAUSE_UNIT);
	return policy_min(pause_us, NETNICE_LONGEST_PAUSE_US);
}

/* The next trains need twice as many back-offs at a much lower rate. */
POLICY_INLINE void netnice_defer_trains(struct netnice *state)
{
	if (state->trains.share_wait < NETNICE_SHARE_WAITS)
		state->trains.share_wait += 1;
}

/* Ends yielding. */
POLICY_INLINE void netnice_return(struct netnice *state, u8 reason)
{
	int shared = state->decided.phase == NETNICE_SHARE;

	netnice_move(state, reason);
	state->decided.growth = 1;
	state->measured.over_packets = 0;
	netnice_forget_slots(state);
	if (shared) {
		state->trains.share_evidence = 0;
		netnice_defer_trains(state);
	}
	if (!state->longer_path.on_trial)
		netnice_forget_gaps(state);
}

/* Continues the yielding that a trial has interrupted. */
POLICY_CALLED u32 netnice_resume_yielding(struct netnice *state)
{
	POLICY_STEP_NEEDS(state);
	netnice_fail_trial(state);
	netnice_move(state, NETNICE_BECAUSE_NO_LONGER_PATH);
	state->decided.pausing = 0;
	state->decided.inference = 0;
	state->decided.clean_probes = NETNICE_CLEAN_PROBES;
	return NETNICE_MINIMUM_CWND;
}

/* Counts a probe that met no queue; the last of several in a row ends yielding. */
POLICY_INLINE void netnice_count_clean_probe(struct netnice *state)
{
	if (state->decided.clean_probes > 1) {
		state->decided.clean_probes -= 1;
		if (state->decided.probe_rounds > 1 &&
		    state->decided.probe_rounds <= NETNICE_PROBE_ROUNDS)
			state->decided.probe_rounds /= 2;
		return;
	}
	state->longer_path.trial_waits = 0;
	/* If nobody was there, the window before the trains was right. */
	netnice_return(state, state->decided.phase == NETNICE_SHARE ? NETNICE_BECAUSE_CLEAN_SHARE :
								      NETNICE_BECAUSE_CLEAN);
	if (state->policer.limit)
		state->losses.blind_rounds = NETNICE_BLIND_ROUNDS;
}

/*
 * Spaces the probes after one that met a queue. Pauses double up to the longest, and that grows. Where
 * the last stays of others were brief, pauses remain short until this one has lasted for longer.
 */
POLICY_INLINE void netnice_space_probes(struct netnice *state, int queue_grows)
{
	u32 longest =
		state->decided.brief_stays ? NETNICE_BRIEF_PROBE_ROUNDS : NETNICE_PROBE_ROUNDS;

	if (state->decided.probe_rounds > longest)
		return;
	if (state->decided.probe_rounds < longest) {
		if (queue_grows)
			state->decided.probe_rounds *= 2;
		return;
	}
	if (!state->decided.pausing)
		netnice_lengthen_pause(state);
	if (state->decided.brief_stays && state->decided.pause_scale >= NETNICE_BRIEF_PAUSE_SCALE) {
		state->decided.brief_stays = 0;
		state->decided.pause_scale = NETNICE_PAUSE_UNIT;
	}
}

/*
 * Sends only pairs of packets until several in a row find no queue: a single pair may fall between
 * two bursts of a flow that is not, or no longer, at full speed. While pairs find none, their
 * interval shrinks.
 */
POLICY_INLINE void netnice_yielding_round(struct netnice *state, const struct netnice_ack *ack,
					  u32 previous_queue_us, u32 queue_us, u32 threshold_us)
{
	if (queue_us <= threshold_us) {
		netnice_count_clean_probe(state);
		return;
	}
	if (queue_us > state->measured.minimum_rtt_us / 2)
		state->decided.deep = 1;
	/* A small queue may be that of another low-priority flow. */
	if (!netnice_began_blindly(state) && queue_us > 2 * threshold_us)
		state->decided.clean_probes = netnice_clean_probes(state);
	/* So far only losses showed the others; now delay shows them. One probe may have been delayed by a busy machine. */
	if (netnice_began_blindly(state) && previous_queue_us > threshold_us &&
	    queue_us > NETNICE_LONG_QUEUE * threshold_us) {
		state->decided.clean_probes = NETNICE_CLEAN_PROBES;
		state->decided.probe_rounds = NETNICE_PROBE_ROUNDS;
		state->decided.pause_scale = NETNICE_PAUSE_UNIT;
	}
	netnice_space_probes(state, queue_us >= previous_queue_us);
	/* The lone packet of a long pause has not waited for another one: on a slow link it meets less. */
	if (state->decided.pausing || !netnice_is_steady(state, queue_us, ack->now_us))
		return;
	if (!ack->at_receiver) {
		/* A train tells a longer path from a slower link. */
		netnice_move(state, NETNICE_BECAUSE_STEADY);
		return;
	}
	netnice_begin_trial(state, ack->delivered);
	netnice_return(state, NETNICE_BECAUSE_LONGER_PATH);
}

#endif
