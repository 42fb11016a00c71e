/* SPDX-License-Identifier: GPL-2.0-only */
/* One connection, used through the non-blocking calls of libmariadb. */
#include "db.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <errmsg.h>

#include "idem/version.h"
#include "loop.h"

#define ER_UNKNOWN_COM_ERROR 1047 /* a node that is not, or not yet, part of its Galera cluster */
#define ER_SERVER_SHUTDOWN 1053
#define ER_ABORTING_CONNECTION 1152
#define ER_CONNECTION_KILLED 1927

size_t idem_db_hosts(const struct idem_options *options)
{
    const char *list = options->values[IDEM_OPTION_HOST];
    size_t count = 1;

    for (; list != NULL && *list != '\0'; list++)
        count += *list == ',';
    return count;
}

/* Host number `index` of the list, and its port when the list says one. */
static void pick_host(const struct idem_options *options, size_t index, char *ret_host, size_t room,
                      unsigned int *ret_port)
{
    const char *at = options->values[IDEM_OPTION_HOST];
    char *colon;

    *ret_port = idem_options_number(options, IDEM_OPTION_PORT, 0);
    for (; index > 0; index--)
        at = strchr(at, ',') + 1;
    snprintf(ret_host, room, "%.*s", (int)strcspn(at != NULL ? at : "", ","), at != NULL ? at : "");
    colon = strchr(ret_host, ':');
    if (colon != NULL && strchr(colon + 1, ':') == NULL) { /* two colons: an IPv6 address */
        *colon = '\0';
        *ret_port = (unsigned int)strtoul(colon + 1, NULL, 10);
    }
}

static int wait_for(MYSQL *sql, int want)
{
    short events =
        (short)((want & MYSQL_WAIT_READ ? POLLIN : 0) | (want & MYSQL_WAIT_WRITE ? POLLOUT : 0) |
                (want & MYSQL_WAIT_EXCEPT ? POLLPRI : 0));
    int timeout = want & MYSQL_WAIT_TIMEOUT ? (int)mysql_get_timeout_value_ms(sql) : -1;
    short got = idem_loop_poll(mysql_get_socket(sql), events, timeout);

    if (got == 0)
        return MYSQL_WAIT_TIMEOUT;
    return (got & (POLLIN | POLLHUP | POLLERR | POLLNVAL) ? want & MYSQL_WAIT_READ : 0) |
           (got & (POLLOUT | POLLHUP | POLLERR | POLLNVAL) ? want & MYSQL_WAIT_WRITE : 0) |
           (got & POLLPRI ? want & MYSQL_WAIT_EXCEPT : 0);
}

/* Runs a call of the _start/_cont family to its end. */
#define WAIT(sql, result, call, ...)                                                               \
    do {                                                                                           \
        int want = call##_start(&(result), __VA_ARGS__);                                           \
        while (want != 0)                                                                          \
            want = call##_cont(&(result), sql, wait_for(sql, want));                               \
    } while (0)

static void keep_error(struct idem_db *db, MYSQL *sql)
{
    db->error = mysql_errno(sql);
    snprintf(db->message, sizeof(db->message), "%s", mysql_error(sql));
}

static void set_text(MYSQL *sql, enum mysql_option name, const char *value)
{
    if (value != NULL)
        mysql_optionsv(sql, name, value);
}

