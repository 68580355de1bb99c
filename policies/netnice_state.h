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
#define NETNICE_TICK_US 20U           /* unit of delays kept in 16 bits */
#define NETNICE_INFERENCE_ROUNDS 2U   /* itt of TCP-LP: no growth; a recurrence means others */
#define NETNICE_LARGEST_GROWTH 32767U /* 15 bits */
#define NETNICE_OVER_LIMIT 65535U     /* larger windows need no more packets in a row */
#define NETNICE_INDICATION_PACKETS 4U /* least number in a row over the threshold */
#define NETNICE_TRIAL_WAIT_US 500000U /* a delay steady this long may be a longer path */
#define NETNICE_TRIAL_WAIT_ROUNDS 4U  /* and at least so many round trips: several probes */
#define NETNICE_TRIAL_WAITS 4U        /* quadruplings of that time, up to 128 s */
#define NETNICE_MOVED_WAITS 2U        /* and up to 8 s by a queue that moves */
#define NETNICE_TRIAL_PACKETS 128U    /* delivered without a loss, at least */
#define NETNICE_STEADY_GAP_S 20U      /* four longest pauses without an ACK: it may have moved */
#define NETNICE_HEARD_MASK 127U       /* 7 bits of seconds */
#define NETNICE_STEADY_PARTS 16U      /* steady: within a sixteenth of itself */
#define NETNICE_RATE_PACKETS 4U       /* of a rate sample, at least */
#define NETNICE_RATE_LEAK_SHIFT 13U   /* the highest rate decays within some thousand rounds */
#define NETNICE_DRIFT_US 2000U        /* twice the resolution of a millisecond clock */
#define NETNICE_LOW_SUPPORT 8U /* of a sample below the minimum; each other one takes 1 away */
#define NETNICE_LOW_ENOUGH 24U /* three in a row, or a few more among others */
#define NETNICE_UNDER_RATE_PARTS 12U   /* with pacing's excess of 1/15: 98 % of the link's rate */
#define NETNICE_BLIND_ROUNDS 31U       /* after a blind loss without growth over the plateau */
#define NETNICE_HOLD_PACKETS 400U      /* and while the link takes so many, */
#define NETNICE_HOLD_US 500000U        /* but no longer than that */
#define NETNICE_BURST_PACKETS 4U       /* in a queue: a burst of a single flow is shorter */
#define NETNICE_START_PACKETS 12U      /* more than the initial window of a page (RFC 6928: ten) */
#define NETNICE_LONG_BURST_PACKETS 16U /* what a busy machine sends at once is shorter */
#define NETNICE_DOUBT_SHIFT 2U      /* a quarter of the floor: what schedulers delay a probe by */
#define NETNICE_DOUBTFUL_PROBES 32U /* that one yielding heeds */
#define NETNICE_BLIND_PROBES 3U     /* clean probes that end yielding after a blind loss */
#define NETNICE_BLIND_PROBE_ROUNDS 64U
#define NETNICE_BLIND_SCALE_LIMIT (4 * NETNICE_PAUSE_UNIT)
#define NETNICE_REPAIR_ROUNDS 4U       /* from probe to probe in a recovery, at most */
#define NETNICE_POLICED_LOSSES 4U      /* in one event; losses at random are seldom so many */
#define NETNICE_POLICED_PARTS 16U      /* and so large a part of a round: a sixteenth */
#define NETNICE_EVIDENT_LOSSES 5U      /* in one event, and beside these */
#define NETNICE_EVIDENT_PARTS 12U      /* a twelfth of a round: no losses at random are so many */
#define NETNICE_EVIDENT_LIMIT 10U      /* in packets; what is measured of less is too coarse */
#define NETNICE_LARGEST_LIMIT 32767U   /* 15 bits */
#define NETNICE_LIMIT_ROUNDS 124U      /* growth tests a confirmed limit that seldom */
#define NETNICE_REFILL_ROUNDS 4U       /* the empty bucket of a policer gains a little */
#define NETNICE_WHOLE_ACKS 7U          /* in all, that show a receiver which holds no ACKs */
#define NETNICE_TRAIN_PACKETS 6U       /* even: the receiver acknowledges the last one at once */
#define NETNICE_TRAIN_LIMIT 32U        /* packets of a train where they are short: 45 kB */
#define NETNICE_SHARE_BACK_OFFS 5U     /* at a much lower rate that indicate a fair queue */
#define NETNICE_SHARE_TIME_US 1600000U /* of rounds at such a rate that counts as one back-off */
#define NETNICE_SHARE_WAITS 7U         /* doublings of that number */
#define NETNICE_SHARE_RELIEF 8U        /* back-offs at the full rate that take one doubling away */
#define NETNICE_TOGETHER_TRAINS 3U     /* in a row that show a common queue */
#define NETNICE_LEAD_LIMIT_US 67000U   /* 27 bits of nanoseconds, signed */
#define NETNICE_LEAD_SHIFT 4           /* the mean over trains: a sixteenth of each new one */
#define NETNICE_TURN_SHIFT 20          /* time in a fair queue is counted in units of 1.05 s */
#define NETNICE_TURN_TIME 29U          /* 30 s: then the flow takes a turn, doubled each time */
#define NETNICE_KNOWN_TURNS 2U      /* in a row that met others, with the link's rate as it was */
#define NETNICE_GAP_FEWEST_SLOTS 2U /* in the mode of gaps between ACKs: half of the link */
#define NETNICE_GAP_HYPOTHESES 3U   /* two, three or four slots */
#define NETNICE_GAP_SUPPORT 31U     /* 5 bits */
#define NETNICE_GAP_TIME_MASK 0x7fffffffU /* 31 bits */
#define NETNICE_GAP_SHORTEST_US 64U       /* of the mode: the resolution of time */
#define NETNICE_GAP_MODE_LIMIT_US 32000U  /* less than half of what `handshake` holds */
#define NETNICE_GAP_LONGEST_US 65535U     /* 16 bits */
#define NETNICE_GAP_TOLERANCE 2U          /* of whole slots, in sixteenths */
#define NETNICE_GAP_FOR 24U               /* weight of a telling gap */
#define NETNICE_GAP_AGAINST 8U            /* of a gap that is no whole slots; of other gaps 1 */
#define NETNICE_GAP_EVIDENCE 256U         /* sum at which a slot is the link's packet time */
#define NETNICE_GAP_EVIDENCE_LIMIT 511U   /* 9 bits */
#define NETNICE_CONFIRM_HALF_SLOTS 3U /* one and a half: between a fair queue and a slower link */
#define NETNICE_CONFIRM_LIMIT 3U      /* slots that one train may add at most */
#define NETNICE_CONFIRM_TRAINS 16U    /* that decide, if they come in time */
#define NETNICE_CONFIRM_TIME 3U       /* 2 to 3 s, in which trains are a round trip apart */
#define NETNICE_CONFIRM_SLOTS 8U      /* from one packet of a train to the next, at most */
#define NETNICE_GAP_WAITS 3U /* doublings for each time that trains do not confirm what gaps show */
#define NETNICE_HANDSHAKE_MASK 0xfffU /* 12 bits */
#define NETNICE_SLACK_UNKNOWN 65535U
#define NETNICE_QUEUE_LIMIT_US 0xffffffU      /* 24 bits */
#define NETNICE_OVER_QUEUE_LIMIT_US 0x1fffffU /* 21 bits */
#define NETNICE_NO_SAMPLE 0xffffffffU
#define NETNICE_NO_PLATEAU 0xfffffU /* 20 bits */

