/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Maps that all BPF objects of netnice share. They are pinned by name: the object loaded first
 * creates them, and the others find them.
 */
#ifndef NETNICE_MAPS_H
#define NETNICE_MAPS_H

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include "abi.h"

/*
 * One `struct flow` in every socket that one of netnice's controls governs. Connections accepted
 * from a listening socket start with a copy of its record: its parameters, and its group.
 */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct flow);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} flows SEC(".maps");

/* Sums over finished connections, by group; user space creates and removes the entries. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct totals);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} totals SEC(".maps");

/* Latest finished connections without a group, keyed by the socket's cookie. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct finished);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} finished SEC(".maps");

#endif
