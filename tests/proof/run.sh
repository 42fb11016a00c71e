#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The proof: attacks idem on private servers and prints what was found. Zero lost, zero doubled, and
# every core that was made wrong on purpose found out; anything else is exit code 1.
#
#   tests/proof/run.sh [--seed N] [--minutes M]
#   tests/proof/run.sh --long [MINUTES] [--seed N]
#
# M (default 4) is for the attacks, in runs of half a minute with seeds from N (default 1); the crash points
# take about ten minutes more, the broken cores three and the fuzzing two. --long is one server and one idemd under mixed
# load for MINUTES (default 60), some 20 days every half minute, proved every half minute; their memory,
# files and threads must not grow. Details go to stderr. IDEM_PROOF_BUILD names the build folder.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
build=${IDEM_PROOF_BUILD:-$source/build-proof}
seed=1
minutes=4
long=
while [ $# -gt 0 ]; do
    case $1 in
        --seed) seed=$2 ;;
        --minutes) minutes=$2 ;;
        --long)
            case ${2:-} in
                [0-9]*) long=$2 ;;
                *) long=60; set -- "$1" "$@" ;;
            esac ;;
        *) echo "usage: tests/proof/run.sh [--seed N] [--minutes M | --long [MINUTES]]" >&2; exit 2 ;;
    esac
    shift 2
done

cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DIDEM_TEST_CLOCK=ON >/dev/null
ninja -C "$build" proof >/dev/null
rows=$(mktemp)
trap 'rm -f "$rows" "$rows.why" "$rows.inputs"' EXIT
trap 'exit 130' INT TERM
failed=0

# attack RUNS OPTIONS...: that many runs, added up to one row.
attack() {
    runs=$1
    shift
    : > "$rows"
    for i in $(seq "$runs"); do
        "$build/tests/proof" --seed $((seed + i - 1)) "$@" >> "$rows" || failed=1
    done
    row "$runs"
}

row() {
    awk -F '|' -v runs="$1" '{ name = $1; calls += $2; faults += $3; lost += $4; doubled += $5 }
        END { printf "%-38s %5d %9d %13d %6d %8d\n", name, runs, calls, faults, lost, doubled }' "$rows"
}

# see BREAK OPTIONS...: a broken core. Some faults need luck, or a machine with time: up to four tries,
# each twice as long.
see() {
    for try in 0 1 2 3; do
        "$build/tests/proof" --seed $((seed + try)) --seconds $((10 << try)) --break "$@" > "$rows" 2>"$rows.why" && break
    done || { cat "$rows.why" >&2; failed=1; }
    row "$((try + 1))"
}

printf '%-38s %5s %9s %13s %6s %8s\n' attack runs calls 'faults found' lost doubled
if [ -n "$long" ]; then
    attack 1 --long "$long"
    [ "$failed" -eq 0 ] || { echo "proof: FAILED: see above"; exit 1; }
    echo "proof: nothing lost, nothing doubled, nothing grew"
    exit 0
fi
attack "$minutes" --seconds 30
attack "$minutes" --seconds 30 --crash
attack "$minutes" --seconds 10 --hostile
for flush in 1 2 0; do
    attack 1 --points claims --flush $flush
    attack 1 --points commits --flush $flush
    attack 2 --points days --stride 6 --flush $flush
    attack 1 --points install --stride 80 --flush $flush
done
if command -v clang >/dev/null; then
    faults=0
    "$source/tests/fuzz.sh" 15 > "$rows.inputs" || { faults=1 failed=1; }
    awk -v faults=$faults '{ calls += $2 } END { print "fuzzed parsers, filters and HTTP|" calls "|" faults "|0|0" }' \
        "$rows.inputs" > "$rows"
    row "$(wc -l < "$rows.inputs")"
else
    echo "proof: SKIPPED: the fuzzing needs clang" >&2
fi
for broken in $("$build/tests/proof" --list); do
    see "$broken"
done
see bare-literal --hostile
attack 1 --points claims --stride 9 --break commit-first
if [ "$failed" -ne 0 ]; then
    echo "proof: FAILED: an attack found something, or a broken core was not seen"
    exit 1
fi
echo "proof: nothing lost, nothing doubled; every broken core was seen"
