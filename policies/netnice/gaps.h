/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * netnice: the link's rate, for a flow that never had the link to itself in a fair queue.
 *
 * There a flow is served once for each packet of the others, at a rate that a slower link could have.
 * But packets of one size leave a link that is always busy in slots of one packet's time. Whenever the
 * flow's own queue is empty, its next packet waits for packets of others to end, and so the gaps
 * between its ACKs differ by whole slots:
 *
 *   two packets an ACK           a slower link, alone            beside one other flow
 *   most gaps (the mode)         two packets at that rate        4 slots
 *   other gaps                   any longer time                 2, 3, 5, 6 or 7 slots
 *
 * So the mode is a multiple of the slot: Dovrolis, Ramanathan and Moore, "Packet-Dispersion Techniques and a
 * Capacity-Estimation Methodology" (2004), find such modes where packets of others come between two. That the mode holds two
 * slots for each packet is tried first, then three and four. Gaps beside others in a common queue are
 * alike, and so are those of some paths alone: trains and the handshake decide (netnice/trains.h).
 */
#ifndef NETNICE_POLICY_NETNICE_GAPS_H
#define NETNICE_POLICY_NETNICE_GAPS_H

#include "ca_state.h"
#include "integer.h"
#include "netnice/decisions.h"
#include "netnice/state.h"
#include "report.h"

POLICY_INLINE void netnice_forget_gaps(struct netnice *state)
{
	state->gaps.gap_acked_us = 0;
	state->gaps.gap_told = 0;
	state->gaps.gap_mode_us = 0;
	state->gaps.gap_support = 0;
	state->gaps.gap_evidence = 0;
	state->gaps.gap_parts = 0;
}

/* Slots in the mode of gaps, per packet: the present hypothesis. */
POLICY_INLINE u32 netnice_gap_slots(const struct netnice *state)
{
	return state->gaps.gap_parts + NETNICE_GAP_FEWEST_SLOTS;
}

/*
 * Follows the mode of the gaps, per packet, by the majority vote of Boyer and Moore; a third of all gaps is enough. It moves
 * by a microsecond at a time: the gaps of a flow that paces its packets differ from round to round, and are
 * not to be followed. Returns whether there is a mode.
 */
POLICY_INLINE int netnice_learn_gap_mode(struct netnice *state, u32 packet_us)
{
	u32 mode_us = state->gaps.gap_mode_us;
	u32 distance_us = packet_us > mode_us ? packet_us - mode_us : mode_us - packet_us;

	if (distance_us <= mode_us / 16) {
		state->gaps.gap_support =
			policy_min(state->gaps.gap_support + 2, NETNICE_GAP_SUPPORT);
		state->gaps.gap_mode_us += (packet_us > mode_us) - (packet_us < mode_us);
	} else if (state->gaps.gap_support) {
		state->gaps.gap_support -= 1;
	} else {
		state->gaps.gap_mode_us = packet_us;
		state->gaps.gap_evidence = 0;
	}
	return state->gaps.gap_support > NETNICE_GAP_SUPPORT / 2 &&
	       state->gaps.gap_mode_us >= NETNICE_GAP_SHORTEST_US &&
	       state->gaps.gap_mode_us <= NETNICE_GAP_MODE_LIMIT_US;
}

/*
 * Returns whether a gap of `gap_slots` is evidence for `slots` a packet: an odd number that is no multiple of `slots`
 * (an even one would also be whole slots of twice the time), or, if two slots a packet are most, one slot a packet:
 * nothing of others came between.
 */
POLICY_INLINE int netnice_gap_is_telling(u32 slots, u32 gap_slots, u32 acked)
{
	if (slots == 2)
		return gap_slots % 2 || gap_slots == acked;
	return gap_slots % 2 && gap_slots % slots;
}

/*
 * Weighs a gap as evidence for the present hypothesis; of several telling ones in a row the first: in a run of them
 * the flow's own rate has changed. Without evidence the next hypothesis is tried.
 */
POLICY_INLINE void netnice_weigh_gap(struct netnice *state, u32 gap_us, u32 acked)
{
	u32 slots = netnice_gap_slots(state);
	/* In sixteenths of a slot, rounded to whole ones. */
	u32 sixteenths = gap_us * 16 * slots / state->gaps.gap_mode_us + 8;
	u32 above = sixteenths % 16;
	u32 distance = above > 8 ? above - 8 : 8 - above;
	u32 evidence = state->gaps.gap_evidence;
	int fits = distance <= NETNICE_GAP_TOLERANCE;
	u32 against = fits ? 1 : NETNICE_GAP_AGAINST;

	if (fits && netnice_gap_is_telling(slots, sixteenths / 16, acked)) {
		if (!state->gaps.gap_told)
			state->gaps.gap_evidence =
				policy_min(evidence + NETNICE_GAP_FOR, NETNICE_GAP_EVIDENCE_LIMIT);
		state->gaps.gap_told = 1;
		return;
	}
	state->gaps.gap_told = 0;
	if (evidence < against)
		state->gaps.gap_parts = (state->gaps.gap_parts + 1) % NETNICE_GAP_HYPOTHESES;
	state->gaps.gap_evidence = evidence - policy_min(evidence, against);
}

/* Learns from the time between two ACKs, while the flow uses the link. */
POLICY_CALLED u32 netnice_learn_gap(struct netnice *state, const struct netnice_ack *ack)
{
	POLICY_STEP_NEEDS(state && ack);
	u32 gap_us = ack->now_us - state->gaps.gap_acked_us;

	if (netnice_yields(state) || state->longer_path.on_trial || ack->at_receiver)
		return 0;
	state->gaps.gap_acked_us = ack->now_us;
	if (!ack->acked || ack->acked > 2 || ack->app_limited || ack->ca_state != CA_OPEN ||
	    gap_us > NETNICE_GAP_LONGEST_US)
		return 0;
	if (netnice_learn_gap_mode(state, gap_us / ack->acked) &&
	    gap_us < 8 * state->gaps.gap_mode_us)
		netnice_weigh_gap(state, gap_us, ack->acked);
	return 0;
}

/*
 * Time of one packet at the link's rate: shorter than at the highest rate had, where gaps show slots and the round trip of
 * the handshake is known, without which trains cannot confirm them.
 */
POLICY_INLINE u32 netnice_link_ns(const struct netnice *state)
{
	u32 enough = state->trains.share_evidence ? NETNICE_GAP_EVIDENCE / 4 : NETNICE_GAP_EVIDENCE;
	u32 slot_ns = state->gaps.gap_mode_us * 1000U / netnice_gap_slots(state);

	if (state->gaps.gap_evidence < enough || !state->believed.handshake_us ||
	    slot_ns + slot_ns / 8 > state->believed.packet_ns)
		return state->believed.packet_ns;
	return slot_ns;
}

#endif
