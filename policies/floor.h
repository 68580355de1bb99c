/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A floor under a group of connections at low priority: together they get at least a rate, as one
 * best-effort flow would, however many they are.
 *
 *   law     one window for the whole group, by CUBIC (RFC 9438): a loss on any connection reduces it,
 *           at most once per round trip, and what all of them have acknowledged makes it grow.
 *   share   a connection gets an equal part of the window, and of the rate that is not delivered
 *           otherwise: by connections whose own window is larger, or whose programs send less.
 *           Where the window is too small for all, they take turns.
 *   rate    no more than the floor: a window of its share of it times the round trip.
 *
 * A connection sends by the larger of its window at low priority and its share; while that is the
 * share, the floor drives it. Sums are taken over periods of a few round trips. The connections of a
 * group may write at the same time: what one sum loses by that, the next one corrects.
 */
#ifndef NETNICE_POLICY_FLOOR_H
#define NETNICE_POLICY_FLOOR_H

#include "integer.h"
#include "parameters.h"

#define FLOOR_UNIT 1024U        /* a packet, in what counts parts of one */
#define FLOOR_FIRST_PACKETS 10U /* initial window (RFC 6928) */
#define FLOOR_LEAST_PACKETS 2U  /* of a connection: the second makes its receiver ACK at once */
#define FLOOR_MOST_PACKETS 1048576U
#define FLOOR_BETA 717U        /* 0.7 (RFC 9438, 4.6) */
#define FLOOR_FAST_BETA 870U   /* (1 + 0.7) / 2: fast convergence (RFC 9438, 4.7) */
#define FLOOR_RENO_GROWTH 542U /* 3 * (1 - 0.7) / (1 + 0.7) (RFC 9438, 4.3) */
/* C = 0.4 packets per second cubed (RFC 9438, 5.1): 0.4 * FLOOR_UNIT / 10^9 per millisecond cubed. */
#define FLOOR_CUBIC_NUMERATOR 4096U
#define FLOOR_CUBIC_DENOMINATOR 10000000000ULL
#define FLOOR_LONGEST_RISE_MS 65535U
#define FLOOR_HEADROOM 2U /* the group's window is at most so many times what the rate needs */
#define FLOOR_PERIOD_ROUNDS 4U
#define FLOOR_SHORTEST_PERIOD_US 200000U
#define FLOOR_LONGEST_PERIOD_US 2000000U
#define FLOOR_HELD_GAIN 4U /* of pacing, where the law holds the window */
#define FLOOR_BURST_PACKETS 2U
#define FLOOR_SECOND_US 1000000U

/* A group of connections, in one direction. All zero at first, but for the rate. */
struct floor {
	u64 bytes_per_s; /* 0: no floor */

	/* The law. Windows are in packets times FLOOR_UNIT. */
	u32 window;
	u32 ssthresh; /* 0: none yet */
	u32 peak;     /* W_max: at the latest loss */
	u32 reno;     /* W_est: what Reno would have, the least that it grows to */
	u32 rise_ms;  /* K: from the latest loss until the window is at its peak */
	u32 grows_us; /* since when it has grown; 0: not since the latest loss */
	u32 reduced_us;

	/* Sums over the period. */
	u32 period; /* its number; 0: none yet */
	u32 period_us;
	u32 elapsed_us;  /* the one before took so long; 0: unknown */
	u32 connections; /* that would send more */
	u32 connections_before;
	u64 bytes;
	u64 free_bytes;       /* of connections that the floor does not drive */
	u64 free_bytes_per_s; /* in the period before */
	u64 owed_bytes;       /* what the group got too little of late */

	u64 counted_bytes; /* of all its connections since its first */
};

/* State of one connection above a floor. All zero at first. */
struct floor_member {
	u32 low_cwnd; /* window at low priority, packets */
	u32 cwnd;     /* window in force */
	u32 period;   /* for which the rest is */
	u32 place;    /* among the connections of the period */
	u32 free_bytes;
	u32 free_bytes_per_s; /* in the period before */
	u32 share_bytes_per_s;
	u32 reduced_us; /* when it last reduced the group's window; 0: not known */
	u32 probed_us;  /* netnice/above_floor.h: when a packet last served as a probe */
	u8 driven;      /* by the floor */
	u8 counted;
	u8 congested; /* the latest ACK was one of a recovery */
	u8 held;      /* by the law below its share of the rate */
};

