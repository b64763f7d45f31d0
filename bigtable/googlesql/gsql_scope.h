/* The translator from the inside: its state, and the names that an expression
 * can use. Private to this room.
 */
#ifndef BIGTABLE_GOOGLESQL_GSQL_SCOPE_H
#define BIGTABLE_GOOGLESQL_GSQL_SCOPE_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "bigtable/googlesql/gsql_ast.h"
#include "bigtable/googlesql/gsql_translate.h"

/* A translated expression. Of the arena. */
struct gsql_expr {
    struct slice sql;
    const struct gsql_type *type;
};

struct gsql_scope_column {
    struct slice name;
    const struct gsql_type *type;
    struct slice sql; /* "t0.f1" */
};

/* One thing in FROM, or the parameter of a lambda. */
struct gsql_scope_source {
    struct slice alias;
    struct gsql_scope_column *columns;
    size_t count;
    bool is_value; /* The alias is the name of its only column. */
    struct gsql_scope_source *next;
};

struct gsql_scope {
    const struct gsql_scope *outer; /* Of a lambda: the query's. */
    struct gsql_scope_source *sources;
    /* The selected columns, which ORDER BY and others may name; or NULL. */
    const struct gsql_scope_column *selected;
    size_t selected_count;
    bool selected_first; /* They hide columns of FROM: in ORDER BY. */
};

struct gsql_translator {
    const struct gsql_options *options;
    struct arena *arena;
    struct slice text; /* Of the query or view at hand, for positions. */
    const struct gsql_scope *scope;
    unsigned names; /* Made up so far. */
    size_t bytes;   /* Of SQL made so far. */
    int view_depth;
    int aggregate_depth; /* Inside an aggregate's arguments. */
    bool wants_key;      /* The table named next is the keyed query's, */
    bool is_keyed;       /* and it was one. */
    int rc;              /* Of the first error; nothing counts after it. */
    struct err *err;
};

/* Fail with "@what[: @name] [at line:column]". */
void gsql_error(struct gsql_translator *t,
                size_t at,
                const char *what,
                struct slice name);
/* Text of the arena, charged against the translation's bytes. */
struct slice gsql_sql(struct gsql_translator *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The text in @b, which is closed. */
struct slice gsql_sql_take(struct gsql_translator *t, struct buf *b);

/* The column that @name means in the scope; NULL: none. Fails if there are
 * several. */
const struct gsql_scope_column *
gsql_scope_find(struct gsql_translator *t, struct slice name, size_t at);
/* The source whose alias is @name; NULL: none. */
const struct gsql_scope_source *
gsql_scope_source_find(const struct gsql_translator *t, struct slice name);

/* --- expressions: gsql_emit.c, gsql_emit_call.c -------------------------- */

struct gsql_expr gsql_emit(struct gsql_translator *t, struct gsql_node *n);
/* @n where @wanted is expected: a STRING literal or parameter becomes the
 * BYTES, DATE or TIMESTAMP that is wanted. @e is its translation. */
struct gsql_expr gsql_coerce(struct gsql_translator *t,
                             const struct gsql_node *n,
                             struct gsql_expr e,
                             const struct gsql_type *wanted);
struct gsql_expr gsql_emit_call(struct gsql_translator *t, struct gsql_node *n);
struct gsql_expr gsql_emit_cast(struct gsql_translator *t, struct gsql_node *n);
struct gsql_expr gsql_emit_extract(struct gsql_translator *t,
                                   struct gsql_node *n);
struct gsql_expr gsql_emit_interval(struct gsql_translator *t,
                                    struct gsql_node *n);
/* " ORDER BY …" or nothing. @positions: numbers mean selected columns. */
void gsql_put_order(struct gsql_translator *t,
                    struct gsql_node *order,
                    bool positions,
                    struct buf *out);
/* Is there an aggregate in @n? */
bool gsql_has_aggregate(const struct gsql_node *n);
/* The parameter @name; NULL: none. */
const struct gsql_param *gsql_param_find(const struct gsql_translator *t,
                                         struct slice name);

#endif /* BIGTABLE_GOOGLESQL_GSQL_SCOPE_H */
