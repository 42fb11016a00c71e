/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of a session share: its connection, its deeds and its recorded calls. */
#ifndef IDEM_PROOF_SESSIONS_H
#define IDEM_PROOF_SESSIONS_H

#include "history.h"

#define BATCH_MAX 40 /* events of one consume_many */

/* The next choice of the seed: 0 to count - 1. */
int choose(struct session *s, int count);

void connect_session(struct session *s);
void refresh(struct session *s, unsigned int error); /* connects again if that ended it */

/* Deeds. A deed is for one transaction, or for one call in autocommit. */
struct deed *new_deed(struct session *s);
void end_deed(struct deed *deed, enum outcome outcome, uint64_t before);
void end_single(struct event *event); /* in autocommit the call is the commit */

bool open_transaction(struct session *s, struct deed *deed); /* false: given up */
bool witness(struct session *s, struct deed *deed);
bool in_transaction(struct session *s);
void give_up(struct session *s, struct deed *deed); /* after an error, or by choice */
void end_by_commit(struct session *s, struct deed *deed);

/* Calls that answer a state, and those that do not. token 0: without one. */
struct event *ask(struct session *s, enum op op, int key, struct deed *deed);
struct event *settle(struct session *s, enum op op, int key, uint64_t token, bool final,
                     struct deed *deed);
bool is_owner(const struct event *event);

/* consume_many of events around this key; how many there were, 0 after an error. */
int ask_many(struct session *s, int key, struct deed *deed, struct event *ret_events[BATCH_MAX]);

void take_event(struct session *s, int key);
void take_batch(struct session *s, int key);

#endif
