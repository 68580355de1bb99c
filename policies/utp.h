/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Low priority for uTP (BEP 29), BitTorrent's protocol over UDP, at one end of a connection. Each packet
 * carries the time at which it left, the delay of the newest packet of the other direction, and a window
 * that the sender obeys. So receiver.h governs both directions, with the window rewritten in packets
 * that pass:
 *
 *   data that arrives   the window of each packet that leaves, as with TCP
 *   data that leaves    the window of each packet that arrives: an acknowledgement that arrives stands for
 *                       a segment that leaves, and the delay that it reports for that of the data
 *
 *   clocks     stamps are microseconds of each program's own clock. The delays of both directions add up
 *              to the round trip, in which the offset of the peer's clock cancels; that of our program's
 *              is the smallest time by which its stamps are behind our clock.
 *   certainty  a packet is uTP if version and type are, and if the stamps of what leaves advance with our
 *              own clock. Until then, and otherwise, it is other UDP and is left alone.
 *   floor      as with TCP (receiver_floor.h), where what leaves is acknowledged by packets that arrive
 *   windows    never below one full packet: libutp sends nothing into a smaller one, and libtorrent has no
 *              timer that would open one. A window that pauses TCP holds one packet per round trip here.
 */
#ifndef NETNICE_POLICY_UTP_H
#define NETNICE_POLICY_UTP_H

#include "integer.h"
#include "receiver_floor.h"

#define UTP_HEADER_BYTES 20U
#define UTP_VERSION 1U
#define UTP_SELECTIVE_ACK 1U   /* extension */
#define UTP_LAST_EXTENSION 3U  /* why a connection is closed, of libtorrent */
#define UTP_FULL_BYTES 1472U   /* in a frame of Ethernet: 1500 less the headers of IPv4 and UDP */
#define UTP_UNIT_BYTES 1382U   /* of data in libutp's packets, which leave room for tunnels */
#define UTP_FIRST_PACKETS 10U  /* as a sender of TCP may begin with (RFC 6928) */
#define UTP_SPAN_PACKETS 1024U /* in flight at most, in libutp: a jump beyond is no progress */
#define UTP_SIZE_SHIFT 3U      /* the mean size: an eighth of each packet's */
/*
 * A clock is one of microseconds that is at most a quarter too fast or too slow. A program may be kept
 * from a processor between stamp and packet, which counts up to 250 ms: a stamp that is no clock's meets
 * that by chance in one of 8,600 packets. After 100 ms one that stands still shows.
 */
#define UTP_CERTAIN_PACKETS 8U
#define UTP_CERTAIN_US 100000U
#define UTP_PACE_SHIFT 2U
#define UTP_LEAST_LAG_US 25000U
#define UTP_MOST_LAG_US 250000U
/* No program is kept from a processor for so long, packet after packet: its clock was set. */
#define UTP_CLOCK_SET_US 1000000U
#define UTP_CLOCK_SET_PACKETS 8U
#define UTP_LONGEST_US 60000000U /* no round trip is longer */

enum utp_type {
	UTP_DATA = 0,
	UTP_FIN = 1,
	UTP_STATE = 2,
	UTP_RESET = 3,
	UTP_SYN = 4,
};

/* What a packet that leaves says of its program's clock. */
enum utp_clock {
	UTP_CLOCK_AS_BEFORE,
	UTP_CLOCK_CERTAIN, /* from now on its stamps are those of uTP */
	UTP_CLOCK_SET, /* what was measured before says nothing any more: the state has to begin anew */
};

/* What governing needs of a packet. */
struct utp_packet {
	u32 stamp_us; /* the sender's clock as it left */
	u32 difference_us; /* delay of the newest packet that the sender has, with the clocks' offset; 0: none */
	u32 window;     /* bytes */
	u32 data_bytes; /* of a packet with data, extensions included; else 0 */
	u16 connection;
	u16 sequence;
	u16 acknowledged; /* sequence number of a packet: they count packets */
	u8 type;
	u8 gap; /* packets beyond a gap have arrived */
};

/* One direction of a connection: that of the data. All zero at first. */
struct utp_side {
	struct receiver receiver;
	struct receiver_floor floor;
	u32 largest; /* data in a packet, bytes: 0 if none has passed */
	u32 mean;
	u32 yields;   /* that have been told */
	u32 stamp_us; /* of the newest packet with data */
	u16 sequence; /* of the same */
	u16 acknowledged;
	u8 begun;
	u8 reserved[3];
};

