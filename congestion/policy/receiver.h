/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Low priority from the receiving end: the netnice control (netnice.h), driven by what arrives, and
 * carried out by the window that is advertised. The sender is not changed and need not know.
 *
 *   delay      the one-way delay of the data: arrival less TSval, above its minimum, bounded by what
 *              the round trip (now less TSecr) is above its own.
 *   rounds     a packet that echoes the TSval of an ACK was sent after that ACK: marks of what had
 *              arrived when an ACK left tell how many packets a round trip brought.
 *   growth     only where the window was what held the sender back: where a round trip brought as
 *              much as was advertised at its beginning.
 *   loss       a packet that fills a gap with a later TSval than what lay beyond it was retransmitted
 *              (RFC 9840, 4.3). It counts once a round trip, and so does a CE mark.
 *   pause      a window below one packet. The sender's persist timer sends what fits into it (RFC
 *              1122, 4.2.3.4), in Linux after each RTO, and that packet is the next probe.
 */
#ifndef NETNICE_POLICY_RECEIVER_H
#define NETNICE_POLICY_RECEIVER_H

#include "delayed_ack.h"
#include "integer.h"
#include "netnice.h"
#include "one_way_delay.h"
#include "parameters.h"

/* How the policy is asked: a program for BPF may have it verified by itself. */
#ifndef RECEIVER_POLICY
#define RECEIVER_POLICY netnice_on_ack
#endif

#define RECEIVER_PAUSE_BYTES 1152U   /* the least that Linux lets a window be clamped to */
#define RECEIVER_PROBE_PACKETS 2U    /* the second gets the ACK sent at once */
#define RECEIVER_RESTART_PACKETS 10U /* what a sender may begin with (RFC 6928) */
#define RECEIVER_RESTART_IDLE_US 1000000U
#define RECEIVER_SLOW_PERSIST_US 2000000U /* Linux's persist timer takes an RTO, 200 ms or more */
#define RECEIVER_SLOW_PERSISTS 3U
#define RECEIVER_MARKS 32U       /* a power of two */
#define RECEIVER_MARKS_SHIFT 4U  /* a sixteenth of a round trip between marks */
#define RECEIVER_CATCH_UP 2U     /* marks */
#define RECEIVER_RECENT 4U       /* samples of which the least counts; a power of two */
#define RECEIVER_DRIFT_SHIFT 13U /* of clocks: 122 parts in a million at most */
#define RECEIVER_RATE_US 10000U  /* a rate is not measured over less */
#define RECEIVER_TICK_US 1000U   /* of our own timestamps */
#define RECEIVER_FIRST_MSS 1448U /* Ethernet's; more once more has been seen */

/* What had arrived when an ACK left. */
struct receiver_mark {
	u32 sent_us;
	u32 delivered; /* packets */
	u32 window;    /* packets advertised then */
};

struct receiver {
	struct netnice policy; /* must be first: its report is */
	struct one_way_delay clock;
	u32 minimum_rtt_us;
	u32 minimum_delay_us;
	u32 proven_us;    /* when a round trip at its minimum last proved the way empty */
	u32 floor_us;     /* wanted, under the policy's threshold */
	u32 delivered;    /* packets in all */
	u32 credit_bytes; /* towards the next packet */
	u32 cwnd;         /* the policy's, packets */
	u32 mss;          /* unit of all packets here, bytes: the largest seen */
	u32 window_bytes; /* latest answer */
	u32 arrived_us;   /* latest data */
	u32 probed_us;    /* while yielding: when the window was last opened */
	u32 rate_us;
	u32 rate_delivered;
	u32 recovery_end; /* `delivered` at the latest loss */
	u32 beyond_tsval; /* newest TSval of data in order, or beyond a gap */
	u32 recent_us[RECEIVER_RECENT];
	u32 recent;
	u32 marks_head; /* the newest mark that a packet has echoed */
	u32 marks_end;
	u8 gap; /* data was missing when the last ACK left */
	u8 ce;
	u8 recovering;
	u8 slow_persists;
	struct receiver_mark marks[RECEIVER_MARKS];
};

