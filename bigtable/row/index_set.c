/* Sets of indexes: their binary form, and the check of changes.
 *
 *     set = version:varint count:varint def…
 *     def = name:lslice number:varint flags:u8 (1: unique) state:u8
 *           column_count:varint (family:lslice qualifier:lslice)…
 */
#include "bigtable/row/index_set.h"

#include <stdio.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/schema.h"

#define FLAG_UNIQUE       1
#define DEF_ENCODED_MIN   6
#define COLUMN_BYTES_MIN  2
#define INDEX_TABLE_EXTRA (sizeof(INDEX_TABLE_PREFIX) + 10)

STATIC_ASSERT(INDEX_NAME_BYTES_MAX + INDEX_TABLE_EXTRA <= TABLE_NAME_BYTES_MAX,
              "the name of an index's table fits");

struct index_set *index_set_ref(struct index_set *s)
{
    if (s)
        atomic_fetch_add(&s->references, 1);
    return s;
}

void index_def_close(struct index_def *d)
{
    for (size_t i = 0; i < d->column_count; i++) {
        mem_free((char *)(uintptr_t)d->columns[i].family);
        mem_free((char *)(uintptr_t)d->columns[i].qualifier.data);
    }
    mem_free(d->columns);
    d->columns = NULL;
    d->column_count = 0;
}

void index_set_unref(struct index_set *s)
{
    if (!s || atomic_fetch_sub(&s->references, 1) != 1)
        return;
    for (size_t i = 0; i < s->count; i++)
        index_def_close(&s->defs[i]);
    mem_free(s->defs);
    mem_free(s);
}

const struct index_def *index_set_find(const struct index_set *s,
                                       const char *name)
{
    for (size_t i = 0; s && i < s->count; i++)
        if (strcmp(s->defs[i].name, name) == 0)
            return &s->defs[i];
    return NULL;
}

bool index_column_eq(const struct index_column *a, const struct index_column *b)
{
    return strcmp(a->family, b->family) == 0 &&
           slice_eq(a->qualifier, b->qualifier);
}

void index_table_name(const struct index_def *d, char *out)
{
    int n = snprintf(out, TABLE_NAME_BYTES_MAX + 1, INDEX_TABLE_PREFIX "%s.%u",
                     d->name, d->number);
    POST(n > 0 && n <= TABLE_NAME_BYTES_MAX);
}

/* --- binary form --------------------------------------------------------- */

void index_def_encode(const struct index_def *d, struct buf *out)
{
    buf_put_lslice(out, slice_str(d->name));
    buf_put_varint(out, d->number);
    buf_put_u8(out, d->unique ? FLAG_UNIQUE : 0);
    buf_put_u8(out, (uint8_t)d->state);
    buf_put_varint(out, d->column_count);
    for (size_t i = 0; i < d->column_count; i++) {
        buf_put_lslice(out, slice_str(d->columns[i].family));
        buf_put_lslice(out, d->columns[i].qualifier);
    }
}

static void decode_column(struct cursor *c, struct index_column *out)
{
    struct slice family = cursor_lslice(c);
    struct slice qualifier = cursor_lslice(c);
    c->bad = c->bad || schema_check_name("", family, NULL) ||
             qualifier.len > QUALIFIER_BYTES_MAX;
    if (c->bad)
        family = qualifier = SLICE_EMPTY;
    out->family = mem_strndup(family.data, family.len);
    out->qualifier =
        slice_make(mem_strndup(qualifier.data, qualifier.len), qualifier.len);
}

void index_def_decode(struct cursor *c, struct index_def *out)
{
    struct slice name = cursor_lslice(c);
    uint64_t number = cursor_varint(c);
    uint8_t flags = cursor_u8(c);
    uint8_t state = cursor_u8(c);
    size_t count = cursor_count(c, COLUMN_BYTES_MIN);
    *out = (struct index_def){.number = (uint32_t)number,
                              .unique = flags & FLAG_UNIQUE,
                              .state = (enum index_state)state};
    c->bad = c->bad || schema_check_name("", name, NULL) ||
             name.len > INDEX_NAME_BYTES_MAX ||
             slice_find_byte(name, '.') < name.len || number > UINT32_MAX ||
             flags > FLAG_UNIQUE || state < INDEX_BUILDING ||
             state > INDEX_READY || count == 0 || count > INDEX_COLUMNS_MAX;
    if (c->bad)
        return;
    memcpy(out->name, name.data, name.len);
    out->columns = mem_zalloc(count, sizeof(*out->columns));
    while (out->column_count < count)
        decode_column(c, &out->columns[out->column_count++]);
}

