/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_settled(routine, status, day, key): the owner's record has been changed. Acknowledges the
   state to the door, and notes a key that has come to its end, so that its replays are looked for
   first; answers the state, NULL for a fence. */
#include <string.h>

#include "clock.h"
#include "door.h"
#include "filter.h"
#include "recent.h"
#include "session.h"

#define STATE_MAX 16

IDEM_UDF_STRING(idem_settled, "idem_settled(routine, status, day, key)", 4, 4, STATE_MAX)

static const char *state_of(const UDF_ARGS *args)
{
    static const char *const states[] = {NULL, "DONE", "FAILED", NULL, "RELEASED"};
    struct idem_text routine = idem_udf_text(args, 0), status = idem_udf_text(args, 1);

    if (idem_text_is(routine, "renew"))
        return "RENEWED";
    if (idem_text_is(routine, "checkpoint"))
        return "CHECKPOINTED";
    return status.length == 1 && *status.bytes >= '0' && *status.bytes <= '4'
               ? states[*status.bytes - '0']
               : NULL;
}

char *idem_settled(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                   char *is_null, char *error)
{
    bool complete = true;
    const char *state;
    int64_t day;

    (void)initid;
    for (unsigned int i = 0; i < args->arg_count; i++)
        complete = complete && args->args[i] != NULL;
    *error = !complete || !idem_clock_parse_date(args->args[2], args->lengths[2], &day);
    *is_null = 1;
    if (*error) {
        idem_raise(IDEM_E_INVALID_ARGUMENT, "idem_settled: needs routine, status, day and key");
        return NULL;
    }
    if (*args->args[1] == '1' || *args->args[1] == '2')
        idem_recent_note(idem_filter_hash("", 0, args->args[3], args->lengths[3]), day,
                         !idem_session_in_transaction());
    state = state_of(args);
    *is_null = state == NULL;
    if (state == NULL)
        return NULL;
    *length = strlen(state);
    idem_door_acknowledge(state, *length);
    return memcpy(result, state, *length);
}
