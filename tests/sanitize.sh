#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The unit tests, and the stress on what sessions share, under AddressSanitizer and
# UndefinedBehaviorSanitizer; the stress under ThreadSanitizer too. In build folders of their own.
set -eu
cd "$(dirname "$0")/.."
cmake -B build-sanitize -G Ninja -DIDEM_SANITIZE=address,undefined >/dev/null
cmake --build build-sanitize >/dev/null
ctest --test-dir build-sanitize --output-on-failure -R '^(unit|stress)/'
cmake -B build-thread -G Ninja -DIDEM_SANITIZE=thread >/dev/null
cmake --build build-thread --target stress_shared >/dev/null
build-thread/tests/stress_shared 10