/* A connection. All zero at first. */
struct utp_flow {
	struct utp_side arriving;
	struct utp_side leaving;
	u64 group;
	u32 lag_us;        /* smallest time by which stamps of our program are behind our clock */
	u32 since_us;      /* until it is certain: when the first packet left */
	u32 stamp_us;      /* of the newest data that has arrived */
	u32 difference_us; /* of the same packet */
	u32 arrived_us;    /* when that was */
	u16 arriving_connection;
	u8 arriving_known; /* the number above is known */
	u8 arrived;        /* data has arrived */
	u8 departures;     /* until it is certain */
	u8 certain;
	u8 set; /* packets in a row whose stamps show that the program's clock was set */
	u8 reserved;
};

POLICY_INLINE u32 utp_read_16(const u8 *bytes)
{
	return (u32)bytes[0] << 8 | bytes[1];
}

POLICY_INLINE u32 utp_read_32(const u8 *bytes)
{
	return utp_read_16(bytes) << 16 | utp_read_16(bytes + 2);
}

/*
 * Reads a header; `bytes` is the length of the whole packet. Returns whether the packet can be of uTP and
 * governed: a reset carries no stamp in libutp, and is none.
 */
POLICY_INLINE int utp_read(struct utp_packet *packet, const u8 header[UTP_HEADER_BYTES], u32 bytes)
{
	if (bytes < UTP_HEADER_BYTES || (header[0] & 15) != UTP_VERSION ||
	    header[0] >> 4 > UTP_SYN || header[1] > UTP_LAST_EXTENSION)
		return 0;
	packet->type = header[0] >> 4;
	packet->gap = header[1] == UTP_SELECTIVE_ACK;
	packet->connection = utp_read_16(header + 2);
	packet->stamp_us = utp_read_32(header + 4);
	packet->difference_us = utp_read_32(header + 8);
	packet->window = utp_read_32(header + 12);
	packet->sequence = utp_read_16(header + 16);
	packet->acknowledged = utp_read_16(header + 18);
	packet->data_bytes = packet->type == UTP_DATA ? bytes - UTP_HEADER_BYTES : 0;
	return packet->type != UTP_RESET;
}

/*
 * Returns the number in the packets that leave on a connection which a leaving SYN opens. It carries the
 * number for what arrives; BEP 29 has our own one above it.
 */
POLICY_INLINE u16 utp_opened(u16 connection)
{
	return connection + 1;
}

/*
 * Follows the packets with data of a direction. Returns the bytes of a new one: it may pass several
 * interfaces, as those of a bond, a VLAN or a bridge, and is seen at each.
 */
POLICY_INLINE u32 utp_count(struct utp_side *side, const struct utp_packet *packet)
{
	u32 data_bytes = packet->data_bytes;

	if (!data_bytes || (side->largest && packet->stamp_us == side->stamp_us &&
			    packet->sequence == side->sequence))
		return 0;
	side->stamp_us = packet->stamp_us;
	side->sequence = packet->sequence;
	if (!side->largest)
		side->mean = data_bytes;
	side->largest = policy_max(side->largest, data_bytes);
	side->mean += (data_bytes >> UTP_SIZE_SHIFT) - (side->mean >> UTP_SIZE_SHIFT);
	return data_bytes;
}

/*
 * Follows our program's clock by a packet that leaves. Until it is certain, a packet that does not fit
 * begins anew.
 */
POLICY_INLINE enum utp_clock utp_follow_clock(struct utp_flow *flow, u32 stamp_us, u32 now_us)
{
	u32 lag_us = now_us - stamp_us;
	u32 elapsed_us = now_us - flow->since_us;
	s32 moved_us = (s32)(lag_us - flow->lag_us);
	u32 off_us = moved_us < 0 ? 0U - (u32)moved_us : (u32)moved_us;
	u32 allowed_us = policy_min(policy_max(elapsed_us >> UTP_PACE_SHIFT, UTP_LEAST_LAG_US),
				    UTP_MOST_LAG_US);

	if (flow->certain) {
		flow->set = off_us > UTP_CLOCK_SET_US ? flow->set + 1 : 0;
		if (moved_us < 0 && !flow->set)
			flow->lag_us = lag_us;
		return flow->set < UTP_CLOCK_SET_PACKETS ? UTP_CLOCK_AS_BEFORE : UTP_CLOCK_SET;
	}
	if (!flow->departures || off_us > allowed_us) {
		flow->since_us = now_us;
		flow->lag_us = lag_us;
		flow->departures = 1;
		return UTP_CLOCK_AS_BEFORE;
	}
	if (moved_us < 0)
		flow->lag_us = lag_us;
	if (flow->departures < UTP_CERTAIN_PACKETS)
		flow->departures += 1;
	flow->certain = flow->departures == UTP_CERTAIN_PACKETS && elapsed_us >= UTP_CERTAIN_US;
	return flow->certain ? UTP_CLOCK_CERTAIN : UTP_CLOCK_AS_BEFORE;
}

