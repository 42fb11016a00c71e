/* SPDX-License-Identifier: GPL-2.0-only */
/* Starting a Galera cluster of two private servers. */
#include "cluster.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define OPTIONS 13

static const char *const libraries[] = {"/usr/lib/galera/libgalera_smm.so",
                                        "/usr/lib64/galera-4/libgalera_smm.so"};

/* Options must outlive the servers, which keep them for their restarts. */
static char texts[2][OPTIONS][512];
static const char *options[2][OPTIONS + 1];
static unsigned int group_ports[2];

static const char *library(void)
{
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
        if (access(libraries[i], R_OK) == 0)
            return libraries[i];
    return NULL;
}

static bool missing(const char *what)
{
    print_message("\n*** NO GALERA TESTS: this machine lacks %s ***\n\n", what);
    return false;
}

static bool can_start(void)
{
    if (library() == NULL)
        return missing("the Galera library (package galera-4)");
    if (system("mariadbd --version | grep -q 'Ver 10[.]'") != 0)
        return missing("MariaDB 10.11 (idem refuses Galera on later servers)");
    return true;
}

bool cluster_can_rejoin(void)
{
    if (system("command -v rsync wsrep_sst_rsync >/dev/null") != 0)
        return missing("rsync, or wsrep_sst_rsync (package mariadb-server), to take back a node");
    return true;
}

static void add_option(int node, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_option(int node, const char *format, ...)
{
    va_list arguments;
    int i = 0;

    while (options[node][i] != NULL)
        i++;
    assert_true(i < OPTIONS);
    va_start(arguments, format);
    vsnprintf(texts[node][i], sizeof(texts[node][i]), format, arguments);
    va_end(arguments);
    options[node][i] = texts[node][i];
}

/* `first`: the cluster begins with this node. */
static void write_options(int node, bool first)
{
    unsigned int own = group_ports[node];

    memset(options[node], 0, sizeof(options[node]));
    add_option(node, "--wsrep-on=ON");
    add_option(node, "--wsrep-provider=%s", library());
    add_option(node, "--wsrep-cluster-name=idem-%ld", (long)getpid());
    if (first)
        add_option(node, "--wsrep-cluster-address=gcomm://");
    else
        add_option(node, "--wsrep-cluster-address=gcomm://127.0.0.1:%u", group_ports[!node]);
    add_option(node, "--wsrep-node-name=n%d", node + 1);
    add_option(node, "--wsrep-node-address=127.0.0.1:%u", own);
    add_option(node, "--wsrep-sst-method=rsync");
    add_option(node, "--wsrep-sst-receive-address=127.0.0.1:%u", server_free_port());
    add_option(node,
               "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:%u;base_port=%u;"
               "ist.recv_addr=127.0.0.1:%u;gcache.size=16M;pc.recovery=false;pc.weight=%d",
               own, own, server_free_port(), node == 0 ? 2 : 1);
    add_option(node, "--wsrep-slave-threads=4"); /* rows are applied side by side */
    add_option(node, "--innodb-autoinc-lock-mode=2");
    add_option(node, "--server-id=%d", node + 1);
    add_option(node, "--log-slave-updates=ON");
}

static bool is_member(struct server *node, int size)
{
    unsigned int error;
    MYSQL *sql = server_try_connect(node, 0, &error);
    bool yes;

    if (sql == NULL)
        return false;
    /* 1047 while the node is joining. */
    yes = run_errno(
              sql,
              "BEGIN NOT ATOMIC IF (SELECT COUNT(*) FROM information_schema.global_status WHERE "
              "(variable_name = 'WSREP_CLUSTER_SIZE' AND variable_value = %d) OR "
              "(variable_name = 'WSREP_LOCAL_STATE_COMMENT' AND variable_value = 'Synced')) < 2 "
              "THEN SIGNAL SQLSTATE '45000'; END IF; END",
              size) == 0;
    mysql_close(sql);
    return yes;
}

void cluster_wait(struct server *node, int size)
{
    const struct timespec pause = {.tv_nsec = 50000000};

    for (int tries = 0; !is_member(node, size); tries++) {
        if (tries == 2400)
            fail_msg("not a node of %d after two minutes", size);
        nanosleep(&pause, NULL);
    }
}

/* Started by root, the receiving rsync writes as nobody. */
static void open_folder(const struct server *node)
{
    char command[700];

    snprintf(command, sizeof(command),
             "chmod -R a+rwX '%s' && { [ $(id -u) != 0 ] || chown -R nobody '%s'; }",
             server_folder(node), server_folder(node));
    assert_int_equal(system(command), 0);
}

/* A copy of the first node's data as it was before the cluster began, said to be what the cluster
   has now: nothing is written meanwhile. So the second node needs no state transfer. */
static void write_position(struct server *first)
{
    MYSQL *sql = server_connect(first);
    char path[700];
    FILE *file;

    snprintf(path, sizeof(path), "%s/copy/grastate.dat", server_folder(first));
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("version: 2.1\nsafe_to_bootstrap: 0\n", file);
    fprintf(file, "uuid: %s\n", value(sql, "SELECT " GLOBAL_STATUS("WSREP_CLUSTER_STATE_UUID")));
    fprintf(file, "seqno: %s\n", value(sql, "SELECT " GLOBAL_STATUS("WSREP_LAST_COMMITTED")));
    fclose(file);
    mysql_close(sql);
}

bool cluster_start(struct server *ret_nodes[2])
{
    char copy[700];

    if (!can_start())
        return false;
    for (int i = 0; i < 2; i++)
        group_ports[i] = server_free_port();
    for (int i = 0; i < 2; i++)
        write_options(i, i == 0);
    ret_nodes[0] = server_start_bare(NULL);
    server_kill(ret_nodes[0], SIGTERM);
    snprintf(copy, sizeof(copy), "cp -a '%s/data' '%s/copy'", server_folder(ret_nodes[0]),
             server_folder(ret_nodes[0]));
    assert_int_equal(system(copy), 0);
    server_restart(ret_nodes[0], options[0]);
    cluster_wait(ret_nodes[0], 1);
    write_position(ret_nodes[0]);
    snprintf(copy, sizeof(copy), "mv '%s/copy' data", server_folder(ret_nodes[0]));
    ret_nodes[1] = server_start_with(options[1], copy);
    cluster_wait(ret_nodes[1], 2);
    return true;
}

void cluster_rejoin(struct server *nodes[2], int which)
{
    open_folder(nodes[which]);
    write_options(which, false);
    server_restart(nodes[which], options[which]);
    cluster_wait(nodes[which], 2);
}

void cluster_catch_up(MYSQL *const sql[2])
{
    for (int i = 0; i < 2; i++) {
        long long seqno = value_int(sql[i], "SELECT " GLOBAL_STATUS("WSREP_LAST_COMMITTED"));

        wait_until(sql[!i], "SELECT " GLOBAL_STATUS("WSREP_LAST_COMMITTED") " >= %lld", seqno);
    }
}

void cluster_stop(struct server *nodes[2])
{
    for (int i = 1; i >= 0; i--)
        server_stop(nodes[i]);
}
