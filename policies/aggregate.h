/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Low priority for packets of any protocol, as one aggregate: netnice (netnice/netnice.h) applied to all that a
 * group sends or receives through a queue of our own, whose rate this sets. Nothing is read from the packets.
 *
 *   echo      a packet of our own that a peer returns. It leaves after all that has passed the queue before it, so
 *             that its reply stands for their acknowledgement, and its round trip for that of the newest of them.
 *   window    netnice's, in packets of full size; the rate is the window over the newest round trip, less what is in
 *             flight beyond the window: it falls as a queue grows, as that of a window does.
 *   growth    only while the queue of our own limits the group: while as much passes as may.
 *   yielding  each echo is a probe. Meanwhile the group keeps the rate of netnice's pairs, and never less than what
 *             keeps connections alive.
 *   arriving  what arrives has met the path's queue before it meets ours. Its sender sends as our queue lets
 *             packets pass, a round trip later: what arrives between an echo and its reply was in flight.
 */
#ifndef NETNICE_POLICY_AGGREGATE_H
#define NETNICE_POLICY_AGGREGATE_H

#include "ca_state.h"
#include "delayed_ack.h"
#include "integer.h"
#include "netnice/netnice.h"

#define AGGREGATE_PACKET_BYTES 1514U /* in a frame of Ethernet, as queues of Linux count */
#define AGGREGATE_FIRST_PACKETS 10U  /* as a sender of TCP may begin with (RFC 6928) */
/* Four packets a second: QUIC's timers give a connection up after 30 s without an answer, some programs sooner. */
#define AGGREGATE_LEAST_BYTES_PER_S 6000U
#define AGGREGATE_ECHOES_PER_ROUND 4U
#define AGGREGATE_LEAST_ECHO_US 20000U /* 50 a second are 0.3 % of 10 Mb/s */
#define AGGREGATE_LONGEST_ECHO_US 100000U
#define AGGREGATE_RTT_SHIFT 2U /* the smoothed round trip: a quarter of each new one */
#define AGGREGATE_LIMITED_PARTS                                                                    \
	8U /* less than seven eighths of what may pass: the group has no more */
#define AGGREGATE_DRAIN                                                                            \
	2U /* what is in flight beyond the window is to arrive within half a round trip */
#define AGGREGATE_US_PER_S 1000000U

/* What is remembered of an echo until its reply comes. Times wrap. */
struct aggregate_echo {
	u64 passed;    /* bytes that had passed the queue when it left */
	u64 arrived;   /* bytes that had arrived before it */
	u64 allowed;   /* bytes that might have passed by then */
	u64 delivered; /* of the newest reply by then: `passed` of its echo */
	u32 sent_us;
	u32 delivered_us;      /* when that reply came */
	u32 delivered_sent_us; /* when its echo left */
	u32 reserved;
};

/* Bytes of a direction so far. */
struct aggregate_bytes {
	u64 arrived; /* at the queue */
	u64 passed;
};

/* One direction of a group. */
struct aggregate {
	struct netnice policy; /* must be first */
	struct netnice_ack ack;
	u64 allowed;    /* bytes that may have passed since the beginning, at the rates set */
	u64 delivered;  /* bytes that the newest reply stands for */
	u64 rate;       /* bytes per second */
	u32 allowed_us; /* until when `allowed` is */
	u32 delivered_us;
	u32 delivered_sent_us;
	u32 smoothed_rtt_us;
	u32 rtt_us;     /* the newest */
	u32 cwnd;       /* packets */
	u32 arrives;    /* the queue is behind the path, not before it */
	u32 settled_us; /* when what was in flight beyond the window has drained */
};

POLICY_INLINE u32 aggregate_packets(u64 bytes)
{
	return (u32)(bytes / AGGREGATE_PACKET_BYTES);
}

/* Returns the rate that the policy wants, in bytes per second. */
POLICY_INLINE u64 aggregate_wanted_rate(const struct aggregate *state)
{
	/* It holds until the next reply: on a path shorter than that the queue would take many windows. */
	u32 window_us = policy_max(state->rtt_us, AGGREGATE_LEAST_ECHO_US);
	u32 packets = state->cwnd;
	u32 excess = state->ack.in_flight > packets ? state->ack.in_flight - packets : 0;
	u64 rate;

	if (netnice_yields(&state->policy)) {
		packets = NETNICE_PAIR_PACKETS;
		window_us = netnice_pause_us(&state->policy, state->smoothed_rtt_us);
	} else {
		/* What arrives follows a round trip later: more would be taken twice. */
		packets -= policy_min(packets, state->arrives ? excess : AGGREGATE_DRAIN * excess);
	}
	rate = (u64)packets * AGGREGATE_PACKET_BYTES * AGGREGATE_US_PER_S /
	       policy_max(window_us, 1);
	return rate > AGGREGATE_LEAST_BYTES_PER_S ? rate : AGGREGATE_LEAST_BYTES_PER_S;
}

