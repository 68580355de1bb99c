/* SPDX-License-Identifier: GPL-2.0-only */
/* Floors under groups of connections: the rates that user space sets, and what the connections share. */
#ifndef NETNICE_FLOORS_H
#define NETNICE_FLOORS_H

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include "floor.h"

/* Rates in bytes per second, by group. User space writes and removes the entries, at any time. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, u64);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} floor_rates SEC(".maps");

/*
 * Declares the floors of a direction, by group, which TCP and uTP share, and the function that returns the
 * floor of a group, with its rate as of now; NULL without one. It is not inlined: kernels before 6.6 round
 * the stack of each function up to 32 bytes, and netnice's would exceed 512 with what this needs.
 */
#define FLOORS(name, find)                                                                         \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_LRU_HASH);                                               \
		__uint(max_entries, 4096);                                                         \
		__type(key, u64);                                                                  \
		__type(value, struct floor);                                                       \
		__uint(pinning, LIBBPF_PIN_BY_NAME);                                               \
	} name SEC(".maps");                                                                       \
                                                                                                   \
	static __noinline struct floor *find(u64 group)                                            \
	{                                                                                          \
		const u64 *bytes_per_s = group ? bpf_map_lookup_elem(&floor_rates, &group) : 0;    \
		struct floor unknown = {};                                                         \
		struct floor *floor;                                                               \
                                                                                                   \
		if (!bytes_per_s || !*bytes_per_s)                                                 \
			return 0;                                                                  \
		floor = bpf_map_lookup_elem(&name, &group);                                        \
		if (!floor) {                                                                      \
			bpf_map_update_elem(&name, &group, &unknown, BPF_NOEXIST);                 \
			floor = bpf_map_lookup_elem(&name, &group);                                \
		}                                                                                  \
		if (floor)                                                                         \
			floor->bytes_per_s = *bytes_per_s;                                         \
		return floor;                                                                      \
	}

#endif
