// SPDX-License-Identifier: GPL-2.0-only
/* tcplp as shipped, with a record of each call. */
#include "record.h"
#include "tcplp.bpf.c"
