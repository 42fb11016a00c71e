/* SPDX-License-Identifier: GPL-2.0-only */
/* Every ```sql block of README.md runs, in order, on a fresh server. */
#include "fixture.h"

static void every_snippet_of_the_readme_runs(void **state)
{
    FILE *readme = fopen(IDEM_TEST_SOURCE_DIR "/README.md", "r");
    char path[300], command[800], line[1024];
    bool inside = false;
    int blocks = 0;
    FILE *script;

    (void)state;
    assert_non_null(readme);
    snprintf(path, sizeof(path), "%s/readme.sql", server_folder(fixture_server));
    script = fopen(path, "w");
    assert_non_null(script);
    while (fgets(line, sizeof(line), readme) != NULL) {
        if (strncmp(line, "```", 3) == 0) {
            inside = strcmp(line, "```sql\n") == 0;
            blocks += inside;
        } else if (inside) {
            fputs(line, script);
        }
    }
    fclose(readme);
    fclose(script);
    assert_true(blocks >= 8);
    snprintf(command, sizeof(command), "mariadb --no-defaults -uroot -S '%s' < '%s'",
             server_socket(fixture_server), path);
    assert_int_equal(system(command), 0);
    expect_text(s1, "3", "SELECT COUNT(*) FROM shop.payment");
    expect_text(s1, "{\"receipt\": 1}",
                "SELECT result FROM idem.record WHERE idem_key = 'order-1'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_snippet_of_the_readme_runs),
    };

    return cmocka_run_group_tests_name("readme", tests, fixture_start, fixture_stop);
}
