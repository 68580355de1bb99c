/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * netnice: the phases of a flow, and the table of all transitions between them. A transition has a reason, and the
 * reason alone says which phase comes next: netnice_move() is the only place that changes the phase.
 *
 * tools/decisions draws the table. A debug build ends at a transition that it does not have, and policies/proofs shows that
 * there is none.
 */
#ifndef NETNICE_POLICY_NETNICE_DECISIONS_H
#define NETNICE_POLICY_NETNICE_DECISIONS_H

#include "netnice/state.h"
#include "report.h"

/* What a flow does, in the order of the phases in which it uses the link and those in which it yields. */
enum netnice_phase {
	NETNICE_START = 0,   /* grows in slow start: the path is unknown */
	NETNICE_FILL = 1,    /* keeps the link full without a queue */
	NETNICE_INFER = 2,   /* has drained its own part of a queue, and waits for what remains */
	NETNICE_RETURN = 3,  /* grows back to the path's capacity after yielding */
	NETNICE_YIELD = 4,   /* sends pairs of packets as probes */
	NETNICE_VERDICT = 5, /* sends a train, which decides what a steady delay is */
	NETNICE_SHARE = 6,   /* sends trains: others are there in a fair queue */
};

#define NETNICE_IN_START (1U << NETNICE_START)
#define NETNICE_IN_FILL (1U << NETNICE_FILL)
#define NETNICE_IN_INFER (1U << NETNICE_INFER)
#define NETNICE_IN_RETURN (1U << NETNICE_RETURN)
#define NETNICE_IN_YIELD (1U << NETNICE_YIELD)
#define NETNICE_IN_VERDICT (1U << NETNICE_VERDICT)
#define NETNICE_IN_SHARE (1U << NETNICE_SHARE)
#define NETNICE_IN_GROWTH (NETNICE_IN_START | NETNICE_IN_RETURN)
#define NETNICE_IN_WINDOW (NETNICE_IN_FILL | NETNICE_IN_INFER)
#define NETNICE_IN_LATER (NETNICE_IN_WINDOW | NETNICE_IN_RETURN)
#define NETNICE_IN_USE (NETNICE_IN_WINDOW | NETNICE_IN_GROWTH)
#define NETNICE_IN_PAIRS (NETNICE_IN_YIELD | NETNICE_IN_VERDICT)
#define NETNICE_IN_TRAINS (NETNICE_IN_VERDICT | NETNICE_IN_SHARE)
#define NETNICE_IN_PROBES (NETNICE_IN_YIELD | NETNICE_IN_TRAINS)
#define NETNICE_IN_ANY (NETNICE_IN_USE | NETNICE_IN_PROBES)

/*
 * D(reason, phases before, phase after, cause, window, evidence): `cause` is what people are told of a flow that gives
 * way (enum policy_cause), and NOBODY where it does not.
 */
/* clang-format off */
#define NETNICE_DECISIONS(D)                                                                                     \
	D(START_QUEUE,    START,   INFER,   NOBODY,     "half", "a queue ends slow start")                             \
	D(START_LOSS,     GROWTH,  FILL,    NOBODY,     "half", "a loss ends growth")                                  \
	D(RETURNED,       RETURN,  FILL,    NOBODY,     "as it is", "the window fills the path")                       \
	D(RETURN_QUEUE,   RETURN,  INFER,   NOBODY,     "half", "a queue ends the return")                             \
	D(INDICATION,     WINDOW,  INFER,   NOBODY,     "less our part of the queue", "a queue for a window in a row") \
	D(TIMEOUT,        INFER,   FILL,    NOBODY,     "as it is", "no further indication in time")                 \
	D(QUEUE,          WINDOW,  YIELD,   QUEUE,      "a probe", "a queue that stays without our part")              \
	D(VISIT,          WINDOW,  YIELD,   QUEUE,      "a probe", "others who come often and briefly")                \
	D(OTHERS_START,   WINDOW,  YIELD,   QUEUE,      "a probe", "others in slow start")                             \
	D(BLIND_LOSS,     ANY,     YIELD,   LOSSES,     "a probe", "losses of others that no delay announces")         \
	D(OVERFLOW,       FILL,    YIELD,   LOSSES,     "a probe", "a queue of others that overflows in a return")     \
	D(POLICER,        USE,     YIELD,   LOSSES,     "a probe", "a policer that passes less than before")           \
	D(FAIR_QUEUE,     WINDOW,  SHARE,   FAIR_QUEUE, "a train", "a rate that falls as in a fair queue")             \
	D(UNSAMPLED,      USE,     YIELD,   UNMEASURED, "a probe", "a small window without samples, at a receiver")    \
	D(CLEAN,          PAIRS,   RETURN,  NOBODY,     "grows", "probes that meet nobody")                            \
	D(CLEAN_SHARE,    SHARE,   FILL,    NOBODY,     "grows", "trains that meet nobody")                            \
	D(STEADY,         YIELD,   VERDICT, NOBODY,     "a train", "a delay that stands still")                        \
	D(LONGER_PATH,    PROBES,  RETURN,  NOBODY,     "grows", "a delay on trial: the path may be longer")           \
	D(NO_LONGER_PATH, LATER,   YIELD,   NOBODY,     "a probe", "a queue on a path on trial")                       \
	D(LONGER_BACK,    WINDOW,  RETURN,  NOBODY,     "grows", "a reverse path that is longer, too")                 \
	D(SLOWER_LINK,    TRAINS,  RETURN,  NOBODY,     "grows", "trains at a lower rate")                             \
	D(MAYBE_SHARE,    VERDICT, SHARE,   NOBODY,     "a train", "a train as in a fair queue")                       \
	D(TOGETHER,       SHARE,   YIELD,   NOBODY,     "a probe", "trains that meet all others in one queue")         \
	D(TURN,           SHARE,   RETURN,  NOBODY,     "grows", "others for so long that it is our turn")             \
	D(NO_SLOTS,       SHARE,   RETURN,  NOBODY,     "grows", "trains that deny the rate that gaps show")           \
	D(UNDO,           PROBES,  RETURN,  NOBODY,     "as before", "a recovery that was spurious")
