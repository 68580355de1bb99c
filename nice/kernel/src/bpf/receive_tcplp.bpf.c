// SPDX-License-Identifier: GPL-2.0-only
/* TCP-LP at the receiving end: policies/tcplp.h, by one-way delays of the data. */
#include "tcplp.h"
#define RECEIVER_POLICY tcplp
#include "receive_arrivals.h"
#include "receive.h"

char _license[] SEC("license") = "GPL";
