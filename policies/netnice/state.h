/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* netnice: state of a connection. See netnice.h. */
#ifndef NETNICE_POLICY_NETNICE_STATE_H
#define NETNICE_POLICY_NETNICE_STATE_H

#include "ca_state.h"
#include "integer.h"
#include "netnice/ack.h"
#include "netnice/constants.h"
#include "one_way_delay.h"
#include "parameters.h"
#include "report.h"

/* Every member has one meaning in all phases. Counts of packets have no unit in their name. */

/* What packets met: layer 1. Counts of packets have no unit in their name. */
struct netnice_measured {
	struct one_way_delay clock;
	u32 heard_s;           /* when the newest ACK came */
	u32 latest_queue_us;   /* of the newest sample */
	u32 previous_queue_us; /* of the one before */
	u32 over_queue_us; /* queueing delay, the smaller of the last two samples over the threshold */
	u32 over_packets;   /* in a row that met a queue over the threshold */
	u32 round_end;      /* `delivered` at which the round ends */
	u32 round_queue_us; /* smallest queueing delay of the round */
	u32 round_high_us;  /* largest one */
	u32 reaction_mark;  /* `delivered` at the last reaction: older packets do not count */
	u8 round_prompt;    /* a sample of this round is certainly free of a delayed ACK */
	u8 doubtful;        /* SACK blocks of this round cover what cannot have arrived */
	u8 lone_acks;       /* see delayed_ack.h */
	u8 whole_acks; /* of all that was outstanding, which met no queue: see netnice_measure() */
	u32 minimum_rtt_us;
	u32 minimum_one_way_us;
	u32 one_way_slack_us; /* by how much one-way delays may still fall */
	u32 excess_us;        /* queue in the smallest round trip: see netnice/clock.h */
	u32 low_fall_us;      /* by how much the lowest of the low samples lies below the minimum */
	u8 low_support;       /* of round trips below the minimum: see netnice_follow_fall() */
	u8 stamp_lead;        /* of the newest stamp before our own: see netnice_doubt_stamp() */
	u8 stamp_doubts;
	u32 threshold_floor_us;
};

/* The path and its link: layer 2. */
struct netnice_believed {
	u32 packet_ns;    /* time of one packet at the link's rate */
	u32 jitter_us;    /* mean change from sample to sample */
	u32 spread_us;    /* range of a round's samples when nobody adds a queue */
	u32 plateau;      /* last window that filled the link without a queue */
	u32 handshake_us; /* its round trip; 0: unknown */
};

/* The phase, and what ends it: layer 3. */
struct netnice_decided {
	u8 phase;       /* enum netnice_phase */
	u8 reason;      /* enum netnice_reason: of the latest transition */
	u32 moves;      /* transitions so far */
	u32 growth;     /* packets per round */
	u32 cwnd_cnt;   /* progress towards the next packet of growth */
	u8 inference;   /* rounds until the inference time-out */
	u8 recurrences; /* indications within inference time-outs */
	u8 recovering;
	u8 clean_probes; /* while yielding: so many more end it */
	u8 probe_rounds; /* round trips between probes */
	u8 pausing;      /* a lone packet is sent, and the long pause follows it */
	u8 brief_stays;  /* returns that found the link free soon after others came */
	u8 deep;         /* a probe has met a queue of half a round trip */
	u32 pause_scale; /* of the longest pause, in units of 1 / NETNICE_PAUSE_UNIT */
};

/* Evidence: losses that no delay announces. */
struct netnice_losses {
	u8 judging; /* a loss event of packets that met no queue is not yet judged */
	u8 late_losses; /* losses before the latest reaction may yet be found: see netnice_await_late_losses() */
	u32 judged_losses; /* of the event that is being judged */
	u8 blind_rounds;   /* rounds in which a blind loss means others */
	u8 blind_scale; /* of the clean probes that end a yielding after a blind loss; 0: none of late */
};

/* Evidence: losses of a policer. */
struct netnice_policer {
	u32 limit;    /* packets that a policer passes per smallest round trip; 0: none known */
	u8 evident;   /* `limit` is a policer's: losses at random are never so many */
	u8 confirmed; /* `limit` was met twice */
};

