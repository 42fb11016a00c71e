/* SPDX-License-Identifier: GPL-2.0-only */
/* A physical backup made under load, by the very commands of the README: the restored server serves
   at once, knows all that was acknowledged before the backup began, has no work without its record,
   and a replica can be made of it. */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define CLIENTS 4
#define KEYS 3000

static const char clock_option[] = "--idem-test-now-us=1956625200000000"; /* 2032-01-02 03:00 */

static atomic_int acknowledged[KEYS];
static atomic_int next_key;
static atomic_bool over;
static bool known[KEYS]; /* acknowledged before the backup began */

static void *carry_out(void *data)
{
    MYSQL *sql = server_connect(fixture_server);

    (void)data;
    while (!atomic_load(&over)) {
        int key = atomic_fetch_add(&next_key, 1);
        enum door door = key % 2 ? UDF_DOOR : PROCEDURE_DOOR;
        char name[32];

        if (key >= KEYS)
            break;
        snprintf(name, sizeof(name), "'b-%d'", key);
        if (strcmp(begin(sql, door, "'p'", name, "NULL").state, "CLAIMED") != 0)
            break;
        run(sql, "INSERT INTO test.work VALUES (%d)", key);
        if (commit(sql, door, "'p'", name, "NULL", "'{\"ok\":1}'") == 0)
            atomic_store(&acknowledged[key], 1);
    }
    mysql_close(sql);
    mysql_thread_end();
    return NULL;
}

/* Runs the README's command for a step of mariadb-backup on these folders. */
static void readme_command(const char *step, const char *target, const char *datadir,
                           char *ret_command, size_t room)
{
    FILE *readme = fopen(IDEM_TEST_SOURCE_DIR "/README.md", "r");
    char line[512], start[64];

    assert_non_null(readme);
    ret_command[0] = '\0';
    snprintf(start, sizeof(start), "mariadb-backup --%s --target-dir=/backup/full", step);
    while (fgets(line, sizeof(line), readme) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, start) == 0)
            snprintf(ret_command, room,
                     "mariadb-backup --no-defaults --%s --target-dir='%s' --datadir='%s' -uroot "
                     "--socket='%s'",
                     step, target, datadir, server_socket(fixture_server));
    }
    fclose(readme);
    if (ret_command[0] == '\0')
        fail_msg("the README does not say: %s", start);
}

static void shell(const char *command)
{
    char quiet[1200];

    snprintf(quiet, sizeof(quiet), "%s >'%s/backup-log' 2>&1", command,
             server_folder(fixture_server));
    if (system(quiet) != 0)
        fail_msg("%s failed; see %s/backup-log", command, server_folder(fixture_server));
}

