/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* netnice: state of a connection, contents of an ACK, and constants. See netnice.h. */
#ifndef NETNICE_POLICY_NETNICE_STATE_H
#define NETNICE_POLICY_NETNICE_STATE_H

#include "ca_state.h"
#include "integer.h"
#include "one_way_delay.h"
#include "parameters.h"
#include "report.h"

#define NETNICE_THRESHOLD_US 1000U        /* the threshold's floor: clock resolution, schedulers */
#define NETNICE_THRESHOLD_HALF_PACKETS 3U /* one and a half: a delayed ACK releases two at once */
#define NETNICE_THRESHOLD_JITTERS 2U      /* twice the mean change from sample to sample */
#define NETNICE_THRESHOLD_SPREADS 2U      /* twice the range of a round's samples */
#define NETNICE_GROWTH_SPREAD 4U          /* packets of a round's range that are no jitter */
#define NETNICE_PLATEAU_PACKETS 2U        /* by which a plateau may be measured too low */
#define NETNICE_JITTER_LIMIT_US 20000U
#define NETNICE_MINIMUM_CWND 2U  /* the second packet makes the receiver ACK at once */
#define NETNICE_SURPLUS_SHIFT 5U /* the back-off beyond the queue: cwnd / 32 */
#define NETNICE_PAIR_PACKETS 2U  /* of a probe, together */
#define NETNICE_PROBE_CWND 4U    /* of which pacing sends two at a time */
#define NETNICE_PROBE_ROUNDS 8U  /* longest pause between probes early in yielding */
#define NETNICE_PROBE_PAUSE_US 1000000U
#define NETNICE_PAUSE_UNIT 256U       /* unit of `pause_scale` */
#define NETNICE_PAUSE_GROWTH_SHIFT 4U /* each pause exceeds the previous one by a sixteenth */
#define NETNICE_PAUSE_SCALE_LIMIT 65535U
#define NETNICE_LONGEST_PAUSE_US 5000000U
#define NETNICE_VERDICT_ROUNDS 2U     /* from a probe to the decision on its ACK */
#define NETNICE_CLEAN_PROBES 4U       /* in a row that end yielding */
#define NETNICE_RETURN_SHIFT 2U       /* growth after yielding: cwnd / 4 per round */
#define NETNICE_INFERENCE_ROUNDS 2U   /* itt of TCP-LP: no growth; a recurrence means others */
#define NETNICE_INDICATION_PACKETS 4U /* least number in a row over the threshold */
#define NETNICE_TRIAL_WAIT_US 500000U /* a delay steady this long may be a longer path */
#define NETNICE_TRIAL_WAIT_ROUNDS 4U  /* and at least so many round trips: several probes */
#define NETNICE_TRIAL_WAITS 4U        /* quadruplings of that time, up to 128 s */
#define NETNICE_MOVED_WAITS 2U        /* and up to 8 s by a queue that moves */
#define NETNICE_TRIAL_PACKETS 128U    /* delivered without a loss, at least */
#define NETNICE_STEADY_GAP_S 20U      /* four longest pauses without an ACK: it may have moved */
#define NETNICE_STEADY_PARTS 16U      /* steady: within a sixteenth of itself */
#define NETNICE_RATE_PACKETS 4U       /* of a rate sample, at least */
#define NETNICE_RATE_LEAK_SHIFT 13U   /* the highest rate decays within some thousand rounds */
#define NETNICE_DRIFT_US 2000U        /* twice the resolution of a millisecond clock */
#define NETNICE_DRIFT_US_PER_S 1000U  /* of clocks, at most */
#define NETNICE_CLOCK_WRAPS_S 4294U   /* of microseconds in 32 bits */
#define NETNICE_LOW_SUPPORT 8U /* of a sample below the minimum; each other one takes 1 away */
#define NETNICE_LOW_ENOUGH 24U /* three in a row, or a few more among others */
#define NETNICE_UNDER_RATE_PARTS 12U   /* with pacing's excess of 1/15: 98 % of the link's rate */
#define NETNICE_BLIND_ROUNDS 31U       /* after a blind loss without growth over the plateau */
#define NETNICE_HOLD_PACKETS 400U      /* and while the link takes so many, */
#define NETNICE_HOLD_US 500000U        /* but no longer than that */
#define NETNICE_BURST_PACKETS 4U       /* in a queue: a burst of a single flow is shorter */
#define NETNICE_START_PACKETS 12U      /* more than the initial window of a page (RFC 6928: ten) */
#define NETNICE_LONG_BURST_PACKETS 16U /* what a busy machine sends at once is shorter */
#define NETNICE_BLIND_PROBES 3U        /* clean probes that end yielding after a blind loss */
#define NETNICE_BLIND_PROBE_ROUNDS 64U
#define NETNICE_BLIND_SCALE_LIMIT 4U
#define NETNICE_REPAIR_ROUNDS 4U       /* from probe to probe in a recovery, at most */
#define NETNICE_POLICED_LOSSES 4U      /* in one event; losses at random are seldom so many */
#define NETNICE_POLICED_PARTS 16U      /* and so large a part of a round: a sixteenth */
#define NETNICE_EVIDENT_LOSSES 5U      /* in one event, and beside these */
#define NETNICE_EVIDENT_PARTS 12U      /* a twelfth of a round: no losses at random are so many */
#define NETNICE_EVIDENT_LIMIT 10U      /* in packets; what is measured of less is too coarse */
#define NETNICE_LIMIT_ROUNDS 124U      /* growth tests a confirmed limit that seldom */
#define NETNICE_REFILL_ROUNDS 4U       /* the empty bucket of a policer gains a little */
#define NETNICE_WHOLE_ACKS 7U          /* in all, that show a receiver which holds no ACKs */
#define NETNICE_TRAIN_PACKETS 6U       /* even: the receiver acknowledges the last one at once */
#define NETNICE_TRAIN_LIMIT 32U        /* packets of a train where they are short: 45 kB */
#define NETNICE_SHARE_BACK_OFFS 3U     /* at a much lower rate that indicate a fair queue */
#define NETNICE_SHARE_WAITS 7U         /* doublings of that number */
#define NETNICE_SHARE_RELIEF 8U        /* back-offs at the full rate that take one doubling away */
#define NETNICE_TOGETHER_TRAINS 3U     /* in a row that show a common queue */
#define NETNICE_LEAD_LIMIT_US 1000000U /* of one train: in nanoseconds it fits 31 bits */
#define NETNICE_LEAD_SHIFT 4           /* the mean over trains: a sixteenth of each new one */
#define NETNICE_TURN_US                                                                            \
	60000000U              /* in a fair queue: then the flow takes a turn, doubled each time */
