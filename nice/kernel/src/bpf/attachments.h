/* SPDX-License-Identifier: GPL-2.0-only */
/* Settings of cgroups, shared by the programs attached to them. */
#ifndef NETNICE_ATTACHMENTS_H
#define NETNICE_ATTACHMENTS_H

#include "cgroup_types.h"
#include <bpf/bpf_helpers.h>
#include "abi.h"

/*
 * Settings of each cgroup that the programs are attached to, keyed by the cgroup's id. The kernel
 * creates a zeroed entry when a program is attached, and removes it with the cgroup.
 */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_STORAGE);
	__type(key, u64);
	__type(value, struct attachment);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} attachments SEC(".maps");

#endif
