/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Round trips at the receiving end of a connection without timestamps, for receiver.h and arrivals.h.
 *
 * Data beyond the window's right edge can leave the sender only after the segment that has moved the
 * edge. So the time from that segment to the arrival of the data is at least a round trip, and it is
 * one if the window limits the sender. Linux tunes its receive buffer by the same measure
 * (tcp_rcv_rtt_measure).
 *
 * Both read a round trip and a stamp of the peer. The stamp is made up: the time at which the
 * data would have left the sender if ACKs took no time. The one-way delay is then the round trip, and
 * the smaller of the two, the signal, is the round trip too.
 *
 *   the sender could have sent more   the sample is too large. It is the window over the rate, and the
 *                     window backs off to what the sender uses, from where on it limits the sender.
 *   an idle sender    a gap of two round trips: what was advertised before it gives no sample.
 *   a pause           what a persist timer sends waited for the timer: no sample.
 *   losses            a gap that is filled within half of the smallest round trip is reordering: a
 *                     retransmission takes a round trip.
 *   closed windows    a probe of one gives no sample: the stack never lets such a connection close it.
 */
#ifndef NETNICE_POLICY_RECEIVER_ROUND_TRIP_H
#define NETNICE_POLICY_RECEIVER_ROUND_TRIP_H

#include "integer.h"
#include "receiver_segment.h"

#define RECEIVER_EDGES 32U               /* a power of two */
#define RECEIVER_EDGES_SHIFT 4U          /* a sixteenth of a round trip between edges */
#define RECEIVER_EDGES_INTERVAL_US 1000U /* at least */
#define RECEIVER_SILENT_ROUNDS 2U

/* A segment that moves the window's right edge. */
struct receiver_edge {
	u32 sent_us;
	u32 prior; /* sequence number of the edge before that segment */
};

/* All zero at first. */
struct receiver_round_trip {
	u32 latest_us;  /* latest sample; 0 if none */
	u32 arrived_us; /* latest data */
	u32 gap_us;     /* when the gap was first seen, while there is one */
	u32 head;       /* oldest edge that no data has crossed */
	u32 end;
	u8 silent; /* no sample since the sender was idle */
	u8 reserved[3];
	struct receiver_edge edges[RECEIVER_EDGES];
};

/* The window as the stack knows it when a segment is about to leave. */
struct receiver_advertised {
	u32 left_us; /* the segment leaves: later than the newest packet's arrival, if a program reads */
	u32 received; /* sequence number up to which data has arrived in order */
	u32 edge;     /* right edge that earlier segments have advertised */
};

/* Returns when the newest segment left whose edge the newest data has crossed; 0 in `*found` if none. */
POLICY_INLINE u32 receiver_crossed_us(struct receiver_round_trip *trip, u32 received, u8 *found)
{
	u32 sent_us = 0;
	u32 step;

	*found = 0;
	for (step = 0; step < RECEIVER_EDGES; step++) {
		const struct receiver_edge *edge = &trip->edges[trip->head % RECEIVER_EDGES];

		if (trip->head == trip->end || !policy_after(received, edge->prior))
			break;
		sent_us = edge->sent_us;
		trip->head += 1;
		*found = 1;
	}
	return sent_us;
}

/*
 * Forgets what was advertised before a gap in which the sender was idle. Not twice in a row: at a
 * window of a few packets, a queue that becomes longer makes such gaps.
 */
POLICY_INLINE void receiver_notice_silence(struct receiver_round_trip *trip, u32 now_us)
{
	u32 gap_us = now_us - trip->arrived_us;

	trip->arrived_us = now_us;
	if (trip->silent || !trip->latest_us ||
	    gap_us <= RECEIVER_SILENT_ROUNDS * (u64)trip->latest_us)
		return;
	trip->silent = 1;
	trip->head = trip->end;
}

/* Notes a segment that leaves. One after which the edge stayed where it was is not what moved it. */
POLICY_INLINE void receiver_note_edge(struct receiver_round_trip *trip,
				      const struct receiver_advertised *advertised)
{
	struct receiver_edge *newest = &trip->edges[(trip->end - 1) % RECEIVER_EDGES];
	u32 interval_us =
		policy_max(trip->latest_us >> RECEIVER_EDGES_SHIFT, RECEIVER_EDGES_INTERVAL_US);

	if (trip->head != trip->end) {
		if (newest->prior == advertised->edge) {
			newest->sent_us = advertised->left_us;
			return;
		}
		if (advertised->left_us - newest->sent_us < interval_us ||
		    trip->end - trip->head >= RECEIVER_EDGES)
			return;
	}
	newest = &trip->edges[trip->end % RECEIVER_EDGES];
	newest->sent_us = advertised->left_us;
	newest->prior = advertised->edge;
	trip->end += 1;
}

/*
 * Returns whether the newest data was sent by a persist timer: whether the window had no room for a
 * packet. The stack may advertise less than the policy wants: its window opens as data arrive.
 */
POLICY_INLINE int receiver_is_by_timer(const struct receiver_known *known,
				       const struct receiver_segment *segment,
				       const struct receiver_advertised *advertised)
{
	u32 before = advertised->received - segment->bytes;

	return segment->bytes && advertised->edge - before < known->mss;
}

/*
 * Returns the stamp, which tells a loss from reordering: a retransmission's is later than that of what
 * lay beyond the gap.
 */
POLICY_INLINE u32 receiver_made_up_tsval(struct receiver_round_trip *trip,
					 const struct receiver_known *known,
					 const struct receiver_segment *segment)
{
	int filled = known->gap && segment->bytes;
	int lost = segment->now_us - trip->gap_us >= known->minimum_rtt_us / 2;

	if (segment->gap && (filled || !known->gap))
		trip->gap_us = segment->now_us;
	return filled ? known->newest_tsval + lost : segment->now_us - trip->latest_us;
}

/*
 * Completes what the stack says of a segment that is about to leave by a round trip and a stamp.
 * Between two samples the latest stands. To be called before the policy takes the segment.
 */
POLICY_INLINE void receiver_time(struct receiver_round_trip *trip,
				 const struct receiver_known *known,
				 struct receiver_segment *segment,
				 const struct receiver_advertised *advertised)
{
	int by_timer = receiver_is_by_timer(known, segment, advertised);
	u32 sent_us;
	u8 found;

	if (segment->bytes) {
		receiver_notice_silence(trip, segment->now_us);
		sent_us = receiver_crossed_us(trip, advertised->received, &found);
		/* Packets that a filled gap releases came earlier. */
		if (found && !by_timer && !known->gap && !segment->delayed_ack) {
			trip->latest_us = policy_max(segment->now_us - sent_us, 1);
			trip->silent = 0;
		}
	}
	receiver_note_edge(trip, advertised);
	segment->rtt_us = by_timer ? 0 : trip->latest_us;
	segment->tsval = receiver_made_up_tsval(trip, known, segment);
	/* The stack opens only now what the policy has opened: two packets are still to come. */
	if (by_timer && known->opens)
		segment->bytes = 0;
}

#endif