/* Counts what may pass until now. */
POLICY_INLINE void aggregate_allow(struct aggregate *state, u32 now_us)
{
	state->allowed += state->rate * (u32)(now_us - state->allowed_us) / AGGREGATE_US_PER_S;
	state->allowed_us = now_us;
}

/* Returns the bytes that count as delivered, or that an echo which leaves now marks. */
POLICY_INLINE u64 aggregate_marked(const struct aggregate *state,
				   const struct aggregate_bytes *bytes)
{
	return state->arrives ? bytes->arrived : bytes->passed;
}

/*
 * Begins with the first reply: `rtt_us` is its round trip, and `rate` that at which the group has sent or received
 * until now.
 */
POLICY_INLINE void aggregate_begin(struct aggregate *state, const struct policy_parameters *wanted,
				   u32 arrives, u32 now_us, u32 rtt_us,
				   const struct aggregate_bytes *bytes, u64 rate)
{
	/* Its packets may stand in the path's queue: half of the rate lets them leave. */
	u64 window = rate * rtt_us / AGGREGATE_US_PER_S / 2;

	netnice_init(&state->policy, wanted);
	state->arrives = arrives;
	state->delivered = aggregate_marked(state, bytes);
	state->policy.measured.round_end = aggregate_packets(state->delivered);
	state->delivered_us = now_us;
	state->delivered_sent_us = now_us - rtt_us;
	state->allowed_us = now_us;
	state->settled_us = state->delivered_sent_us;
	state->rtt_us = policy_max(rtt_us, 1);
	state->smoothed_rtt_us = state->rtt_us;
	state->cwnd = policy_max(aggregate_packets(window), AGGREGATE_FIRST_PACKETS);
	state->rate = aggregate_wanted_rate(state);
}

/* Notes what is known as an echo leaves. */
POLICY_INLINE void aggregate_on_echo(struct aggregate *state, struct aggregate_echo *echo,
				     u32 now_us, const struct aggregate_bytes *bytes)
{
	aggregate_allow(state, now_us);
	echo->passed = bytes->passed;
	echo->arrived = bytes->arrived;
	echo->allowed = state->allowed;
	echo->delivered = state->delivered;
	echo->sent_us = now_us;
	echo->delivered_us = state->delivered_us;
	echo->delivered_sent_us = state->delivered_sent_us;
}

/* Returns the time until the next echo is due. */
POLICY_INLINE u32 aggregate_echo_us(const struct aggregate *state)
{
	u32 round_us = state->smoothed_rtt_us;

	if (netnice_yields(&state->policy))
		return policy_max(netnice_pause_us(&state->policy, round_us),
				  AGGREGATE_LEAST_ECHO_US);
	return policy_min(
		policy_max(round_us / AGGREGATE_ECHOES_PER_ROUND, AGGREGATE_LEAST_ECHO_US),
		AGGREGATE_LONGEST_ECHO_US);
}

/* Returns how long what is in flight beyond the window takes to drain. */
POLICY_INLINE u32 aggregate_settling_us(const struct aggregate *state)
{
	return state->arrives ? state->rtt_us : state->rtt_us / AGGREGATE_DRAIN;
}

/* Asks the policy for the window, and sets the rate. `read_us`, at which it is called, may be later than the ACK. */
POLICY_INLINE void aggregate_ask(struct aggregate *state, u32 now_us, u32 read_us)
{
	struct netnice_ack *ack = &state->ack;
	u32 mark = state->policy.measured.reaction_mark;

	ack->now_us = now_us;
	ack->cwnd = state->cwnd;
	/* No ACK is delayed, and only probes by trains would need a sender. */
	ack->at_receiver = 1;
	state->policy.measured.lone_acks =
		DELAYED_ACK_LONE_IN_A_ROW + DELAYED_ACK_LONE_WITHOUT_PROOF;
	state->cwnd = netnice_on_ack(&state->policy, ack);
	if (state->policy.measured.reaction_mark != mark)
		state->settled_us = read_us + aggregate_settling_us(state);
	aggregate_allow(state, read_us);
	state->rate = aggregate_wanted_rate(state);
}

