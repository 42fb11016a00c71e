/* SPDX-License-Identifier: GPL-2.0-only */
/* What idemd can be told, on the command line and in option files ([client], [client-server],
   [client-mariadb] and [idemd] of the usual my.cnf files). One table says it all. */
#ifndef IDEMD_OPTIONS_H
#define IDEMD_OPTIONS_H

#include <stdbool.h>

/* id, name, short, kind, shared with the other clients ([client] may hold it), argument, help */
#define IDEM_OPTION_MAP(X)                                                                         \
    X(HOST, "host", 'h', TEXT, true, "HOST[:PORT][,...]",                                          \
      "servers to try in turn; the first writable one is used")                                    \
    X(PORT, "port", 'P', NUMBER, true, "PORT", "TCP port (3306)")                                  \
    X(SOCKET, "socket", 'S', TEXT, true, "PATH", "socket of a local server")                       \
    X(USER, "user", 'u', TEXT, true, "NAME", "account (the system user's name)")                   \
    X(PASSWORD, "password", 0, SECRET, true, "", "")                                               \
    X(CONNECT_TIMEOUT, "connect-timeout", 0, NUMBER, true, "SECONDS", "for each server (10)")      \
    X(SSL, "ssl", 0, FLAG, true, NULL, "encrypt, and refuse to go on without")                     \
    X(SSL_CA, "ssl-ca", 0, TEXT, true, "FILE", "trusted certificates")                             \
    X(SSL_CAPATH, "ssl-capath", 0, TEXT, true, "DIR", "folder of trusted certificates")            \
    X(SSL_CERT, "ssl-cert", 0, TEXT, true, "FILE", "own certificate")                              \
    X(SSL_KEY, "ssl-key", 0, TEXT, true, "FILE", "own key")                                        \
    X(SSL_CIPHER, "ssl-cipher", 0, TEXT, true, "LIST", "allowed ciphers")                          \
    X(TLS_VERSION, "tls-version", 0, TEXT, true, "LIST", "allowed protocol versions")              \
    X(SSL_VERIFY, "ssl-verify-server-cert", 0, FLAG, true, NULL,                                   \
      "the certificate must be the host's (on when --ssl-ca is given)")                            \
    X(LISTEN, "listen", 'l', TEXT, false, "ADDRESS:PORT",                                          \
      "where /metrics, /healthz and the status page are served (127.0.0.1:9909); off: nowhere")    \
    X(LOG_FORMAT, "log-format", 0, TEXT, false, "FORMAT", "text or json (text)")                   \
    X(LOG_LEVEL, "log-level", 0, TEXT, false, "LEVEL", "error, warning, info or debug (info)")

enum idem_option {
#define X(id, ...) IDEM_OPTION_##id,
    IDEM_OPTION_MAP(X)
#undef X
        IDEM_OPTION_COUNT
};

struct idem_options {
    char *values[IDEM_OPTION_COUNT]; /* owned; NULL: not given */
    bool dry_run, json;
    const char *command; /* points into argv */
};

/* Reads option files and command line, in the order of every MariaDB client: the command line wins.
   Complains on stderr. Answers IDEM_EXIT_OK, IDEM_EXIT_USAGE, or -1 after --help and --version. */
int idem_options_read(struct idem_options *options, int argc, char **argv);

void idem_options_free(struct idem_options *options);

/* The number, or `otherwise` when it is not given. */
unsigned int idem_options_number(const struct idem_options *options, enum idem_option option,
                                 unsigned int otherwise);
bool idem_options_flag(const struct idem_options *options, enum idem_option option);

#endif
