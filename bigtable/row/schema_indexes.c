/* Changes of a schema's set of indexes. A set is shared, so each change makes
 * a new one, by its binary form.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/row/gc_rule.h"
#include "bigtable/row/index_set.h"
#include "bigtable/row/schema.h"

static bool has_age(const struct gc_rule *r)
{
    if (!r)
        return false;
    for (size_t i = 0; i < r->part_count; i++)
        if (has_age(r->parts[i]))
            return true;
    return r->kind == GC_RULE_AGE;
}

static struct index_set *copy_set(const struct index_set *from)
{
    struct index_set *to = NULL;
    struct buf bytes = BUF_INIT;
    struct cursor c;
    if (!from) {
        to = mem_zalloc(1, sizeof(*to));
        atomic_init(&to->references, 1);
        to->defs = mem_zalloc(1, sizeof(*to->defs));
        return to;
    }
    index_set_encode(from, &bytes);
    c = cursor_make(buf_slice(&bytes));
    index_set_decode(&c, &to);
    POST(to);
    buf_close(&bytes);
    return to;
}

/* @to moves in; its version is the next. */
static void put_set(struct schema *s, struct index_set *to)
{
    to->version = (s->indexes ? s->indexes->version : 0) + 1; /* INV-1 */
    index_set_unref(s->indexes);
    s->indexes = to;
}

/* A value that ages disappears without a write, and the keys of rows that have
 * it would change: of an index of one column they only lose their row. */
static int check_columns(const struct schema *s,
                         const struct index_def *d,
                         struct err *err)
{
    for (size_t i = 0; i < d->column_count; i++) {
        const char *name = d->columns[i].family;
        const struct family *f = schema_family(s, slice_str(name));
        if (!f || f->hidden)
            return schema_no_family(s, slice_str(name), err);
        if (f->aggregate != AGGREGATE_NONE)
            return err_set(err, ERR_UNSUPPORTED,
                           "family %s has an aggregate: its cells are folded "
                           "when they are read, and cannot be indexed",
                           name);
        if (d->column_count > 1 && has_age(f->gc)) {
            err_set(err, ERR_UNSUPPORTED,
                    "cells of family %s go by age, without a write: an index "
                    "of several columns cannot have one of it",
                    name);
            err_hint(err, "index that column alone");
            return ERR_UNSUPPORTED;
        }
        for (size_t j = 0; j < i; j++)
            if (index_column_eq(&d->columns[i], &d->columns[j]))
                return err_set(err, ERR_INVALID, "column %s:%.*s comes twice",
                               name, SLICE_ARG(d->columns[i].qualifier));
    }
    return 0;
}

static int add_hidden(struct schema *s, struct err *err)
{
    int rc = 0;
    if (schema_family(s, SLICE_LIT(INDEX_FAMILY)))
        return 0;
    if (!schema_group(s, SLICE_LIT(INDEX_GROUP)))
        rc = schema_add_group(s, INDEX_GROUP, "", err);
    return rc ? rc
              : schema_add_family(s, INDEX_FAMILY, INDEX_FAMILY_OPTIONS, err);
}

static int
decode_hex(const char *text, struct buf *bytes, struct index_def *out)
{
    struct cursor c;
    size_t len = strlen(text);
    if (len % 2)
        return ERR_INVALID;
    for (size_t i = 0; i < len; i += 2) {
        char pair[3] = {text[i], text[i + 1], '\0'};
        char *end;
        buf_append_byte(bytes, (char)strtoul(pair, &end, 16));
        if (*end)
            return ERR_INVALID;
    }
    c = cursor_make(buf_slice(bytes));
    index_def_decode(&c, out);
    if (!c.bad && c.p == c.end)
        return 0;
    index_def_close(out);
    return ERR_INVALID;
}

static int add_def(struct schema *s, struct index_def *d, struct err *err)
{
    struct index_set *set;
    int rc = check_columns(s, d, err);
    if (rc == 0)
        rc = add_hidden(s, err);
    if (rc)
        return rc;
    set = copy_set(s->indexes);
    set->defs = mem_realloc(set->defs, (set->count + 1) * sizeof(*d));
    set->defs[set->count++] = *d;
    d->columns = NULL;
    d->column_count = 0;
    put_set(s, set);
    return 0;
}

int schema_add_index(struct schema *s,
                     const char *name,
                     const char *encoded,
                     struct err *err)
{
    struct buf bytes = BUF_INIT;
    struct index_def d = {.number = 0};
    int rc = decode_hex(encoded ? encoded : "", &bytes, &d);
    buf_close(&bytes);
    if (rc || strcmp(d.name, name) != 0)
        rc = err_set(err, ERR_INVALID, "malformed index %s", name);
    else if (index_set_find(s->indexes, name))
        rc = err_set(err, ERR_EXISTS, "index %s exists already", name);
    else if (s->indexes && s->indexes->count >= INDEX_COUNT_MAX)
        rc = err_set(err, ERR_TOOBIG, "a table has at most %d indexes",
                     INDEX_COUNT_MAX);
    else
        rc = add_def(s, &d, err);
    index_def_close(&d);
    return rc;
}

int schema_no_index(const struct schema *s, const char *name, struct err *err)
{
    struct buf list = BUF_INIT;
    for (size_t i = 0; s->indexes && i < s->indexes->count; i++)
        buf_printf(&list, "%s%s",
                   i ? ", " : "; there are: ", s->indexes->defs[i].name);
    err_set(err, ERR_NOTFOUND, "the table has no index %s%s", name,
            list.len ? buf_cstr(&list) : "");
    buf_close(&list);
    return ERR_NOTFOUND;
}

int schema_ready_index(struct schema *s,
                       const char *name,
                       const char *number,
                       struct err *err)
{
    const struct index_def *found = index_set_find(s->indexes, name);
    struct index_set *set;
    if (!found || found->number != strtoul(number ? number : "", NULL, 10))
        return schema_no_index(s, name, err);
    set = copy_set(s->indexes);
    set->defs[found - s->indexes->defs].state = INDEX_READY;
    put_set(s, set);
    return 0;
}

int schema_drop_index(struct schema *s, const char *name, struct err *err)
{
    const struct index_def *found = index_set_find(s->indexes, name);
    struct index_set *set;
    size_t i;
    if (!found)
        return schema_no_index(s, name, err);
    i = (size_t)(found - s->indexes->defs);
    set = copy_set(s->indexes);
    index_def_close(&set->defs[i]);
    set->count--;
    memmove(&set->defs[i], &set->defs[i + 1],
            (set->count - i) * sizeof(*set->defs));
    put_set(s, set);
    return 0;
}

void schema_forget_indexes(struct schema *s)
{
    struct index_set *set;
    if (!s->indexes || s->indexes->count == 0)
        return;
    set = copy_set(NULL);
    put_set(s, set);
}
