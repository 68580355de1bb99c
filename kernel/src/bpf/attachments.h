/* SPDX-License-Identifier: GPL-2.0-only */
/* The settings of cgroups, which the programs that are attached to them share. */
#ifndef NETNICE_ATTACHMENTS_H
#define NETNICE_ATTACHMENTS_H

#include "cgroup_types.h"
#include <bpf/bpf_helpers.h>
#include "abi.h"

/*
 * The settings of each cgroup that the programs are attached to, keyed by the cgroup's id. The
 * kernel makes an entry, zeroed, when a program is attached, and removes it with the cgroup.
 */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_STORAGE);
	__type(key, u64);
	__type(value, struct attachment);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} attachments SEC(".maps");

#endif
