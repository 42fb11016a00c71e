/* SPDX-License-Identifier: GPL-2.0-only */
/* Starting, signalling and watching the real idemd. */
#include "daemon.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <netinet/in.h>

#include <cmocka.h>

#define TICK_US 5000
#define STARTED_MAX 64

static pid_t started[STARTED_MAX]; /* 0: has ended */

const char *daemon_path(void)
{
    const char *other = getenv("IDEM_TEST_DAEMON");

    return other != NULL ? other : IDEM_TEST_DAEMON;
}

struct daemon daemon_start(const struct server *server, const char *options, ...)
{
    static int number;
    struct daemon daemon = {.port = server_free_port()};
    char words[1024], command[2048];
    va_list arguments;

    va_start(arguments, options);
    vsnprintf(words, sizeof(words), options, arguments);
    va_end(arguments);
    snprintf(daemon.log, sizeof(daemon.log), "%s/idemd-%d.log", server_folder(server), number++);
    /* Options of the caller come last: they win. */
    snprintf(command, sizeof(command),
             "exec '%s' --no-defaults -S '%s' -u root --listen=127.0.0.1:%u %s run >>'%s' 2>&1",
             daemon_path(), server_socket(server), daemon.port, words, daemon.log);
    daemon.pid = fork();
    if (daemon.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    for (size_t i = 0; i < STARTED_MAX; i++)
        if (started[i] == 0) {
            started[i] = daemon.pid;
            break;
        }
    return daemon;
}

static void forget(pid_t pid)
{
    for (size_t i = 0; i < STARTED_MAX; i++)
        if (started[i] == pid)
            started[i] = 0;
}

void daemon_kill_all(void)
{
    for (size_t i = 0; i < STARTED_MAX; i++) {
        if (started[i] == 0)
            continue;
        kill(started[i], SIGKILL);
        waitpid(started[i], NULL, 0);
        started[i] = 0;
    }
}

int daemon_wait(struct daemon *daemon)
{
    int status;

    for (int i = 0; i < WAIT_SECONDS * (1000000 / TICK_US); i++) {
        if (waitpid(daemon->pid, &status, WNOHANG) == daemon->pid) {
            forget(daemon->pid);
            daemon->pid = 0;
            return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        }
        usleep(TICK_US);
    }
    fail_msg("idemd does not end");
    return -1;
}

void daemon_signal(const struct daemon *daemon, int signal)
{
    unsigned long long pending;
    char path[64], line[128];

    kill(daemon->pid, signal);
    snprintf(path, sizeof(path), "/proc/%d/status", (int)daemon->pid);
    do {
        FILE *file = fopen(path, "r");

        pending = 0;
        usleep(TICK_US);
        while (file != NULL && fgets(line, sizeof(line), file) != NULL)
            sscanf(line, "ShdPnd: %llx", &pending);
        if (file != NULL)
            fclose(file);
    } while (pending >> (signal - 1) & 1);
}

int daemon_end(struct daemon *daemon, int signal)
{
    kill(daemon->pid, signal);
    return daemon_wait(daemon);
}

int daemon_log_count(const struct daemon *daemon, const char *text)
{
    FILE *file = fopen(daemon->log, "r");
    char *line = NULL;
    size_t room = 0;
    int count = 0;

    while (file != NULL && getline(&line, &room, file) >= 0)
        count += strstr(line, text) != NULL;
    free(line);
    if (file != NULL)
        fclose(file);
    return count;
}

void daemon_expect_log(const struct daemon *daemon, const char *text)
{
    for (int i = 0; i < WAIT_SECONDS * (1000000 / TICK_US); i++) {
        if (daemon_log_count(daemon, text) > 0)
            return;
        usleep(TICK_US);
    }
    fail_msg("idemd did not log '%s', see %s", text, daemon->log);
}

void daemon_kick_all(const struct daemon *daemons, size_t count, MYSQL *sql)
{
    static const char *const tasks[] = {"ensure_partitions", "reap", "seal_days", "drop_expired"};
    enum { TASKS = sizeof(tasks) / sizeof(tasks[0]) };
    long long before[TASKS];

    for (size_t i = 0; i < TASKS; i++)
        before[i] = value_int(sql, "SELECT COALESCE(SUM(runs), 0) FROM idem.task WHERE name = '%s'",
                              tasks[i]);
    for (size_t i = 0; i < count; i++)
        if (daemons[i].pid > 0) {
            daemon_expect_log(&daemons[i], "idemd started"); /* before that SIGUSR1 would kill it */
            kill(daemons[i].pid, SIGUSR1);
        }
    for (size_t i = 0; i < TASKS; i++)
        wait_for_text(sql, "1",
                      "SELECT COUNT(*) FROM idem.task WHERE name = '%s' AND runs > %lld"
                      " AND ended_at IS NOT NULL",
                      tasks[i], before[i]);
}

void daemon_kick(const struct daemon *daemon, MYSQL *sql)
{
    daemon_kick_all(daemon, 1, sql);
}

int idemd(char *ret_output, size_t room, const char *arguments, ...)
{
    char words[2048], command[4096];
    va_list list;
    FILE *pipe;
    size_t length;
    int status;

    va_start(list, arguments);
    vsnprintf(words, sizeof(words), arguments, list);
    va_end(list);
    snprintf(command, sizeof(command), "'%s' %s 2>&1", daemon_path(), words);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    length = fread(ret_output, 1, room - 1, pipe);
    ret_output[length] = '\0';
    while (fgetc(pipe) != EOF)
        continue;
    status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int http_request(unsigned int port, const char *request_line, char *ret_body, size_t room)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    static char answer[262144];
    char request[512];
    size_t length = 0;
    ssize_t got;
    const char *body;
    int fd = socket(AF_INET, SOCK_STREAM, 0), status = 0;

    snprintf(request, sizeof(request),
             "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", request_line);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        send(fd, request, strlen(request), MSG_NOSIGNAL) > 0)
        while (length < sizeof(answer) - 1 &&
               (got = recv(fd, answer + length, sizeof(answer) - 1 - length, 0)) > 0)
            length += (size_t)got;
    close(fd);
    answer[length] = '\0';
    sscanf(answer, "HTTP/1.1 %d", &status);
    body = strstr(answer, "\r\n\r\n");
    snprintf(ret_body, room, "%s", body != NULL ? body + 4 : "");
    return status;
}

void wait_for_text(MYSQL *sql, const char *expected, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    for (int i = 0; i < WAIT_SECONDS * (1000000 / TICK_US); i++) {
        if (strcmp(value(sql, "%s", text), expected) == 0)
            return;
        usleep(TICK_US);
    }
    fail_msg("%s: still %s, not %s", text, value(sql, "%s", text), expected);
}
