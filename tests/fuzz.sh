#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Fuzzes everything that reads foreign bytes, with AddressSanitizer and UndefinedBehaviorSanitizer:
# tests/fuzz.sh [SECONDS], for each target (default 60). Prints how many inputs each was given. Needs clang.
# An input that one fails on is left in build-fuzz/, and its report on stderr.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
CC=clang cmake -B build-fuzz -G Ninja -DIDEM_FUZZ=ON -DIDEM_SANITIZE=address,undefined >/dev/null
cmake --build build-fuzz --target fuzz >/dev/null
report=$(mktemp)
trap 'rm -f "$report"' EXIT
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    if ! build-fuzz/tests/"$name" -max_total_time="$seconds" -timeout=30 -print_final_stats=1 -close_fd_mask=3 \
        -artifact_prefix=build-fuzz/"$name"- >"$report" 2>&1; then
        cat "$report" >&2
        exit 1
    fi
    printf '%-14s %10d inputs\n' "$name" \
        "$(sed -n 's/^stat::number_of_executed_units: *//p' "$report")"
done
