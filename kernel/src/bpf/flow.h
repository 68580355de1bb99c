/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is kept for each low-priority connection beside the policy's own state, and the records
 * that user space reads. Included by every BPF program here and mirrored in `src/flow.rs`.
 */
#ifndef NETNICE_FLOW_H
#define NETNICE_FLOW_H

#include "parameters.h"
#include "report.h"

/*
 * What a user may set of a control for one run or cgroup. Each control reads its own part; zero
 * means the control's default.
 */
struct flow_parameters {
	struct policy_parameters low_priority; /* of netnice, tcplp and hstcplp */
	u32 c;                                 /* the rest is dstcp's: congestion/policy/dstcp.h */
	u64 target_bits_per_s;
	u8 policy;
	u8 classes;
	u8 reserved[6];
};

/* What a cgroup asks for its sockets; value of the per-cgroup settings. */
struct placement {
	u64 group;        /* names the run or attachment in `totals`; 0 = none */
	char control[16]; /* congestion control, NUL-padded; 15 characters at most */
	u8 dscp;          /* to be set on each socket; 0xff = leave as it is */
	u8 reserved[7];
	struct flow_parameters parameters;
};

/* Lives in the socket (map `flows`) from the moment one of our controls is put on it. */
struct flow {
	u64 group;    /* from struct placement; 0 when put on by other means */
	u64 since_ns; /* CLOCK_MONOTONIC at which the control took over */
	u64 bytes_acked_at_start;
	u64 bytes_received_at_start;
	struct flow_parameters parameters;
	u8 unguarded; /* the guard lets options pass: netnice is changing them */
	u8 reserved[7];
	char previous[16]; /* the control it had before; empty if not known */
};

/* Sums over the finished connections of a group (map `totals`, keyed by group). */
struct totals {
	u64 sockets;    /* connections that ran under one of our controls */
	u64 bytes_sent; /* acknowledged by the peer */
	u64 bytes_received;
	u64 yields;
	u64 without_timestamps; /* connections whose peer sends no timestamps */
};

/*
 * What came of a finished connection that belongs to no group (map `finished`): user space finds
 * it by the socket's cookie, if it has asked for that while the connection lived.
 */
struct finished {
	u64 cookie;
	u32 user;
	u32 reserved;
	struct totals totals;
};

/* One connection, as the iterator `connections` writes it. Append, and raise `size`. */
struct connection {
	u32 size;              /* of this record */
	u32 state;             /* TCP_ESTABLISHED and so on */
	u64 cookie;            /* names the socket for as long as the kernel runs */
	u64 inode;             /* of the socket's file; 0 once no process has it open */
	u32 network_namespace; /* its inode number */
	u32 user;              /* who made the socket */
	u16 family;
	u16 local_port; /* host byte order, as is the next */
	u16 remote_port;
	u16 mss;
	u8 local_address[16]; /* the first four bytes where the family is AF_INET */
	u8 remote_address[16];
	char control[16];
	u32 cwnd;
	u32 ssthresh;
	u32 smoothed_rtt_us;
	u32 delivered;             /* in the latest sample of the rate, packets */
	u32 delivered_interval_us; /* and the time that they took */
	u32 retransmitted;
	u64 pacing_rate; /* bytes per second */
	u64 bytes_acked; /* since the control took over, as is the next */
	u64 bytes_received;
	u64 age_ns; /* since the control took over */
	u64 group;
	struct policy_report report;
	u64 target_bits_per_s; /* of dstcp; 0: none */
};

#endif
