/* Who may read and write the tables that are served here, and how much: what
 * wire/policy.h writes down, kept until the lock service says that it was
 * written, and looked up per call.
 *
 * A call begins with rules_refresh(), which parks only after a change. What
 * follows until the call parks for something else is of one moment. A principal
 * that has a right to all families costs one look-up and one test; a table
 * without rules nothing.
 *
 * METADATA is everybody's to read, and the cluster's own to write.
 *
 * Threads: the server's loop.
 */
#ifndef BIGTABLE_TABLET_SERVER_RULES_H
#define BIGTABLE_TABLET_SERVER_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/row/access.h"
#include "bigtable/row/quota.h"

struct chubby_handle;
struct quarry_filter;
struct quarry_mutation;
struct principal_buckets;
struct rule_book;
struct schema;
struct served;
struct tablet_server;

struct rule_book *rule_book_new(struct tablet_server *s);
/* Parks. NULL is allowed. PRE: the session is still there. */
void rule_book_close(struct rule_book *b);
/* The file of @h was written, or is gone; NULL: any may have been. Does not
 * park. */
void rule_book_forget(struct rule_book *b, const struct chubby_handle *h);
/* Those of principals, as they are now. Borrowed. */
struct principal_buckets *rule_book_principals(struct rule_book *b);

/* Have the rules of the table of @t as they are now. Parks after a change.
 * ERR_UNAVAILABLE: the lock service does not answer. */
MUST_CHECK int
rules_refresh(struct tablet_server *s, struct served *t, struct err *err);

/* --- rights ---------------------------------------------------------------
 */

/* What they check of the table of @t, after rules_refresh(). Errors of all:
 * ERR_DENIED names the first family that @principal has not @right to. */

MUST_CHECK int rules_may(struct tablet_server *s,
                         struct served *t,
                         struct slice principal,
                         struct slice family,
                         enum access_right right,
                         struct err *err);
/* The families of @schema that are marked in @by_id; NULL: all of them. */
MUST_CHECK int rules_may_all(struct tablet_server *s,
                             struct served *t,
                             struct slice principal,
                             const struct schema *schema,
                             const uint8_t *by_id,
                             enum access_right right,
                             struct err *err);
/* To read those of them that @filter (NULL: none) looks at. */
MUST_CHECK int rules_may_read(struct tablet_server *s,
                              struct served *t,
                              struct slice principal,
                              const struct schema *schema,
                              const uint8_t *by_id,
                              const struct quarry_filter *filter,
                              struct err *err);
/* To write what @m changes. */
MUST_CHECK int rules_may_change(struct tablet_server *s,
                                struct served *t,
                                struct slice principal,
                                const struct schema *schema,
                                const struct quarry_mutation *m,
                                struct err *err);
/* To any family: to know what the table is like. */
MUST_CHECK int rules_may_look(struct tablet_server *s,
                              struct served *t,
                              struct slice principal,
                              struct err *err);

/* --- quotas ---------------------------------------------------------------
 */

/* Indexes of quotas: see quota_name(). */
enum rate {
    RATE_READS = 2,
    RATE_WRITES = 3,
    RATE_BYTES = 4
};

/* May @principal read, or write, more of the table? ERR_EXHAUSTED: see
 * rate_refuse() and principal_refuse(). */
MUST_CHECK int rules_may_go(struct tablet_server *s,
                            struct served *t,
                            struct slice principal,
                            enum rate rate,
                            struct err *err);
/* It had so much. */
void rules_pay(struct tablet_server *s,
               struct served *t,
               struct slice principal,
               enum rate rate,
               uint64_t rows,
               uint64_t bytes);
/* Has it more than it may? Cheap. */
bool rules_is_full(const struct served *t);
/* May the table, of @schema, hold more? ERR_EXHAUSTED: see size_refuse(). */
MUST_CHECK int rules_may_grow(struct tablet_server *s,
                              struct served *t,
                              const struct schema *schema,
                              struct err *err);
/* Does @m put something in, or only take away? */
bool rules_is_growth(const struct quarry_mutation *m);

#endif /* BIGTABLE_TABLET_SERVER_RULES_H */
