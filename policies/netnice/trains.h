/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * netnice: others in a fair queue, and a link that has become slower.
 *
 * Where each flow has a queue of its own, delay never shows the others: a flow's queue is its own
 * work, and the scheduler serves the others between its packets. Its delivery rate falls to half or
 * less. A slower link does the same. A train of packets that leave together, and their delays over
 * the smallest one, distinguish the two, and both from a longer path:
 *
 *   alone           the last packet waits for those before it, each a packet's time at the known
 *                   rate.
 *   fair queue      packets of others are served between: it waits for about as many again.
 *   slower link     the packets follow one another at the lower rate, and the last has waited for
 *                   no more than all of them take at that rate.
 *   longer path     all have waited longer, but follow one another at the known rate.
 */
#ifndef NETNICE_POLICY_NETNICE_TRAINS_H
#define NETNICE_POLICY_NETNICE_TRAINS_H

#include "integer.h"
#include "netnice/gaps.h"
#include "netnice/believe.h"
#include "netnice/state.h"
#include "netnice/longer_path.h"
#include "netnice/yielding.h"
#include "report.h"

/* Time of one packet at the rate of the latest round trip; 0 if unknown. */
POLICY_INLINE u32 netnice_delivery_ns(const struct netnice_ack *ack)
{
	if (ack->app_limited || ack->rate_delivered < 8)
		return 0;
	return policy_scale(ack->rate_interval_us, 1000, ack->rate_delivered);
}

/*
 * Collects evidence at each back-off, and returns whether trains should look for others in a fair
 * queue: the flow had four fifths of the link's rate, or gaps between ACKs show that rate, and since
 * then, at three back-offs, the flow had less than four sevenths. Trains cost a pause, and may look while the others
 * are silent: so they are repeated, and each time that they find nobody, only one back-off of twice as many counts. A
 * rate that falls slowly (two back-offs in a row at a rate between those) has that effect, too: two low-priority flows
 * in one queue come to equal shares so. Where delays vary without others at two back-offs in a row (the first may meet
 * others that just begin), or a train does not take longer than the threshold, trains would show nothing. Beside others
 * that gaps show, the rate and the delays vary by their work.
 */
POLICY_INLINE int netnice_learn_share(struct netnice *state, const struct netnice_ack *ack)
{
	u32 delivery_ns = netnice_delivery_ns(ack);
	u32 link_ns = netnice_link_ns(state);
	int beside_others = link_ns < state->believed.packet_ns;
	u32 packet_us = link_ns / 1000;
	u32 packets = netnice_packets_of_train(state->measured.threshold_floor_us, packet_us);
	u32 train_us = packets * packet_us;
	/* A receiver delays ACKs: the count of packets is mostly even. */
	u32 dither = ack->delivered / 2;
	u32 varied;

	if (!delivery_ns || !packet_us || ack->at_receiver)
		return 0;
	if (delivery_ns - delivery_ns / 5 <= link_ns) {
		state->trains.share_evidence = 0;
		state->trains.turn_waits = 0;
		if (state->trains.share_wait && !(dither % NETNICE_SHARE_RELIEF))
			state->trains.share_wait -= 1;
		if (delivery_ns - delivery_ns / 8 <= link_ns) {
			varied = state->believed.jitter_us > train_us / 16;
			state->trains.jittery =
				varied && (state->trains.doubted || state->trains.jittery);
			state->trains.doubted = varied;
		}
		return 0;
	}
	if ((state->trains.jittery && !beside_others) ||
	    netnice_threshold_at_us(state, link_ns) > train_us / 2)
		return 0;
	if (delivery_ns / 7 < link_ns / 4) {
		if (state->trains.doubted && !beside_others)
			netnice_defer_trains(state);
		state->trains.doubted = 1;
		return 0;
	}
	state->trains.doubted = 0;
	if (dither % (1U << (beside_others ? state->gaps.gap_wait : state->trains.share_wait)))
		return 0;
	state->trains.share_evidence += 1;
	return state->trains.share_evidence >= NETNICE_SHARE_BACK_OFFS;
}

/* Others are served between the packets of trains; `times` is how many times the highest rate had goes into the link's. */
POLICY_INLINE void netnice_begin_sharing(struct netnice *state, const struct netnice_ack *ack,
					 u32 times)
{
	state->trains.shared_since_us = ack->now_us;
	state->trains.claimed_slots = times - 1;
	state->trains.lead_ns = 0;
	state->trains.weighed = 0;
	state->trains.beyond_us = 2 * state->believed.packet_ns / 1000;
}

