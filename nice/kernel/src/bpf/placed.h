/* SPDX-License-Identifier: GPL-2.0-only */
/* What a cgroup has given to each of its sockets: for the program that compares it later. */
#ifndef NETNICE_PLACED_H
#define NETNICE_PLACED_H

#include "cgroup_types.h"
#include <bpf/bpf_helpers.h>
#include "abi.h"

/*
 * Settings of the cgroup that governs a socket. A record of its own: that of `flows` ends when another
 * program takes the control off.
 */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct attachment);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} placed SEC(".maps");

#endif
