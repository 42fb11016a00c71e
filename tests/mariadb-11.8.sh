#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs all tests but lint and fuzz on MariaDB 11.8: puts Debian 13 into a folder (once; IDEM_TRIXIE, default
# /var/cache/idem/trixie), copies the sources there and calls tests/all.sh in it. As root. Arguments go to
# ctest. Exits 0 with SKIPPED where Debian 13 or its packages cannot be had.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${IDEM_TRIXIE:-/var/cache/idem/trixie}

skip() {
    echo "SKIPPED: tests on MariaDB 11.8: $*"
    exit 0
}

[ "$(id -u)" -eq 0 ] || skip "only root can make the folder for Debian 13"
if [ ! -e "$folder/.complete" ]; then
    command -v debootstrap >/dev/null || apt-get install -q -y --no-install-recommends debootstrap >/dev/null 2>&1 ||
        skip "debootstrap cannot be installed"
    mirror=$(grep -rhoE '(^URIs: *|^deb .*)https?://[^ ]*/debian/?( |$)' /etc/apt/sources.list* 2>/dev/null |
        grep -oE 'https?://[^ ]*' | head -n 1) || true
    [ -n "$mirror" ] || skip "no Debian mirror is configured"
    rm -rf --one-file-system "$folder"
    mkdir -p "$folder"
    echo "Putting Debian 13 into $folder ..."
    debootstrap --variant=minbase trixie "$folder" "$mirror" >"$folder.log" 2>&1 ||
        skip "debootstrap failed, see $folder.log"
    for file in /etc/apt/apt.conf.d/*proxy* /etc/resolv.conf /etc/hosts; do
        [ -e "$file" ] && cp "$file" "$folder$file"
    done
    touch "$folder/.complete"
fi

rm -rf "$folder/idem"
mkdir "$folder/idem"
git -C "$root" ls-files -z | tar -C "$root" --null -T - -cf - | tar -C "$folder/idem" -xf -

# inside COMMAND...: with mounts and processes of its own, all gone when this script ends, however it ends.
inside() {
    unshare --mount --pid --fork --kill-child /bin/bash -c '
        mount --rbind --make-rslave /sys "$0/sys" && mount --rbind --make-rslave /dev "$0/dev" &&
            mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$folder" "$@"
}
inside true 2>/dev/null || skip "cannot mount anything in $folder"
export IDEM_NO_LINT=1
inside /bin/bash -c 'cd /idem && source tests/support/prepare.sh' || skip "its packages cannot be installed"
inside /bin/bash -c 'cd /idem && exec tests/all.sh "$@"' all.sh "$@"