/* clang-format on */

enum netnice_reason {
	NETNICE_BECAUSE_NONE,
#define NETNICE_REASON(reason, before, after, cause, window, evidence) NETNICE_BECAUSE_##reason,
	NETNICE_DECISIONS(NETNICE_REASON)
#undef NETNICE_REASON
		NETNICE_REASONS
};

/* Defines a function that returns what the table says of a reason, or `none` of a number that is no reason. */
#define NETNICE_LOOK_UP(function, type, entry, none)                                               \
	POLICY_INLINE type function(u8 number)                                                     \
	{                                                                                          \
		switch (number) {                                                                  \
			NETNICE_DECISIONS(entry)                                                   \
		default:                                                                           \
			return none;                                                               \
		}                                                                                  \
	}
#define NETNICE_BEFORE(reason, before, after, cause, window, evidence)                             \
	case NETNICE_BECAUSE_##reason:                                                             \
		return NETNICE_IN_##before;
#define NETNICE_AFTER(reason, before, after, cause, window, evidence)                              \
	case NETNICE_BECAUSE_##reason:                                                             \
		return NETNICE_##after;
#define NETNICE_CAUSE(reason, before, after, cause, window, evidence)                              \
	case NETNICE_BECAUSE_##reason:                                                             \
		return POLICY_CAUSE_##cause;

/* Returns the phases in which a reason may occur, as bits. */
NETNICE_LOOK_UP(netnice_phases_before, u32, NETNICE_BEFORE, 0)

/* Returns the phase that follows from a reason. */
NETNICE_LOOK_UP(netnice_phase_after, u8, NETNICE_AFTER, NETNICE_START)

/* Returns to whom a reason makes the flow give way: enum policy_cause. */
NETNICE_LOOK_UP(netnice_cause, u8, NETNICE_CAUSE, POLICY_CAUSE_NOBODY)

/* Returns the phase that readers of all controls know. */
POLICY_INLINE u8 netnice_reported_phase(u8 phase)
{
	switch (phase) {
	case NETNICE_START:
	case NETNICE_RETURN:
		return POLICY_SLOW_START;
	case NETNICE_FILL:
		return POLICY_AVOIDANCE;
	case NETNICE_INFER:
		return POLICY_INFERENCE;
	default:
		return POLICY_YIELDING;
	}
}

/* Moves to the phase that follows from the reason. */
POLICY_INLINE void netnice_move(struct netnice *state, u8 reason)
{
	u8 cause = netnice_cause(reason);

	POLICY_ASSERT(netnice_phases_before(reason) >> state->decided.phase & 1);
	state->decided.phase = netnice_phase_after(reason);
	state->decided.reason = reason;
	state->decided.moves += 1;
	state->report.phase = netnice_reported_phase(state->decided.phase);
	if (!cause)
		return;
	state->report.yields += 1;
	state->gave_way[cause - 1] += 1;
}

/* Returns whether the flow sends probes alone. */
POLICY_INLINE int netnice_yields(const struct netnice *state)
{
	return state->decided.phase >= NETNICE_YIELD;
}

/* Returns whether probes are trains. */
POLICY_INLINE int netnice_sends_trains(const struct netnice *state)
{
	return state->decided.phase >= NETNICE_VERDICT;
}

/* Returns whether each packet that is delivered lets the window grow by one: no plateau is known. */
POLICY_INLINE int netnice_is_in_slow_start(const struct netnice *state)
{
	return state->decided.phase == NETNICE_START || state->decided.phase == NETNICE_RETURN;
}

#endif
