/* SPDX-License-Identifier: GPL-2.0-only */
/* idemd run against servers that are killed, cut off, read-only or full, and against other daemons.
 */
#include <signal.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon.h"
#include "fixture.h"

#define EXPIRED 30000 /* leases of case 63 */

static char body[262144];

static int fresh(void **state)
{
    (void)state;
    daemon_kill_all();
    set_clock(s1, NULL);
    run(s1, "SET GLOBAL idem_retention_days = 30, GLOBAL idem_partitions_ahead = 7,"
            " GLOBAL idem_reap_batch = 500, GLOBAL idem_ddl_lock_wait_ms = 100,"
            " GLOBAL idem_reap_interval_seconds = 86400,"
            " GLOBAL idem_maintenance_interval_seconds = 86400, GLOBAL read_only = 0");
    run(s1, "DELETE FROM idem.task");
    run(s1, "DELETE FROM idem.record");
    run(s1, "CALL idem.ensure_partitions()");
    return 0;
}

/* After a restart of the server. */
static void connect_again(void)
{
    mysql_close(s1);
    s1 = server_connect(fixture_server);
}

static void expect_body(const char *part)
{
    if (strstr(body, part) == NULL)
        fail_msg("'%s' is not in: %.3000s", part, body);
}

static void the_second_daemon_takes_over_when_the_leader_dies(void **state)
{
    struct daemon first = daemon_start(fixture_server, " "), second;

    (void)state;
    daemon_expect_log(&first, "state=leader");
    second = daemon_start(fixture_server, " ");
    daemon_expect_log(&second, "state=standby");
    daemon_kick(&first, s1);
    assert_int_equal(daemon_end(&first, SIGKILL), -SIGKILL);
    daemon_expect_log(&second, "state=leader");
    daemon_kick(&second, s1);
    assert_int_equal(daemon_end(&second, SIGTERM), 0);
}

static void a_leader_that_loses_its_lock_stops_acting(void **state)
{
    struct daemon first = daemon_start(fixture_server, " "), second;
    int64_t connection;

    (void)state;
    daemon_expect_log(&first, "state=leader");
    second = daemon_start(fixture_server, " ");
    daemon_expect_log(&second, "state=standby");
    /* The first is stopped, so it cannot come back before the second has the lock. */
    kill(first.pid, SIGSTOP);
    connection = value_int(s1, "SELECT IS_USED_LOCK('idem.leader')");
    run(s1, "KILL CONNECTION %lld", (long long)connection);
    daemon_expect_log(&second, "state=leader");
    kill(first.pid, SIGCONT);
    daemon_expect_log(&first, "state=down");
    daemon_expect_log(&first, "state=standby");
    run(s1, "DELETE FROM idem.task");
    kill(first.pid, SIGUSR1); /* a standby does nothing, even when it is asked */
    daemon_kick(&second, s1);
    expect_text(s1, "1", "SELECT MAX(runs) FROM idem.task");
    assert_int_equal(daemon_end(&first, SIGTERM), 0);
    assert_int_equal(daemon_end(&second, SIGTERM), 0);
}

static void case_50_the_server_is_killed_and_restarted_under_it(void **state)
{
    struct daemon daemon = daemon_start(fixture_server, " ");

    (void)state;
    daemon_expect_log(&daemon, "state=leader");
    for (int i = 1; i <= 3; i++) {
        server_kill(fixture_server, i == 2 ? SIGTERM : SIGKILL);
        while (daemon_log_count(&daemon, "state=down") < i)
            usleep(5000);
        server_restart(fixture_server, NULL);
        connect_again();
        while (daemon_log_count(&daemon, "state=leader") < i + 1)
            usleep(5000);
        daemon_kick(&daemon, s1);
    }
    /* One line per change: lost connection and refused connection may be told apart. */
    assert_in_range(daemon_log_count(&daemon, "state=down"), 3, 6);
    assert_int_equal(daemon_log_count(&daemon, "state=leader"), 4);
    assert_int_equal(daemon_end(&daemon, SIGTERM), 0);
}

