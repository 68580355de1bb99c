/* SPDX-License-Identifier: GPL-2.0-only */
/* The contexts of iterators, and the kernel types that only these touch. */
#ifndef NETNICE_ITERATOR_TYPES_H
#define NETNICE_ITERATOR_TYPES_H

#include "kernel_types.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct sock *sk;
	void *value;
};

struct bpf_iter__bpf_map_elem {
	struct bpf_iter_meta *meta;
	void *key;
	void *value;
};

struct inode {
	unsigned long i_ino;
};

struct socket_alloc {
	struct inode vfs_inode;
};

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

struct nsproxy {
	struct net *net_ns;
};

struct task_struct {
	struct nsproxy *nsproxy;
};

#pragma clang attribute pop

#endif
