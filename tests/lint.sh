#!/bin/sh
# Format, clang-tidy and cppcheck over every C file. Needs a configured build folder (default: build).
# usage: tests/lint.sh [build folder]
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
[ -f "$build/compile_commands.json" ] || {
    echo "$build/compile_commands.json is missing: cmake -B $build -G Ninja -DIDEM_TEST_CLOCK=ON" >&2
    exit 2
}

# The fuzz targets are compiled by clang alone, in a build of their own.
sources=$(git ls-files '*.c' ':!tests/fuzz/*')

clang-format --dry-run -Werror $(git ls-files '*.c' '*.h')
# unknownMacro: json_array_foreach of jansson, whose header it does not read.
cppcheck --quiet --error-exitcode=1 --std=c11 --inline-suppr \
    --enable=warning,performance,portability \
    --suppress=missingInclude --suppress=missingIncludeSystem \
    --suppress=unknownMacro \
    -Iinclude -I"$build/include" -Iudf -Itests/support $(git ls-files '*.c')
# Its count of warnings in system headers goes to stderr with everything else that is no finding.
clang-tidy -p "$build" --quiet $sources 2>/dev/null
echo "lint: clean"