/* Yields to others in a fair queue. */
POLICY_INLINE u32 netnice_yield_share(struct netnice *state, const struct netnice_ack *ack)
{
	u32 link_ns = netnice_link_ns(state);
	u32 times = link_ns < state->believed.packet_ns ? netnice_gap_slots(state) : 1;
	u32 cwnd;

	state->decided.brief_stays = 0;
	cwnd = netnice_yield(state, NETNICE_BECAUSE_FAIR_QUEUE);
	state->believed.packet_ns = link_ns;
	netnice_begin_sharing(state, ack, times);
	state->trains.share_evidence = 0;
	return cwnd;
}

/*
 * Returns the time from one of the last packets of a train to the next, or 0 if the ACKs do not show
 * it. `previous_us` is the delay of the pair before the last.
 */
POLICY_INLINE u32 netnice_spacing_us(const struct netnice *state, const struct netnice_ack *ack,
				     u32 previous_us)
{
	u32 last_us = state->measured.latest_queue_us;

	if (last_us <= previous_us || ack->acked > NETNICE_PAIR_PACKETS)
		return 0;
	return (last_us - previous_us) / NETNICE_PAIR_PACKETS;
}

/*
 * Returns the time of a packet on a link that has become slower, if the delays of a train show one;
 * otherwise 0. A path that has just become longer counts as jitter, too: the last packets follow at half the mean
 * at least. In a fair queue others seem to fit, too: see netnice_is_slower().
 */
POLICY_INLINE u32 netnice_slower_ns(const struct netnice *state, u32 spacing_us)
{
	u32 packet_us = state->believed.packet_ns / 1000;
	u32 packets = netnice_train_packets(state);
	u32 mean_us = (state->measured.latest_queue_us + packet_us) / packets;
	u32 tolerance_us = policy_min(mean_us / 4 + 2 * state->believed.jitter_us, mean_us / 2);
	u32 distance_us = spacing_us > mean_us ? spacing_us - mean_us : mean_us - spacing_us;

	if (spacing_us - spacing_us / 5 < packet_us || distance_us > tolerance_us)
		return 0;
	return mean_us * 1000;
}

/*
 * Returns whether trains in a row show a slower link. There the first packets of a train wait until they are transmitted at
 * the lower rate. In a fair queue the first one waits only for the rest of a packet of others: it comes half a packet's
 * time sooner in the mean of many trains, which jitter does not change. Where the scheduler serves two packets of a new
 * flow at once (FQ-CoDel), the second one comes sooner, too. `slower_ns` is netnice_slower_ns().
 */
POLICY_INLINE int netnice_is_slower(struct netnice *state, u32 spacing_us, u32 slower_ns)
{
	u32 packet_us = state->believed.packet_ns / 1000;
	/* By how much one train may differ from others. */
	u32 limit_us = policy_min(packet_us, NETNICE_LEAD_LIMIT_US);
	/* The first delay of a train is that of its second packet. */
	u32 slower_us = NETNICE_PAIR_PACKETS * spacing_us;
	u32 seen_us = state->measured.round_queue_us + packet_us;
	s32 lead_us;

	if (!slower_ns) {
		state->trains.lead_ns = 0;
		return 0;
	}
	if (!state->trains.lead_ns)
		state->trains.lead_ns = (s32)(limit_us * 500);
	if (slower_us > seen_us)
		lead_us = (s32)policy_min(slower_us - seen_us, limit_us);
	else
		lead_us = -(s32)policy_min(seen_us - slower_us, limit_us);
	state->trains.lead_ns += (lead_us * 1000 - state->trains.lead_ns) >> NETNICE_LEAD_SHIFT;
	return state->trains.lead_ns < (s32)(limit_us * 250);
}

/*
 * Returns by how much longer the round trip of a packet took than that of the handshake, less what it waited for those of the
 * same train before it.
 */
POLICY_INLINE u32 netnice_beyond_handshake_us(const struct netnice *state, u32 waited_us)
{
	u32 round_trip_us = state->measured.minimum_rtt_us + waited_us;

	return round_trip_us - policy_min(round_trip_us, state->believed.handshake_us);
}

