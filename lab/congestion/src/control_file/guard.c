// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Calls a control in a file, and returns from a call that takes too long. The limit is in steps, not
 * in time: a run has the same end on each machine. The compiler puts a call of the function of its
 * coverage interface before each basic block of the control.
 */
#define CONTROL_INTERFACE 1
#include "control.h"

#define MOST_STEPS 1000000U

/* Outside: netnice_call_* are in the other file. */
void netnice_call_ack(void *state, const struct control_ack *ack, struct control_window *window);
u32 netnice_call_loss(void *state, const struct control_loss *loss);
u32 netnice_call_timeout(void *state, const struct control_loss *loss);

int netnice_control_ack(void *state, const struct control_ack *ack, struct control_window *window);
int netnice_control_loss(void *state, const struct control_loss *loss, u32 *ssthresh);
int netnice_control_timeout(void *state, const struct control_loss *loss, u32 *ssthresh);
void __sanitizer_cov_trace_pc(void);

static __thread u32 steps;
static __thread void *back[5];

void __sanitizer_cov_trace_pc(void)
{
	if (++steps > MOST_STEPS)
		__builtin_longjmp(back, 1);
}

__attribute__((visibility("default"))) int
netnice_control_ack(void *state, const struct control_ack *ack, struct control_window *window)
{
	if (__builtin_setjmp(back))
		return 1;
	steps = 0;
	netnice_call_ack(state, ack, window);
	return 0;
}

__attribute__((visibility("default"))) int
netnice_control_loss(void *state, const struct control_loss *loss, u32 *ssthresh)
{
	if (__builtin_setjmp(back))
		return 1;
	steps = 0;
	*ssthresh = netnice_call_loss(state, loss);
	return 0;
}

__attribute__((visibility("default"))) int
netnice_control_timeout(void *state, const struct control_loss *loss, u32 *ssthresh)
{
	if (__builtin_setjmp(back))
		return 1;
	steps = 0;
	*ssthresh = netnice_call_timeout(state, loss);
	return 0;
}
