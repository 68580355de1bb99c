/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Low priority at the receiving end: arriving data drives the netnice control (netnice.h), and the
 * advertised window enforces its result. The sender is unchanged and need not know.
 *
 *   delay      the one-way delay of the data: arrival minus TSval, above its minimum, bounded by the
 *              excess of the round trip (now minus TSecr) over its own minimum.
 *   rounds     a packet that echoes the TSval of an ACK was sent after that ACK: marks of the packets
 *              that had arrived when an ACK left give the number of packets per round trip.
 *   growth     only if the window limited the sender: if as much arrived in a round trip as was
 *              advertised at its start. A window that fills the path grows in one of 16 rounds:
 *              all that it gains waits in the queue.
 *   loss       a packet that fills a gap with a later TSval than the data beyond it was retransmitted
 *              (RFC 9840, 4.3). It counts once per round trip, and so does a CE mark.
 *   pause      a window below one packet. The sender's persist timer sends as much as fits into it
 *              (RFC 1122, 4.2.3.4), in Linux after each RTO, and that packet is the next probe.
 *   closing    of a group, a few connections pause in this way, and the others advertise a window of
 *              zero: the persist timers of their senders back off (RFC 9293, 3.8.6.1).
 *   no silly   a sender with data for more than its window waits for room for its largest packet, or
 *   window     for half of the largest window that it was ever offered (RFC 9293, 3.8.6.2.1). BSD's
 *              persist timer ends the wait after five seconds or more. So a window that is not to
 *              pause has that room. A peer without window scaling is a TCP of a program or of a
 *              small device (libslirp, lwIP), with BSD's rules and mostly on this host: it never
 *              pauses, since its source, not a queue, may be what made data late.
 */
#ifndef NETNICE_POLICY_RECEIVER_H
#define NETNICE_POLICY_RECEIVER_H

#include "delayed_ack.h"
#include "integer.h"
#include "netnice/netnice.h"
#include "one_way_delay.h"
#include "parameters.h"
#include "receiver_segment.h"

#define RECEIVER_PAUSE_BYTES 1152U   /* the smallest window clamp that Linux allows */
#define RECEIVER_PROBE_PACKETS 2U    /* the second packet makes the receiver ACK at once */
#define RECEIVER_RESTART_PACKETS 10U /* initial window of a sender (RFC 6928) */
#define RECEIVER_RESTART_IDLE_US 1000000U
#define RECEIVER_SLOW_PERSIST_US 2000000U /* Linux's persist timer takes an RTO, 200 ms or more */
#define RECEIVER_SLOW_PERSISTS 3U
/* BSD's takes five seconds or more (TCPTV_PERSMIN), which old ones count in ticks of half a second. */
#define RECEIVER_BSD_PERSIST_US 4500000U
#define RECEIVER_CLOSED_US 6000000U     /* longest time for which a window stays closed */
#define RECEIVER_PROBERS 2U             /* one may lose its probes, and its sender backs off */
#define RECEIVER_ACTIVE_US 1000000U     /* a group is active so long after data */
#define RECEIVER_PROBER_AGE_US 1500000U /* a prober that was silent for so long is replaced */
#define RECEIVER_MARKS 32U              /* a power of two */
#define RECEIVER_MARKS_SHIFT 4U         /* a sixteenth of a round trip between marks */
#define RECEIVER_CATCH_UP 2U            /* marks */
#define RECEIVER_GROWTH_ROUNDS 16U      /* one of so many brings growth where the path is full */
#define RECEIVER_FULL_PARTS 16U         /* full: but for a sixteenth */
#define RECEIVER_RECENT 4U              /* samples of which the smallest counts; a power of two */
#define RECEIVER_DRIFT_SHIFT 13U        /* of clocks: at most 122 parts in a million */
#define RECEIVER_RATE_US 10000U         /* minimum interval of a rate measurement */
#define RECEIVER_TICK_US 1000U          /* tick of our own timestamps */
#define RECEIVER_PATH_AGE_US 60000000U  /* of what is known of a path */
#define RECEIVER_PATH_RATE_US 100000U   /* minimum interval of a path's rate measurement */
#define RECEIVER_PATH_LAG 4U            /* least part of the path's rate that a connection knows */
#define RECEIVER_LONE_CWND 4U           /* packets of a larger window are seldom 40 ms apart */
#define RECEIVER_UNSAMPLED 8U           /* packets in a row without a sample that start yielding */
#define RECEIVER_FIRST_MSS 1448U        /* Ethernet's; grows when larger packets arrive */

