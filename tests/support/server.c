/* SPDX-License-Identifier: GPL-2.0-only */
/* Starting and stopping private servers, and short names for what tests do with them. */
#include "server.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <netinet/in.h>

#include <cmocka.h>

#define START_SECONDS 60
#define OPTIONS_MAX 64
#define PORTS_FROM 20000
#define PORTS_END 32000
#define PORTS_EACH 100

struct server {
    char folder[256];
    char socket[300];
    unsigned int port;
    pid_t pid;
    const char *const *options;
};

static void sleep_ms(long ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

/* The first of the ports that are this process's until it ends: no other test has the abstract
   name. Ports below those that the kernel gives to whoever connects: such a one could be gone
   before the server that it is for listens, or while that one restarts. */
static unsigned int own_ports(void)
{
    static unsigned int first;
    int fd = first != 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    for (unsigned int port = PORTS_FROM; first == 0 && port < PORTS_END; port += PORTS_EACH) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};

        snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "idem-test-ports-%u", port);
        if (bind(fd, (struct sockaddr *)&name, sizeof(name)) == 0)
            first = port;
    }
    return first;
}

unsigned int server_free_port(void)
{
    static unsigned int last;
    unsigned int first = own_ports();

    for (int tries = 0; first != 0 && tries < PORTS_EACH; tries++) {
        struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        unsigned int port = first + ++last % PORTS_EACH;
        int fd = socket(AF_INET, SOCK_STREAM, 0), bound;

        address.sin_port = htons((uint16_t)port);
        bound = bind(fd, (struct sockaddr *)&address, sizeof(address));
        close(fd);
        if (bound == 0)
            return port;
    }
    fail_msg("no free port");
    return 0;
}

