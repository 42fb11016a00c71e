/* SPDX-License-Identifier: GPL-2.0-only */
/* crashpoint.so: a plugin of the tests, never of idem. It stops or kills the server at a chosen
   step or write of a session, so that a test can walk through all there are, in code to come as
   well.

   Step: what the server tells an audit plugin: a statement begins or ends, a table is locked, made,
   altered or dropped; statements inside procedures and functions too. Write: a system call by which
   the session's thread changes a file. kill -9 takes nothing back that was written, so the write
   before which it comes decides what a crash leaves behind. To see writes the library must also be
   preloaded (LD_PRELOAD); the dynamic linker then knows one object, not two. */
#include <my_config.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mysql/plugin.h>
#include <mysql/plugin_audit.h>

/* A session has a thread to itself. */
static _Thread_local bool armed; /* the statement that set the step has ended */
static _Thread_local int stop_at, kill_at, steps;
static _Thread_local int kill_at_write, writes;

static atomic_int stopped;
static atomic_bool going;

static void stop_here(void)
{
    const struct timespec pause = {.tv_nsec = 500000};

    atomic_fetch_add(&stopped, 1);
    while (!atomic_load(&going))
        nanosleep(&pause, NULL);
    atomic_fetch_sub(&stopped, 1);
}

static void disarm(void)
{
    armed = false;
    stop_at = kill_at = steps = kill_at_write = writes = 0;
}

static void notify(MYSQL_THD thd, unsigned int event_class, const void *data)
{
    const struct mysql_event_general *general = data;
    const struct mysql_event_connection *connection = data;

    (void)thd;
    if (event_class == MYSQL_AUDIT_CONNECTION_CLASS) {
        if (connection->event_subclass == MYSQL_AUDIT_CONNECTION_CONNECT)
            disarm(); /* threads are used again */
        return;
    }
    if (event_class == MYSQL_AUDIT_GENERAL_CLASS) {
        if (general->general_command_length == 4 &&
            memcmp(general->general_command, "Quit", 4) == 0)
            disarm(); /* the client has all its answers and is gone */
        else if (general->event_subclass == MYSQL_AUDIT_GENERAL_LOG)
            armed = armed || stop_at > 0 || kill_at > 0;
        else if (general->event_subclass != MYSQL_AUDIT_GENERAL_STATUS)
            return; /* an error or warning, somewhere in the statement */
    }
    if (!armed)
        return;
    steps++;
    if (steps == kill_at)
        raise(SIGKILL);
    if (steps == stop_at)
        stop_here();
}

static void before_write(void)
{
    if (kill_at_write > 0 && ++writes == kill_at_write)
        raise(SIGKILL);
}

static void *original(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    return found != NULL ? found : (abort(), NULL);
}

#define WRITE(type, name, parameters, arguments)                                                   \
    type name parameters;                                                                          \
    type name parameters                                                                           \
    {                                                                                              \
        static type(*next) parameters;                                                             \
        if (next == NULL) /* threads may race to store the same pointer */                         \
            *(void **)&next = original(#name);                                                     \
        before_write();                                                                            \
        return next arguments;                                                                     \
    }

WRITE(ssize_t, write, (int fd, const void *bytes, size_t length), (fd, bytes, length))
WRITE(ssize_t, pwrite64, (int fd, const void *bytes, size_t length, off64_t at),
      (fd, bytes, length, at))
WRITE(int, ftruncate64, (int fd, off64_t length), (fd, length))
WRITE(int, rename, (const char *from, const char *to), (from, to))
WRITE(int, unlink, (const char *path), (path))
WRITE(int, rmdir, (const char *path), (path))
WRITE(int, mkdir, (const char *path, mode_t mode), (path, mode))

int open64(const char *path, int flags, ...)
{
    static int (*next)(const char *, int, ...);
    va_list arguments;
    mode_t mode = 0;

    if (next == NULL)
        *(void **)&next = original("open64");
    if (flags & O_CREAT) {
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
        before_write();
    }
    return next(path, flags, mode);
}

#define SETTING(name, comment)                                                                     \
    static void set_##name(MYSQL_THD thd, struct st_mysql_sys_var *variable, void *target,         \
                           const void *save)                                                       \
    {                                                                                              \
        (void)thd, (void)variable;                                                                 \
        *(int *)target = *(const int *)save;                                                       \
        armed = false;                                                                             \
        steps = writes = 0;                                                                        \
        name = *(const int *)save;                                                                 \
    }                                                                                              \
    static MYSQL_THDVAR_INT(name, PLUGIN_VAR_RQCMDARG, comment, NULL, set_##name, 0, 0, 1 << 30, 0);

SETTING(stop_at, "Stop before this step of the session, counted from the next statement on; 0 none")
SETTING(kill_at, "kill -9 the server before this step; 0 none")
SETTING(kill_at_write, "kill -9 the server before this write of the session, from now on; 0 none")

static void set_going(MYSQL_THD thd, struct st_mysql_sys_var *variable, void *target,
                      const void *save)
{
    (void)thd, (void)variable;
    *(char *)target = *(const char *)save;
    atomic_store(&going, *(const char *)save != 0);
}

static char going_value;
static MYSQL_SYSVAR_BOOL(going, going_value, PLUGIN_VAR_RQCMDARG, "ON: the stopped go on", NULL,
                         set_going, 0);

static struct st_mysql_sys_var *variables[] = {MYSQL_SYSVAR(stop_at), MYSQL_SYSVAR(kill_at),
                                               MYSQL_SYSVAR(kill_at_write), MYSQL_SYSVAR(going),
                                               NULL};

#define STATUS(name, number)                                                                       \
    static int show_##name(MYSQL_THD thd, struct st_mysql_show_var *variable, void *room,          \
                           struct system_status_var *unused, enum enum_var_type type)              \
    {                                                                                              \
        (void)thd, (void)unused, (void)type;                                                       \
        *(long long *)room = number;                                                               \
        variable->type = SHOW_LONGLONG;                                                            \
        variable->value = room;                                                                    \
        return 0;                                                                                  \
    }

STATUS(stopped, atomic_load(&stopped))
STATUS(steps, steps)   /* of the asking session */
STATUS(writes, writes) /* of the asking session */

static struct st_mysql_show_var status[] = {
    {"crashpoint_stopped", (void *)show_stopped, SHOW_FUNC},
    {"crashpoint_steps", (void *)show_steps, SHOW_FUNC},
    {"crashpoint_writes", (void *)show_writes, SHOW_FUNC},
    {NULL, NULL, SHOW_UNDEF},
};

static struct st_mysql_audit descriptor = {
    .interface_version = MYSQL_AUDIT_INTERFACE_VERSION,
    .event_notify = notify,
    .class_mask = {MYSQL_AUDIT_CONNECTION_CLASSMASK | MYSQL_AUDIT_GENERAL_CLASSMASK |
                   MYSQL_AUDIT_TABLE_CLASSMASK},
};

/* clang-format off */
maria_declare_plugin(crashpoint)
{
    MYSQL_AUDIT_PLUGIN,
    &descriptor,
    "crashpoint",
    "the idem authors",
    "Stops or kills the server at a chosen step, for tests",
    PLUGIN_LICENSE_GPL,
    NULL,
    NULL,
    0x0100,
    status,
    variables,
    "1.0",
    MariaDB_PLUGIN_MATURITY_GAMMA
}
maria_declare_plugin_end;
/* clang-format on */