static void set_up(void)
{
    fixture_server = server_start(NULL);
    s1 = server_connect(fixture_server);
    run(s1, "CREATE DATABASE test");
    run(s1, "CREATE TABLE test.work (k INT, KEY (k)) ENGINE=InnoDB");
    set_clock(s1, "2032-01-01 12:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    begin(s1, UDF_DOOR, "'p'", "'yesterday'", "NULL");
    commit(s1, UDF_DOOR, "'p'", "'yesterday'", "NULL", "'[1]'");
    set_clock(s1, "2032-01-02 03:00:00");
    run(s1, "CALL idem.seal_days()");
    run(s1, "CALL idem.set_policy('small', 77, NULL, 10, NULL, NULL)");
    create_account(s1, "app", "idem_app");
    run(s1, "CALL idem.allow('app', '%%', 'p')");
    claim(s1, UDF_DOOR, "'p'", "'lease'", "NULL");
}

static void expect_as_before(struct server *server, MYSQL *restored)
{
    static const char objects[] =
        "SELECT CONCAT_WS(' ', (SELECT COUNT(*) FROM information_schema.routines WHERE "
        "routine_schema = 'idem'), (SELECT COUNT(*) FROM mysql.func), (SELECT COUNT(*) FROM "
        "mysql.procs_priv WHERE db = 'idem'), (SELECT GROUP_CONCAT(partition_name) FROM "
        "idem.day), (SELECT GROUP_CONCAT(day, sealed) FROM idem.live_day), (SELECT COUNT(*) FROM "
        "idem.sealed_day), (SELECT value FROM idem.meta WHERE name = 'version'), idem_version())";
    MYSQL *app;

    expect_text(restored, value(s1, objects), objects);
    expect_text(restored, "NULL", "CALL idem.verify()");
    EACH_DOOR(door)
    {
        assert_string_equal(claim(restored, door, "'p'", "'yesterday'", "NULL").state, "DONE");
        assert_string_equal(claim(restored, door, "'p'", "'lease'", "NULL").state, "IN_PROGRESS");
    }
    assert_true(value_int(restored, "SELECT variable_value FROM information_schema.global_status "
                                    "WHERE variable_name = 'idem_filter_bytes'") > 0);
    claim(restored, UDF_DOOR, "'small'", "'small'", "NULL");
    assert_int_equal(
        finish(restored, UDF_DOOR, "'small'", "'small'", "NULL", "'\"more than ten\"'"), 52008);
    app = server_connect_as(server, "app", 0); /* with its default role */
    assert_string_equal(claim(app, PROCEDURE_DOOR, "'p'", "'by app'", "NULL").state, "CLAIMED");
    assert_int_equal(claim(app, PROCEDURE_DOOR, "'q'", "'by app 2'", "NULL").error, 52007);
    mysql_close(app);
}

/* Work and record came together, and all that was acknowledged before the backup began is in it. */
static void expect_whole(MYSQL *restored)
{
    expect_text(restored, "0",
                "SELECT COUNT(*) FROM test.work w LEFT JOIN idem.record r ON r.scope = '' AND "
                "r.idem_key = CONCAT('b-', w.k) AND r.status = 1 WHERE r.idem_key IS NULL");
    expect_text(restored, "0",
                "SELECT COUNT(*) FROM idem.record r LEFT JOIN test.work w ON r.idem_key = "
                "CONCAT('b-', w.k) WHERE r.idem_key LIKE 'b-%%' AND w.k IS NULL");
    for (int key = 0; key < KEYS; key++)
        if (known[key])
            expect_text(restored, "1",
                        "SELECT COUNT(*) FROM test.work w JOIN idem.record r ON r.scope = '' AND "
                        "r.idem_key = CONCAT('b-', w.k) WHERE w.k = %d",
                        key);
}

/* Everybody asks again. What is in the backup is not done twice. */
static void retry_all(MYSQL *restored)
{
    int keys = atomic_load(&next_key);

    for (int key = 0; key < keys && key < KEYS; key++) {
        char name[32];
        struct answer answer;

        snprintf(name, sizeof(name), "'b-%d'", key);
        answer = begin(restored, UDF_DOOR, "'p'", name, "NULL");
        if (known[key])
            assert_string_equal(answer.state, "DONE");
        if (strcmp(answer.state, "CLAIMED") == 0) {
            run(restored, "INSERT INTO test.work VALUES (%d)", key);
            assert_int_equal(commit(restored, UDF_DOOR, "'p'", name, "NULL", "'1'"), 0);
        } else {
            assert_string_equal(answer.state, "DONE");
        }
    }
    expect_text(restored, "0",
                "SELECT COUNT(*) FROM (SELECT k FROM test.work GROUP BY k HAVING COUNT(*) > 1) t");
}

/* The position that the backup stands for: the third word of xtrabackup_binlog_info. */
static void read_position(const char *folder, char *ret_gtid, size_t room)
{
    char path[600], line[512];
    FILE *file;

    snprintf(path, sizeof(path), "%s/xtrabackup_binlog_info", folder);
    file = fopen(path, "r");
    if (file == NULL) { /* its name from 11.x on */
        snprintf(path, sizeof(path), "%s/mariadb_backup_binlog_info", folder);
        file = fopen(path, "r");
    }
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    assert_non_null(strrchr(line, '\t'));
    snprintf(ret_gtid, room, "%s", strrchr(line, '\t') + 1);
}

static void replicate(MYSQL *restored, const char *folder)
{
    char gtid[128], *position;

    read_position(folder, gtid, sizeof(gtid));
    run(s1, "CREATE USER repl@'127.0.0.1'");
    run(s1, "GRANT REPLICATION SLAVE ON *.* TO repl@'127.0.0.1'");
    run(restored, "SET GLOBAL read_only = 1");
    run(restored, "SET GLOBAL gtid_slave_pos = '%s'", gtid);
    run(restored,
        "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = %u, MASTER_USER = 'repl', "
        "MASTER_USE_GTID = slave_pos, MASTER_SSL_VERIFY_SERVER_CERT = 0",
        server_port(fixture_server));
    run(restored, "START SLAVE");
    begin(s1, UDF_DOOR, "'p'", "'after the backup'", "NULL");
    run(s1, "INSERT INTO test.work VALUES (-1)");
    commit(s1, UDF_DOOR, "'p'", "'after the backup'", "NULL", "'[2]'");
    run(s1, "CALL idem.ensure_partitions()");
    position = strdup(value(s1, "SELECT @@gtid_binlog_pos"));
    if (value_int(restored, "SELECT MASTER_GTID_WAIT('%s', 60)", position) != 0)
        fail_msg("the replica is not with its primary");
    free(position);
    EACH_DOOR(door)
    assert_string_equal(peek(restored, door, "'p'", "'after the backup'").state, "DONE");
    assert_int_equal(value_int(restored, "SELECT COUNT(*) FROM test.work"),
                     value_int(s1, "SELECT COUNT(*) FROM test.work"));
    expect_text(restored, "NULL", "CALL idem.verify()");
}

static void physical_backup_under_load_is_whole(void **state)
{
    static const char *const options[] = {clock_option, NULL};
    static const char *const replica_options[] = {clock_option, "--server-id=2", NULL};
    pthread_t clients[CLIENTS];
    char backup[400], copy[400], command[1000], output[2048];
    struct server *restored;
    MYSQL *sql;

    (void)state;
    if (system("command -v mariadb-backup >/dev/null") != 0) {
        print_message("SKIPPED: package mariadb-backup is not installed\n");
        skip();
    }
    set_up();
    snprintf(backup, sizeof(backup), "%s/backup", server_folder(fixture_server));
    snprintf(copy, sizeof(copy), "%s/data", server_folder(fixture_server));
    for (int i = 0; i < CLIENTS; i++)
        pthread_create(&clients[i], NULL, carry_out, NULL);
    wait_until(s1, "SELECT COUNT(*) > 100 FROM test.work");
    for (int key = 0; key < KEYS; key++)
        known[key] = atomic_load(&acknowledged[key]) != 0;
    readme_command("backup", backup, copy, command, sizeof(command));
    shell(command);
    atomic_store(&over, true);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    readme_command("prepare", backup, copy, command, sizeof(command));
    shell(command);

    readme_command("copy-back", backup, "'\"$PWD\"'/data", command, sizeof(command));
    restored = server_start_with(options, command);
    sql = server_connect(restored);
    expect_as_before(restored, sql);
    expect_whole(sql);
    retry_all(sql);
    assert_int_equal(server_run_sql_file(restored, "install.sql", "", output, sizeof(output)), 0);
    assert_string_equal(claim(sql, UDF_DOOR, "'p'", "'yesterday'", "NULL").state, "DONE");
    expect_text(sql, "NULL", "CALL idem.verify()");
    mysql_close(sql);
    server_stop(restored);

    restored = server_start_with(replica_options, command);
    sql = server_connect(restored);
    replicate(sql, backup);
    mysql_close(sql);
    server_stop(restored);
    mysql_close(s1);
    server_stop(fixture_server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(physical_backup_under_load_is_whole),
    };

    return cmocka_run_group_tests_name("backup", tests, NULL, NULL);
}