/* Packets that had arrived when an ACK left. */
struct receiver_mark {
	u32 sent_us;
	u32 delivered; /* packets */
	u32 window;    /* packets advertised by that ACK */
};

struct receiver {
	struct netnice policy; /* must be first: it begins with the report */
	struct one_way_delay clock;
	u32 minimum_rtt_us;
	u32 minimum_delay_us;
	u32 proven_us;       /* when a round trip at its minimum last proved the way empty */
	u32 floor_us;        /* the configured floor under the policy's threshold */
	u32 delivered;       /* total packets */
	u32 remainder_bytes; /* towards the next packet */
	u32 cwnd;            /* the policy's, packets */
	u32 mss;             /* unit of all packets here, bytes: the largest seen */
	u32 largest_bytes;   /* largest packet that the peer may send */
	u32 window_bytes;    /* latest window advertised */
	u32 arrived_us;      /* latest data */
	u32 probed_us;       /* while yielding: when the window was last opened */
	u32 closed_us;       /* when the window was closed, if window_bytes is 0 */
	u32 opened;          /* `delivered` at that time */
	u32 rate_us;
	u32 rate_delivered;
	u32 recovery_end; /* `delivered` at the latest loss */
	u32 beyond_tsval; /* newest TSval of data in order, or beyond a gap */
	u32 recent_us[RECEIVER_RECENT];
	u32 recent;
	u32 marks_head; /* newest mark that a packet has echoed */
	u32 marks_end;
	u8 gap; /* data was missing when the last ACK left */
	u8 ce;
	u8 recovering;
	u8 slow_persists : 4;
	u8 unsampled : 4; /* packets in a row without a sample, in a small window */
	/* What the policy is told of the newest data. Not on the stack: see POLICY_STEP_NEEDS. */
	struct netnice_ack ack;
	struct receiver_mark marks[RECEIVER_MARKS];
};

/*
 * The path from one peer, shared by the connections of a group: each of many that begin together
 * meets the queue of the others from its first packet on, and would take it for the path's delay, and
 * its part of the link's rate for the whole.
 * Connections may write at the same time: each value is of one of them. All zero at first.
 */
struct receiver_path {
	u32 minimum_rtt_us;
	u32 met_us;        /* when a connection last had this minimum */
	u32 packet_ns;     /* time of one packet at the highest rate of all connections together */
	u32 rated_us;      /* when they last had this rate */
	u32 rate_since_us; /* start of the measurement under way */
	u32 rate_packets;  /* that have arrived since */
};

/* A connection of a group that pauses, and so probes for others that yield. */
struct receiver_prober {
	u32 number; /* of the connection; 0 if there is none */
	u32 probed_us;
};

/* The connections of a group: the few that probe. All zero at first. */
struct receiver_group {
	struct receiver_prober probers[RECEIVER_PROBERS];
	u32 active_us; /* when data last arrived on one that does not yield; 0 if never */
};

/* `mss` is the smaller of the MSS that we and the peer have advertised, less options. */
POLICY_INLINE void receiver_init(struct receiver *state, const struct policy_parameters *wanted,
				 u32 window_bytes, u32 mss, u32 now_us)
{
	netnice_init(&state->policy, wanted);
	state->minimum_rtt_us = NETNICE_UNKNOWN;
	state->floor_us = state->policy.measured.threshold_floor_us;
	state->mss = policy_min(mss, RECEIVER_FIRST_MSS);
	state->largest_bytes = mss;
	state->cwnd = policy_max(window_bytes / state->mss, RECEIVER_RESTART_PACKETS);
	state->window_bytes = state->cwnd * state->mss;
	state->arrived_us = now_us;
	state->proven_us = now_us;
	state->rate_us = now_us;
	state->marks[0].sent_us = now_us;
	state->marks[0].window = state->cwnd;
	state->marks_end = 1;
}

/*
 * A window that opens by two packets, as with delayed ACKs, makes the sender send them together:
 * the second, which gives the sample, has waited for the first.
 */
POLICY_INLINE u32 receiver_own_wait_us(const struct receiver *state)
{
	return state->policy.believed.packet_ns / 1000;
}

/* The policy's floor under its threshold. Stamps add half a tick of the peer's clock on average. */
POLICY_INLINE u32 receiver_threshold_floor_us(const struct receiver *state)
{
	u32 packets_us = state->policy.believed.packet_ns / 2000 * NETNICE_THRESHOLD_HALF_PACKETS;

	return policy_max(state->floor_us, packets_us) + state->clock.tick_us / 2;
}

