/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables that follow streams of versions. */
#include "bank.h"

#include "server.h"

void define_bank(MYSQL *sql)
{
    run(sql, "CREATE DATABASE bank");
    run(sql, "CREATE TABLE bank.account (id BIGINT PRIMARY KEY, version BIGINT UNSIGNED NOT NULL,"
             " cents BIGINT NOT NULL DEFAULT 0, memo VARCHAR(40)) ENGINE=InnoDB");
    run(sql, "CREATE TABLE bank.parking LIKE bank.account");
    run(sql, "CREATE TABLE bank.customer LIKE bank.account");
    run(sql, "CALL idem.define_projection('plain', 'bank', 'account', 'id', 'version', 'delta')");
    run(sql, "CALL idem.define_projection('park', 'bank', 'parking', 'id', 'version', 'delta')");
    run(sql, "CALL idem.set_projection('park', NULL, TRUE, NULL)");
    run(sql,
        "CALL idem.define_projection('snap', 'bank', 'customer', 'id', 'version', 'snapshot')");
}