static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int shell(const char *format, ...)
{
    char command[4096];
    va_list arguments;
    int status;

    va_start(arguments, format);
    vsnprintf(command, sizeof(command), format, arguments);
    va_end(arguments);
    status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void show_log(const struct server *server)
{
    shell("tail -n 40 '%s/log' >&2", server->folder);
}

static void launch(struct server *server)
{
    char datadir[300], socket_option[320], port[32], plugins[300], pid_file[300], tmp[300];
    const char *argv[OPTIONS_MAX] = {"mariadbd",
                                     "--no-defaults",
                                     datadir,
                                     socket_option,
                                     port,
                                     plugins,
                                     pid_file,
                                     tmp,
                                     "--bind-address=127.0.0.1",
                                     "--user=root",
                                     "--server-id=1",
                                     "--log-bin=binlog",
                                     "--binlog-format=ROW",
                                     "--innodb-buffer-pool-size=64M",
                                     "--innodb-log-file-size=16M",
                                     "--innodb-flush-log-at-trx-commit=2",
                                     "--character-set-server=utf8mb4",
                                     "--performance-schema=OFF",
                                     "--max-connections=400",
                                     "--skip-name-resolve"};
    size_t count = 20;

    snprintf(datadir, sizeof(datadir), "--datadir=%s/data", server->folder);
    snprintf(socket_option, sizeof(socket_option), "--socket=%s", server->socket);
    snprintf(port, sizeof(port), "--port=%u", server->port);
    snprintf(plugins, sizeof(plugins), "--plugin-dir=%s/plugins", server->folder);
    snprintf(pid_file, sizeof(pid_file), "--pid-file=%s/pid", server->folder);
    snprintf(tmp, sizeof(tmp), "--tmpdir=%s", server->folder);
    for (const char *const *option = server->options; option != NULL && *option != NULL; option++)
        argv[count++] = *option;

    server->pid = fork();
    if (server->pid == 0) {
        char log[300];

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpgid(0, 0);
        for (size_t i = 0; i < count; i++)
            if (strcmp(argv[i], CRASHPOINT) == 0)
                setenv("LD_PRELOAD", IDEM_TEST_CRASHPOINT, 1);
        snprintf(log, sizeof(log), "%s/log", server->folder);
        if (freopen(log, "a", stdout) == NULL || dup2(fileno(stdout), 2) < 0)
            _exit(126);
        execvp("mariadbd", (char *const *)argv);
        _exit(127);
    }
    for (int tries = 0; tries < START_SECONDS * 50; tries++) {
        MYSQL *sql = mysql_init(NULL);
        bool up = mysql_real_connect(sql, NULL, "root", "", NULL, 0, server->socket, 0) != NULL;

        mysql_close(sql);
        if (up)
            return;
        if (waitpid(server->pid, NULL, WNOHANG) == server->pid) {
            server->pid = 0;
            break;
        }
        sleep_ms(20);
    }
    show_log(server);
    fail_msg("mariadbd did not start in %s", server->folder);
}

/* A folder with idem.so in its plugins, and no datadir yet. */
static struct server *new_server(const char *const *options)
{
    const char *scratch = getenv("IDEM_TEST_SCRATCH");
    struct server *server = calloc(1, sizeof(*server));

    assert_non_null(server);
    snprintf(server->folder, sizeof(server->folder), "%s/idem-test-XXXXXX",
             scratch != NULL ? scratch : "/tmp");
    if (mkdtemp(server->folder) == NULL)
        fail_msg("no scratch folder %s", server->folder);
    snprintf(server->socket, sizeof(server->socket), "%s/sock", server->folder);
    server->port = server_free_port();
    server->options = options;
    if (shell("cd '%s' && mkdir plugins && cp '%s' plugins/idem.so && ln -s '%s' plugins/",
              server->folder, IDEM_TEST_PLUGIN, IDEM_TEST_CRASHPOINT) != 0)
        fail_msg("no plugin %s", IDEM_TEST_PLUGIN);
    return server;
}

struct server *server_start_bare(const char *const *options)
{
    struct server *server = new_server(options);

    /* A server that starts removes all temporary tables of its tmpdir, also those of another one.
     */
    if (shell("TMPDIR='%s' mariadb-install-db --no-defaults --datadir='%s/data' --user=root "
              "--skip-test-db --auth-root-authentication-method=normal "
              "--innodb-log-file-size=16M >'%s/install' 2>&1",
              server->folder, server->folder, server->folder) != 0) {
        shell("tail -n 20 '%s/install' >&2", server->folder);
        fail_msg("mariadb-install-db failed");
    }
    launch(server);
    return server;
}

struct server *server_start_with(const char *const *options, const char *make_datadir)
{
    struct server *server = new_server(options);

    if (shell("cd '%s' && %s >install 2>&1", server->folder, make_datadir) != 0) {
        shell("tail -n 20 '%s/install' >&2", server->folder);
        fail_msg("%s failed", make_datadir);
    }
    launch(server);
    return server;
}

struct server *server_start(const char *const *options)
{
    struct server *server = server_start_bare(options);

    server_run_sql(server, "install.sql", "");
    return server;
}

void server_kill(struct server *server, int signal)
{
    if (server->pid > 0) {
        kill(server->pid, signal);
        waitpid(server->pid, NULL, 0);
    }
    server->pid = 0;
}

void server_restart(struct server *server, const char *const *options)
{
    server_kill(server, SIGTERM);
    server->options = options;
    launch(server);
}

void server_stop(struct server *server)
{
    if (server == NULL)
        return;
    server_kill(server, SIGTERM);
    if (getenv("IDEM_TEST_KEEP") == NULL)
        shell("rm -rf '%s'", server->folder);
    free(server);
}

const char *server_socket(const struct server *server)
{
    return server->socket;
}

const char *server_folder(const struct server *server)
{
    return server->folder;
}

unsigned int server_port(const struct server *server)
{
    return server->port;
}

long server_pid(const struct server *server)
{
    return server->pid;
}

int server_run_sql_file(const struct server *server, const char *name, const char *client_options,
                        char *ret_output, size_t room)
{
    char output[300];
    int code;

    snprintf(output, sizeof(output), "%s/client-output", server->folder);
    code = shell("mariadb --no-defaults -N -uroot -S '%s' %s < '%s/%s' > '%s' 2>&1", server->socket,
                 client_options, IDEM_TEST_SQL_DIR, name, output);
    if (ret_output != NULL) {
        FILE *file = fopen(output, "r");
        size_t length = file != NULL ? fread(ret_output, 1, room - 1, file) : 0;

        ret_output[length] = '\0';
        if (file != NULL)
            fclose(file);
    }
    return code;
}

void server_run_sql(const struct server *server, const char *name, const char *client_options)
{
    char output[4096];

    if (server_run_sql_file(server, name, client_options, output, sizeof(output)) != 0)
        fail_msg("%s failed: %s", name, output);
}

bool server_log_contains(const struct server *server, const char *text)
{
    return shell("grep -qF -- '%s' '%s/log'", text, server->folder) == 0;
}

MYSQL *server_connect_as(const struct server *server, const char *user, unsigned long flags)
{
    MYSQL *sql = mysql_init(NULL);

    mysql_options(sql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (mysql_real_connect(sql, NULL, user, "", NULL, 0, server->socket,
                           flags | CLIENT_MULTI_RESULTS) == NULL)
        fail_msg("connect as %s: %s", user, mysql_error(sql));
    return sql;
}

MYSQL *server_try_connect(const struct server *server, unsigned long flags, unsigned int *ret_error)
{
    MYSQL *sql = mysql_init(NULL);

    mysql_options(sql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (mysql_real_connect(sql, NULL, "root", "", NULL, 0, server->socket,
                           flags | CLIENT_MULTI_RESULTS) != NULL)
        return sql;
    *ret_error = mysql_errno(sql);
    mysql_close(sql);
    return NULL;
}

MYSQL *server_connect(const struct server *server)
{
    return server_connect_as(server, "root", 0);
}

/* Sends the statement and reads every result; keeps the first value of the first row. */
static unsigned int send_text(MYSQL *sql, const char *text, char **ret_value)
{
    bool first = true;

    if (ret_value != NULL)
        *ret_value = NULL;
    if (mysql_real_query(sql, text, strlen(text)) != 0)
        return mysql_errno(sql);
    for (;;) {
        MYSQL_RES *result = mysql_store_result(sql);
        int more;

        if (result != NULL) {
            MYSQL_ROW row = mysql_fetch_row(result);

            if (first && ret_value != NULL && row != NULL && row[0] != NULL)
                *ret_value = strdup(row[0]);
            first = false;
            mysql_free_result(result);
        } else if (mysql_errno(sql) != 0) {
            return mysql_errno(sql);
        }
        more = mysql_next_result(sql);
        if (more > 0)
            return mysql_errno(sql);
        if (more < 0)
            return 0;
    }
}

#define FORMAT_TEXT()                                                                              \
    char *text;                                                                                    \
    va_list arguments;                                                                             \
    va_start(arguments, format);                                                                   \
    if (vasprintf(&text, format, arguments) < 0)                                                   \
        abort();                                                                                   \
    va_end(arguments)

void run(MYSQL *sql, const char *format, ...)
{
    FORMAT_TEXT();

    if (send_text(sql, text, NULL) != 0)
        fail_msg("%.300s: %u %s", text, mysql_errno(sql), mysql_error(sql));
    free(text);
}

unsigned int run_errno(MYSQL *sql, const char *format, ...)
{
    unsigned int error;
    FORMAT_TEXT();

    error = send_text(sql, text, NULL);
    free(text);
    return error;
}

static const char *value_of(MYSQL *sql, const char *text)
{
    static _Thread_local struct {
        MYSQL *sql;
        char *text;
    } kept[8];
    static _Thread_local int next;
    char *found;
    int i;

    if (send_text(sql, text, &found) != 0)
        fail_msg("%.300s: %u %s", text, mysql_errno(sql), mysql_error(sql));
    for (i = 0; i < 8 && kept[i].sql != sql; i++)
        continue;
    if (i == 8)
        i = next++ % 8;
    free(kept[i].text);
    kept[i].sql = sql;
    kept[i].text = found;
    return found != NULL ? found : "NULL";
}

const char *value(MYSQL *sql, const char *format, ...)
{
    const char *found;
    FORMAT_TEXT();

    found = value_of(sql, text);
    free(text);
    return found;
}

int64_t value_int(MYSQL *sql, const char *format, ...)
{
    int64_t number;
    FORMAT_TEXT();

    number = strtoll(value_of(sql, text), NULL, 10);
    free(text);
    return number;
}

void wait_until(MYSQL *sql, const char *format, ...)
{
    FORMAT_TEXT();

    for (int tries = 0; strtoll(value_of(sql, text), NULL, 10) == 0; tries++) {
        if (tries == 6000)
            fail_msg("%.300s: not within 30 seconds", text);
        sleep_ms(5);
    }
    free(text);
}

void expect_text(MYSQL *sql, const char *expected, const char *format, ...)
{
    const char *found;
    FORMAT_TEXT();

    found = value_of(sql, text);
    if (strcmp(found, expected) != 0)
        fail_msg("%.300s: got %s, expected %s", text, found, expected);
    free(text);
}

void expect_errno(MYSQL *sql, unsigned int expected, const char *format, ...)
{
    unsigned int found;
    FORMAT_TEXT();

    found = send_text(sql, text, NULL);
    if (found != expected)
        fail_msg("%.300s: got error %u (%s), expected %u", text, found, mysql_error(sql), expected);
    free(text);
}

void create_account(MYSQL *root, const char *name, const char *role)
{
    run(root, "CREATE OR REPLACE USER `%s`@localhost", name);
    run(root, "GRANT %s TO `%s`@localhost", role, name);
    run(root, "SET DEFAULT ROLE %s FOR `%s`@localhost", role, name);
}

void set_clock(MYSQL *sql, const char *utc)
{
    if (utc == NULL)
        run(sql, "SET GLOBAL idem_test_now_us = 0");
    else
        run(sql,
            "EXECUTE IMMEDIATE CONCAT('SET GLOBAL idem_test_now_us = ', "
            "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', '%s'))",
            utc);
}
