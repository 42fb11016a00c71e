#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The unit tests under AddressSanitizer and UndefinedBehaviorSanitizer, in a build folder of their own.
set -eu
cd "$(dirname "$0")/.."
cmake -B build-sanitize -G Ninja -DIDEM_SANITIZE=address,undefined >/dev/null
cmake --build build-sanitize >/dev/null
ctest --test-dir build-sanitize --output-on-failure -R '^unit/'
