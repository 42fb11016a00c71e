/* SPDX-License-Identifier: GPL-2.0-only */
/* One server and three connections for a test file. */
#include "fixture.h"

const char *const *fixture_options;
struct server *fixture_server;
MYSQL *s1, *s2, *s3;

int fixture_start(void **state)
{
    (void)state;
    fixture_server = server_start(fixture_options);
    s1 = server_connect(fixture_server);
    s2 = server_connect(fixture_server);
    s3 = server_connect(fixture_server);
    run(s1, "CREATE DATABASE test");
    run(s1, "CREATE TABLE test.orders (id INT PRIMARY KEY AUTO_INCREMENT, note VARCHAR(64)) "
            "ENGINE=InnoDB");
    run(s1, "CREATE TABLE test.one (a INT)");
    run(s1, "INSERT INTO test.one VALUES (1)");
    return 0;
}

int fixture_stop(void **state)
{
    (void)state;
    mysql_close(s1);
    mysql_close(s2);
    mysql_close(s3);
    server_stop(fixture_server);
    return 0;
}

int fixture_settle(void **state)
{
    (void)state;
    run(s1, "ROLLBACK");
    run(s2, "ROLLBACK");
    run(s3, "ROLLBACK");
    set_clock(s1, NULL);
    return 0;
}

void clock_with_days(const char *utc)
{
    set_clock(s1, utc);
    run(s1, "CALL idem.ensure_partitions()");
}

const char *fresh_key(const char *name)
{
    static char keys[16][64];
    static int made;
    char *key = keys[made % 16];

    snprintf(key, sizeof(keys[0]), "'%s-%d'", name, made++);
    return key;
}