/* An ACK, or data that arrives. */
struct floor_ack {
	u32 now_us;
	u32 rtt_us; /* smoothed; 0: unknown */
	u32 acked;  /* packets */
	u32 bytes;
	u32 mss;
	u32 spare;    /* packets of a share beyond rate times round trip */
	u8 congested; /* a recovery from losses or marks is under way */
	u8 timed_out; /* an RTO has come since the latest ACK */
	u8 app_limited;
};

/* Returns the rate of the floor that a user has set; 0 for none. */
POLICY_INLINE u64 floor_bytes_per_s(const struct policy_parameters *wanted)
{
	return (wanted->target_bits_per_s + 7) / 8;
}

/* Returns the cube root of a number, rounded down; at most 2^18 - 1. */
POLICY_CALLED u32 floor_cube_root(u64 cube)
{
	u64 root = 0;
	int bit;

	for (bit = 17; bit >= 0; bit--) {
		u64 more = root | 1ULL << bit;

		if (more * more * more <= cube)
			root = more;
	}
	return (u32)root;
}

/* Returns by how much CUBIC's window exceeds its peak, or is below it, `ms` from there. */
POLICY_INLINE u32 floor_cubic(u32 ms)
{
	u64 time = policy_min(ms, FLOOR_LONGEST_RISE_MS);
	u64 packets = time * time * time * FLOOR_CUBIC_NUMERATOR / FLOOR_CUBIC_DENOMINATOR;

	return packets > FLOOR_MOST_PACKETS * FLOOR_UNIT ? FLOOR_MOST_PACKETS * FLOOR_UNIT :
							   (u32)packets;
}

/* Returns the window that CUBIC aims at a round trip from now (RFC 9438, 4.2). */
POLICY_INLINE u32 floor_aim(const struct floor *floor, u32 now_us, u32 rtt_us)
{
	u32 since_ms = (now_us - floor->grows_us + rtt_us) / 1000;
	u32 below;

	if (since_ms >= floor->rise_ms)
		return floor->peak + floor_cubic(since_ms - floor->rise_ms);
	below = floor_cubic(floor->rise_ms - since_ms);
	return floor->peak - policy_min(floor->peak, below);
}

/* Lets the window grow by what was acknowledged. */
POLICY_INLINE void floor_grow(struct floor *floor, const struct floor_ack *ack)
{
	u64 acked = (u64)ack->acked * FLOOR_UNIT;
	u64 part = acked * FLOOR_UNIT / policy_max(floor->window, FLOOR_UNIT);
	u32 aim;

	if (!floor->ssthresh || floor->window < floor->ssthresh) {
		floor->window += (u32)acked;
		if (floor->ssthresh)
			floor->window = policy_min(floor->window, floor->ssthresh);
		return;
	}
	if (!floor->grows_us) {
		floor->grows_us = policy_max(ack->now_us, 1);
		floor->peak = policy_max(floor->peak, floor->window);
		floor->reno = floor->window;
		floor->rise_ms = floor_cube_root((u64)(floor->peak - floor->window) *
						 FLOOR_CUBIC_DENOMINATOR / FLOOR_CUBIC_NUMERATOR);
	}
	floor->reno +=
		(u32)(floor->reno < floor->peak ? part * FLOOR_RENO_GROWTH / FLOOR_UNIT : part);
	aim = floor_aim(floor, ack->now_us, ack->rtt_us);
	aim = policy_min(aim, floor->window + floor->window / 2);
	if (aim > floor->window)
		floor->window += (u32)((aim - floor->window) * part / FLOOR_UNIT);
	floor->window = policy_max(floor->window, floor->reno);
}