static void case_50_its_connection_is_killed_in_the_middle_of_ddl(void **state)
{
    MYSQL *idle = server_connect(fixture_server);
    struct daemon daemon;

    (void)state;
    run(s1, "SET GLOBAL idem_ddl_lock_wait_ms = 60000, GLOBAL idem_retention_days = 1");
    set_clock(s1, value(s1, "SELECT idem_today() + INTERVAL 2 DAY"));
    run(s1, "CALL idem.ensure_partitions()");
    run(idle, "BEGIN");
    run(idle, "SELECT COUNT(*) FROM idem.record");
    daemon = daemon_start(fixture_server, " ");
    wait_for_text(s1, "1",
                  "SELECT COUNT(*) > 0 FROM information_schema.processlist"
                  " WHERE info LIKE 'CALL idem.drop%%' OR info LIKE 'ALTER TABLE idem.record%%'");
    run(s1, "KILL CONNECTION %s", value(s1, "SELECT IS_USED_LOCK('idem.leader')"));
    run(idle, "COMMIT");
    wait_for_text(s1, "0",
                  "SELECT COUNT(*) FROM idem.day"
                  " WHERE day < idem_today() - INTERVAL 1 DAY");
    assert_int_equal(daemon_end(&daemon, SIGTERM), 0);
    mysql_close(idle);
}

/* It leads, a statement of it waits for `holder`, and it has been told to stop. */
static struct daemon stopping_daemon(MYSQL *holder)
{
    struct daemon daemon = daemon_start(fixture_server, " ");

    daemon_expect_log(&daemon, "state=leader");
    daemon_kick(&daemon, s1);
    run(holder, "LOCK TABLES idem.task WRITE");
    kill(daemon.pid, SIGUSR1);
    wait_for_text(s1, "1",
                  "SELECT COUNT(*) > 0 FROM information_schema.processlist"
                  " WHERE state = 'Waiting for table metadata lock'");
    daemon_signal(&daemon, SIGTERM);
    return daemon;
}

static void sigterm_finishes_what_is_in_hand_and_a_second_one_leaves_now(void **state)
{
    MYSQL *holder = server_connect(fixture_server);
    struct daemon daemon = stopping_daemon(holder);

    (void)state;
    usleep(50000); /* if it did not wait for its statement it would be gone by now */
    assert_int_equal(kill(daemon.pid, 0), 0);
    run(holder, "UNLOCK TABLES");
    assert_int_equal(daemon_wait(&daemon), 0);
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.task WHERE ended_at IS NULL");

    daemon = stopping_daemon(holder);
    assert_int_equal(daemon_end(&daemon, SIGTERM), 1);
    run(holder, "UNLOCK TABLES");
    mysql_close(holder);
}