/*
 * Returns the smallest of the latest samples, each of which lies somewhere within a stamp's tick:
 * otherwise the policy would take the stamps' resolution for jitter of the path. Probes are too far
 * apart for this.
 */
POLICY_INLINE u32 receiver_least_of_recent(struct receiver *state, u32 queue_us)
{
	u32 least_us = queue_us;
	u32 number;

	state->recent_us[state->recent++ % RECEIVER_RECENT] = queue_us;
	if (netnice_yields(&state->policy))
		return queue_us;
	for (number = 0; number < RECEIVER_RECENT; number++)
		least_us = policy_min(least_us, state->recent_us[number]);
	return least_us;
}

/*
 * Returns the queueing delay of the newest packet, as netnice_queue_us() does for an ACK: the round
 * trip alone shows it where the peer's stamps follow no clock.
 */
POLICY_CALLED u32 receiver_queue_us(struct receiver *state, const struct receiver_segment *segment)
{
	POLICY_STEP_NEEDS(state && segment);
	u32 own_wait_us = receiver_own_wait_us(state);
	u32 queue_us, delay_us;
	u8 restarted;

	delay_us =
		one_way_delay_of_data(&state->clock, segment->tsval, segment->now_us, &restarted);
	if (!segment->rtt_us)
		return NETNICE_UNKNOWN;
	state->minimum_rtt_us = policy_min(state->minimum_rtt_us, segment->rtt_us);
	queue_us = segment->rtt_us - state->minimum_rtt_us;
	if (!delay_us)
		delay_us = state->minimum_delay_us + queue_us;
	if (restarted || !state->minimum_delay_us || delay_us < state->minimum_delay_us)
		state->minimum_delay_us = delay_us;
	delay_us -= state->minimum_delay_us;
	/* A round trip at its minimum shows an empty path to here: any excess is clock drift. */
	if (queue_us < own_wait_us + state->floor_us / 4) {
		state->proven_us = segment->now_us;
		if (delay_us > NETNICE_DRIFT_US)
			state->minimum_delay_us += (delay_us - NETNICE_DRIFT_US) / 8;
	}
	queue_us = policy_min(queue_us, delay_us);
	/* The range of a round's samples is that of all of them: the smallest of some hide the path's jitter. */
	state->policy.measured.round_high_us = policy_max(
		state->policy.measured.round_high_us, queue_us - policy_min(queue_us, own_wait_us));
	queue_us = receiver_least_of_recent(state, queue_us);
	return queue_us - policy_min(queue_us, own_wait_us);
}

/* Returns whether the ACK at which a mark was made had reached the sender at `echoed_us`. */
POLICY_INLINE int receiver_has_echoed(const struct receiver *state, u32 mark, u32 echoed_us)
{
	return !policy_after(state->marks[mark % RECEIVER_MARKS].sent_us, echoed_us);
}

/*
 * Finds the newest ACK that the sender had when it sent the newest packet: after a pause the latest
 * of all, otherwise one of the next, since an ACK leaves at most one mark.
 */
POLICY_INLINE const struct receiver_mark *receiver_echoed(struct receiver *state,
							  const struct receiver_segment *segment)
{
	/* The stamp covers a millisecond, and an ACK may have left at its end. */
	u32 echoed_us = segment->now_us - segment->rtt_us + RECEIVER_TICK_US - 1;
	u32 step;

	if (receiver_has_echoed(state, state->marks_end - 1, echoed_us))
		state->marks_head = state->marks_end - 1;
	for (step = 0; step < RECEIVER_CATCH_UP; step++) {
		u32 next = state->marks_head + 1;

		if (next == state->marks_end || !receiver_has_echoed(state, next, echoed_us))
			break;
		state->marks_head = next;
	}
	return &state->marks[state->marks_head % RECEIVER_MARKS];
}

/* If round trips become longer than the marks cover, the newest mark stands for later ones. */
POLICY_INLINE void receiver_mark(struct receiver *state, const struct receiver_segment *segment)
{
	u32 since_us =
		segment->now_us - state->marks[(state->marks_end - 1) % RECEIVER_MARKS].sent_us;
	struct receiver_mark *mark;

	if (state->marks_end - state->marks_head >= RECEIVER_MARKS ||
	    since_us < policy_max(segment->rtt_us >> RECEIVER_MARKS_SHIFT, RECEIVER_TICK_US))
		return;
	mark = &state->marks[state->marks_end % RECEIVER_MARKS];
	mark->sent_us = segment->now_us;
	mark->delivered = state->delivered;
	mark->window = state->window_bytes / state->mss;
	state->marks_end += 1;
}

