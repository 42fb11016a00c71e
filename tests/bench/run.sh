#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Builds and runs the benchmark: idem against hand-written SQL on a private server.
#
#   tests/bench/run.sh [--scale small|full] [--only B2,B3] [--json FILE]
#
# small takes about seven minutes; full has the sizes that the targets are stated for and needs 12 GB of
# memory. It runs in a network namespace of its own, where 127.0.0.1 is made a link with a round trip of
# 0.5 ms (iproute2, root and the kernel's netem; sockets are not touched by it). IDEM_BENCH_BUILD names
# the build folder, IDEM_TEST_SCRATCH the folder for the server's data: put it on the disk to measure.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
build=${IDEM_BENCH_BUILD:-$source/build-bench}

if [ "${1:-}" = --in-namespace ]; then
    shift
    netem=
    ip link set lo up
    if tc qdisc add dev lo root netem delay 250us limit 100000 2>/dev/null; then
        netem=--netem
    else
        echo "bench: NO LINK: netem is not permitted or not in this kernel" >&2
    fi
    exec "$build/tests/bench" $netem "$@"
fi

cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
      -DIDEM_TEST_CLOCK=ON >/dev/null
ninja -C "$build" bench >/dev/null
echo "bench: $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)," \
     "$(mariadbd --version | sed 's/.*Ver //')"
scratch=$(mktemp -d "${IDEM_TEST_SCRATCH:-/tmp}/idem-bench-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
export IDEM_TEST_SCRATCH="$scratch"
if unshare -n true 2>/dev/null && command -v tc >/dev/null; then
    unshare -n "$0" --in-namespace "$@"
else
    echo "bench: NO LINK: needs root (unshare -n) and tc of iproute2" >&2
    "$build/tests/bench" "$@"
fi
