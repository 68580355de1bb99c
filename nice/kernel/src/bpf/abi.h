/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State of each low-priority connection beside the policy's own, and the records that user space
 * reads. Included by every BPF program here and mirrored in `src/abi.rs`.
 */
#ifndef NETNICE_ABI_H
#define NETNICE_ABI_H

#include "parameters.h"
#include "report.h"

/* Lies in the middle of `struct flow`, which other versions read. */
_Static_assert(sizeof(struct policy_parameters) == 32, "members of struct flow must stay in place");

/* Settings of a cgroup for its sockets; value of the per-cgroup settings. */
struct attachment {
	u64 group;        /* names the run or attachment in `totals`; 0 = none */
	char control[16]; /* congestion control, NUL-padded; 15 characters at most */
	u8 dscp;          /* to be set on each socket; 0xff = leave as it is */
	u8 reserved[7];
	struct policy_parameters parameters;
};

/*
 * Lives in the socket (map `flows`) from the moment one of netnice's controls is set. Older
 * versions read it, too: append members only.
 */
struct flow {
	u64 group;    /* from struct attachment; 0 when put on by other means */
	u64 since_ns; /* CLOCK_MONOTONIC at which the control took over */
	u64 bytes_acked_at_start;
	u64 bytes_received_at_start;
	struct policy_parameters parameters;
	/* The guard lets options pass: netnice is changing them, or has taken low priority from the socket. */
	u8 unguarded;
	u8 reserved[7];
	char previous[16];           /* the control it had before; empty if not known */
	struct policy_report report; /* a copy, some ms old at most, for readers outside */
	u32 gave_way
		[POLICY_CAUSES]; /* the report's `yields` by cause; 0 of controls that tell none */
};

/* Sums over the finished connections of a group (map `totals`, keyed by group). */
struct totals {
	u64 sockets;    /* connections that ran under one of our controls */
	u64 bytes_sent; /* acknowledged by the peer */
	u64 bytes_received;
	u64 yields;
	u64 without_timestamps; /* connections whose peer sends no timestamps */
	/* Connections whose received data was governed, whatever control they had. */
	u64 receiving_sockets;
	u64 receiving_bytes;
	u64 receiving_yields;
	/* Connections on which the control could not be set. */
	u64 refused;
	/* How often something else than netnice has put another control on a connection, and how often
	 * netnice_keep() has undone that. */
	u64 displaced;
	u64 restored;
	/* `yields` and `receiving_yields` by cause (enum policy_cause, from 1); 0 of controls that tell none. */
	u64 gave_way[POLICY_CAUSES];
	u64 receiving_gave_way[POLICY_CAUSES];
	/* uTP: connections that were recognised and governed, and the data that passed on them, each time
	 * that it was sent. */
	u64 utp_connections;
	u64 utp_bytes_sent;
	u64 utp_bytes_received;
	u64 utp_yields;
	/* Other UDP: data of large packets that passed queues of netnice, or would have. */
	u64 udp_bytes_sent;
	u64 udp_bytes_received;
	/* Packets of other UDP of any size that left, whether or not it is governed. */
	u64 udp_packets_sent;
};

/* Settings of a cgroup for UDP (map `utp_groups`, keyed by the cgroup's id). */
struct utp_group {
	struct policy_parameters parameters;
	u8 sends;    /* data that leaves is governed */
	u8 receives; /* data that arrives is */
	u8 reserved[6];
};

/*
 * Begins each value of the map `receptions`: state of a socket that receives at low priority. What
 * follows it is the program's own. Other versions read it: append members only.
 */
struct reception_record {
	u64 group;    /* of the cgroup whose settings these are */
	u64 since_ns; /* CLOCK_MONOTONIC at which the window was first governed */
	struct policy_report report;
	u32 window_bytes;   /* latest window advertised */
	u32 minimum_rtt_us; /* 0 if unknown */
	u8 paused;          /* the window is below one packet */
	u8 reserved[7];
	char control[16]; /* whose policy sets the window, NUL-padded */
	u32 gave_way
		[POLICY_CAUSES]; /* the report's `yields` by cause; 0 of policies that tell none */
};

/*
 * Sums of a finished connection that belongs to no group (map `finished`), keyed by the socket's
 * cookie. All users may read it.
 */
struct finished {
	struct totals totals;
};

/*
 * Transitions of netnice's phases by one event; record in the ring buffers of the map `decisions`. Of several, `reason`
 * is that of the last. Numbers of phases and reasons are those of the program's version.
 */
struct decision {
	u64 time_ns;       /* CLOCK_MONOTONIC */
	u64 connection;    /* the socket's cookie */
	u32 number;        /* transitions of the connection so far */
	u32 moves;         /* of them by this event */
	u32 window_before; /* in packets, at a receiver in bytes */
	u32 window_after;
	u32 queue_us; /* queueing delay of the newest sample */
	u32 threshold_us;
	u8 before; /* enum netnice_phase */
	u8 after;
	u8 reason; /* enum netnice_reason */
	u8 at_receiver;
	u8 reserved[4];
};

#endif