/* What the stack knows as a segment is about to leave. Times wrap. */
struct receiver_segment {
	u32 now_us;      /* when the newest packet arrived */
	u32 rtt_us;      /* now less TSecr; 0 if unknown */
	u32 tsval;       /* of the newest packet */
	u32 bytes;       /* that became available in order since the last segment left */
	u32 mss;         /* the stack's guess of the peer's packets */
	u32 limit_bytes; /* the largest window that can be advertised */
	u8 gap;          /* data beyond a gap is held */
	u8 ce;           /* a CE mark has arrived, and no CWR since */
	u8 held;         /* the newest packet has waited for this ACK: now is later than it came */
	u8 has_data;     /* the segment carries data of our own */
};

/* `mss` is what we have told the peer to send at most, less its options. */
POLICY_INLINE void receiver_init(struct receiver *state, const struct policy_parameters *wanted,
				 u32 window_bytes, u32 mss, u32 now_us)
{
	netnice_init(&state->policy, wanted);
	state->minimum_rtt_us = NETNICE_NO_SAMPLE;
	state->floor_us = state->policy.threshold_floor * NETNICE_TICK_US;
	state->mss = policy_min(mss, RECEIVER_FIRST_MSS);
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
 * A window that opens by two packets, which is what delayed ACKs make of it, has them sent together:
 * the second, whose sample is taken, has waited for the first.
 */
POLICY_INLINE u32 receiver_own_wait_us(const struct receiver *state)
{
	return state->policy.packet_ns / 1000;
}

/* The policy's floor under its threshold. Stamps add half a tick of the peer's clock on average. */
POLICY_INLINE u16 receiver_threshold_floor(const struct receiver *state)
{
	u32 packets_us = state->policy.packet_ns / 2000 * NETNICE_THRESHOLD_HALF_PACKETS;
	u32 floor_us = policy_max(state->floor_us, packets_us) + state->clock.tick_us / 2;

	return policy_min(floor_us / NETNICE_TICK_US, 65535);
}

/*
 * The least of the latest samples, which lie somewhere within the tick of a stamp: so that the policy
 * does not learn the stamps' grain as the path's jitter. Probes are too far apart for it.
 */
POLICY_INLINE u32 receiver_least_of_recent(struct receiver *state, u32 queue_us)
{
	u32 least_us = queue_us;
	u32 number;

	state->recent_us[state->recent++ % RECEIVER_RECENT] = queue_us;
	if (state->policy.report.phase == POLICY_YIELDING)
		return queue_us;
	for (number = 0; number < RECEIVER_RECENT; number++)
		least_us = policy_min(least_us, state->recent_us[number]);
	return least_us;
}

/*
 * The queueing delay of the newest packet, as netnice_queue_us() has it of an ACK. Here the peer's
 * stamp is the earlier one: one_way_delay_sample() falls as the delay rises.
 */
POLICY_INLINE u32 receiver_queue_us(struct receiver *state, const struct receiver_segment *segment)
{
	u32 queue_us, delay_us;
	u8 restarted;

	delay_us = one_way_delay_sample(&state->clock, segment->tsval, segment->now_us,
					segment->now_us, &restarted);
	if (!delay_us || !segment->rtt_us)
		return NETNICE_NO_SAMPLE;
	state->minimum_rtt_us = policy_min(state->minimum_rtt_us, segment->rtt_us);
	queue_us = segment->rtt_us - state->minimum_rtt_us;
	delay_us = 2 * ONE_WAY_DELAY_ORIGIN_US - delay_us;
	if (restarted || !state->minimum_delay_us || delay_us < state->minimum_delay_us)
		state->minimum_delay_us = delay_us;
	delay_us -= state->minimum_delay_us;
	/* A round trip at its minimum proves the way here empty: the clocks drift, follow. */
	if (queue_us < receiver_own_wait_us(state) + state->floor_us / 4) {
		state->proven_us = segment->now_us;
		if (delay_us > NETNICE_DRIFT_US)
			state->minimum_delay_us += (delay_us - NETNICE_DRIFT_US) / 8;
	}
	queue_us = policy_min(queue_us, delay_us);
	queue_us = receiver_least_of_recent(state, queue_us);
	return queue_us - policy_min(queue_us, receiver_own_wait_us(state));
}

/* Whether the ACK at which a mark was made had reached the sender at that time. */
POLICY_INLINE int receiver_has_echoed(const struct receiver *state, u32 mark, u32 echoed_us)
{
	return !policy_after(state->marks[mark % RECEIVER_MARKS].sent_us, echoed_us);
}

/*
 * Finds the newest ACK that the sender had when it sent the newest packet: after a pause the latest of
 * all, else one of the next, as an ACK leaves no more than one mark.
 */
POLICY_INLINE const struct receiver_mark *receiver_echoed(struct receiver *state,
							  const struct receiver_segment *segment)
{
	/* The stamp is a millisecond long, and an ACK may have left at its end. */
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

/* Where round trips become longer than marks reach, the newest mark stands for what follows it. */
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

/* Whole packets of what has arrived. While the window is below a packet, a part counts as one. */
POLICY_INLINE u32 receiver_count(struct receiver *state, const struct receiver_segment *segment)
{
	u32 packets;

	/* Probes are smaller than packets, and the stack comes to take them for the peer's size. */
	if (segment->mss > state->mss) {
		state->cwnd = policy_max((u64)state->cwnd * state->mss / segment->mss,
					 RECEIVER_RESTART_PACKETS);
		state->mss = segment->mss;
	}
	state->credit_bytes += segment->bytes;
	packets = state->credit_bytes / state->mss;
	state->credit_bytes -= packets * state->mss;
	if (!packets && state->policy.report.phase == POLICY_YIELDING) {
		state->credit_bytes = 0;
		packets = 1;
	}
	return packets;
}

/* Whether the newest packet was retransmitted: RFC 9840, 4.3. */
POLICY_INLINE int receiver_fills_by_retransmission(struct receiver *state,
						   const struct receiver_segment *segment)
{
	int filled = state->gap && segment->bytes;
	int retransmitted = filled && policy_after(segment->tsval, state->beyond_tsval);

	if (!filled)
		state->beyond_tsval = segment->tsval;
	state->gap = segment->gap;
	return retransmitted;
}

/* Losses and marks count once a round trip: until a packet comes that was sent after the answer. */
POLICY_INLINE void receiver_notice_congestion(struct receiver *state, int indicated, u32 prior)
{
	if (state->recovering)
		state->recovering = (s32)(prior - state->recovery_end) < 0;
	else if (indicated)
		state->recovery_end = state->delivered;
	state->recovering |= !!indicated;
}

/*
 * The arrival rate, over a round trip or more: packets in `*interval_us`. What a filled gap sets
 * free came earlier.
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
 * Whether the sender could have sent more: fewer packets came within the round trip than were
 * advertised at its beginning. In slow start, whose window is always ahead, half as many will do.
 */
POLICY_INLINE u8 receiver_is_app_limited(const struct receiver *state, u32 came, u32 window)
{
	u32 slack = state->policy.slow_start ? came : came / 8;

	return came + slack + RECEIVER_PROBE_PACKETS < window;
}

/* Whether the newest sample met no queue. */
POLICY_INLINE int receiver_is_clean(const struct receiver *state)
{
	return state->policy.latest_queue_us <= netnice_threshold_us(&state->policy);
}

/* Whether it is time for two packets at once. */
POLICY_INLINE int receiver_is_probe_due(const struct receiver *state,
					const struct receiver_segment *segment)
{
	return segment->now_us - state->probed_us >= NETNICE_PROBE_PAUSE_US;
}

/* A loss began the yielding, and what probes tell is only that nothing is lost. */
POLICY_INLINE int receiver_yields_blindly(const struct receiver *state)
{
	return state->policy.report.phase == POLICY_YIELDING &&
	       state->policy.probe_rounds > NETNICE_PROBE_ROUNDS;
}

/*
 * Whether a probe's delay may be the work of clocks that drift: what a persist timer sends echoes an
 * old stamp, and has no round trip to prove the contrary.
 */
POLICY_INLINE int receiver_may_be_drift(const struct receiver *state,
					const struct receiver_segment *segment)
{
	u32 drift_us = (segment->now_us - state->proven_us) >> RECEIVER_DRIFT_SHIFT;

	return state->policy.latest_queue_us <= netnice_threshold_us(&state->policy) + drift_us;
}

/*
 * The window while yielding. After a probe that met a queue the sender's persist timer sends the
 * next. A probe that met none is followed by two packets at once. So is, now and then, one of which
 * that is not known, and all are where the peer's persist timer is slow.
 */
POLICY_INLINE u32 receiver_probe_bytes(struct receiver *state,
				       const struct receiver_segment *segment, u32 queue_us)
{
	int blind = receiver_yields_blindly(state);
	int clean = receiver_is_clean(state) && !blind;
	int unknown = queue_us == NETNICE_NO_SAMPLE || receiver_may_be_drift(state, segment);
	int due = unknown && receiver_is_probe_due(state, segment);
	int opens = clean || due || state->slow_persists >= RECEIVER_SLOW_PERSISTS;

	if (opens || blind)
		state->probed_us = segment->now_us;
	if (opens)
		return RECEIVER_PROBE_PACKETS * state->mss;
	return RECEIVER_PAUSE_BYTES;
}

/* How long the persist timer of a peer whose window is below one packet takes. */
POLICY_INLINE void receiver_notice_persist(struct receiver *state, u32 waited_us)
{
	if (state->window_bytes != RECEIVER_PAUSE_BYTES)
		return;
	if (waited_us < RECEIVER_SLOW_PERSIST_US)
		state->slow_persists = 0;
	else if (state->slow_persists < RECEIVER_SLOW_PERSISTS)
		state->slow_persists += 1;
}

/* Data has arrived: asks the policy. Returns the queueing delay, if it is known. */
POLICY_INLINE u32 receiver_on_arrival(struct receiver *state,
				      const struct receiver_segment *segment, u32 acked)
{
	int filled = state->gap;
	int congested = receiver_fills_by_retransmission(state, segment);
	const struct receiver_mark *mark = receiver_echoed(state, segment);
	struct netnice_ack ack = { .now_us = segment->now_us, .acked = acked };
	u32 queue_us = segment->held ? NETNICE_NO_SAMPLE : receiver_queue_us(state, segment);
	u32 came;

	congested |= segment->ce && !state->ce;
	state->ce = segment->ce;
	state->delivered += acked;
	came = state->delivered - mark->delivered;
	receiver_notice_congestion(state, congested, mark->delivered);
	if (queue_us != NETNICE_NO_SAMPLE)
		ack.sample_rtt_us = state->minimum_rtt_us + queue_us;
	ack.delivered = state->delivered;
	ack.prior_delivered = mark->delivered;
	ack.rate_delivered = receiver_rate(state, segment, filled, &ack.rate_interval_us);
	ack.cwnd = state->cwnd;
	ack.in_flight = RECEIVER_PROBE_PACKETS;
	ack.ca_state = state->recovering ? CA_RECOVERY : CA_OPEN;
	ack.app_limited = receiver_is_app_limited(state, came, mark->window);
	/* Delayed ACKs are left out above: the rest are prompt. */
	state->policy.threshold_floor = receiver_threshold_floor(state);
	state->policy.lone_acks = DELAYED_ACK_LONE_IN_A_ROW + DELAYED_ACK_LONE_WITHOUT_PROOF;
	state->cwnd = RECEIVER_POLICY(&state->policy, &ack);
	state->policy.report.signal = POLICY_SIGNAL_ONE_WAY_DELAY;
	/*
	 * Growth itself spreads a round's samples. It would raise the threshold of whoever grows fastest,
	 * and of two receivers one would starve; samples are freed of the path's jitter above.
	 */
	state->policy.spread = 0;
	return queue_us;
}

/* The peer's timestamps run by no clock that can be read: no delay can be known. */
POLICY_INLINE int receiver_is_without_clock(const struct receiver *state)
{
	return state->clock.told && state->clock.tick_us == ONE_WAY_DELAY_TICK_UNUSABLE;
}

/*
 * A segment is about to leave: returns the window that is to be advertised, in bytes. A request
 * after a time in which nothing came gets its answer begin as a new connection would.
 */
POLICY_INLINE u32 receiver_window(struct receiver *state, const struct receiver_segment *segment)
{
	u32 restart_bytes = RECEIVER_RESTART_PACKETS * state->mss;
	u32 limit_packets = policy_max(segment->limit_bytes / state->mss, RECEIVER_RESTART_PACKETS);
	u32 waited_us = segment->now_us - state->arrived_us;
	u32 acked, queue_us;

	if (receiver_is_without_clock(state))
		return segment->limit_bytes;
	if (!segment->bytes) {
		if (segment->gap)
			receiver_fills_by_retransmission(state, segment);
		if (segment->has_data && waited_us > RECEIVER_RESTART_IDLE_US)
			state->window_bytes = policy_max(state->window_bytes, restart_bytes);
		return state->window_bytes;
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
	if (state->policy.report.phase == POLICY_YIELDING)
		state->window_bytes = receiver_probe_bytes(state, segment, queue_us);
	receiver_mark(state, segment);
	return state->window_bytes;
}

#endif
