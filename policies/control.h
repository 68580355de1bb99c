/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The interface of a congestion control in a file of its own, which is compiled when it is used:
 * `congestion_control = "./mine.h"` in a scenario.
 *
 *   #define CONTROL_INTERFACE 1
 *   #include "control.h"
 *
 *   struct control { ... };   at most 72 bytes, all zero when a connection begins
 *
 *   POLICY_INLINE void control_on_ack(struct control *, const struct control_ack *,
 *                                     struct control_window *)
 *   POLICY_INLINE u32 control_on_loss(struct control *, const struct control_loss *)
 *   POLICY_INLINE u32 control_on_timeout(struct control *, const struct control_loss *)
 *
 * Integers only, no I/O, no other header than those of this directory: a kernel has no more. A call
 * has at most a million steps.
 */
#ifndef NETNICE_POLICY_CONTROL_H
#define NETNICE_POLICY_CONTROL_H

#include "integer.h"

#ifndef CONTROL_INTERFACE
#error "say which interface the control is written for: #define CONTROL_INTERFACE 1, before control.h"
#elif CONTROL_INTERFACE != 1
#error "this netnice has interface 1 of controls in files: #define CONTROL_INTERFACE 1"
#endif

struct control;

/* An ACK that allows the window to grow: outside fast recovery, with new data acknowledged. */
struct control_ack {
	u32 now_us;          /* wraps after 71 minutes: compare by policy_after() */
	u32 rtt_us;          /* round trip of the newest packet acknowledged; 0 if unknown */
	u32 smoothed_rtt_us; /* RFC 6298; 0 before the first sample */
	u32 minimum_rtt_us;  /* of the connection; 0 before the first sample */
	u32 acked;           /* packets that this ACK has acknowledged */
	u32 in_flight;       /* packets sent, neither acknowledged nor deemed lost */
	u32 cwnd_limited;    /* the window, not the program, limits the connection */
};

/* The values that the control may change, in packets. `ssthresh` is 0x7fffffff until first set. */
struct control_window {
	u32 cwnd;
	u32 ssthresh;
};

/* A loss or an ECN mark, or an RTO. */
struct control_loss {
	u32 now_us;
	u32 cwnd;      /* packets, before it is reduced */
	u32 in_flight; /* packets sent and not yet acknowledged */
};

/* Sets the window. */
POLICY_INLINE void control_on_ack(struct control *state, const struct control_ack *ack,
				  struct control_window *window);

/* Returns ssthresh, to which the recovery from a loss, or a mark, brings the window. */
POLICY_INLINE u32 control_on_loss(struct control *state, const struct control_loss *loss);

/* Returns ssthresh after an RTO, which sets the window to one packet (RFC 5681, section 3.1). */
POLICY_INLINE u32 control_on_timeout(struct control *state, const struct control_loss *loss);

#define CONTROL_BYTES 72U
#define CONTROL_NO_SSTHRESH 0x7fffffffU

#endif