/* Counts the whole packets that have arrived. While yielding, part of a packet counts as one. */
POLICY_INLINE u32 receiver_count(struct receiver *state, const struct receiver_segment *segment)
{
	u32 packets;

	/*
	 * Probes are smaller than packets, and the stack begins to take their size for the peer's.
	 */
	if (segment->mss > state->mss) {
		state->cwnd = policy_max((u64)state->cwnd * state->mss / segment->mss,
					 RECEIVER_RESTART_PACKETS);
		state->mss = segment->mss;
	}
	state->remainder_bytes += segment->bytes;
	packets = state->remainder_bytes / state->mss;
	state->remainder_bytes -= packets * state->mss;
	if (!packets && netnice_yields(&state->policy)) {
		state->remainder_bytes = 0;
		packets = 1;
	}
	return packets;
}

/*
 * Losses and marks count once per round trip: until a packet arrives that was sent after the
 * answer. Returns whether this very packet indicates the next one: losses in two successive windows
 * are two indications (RFC 5681, 4.3).
 */
POLICY_INLINE u32 receiver_notice_congestion(struct receiver *state, int indicated, u32 prior)
{
	u32 ended = state->recovering && (s32)(prior - state->recovery_end) >= 0;

	if (ended)
		state->recovering = 0;
	if (indicated && !state->recovering)
		state->recovery_end = state->delivered;
	state->recovering |= !!indicated;
	return ended && indicated;
}

/*
 * Returns the packets that arrived in `*interval_us`, a round trip or more; 0 if unknown. Data
 * released by a filled gap arrived earlier.
 */
POLICY_INLINE u32 receiver_rate(struct receiver *state, const struct receiver_segment *segment,
				int filled, u32 *interval_us)
{
	u32 packets = state->delivered - state->rate_delivered;

	*interval_us = segment->now_us - state->rate_us;
	if (!filled && *interval_us < policy_max(segment->rtt_us, RECEIVER_RATE_US))
		return 0;
	state->rate_us = segment->now_us;
	state->rate_delivered = state->delivered;
	return filled ? 0 : packets;
}

/*
 * Returns whether the sender could have sent more: fewer packets arrived within the round trip than
 * were advertised at its start. Where the window grows it is ahead: four fifths suffice, and half as
 * many in slow start.
 */
POLICY_INLINE u8 receiver_is_app_limited(const struct receiver *state, u32 came, u32 window)
{
	u32 slack = netnice_is_in_slow_start(&state->policy) ? came : came / 4;

	return came + slack + RECEIVER_PROBE_PACKETS < window;
}

/*
 * Returns whether growth has to wait for a later round, since the window already fills the path at
 * the highest rate that it has delivered. The way back counts with the time that our ACKs wait
 * there: an upload makes a larger window necessary.
 */
POLICY_INLINE int receiver_defers_growth(const struct receiver *state,
					 const struct receiver_segment *segment)
{
	const struct netnice *policy = &state->policy;
	u32 path_us =
		segment->rtt_us - policy_min(segment->rtt_us, policy->measured.latest_queue_us);
	u64 sixteenths_ns = (u64)state->cwnd * policy->believed.packet_ns * RECEIVER_FULL_PARTS;

	if (netnice_is_in_slow_start(policy) || !path_us || !policy->believed.packet_ns ||
	    !state->cwnd)
		return 0;
	return sixteenths_ns >= (u64)path_us * 1000 * (RECEIVER_FULL_PARTS - 1) &&
	       state->delivered / state->cwnd % RECEIVER_GROWTH_ROUNDS != 0;
}

/* Returns whether the newest sample met no queue. */
POLICY_INLINE int receiver_is_clean(const struct receiver *state)
{
	return state->policy.measured.latest_queue_us <= netnice_threshold_us(&state->policy);
}

/* Returns whether it is time for two packets at once. */
POLICY_INLINE int receiver_is_probe_due(const struct receiver *state,
					const struct receiver_segment *segment)
{
	return segment->now_us - state->probed_us >= NETNICE_PROBE_PAUSE_US;
}

/*
 * Returns whether a delayed ACK covers only a part of the packets for which the window was last
 * opened. If it opened the window again, they would never travel together again: each would wait
 * for a delayed ACK, which gives no sample, and the yielding would not end.
 */
POLICY_INLINE int receiver_awaits_packets(const struct receiver *state,
					  const struct receiver_segment *segment)
{
	return segment->delayed_ack && state->window_bytes != RECEIVER_PAUSE_BYTES &&
	       state->delivered - state->opened < RECEIVER_PROBE_PACKETS;
}

