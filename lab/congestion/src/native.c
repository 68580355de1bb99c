// SPDX-License-Identifier: MIT OR Apache-2.0
/* Gives the policies' inline functions addresses, so that Rust can call them. */
#include "arrivals.h"
#include "dstcp.h"
#include "hstcplp.h"
#include "ledbat.h"
#include "ledbatpp.h"
#include "netnice/above_floor.h"
#include "netnice/netnice.h"
#include "receiver.h"
#include "receiver_floor.h"
#include "receiver_round_trip.h"
#include "tcplp.h"
#include "tcplp_ecn.h"
#include "tcpnice.h"
#include "utp.h"

/*
 * The functions of a policy that sets the window from TCP-LP's ACKs (struct tcplp_ack), in a kernel
 * and in the simulator. Its state begins with its report. `on_ack` returns the window in packets
 * after an ACK that `sample` has taken, a smaller one being the new ssthresh as well; `on_loss`
 * returns ssthresh. `pause_us` returns the interval between packets of a window below one packet,
 * otherwise 0, and always 0 unless `may_pause`. `on_restart` ends an idle time.
 *
 * Each is a receiver's policy as well, by arrivals.h.
 */
#define NATIVE_DELAY_POLICY(name)                                                                  \
	void native_##name##_init(struct name *state, const struct policy_parameters *wanted)      \
	{                                                                                          \
		name##_init(state, wanted);                                                        \
	}                                                                                          \
	void native_##name##_sample(struct name *state, const struct tcplp_ack *ack)               \
	{                                                                                          \
		name##_sample(state, ack);                                                         \
	}                                                                                          \
	u32 native_##name##_on_ack(struct name *state, const struct tcplp_ack *ack)                \
	{                                                                                          \
		return name##_on_ack(state, ack);                                                  \
	}                                                                                          \
	u32 native_##name##_on_loss(struct name *state, u32 cwnd, u32 now_us)                      \
	{                                                                                          \
		return name##_on_loss(state, cwnd, now_us);                                        \
	}                                                                                          \
	u32 native_##name##_pause_us(const struct name *state, u32 cwnd, u32 smoothed_rtt_us)      \
	{                                                                                          \
		return name##_pause_us(state, cwnd, smoothed_rtt_us);                              \
	}                                                                                          \
	void native_##name##_on_restart(struct name *state)                                        \
	{                                                                                          \
		name##_on_restart(state);                                                          \
	}                                                                                          \
	ARRIVALS_RECEIVER(name)                                                                    \
	void native_##name##_receiver_init(                                                        \
		struct name##_receiver *state, const struct policy_parameters *wanted,             \
		enum arrivals_delay delay, u32 window_bytes, u32 mss, u32 now_us)                  \
	{                                                                                          \
		name##_receiver_init(state, wanted, delay, window_bytes, mss, now_us);             \
	}                                                                                          \
	u32 native_##name##_receiver_window(struct name##_receiver *state,                         \
					    const struct receiver_segment *segment)                \
	{                                                                                          \
		return name##_receiver_window(state, segment);                                     \
	}                                                                                          \
	void native_##name##_receiver_time(                                                        \
		struct receiver_round_trip *trip, const struct name##_receiver *state,             \
		struct receiver_segment *segment, const struct receiver_advertised *advertised)    \
	{                                                                                          \
		struct receiver_known known = arrivals_known(&state->arrivals);                    \
                                                                                                   \
		receiver_time(trip, &known, segment, advertised);                                  \
	}                                                                                          \
	u32 native_##name##_receiver_clamp_bytes(const struct name##_receiver *state)              \
	{                                                                                          \
		return arrivals_window_bytes(&state->arrivals);                                    \
	}                                                                                          \
	_Static_assert(sizeof(struct name##_receiver) <= 192,                                      \
		       "state must have the size of src/receivers/arrivals.rs");                   \
	_Static_assert(sizeof(struct name) <= 104, "state must fit icsk_ca_priv")

NATIVE_DELAY_POLICY(tcplp);
NATIVE_DELAY_POLICY(hstcplp);
NATIVE_DELAY_POLICY(ledbat);
NATIVE_DELAY_POLICY(ledbatpp);
NATIVE_DELAY_POLICY(tcpnice);
NATIVE_DELAY_POLICY(tcplp_ecn);

u32 native_tcplp_ecn_on_mark(struct tcplp_ecn *state, const struct tcplp_ack *ack)
{
	return tcplp_ecn_on_mark(state, ack);
}

void native_netnice_init(struct netnice *state, const struct policy_parameters *wanted)
{
	netnice_init(state, wanted);
}

void native_netnice_on_handshake(struct netnice *state, u32 rtt_us)
{
	netnice_on_handshake(state, rtt_us);
}

u32 native_netnice_on_ack(struct netnice *state, const struct netnice_ack *ack)
{
	return netnice_on_ack(state, ack);
}

void native_netnice_on_undo(struct netnice *state, u32 cwnd)
{
	netnice_on_undo(state, cwnd);
}

/* What a record of decisions takes from the state: moves, phase, reason, queueing delay and threshold. */
void native_netnice_decided(const struct netnice *state, u32 decided[5])
{
	decided[0] = state->decided.moves;
	decided[1] = state->decided.phase;
	decided[2] = state->decided.reason;
	decided[3] = state->measured.latest_queue_us;
	decided[4] = netnice_threshold_us(state);
}

u32 native_netnice_burst_packets(const struct netnice *state)
{
	return netnice_burst_packets(state);
}

u32 native_netnice_pacing_us(const struct netnice *state, u32 cwnd, u32 smoothed_rtt_us)
{
	return netnice_pacing_us(state, cwnd, smoothed_rtt_us);
}

u64 native_floor_bytes_per_s(const struct policy_parameters *wanted)
{
	return floor_bytes_per_s(wanted);
}

u32 native_floor_on_ack(struct netnice *state, struct floor *floor, struct floor_member *member,
			const struct netnice_ack *ack, u32 rtt_us, u32 mss)
{
	return netnice_floor_on_ack(state, floor, member, ack, rtt_us, mss);
}

u32 native_floor_pacing_us(const struct netnice *state, const struct floor_member *member, u32 cwnd,
			   u32 rtt_us, u32 mss)
{
	return netnice_floor_pacing_us(state, member, cwnd, rtt_us, mss);
}

u32 native_floor_burst_packets(const struct netnice *state, const struct floor_member *member)
{
	return netnice_floor_burst_packets(state, member);
}

u32 native_floor_cube_root(u64 cube)
{
	return floor_cube_root(cube);
}

/* The table, for the test that computes it. */
u32 native_hstcplp_row(u32 row, u32 *decrease)
{
	if (row >= HSTCPLP_ROWS)
		return 0;
	*decrease = hstcplp_rows[row].decrease;
	return hstcplp_rows[row].cwnd;
}

void native_dstcp_init(struct dstcp *state, const struct policy_parameters *wanted)
{
	dstcp_init(state, wanted);
}

void native_dstcp_set_packet_bytes(struct dstcp *state, u32 packet_bytes)
{
	state->packet_bytes = packet_bytes;
}

void native_dstcp_on_ack(struct dstcp *state, const struct dstcp_ack *ack,
			 struct dstcp_window *window)
{
	dstcp_on_ack(state, ack, window);
}

u32 native_dstcp_on_loss(struct dstcp *state, u32 cwnd)
{
	return dstcp_on_loss(state, cwnd);
}

u32 native_dstcp_on_timeout(struct dstcp *state, u32 cwnd)
{
	return dstcp_on_timeout(state, cwnd);
}

u32 native_dstcp_ssthresh(const struct dstcp *state, u32 otherwise)
{
	return dstcp_ssthresh(state, otherwise);
}

void native_dstcp_on_ecn_echo(struct dstcp *state, u32 in_profile, struct dstcp_window *window)
{
	dstcp_on_ecn_echo(state, in_profile, window);
}

u32 native_dstcp_within_profile(const struct dstcp *state, u32 cwnd)
{
	return dstcp_within_profile(state, cwnd);
}

void native_receiver_init(struct receiver *state, const struct policy_parameters *wanted,
			  u32 window_bytes, u32 mss, u32 now_us)
{
	receiver_init(state, wanted, window_bytes, mss, now_us);
}

u32 native_receiver_window(struct receiver *state, const struct receiver_segment *segment)
{
	return receiver_window(state, segment);
}

void native_receiver_adopt_path(struct receiver *state, struct receiver_path *path,
				const struct receiver_segment *segment)
{
	receiver_adopt_path(state, path, segment);
}

void native_receiver_share_path(const struct receiver *state, struct receiver_path *path,
				const struct receiver_segment *segment)
{
	receiver_share_path(state, path, segment);
}

void native_receiver_decided(const struct receiver *state, u32 decided[5])
{
	native_netnice_decided(&state->policy, decided);
}

u32 native_receiver_clamp_bytes(const struct receiver *state)
{
	return receiver_clamp_bytes(state);
}

u8 native_receiver_others_probe(const struct receiver_group *group, u32 number, u32 now_us)
{
	return receiver_others_probe(group, number, now_us);
}

void native_receiver_share_probing(const struct receiver *state, struct receiver_group *group,
				   u32 number, u32 now_us)
{
	receiver_share_probing(state, group, number, now_us);
}

void native_receiver_time(struct receiver_round_trip *trip, const struct receiver *state,
			  struct receiver_segment *segment,
			  const struct receiver_advertised *advertised)
{
	struct receiver_known known = receiver_known(state);

	receiver_time(trip, &known, segment, advertised);
}

u32 native_receiver_floor_is_hidden(const struct receiver *state, const struct receiver_floor *own,
				    const struct receiver_segment *segment)
{
	return receiver_floor_is_hidden(state, own, segment);
}

void native_receiver_floor_hide(struct receiver *state, const struct receiver_segment *segment)
{
	receiver_floor_hide(state, segment);
}

u32 native_receiver_floor_window(const struct receiver *state, struct floor *floor,
				 struct receiver_floor *own, const struct receiver_segment *segment,
				 u32 low_bytes)
{
	return receiver_floor_window(state, floor, own, segment, low_bytes);
}

u32 native_utp_read(struct utp_packet *packet, const u8 header[UTP_HEADER_BYTES], u32 bytes)
{
	return utp_read(packet, header, bytes);
}

u32 native_utp_on_departure(struct utp_flow *flow, const struct utp_packet *packet, u32 now_us)
{
	utp_count(&flow->leaving, packet);
	return utp_follow_clock(flow, packet->stamp_us, now_us);
}

void native_utp_on_arrival(struct utp_flow *flow, const struct utp_packet *packet, u32 now_us)
{
	utp_count(&flow->arriving, packet);
	utp_on_arrival(flow, packet, now_us);
}

/* Returns the window to write into a packet that leaves, or that has arrived; 0 to leave it as it is. */
u32 native_utp_window(struct utp_flow *flow, const struct policy_parameters *wanted,
		      struct floor *floor, const struct utp_packet *packet, u32 now_us, u8 leaves)
{
	struct utp_side *side = leaves ? &flow->arriving : &flow->leaving;
	struct receiver_segment segment = { 0 };
	u32 low, above = 0;
	int governed = leaves ? utp_segment_of_departure(flow, wanted, packet, now_us, &segment) :
				utp_segment_of_arrival(flow, wanted, packet, now_us, &segment);

	if (!governed)
		return 0;
	if (floor->bytes_per_s &&
	    receiver_floor_is_hidden(&side->receiver, &side->floor, &segment)) {
		receiver_floor_hide(&side->receiver, &segment);
		low = side->receiver.window_bytes;
	} else {
		low = receiver_window(&side->receiver, &segment);
	}
	if (floor->bytes_per_s)
		above = receiver_floor_window(&side->receiver, floor, &side->floor, &segment, low);
	return utp_window(side, packet, policy_max(low, above));
}

/* Size that Rust and the kernel reserve for a state. */
_Static_assert(sizeof(struct netnice) <= 256, "state must fit State");
_Static_assert(sizeof(struct floor) == 96, "a floor must have the size of src/floor.rs");
_Static_assert(sizeof(struct floor_member) == 40,
	       "a member must have the size of src/above_floor.rs");
_Static_assert(sizeof(struct receiver_floor) == 56,
	       "a receiver's member must have the size of src/above_floor.rs");
_Static_assert(sizeof(struct dstcp) <= 104, "state must fit icsk_ca_priv");
_Static_assert(sizeof(struct receiver) <= 832, "state must fit src/receiver.rs");
_Static_assert(sizeof(struct utp_packet) == 24, "a packet must have the size of src/utp.rs");
_Static_assert(sizeof(struct utp_flow) <= 1840, "state must fit src/utp.rs");
_Static_assert(sizeof(struct receiver_group) == 20,
	       "a group must have the size of src/receiver.rs");
_Static_assert(sizeof(struct receiver_round_trip) == 280,
	       "round trips must have the size of src/receiver.rs");