#define NETNICE_TURN_WAITS 4U  /* doublings */
#define NETNICE_KNOWN_TURNS 2U /* in a row that met others, with the link's rate as it was */
#define NETNICE_GAP_FEWEST_SLOTS 2U /* in the mode of gaps between ACKs: half of the link */
#define NETNICE_GAP_HYPOTHESES 3U   /* two, three or four slots */
#define NETNICE_GAP_SUPPORT 31U
#define NETNICE_GAP_SHORTEST_US 64U /* of the mode: the resolution of time */
#define NETNICE_GAP_MODE_LIMIT_US 32000U
#define NETNICE_GAP_LONGEST_US 65535U
#define NETNICE_GAP_TOLERANCE 2U  /* of whole slots, in sixteenths */
#define NETNICE_GAP_FOR 24U       /* weight of a telling gap */
#define NETNICE_GAP_AGAINST 8U    /* of a gap that is no whole slots; of other gaps 1 */
#define NETNICE_GAP_EVIDENCE 256U /* sum at which a slot is the link's packet time */
#define NETNICE_GAP_EVIDENCE_LIMIT 511U
#define NETNICE_CONFIRM_HALF_SLOTS 3U /* one and a half: between a fair queue and a slower link */
#define NETNICE_CONFIRM_LIMIT 3U      /* slots that one train may add at most */
#define NETNICE_CONFIRM_TRAINS 16U    /* that decide, if they come in time */
#define NETNICE_CONFIRM_US 2500000U   /* in which trains are a round trip apart */
#define NETNICE_CONFIRM_SLOTS 8U      /* from one packet of a train to the next, at most */
#define NETNICE_GAP_WAITS 3U /* doublings for each time that trains do not confirm what gaps show */
#define NETNICE_SLACK_UNKNOWN 0xffffffffU
#define NETNICE_NO_SAMPLE 0xffffffffU
#define NETNICE_NO_PLATEAU 0xffffffffU

#define NETNICE_DELAYED_ACK_US 40000U /* of Linux, the shortest */
#define NETNICE_LONG_QUEUE 4U         /* in thresholds: a probe that meets it shows others */
#define NETNICE_BRIEF_STAYS 3U        /* failed returns that make a stay of others count as long */
#define NETNICE_BRIEF_PROBE_ROUNDS 2U /* longest pause between probes in a stay that may be brief */
#define NETNICE_BRIEF_CLEAN_PROBES 2U /* that end it */
#define NETNICE_BRIEF_PAUSE_SCALE (3 * NETNICE_PAUSE_UNIT) /* 19 probes; a stay is long then */
#define NETNICE_VISIT_SHIFT 2U /* a queue of a quarter of a round trip is that of a brief stay */

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
	u32 low_support;      /* of round trips below the minimum: see netnice_follow_fall() */
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

/* One ACK, as any TCP with delivery-rate samples sees it. Times wrap. */
struct netnice_ack {
	u32 now_us;
	u32 sample_rtt_us;   /* of the newest packet covered; 0 if unknown or ambiguous (Karn) */
	u32 tsval;           /* of the ACK, if has_timestamp */
	u32 acked;           /* packets newly delivered */
	u32 lost;            /* packets newly deemed lost, retransmitted ones included */
	u32 in_flight;       /* packets outstanding */
	u32 delivered;       /* total packets delivered */
	u32 prior_delivered; /* `delivered` when the newest packet covered was sent */
	u32 rate_delivered;  /* packets delivered in rate_interval_us; 0 if unknown */
	u32 rate_interval_us;
	u32 cwnd; /* packets */
	u8 has_timestamp;
	u8 ca_state; /* enum ca_state */
	u8 app_limited;
	u8 at_receiver;   /* the data's receiver, which cannot send trains, runs the policy */
	u8 retransmitted; /* the newest packet covered: its round trip is in whole ticks of a stamp */
};

POLICY_INLINE void netnice_init(struct netnice *state, const struct policy_parameters *wanted)
{
	state->measured.threshold_floor_us =
		wanted->threshold_us ? wanted->threshold_us : NETNICE_THRESHOLD_US;
	state->measured.minimum_rtt_us = NETNICE_NO_SAMPLE;
	state->measured.round_queue_us = NETNICE_NO_SAMPLE;
	state->believed.plateau = NETNICE_NO_PLATEAU;
	state->decided.growth = 1;
	state->measured.one_way_slack_us = NETNICE_SLACK_UNKNOWN;
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