/* Returns whether a loss started the yielding, so that probes only show that nothing is lost. */
POLICY_INLINE int receiver_yields_blindly(const struct receiver *state)
{
	return netnice_yields(&state->policy) && netnice_began_blindly(&state->policy);
}

/*
 * Returns whether clock drift may explain a probe's delay: a packet sent by the persist timer
 * echoes an old stamp, so no round trip can prove the contrary.
 */
POLICY_INLINE int receiver_may_be_drift(const struct receiver *state,
					const struct receiver_segment *segment)
{
	u32 drift_us = (segment->now_us - state->proven_us) >> RECEIVER_DRIFT_SHIFT;

	return state->policy.measured.latest_queue_us <=
	       netnice_threshold_us(&state->policy) + drift_us;
}

/*
 * Returns the window while yielding. After a probe that met a queue, the sender's persist timer
 * sends the next one. After a probe that met none, the window admits two packets at once. It also
 * does so now and then after a probe for which this is unknown, and always if the peer's persist
 * timer is slow.
 */
POLICY_CALLED u32 receiver_probe_bytes(struct receiver *state,
				       const struct receiver_segment *segment, u32 queue_us)
{
	POLICY_STEP_NEEDS(state && segment);
	int blind = receiver_yields_blindly(state);
	int clean = receiver_is_clean(state) && !blind;
	int unknown = queue_us == NETNICE_UNKNOWN || receiver_may_be_drift(state, segment);
	int due = unknown && receiver_is_probe_due(state, segment);
	int early = !blind && state->policy.decided.probe_rounds < NETNICE_PROBE_ROUNDS;
	int opens = clean || early || due || state->slow_persists >= RECEIVER_SLOW_PERSISTS;

	if (receiver_awaits_packets(state, segment))
		return RECEIVER_PAUSE_BYTES;
	if (opens || blind)
		state->probed_us = segment->now_us;
	/* Packets that come one at a time wait for delayed ACKs, and give no sample. A pause lets two leave together. */
	if (blind && segment->delayed_ack && state->window_bytes != RECEIVER_PAUSE_BYTES)
		return RECEIVER_PAUSE_BYTES;
	/* These two are the next probe. */
	if (blind && opens && state->window_bytes == RECEIVER_PAUSE_BYTES)
		state->probed_us -= NETNICE_PROBE_PAUSE_US;
	if (opens) {
		state->opened = state->delivered;
		return RECEIVER_PROBE_PACKETS * state->mss;
	}
	if (blind || !segment->may_close)
		return RECEIVER_PAUSE_BYTES;
	/* A window that was paused grows only as data arrive, and none would open it once closed. */
	if (segment->bound_bytes < RECEIVER_PROBE_PACKETS * state->mss)
		return RECEIVER_PROBE_PACKETS * state->mss;
	state->closed_us = segment->now_us;
	return 0;
}

/*
 * Returns the window after a segment without data. Where the window is closed this may be a probe of
 * it, which opens it for two packets if none of the group probes any more, if the probe has met no
 * queue, or if the window has been closed for long, so that all connections take turns.
 */
POLICY_CALLED u32 receiver_reopened(struct receiver *state, const struct receiver_segment *segment)
{
	POLICY_STEP_NEEDS(state && segment);
	/* Only a newer stamp shows that a segment has arrived. */
	int arrived = policy_after(segment->tsval, state->beyond_tsval);
	u32 queue_us;

	if (segment->gap)
		receiver_is_retransmitted(&state->gap, &state->beyond_tsval, segment);
	if (state->window_bytes || !arrived)
		return state->window_bytes;
	state->beyond_tsval = segment->tsval;
	queue_us = receiver_queue_us(state, segment);
	if (segment->may_close && queue_us > netnice_threshold_us(&state->policy) &&
	    segment->now_us - state->closed_us < RECEIVER_CLOSED_US)
		return 0;
	/* Samples so far apart do not show that a delay stands still: trials are for the few. */
	state->policy.longer_path.steady_since_us = 0;
	state->probed_us = segment->now_us;
	state->opened = state->delivered;
	return RECEIVER_PROBE_PACKETS * state->mss;
}

