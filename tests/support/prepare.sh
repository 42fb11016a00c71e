# SPDX-License-Identifier: GPL-2.0-only
# Sourced by tests/demo.sh and tests/all.sh: brings a bare Debian machine to where idem can be built and
# tested. Needs root only if something has to be installed. No server of the machine is started or touched.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

packages=(
    build-essential cmake ninja-build pkg-config
    mariadb-server-core mariadb-client mariadb-backup libmariadbd-dev libmariadb-dev libssl-dev galera-4
    libmicrohttpd-dev libsystemd-dev libjansson-dev libcmocka-dev
    valgrind libasan8 libubsan1 openssl
)
# What check/lint and check/fuzz need. They ask no server, so once is enough.
[ -n "${IDEM_NO_LINT:-}" ] || packages+=(clang clang-format clang-tidy libclang-rt-dev cppcheck)

missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    echo "Installing ${missing[*]} ..."
    if [ "$(id -u)" -ne 0 ]; then
        echo "$0: these packages are missing and only root can install them" >&2
        exit 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    log=$(mktemp)
    if ! { apt-get update -q && apt-get install -q -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        exit 1
    fi
    rm -f "$log"
fi

# build_idem FOLDER [CMAKE-OPTION...]: configures and builds, quietly unless it fails.
build_idem() {
    local folder=$1
    local log
    shift
    log=$(mktemp)
    echo "Building in $folder ..."
    if ! { cmake -S "$root" -B "$folder" -G Ninja "$@" && cmake --build "$folder"; } >"$log" 2>&1; then
        tail -n 40 "$log" >&2
        exit 1
    fi
    rm -f "$log"
}