#define NETNICE_DELAYED_ACK_US 40000U /* of Linux, the shortest */
#define NETNICE_EXCESS_LIMIT_MS 255U  /* 8 bits: see netnice_believe_excess() */
#define NETNICE_LONG_QUEUE 4U         /* in thresholds: a probe that meets it shows others */
#define NETNICE_BRIEF_STAYS 3U        /* failed returns that make a stay of others count as long */
#define NETNICE_BRIEF_PROBE_ROUNDS 2U /* longest pause between probes in a stay that may be brief */
#define NETNICE_BRIEF_CLEAN_PROBES 2U /* that end it */
#define NETNICE_BRIEF_PAUSE_SCALE (3 * NETNICE_PAUSE_UNIT) /* 19 probes; a stay is long then */
#define NETNICE_VISIT_SHIFT 2U /* a queue of a quarter of a round trip is that of a brief stay */

struct netnice {
	struct policy_report report; /* must be first */
	struct one_way_delay clock;
	u32 minimum_rtt_us;
	u32 minimum_one_way_us;
	u32 round_end;          /* `delivered` at which the round ends */
	u32 round_queue_us;     /* smallest queueing delay of the round */
	u32 reaction_mark;      /* `delivered` at the last reaction: older packets do not count */
	u32 over_queue_us : 21; /* queueing delay, the smaller of the last two samples */
	u32 brief_stays : 2;    /* returns that found the link free soon after others came */
	u32 deep : 1;           /* a probe has met a queue of half a round trip */
	u32 probe_rounds : 7;   /* round trips between probes while yielding */
	u32 shared : 1;         /* yielding: others are served between the packets of a train */
	u32 latest_queue_us : 24;
	u32 heard_s : 7;        /* when the newest ACK came, in seconds that wrap */
	u32 trains : 1;         /* while yielding, probes are trains: see netnice_trains.h */
	u32 packet_ns;          /* time of one packet at the link's rate */
	u32 plateau : 20;       /* last window that filled the link without a queue, in packets */
	u32 low_support : 5;    /* of round trips below the minimum: see netnice_follow_fall() */
	u32 share_evidence : 3; /* see netnice_learn_share(), netnice_train_round() */
	u32 gap_wait : 3;       /* see netnice_forget_slots() */
	u32 cwnd_cnt : 20; /* progress towards the next packet of growth; if `judging`, losses */
	u32 handshake : 12; /* its round trip in ticks of 20 us, which wrap after 82 ms; 0: unknown */
	union {
		u32 steady_since_us; /* while yielding: start of the steady delay; 0: none */
		u32 trial_start;     /* on trial: `delivered` at its start */
		struct {
			/* If `shared`: how much sooner the first packets of trains come than on a slower link; 0: unknown. */
			s32 lead_ns : 27;
			u32 weighed : 5; /* trains that netnice_weigh_train() has seen: at most 16 */
		};
		/* Otherwise: as the other members `gap_`, see netnice_gaps.h. */
		struct {
			u32 gap_acked_us : 31; /* when the latest ACK came */
			u32 gap_told : 1;      /* its gap was evidence */
		};
	};
	union {
		u16 steady_low; /* in ticks of 20 us, as `steady_high` and the next three; on trial: what was added */
		u16 shared_since; /* if `shared`: when it began, see netnice_shared_time() */
		u16 gap_mode_us;  /* the most frequent gap between ACKs, per packet */
	};
	union {
		u16 steady_high;
		struct {
			u16 gap_support : 5;
			u16 gap_parts : 2; /* hypothesis of netnice_gap_slots() */
			u16 gap_evidence : 9;
		};
		/* If `shared`: how much longer the round trip of a train's first packet takes than the handshake's. */
		u16 excess_us;
	};
	u16 threshold_floor;
	u16 round_high;   /* largest queueing delay of the round */
	u16 spread : 10;  /* range of a round's samples when nobody adds a queue: at most 1000 */
	u16 together : 2; /* trains in a row whose packets followed one another at the known rate */
	u16 share_wait : 3; /* see netnice_learn_share() */
	u16 jittery : 1;    /* delays vary when the flow has the link: trains would show nothing */
	u16 over_packets;   /* in a row that met a queue over the threshold */
	u16 low_fall_us;    /* by how much the lowest of the low samples lies below the minimum */
	u16 one_way_slack;  /* by how much one-way delays may still fall, in ticks */
	u16 jitter_us : 15; /* mean change from sample to sample: at most 20,000 */
	u16 doubted : 1;    /* the rate of the last back-off was between full and much lower */
	u16 growth : 15; /* packets per round, at most 32767; while yielding, probes of netnice_is_doubtful() */
	u16 late_losses : 1; /* losses before the latest reaction may yet be found: see netnice_await_late_losses() */
	u16 limit : 15;  /* packets that a policer passes per smallest round trip; 0: none known */
	u16 evident : 1; /* `limit` is a policer's: losses at random are never so many */
	u16 pause_scale; /* of the longest pause, or of the clean probes after a blind loss, relative to the first; or 0 */
	u8 lone_acks : 5;
	u8 whole_acks : 3; /* of all that was outstanding, which met no queue: see netnice_sample() */
	u8 blind_rounds : 7; /* rounds in which a blind loss means others: at most 124 */
	u8 doubtful : 1;     /* SACK blocks of this round cover what cannot have arrived */
	u8 slow_start : 1;
	u8 round_prompt : 1; /* a sample of this round is certainly free of a delayed ACK */
	u8 recovering : 1;
	u8 pausing : 1; /* a lone packet is sent, and the long pause follows it */
	/*
	 * Indications within inference time-outs. If `shared`: how many times the highest rate had goes into the link's, less 1,
	 * as gaps between ACKs showed it and trains have not confirmed yet.
	 */
	u8 recurrences : 2;
	u8 judging : 1;   /* a loss event of packets that met no queue is not yet judged */
	u8 confirmed : 1; /* `limit` was met twice */
	/* Rounds until the inference time-out; while yielding, clean probes wanted: at most 12. */
	u8 inference : 4;
	u8 on_trial : 1; /* a steady delay counts as the path's until a queue shows */
	u8 trial_wait : 3; /* quadruplings of the time before the next trial, doublings of that before a turn */
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

/* Converts to ticks; saturates at 16 bits (1.3 s). */
POLICY_INLINE u32 netnice_ticks(u32 microseconds)
{
	return policy_min(microseconds / NETNICE_TICK_US, 65535);
}

POLICY_INLINE void netnice_init(struct netnice *state, const struct policy_parameters *wanted)
{
	state->threshold_floor =
		(wanted->threshold_us ? wanted->threshold_us : NETNICE_THRESHOLD_US) /
		NETNICE_TICK_US;
	state->minimum_rtt_us = NETNICE_NO_SAMPLE;
	state->round_queue_us = NETNICE_NO_SAMPLE;
	state->plateau = NETNICE_NO_PLATEAU;
	state->growth = 1;
	state->slow_start = 1;
	state->one_way_slack = NETNICE_SLACK_UNKNOWN;
}

/*
 * Learns the round trip of the handshake, whose packets take no time to transmit; 0 if it is unknown, or the control
 * begins later than the connection.
 */
POLICY_INLINE void netnice_on_handshake(struct netnice *state, u32 rtt_us)
{
	if (rtt_us)
		state->handshake = policy_max(rtt_us / NETNICE_TICK_US & NETNICE_HANDSHAKE_MASK, 1);
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
	return netnice_packets_of_train(state->threshold_floor * NETNICE_TICK_US,
					state->packet_ns / 1000);
}

/* Packets of a probe while yielding. */
POLICY_INLINE u32 netnice_probe_packets(const struct netnice *state)
{
	return state->trains ? netnice_train_packets(state) : NETNICE_PAIR_PACKETS;
}

/* Begins a round: its samples are those of packets sent from now on. */
POLICY_INLINE void netnice_begin_round(struct netnice *state, u32 delivered)
{
	state->round_end = delivered;
	state->round_queue_us = NETNICE_NO_SAMPLE;
	state->round_high = 0;
	state->round_prompt = 0;
	state->doubtful = 0;
}

/* Ignores packets sent before the reaction: only later ones show its effect. */
POLICY_INLINE void netnice_mark_reaction(struct netnice *state, u32 delivered)
{
	state->reaction_mark = delivered;
	state->round_end = delivered;
	state->over_packets = 0;
	state->growth = 1;
	state->cwnd_cnt = 0;
}

#endif
