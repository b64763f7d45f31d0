/* Expressions of GoogleSQL as steps of a program: each operation is an
 * assignment to a variable of its own, which is undefined for NULL. Private to
 * this room.
 */
#ifndef BIGTABLE_GOOGLESQL_GSQL_STEPS_H
#define BIGTABLE_GOOGLESQL_GSQL_STEPS_H

#include <stdbool.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/err.h"
#include "bigtable/googlesql/gsql_ast.h"
#include "bigtable/googlesql/gsql_translate.h"

/* The variable x<number>. */
struct gsql_step {
    enum gsql_kind kind; /* GSQL_UNKNOWN: NULL itself. */
    unsigned number;
};

struct gsql_steps {
    struct arena *arena;
    const struct gsql_relation *table;
    struct slice alias; /* Of the table. */
    struct buf out;     /* Owned. */
    unsigned next;      /* Number of the next variable. */
    unsigned depth;
    unsigned parts; /* Functions that are needed, of enum gsql_steps_part. */
    int rc;         /* Of the first that is not supported; nothing counts
                       after it. */
    struct err *err;
};

enum gsql_steps_part {
    GSQL_STEPS_SPLIT = 1,
};

/* Append the steps that compute @n. */
struct gsql_step gsql_steps_make(struct gsql_steps *s, struct gsql_node *n);
/* A new variable of @kind, without a value. */
struct gsql_step gsql_steps_open(struct gsql_steps *s, enum gsql_kind kind);
/* Fail with "@what is not kept up to date [at …]". */
void gsql_steps_refuse(struct gsql_steps *s, const char *what);
/* The language's name of a type, and a value of it. */
const char *gsql_steps_type(enum gsql_kind kind);
const char *gsql_steps_zero(enum gsql_kind kind);

#endif /* BIGTABLE_GOOGLESQL_GSQL_STEPS_H */