/* True when the connection must be encrypted. */
static bool set_tls(MYSQL *sql, const struct idem_options *options)
{
    char *const *values = options->values;
    bool has_ca = values[IDEM_OPTION_SSL_CA] != NULL || values[IDEM_OPTION_SSL_CAPATH] != NULL;
    bool verifies = values[IDEM_OPTION_SSL_VERIFY] != NULL
                        ? idem_options_flag(options, IDEM_OPTION_SSL_VERIFY)
                        : has_ca;
    my_bool verify = (my_bool)verifies;
    my_bool enforce = (my_bool)(verifies || has_ca || idem_options_flag(options, IDEM_OPTION_SSL));

    set_text(sql, MYSQL_OPT_SSL_CA, values[IDEM_OPTION_SSL_CA]);
    set_text(sql, MYSQL_OPT_SSL_CAPATH, values[IDEM_OPTION_SSL_CAPATH]);
    set_text(sql, MYSQL_OPT_SSL_CERT, values[IDEM_OPTION_SSL_CERT]);
    set_text(sql, MYSQL_OPT_SSL_KEY, values[IDEM_OPTION_SSL_KEY]);
    set_text(sql, MYSQL_OPT_SSL_CIPHER, values[IDEM_OPTION_SSL_CIPHER]);
    set_text(sql, MARIADB_OPT_TLS_VERSION, values[IDEM_OPTION_TLS_VERSION]);
    mysql_optionsv(sql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
    mysql_optionsv(sql, MYSQL_OPT_SSL_ENFORCE, &enforce);
    return enforce;
}

/* A server that vanished without a word is noticed within a minute, also in a long statement. */
static void keep_alive(MYSQL *sql)
{
    int fd = mysql_get_socket(sql), on = 1, idle = 30, interval = 10, count = 3;

    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

bool idem_db_connect(struct idem_db *db, const struct idem_options *options, size_t host)
{
    char *const *values = options->values;
    unsigned int timeout = idem_options_number(options, IDEM_OPTION_CONNECT_TIMEOUT, 10), port;
    MYSQL *sql = mysql_init(NULL), *connected = NULL;
    char name[256];
    json_t *settled;
    bool encrypted;

    if (sql == NULL)
        abort();
    pick_host(options, host, name, sizeof(name), &port);
    mysql_optionsv(sql, MYSQL_OPT_NONBLOCK, 0);
    mysql_optionsv(sql, MYSQL_OPT_CONNECT_TIMEOUT, &timeout);
    mysql_optionsv(sql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_optionsv(sql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "idemd");
    mysql_optionsv(sql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_version", IDEM_VERSION);
    encrypted = set_tls(sql, options);
    snprintf(db->name, sizeof(db->name), "%s%s%.0u", name[0] != '\0' ? name : "localhost",
             port != 0 ? ":" : "", port);
    WAIT(sql, connected, mysql_real_connect, sql, name[0] != '\0' ? name : NULL,
         values[IDEM_OPTION_USER], values[IDEM_OPTION_PASSWORD], NULL, port,
         values[IDEM_OPTION_SOCKET], CLIENT_MULTI_RESULTS | CLIENT_REMEMBER_OPTIONS);
    if (connected == NULL) {
        keep_error(db, sql);
        mysql_close(sql);
        return false;
    }
    /* Without a certificate to verify the library goes on in the clear when the server has no TLS.
     */
    if (encrypted && mysql_get_ssl_cipher(sql) == NULL) {
        db->error = CR_SSL_CONNECTION_ERROR;
        snprintf(db->message, sizeof(db->message), "the server offers no encryption");
        mysql_close(sql);
        return false;
    }
    keep_alive(sql);
    db->sql = sql;
    /* Whatever the server's defaults are: the tasks commit themselves, and take the time they need.
     */
    settled = idem_db_query(db, "SET SESSION autocommit = 1, max_statement_time = 0");
    if (settled == NULL)
        idem_db_close(db);
    json_decref(settled);
    return db->sql != NULL;
}

void idem_db_close(struct idem_db *db)
{
    mysql_close(db->sql);
    db->sql = NULL;
}

static json_t *rows_of(MYSQL_RES *result)
{
    MYSQL_FIELD *fields = mysql_fetch_fields(result);
    json_t *rows = json_array();
    MYSQL_ROW row;

    while ((row = mysql_fetch_row(result)) != NULL) {
        unsigned long *lengths = mysql_fetch_lengths(result);
        json_t *object = json_object();

        for (unsigned int i = 0; i < mysql_num_fields(result); i++) {
            json_t *text = row[i] != NULL ? json_stringn(row[i], lengths[i]) : NULL;

            json_object_set_new(object, fields[i].name, text != NULL ? text : json_null());
        }
        json_array_append_new(rows, object);
    }
    return rows;
}

json_t *idem_db_query(struct idem_db *db, const char *text)
{
    json_t *rows = NULL;
    int failed = 0;

    WAIT(db->sql, failed, mysql_real_query, db->sql, text, (unsigned long)strlen(text));
    while (failed == 0) {
        MYSQL_RES *result = NULL;

        WAIT(db->sql, result, mysql_store_result, db->sql);
        if (result == NULL && mysql_errno(db->sql) != 0)
            break;
        if (result != NULL && rows == NULL)
            rows = rows_of(result);
        mysql_free_result(result);
        if (!mysql_more_results(db->sql))
            return rows != NULL ? rows : json_array();
        WAIT(db->sql, failed, mysql_next_result, db->sql);
    }
    keep_error(db, db->sql);
    json_decref(rows);
    return NULL;
}

bool idem_db_lost(const struct idem_db *db)
{
    return (db->error >= CR_MIN_ERROR && db->error <= CR_MAX_ERROR) ||
           db->error == ER_UNKNOWN_COM_ERROR || db->error == ER_SERVER_SHUTDOWN ||
           db->error == ER_ABORTING_CONNECTION || db->error == ER_CONNECTION_KILLED;
}
