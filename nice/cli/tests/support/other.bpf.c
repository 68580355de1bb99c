// SPDX-License-Identifier: GPL-2.0-only
/*
 * A socket program of somebody else, as tuning tools have: once a connection is established it replaces
 * the callback flags, and sets a control.
 */
struct bpf_sock_ops {
	unsigned int op;
};

enum { ACTIVE_ESTABLISHED = 4, PASSIVE_ESTABLISHED = 5, RETRANSMISSIONS = 1 << 1 };
enum { LEVEL_TCP = 6, CONGESTION = 13 };

/* Numbers of helpers, from linux/bpf.h. */
static long (*set_option)(struct bpf_sock_ops *, int, int, const void *, int) = (void *)49;
static long (*set_flags)(struct bpf_sock_ops *, int) = (void *)59;

__attribute__((section("license"), used)) char license_of_all[] = "GPL";

__attribute__((section("sockops"), used)) int tune(struct bpf_sock_ops *event)
{
	const char control[] = "reno";

	if (event->op == ACTIVE_ESTABLISHED || event->op == PASSIVE_ESTABLISHED) {
		set_flags(event, RETRANSMISSIONS);
		set_option(event, LEVEL_TCP, CONGESTION, control, sizeof(control));
	}
	return 1;
}