/* Evidence: a delay that stands still. */
struct netnice_longer_path {
	u8 on_trial;         /* a steady delay counts as the path's until a queue shows */
	u8 trial_waits;      /* quadruplings of the time before the next trial */
	u32 added_us;        /* on trial: part of the smallest delays */
	u32 rate_before_ns;  /* on trial: time of a packet as believed before */
	u32 trial_start;     /* on trial: `delivered` at its start */
	u32 steady_since_us; /* while yielding: start of the steady delay; 0: none */
	u32 steady_low_us;
	u32 steady_high_us;
};

/* Evidence: trains of packets in a fair queue. */
struct netnice_trains {
	u8 share_evidence; /* see netnice_learn_share(), netnice_train_round() */
	u8 share_wait;     /* doublings of the back-offs of which one counts */
	u8 jittery;        /* delays vary when the flow has the link: trains would show nothing */
	u8 doubted;        /* the rate of the last back-off was between full and much lower */
	u8 together;   /* trains in a row whose packets followed one another at the known rate */
	u8 turn_waits; /* doublings of the time before a turn */
	u32 shared_since_us;
	s32 lead_ns; /* how much sooner first packets of trains come than on a slower link; 0: unknown */
	u32 claimed_slots;
	u32 beyond_us; /* how much longer the round trip of a train's first packet takes than the handshake's */
	u8 weighed; /* trains that netnice_weigh_train() has seen: at most 16 */
};

/* Evidence: gaps between ACKs in a fair queue. */
struct netnice_gaps {
	u8 gap_told;  /* the latest gap was evidence */
	u8 gap_parts; /* hypothesis of netnice_gap_slots() */
	u8 gap_support;
	u8 gap_wait; /* see netnice_forget_slots() */
	u32 gap_evidence;
	u32 gap_acked_us; /* when the latest ACK came */
	u32 gap_mode_us;  /* the most frequent gap between ACKs, per packet */
};

/* One connection. */
struct netnice {
	struct policy_report report; /* must be first */
	u32 gave_way[POLICY_CAUSES]; /* times by cause: their sum is the report's `yields` */
	struct netnice_measured measured;
	struct netnice_believed believed;
	struct netnice_decided decided;
	struct netnice_losses losses;
	struct netnice_policer policer;
	struct netnice_longer_path longer_path;
	struct netnice_trains trains;
	struct netnice_gaps gaps;
};

POLICY_INLINE void netnice_init(struct netnice *state, const struct policy_parameters *wanted)
{
	state->measured.threshold_floor_us =
		wanted->threshold_us ? wanted->threshold_us : NETNICE_THRESHOLD_US;
	state->measured.minimum_rtt_us = NETNICE_UNKNOWN;
	state->measured.round_queue_us = NETNICE_UNKNOWN;
	state->believed.plateau = NETNICE_UNKNOWN;
	state->decided.growth = 1;
	state->measured.one_way_slack_us = NETNICE_UNKNOWN;
}

/*
 * Learns the round trip of the handshake, whose packets take no time to transmit; 0 if it is unknown, or the control
 * begins later than the connection.
 */
POLICY_INLINE void netnice_on_handshake(struct netnice *state, u32 rtt_us)
{
	state->believed.handshake_us = rtt_us;
}

/* netnice_train_packets() for the floor of the threshold and the time of a packet. */
POLICY_CALLED u32 netnice_packets_of_train(u32 floor_us, u32 packet_us)
{
	u32 divisor_us = policy_max(packet_us, 1);
	u32 half =
		policy_min((2 * floor_us + divisor_us - 1) / divisor_us, NETNICE_TRAIN_LIMIT / 2);

	return policy_max(2 * half, NETNICE_TRAIN_PACKETS);
}

/*
 * Packets of a train, an even number. Half of it takes twice the floor of the threshold, so that as many packets of
 * others between its own exceed the threshold at high rates, too, and where others that begin have raised it.
 */
POLICY_INLINE u32 netnice_train_packets(const struct netnice *state)
{
	return netnice_packets_of_train(state->measured.threshold_floor_us,
					state->believed.packet_ns / 1000);
}

/* Ignores packets sent before the reaction: only later ones show its effect. */
POLICY_INLINE void netnice_mark_reaction(struct netnice *state, u32 delivered)
{
	state->measured.reaction_mark = delivered;
	state->measured.round_end = delivered;
	state->measured.over_packets = 0;
	state->decided.growth = 1;
	state->decided.cwnd_cnt = 0;
}

#endif
