/* SPDX-License-Identifier: GPL-2.0-only */
/* The examples of the documentation, run as they stand in tests/examples. A statement ends with a
   line that ends in ';'. A line "-- => a | b" says the first row that the statement above answers,
   "-- => error N" its error. */
#include "fixture.h"

static void join_first_row(MYSQL *sql, char *ret_text, size_t room)
{
    size_t length = 0;

    ret_text[0] = '\0';
    do {
        MYSQL_RES *result = mysql_store_result(sql);
        MYSQL_ROW row = result != NULL ? mysql_fetch_row(result) : NULL;

        if (row != NULL && ret_text[0] == '\0')
            for (unsigned int i = 0; i < mysql_num_fields(result) && length < room; i++)
                length += (size_t)snprintf(ret_text + length, room - length, "%s%s", i ? " | " : "",
                                           row[i] != NULL ? row[i] : "NULL");
        mysql_free_result(result);
    } while (mysql_next_result(sql) == 0);
    if (mysql_errno(sql) != 0)
        snprintf(ret_text, room, "error %u", mysql_errno(sql));
}

/* Runs a statement; ret_text is its first row, or "error N". */
static void answer_of(MYSQL *sql, const char *statement, char *ret_text, size_t room)
{
    if (mysql_query(sql, statement) != 0)
        snprintf(ret_text, room, "error %u", mysql_errno(sql));
    else
        join_first_row(sql, ret_text, room);
}

static void run_example(const char *name)
{
    char path[512], line[1024], statement[8192] = "", answer[1024] = "";
    int promised = 0;
    bool error_seen = false;
    size_t length = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%s/tests/examples/%s.sql", IDEM_TEST_SOURCE_DIR, name);
    file = fopen(path, "r");
    if (file == NULL)
        fail_msg("no %s", path);
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "-- => ", 6) == 0) {
            if (strcmp(line + 6, answer) != 0)
                fail_msg("%s: %s: got %s, promised %s", name, statement, answer, line + 6);
            promised++;
            error_seen = false;
            continue;
        }
        if (error_seen)
            fail_msg("%s: %s: %s %s", name, statement, answer, mysql_error(s1));
        if (strncmp(line, "--", 2) == 0 || line[0] == '\0')
            continue;
        if (length > 0 && statement[length - 1] == ';')
            length = 0;
        length += (size_t)snprintf(statement + length, sizeof(statement) - length, "%s%s",
                                   length > 0 ? "\n" : "", line);
        if (length >= sizeof(statement))
            fail_msg("%s: a statement is too long", name);
        if (statement[length - 1] == ';') {
            answer_of(s1, statement, answer, sizeof(answer));
            error_seen = strncmp(answer, "error", 5) == 0;
        }
    }
    fclose(file);
    if (error_seen)
        fail_msg("%s: %s: %s %s", name, statement, answer, mysql_error(s1));
    assert_true(promised > 0);
}

static void order_life_cycle(void **state)
{
    (void)state;
    run_example("order");
    run_example("fence");
}

static void account_balance_fed_by_events_out_of_order(void **state)
{
    (void)state;
    run_example("balance");
    run_example("consumer");
}

static void snapshots_of_a_customer(void **state)
{
    (void)state;
    run_example("customer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_life_cycle),
        cmocka_unit_test(account_balance_fed_by_events_out_of_order),
        cmocka_unit_test(snapshots_of_a_customer),
    };

    return cmocka_run_group_tests_name("examples", tests, fixture_start, fixture_stop);
}
