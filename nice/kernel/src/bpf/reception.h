/* SPDX-License-Identifier: GPL-2.0-only */
/* What a socket keeps that receives at low priority, whatever its policy. */
#ifndef NETNICE_RECEPTION_H
#define NETNICE_RECEPTION_H

#include "attachments.h"
#include <bpf/bpf_core_read.h>
#include "maps.h"
#include "receiver_round_trip.h"
#include "receiver_segment.h"

/*
 * Packets that a handshake offers room for: as many as a sender may begin with (RFC 6928). The 64 kB
 * of Linux let each of many connections that begin together fill a queue before it has a sample.
 */
#define FIRST_PACKETS 10
/* Calls for each segment that leaves, and at the end. */
#define RECEPTION_CALLBACKS (BPF_SOCK_OPS_STATE_CB_FLAG | BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG)
#define UNSEEN 4 /* segments after which no program at an interface is on their way */
/* All policies share the map: room for the largest state. */
#define GOVERNED_BYTES 1208

/* State of a socket that receives at low priority. */
struct reception {
	struct reception_record record; /* must be first: user space reads it */
	u32 received;                   /* sequence number up to which data had arrived */
	u32 edge;   /* end of what segments have advertised, as netnice_window() saw them */
	u8 closing; /* netnice_window() is to advertise nothing more in the segment that leaves */
	u8 scale;   /* of the window field */
	u8 unseen;  /* segments since netnice_window() saw one */
	u8 ce;      /* AccECN: the previous segment reported marks to the policy */
	u32 marked_bytes;   /* AccECN: bytes marked CE at the latest report */
	u32 governed_bytes; /* size of the state: another version's may differ */
	/* The one that leaves; for netnice_receive() alone, and not on its stack: see POLICY_STEP_NEEDS. */
	struct receiver_segment segment;
	u64 state[GOVERNED_BYTES / sizeof(u64)]; /* the policy's, whose name is in `record` */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct reception);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} receptions SEC(".maps");

static __always_inline bool has_timestamps(const struct tcp_sock *tp)
{
	const struct tcp_options_received *options = &tp->rx_opt;

	return BPF_CORE_READ_BITFIELD(options, tstamp_ok);
}

/* Returns the window for receiver_time(), of a connection without timestamps. */
static __always_inline struct receiver_advertised advertised_by(const struct tcp_sock *tp)
{
	struct receiver_advertised advertised = {
		.left_us = bpf_ktime_get_ns() / 1000,
		.received = tp->rcv_nxt,
		.edge = tp->rcv_wup + tp->rcv_wnd,
	};

	return advertised;
}

/* Copies what user space reads of a connection; `minimum_rtt_us` is 0 if unknown. */
static __always_inline void publish(const struct tcp_sock *tp, struct reception *own,
				    const struct policy_report *report, u32 minimum_rtt_us,
				    u32 window_bytes)
{
	struct reception_record *record = &own->record;

	record->report = *report;
	if (!has_timestamps(tp) && record->report.signal == POLICY_SIGNAL_ONE_WAY_DELAY)
		record->report.signal = POLICY_SIGNAL_ROUND_TRIP;
	record->window_bytes = window_bytes;
	record->minimum_rtt_us = minimum_rtt_us;
}

#endif