/* Counts the slow persist timers of a peer whose window is below one packet. */
POLICY_INLINE void receiver_notice_persist(struct receiver *state, u32 waited_us)
{
	if (state->window_bytes != RECEIVER_PAUSE_BYTES)
		return;
	if (waited_us < RECEIVER_SLOW_PERSIST_US)
		state->slow_persists = 0;
	else if (waited_us >= RECEIVER_BSD_PERSIST_US)
		state->slow_persists = RECEIVER_SLOW_PERSISTS;
	else if (state->slow_persists < RECEIVER_SLOW_PERSISTS)
		state->slow_persists += 1;
}

/*
 * Returns the window after the policy's answer. The policy backs off by 1/32 of the window beyond its
 * part of the queue, a receiver by 1/16: otherwise two receivers answer the same queue again and
 * again, and leave 8 % of the link unused instead of 4 % (simulated: 10 Mb/s, 40 ms).
 */
POLICY_CALLED u32 receiver_answered(const struct receiver *state, u32 prior_mark, u32 cwnd)
{
	POLICY_STEP_NEEDS(state);
	int backs_off = state->policy.measured.reaction_mark != prior_mark &&
			state->policy.decided.phase == NETNICE_INFER && cwnd < state->cwnd;
	u32 surplus = netnice_surplus(state->cwnd, state->delivered);

	if (!backs_off)
		return cwnd;
	return policy_max(cwnd > surplus ? cwnd - surplus : 0, NETNICE_MINIMUM_CWND);
}

/*
 * Yields where a small window gives no sample any more. A server that paces sends its packets one at a
 * time, and if they are further apart than the timer of delayed ACKs, each of them has to wait for it:
 * the window would neither grow nor shrink for good. Probes give samples.
 */
POLICY_INLINE void receiver_count_unsampled(struct receiver *state, u32 queue_us)
{
	if (queue_us != NETNICE_UNKNOWN || state->cwnd > RECEIVER_LONE_CWND ||
	    netnice_yields(&state->policy)) {
		state->unsampled = 0;
		return;
	}
	state->unsampled += 1;
	if (state->unsampled < RECEIVER_UNSAMPLED)
		return;
	state->unsampled = 0;
	state->cwnd = netnice_yield(&state->policy, NETNICE_BECAUSE_UNSAMPLED);
}

/* Calls the policy for newly arrived data. Returns the queueing delay, or NETNICE_UNKNOWN. */
POLICY_INLINE u32 receiver_on_arrival(struct receiver *state,
				      const struct receiver_segment *segment, u32 acked)
{
	int filled = state->gap;
	int congested = receiver_is_retransmitted(&state->gap, &state->beyond_tsval, segment);
	const struct receiver_mark *mark = receiver_echoed(state, segment);
	struct netnice_ack *ack = &state->ack;
	u32 queue_us = segment->delayed_ack ? NETNICE_UNKNOWN : receiver_queue_us(state, segment);
	u32 prior_mark = state->policy.measured.reaction_mark;
	u32 came;

	congested |= segment->ce && !state->ce;
	state->ce = segment->ce;
	state->delivered += acked;
	came = state->delivered - mark->delivered;
	ack->now_us = segment->now_us;
	ack->acked = acked;
	ack->lost = receiver_notice_congestion(state, congested, mark->delivered);
	/* What is lost or marked in one window counts once here: no loss of the last event is found later. */
	if (ack->lost)
		state->policy.losses.late_losses = 0;
	ack->sample_rtt_us = queue_us == NETNICE_UNKNOWN ? 0 : state->minimum_rtt_us + queue_us;
	ack->delivered = state->delivered;
	ack->prior_delivered = mark->delivered;
	ack->rate_delivered = receiver_rate(state, segment, filled, &ack->rate_interval_us);
	ack->cwnd = state->cwnd;
	ack->in_flight = RECEIVER_PROBE_PACKETS;
	ack->at_receiver = 1;
	ack->ca_state = state->recovering ? CA_RECOVERY : CA_OPEN;
	ack->app_limited = receiver_is_app_limited(state, came, mark->window) ||
			   receiver_defers_growth(state, segment);
	/* Delayed ACKs are excluded above: the rest are prompt. */
	state->policy.measured.threshold_floor_us = receiver_threshold_floor_us(state);
	state->policy.measured.lone_acks =
		DELAYED_ACK_LONE_IN_A_ROW + DELAYED_ACK_LONE_WITHOUT_PROOF;
	/* receiver_queue_us() has followed the minimum: its falls count at once. */
	state->policy.measured.low_support = NETNICE_LOW_ENOUGH - NETNICE_LOW_SUPPORT;
	state->policy.measured.low_fall_us = 0;
	state->cwnd = receiver_answered(state, prior_mark, netnice_on_ack(&state->policy, ack));
	receiver_count_unsampled(state, queue_us);
	state->policy.report.signal = POLICY_SIGNAL_ONE_WAY_DELAY;
	return queue_us;
}