/* Answers a loss or a mark; those of several connections in the same round trip count once. */
POLICY_INLINE void floor_reduce(struct floor *floor, struct floor_member *member,
				const struct floor_ack *ack)
{
	u32 window = floor->window;
	int by_other = floor->reduced_us && floor->reduced_us != member->reduced_us;

	if (by_other && ack->now_us - floor->reduced_us < ack->rtt_us)
		return;
	floor->reduced_us = policy_max(ack->now_us, 1);
	member->reduced_us = floor->reduced_us;
	floor->peak =
		window < floor->peak ? (u32)((u64)window * FLOOR_FAST_BETA / FLOOR_UNIT) : window;
	floor->ssthresh = policy_max((u32)((u64)window * FLOOR_BETA / FLOOR_UNIT),
				     FLOOR_LEAST_PACKETS * FLOOR_UNIT);
	floor->grows_us = 0;
	floor->window = floor->ssthresh;
}

/* Begins another period when this one is over. */
POLICY_CALLED u32 floor_begin_period(struct floor *floor, const struct floor_ack *ack)
{
	POLICY_STEP_NEEDS(floor && ack);
	u32 least_us = policy_max(FLOOR_PERIOD_ROUNDS * ack->rtt_us, FLOOR_SHORTEST_PERIOD_US);
	u32 length_us = policy_min(least_us, FLOOR_LONGEST_PERIOD_US);
	u32 elapsed_us = ack->now_us - floor->period_us;
	u64 due_bytes;

	if (floor->period && elapsed_us < length_us)
		return 0;
	if (!floor->period || elapsed_us > 2 * FLOOR_LONGEST_PERIOD_US) {
		floor->elapsed_us = 0;
		floor->free_bytes_per_s = 0;
		floor->owed_bytes = 0;
	} else {
		floor->elapsed_us = elapsed_us;
		floor->free_bytes_per_s = floor->free_bytes * FLOOR_SECOND_US / elapsed_us;
		due_bytes = floor->bytes_per_s * elapsed_us / FLOOR_SECOND_US;
		if (floor->bytes < due_bytes)
			floor->owed_bytes += floor->connections ? due_bytes - floor->bytes : 0;
		else if (floor->owed_bytes > floor->bytes - due_bytes)
			floor->owed_bytes -= floor->bytes - due_bytes;
		else
			floor->owed_bytes = 0;
		/* What others took is made good within seconds: no more than a second of it. */
		if (floor->owed_bytes > floor->bytes_per_s)
			floor->owed_bytes = floor->bytes_per_s;
	}
	floor->period += 1;
	floor->period_us = ack->now_us;
	floor->connections_before = floor->connections;
	floor->connections = 0;
	floor->bytes = 0;
	floor->free_bytes = 0;
	return 0;
}

/* Adds what an ACK says to the sums. */
POLICY_INLINE void floor_count(struct floor *floor, struct floor_member *member,
			       const struct floor_ack *ack)
{
	if (member->period != floor->period) {
		member->free_bytes_per_s = 0;
		if (member->period + 1 == floor->period && floor->elapsed_us)
			member->free_bytes_per_s = (u32)((u64)member->free_bytes * FLOOR_SECOND_US /
							 floor->elapsed_us);
		member->period = floor->period;
		member->free_bytes = 0;
		member->counted = 0;
	}
	if (!ack->app_limited && !member->counted) {
		member->counted = 1;
		member->place = floor->connections;
		floor->connections += 1;
	}
	floor->bytes += ack->bytes;
	floor->counted_bytes += ack->bytes;
	if (!member->driven) {
		floor->free_bytes += ack->bytes;
		member->free_bytes += ack->bytes;
	}
}

/* Adds what the group moves beside its connections, to what the floor does not drive. */
POLICY_INLINE void floor_count_beside(struct floor *floor, u32 bytes)
{
	floor->bytes += bytes;
	floor->free_bytes += bytes;
}

/* Returns the packets that `bytes_per_s` has in flight. */
POLICY_INLINE u32 floor_packets(u64 bytes_per_s, const struct floor_ack *ack)
{
	u64 bytes = bytes_per_s * ack->rtt_us / FLOOR_SECOND_US;
	u64 packets = bytes / policy_max(ack->mss, 1);

	return packets > FLOOR_MOST_PACKETS ? FLOOR_MOST_PACKETS : (u32)packets;
}

