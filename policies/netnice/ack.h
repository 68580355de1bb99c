/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* netnice: what it is told of an ACK. */
#ifndef NETNICE_POLICY_NETNICE_ACK_H
#define NETNICE_POLICY_NETNICE_ACK_H

#include "integer.h"

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
	u8 stamp_lead; /* TSval less TSecr, modulo 256 */
	u8 stamp_back; /* TSval is earlier than that of the ACK before */
	u8 ca_state;   /* enum ca_state */
	u8 app_limited;
	u8 at_receiver;   /* the data's receiver, which cannot send trains, runs the policy */
	u8 retransmitted; /* the newest packet covered: its round trip is in whole ticks of a stamp */
};

#endif