/*
 * Returns whether nothing recent is known of the path. Times wrap after 72 minutes: a minimum that is
 * too small costs a connection no more than a trial (netnice/longer_path.h).
 */
POLICY_INLINE int receiver_path_is_unknown(const struct receiver_path *path, u32 now_us)
{
	return !path->minimum_rtt_us || now_us - path->met_us > RECEIVER_PATH_AGE_US;
}

/*
 * Measures the rate at which all connections together receive. What a filled gap releases arrived
 * earlier, and does not count.
 */
POLICY_INLINE void receiver_rate_path(const struct receiver *state, struct receiver_path *path,
				      const struct receiver_segment *segment)
{
	u32 now_us = segment->now_us;
	u32 interval_us = now_us - path->rate_since_us;
	u32 least_us = policy_max(segment->rtt_us, RECEIVER_PATH_RATE_US);
	int outdated = now_us - path->rated_us > RECEIVER_PATH_AGE_US;
	u32 packet_ns;

	if (!segment->bytes)
		return;
	if (!state->gap)
		path->rate_packets += (segment->bytes + state->mss / 2) / state->mss;
	if (interval_us < least_us)
		return;
	/* A longer interval contains a pause. */
	if (interval_us < 4 * least_us && path->rate_packets >= 4) {
		packet_ns = (u32)((u64)interval_us * 1000 / path->rate_packets);
		if (outdated || !path->packet_ns || packet_ns < path->packet_ns) {
			path->packet_ns = packet_ns;
			path->rated_us = now_us;
		}
	}
	path->rate_since_us = now_us;
	path->rate_packets = 0;
}

/*
 * Takes over what other connections know. What exceeds their smallest round trip is queue, and the data
 * waited there. A connection's rate follows the path's at a distance: at the path's own, each of many
 * would take the queue of the others for one of strangers.
 */
POLICY_INLINE void receiver_adopt_path(struct receiver *state, struct receiver_path *path,
				       const struct receiver_segment *segment)
{
	struct netnice *policy = &state->policy;
	u32 now_us = segment->now_us;
	u32 fall_us;

	receiver_rate_path(state, path, segment);
	if (path->packet_ns && policy->believed.packet_ns / RECEIVER_PATH_LAG > path->packet_ns)
		policy->believed.packet_ns = RECEIVER_PATH_LAG * path->packet_ns;
	if (receiver_path_is_unknown(path, now_us) ||
	    policy->measured.minimum_rtt_us == NETNICE_UNKNOWN ||
	    state->minimum_rtt_us <= path->minimum_rtt_us + state->floor_us)
		return;
	fall_us = state->minimum_rtt_us - path->minimum_rtt_us;
	state->minimum_rtt_us -= fall_us;
	state->minimum_delay_us -= fall_us;
	policy->measured.minimum_rtt_us -= policy_min(fall_us, policy->measured.minimum_rtt_us - 1);
}

/*
 * Lets other connections know this one's smallest round trip, if the newest packet has met it: what
 * is known becomes too old where the path has become longer.
 */
POLICY_INLINE void receiver_share_path(const struct receiver *state, struct receiver_path *path,
				       const struct receiver_segment *segment)
{
	u32 minimum_us = state->minimum_rtt_us;
	int unknown = receiver_path_is_unknown(path, segment->now_us);

	if (minimum_us == NETNICE_UNKNOWN || !segment->rtt_us ||
	    segment->rtt_us > minimum_us + state->floor_us ||
	    (!unknown && minimum_us > path->minimum_rtt_us + state->floor_us))
		return;
	path->met_us = segment->now_us;
	path->minimum_rtt_us = unknown ? minimum_us : policy_min(minimum_us, path->minimum_rtt_us);
}

/* Returns whether `prober` is connection `number`, or a place that it may take. */
POLICY_INLINE int receiver_may_probe(const struct receiver_prober *prober, u32 number, u32 now_us)
{
	return !prober->number || prober->number == number ||
	       now_us - prober->probed_us > RECEIVER_PROBER_AGE_US;
}

/*
 * Returns the limit that the stack keeps for the window, in bytes: while the window is closed, what
 * opens it. A limit that rises takes effect only as data arrive (Linux: tcp_set_window_clamp()).
 */
POLICY_INLINE u32 receiver_clamp_bytes(const struct receiver *state)
{
	return state->window_bytes ? state->window_bytes : RECEIVER_PROBE_PACKETS * state->mss;
}

