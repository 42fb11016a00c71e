/* SPDX-License-Identifier: GPL-2.0-only */
/* B8: what the filter of a day costs and how often it says "maybe" for nothing. */
#include "bench.h"

void bench_filter(void)
{
    report_skipped("B8", "this build has no filters");
}
