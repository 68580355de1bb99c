/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Report of every low-priority policy. It is the first member of each policy's state, so that one
 * reader (`netnice status`, the simulator's traces) serves all of them.
 */
#ifndef NETNICE_POLICY_REPORT_H
#define NETNICE_POLICY_REPORT_H

#include "integer.h"

/* Phase of the connection. User space reads the numbers: append, never reorder. */
enum policy_phase {
	POLICY_SLOW_START = 0,
	POLICY_AVOIDANCE = 1,
	POLICY_INFERENCE = 2, /* an indication was answered; checking whether it persists */
	POLICY_YIELDING = 3,  /* others are present; sending only probes */
};

/* Source of the delay. */
enum policy_signal {
	POLICY_SIGNAL_NONE = 0,
	POLICY_SIGNAL_ONE_WAY_DELAY = 1,
	POLICY_SIGNAL_ROUND_TRIP = 2, /* the peer sends no timestamps (RFC 7323) */
};

/* To what a flow gives way. User space reads the numbers: append, never reorder. */
enum policy_cause {
	POLICY_CAUSE_NOBODY = 0,
	POLICY_CAUSE_QUEUE = 1,      /* a queue of others */
	POLICY_CAUSE_LOSSES = 2,     /* losses that no delay announced */
	POLICY_CAUSE_FAIR_QUEUE = 3, /* others in a fair queue, which no delay shows */
	POLICY_CAUSE_UNMEASURED = 4, /* nothing can be measured any more */
	POLICY_CAUSES = 4,
};

struct policy_report {
	u32 delay_over_minimum_us; /* latest filtered delay, above the smallest one known */
	u32 threshold_us;          /* above the smallest delay; an indication lies beyond it */
	u32 yields;                /* times the window was yielded to others */
	u8 phase;                  /* enum policy_phase */
	u8 signal;                 /* enum policy_signal */
	u16 published;             /* in a kernel: time of the latest copy for outside readers */
};

#endif
