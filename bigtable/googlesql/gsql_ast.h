/* The tree of a query of GoogleSQL. All nodes and texts are of one arena. */
#ifndef BIGTABLE_GOOGLESQL_GSQL_AST_H
#define BIGTABLE_GOOGLESQL_GSQL_AST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/slice.h"
#include "bigtable/googlesql/gsql_type.h"

struct gsql_query;

enum gsql_node_kind {
    GSQL_NULL,
    GSQL_TRUTH,   /* `flag` */
    GSQL_INTEGER, /* `text`, decimal or hexadecimal digits */
    GSQL_FLOAT,   /* `text` */
    GSQL_TEXT,    /* `text`, a STRING or BYTES of `type` */
    GSQL_TYPED,   /* DATE '…' and TIMESTAMP '…': `type`, `text` */
    GSQL_PARAM,   /* `text` */
    GSQL_NAME,    /* `text` */
    GSQL_MEMBER,  /* a.text */
    GSQL_STAR,    /* [a.]* [EXCEPT (names: list)] [REPLACE (b: with aliases)] */
    GSQL_INDEX,   /* a[b]; `text`: OFFSET, KEY, …; empty: none */
    GSQL_CALL, /* text(list); `flag`: DISTINCT; `safe`; ORDER BY: b; LIMIT: c */
    GSQL_CAST, /* a AS type; `safe` */
    GSQL_UNARY,   /* text a */
    GSQL_BINARY,  /* a text b */
    GSQL_LIKE,    /* a [NOT: flag] LIKE b */
    GSQL_BETWEEN, /* a [NOT: flag] BETWEEN b AND c */
    GSQL_IN,      /* a [NOT: flag] IN (list), or UNNEST(b) */
    GSQL_IS, /* a IS [NOT: flag] text: NULL, TRUE, FALSE, or DISTINCT FROM b */
    GSQL_CASE,        /* CASE [a] WHEN list… THEN … [ELSE b]; list: pairs */
    GSQL_ARRAY_OF,    /* [list], ARRAY<type>[list] */
    GSQL_STRUCT_OF,   /* STRUCT(list with aliases), (a, b) */
    GSQL_LAMBDA,      /* list of names -> a */
    GSQL_INTERVAL_OF, /* INTERVAL a text */
    GSQL_EXTRACT,     /* EXTRACT(text FROM a) */
    GSQL_ORDER,       /* a [DESC: flag] [NULLS FIRST, LAST: text] */
    GSQL_NAMED,       /* text => a */
};

struct gsql_node {
    enum gsql_node_kind kind;
    bool flag;
    bool safe;
    size_t at; /* Where it is in the query. */
    struct slice text;
    const struct gsql_type *type;
    struct gsql_node *a;
    struct gsql_node *b;
    struct gsql_node *c;
    struct gsql_node *list; /* Linked by `next`. */
    struct gsql_node *next;
    struct slice alias; /* Of what is selected. */
};

enum gsql_source_kind {
    GSQL_FROM_NOTHING,
    GSQL_FROM_TABLE,  /* name(options: a list of GSQL_NAMED) */
    GSQL_FROM_QUERY,  /* (query) */
    GSQL_FROM_UNPACK, /* UNPACK(source) */
    GSQL_FROM_UNNEST, /* UNNEST(array) */
};

struct gsql_source {
    enum gsql_source_kind kind;
    size_t at;
    struct slice name;
    struct slice alias;
    struct gsql_node *options;
    struct gsql_node *array;
    struct gsql_query *query;
    struct gsql_source *inner; /* Of UNPACK. */
    struct gsql_source *next;  /* Only UNNEST follows. */
};

struct gsql_query {
    bool distinct;
    bool group_all;
    struct gsql_node *select;
    struct gsql_source *from; /* NULL: none. */
    struct gsql_node *where;
    struct gsql_node *group;
    struct gsql_node *having;
    struct gsql_node *order; /* GSQL_ORDER */
    struct gsql_node *limit;
    struct gsql_node *offset;
};

#endif /* BIGTABLE_GOOGLESQL_GSQL_AST_H */
