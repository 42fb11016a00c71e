#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Shows what idem is for: a payment service with eight clients behind an unreliable network carries out 500
# payments, first without idem, then with it. Installs what is needed (Debian, as root), builds, and starts
# a private MariaDB in a scratch folder; nothing else on the machine is touched.
#   --keep   leave the server running and say how to connect
#   --help   this text
set -euo pipefail

keep=
for argument in "$@"; do
    case $argument in
    --keep) keep=1 ;;
    --help)
        sed -n '3,8s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *)
        echo "demo.sh: unknown option $argument (see --help)" >&2
        exit 2
        ;;
    esac
done

source "$(dirname "${BASH_SOURCE[0]}")/support/prepare.sh"
build_idem "$root/build-demo" -DBUILD_TESTING=ON

scratch=$(mktemp -d /tmp/idem-demo-XXXXXX)
export TMPDIR=$scratch # a server that starts removes all temporary tables of its tmpdir
server=
cleanup() {
    [ -n "$server" ] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null
    rm -rf "$scratch"
}
trap cleanup EXIT

echo "Starting a private MariaDB in $scratch ..."
mkdir "$scratch/plugins"
cp "$root/build-demo/udf/idem.so" "$scratch/plugins/"
options=(--no-defaults --datadir="$scratch/data" --socket="$scratch/sock" --skip-networking
         --plugin-dir="$scratch/plugins" --pid-file="$scratch/pid" --log-bin --binlog-format=ROW
         --character-set-server=utf8mb4)
[ "$(id -u)" -eq 0 ] && options+=(--user=root)
mariadb-install-db --no-defaults --datadir="$scratch/data" --skip-test-db \
    --auth-root-authentication-method=normal $([ "$(id -u)" -eq 0 ] && echo --user=root) >"$scratch/install.log" 2>&1 ||
    { tail "$scratch/install.log" >&2; exit 1; }
mariadbd "${options[@]}" >"$scratch/log" 2>&1 &
server=$!
client=(mariadb --no-defaults -uroot -S "$scratch/sock")
for _ in $(seq 300); do
    "${client[@]}" -e 'SELECT 1' >/dev/null 2>&1 && break
    kill -0 "$server" 2>/dev/null || { tail -n 20 "$scratch/log" >&2; exit 1; }
    sleep 0.1
done
"${client[@]}" -N <"$root/build-demo/sql/install.sql"

echo
"$root/build-demo/tests/payments" "$scratch/sock"

if [ -n "$keep" ]; then
    trap - EXIT
    disown "$server"
    echo
    echo "The server stays up. Connect:  ${client[*]}"
    echo "Try:                           SELECT idem_claim('payment', 'order-1');"
    echo "Stop it and remove everything: kill $server && rm -rf $scratch"
fi