/*
 * Learns from a train whether the rate that gaps between ACKs have shown is the link's. The packets of a handshake are
 * short; a full one adds the time of its transmission to the round trip. Alone, on a link at the rate that the flow had, that
 * is two slots or more. In a fair queue it is one, and half of one in the mean for the rest of a packet of others, for which the
 * handshake may have waited, too.
 */
POLICY_INLINE void netnice_weigh_train(struct netnice *state, u32 spacing_us)
{
	u32 packet_us = state->believed.packet_ns / 1000;
	/* The first delay of a train is that of its second packet. */
	u32 waited_us = (NETNICE_PAIR_PACKETS - 1) * spacing_us;
	u32 beyond_us;

	/* The receiver may have held the last ACK. */
	if (!spacing_us || spacing_us > NETNICE_CONFIRM_SLOTS * packet_us)
		return;
	beyond_us = netnice_beyond_handshake_us(
		state, state->measured.round_queue_us -
			       policy_min(state->measured.round_queue_us, waited_us));
	beyond_us = policy_min(beyond_us, NETNICE_CONFIRM_LIMIT * packet_us);
	state->trains.beyond_us = (7 * state->trains.beyond_us + beyond_us + 4) / 8;
	if (state->trains.weighed < NETNICE_CONFIRM_TRAINS)
		state->trains.weighed += 1;
}

/* Returns whether trains confirm the rate that gaps between ACKs have shown. */
POLICY_INLINE int netnice_confirms_slots(const struct netnice *state)
{
	return state->trains.beyond_us <
	       NETNICE_CONFIRM_HALF_SLOTS * (state->believed.packet_ns / 2000);
}

/*
 * Returns whether the packets of a train follow one another at the known rate, from the second one, whose delay is the
 * smallest, to the last.
 */
POLICY_INLINE int netnice_follows_known_rate(const struct netnice *state)
{
	u32 packets = netnice_train_packets(state) - NETNICE_PAIR_PACKETS;
	u32 spread_us = state->measured.latest_queue_us - state->measured.round_queue_us;

	return spread_us - spread_us / 5 < packets * (state->believed.packet_ns / 1000);
}

/* For how long others have been in the fair queue; it wraps after 71 minutes. */
POLICY_INLINE u32 netnice_shared_us(const struct netnice *state, const struct netnice_ack *ack)
{
	return ack->now_us - state->trains.shared_since_us;
}

/*
 * Returns in spite of others. If they are of low priority, too, they yield now, and so each has its turn; if not, this flow
 * yields again within seconds, and the next turn comes after twice the time. If that happens again and again, the rate of the
 * link may be wrong, and the flow learns it anew from the rate at which a train was served.
 */
POLICY_INLINE void netnice_take_turn(struct netnice *state)
{
	u32 served_us = (state->measured.latest_queue_us + state->believed.packet_ns / 1000) /
			netnice_train_packets(state);

	netnice_return(state, NETNICE_BECAUSE_TURN);
	state->trains.share_wait = 0;
	state->gaps.gap_wait = 0;
	if (state->trains.turn_waits >= NETNICE_KNOWN_TURNS)
		state->believed.packet_ns = policy_max(state->believed.packet_ns, served_us * 1000);
	if (state->trains.turn_waits < NETNICE_TURN_WAITS)
		state->trains.turn_waits += 1;
}

/*
 * Evaluates a train for a rate that gaps between ACKs have shown, and decides after several. `spacing_us` is 0 if the train
 * shows nothing of it.
 */
POLICY_INLINE void netnice_judge_slots(struct netnice *state, const struct netnice_ack *ack,
				       u32 spacing_us)
{
	netnice_weigh_train(state, spacing_us);
	if (state->trains.weighed < NETNICE_CONFIRM_TRAINS &&
	    netnice_shared_us(state, ack) < NETNICE_CONFIRM_US)
		return;
	if (!netnice_confirms_slots(state)) {
		netnice_return(state, NETNICE_BECAUSE_NO_SLOTS);
		return;
	}
	state->trains.claimed_slots = 0;
	state->trains.lead_ns = 0;
}

/*
 * Takes the steady delay for the path's, on trial, with the rate at which the packets of the train followed one another: a
 * longer path is often a slower one, too. At the rate before, a queue would show long before the window fills it.
 */
