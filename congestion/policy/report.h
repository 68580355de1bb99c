/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What every low-priority policy tells about itself. It is the first member of each policy's
 * state, so that one reader (`netnice status`, the simulator's traces) serves them all.
 */
#ifndef NETNICE_POLICY_REPORT_H
#define NETNICE_POLICY_REPORT_H

#include "integer.h"

/* What the connection is doing. The numbers are read by user space: append, never reorder. */
enum policy_phase {
	POLICY_SLOW_START = 0,
	POLICY_AVOIDANCE = 1,
	POLICY_INFERENCE = 2, /* an indication was answered; watching whether it persists */
	POLICY_YIELDING = 3,  /* others are present; sending next to nothing */
};

/* Where the delay comes from. */
enum policy_signal {
	POLICY_SIGNAL_NONE = 0,
	POLICY_SIGNAL_ONE_WAY_DELAY = 1,
	POLICY_SIGNAL_ROUND_TRIP = 2, /* the peer sends no timestamps (RFC 7323) */
};

struct policy_report {
	u32 delay_over_minimum_us; /* latest filtered delay, above the smallest one known */
	u32 threshold_us;          /* above the smallest delay; an indication lies beyond it */
	u32 yields;                /* how often the window was given up to others */
	u8 phase;                  /* enum policy_phase */
	u8 signal;                 /* enum policy_signal */
	u16 published; /* in a kernel: the time of the latest copy for readers outside */
};

#endif
