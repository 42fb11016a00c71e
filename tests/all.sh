#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Installs what is needed (Debian, as root), builds and runs all tests, two at a time: a single one
# leaves most of two cores idle. Arguments go to ctest, for example: tests/all.sh -j 1 -R interleavings
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/support/prepare.sh"

build_idem "$root/build" -DIDEM_TEST_CLOCK=ON
ctest --test-dir "$root/build" --output-on-failure -j 2 "$@"