/*
 * Returns whether a connection of the group receives without yielding. Then the queue may be the
 * group's own: those that closed their windows would probe too seldom to find it empty, and starve.
 */
POLICY_INLINE int receiver_is_group_active(const struct receiver_group *group, u32 now_us)
{
	return group->active_us && now_us - group->active_us < RECEIVER_ACTIVE_US;
}

/* Returns whether enough connections of the group probe for connection `number`, which does not. */
POLICY_INLINE u8 receiver_others_probe(const struct receiver_group *group, u32 number, u32 now_us)
{
	u32 place;

	if (receiver_is_group_active(group, now_us))
		return 0;
	for (place = 0; place < RECEIVER_PROBERS; place++) {
		if (receiver_may_probe(&group->probers[place], number, now_us))
			return 0;
	}
	return 1;
}

/* Lets the group know what connection `number`, which is not 0, does: whether it probes. */
POLICY_INLINE void receiver_share_probing(const struct receiver *state,
					  struct receiver_group *group, u32 number, u32 now_us)
{
	int taken = state->window_bytes != RECEIVER_PAUSE_BYTES;
	u32 place;

	if (!netnice_yields(&state->policy) && state->arrived_us == now_us)
		group->active_us = policy_max(now_us, 1);
	for (place = 0; place < RECEIVER_PROBERS; place++) {
		struct receiver_prober *prober = &group->probers[place];

		if (!taken && receiver_may_probe(prober, number, now_us)) {
			prober->number = number;
			prober->probed_us = now_us;
			taken = 1;
		} else if (prober->number == number) {
			prober->number = 0;
		}
	}
}

/* Returns what receiver_time() is to know of the connection. */
POLICY_INLINE struct receiver_known receiver_known(const struct receiver *state)
{
	struct receiver_known known = {
		.mss = state->mss,
		.minimum_rtt_us = state->minimum_rtt_us,
		.newest_tsval = state->beyond_tsval,
		.gap = state->gap,
		.opens = state->window_bytes != RECEIVER_PAUSE_BYTES,
	};

	return known;
}

/*
 * Offers the window that the policy wants, or the smallest one above it that the peer uses at once.
 * Half of the largest window that can be advertised is half of any; the packet beyond it makes up for
 * the stack, which rounds a window without scaling down to whole packets.
 */
POLICY_INLINE u32 receiver_offer(struct receiver *state, const struct receiver_segment *segment,
				 u32 wanted_bytes)
{
	u32 room = policy_min(state->largest_bytes, segment->limit_bytes / 2 + state->mss);

	if (segment->unscaled)
		room = policy_max(room, RECEIVER_PROBE_PACKETS * state->mss);
	else if (wanted_bytes <= RECEIVER_PAUSE_BYTES)
		room = 0;
	state->window_bytes = policy_max(wanted_bytes, room);
	return state->window_bytes;
}

/*
 * Returns the window to advertise in a segment that is about to leave, in bytes; 0, only where it
 * may close, closes it once what was advertised has arrived. When we send a request after an idle
 * period, the reply may start as on a new connection.
 */
POLICY_INLINE u32 receiver_window(struct receiver *state, const struct receiver_segment *segment)
{
	u32 restart_bytes = RECEIVER_RESTART_PACKETS * state->mss;
	u32 limit_packets = policy_max(segment->limit_bytes / state->mss, RECEIVER_RESTART_PACKETS);
	u32 waited_us = segment->now_us - state->arrived_us;
	u32 acked, queue_us;

	if (!segment->bytes) {
		if (segment->has_data && waited_us > RECEIVER_RESTART_IDLE_US)
			state->window_bytes = policy_max(state->window_bytes, restart_bytes);
		return receiver_offer(state, segment, receiver_reopened(state, segment));
	}
	receiver_notice_persist(state, waited_us);
	state->arrived_us = segment->now_us;
	acked = receiver_count(state, segment);
	if (!acked)
		return state->window_bytes;
	if (receiver_yields_blindly(state) && !receiver_is_probe_due(state, segment)) {
		state->delivered += acked;
		return state->window_bytes;
	}
	queue_us = receiver_on_arrival(state, segment, acked);
	state->cwnd = policy_min(state->cwnd, limit_packets);
	state->window_bytes = state->cwnd * state->mss;
	if (netnice_yields(&state->policy))
		state->window_bytes = receiver_probe_bytes(state, segment, queue_us);
	receiver_offer(state, segment, state->window_bytes);
	receiver_mark(state, segment);
	return state->window_bytes;
}

#endif
