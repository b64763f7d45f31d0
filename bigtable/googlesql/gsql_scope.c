/* Names. GoogleSQL compares them in any case, families of Bigtable in one: a
 * name that is written as it is counts first.
 */
#include "bigtable/googlesql/gsql_scope.h"

#include <stdarg.h>

#include "bigtable/googlesql/gsql_lexer.h"

#define SHOWN_BYTES 100

void gsql_error(struct gsql_translator *t,
                size_t at,
                const char *what,
                struct slice name)
{
    const struct slice shown = slice_sub(name, 0, SHOWN_BYTES);
    size_t line, column;
    if (t->rc)
        return;
    gsql_position(t->text, at, &line, &column);
    t->rc = err_set(t->err, ERR_INVALID, "%s%s%.*s [at %zu:%zu]", what,
                    name.len ? ": " : "", SLICE_ARG(shown), line, column);
}

static void charge_bytes(struct gsql_translator *t, size_t bytes)
{
    t->bytes += bytes;
    if (t->bytes > GSQL_SQL_BYTES_MAX)
        gsql_error(t, 0, "The query is too large once it is translated",
                   SLICE_EMPTY);
}

struct slice gsql_sql_take(struct gsql_translator *t, struct buf *b)
{
    struct slice out = SLICE_LIT("NULL");
    charge_bytes(t, b->len);
    if (t->rc == 0)
        out = arena_dup(t->arena, buf_slice(b));
    buf_close(b);
    return out;
}

struct slice gsql_sql(struct gsql_translator *t, const char *fmt, ...)
{
    struct buf b = BUF_INIT;
    va_list ap;
    if (t->rc)
        return SLICE_LIT("NULL");
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    return gsql_sql_take(t, &b);
}

/* --- columns ------------------------------------------------------------- */

/* The outcome of a search. */
struct found {
    const struct gsql_scope_column *exact;
    const struct gsql_scope_column *alike;
    unsigned exact_count;
    unsigned alike_count;
};

static void
look_at(struct found *f, const struct gsql_scope_column *c, struct slice name)
{
    if (slice_eq(c->name, name)) {
        f->exact = c;
        f->exact_count++;
    } else if (gsql_same_name(c->name, name)) {
        f->alike = c;
        f->alike_count++;
    }
}

static const struct gsql_scope_column *
gsql_scope_settle(struct gsql_translator *t,
                  const struct found *f,
                  struct slice name,
                  size_t at)
{
    if (f->exact_count > 1 || (f->exact_count == 0 && f->alike_count > 1))
        gsql_error(t, at, "Column name is ambiguous", name);
    return f->exact ? f->exact : f->alike;
}

static const struct gsql_scope_column *find_source(struct gsql_translator *t,
                                                   const struct gsql_scope *s,
                                                   struct slice name,
                                                   size_t at)
{
    struct found f = {.exact = NULL};
    for (const struct gsql_scope_source *o = s->sources; o; o = o->next)
        for (size_t i = 0; i < o->count; i++)
            look_at(&f, &o->columns[i], name);
    return gsql_scope_settle(t, &f, name, at);
}

static const struct gsql_scope_column *find_selected(struct gsql_translator *t,
                                                     const struct gsql_scope *s,
                                                     struct slice name,
                                                     size_t at)
{
    struct found f = {.exact = NULL};
    for (size_t i = 0; i < s->selected_count; i++)
        if (s->selected[i].name.len)
            look_at(&f, &s->selected[i], name);
    return gsql_scope_settle(t, &f, name, at);
}

static const struct gsql_scope_column *find_in(struct gsql_translator *t,
                                               const struct gsql_scope *s,
                                               struct slice name,
                                               size_t at)
{
    const struct gsql_scope_column *c = NULL;
    if (s->selected_first)
        c = find_selected(t, s, name, at);
    if (!c)
        c = find_source(t, s, name, at);
    if (!c && !s->selected_first)
        c = find_selected(t, s, name, at);
    return c;
}

const struct gsql_scope_column *
gsql_scope_find(struct gsql_translator *t, struct slice name, size_t at)
{
    const struct gsql_scope_column *c = NULL;
    for (const struct gsql_scope *s = t->scope; s && !c; s = s->outer)
        c = find_in(t, s, name, at);
    return c;
}

const struct gsql_scope_source *
gsql_scope_source_find(const struct gsql_translator *t, struct slice name)
{
    for (const struct gsql_scope *s = t->scope; s; s = s->outer)
        for (const struct gsql_scope_source *o = s->sources; o; o = o->next)
            if (!o->is_value && gsql_same_name(o->alias, name))
                return o;
    return NULL;
}
