// SPDX-License-Identifier: GPL-2.0-only
/* HSTCP-LP at the receiving end: policies/hstcplp.h, by one-way delays of the data. */
#include "hstcplp.h"
#define RECEIVER_POLICY hstcplp
#include "receive_arrivals.h"
#include "receive.h"

char _license[] SEC("license") = "GPL";
