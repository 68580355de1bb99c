/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of netnice's decisions, for those who ask for them (`run --decisions`): user space puts a ring buffer of its
 * own into the map for a group. Without one a transition costs a look-up, and an ACK without a transition a comparison.
 */
#ifndef NETNICE_DECISION_RECORD_H
#define NETNICE_DECISION_RECORD_H

#include "maps.h"
#include "netnice/netnice.h"

#define DECIDING_GROUPS 256

/* Ring buffers of `struct decision`, by group; user space creates and removes the entries. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, DECIDING_GROUPS);
	__type(key, u64);
	__type(value, u32);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_RINGBUF);
			__uint(max_entries, 4096); /* of this example alone */
		});
} decisions SEC(".maps");

/* The transitions of a connection that have been told. */
struct told {
	u32 moves;
	u8 phase;
};

/*
 * Completes a record of the transitions that have not been told, and writes it if the group wants it. It is not inline,
 * as its callers are not: the programs' own stacks have no room for a record.
 */
static __noinline void write_decision(u64 group, const struct netnice *state, struct told *told,
				      struct decision *record)
{
	void *ring = bpf_map_lookup_elem(&decisions, &group);

	record->time_ns = bpf_ktime_get_ns();
	record->number = state->decided.moves;
	record->moves = state->decided.moves - told->moves;
	record->queue_us = state->measured.latest_queue_us;
	record->threshold_us = netnice_threshold_us(state);
	record->before = told->phase;
	record->after = state->decided.phase;
	record->reason = state->decided.reason;
	told->moves = state->decided.moves;
	told->phase = state->decided.phase;
	/* What a full buffer has no room for is left out: `number` of the next record shows it. The reader looks by itself. */
	if (ring)
		bpf_ringbuf_output(ring, record, sizeof(*record), BPF_RB_NO_WAKEUP);
}

#endif