void index_set_encode(const struct index_set *s, struct buf *out)
{
    buf_put_varint(out, s->version);
    buf_put_varint(out, s->count);
    for (size_t i = 0; i < s->count; i++)
        index_def_encode(&s->defs[i], out);
}

void index_set_decode(struct cursor *c, struct index_set **out)
{
    struct index_set *s = mem_zalloc(1, sizeof(*s));
    uint64_t version = cursor_varint(c);
    size_t count = cursor_count(c, DEF_ENCODED_MIN);
    *out = NULL;
    atomic_init(&s->references, 1);
    s->version = (uint32_t)version;
    c->bad = c->bad || version > UINT32_MAX || count > INDEX_COUNT_MAX;
    if (!c->bad)
        s->defs = mem_zalloc(count + 1, sizeof(*s->defs));
    while (!c->bad && s->count < count)
        index_def_decode(c, &s->defs[s->count++]);
    if (c->bad)
        index_set_unref(s);
    else
        *out = s;
}

/* --- the check of changes ------------------------------------------------ */

static bool is_column_changed(const struct index_column *c,
                              const struct mutation_op *op)
{
    if (op->kind == MUTATION_DELETE_ROW)
        return true;
    if (!slice_eq_str(op->family, c->family))
        return false;
    return op->kind == MUTATION_DELETE_FAMILY ||
           slice_eq(op->qualifier, c->qualifier);
}

static bool is_changed(const struct index_def *d, const struct mutation_op *op)
{
    for (size_t i = 0; i < d->column_count; i++)
        if (is_column_changed(&d->columns[i], op))
            return true;
    return false;
}

bool index_def_is_touched(const struct index_def *d,
                          const struct quarry_mutation *m)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    struct mutation_op op;
    while (mutation_next(&c, &op))
        if (is_changed(d, &op))
            return true;
    return false;
}

static const struct index_def *changed_by(const struct index_set *s,
                                          const struct mutation_op *op)
{
    for (size_t i = 0; i < s->count; i++)
        if (is_changed(&s->defs[i], op))
            return &s->defs[i];
    return NULL;
}

/* The version of the set that a writer of the mark kept; others: none. */
static bool is_mark_of(const struct index_set *s, const struct mutation_op *op)
{
    return op->kind == MUTATION_SET && op->value.len == INDEX_MARK_BYTES &&
           get_be32(op->value.data + 8) == s->version;
}

int index_set_guard(const struct index_set *s,
                    const struct quarry_mutation *m,
                    struct err *err)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    const struct index_def *changed = NULL;
    struct mutation_op op;
    bool marked = false;
    bool outdated = false;
    while (mutation_next(&c, &op)) {
        if (op.kind != MUTATION_DELETE_ROW &&
            slice_eq_str(op.family, INDEX_FAMILY)) {
            marked = is_mark_of(s, &op);
            outdated |= !marked;
        } else if (!changed) {
            changed = changed_by(s, &op);
        }
    }
    if (!outdated && (marked || !changed))
        return 0;
    err_set(err, ERR_CONFLICT,
            "the table has indexes that this change does not keep%s%s",
            changed ? ": " : "", changed ? changed->name : "");
    err_hint(err, "write to it by a client library that keeps indexes");
    return ERR_CONFLICT;
}

const char *index_set_of_family(const struct index_set *s, const char *family)
{
    for (size_t i = 0; s && i < s->count; i++)
        for (size_t j = 0; j < s->defs[i].column_count; j++)
            if (strcmp(s->defs[i].columns[j].family, family) == 0)
                return s->defs[i].name;
    return NULL;
}
