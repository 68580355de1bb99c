// SPDX-License-Identifier: MIT OR Apache-2.0
/* Gives the functions of a control in a file addresses. Compiled with a call at each step. */
#include CONTROL_FILE

_Static_assert(sizeof(struct control) <= CONTROL_BYTES, "struct control has at most 72 bytes");

void netnice_call_ack(void *state, const struct control_ack *ack, struct control_window *window);
u32 netnice_call_loss(void *state, const struct control_loss *loss);
u32 netnice_call_timeout(void *state, const struct control_loss *loss);

void netnice_call_ack(void *state, const struct control_ack *ack, struct control_window *window)
{
	control_on_ack(state, ack, window);
}

u32 netnice_call_loss(void *state, const struct control_loss *loss)
{
	return control_on_loss(state, loss);
}

u32 netnice_call_timeout(void *state, const struct control_loss *loss)
{
	return control_on_timeout(state, loss);
}
