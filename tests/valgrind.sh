#!/bin/sh
# mariadbd with idem under valgrind, through one short scenario that calls every loadable function.
# Fails on every error that has a frame of idem in it; what is the server's own is not ours to judge.
# usage: tests/valgrind.sh [build folder]
set -eu
cd "$(dirname "$0")/.."
source=$PWD
build=$(cd "${1:-build}" && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/idem-valgrind-XXXXXX")
export TMPDIR="$scratch" # a server that starts removes all temporary tables of its tmpdir
server=
trap 'if [ -n "$server" ]; then kill -9 "$server" 2>/dev/null || true; fi; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

mkdir "$scratch/plugins"
cp "$build/udf/idem.so" "$scratch/plugins/"
mariadb-install-db --no-defaults --datadir="$scratch/data" --user=root --skip-test-db \
    --auth-root-authentication-method=normal --innodb-log-file-size=16M >"$scratch/install" 2>&1 || {
    tail -n 20 "$scratch/install" >&2
    exit 1
}

# keep-debuginfo: leaks are told at the end, when the library has gone. The server reserves 8 TiB of
# addresses for its buffer pool, unless told otherwise; valgrind has none to give.
valgrind --tool=memcheck --leak-check=full --show-leak-kinds=definite --num-callers=30 \
    --keep-debuginfo=yes --fullpath-after="$source/" --log-file="$scratch/valgrind" \
    mariadbd --no-defaults --datadir="$scratch/data" --socket="$scratch/sock" --skip-networking \
    --plugin-dir="$scratch/plugins" --user=root --log-bin=binlog --server-id=1 \
    --innodb-buffer-pool-size=16M --loose-innodb-buffer-pool-size-max=16M \
    --innodb-use-native-aio=OFF --character-set-server=utf8mb4 >"$scratch/log" 2>&1 &
server=$!

client() {
    mariadb --no-defaults -uroot -S "$scratch/sock" --default-character-set=utf8mb4 "$@"
}

tries=0
until client -e 'SELECT 1' >/dev/null 2>&1; do
    tries=$((tries + 1))
    if [ $tries -gt 600 ] || ! kill -0 "$server" 2>/dev/null; then
        echo "valgrind: the server did not start" >&2
        tail -n 20 "$scratch/log" "$scratch/valgrind" >&2
        exit 1
    fi
    sleep 0.5
done

client <"$build/sql/install.sql" >/dev/null
# -f: a good part of the scenario is meant to fail.
client -f >"$scratch/answers" 2>&1 <<'SQL'
SELECT idem_now_us(), idem_today(), idem_token(), idem_epoch(), idem_version(), idem_stats();
SELECT idem_payload_hash('{"b":[1,2.50,"\u00e9😀"],"a":{"x":null}}'), idem_payload_hash('{"a":1,"a":2}');
SELECT idem_payload_hash('{"a":1'), idem_payload_hash(REPEAT('[', 600)), idem_payload_hash(NULL);
SELECT idem_key('order', 42), idem_key(REPEAT('x', 300), 'y'), idem_key(NULL);
SELECT idem_backoff_ms(1), idem_backoff_ms(9, 10, 1000), idem_backoff_ms('x');
SELECT idem_retryable(1213), idem_retryable('x');
SELECT idem_setting('wait_ms'), idem_setting('x');
SELECT idem_count('CLAIMED'), idem_count('x'), idem_ack('x');
SELECT idem_check('claim', 'utf8mb4', 'p', 'k'), idem_check('claim', 'utf8mb4', 'p', '');
SELECT idem_admit('claim', 'utf8mb4', 'root@localhost', 'p', 'k', 1, 0);
SELECT idem_admit('claim', 'utf8mb4', 'nobody@nowhere', 'p', 'k', 1, 0);
SELECT idem_claim_day(), idem_look_days('', 'k', idem_today()), idem_look_days('', 'x', 'y');
SELECT idem_filter_has(idem_filter_build('', 'k', '2026-03-01'), '2026-03-01', '', 'k');
SELECT idem_policy('p', 'observe'), idem_policy('p', 'x'), idem_reload(), idem_galera();
SELECT idem_claim('p', 'k', '{"a":1}'), idem_claim('p', 'k', '{"a":1.0}', 0);
SELECT idem_claim('p', 'k', '{"a":2}');
SELECT idem_claim('q', 'k'), idem_claim('p', NULL), idem_claim('p', 'k', NULL, 'x');
SELECT idem_checkpoint('p', 'k', '{"step":1}'), idem_renew('p', 'k', 60), idem_peek('p', 'k');
SELECT idem_finish('p', 'k', '{');
SELECT idem_finish('p', 'k', '{"receipt":"é😀"}');
SELECT idem_claim('p', 'k', '{"a":1}'), idem_peek('p', 'k');
SELECT idem_claim('p', 'r'), idem_release('p', 'r'), idem_claim('p', 'r');
SELECT idem_fail('p', 'r', '{"why":1}', 1), idem_claim('p', 'r'), idem_fail('p', 'r', '{"why":2}');
SELECT idem_claim('p', 'r');
SELECT idem_consume('c', 'e'), idem_consume('c', 'e'), idem_consume('c', '');
BEGIN;
SELECT idem_consume_many('c', '["e", "f", {"id": "g", "payload": {"n": 1}}]');
COMMIT;
SELECT idem_begin('p', 'b'), idem_commit('p', 'b', '1');
SELECT idem_begin('p', 'b');
SELECT idem_commit('p', 'none', '1');
SELECT idem_finish('p', 'none', CONCAT('"', REPEAT('x', 2000000), '"'));
SELECT idem_claim('p', k) FROM (SELECT 'x' AS k FROM mysql.user) t;
BEGIN;
SELECT idem_claim('p', 'undone');
ROLLBACK;
CALL idem.claim('p', 'proc', REPEAT('x', 100000));
CALL idem.finish('p', 'proc', NULL, '[1]');
CALL idem.set_policy('p', 60, 'unknown', 1000, FALSE, TRUE);
CALL idem.allow('u', '%', 'p%');
SELECT idem_claim('p', 'k');
UNINSTALL PLUGIN idem;
SELECT idem_claim('p', 'k');
INSTALL PLUGIN idem SONAME 'idem';
SELECT idem_claim('p', 'k');
SQL
client <"$build/sql/uninstall.sql" >/dev/null
client -e SHUTDOWN
wait "$server" || true
server=

# The scenario itself must have gone through: all three kinds of answers are in it.
for word in '"state":"CLAIMED"' '"state":"DONE"' 52001; do
    grep -q "$word" "$scratch/answers" || {
        echo "valgrind: the scenario did not run: no $word" >&2
        tail -n 20 "$scratch/answers" "$scratch/log" >&2
        exit 1
    }
done
# One error is a run of lines that an empty line ends.
awk '{ sub(/^==[0-9]+== ?/, "") }
     /^$/ { if (block ~ /\(udf\//) { printf "%s\n", block; found = 1 } block = ""; next }
     { block = block $0 "\n" }
     END { exit found }' "$scratch/valgrind" || {
    echo "valgrind: errors in idem.so, see above" >&2
    exit 1
}
grep -q 'ERROR SUMMARY' "$scratch/valgrind"
echo "valgrind: nothing found in idem.so"