/* Keeps the window to what the floor needs: one that is not used must not grow (RFC 7661). */
POLICY_INLINE void floor_limit_window(struct floor *floor, u64 bytes_per_s,
				      const struct floor_ack *ack, u32 sharers)
{
	u32 packets =
		FLOOR_HEADROOM * floor_packets(bytes_per_s, ack) + FLOOR_LEAST_PACKETS * sharers;
	u32 most = policy_min(policy_max(packets, FLOOR_FIRST_PACKETS), FLOOR_MOST_PACKETS) *
		   FLOOR_UNIT;

	if (floor->window <= most)
		return;
	floor->window = most;
	floor->grows_us = 0;
	floor->peak = most;
}

/*
 * Returns the window of a connection by the floor, in packets, after an ACK; 0 if it has none. The
 * caller says by `driven` whether it has sent by that.
 */
POLICY_CALLED u32 floor_share(struct floor *floor, struct floor_member *member,
			      const struct floor_ack *ack)
{
	POLICY_STEP_NEEDS(floor && member && ack);
	u32 sharers, fed, turn, packets, window;
	u64 bytes_per_s, elsewhere;

	if (!floor->bytes_per_s || !ack->rtt_us)
		return 0;
	if (!floor->window)
		floor->window = FLOOR_FIRST_PACKETS * FLOOR_UNIT;
	floor_begin_period(floor, ack);
	floor_count(floor, member, ack);
	sharers = policy_max(policy_max(floor->connections, floor->connections_before), 1);
	if (ack->timed_out || (ack->congested && !member->congested))
		floor_reduce(floor, member, ack);
	/* Of several connections, one with few packets in flight has no other sign of a loss. */
	if (ack->timed_out && sharers == 1)
		floor->window = FLOOR_UNIT;
	if (!ack->congested && !ack->app_limited)
		floor_grow(floor, ack);
	member->congested = ack->congested;
	bytes_per_s = floor->bytes_per_s + floor->owed_bytes;
	floor_limit_window(floor, bytes_per_s, ack, sharers);

	fed = policy_min(floor->window / FLOOR_UNIT, floor_packets(bytes_per_s, ack));
	fed = policy_max(fed / FLOOR_LEAST_PACKETS, 1);
	turn = (member->place + floor->period * fed) % sharers;
	member->share_bytes_per_s = 0;
	if (fed < sharers && turn >= fed)
		return 0;
	sharers = policy_min(sharers, fed);
	elsewhere = floor->free_bytes_per_s > member->free_bytes_per_s ?
			    floor->free_bytes_per_s - member->free_bytes_per_s :
			    0;
	if (elsewhere >= bytes_per_s)
		return 0;
	bytes_per_s = (bytes_per_s - elsewhere) / sharers;
	member->share_bytes_per_s = bytes_per_s > 0xffffffffU ? 0xffffffffU : (u32)bytes_per_s;
	packets = floor_packets(bytes_per_s, ack) + ack->spare;
	window = policy_max(floor->window / FLOOR_UNIT / sharers, 1);
	member->held = window < packets;
	return policy_min(window, packets);
}

/*
 * Returns the time over which a connection that the floor drives sends `cwnd` packets. Where the law
 * holds it below its share of the rate, ACKs clock it: among bursts of others, packets that are spaced
 * evenly are lost more often than a flow of theirs loses its own.
 */
POLICY_INLINE u32 floor_pacing_us(const struct floor_member *member, u32 cwnd, u32 mss)
{
	u64 bytes_per_s = policy_max(member->share_bytes_per_s, 1);
	u64 time_us = (u64)cwnd * mss * FLOOR_SECOND_US / bytes_per_s;

	if (member->held)
		time_us /= FLOOR_HELD_GAIN;
	return time_us > 0xffffffffU ? 0xffffffffU : (u32)time_us;
}

#endif
