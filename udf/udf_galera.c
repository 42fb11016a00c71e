/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_galera(): 1 on a node of a Galera cluster, 0 on another server; 52006 on a node in a session
   whose writes stay on it or leave it as statements. */
#include "galera.h"
#include "udf.h"

IDEM_UDF_INTEGER(idem_galera, "idem_galera()", 0, 0)

long long idem_galera(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    (void)initid, (void)args;
    *is_null = 0;
    *error = !idem_galera_check();
    return !*error && idem_galera_is_on();
}
