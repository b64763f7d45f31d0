/* A tablet for the time of a call that reads it, with the schema and the rules
 * of that moment. Threads: one at a time. */
#ifndef BIGTABLE_TABLET_SERVER_SERVING_H
#define BIGTABLE_TABLET_SERVER_SERVING_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/read/scan.h"

struct quarry_read_options;
struct served;
struct table_part_view;
struct rpc_call;
struct tablet_server;

struct serving {
    struct served *served;        /* Referenced. */
    struct table_part_view *view; /* Referenced. */
    struct read_spec spec;
};

/* The tablet @id, with a schema that is not older than @generation, and with
 * the rules of its table (rules.h) refreshed. End it in any case. Errors: those
 * of find_tablet() and of rules_refresh(). */
MUST_CHECK int serving_begin(struct tablet_server *s,
                             struct serving *out,
                             uint64_t id,
                             uint64_t generation,
                             struct err *err);
/* Build the spec of a read with the options @o, clipped to the tablet and
 * beginning at row @from. */
MUST_CHECK int serving_spec(struct serving *v,
                            const struct quarry_read_options *o,
                            struct slice from,
                            struct err *err);
/* May @principal read what the spec says, and is there room in the table's
 * rates? Errors: ERR_DENIED, ERR_EXHAUSTED. */
MUST_CHECK int serving_may_read(struct tablet_server *s,
                                const struct serving *v,
                                struct slice principal,
                                struct err *err);
/* Releases all of it; allowed after serving_begin() has failed. */
void serving_end(struct serving *v);

/* For a call whose rows have outcomes of their own: note it in the audit log if
 * @first, the first failure, is a denial. */
void serving_audit(struct tablet_server *s,
                   const struct rpc_call *call,
                   const char *what,
                   const struct err *first);

#endif /* BIGTABLE_TABLET_SERVER_SERVING_H */
