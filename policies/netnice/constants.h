/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* netnice: its constants, each with its reason. Counts of packets, rounds and probes have no unit in their name. */
#ifndef NETNICE_POLICY_NETNICE_CONSTANTS_H
#define NETNICE_POLICY_NETNICE_CONSTANTS_H

#define NETNICE_THRESHOLD_US 1000U        /* the threshold's floor: clock resolution, schedulers */
#define NETNICE_THRESHOLD_HALF_PACKETS 3U /* one and a half: a delayed ACK releases two at once */
#define NETNICE_THRESHOLD_JITTERS 2U      /* twice the mean change from sample to sample */
#define NETNICE_THRESHOLD_SPREADS 2U      /* twice the range of a round's samples */
#define NETNICE_GROWTH_SPREAD 4U          /* packets of a round's range that growth makes */
#define NETNICE_PLATEAU_PACKETS 2U        /* by which a plateau may be measured too low */
#define NETNICE_JITTER_LIMIT_US 20000U    /* more is taken for a queue of others */
#define NETNICE_MINIMUM_CWND 2U           /* the second packet makes the receiver ACK at once */
#define NETNICE_SURPLUS_SHIFT 5U          /* the back-off beyond the queue: cwnd / 32 */
#define NETNICE_PAIR_PACKETS 2U           /* of a probe, together */
#define NETNICE_PROBE_CWND (2 * NETNICE_PAIR_PACKETS) /* of which pacing sends two at a time */
#define NETNICE_PROBE_ROUNDS 8U           /* longest pause between probes early in yielding */
#define NETNICE_PROBE_PAUSE_US 1000000U   /* longest pause at first: back within two seconds */
#define NETNICE_PAUSE_UNIT 256U           /* unit of `pause_scale` */
#define NETNICE_PAUSE_GROWTH_SHIFT 4U     /* each pause exceeds the previous one by a sixteenth */
#define NETNICE_PAUSE_SCALE_LIMIT 65535U  /* keeps products in 32 bits; pauses end at 5 s before */
#define NETNICE_LONGEST_PAUSE_US 5000000U /* a late return costs no more than that */
#define NETNICE_VERDICT_ROUNDS 2U         /* from a probe to the decision on its ACK */
#define NETNICE_CLEAN_PROBES 4U           /* in a row that end yielding */
#define NETNICE_RETURN_SHIFT 2U           /* growth after yielding: cwnd / 4 per round */
#define NETNICE_INFERENCE_ROUNDS 2U       /* itt of TCP-LP: no growth; a recurrence means others */
#define NETNICE_INDICATION_PACKETS 4U     /* least number in a row over the threshold */
#define NETNICE_TRIAL_WAIT_US 500000U     /* a delay steady this long may be a longer path */
#define NETNICE_TRIAL_WAIT_ROUNDS 4U      /* and at least so many round trips: several probes */
#define NETNICE_TRIAL_WAITS 4U            /* quadruplings of that time, up to 128 s */
#define NETNICE_MOVED_WAITS 2U            /* and up to 8 s by a queue that moves */
#define NETNICE_TRIAL_PACKETS 128U        /* delivered without a loss, at least */
#define NETNICE_STEADY_GAP_S 20U      /* four longest pauses without an ACK: it may have moved */
#define NETNICE_STEADY_PARTS 16U      /* steady: within a sixteenth of itself */
#define NETNICE_RATE_PACKETS 4U       /* of a rate sample, at least */
#define NETNICE_RATE_LEAK_SHIFT 13U   /* the highest rate decays within some thousand rounds */
#define NETNICE_DRIFT_US 2000U        /* twice the resolution of a millisecond clock */
#define NETNICE_DRIFT_US_PER_S 1000U  /* of clocks, at most */
#define NETNICE_CLOCK_WRAPS_S 4294U   /* of microseconds in 32 bits */
#define NETNICE_ECHO_DOUBTS 64U       /* stamps that repeat ours, before they are not believed */
#define NETNICE_ECHO_DOUBTS_LIMIT 96U /* a clock is believed again after two changes */
#define NETNICE_ECHO_RELIEF 32U       /* doubts that a change takes away */
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
#define NETNICE_BLIND_PROBE_ROUNDS 64U /* between probes that show nothing: a timer */
#define NETNICE_BLIND_SCALE_LIMIT 4U   /* twelve probes at most */
#define NETNICE_REPAIR_ROUNDS 4U       /* from probe to probe in a recovery, at most */
#define NETNICE_POLICED_LOSSES 4U      /* in one event; losses at random are seldom so many */
#define NETNICE_POLICED_PARTS 16U      /* and so large a part of a round: a sixteenth */
#define NETNICE_EVIDENT_LOSSES 5U      /* in one event, and beside these */
#define NETNICE_EVIDENT_PARTS 12U      /* a twelfth of a round: no losses at random are so many */
#define NETNICE_EVIDENT_LIMIT 10U      /* in packets; what is measured of less is too coarse */
#define NETNICE_LIMIT_ROUNDS                                                                       \
	(4 * NETNICE_BLIND_ROUNDS)     /* growth tests a confirmed limit that seldom */
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
#define NETNICE_GAP_FEWEST_SLOTS 2U      /* in the mode of gaps between ACKs: half of the link */
#define NETNICE_GAP_HYPOTHESES 3U        /* two, three or four slots */
#define NETNICE_GAP_SUPPORT 31U          /* of the mode: the gaps that outvote it */
#define NETNICE_GAP_SHORTEST_US 64U      /* of the mode: the resolution of time */
#define NETNICE_GAP_MODE_LIMIT_US 32000U /* of the mode: links of 375 kb/s and faster */
#define NETNICE_GAP_LONGEST_US 65535U    /* longer ones are pauses of the program */
#define NETNICE_GAP_TOLERANCE 2U         /* of whole slots, in sixteenths */
#define NETNICE_GAP_FOR 24U              /* weight of a telling gap */
#define NETNICE_GAP_AGAINST 8U           /* of a gap that is no whole slots; of other gaps 1 */
#define NETNICE_GAP_EVIDENCE 256U        /* sum at which a slot is the link's packet time */
#define NETNICE_GAP_EVIDENCE_LIMIT (2 * NETNICE_GAP_EVIDENCE - 1) /* so that it can be lost again */
#define NETNICE_CONFIRM_HALF_SLOTS 3U /* one and a half: between a fair queue and a slower link */
#define NETNICE_CONFIRM_LIMIT 3U      /* slots that one train may add at most */
#define NETNICE_CONFIRM_TRAINS 16U    /* that decide, if they come in time */
#define NETNICE_CONFIRM_US 2500000U   /* in which trains are a round trip apart */
#define NETNICE_CONFIRM_SLOTS 8U      /* from one packet of a train to the next, at most */
#define NETNICE_GAP_WAITS 3U /* doublings for each time that trains do not confirm what gaps show */
#define NETNICE_UNKNOWN 0xffffffffU /* no sample, or none yet */

#define NETNICE_DELAYED_ACK_US 40000U /* of Linux, the shortest */
#define NETNICE_LONG_QUEUE 4U         /* in thresholds: a probe that meets it shows others */
#define NETNICE_BRIEF_STAYS 3U        /* failed returns that make a stay of others count as long */
#define NETNICE_BRIEF_PROBE_ROUNDS 2U /* longest pause between probes in a stay that may be brief */
#define NETNICE_BRIEF_CLEAN_PROBES 2U /* that end it */
#define NETNICE_BRIEF_PAUSE_SCALE (3 * NETNICE_PAUSE_UNIT) /* 19 probes; a stay is long then */
#define NETNICE_VISIT_SHIFT 2U /* a queue of a quarter of a round trip is that of a brief stay */

#endif