/* Notes when data has arrived, and what its packet says of both delays. */
POLICY_INLINE void utp_on_arrival(struct utp_flow *flow, const struct utp_packet *packet,
				  u32 now_us)
{
	if (!packet->data_bytes)
		return;
	flow->stamp_us = packet->stamp_us;
	flow->difference_us = packet->difference_us;
	flow->arrived_us = now_us;
	flow->arrived = 1;
}

/* Returns the round trip of a packet that has arrived: the delays of both ways. 0 if unknown. */
POLICY_INLINE u32 utp_round_trip_us(const struct utp_flow *flow, u32 stamp_us, u32 difference_us,
				    u32 arrived_us)
{
	s32 rtt_us = (s32)(arrived_us - stamp_us + difference_us - flow->lag_us);

	if (!difference_us || rtt_us > (s32)UTP_LONGEST_US)
		return 0;
	return rtt_us > 0 ? rtt_us : 0;
}

/*
 * Begins the state of a direction. The tick of the stamps is known, unlike that of TCP's.
 */
POLICY_INLINE void utp_begin(struct utp_side *side, const struct policy_parameters *wanted,
			     const struct receiver_segment *segment, u16 acknowledged)
{
	struct one_way_delay *clock = &side->receiver.clock;

	receiver_init(&side->receiver, wanted, UTP_FIRST_PACKETS * segment->mss, segment->mss,
		      segment->now_us);
	one_way_delay_begin(clock, segment->tsval, segment->now_us, segment->now_us);
	clock->measured = 1;
	clock->tick_us = ONE_WAY_DELAY_MICROSECOND_TICK_US;
	side->acknowledged = acknowledged;
	side->yields = 0;
	side->begun = 1;
}

/*
 * Returns the packets that `acknowledged` is ahead of what was known. Older ones, of packets that have
 * overtaken each other, change nothing; a jump, after a time in which nobody looked, is no progress.
 */
POLICY_INLINE u32 utp_progress(struct utp_side *side, u16 acknowledged)
{
	u16 ahead = acknowledged - side->acknowledged;

	if (ahead > 0xffff - UTP_SPAN_PACKETS)
		return 0;
	side->acknowledged = acknowledged;
	return ahead > UTP_SPAN_PACKETS ? 0 : ahead;
}

/* Completes a segment by what a packet with a window says of the data in the other direction. */
POLICY_INLINE void utp_complete(struct utp_side *side, const struct policy_parameters *wanted,
				const struct utp_packet *packet, struct receiver_segment *segment)
{
	segment->mss = policy_max(side->largest, UTP_UNIT_BYTES);
	segment->limit_bytes = policy_max(packet->window, UTP_FIRST_PACKETS * segment->mss);
	segment->bound_bytes = segment->limit_bytes;
	segment->gap = packet->gap;
	if (!side->begun)
		utp_begin(side, wanted, segment, packet->acknowledged);
	segment->bytes = utp_progress(side, packet->acknowledged) * side->mean;
}

/*
 * Makes the segment for data that arrives of a packet that leaves. Returns whether there is something to
 * govern.
 */
POLICY_INLINE int utp_segment_of_departure(struct utp_flow *flow,
					   const struct policy_parameters *wanted,
					   const struct utp_packet *packet, u32 now_us,
					   struct receiver_segment *segment)
{
	if (!flow->certain || !flow->arrived)
		return 0;
	segment->now_us = flow->arrived_us;
	segment->tsval = flow->stamp_us;
	segment->rtt_us =
		utp_round_trip_us(flow, flow->stamp_us, flow->difference_us, flow->arrived_us);
	segment->has_data = packet->data_bytes > 0;
	utp_complete(&flow->arriving, wanted, packet, segment);
	/* Then the time since the latest data counts. */
	if (!segment->bytes)
		segment->now_us = now_us;
	return 1;
}

/* As above, for data that leaves, of a packet that has arrived. */
POLICY_INLINE int utp_segment_of_arrival(struct utp_flow *flow,
					 const struct policy_parameters *wanted,
					 const struct utp_packet *packet, u32 now_us,
					 struct receiver_segment *segment)
{
	if (!flow->certain || !flow->leaving.largest || !packet->difference_us)
		return 0;
	segment->now_us = now_us;
	segment->tsval = now_us - packet->difference_us;
	segment->rtt_us = utp_round_trip_us(flow, packet->stamp_us, packet->difference_us, now_us);
	utp_complete(&flow->leaving, wanted, packet, segment);
	return 1;
}

/* Returns the window to write into the packet, in bytes, of what the policy answers; 0 to leave it as it is. */
POLICY_INLINE u32 utp_window(const struct utp_side *side, const struct utp_packet *packet,
			     u32 answer)
{
	u32 least = policy_max(side->largest + UTP_HEADER_BYTES, UTP_FULL_BYTES);
	u32 window = policy_max(answer, least);

	return window < packet->window ? window : 0;
}

#endif
