// SPDX-License-Identifier: GPL-2.0-only
/* netnice as shipped, with a record of each call. */
#include "record.h"
#include "netnice.bpf.c"