static void sighup_reads_the_option_files_again(void **state)
{
    struct daemon daemon;
    char path[400], command[1024];
    FILE *file;

    (void)state;
    create_account(s1, "hup", "idem_operator");
    snprintf(path, sizeof(path), "%s/hup.cnf", server_folder(fixture_server));
    file = fopen(path, "w");
    fputs("[idemd]\nuser=nobody-there\n", file);
    fclose(file);
    snprintf(daemon.log, sizeof(daemon.log), "%s/hup.log", server_folder(fixture_server));
    snprintf(command, sizeof(command),
             "exec '%s' --defaults-file='%s' -S '%s' --listen=off --log-format=json run 2>'%s'",
             daemon_path(), path, server_socket(fixture_server), daemon.log);
    daemon.pid = fork();
    if (daemon.pid == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    daemon_expect_log(&daemon, "\"state\":\"down\"");
    file = fopen(path, "w");
    fputs("[idemd]\nuser=hup\nfrobnicate=1\n", file);
    fclose(file);
    kill(daemon.pid, SIGHUP);
    daemon_expect_log(&daemon, "the old options stay");
    file = fopen(path, "w");
    fputs("[idemd]\nuser=hup\n", file);
    fclose(file);
    kill(daemon.pid, SIGHUP);
    daemon_expect_log(&daemon, "\"state\":\"leader\"");
    wait_for_text(s1, "hup@localhost", "SELECT account FROM idem.task WHERE name = 'reap'");
    assert_int_equal(daemon_end(&daemon, SIGTERM), 0);
}

static void only_the_writable_server_of_a_list_is_worked_on(void **state)
{
    struct server *other = server_start(NULL);
    MYSQL *there = server_connect(other);
    struct daemon daemon;

    (void)state;
    run(s1, "CREATE OR REPLACE USER list@127.0.0.1");
    run(s1, "GRANT ALL ON *.* TO list@127.0.0.1");
    run(there, "CREATE OR REPLACE USER list@127.0.0.1");
    run(there, "GRANT ALL ON *.* TO list@127.0.0.1");
    run(there, "DELETE FROM idem.task");
    run(s1, "DELETE FROM idem.task");
    run(s1, "SET GLOBAL read_only = 1");
    daemon = daemon_start(fixture_server, "-S '' -u list --host=127.0.0.1:%u,127.0.0.1:%u",
                          server_port(fixture_server), server_port(other));
    wait_for_text(there, "4", "SELECT COUNT(succeeded_at) FROM idem.task");
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.task");
    daemon_expect_log(&daemon, "state=read-only");
    /* Fail-over: the roles change, then the old primary goes away. */
    run(there, "SET GLOBAL read_only = 1");
    run(s1, "SET GLOBAL read_only = 0");
    wait_for_text(s1, "1", "SELECT IS_USED_LOCK('idem.leader') IS NOT NULL");
    server_kill(other, SIGKILL);
    daemon_kick(&daemon, s1);
    assert_int_equal(daemon_end(&daemon, SIGTERM), 0);
    mysql_close(there);
    server_stop(other);
}

static void a_missing_schema_is_one_line_and_then_it_goes_on(void **state)
{
    struct daemon daemon;

    (void)state;
    run(s1, "RENAME TABLE idem.meta TO idem.meta_gone");
    daemon = daemon_start(fixture_server, " ");
    daemon_expect_log(&daemon, "state=\"not ready\"");
    assert_int_equal(http_request(daemon.port, "GET /healthz", body, sizeof(body)), 503);
    usleep(600000); /* room for some retries */
    assert_int_equal(daemon_log_count(&daemon, "not ready:"), 1);
    run(s1, "RENAME TABLE idem.meta_gone TO idem.meta");
    daemon_expect_log(&daemon, "state=leader");
    assert_int_equal(daemon_end(&daemon, SIGTERM), 0);
}

static void case_29_an_idle_transaction_is_told_once_and_its_day_goes_later(void **state)
{
    MYSQL *idle = server_connect(fixture_server), *claimer = server_connect(fixture_server);
    struct daemon daemon;

    (void)state;
    run(s1, "SET GLOBAL idem_retention_days = 1, GLOBAL idem_maintenance_interval_seconds = 1");
    set_clock(s1, value(s1, "SELECT idem_today() + INTERVAL 2 DAY"));
    run(s1, "CALL idem.ensure_partitions()");
    run(idle, "BEGIN");
    run(idle, "SELECT COUNT(*) FROM idem.record");
    daemon = daemon_start(fixture_server, " ");
    wait_for_text(s1, "1",
                  "SELECT outcome LIKE '%%contended%%' FROM idem.task"
                  " WHERE name = 'drop_expired'");
    assert_string_equal(claim(claimer, PROCEDURE_DOOR, "'pay'", "'meanwhile'", "NULL").state,
                        "CLAIMED");
    daemon_kick(&daemon, s1);
    daemon_kick(&daemon, s1);
    run(idle, "COMMIT");
    daemon_kick(&daemon, s1);
    wait_for_text(s1, "0",
                  "SELECT COUNT(*) FROM idem.day"
                  " WHERE day < idem_today() - INTERVAL 1 DAY");
    assert_int_equal(daemon_end(&daemon, SIGTERM), 0);
    assert_in_range(daemon_log_count(&daemon, "outcome=contended"), 1, 2); /* one per day */
    mysql_close(idle);
    mysql_close(claimer);
}

struct claimer {
    atomic_bool stop;
    atomic_int claimed;
    unsigned int wrong;
};

static void *claim_fresh_keys(void *argument)
{
    struct claimer *claimer = argument;
    MYSQL *own = server_connect(fixture_server);
    char key[64];

    mysql_thread_init();
    while (!atomic_load(&claimer->stop)) {
        struct answer answer;

        snprintf(key, sizeof(key), "'live-%d'", atomic_load(&claimer->claimed));
        answer = claim(own, PROCEDURE_DOOR, "'pay'", key, "NULL");
        if (answer.error != 0 || strcmp(answer.state, "CLAIMED") != 0)
            claimer->wrong++;
        if (answer.error == 0 && finish(own, PROCEDURE_DOOR, "'pay'", key, "NULL", "'1'") != 0)
            claimer->wrong++;
        atomic_fetch_add(&claimer->claimed, 1);
    }
    mysql_close(own);
    mysql_thread_end();
    return NULL;
}

static void case_63_a_backlog_is_reaped_under_live_claims(void **state)
{
    struct claimer claimer = {0};
    struct daemon daemon;
    pthread_t thread;

    (void)state;
    run(s1,
        "INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt, token,"
        " owner_conn, owner_epoch, owner_account, lease_until, created_at, updated_at)"
        " SELECT '', CONCAT('k', seq), idem_today(), 'pay', 0, 1, 1, 1, 1, 'a',"
        " '2020-01-01' + INTERVAL seq SECOND, '2020-01-01', '2020-01-01'"
        " FROM idem.seq_1_to_%d",
        EXPIRED);
    assert_int_equal(pthread_create(&thread, NULL, claim_fresh_keys, &claimer), 0);
    daemon = daemon_start(fixture_server, " ");
    wait_for_text(s1, "1", "SELECT COUNT(*) > 0 FROM idem.record WHERE status = 4");
    /* stopped half-way, started again */
    assert_int_equal(daemon_end(&daemon, SIGTERM), 0);
    daemon = daemon_start(fixture_server, " ");
    wait_for_text(s1, "0",
                  "SELECT COUNT(*) FROM idem.record FORCE INDEX (lease)"
                  " WHERE lease_until < '2021-01-01' AND status = 0");
    atomic_store(&claimer.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(claimer.wrong, 0);
    assert_in_range(atomic_load(&claimer.claimed), 10, 1000000000);
    expect_text(s1, "1", "SELECT COUNT(*) = %d FROM idem.record WHERE status = 4", EXPIRED);
    assert_int_equal(daemon_end(&daemon, SIGTERM), 0);
}

static void systemd_is_told_and_the_watchdog_fed(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char heard[4096] = "", message[1024];
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {.tv_sec = WAIT_SECONDS};
    struct daemon daemon;
    int fed = 0;

    (void)state;
    snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/notify",
             server_folder(fixture_server));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    setenv("WATCHDOG_USEC", "300000", 1);
    daemon = daemon_start(fixture_server, " ");
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    for (bool stopped = false; strstr(heard, "STOPPING=1") == NULL;) {
        ssize_t got = recv(fd, message, sizeof(message) - 1, 0);

        if (got <= 0)
            fail_msg("nothing from idemd; so far: %s", heard);
        message[got] = '\0';
        if (strcmp(message, "WATCHDOG=1") == 0)
            fed++;
        else
            snprintf(heard + strlen(heard), sizeof(heard) - strlen(heard), "%s|", message);
        if (fed >= 10 && !stopped && strstr(heard, "leader") != NULL) {
            stopped = true;
            kill(daemon.pid, SIGTERM);
        }
    }
    assert_non_null(strstr(heard, "READY=1|"));
    assert_int_equal(daemon_wait(&daemon), 0);
    close(fd);
}

static void the_endpoints_show_tasks_days_and_stuck_claims(void **state)
{
    struct daemon daemon;
    char line[64];

    (void)state;
    run(s1, "SET GLOBAL idem_reap_interval_seconds = 10, GLOBAL idem_maintenance_interval_seconds "
            "= 60");
    run(s1,
        "INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt, token,"
        " owner_conn, owner_epoch, owner_account, created_at, updated_at) VALUES"
        " ('', '<b>\"&key', idem_today(), 'pay', 3, 1, 1, 1, 1, 'a@b', '2020-01-01', "
        "'2020-01-01')");
    daemon = daemon_start(fixture_server, " ");
    daemon_expect_log(&daemon, "state=leader");
    daemon_kick(&daemon, s1);
    while (http_request(daemon.port, "GET /healthz", body, sizeof(body)) != 200)
        usleep(5000);
    assert_string_equal(body, "ok\n");
    assert_int_equal(http_request(daemon.port, "GET /metrics", body, sizeof(body)), 200);
    expect_body("\nidem_up 1\n");
    expect_body("\nidemd_leader 1\n");
    snprintf(line, sizeof(line), "\nidem_partition_runway_days %s\n",
             value(s1, "SELECT DATEDIFF(MAX(day), idem_today()) FROM idem.day"));
    expect_body(line);
    expect_body("\nidem_claims_unknown 1\n");
    expect_body("idem_task_overdue{task=\"seal_days\"} 0\n");
    expect_body("idem_task_overdue{task=\"drop_expired\"} 0\n");
    expect_body("idem_task_last_success_timestamp_seconds{task=\"ensure_partitions\"} 1");
    assert_int_equal(http_request(daemon.port, "GET /", body, sizeof(body)), 200);
    expect_body("&#60;b&#62;&#34;&#38;key");
    assert_null(strstr(body, "<b>"));
    assert_null(strstr(body, "http://"));
    expect_body("seal_days");
    expect_body("drop_expired");
    assert_int_equal(http_request(daemon.port, "GET /nowhere", body, sizeof(body)), 404);
    assert_int_equal(http_request(daemon.port, "POST /", body, sizeof(body)), 405);
    assert_int_equal(http_request(daemon.port, "HEAD /healthz", body, sizeof(body)), 200);
    assert_string_equal(body, "");
    assert_int_equal(daemon_end(&daemon, SIGTERM), 0);
    assert_int_equal(http_request(daemon.port, "GET /healthz", body, sizeof(body)), 0);
}

static void healthz_is_503_when_a_task_is_overdue_or_the_server_gone(void **state)
{
    struct daemon daemon;

    (void)state;
    run(s1, "SET GLOBAL idem_reap_interval_seconds = 10, GLOBAL idem_maintenance_interval_seconds "
            "= 60");
    daemon = daemon_start(fixture_server, " ");
    daemon_expect_log(&daemon, "state=leader");
    while (http_request(daemon.port, "GET /healthz", body, sizeof(body)) != 200)
        usleep(5000);
    run(s1, "UPDATE idem.task SET succeeded_at = succeeded_at - INTERVAL 1 HOUR"
            " WHERE name = 'drop_expired'");
    while (http_request(daemon.port, "GET /healthz", body, sizeof(body)) != 503)
        usleep(5000);
    expect_body("drop_expired succeeded last 36");
    server_kill(fixture_server, SIGKILL);
    while (http_request(daemon.port, "GET /healthz", body, sizeof(body)) != 503 ||
           strstr(body, "down: ") == NULL)
        usleep(5000);
    assert_int_equal(http_request(daemon.port, "GET /metrics", body, sizeof(body)), 200);
    expect_body("\nidem_up 0\n");
    assert_null(strstr(body, "idem_partition_runway_days"));
    server_restart(fixture_server, NULL);
    connect_again();
    assert_int_equal(daemon_end(&daemon, SIGTERM), 0);
}

static void a_port_in_use_is_a_clear_error(void **state)
{
    struct daemon first = daemon_start(fixture_server, " "), second;

    (void)state;
    daemon_expect_log(&first, "state=leader");
    second = daemon_start(fixture_server, "--listen=127.0.0.1:%u", first.port);
    assert_int_equal(daemon_wait(&second), 2);
    assert_int_equal(daemon_log_count(&second, "cannot listen on 127.0.0.1"), 1);
    assert_int_equal(daemon_end(&first, SIGTERM), 0);
    second = daemon_start(fixture_server, "--listen=off");
    daemon_expect_log(&second, "state=leader");
    assert_int_equal(http_request(second.port, "GET /", body, sizeof(body)), 0);
    assert_int_equal(daemon_end(&second, SIGTERM), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, fresh)
    const struct CMUnitTest tests[] = {
        T(the_second_daemon_takes_over_when_the_leader_dies),
        T(a_leader_that_loses_its_lock_stops_acting),
        T(case_50_the_server_is_killed_and_restarted_under_it),
        T(case_50_its_connection_is_killed_in_the_middle_of_ddl),
        T(sigterm_finishes_what_is_in_hand_and_a_second_one_leaves_now),
        T(sighup_reads_the_option_files_again),
        T(only_the_writable_server_of_a_list_is_worked_on),
        T(a_missing_schema_is_one_line_and_then_it_goes_on),
        T(case_29_an_idle_transaction_is_told_once_and_its_day_goes_later),
        T(case_63_a_backlog_is_reaped_under_live_claims),
        T(systemd_is_told_and_the_watchdog_fed),
        T(the_endpoints_show_tasks_days_and_stuck_claims),
        T(healthz_is_503_when_a_task_is_overdue_or_the_server_gone),
        T(a_port_in_use_is_a_clear_error),
    };

    return cmocka_run_group_tests_name("run", tests, fixture_start, fixture_stop);
}