POLICY_INLINE void netnice_try_longer_path(struct netnice *state, const struct netnice_ack *ack)
{
	u32 packets = netnice_train_packets(state) - NETNICE_PAIR_PACKETS;
	u32 spacing_ns = policy_scale(
		state->measured.latest_queue_us - state->measured.round_queue_us, 1000, packets);

	netnice_begin_trial(state, ack->delivered);
	if (spacing_ns > state->believed.packet_ns + state->believed.packet_ns / 4)
		state->believed.packet_ns = spacing_ns;
}

/* Evaluates a train that met more than its own queue. */
POLICY_INLINE void netnice_judge_train(struct netnice *state, const struct netnice_ack *ack,
				       u32 previous_us)
{
	u32 spacing_us = netnice_spacing_us(state, ack, previous_us);
	int follows = netnice_follows_known_rate(state);
	u32 slower_ns = follows ? 0 : netnice_slower_ns(state, spacing_us);

	/* The delay has stood still: the link is slower, or else the path may be longer. */
	if (netnice_train_decides(state)) {
		if (!slower_ns) {
			netnice_try_longer_path(state, ack);
			netnice_return(state, NETNICE_BECAUSE_LONGER_PATH);
			return;
		}
		if (state->trains.jittery || slower_ns / 4 >= state->believed.packet_ns) {
			state->believed.packet_ns = slower_ns;
			netnice_return(state, NETNICE_BECAUSE_SLOWER_LINK);
			return;
		}
		/* In a fair queue, one train may look as on a slower link. */
		netnice_move(state, NETNICE_BECAUSE_MAYBE_SHARE);
		netnice_begin_sharing(state, ack, 1);
	}
	if (follows) {
		/* All wait in one queue, or the path is longer, unless the others paused just then. */
		state->trains.together += 1;
		if (state->trains.together >= NETNICE_TOGETHER_TRAINS) {
			netnice_forget_slots(state);
			state->trains.share_evidence = 0;
			state->trains.share_wait = NETNICE_SHARE_WAITS;
			netnice_move(state, NETNICE_BECAUSE_TOGETHER);
			state->trains.together = 0;
			state->longer_path.steady_since_us = 0;
			return;
		}
	} else {
		state->trains.together = 0;
	}
	state->trains.share_wait = 0;
	if (state->trains.claimed_slots) {
		netnice_judge_slots(state, ack, follows ? 0 : spacing_us);
		return;
	}
	if (netnice_is_slower(state, spacing_us, slower_ns)) {
		state->believed.packet_ns = slower_ns;
		netnice_return(state, NETNICE_BECAUSE_SLOWER_LINK);
		return;
	}
	if (netnice_shared_us(state, ack) >= NETNICE_TURN_US << state->trains.turn_waits) {
		netnice_take_turn(state);
		return;
	}
	state->decided.clean_probes = NETNICE_CLEAN_PROBES;
	if (state->decided.probe_rounds < NETNICE_PROBE_ROUNDS)
		state->decided.probe_rounds *= 2;
	else if (!state->decided.pausing)
		netnice_lengthen_pause(state);
}

/* While yielding: evaluates a train once all of it is acknowledged. */
POLICY_CALLED u32 netnice_train_round(struct netnice *state, const struct netnice_ack *ack,
				      u32 previous_us)
{
	POLICY_STEP_NEEDS(state && ack);
	u32 own_us = (netnice_train_packets(state) - 1) * (state->believed.packet_ns / 1000);
	u32 threshold_us = netnice_threshold_us(state) + own_us;
	u32 queue_us = state->measured.latest_queue_us;

	/* The lone packet of a long pause is no train: in a fair queue it meets nobody. */
	if (state->decided.pausing)
		return 0;
	if (!ack->sample_rtt_us || (!state->measured.round_prompt && queue_us > threshold_us))
		return 0;
	state->report.delay_over_minimum_us = queue_us;
	state->report.threshold_us = threshold_us;
	if (queue_us > threshold_us) {
		netnice_judge_train(state, ack, previous_us);
		return 0;
	}
	/* On a slower link every train meets a queue of its own. */
	if (state->decided.phase == NETNICE_SHARE)
		state->trains.lead_ns = 0;
	netnice_count_clean_probe(state);
	return 0;
}

#endif
