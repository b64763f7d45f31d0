/* The functions of GoogleSQL that Bigtable documents and DuckDB can compute, a
 * line each. A function that is not in the table is refused by its name.
 */
#ifndef BIGTABLE_GOOGLESQL_GSQL_FUNCTIONS_H
#define BIGTABLE_GOOGLESQL_GSQL_FUNCTIONS_H

#include <stdbool.h>

#include "base/core/slice.h"

/* The type of a call. */
enum gsql_returns {
    GSQL_IS_BOOL,
    GSQL_IS_INT64,
    GSQL_IS_FLOAT64,
    GSQL_IS_FLOAT32,
    GSQL_IS_STRING,
    GSQL_IS_BYTES,
    GSQL_IS_DATE,
    GSQL_IS_TIMESTAMP,
    GSQL_IS_FIRST,    /* As the first argument, */
    GSQL_IS_SECOND,   /* the second, */
    GSQL_IS_COMMON,   /* what all have in common. */
    GSQL_IS_TOTAL,    /* INT64 of INT64, else FLOAT64; cast to it. */
    GSQL_IS_ELEMENT,  /* An element of the first argument. */
    GSQL_IS_LIST,     /* An array of the first argument's type, */
    GSQL_IS_MAPPED,   /* or of the lambda's. */
    GSQL_IS_KEYS,     /* Of a map: an array of its keys, */
    GSQL_IS_VALUES,   /* of its values, */
    GSQL_IS_ENTRIES,  /* of both. */
    GSQL_IS_INTEGERS, /* ARRAY<INT64> */
};

enum {
    GSQL_AGGREGATE = 1,
    GSQL_TEXTUAL = 2, /* Of texts, or of bytes by way of Latin-1. */
    GSQL_PART_2 = 4,  /* The second argument is a part of a date (DAY, …), */
    GSQL_PART_3 = 8,  /* the third. */
    GSQL_GROUPS = 16, /* $g: 1 if the regular expression that is the second
                         argument has a group. */
    GSQL_FORMAT_1 = 32, /* The first argument is a format of times. */
    GSQL_ALIKE = 64,    /* Arguments are brought to one type. */
};

struct gsql_function {
    const char *name;
    unsigned min;
    unsigned max; /* Arguments. */
    enum gsql_returns result;
    unsigned flags;
    /* DuckDB's expression. $1 … $9: arguments; $*: all, $|: all with || between
     * them, $n: is one of them NULL?; $d: DISTINCT; $o: ORDER BY. Of
     * [this|that], that counts where an argument in this is missing. */
    const char *sql;
    const char *bytes_sql; /* Where the first argument is BYTES; NULL: sql. */
};

#define GSQL_ARGUMENTS_MAX 1000

/* The function @name, in any case; NULL: there is none. */
const struct gsql_function *gsql_function_find(struct slice name);

/* DuckDB's name of a part of dates (DAY: "day"); NULL: there is none. */
const char *gsql_date_part(struct slice name);

#endif /* BIGTABLE_GOOGLESQL_GSQL_FUNCTIONS_H */
