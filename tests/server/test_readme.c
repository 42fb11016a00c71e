/* SPDX-License-Identifier: GPL-2.0-only */
/* The README keeps its word: every ```sql block runs, in order, on a fresh server. A statement ends
   with a line that ends in ';' (a comment may follow). A line "-- => a | b" says the first row that
   the statement above answers, "-- => error N" its error; without one it must succeed. */
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

/* Takes the line without its newline, and without a comment behind a ';'. */
static void strip(char *line)
{
    char *comment = strstr(line, "; ");

    line[strcspn(line, "\n")] = '\0';
    if (comment != NULL && strncmp(comment + 1 + strspn(comment + 1, " "), "--", 2) == 0)
        comment[1] = '\0';
}

static void every_snippet_of_the_readme_runs_and_answers_what_it_says(void **state)
{
    FILE *readme = fopen(IDEM_TEST_SOURCE_DIR "/README.md", "r");
    char line[1024], statement[8192] = "", answer[1024] = "";
    bool inside = false, error_seen = false;
    int promised = 0, statements = 0;
    size_t length = 0;

    (void)state;
    assert_non_null(readme);
    while (fgets(line, sizeof(line), readme) != NULL) {
        strip(line);
        if (strncmp(line, "```", 3) == 0) {
            inside = strcmp(line, "```sql") == 0;
            continue;
        }
        if (inside && strncmp(line, "-- => ", 6) == 0) {
            if (strcmp(line + 6, answer) != 0)
                fail_msg("%s: got %s, promised %s", statement, answer, line + 6);
            promised++;
            error_seen = false;
            continue;
        }
        if (error_seen)
            fail_msg("%s: %s %s", statement, answer, mysql_error(s1));
        if (!inside || strncmp(line, "--", 2) == 0 || line[0] == '\0')
            continue;
        length += (size_t)snprintf(statement + length, sizeof(statement) - length, "%s%s",
                                   length > 0 ? "\n" : "", line);
        if (length >= sizeof(statement))
            fail_msg("a statement is too long");
        if (statement[length - 1] != ';')
            continue;
        answer_of(s1, statement, answer, sizeof(answer));
        error_seen = strncmp(answer, "error", 5) == 0;
        statements++;
        length = 0;
    }
    fclose(readme);
    assert_int_equal(length, 0);
    assert_true(statements > 50);
    assert_true(promised > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_snippet_of_the_readme_runs_and_answers_what_it_says),
    };

    return cmocka_run_group_tests_name("readme", tests, fixture_start, fixture_stop);
}
