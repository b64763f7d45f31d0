/* Rights and quotas of the tables that are served here: the records of
 * wire/policy.h, kept until the lock service reports that they were written,
 * and looked up by call.
 *
 * A call begins with rules_refresh(), which parks only after a change. The
 * checks between that and the next parking call are of one moment. A principal
 * that has a right to all families costs one look-up and one test; a table
 * without rules costs nothing.
 *
 * Anybody may read METADATA; the cluster's own principals alone may write it.
 *
 * Threads: the server's loop. */
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
struct metric_set;
struct quarry_filter;
struct quarry_mutation;
struct principal_buckets;
struct rule_book;
struct schema;
struct served;
struct tablet_server;

/* A book in which no rules are known. @s is borrowed. Owned. */
struct rule_book *rule_book_new(struct tablet_server *s);
/* Parks. NULL is allowed. PRE: the session is still there. */
void rule_book_close(struct rule_book *b);
/* Forget the rules in the file of @h, which was written or removed; NULL: all
 * rules. Does not park. */
void rule_book_forget(struct rule_book *b, const struct chubby_handle *h);
/* The rates of principals in force. Borrowed. */
struct principal_buckets *rule_book_principals(struct rule_book *b);

/* Read the rules of the table of @t, unless they are known. Parks after a
 * change. ERR_UNAVAILABLE: the lock service does not answer. */
MUST_CHECK int
rules_refresh(struct tablet_server *s, struct served *t, struct err *err);

/* --- rights -------------------------------------------------------------- */

/* Checks of the rights to the table of @t. PRE: rules_refresh(). Errors of all:
 * ERR_DENIED names the first family to which @principal does not have @right.
 */

MUST_CHECK int rules_may(struct tablet_server *s,
                         struct served *t,
                         struct slice principal,
                         struct slice family,
                         enum access_right right,
                         struct err *err);
/* As rules_may(), for the families of @schema that are marked in @by_id; NULL:
 * all of them. */
MUST_CHECK int rules_may_all(struct tablet_server *s,
                             struct served *t,
                             struct slice principal,
                             const struct schema *schema,
                             const uint8_t *by_id,
                             enum access_right right,
                             struct err *err);
/* May @principal read those of them that @filter (NULL: none) reads? */
MUST_CHECK int rules_may_read(struct tablet_server *s,
                              struct served *t,
                              struct slice principal,
                              const struct schema *schema,
                              const uint8_t *by_id,
                              const struct quarry_filter *filter,
                              struct err *err);
/* May @principal make the change @m? */
MUST_CHECK int rules_may_change(struct tablet_server *s,
                                struct served *t,
                                struct slice principal,
                                const struct schema *schema,
                                const struct quarry_mutation *m,
                                struct err *err);
/* Has @principal a right to any family, and so may know the table's shape? */
MUST_CHECK int rules_may_look(struct tablet_server *s,
                              struct served *t,
                              struct slice principal,
                              struct err *err);

/* --- quotas -------------------------------------------------------------- */

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
/* Charge the table and @principal for @rows and @bytes that a call read or
 * wrote. */
void rules_pay(struct tablet_server *s,
               struct served *t,
               struct slice principal,
               enum rate rate,
               uint64_t rows,
               uint64_t bytes);
/* Is the table over a quota of size? Cheap. */
bool rules_is_full(const struct served *t);
/* May the table, which has @schema, grow? ERR_EXHAUSTED: see size_refuse(). */
MUST_CHECK int rules_may_grow(struct tablet_server *s,
                              struct served *t,
                              const struct schema *schema,
                              struct err *err);
/* Add the quotas of all tables that are known, and how often principals were
 * refused. */
void rules_gather(struct rule_book *b, struct metric_set *out);
/* Add what the tablet @t has of its table's quotas of size. */
void rules_gather_use(const struct served *t, struct metric_set *out);
/* Does @m add cells, or only delete? */
bool rules_is_growth(const struct quarry_mutation *m);

#endif /* BIGTABLE_TABLET_SERVER_RULES_H */
