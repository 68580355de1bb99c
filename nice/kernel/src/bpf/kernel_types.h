/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel types that the programs touch, with only the members they touch. Offsets are
 * relocated at load time (CO-RE), so one object serves all kernels that have these members.
 */
#ifndef NETNICE_KERNEL_TYPES_H
#define NETNICE_KERNEL_TYPES_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u16 __sum16;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;
enum { false = 0, true = 1 };

/* linux/bpf.h: the values used here are part of the stable user-space interface. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_CGROUP_ARRAY = 8,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_HASH_OF_MAPS = 13,
	BPF_MAP_TYPE_CGROUP_STORAGE = 19,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_F_NO_PREALLOC = 1, BPF_F_CLONE = 1 << 9 };
enum { BPF_SK_STORAGE_GET_F_CREATE = 1, BPF_RB_NO_WAKEUP = 1 };
enum { TCP_CLOSE = 7 };            /* skc_state */
enum sock_flags { SOCK_DONE = 1 }; /* the bit is set by the peer's FIN */
enum { AF_INET = 2, AF_INET6 = 10 };

enum tcp_ca_event {
	CA_EVENT_TX_START = 0,
	CA_EVENT_CWND_RESTART = 1,
	CA_EVENT_COMPLETE_CWR = 2,
	CA_EVENT_LOSS = 3,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct net;
struct socket;

struct in6_addr {
	__u8 bytes[16];
};

typedef struct {
	struct net *net;
} possible_net_t;

typedef struct {
	__s64 counter;
} atomic64_t;

typedef struct {
	__u32 val;
} kuid_t;

struct sock_common {
	unsigned long skc_flags;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	__u16 skc_num;
	__be16 skc_dport;
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	possible_net_t skc_net;
	atomic64_t skc_cookie; /* 0 until somebody asks for it */
};

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
	struct socket *sk_socket;
	kuid_t sk_uid;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	const struct tcp_congestion_ops *icsk_ca_ops;
	__u8 icsk_ca_state : 5;
	__u8 icsk_retransmits;
	__u64 icsk_ca_priv[13]; /* 104 bytes since 4.13 */
	struct {
		__u32 lrcvtime; /* jiffies at which data last came */
		__u16 rcv_mss;  /* the kernel's guess of the peer's packets */
	} icsk_ack;
};

struct tcp_options_received {
	__u32 ts_recent; /* latest TSval that was in order */
	__u32 rcv_tsval;
	__u32 rcv_tsecr;
	__u16 saw_tstamp : 1;
	__u16 tstamp_ok : 1;
	__u16 rcv_wscale : 4;
	__u16 mss_clamp; /* the peer's MSS, or 536 */
};

struct rb_node;

struct rb_root {
	struct rb_node *rb_node;
};

struct minmax_sample {
	u32 t;
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u16 tcp_header_len; /* options that every packet carries included */
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 snd_cwnd_cnt;
	__u32 snd_cwnd_clamp;
	__u32 max_packets_out;
	__u8 is_cwnd_limited : 1;
	__u32 prior_cwnd;
	__u32 mss_cache;
	__u32 srtt_us; /* smoothed round trip time, in eighths of a microsecond */
	struct minmax rtt_min;
	__u8 ecn_flags;
	__u32 received_ecn_bytes[3]; /* data by its ECN field; since 6.18 */
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 total_retrans;
	__u32 delivered;
	__u32 rate_delivered;
	__u32 rate_interval_us;
	__u64 tcp_mstamp; /* most recent packet received or sent, in microseconds */
	__u64 bytes_acked;
	__u64 bytes_sent;
	__u64 bytes_retrans;
	__u64 bytes_received;
	__u32 rcv_nxt;
	__u32 rcv_wup; /* rcv_nxt when the window was last advertised */
	__u32 rcv_wnd; /* as last advertised */
	__u32 rcv_ssthresh;
	__u16 advmss;
	__u32 tsoffset;       /* added to the stamps that are sent */
	__u8 tcp_usec_ts : 1; /* timestamps in microseconds; since 6.7 */
	bool is_mptcp;        /* where MPTCP is configured */
	struct rb_root out_of_order_queue;
	struct tcp_options_received rx_opt;
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
	__u32 in_flight;
};

struct rate_sample {
	__u64 prior_mstamp;
	__u32 prior_delivered;
	__s32 delivered;
	long interval_us;
	long rtt_us;
	__s32 losses;
	__u32 acked_sacked;
	__u32 prior_in_flight;
	bool is_app_limited;
	bool is_retrans;
};

#pragma clang attribute pop

/* The callbacks that a congestion control may fill in; libbpf matches them by name. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 flags;
	char name[16];
};

enum tcp_ca_state {
	TCP_CA_Open = 0,
	TCP_CA_Disorder = 1,
	TCP_CA_CWR = 2,
	TCP_CA_Recovery = 3,
	TCP_CA_Loss = 4,
};

enum { TCP_CONG_NON_RESTRICTED = 1 };
/* ecn_flags: RFC 3168 is in use; there, a CE mark has come and no CWR since; AccECN is in use (6.18) */
enum { TCP_ECN_MODE_RFC3168 = 1, TCP_ECN_DEMAND_CWR = 4, TCP_ECN_MODE_ACCECN = 16 };
enum { CE_BYTES = 2 }; /* of received_ecn_bytes, which ECT(1) and ECT(0) come before */
enum { SK_PACING_NONE = 0, SK_PACING_NEEDED = 1, SK_PACING_FQ = 2 };

#endif