/* Completes an ACK for what leaves: the reply acknowledges all that had passed as its echo left. */
POLICY_INLINE void aggregate_leaving(struct aggregate *state, const struct aggregate_echo *echo,
				     u32 now_us)
{
	struct netnice_ack *ack = &state->ack;

	ack->prior_delivered = aggregate_packets(echo->delivered);
	ack->rate_delivered = aggregate_packets(echo->passed - echo->delivered);
	/* The longer interval: replies may come bunched (draft-cheng-iccrg-delivery-rate-estimation). */
	ack->rate_interval_us =
		policy_max(echo->sent_us - echo->delivered_sent_us, now_us - echo->delivered_us);
	state->delivered = echo->passed;
}

/* Returns whether what arrives takes seven eighths of the link, as far as its rate is known. */
POLICY_INLINE int aggregate_fills_link(const struct aggregate *state)
{
	u64 taken_ns = (u64)state->ack.rate_delivered * state->policy.believed.packet_ns;

	return taken_ns / 1000 >= state->ack.rate_interval_us - state->ack.rate_interval_us / 8;
}

/* The same for what arrives: what has done so since the echo left was in flight then. */
POLICY_INLINE void aggregate_arriving(struct aggregate *state, const struct aggregate_echo *echo,
				      const struct aggregate_bytes *bytes, u32 read_us)
{
	struct netnice_ack *ack = &state->ack;

	ack->prior_delivered = aggregate_packets(echo->arrived);
	ack->rate_delivered = aggregate_packets(bytes->arrived - echo->arrived);
	ack->rate_interval_us = policy_max(read_us - echo->sent_us, 1);
	state->delivered = bytes->arrived;
	/* Nobody else has what the group has: the queue is its own, however long that takes to drain. */
	if (state->policy.measured.over_packets && aggregate_fills_link(state))
		state->policy.decided.inference = 0;
}

/*
 * Takes the reply to an echo, before which `lost` others have none. It came at `now_us`; `bytes` were read at `read_us`, which
 * is later on a busy machine.
 */
POLICY_INLINE void aggregate_on_reply(struct aggregate *state, const struct aggregate_echo *echo,
				      u32 now_us, u32 read_us, const struct aggregate_bytes *bytes,
				      u32 lost)
{
	struct netnice_ack *ack = &state->ack;
	u32 rtt_us = policy_max(now_us - echo->sent_us, 1);
	u32 before = aggregate_packets(state->delivered);
	u64 passed = bytes->passed - echo->passed;
	u64 might;

	/* A newer one has overtaken it. */
	if (policy_after(state->delivered_sent_us, echo->sent_us))
		return;
	aggregate_allow(state, read_us);
	might = state->allowed - echo->allowed;
	state->rtt_us = rtt_us;
	state->smoothed_rtt_us +=
		(rtt_us >> AGGREGATE_RTT_SHIFT) - (state->smoothed_rtt_us >> AGGREGATE_RTT_SHIFT);
	if (state->arrives)
		aggregate_arriving(state, echo, bytes, read_us);
	else
		aggregate_leaving(state, echo, now_us);
	state->delivered_us = now_us;
	state->delivered_sent_us = echo->sent_us;
	ack->sample_rtt_us = rtt_us;
	/* What has passed since is in flight; a sender whose packets arrive sends as many as have passed. */
	ack->in_flight =
		aggregate_packets(passed * rtt_us / policy_max(read_us - echo->sent_us, 1));
	ack->delivered = aggregate_packets(state->delivered);
	ack->acked = ack->delivered - before;
	ack->lost = lost;
	ack->ca_state = lost ? CA_RECOVERY : CA_OPEN;
	/*
	 * A packet of TCP waits until what is in flight beyond the window has arrived; an echo does not. One that left sooner has met
	 * the queue as it was before the reaction.
	 */
	if (policy_after(state->settled_us, echo->sent_us))
		ack->prior_delivered = state->policy.measured.reaction_mark - 1;
	else
		state->settled_us = echo->sent_us;
	ack->app_limited =
		passed + 2 * AGGREGATE_PACKET_BYTES < might - might / AGGREGATE_LIMITED_PARTS;
	aggregate_ask(state, now_us, read_us);
}

/* Takes the time-out of all echoes. */
POLICY_INLINE void aggregate_on_timeout(struct aggregate *state, u32 now_us)
{
	struct netnice_ack *ack = &state->ack;

	ack->sample_rtt_us = 0;
	ack->acked = 0;
	ack->lost = 1;
	ack->delivered = aggregate_packets(state->delivered);
	ack->prior_delivered = ack->delivered;
	ack->in_flight = 0;
	ack->rate_delivered = 0;
	ack->rate_interval_us = 0;
	ack->ca_state = CA_LOSS;
	ack->app_limited = 1;
	aggregate_ask(state, now_us, now_us);
}

#endif
