#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The unit tests, the stress on what sessions share, and idemd, under AddressSanitizer, LeakSanitizer and
# UndefinedBehaviorSanitizer; the stress under ThreadSanitizer too. In build folders of their own; idemd is put
# to the tests of BUILD: tests/sanitize.sh [BUILD] (default build).
set -eu
build=$(realpath "${1:-build}")
cd "$(dirname "$0")/.."
cmake -B build-sanitize -G Ninja -DIDEM_SANITIZE=address,undefined >/dev/null
cmake --build build-sanitize >/dev/null
ctest --test-dir build-sanitize --output-on-failure -R '^(unit|stress)/'
for test in commands run; do
    IDEM_TEST_DAEMON=$PWD/build-sanitize/daemon/idemd "$build/tests/daemon_test_$test"
done
cmake -B build-thread -G Ninja -DIDEM_SANITIZE=thread >/dev/null
cmake --build build-thread --target stress_shared >/dev/null
build-thread/tests/stress_shared 10
