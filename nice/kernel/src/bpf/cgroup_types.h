/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Contexts of cgroup programs. They are part of the stable user-space interface (linux/bpf.h): the
 * verifier knows them by offset, so all members up to the last one used must be declared.
 */
#ifndef NETNICE_CGROUP_TYPES_H
#define NETNICE_CGROUP_TYPES_H

#include "kernel_types.h"

struct bpf_sock {
	__u32 bound_dev_if;
	__u32 family;
	__u32 type;
	__u32 protocol;
	__u32 mark;
	__u32 priority;
	__u32 src_ip4;
	__u32 src_ip6[4];
	__u32 src_port;  /* host byte order */
	__be16 dst_port; /* network byte order */
};

/* A packet at an interface. */
struct __sk_buff {
	__u32 len;
	__u32 pkt_type;
	__u32 mark;
	__u32 unused[6];
	__u32 ingress_ifindex; /* 0 if the packet is this host's own */
	__u32 ifindex;
	__u32 tc_index;
	__u32 cb[5]; /* for the programs at one interface, in their order */
	__u32 further_unused[19];
	__u64 flow_keys;
	__u64 tstamp;
	__u32 wire_len;
	__u32 gso_segs;
	struct bpf_sock *sk;
};

struct bpf_sock_ops {
	__u32 op;
	union {
		__u32 args[4];
		__u32 reply;
	};
	__u32 family;
	__u32 remote_ip4;
	__u32 local_ip4;
	__u32 remote_ip6[4];
	__u32 local_ip6[4];
	__u32 remote_port;
	__u32 local_port;
	__u32 is_fullsock;
	__u32 snd_cwnd;
	__u32 srtt_us;
	__u32 bpf_sock_ops_cb_flags;
	__u32 state;
	__u32 rtt_min;
	__u32 snd_ssthresh;
	__u32 rcv_nxt;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 mss_cache;
	__u32 ecn_flags;
	__u32 rate_delivered;
	__u32 rate_interval_us;
	__u32 packets_out;
	__u32 retrans_out;
	__u32 total_retrans;
	__u32 segs_in;
	__u32 data_segs_in;
	__u32 segs_out;
	__u32 data_segs_out;
	__u32 lost_out;
	__u32 sacked_out;
	__u32 sk_txhash;
	__u64 bytes_received;
	__u64 bytes_acked;
	struct bpf_sock *sk;
	void *skb_data;
	void *skb_data_end;
	__u32 skb_len; /* data that the segment carries; its header is still to come */
};

enum {
	BPF_SOCK_OPS_RWND_INIT = 2,
	BPF_SOCK_OPS_TCP_CONNECT_CB = 3,
	BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB = 4,
	BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5,
	BPF_SOCK_OPS_RTO_CB = 8,
	BPF_SOCK_OPS_RETRANS_CB = 9,
	BPF_SOCK_OPS_STATE_CB = 10,
	BPF_SOCK_OPS_TCP_LISTEN_CB = 11,
	BPF_SOCK_OPS_RTT_CB = 12,
	BPF_SOCK_OPS_HDR_OPT_LEN_CB = 14,
};

enum { BPF_SOCK_OPS_STATE_CB_FLAG = 1 << 2, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG = 1 << 6 };
enum { BPF_TCP_CLOSE = 7 };
enum { TCX_NEXT = -1 };
enum { BPF_HDR_START_NET = 1 };
enum { BPF_F_INGRESS = 1 };
enum { BPF_F_MARK_MANGLED_0 = 1 << 5 };
enum { UTP_RECOGNISED = 0x75747021 }; /* in cb[0], of packets that utp.bpf.c governs */
enum { BPF_WRITE_HDR_TCP_CURRENT_MSS = 1 };

struct bpf_sockopt {
	struct bpf_sock *sk;
	void *optval;
	void *optval_end;
	__s32 level;
	__s32 optname;
	__s32 optlen;
	__s32 retval;
};

struct bpf_sock_addr {
	__u32 user_family;
	__u32 user_ip4;
	__u32 user_ip6[4];
	__u32 user_port; /* network byte order */
	__u32 family;
	__u32 type;
	__u32 protocol;
};

enum { IPPROTO_TCP = 6, IPPROTO_UDP = 17, IPPROTO_MPTCP = 262 };
enum { SOL_IP = 0, SOL_SOCKET = 1, SOL_TCP = 6, SOL_IPV6 = 41 };
enum { SO_PRIORITY = 12 };
enum { IP_TOS = 1, TCP_WINDOW_CLAMP = 10, TCP_CONGESTION = 13, IPV6_TCLASS = 67 };

#endif
