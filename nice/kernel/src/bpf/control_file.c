// SPDX-License-Identifier: GPL-2.0-only
/*
 * A control in a file (policies/control.h): passes the kernel's events to its functions.
 * Compiled when the control is used; CONTROL_FILE is its path, CONTROL_NAME its name in the kernel.
 */
#include "connection.h"
#include CONTROL_FILE

char _license[] SEC("license") = "GPL";

struct control_connection {
	struct policy_report report; /* must be first */
	struct control control;
	u32 rtt_us; /* of the newest packet acknowledged */
	u32 cwnd;   /* as the next, when the kernel last requested ssthresh */
	u32 in_flight;
	u8 is_reduced; /* the state that follows says whether by a loss or an RTO */
};

_Static_assert(sizeof(struct control) <= CONTROL_BYTES, "struct control may have 72 bytes");
_Static_assert(sizeof(struct control_connection) <= 104, "state must fit icsk_ca_priv");

static __always_inline struct control_loss loss_of(struct sock *sk)
{
	const struct control_connection *connection = congestion_state(sk);
	struct control_loss loss = {
		.now_us = (u32)tcp_sk(sk)->tcp_mstamp,
		.cwnd = connection->cwnd,
		.in_flight = connection->in_flight,
	};

	return loss;
}

SEC("struct_ops")
void BPF_PROG(file_begin, struct sock *sk)
{
	__builtin_memset(congestion_state(sk), 0, sizeof(struct control_connection));
	flow_begin(sk);
}

SEC("struct_ops")
void BPF_PROG(file_end, struct sock *sk)
{
	flow_end(sk, congestion_state(sk));
}

/* Called for each ACK of new data, before `cong_avoid`. */
SEC("struct_ops")
void BPF_PROG(file_packets_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct control_connection *connection = congestion_state(sk);

	connection->rtt_us = sample->rtt_us > 0 ? sample->rtt_us : 0;
}

SEC("struct_ops")
void BPF_PROG(file_cong_avoid, struct sock *sk, u32 sequence, u32 acked)
{
	struct control_connection *connection = congestion_state(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct control_ack ack = {
		.now_us = (u32)tp->tcp_mstamp,
		.rtt_us = connection->rtt_us,
		.smoothed_rtt_us = smoothed_rtt_us(tp),
		.minimum_rtt_us = minimum_rtt_us(tp),
		.acked = acked,
		.in_flight = packets_in_flight(tp),
		.cwnd_limited = cwnd_limited(tp),
	};
	struct control_window window = {
		.cwnd = tp->snd_cwnd,
		.ssthresh = tp->snd_ssthresh,
	};

	control_on_ack(&connection->control, &ack, &window);
	tp->snd_ssthresh = window.ssthresh;
	set_cwnd(tp, policy_max(window.cwnd, 1));
	flow_report(sk, &connection->report);
}

/*
 * The kernel requests ssthresh for a loss, a mark and an RTO alike, and enters the state that tells
 * them apart afterwards. Until then the control's state stays as it was.
 */
SEC("struct_ops")
u32 BPF_PROG(file_ssthresh, struct sock *sk)
{
	struct control_connection *connection = congestion_state(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct control tried = connection->control;
	struct control_loss loss;

	connection->cwnd = tp->snd_cwnd;
	connection->in_flight = packets_in_flight(tp);
	connection->is_reduced = 1;
	loss = loss_of(sk);
	return control_on_loss(&tried, &loss);
}

SEC("struct_ops")
void BPF_PROG(file_set_state, struct sock *sk, u8 new_state)
{
	struct control_connection *connection = congestion_state(sk);
	struct control_loss loss = loss_of(sk);

	if (!connection->is_reduced)
		return;
	connection->is_reduced = 0;
	if (new_state == TCP_CA_Loss)
		tcp_sk(sk)->snd_ssthresh = control_on_timeout(&connection->control, &loss);
	else
		control_on_loss(&connection->control, &loss);
}

SEC("struct_ops")
u32 BPF_PROG(file_undo_cwnd, struct sock *sk)
{
	return cwnd_before_recovery(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops file = {
	.init = (void *)file_begin,
	.release = (void *)file_end,
	.pkts_acked = (void *)file_packets_acked,
	.cong_avoid = (void *)file_cong_avoid,
	.ssthresh = (void *)file_ssthresh,
	.set_state = (void *)file_set_state,
	.undo_cwnd = (void *)file_undo_cwnd,
	/* Not for all users: nobody has judged what it takes. */
	.name = CONTROL_NAME,
};
