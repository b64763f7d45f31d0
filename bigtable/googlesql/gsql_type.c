/* Names and parts of types, for GoogleSQL and for DuckDB, which executes the
 * query: each type is written in both, and two are equal if their parts are. */
#include "bigtable/googlesql/gsql_type.h"

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "bigtable/googlesql/gsql_lexer.h"
#include "bigtable/googlesql/gsql_literal.h"

static const struct {
    const char *name;
    const char *duckdb;
} kind_names[GSQL_KIND_COUNT] = {
    [GSQL_UNKNOWN] = {"unknown", "VARCHAR"},
    [GSQL_BOOL] = {"BOOL", "BOOLEAN"},
    [GSQL_INT64] = {"INT64", "BIGINT"},
    [GSQL_FLOAT32] = {"FLOAT32", "FLOAT"},
    [GSQL_FLOAT64] = {"FLOAT64", "DOUBLE"},
    [GSQL_STRING] = {"STRING", "VARCHAR"},
    [GSQL_BYTES] = {"BYTES", "BLOB"},
    [GSQL_DATE] = {"DATE", "DATE"},
    [GSQL_TIMESTAMP] = {"TIMESTAMP", "TIMESTAMP"},
    [GSQL_INTERVAL] = {"INTERVAL", "INTERVAL"},
    [GSQL_ARRAY] = {"ARRAY", ""},
    [GSQL_STRUCT] = {"STRUCT", "STRUCT"},
    [GSQL_MAP] = {"MAP", "MAP"},
};

const struct gsql_type *gsql_scalar(enum gsql_kind kind)
{
    static const struct gsql_type scalars[GSQL_KIND_COUNT] = {
#define SCALAR(k) [GSQL_##k] = {.kind = GSQL_##k}
        SCALAR(UNKNOWN),   SCALAR(BOOL),     SCALAR(INT64), SCALAR(FLOAT32),
        SCALAR(FLOAT64),   SCALAR(STRING),   SCALAR(BYTES), SCALAR(DATE),
        SCALAR(TIMESTAMP), SCALAR(INTERVAL),
#undef SCALAR
    };
    return &scalars[kind];
}

const struct gsql_type *gsql_array_of(struct arena *arena,
                                      const struct gsql_type *element)
{
    struct gsql_type *t = arena_zalloc(arena, sizeof(*t));
    t->kind = GSQL_ARRAY;
    t->element = element;
    return t;
}

const struct gsql_type *gsql_map_of(struct arena *arena,
                                    const struct gsql_type *key,
                                    const struct gsql_type *value)
{
    struct gsql_type *t = arena_zalloc(arena, sizeof(*t));
    t->kind = GSQL_MAP;
    t->key = key;
    t->element = value;
    return t;
}

const struct gsql_type *gsql_history_of(struct arena *arena,
                                        const struct gsql_type *value)
{
    struct gsql_type *t = arena_zalloc(arena, sizeof(*t));
    struct gsql_field *fields = arena_alloc(arena, 2 * sizeof(*fields));
    fields[0] = (struct gsql_field){SLICE_LIT("timestamp"),
                                    gsql_scalar(GSQL_TIMESTAMP)};
    fields[1] = (struct gsql_field){SLICE_LIT("value"), value};
    t->kind = GSQL_STRUCT;
    t->fields = fields;
    t->field_count = 2;
    return gsql_array_of(arena, t);
}

bool gsql_is_history(const struct gsql_type *t)
{
    const struct gsql_type *e = t->kind == GSQL_ARRAY ? t->element : NULL;
    return e && e->kind == GSQL_STRUCT && e->field_count == 2 &&
           e->fields[0].type->kind == GSQL_TIMESTAMP &&
           slice_eq_str(e->fields[0].name, "timestamp");
}

bool gsql_is_number(const struct gsql_type *t)
{
    return t->kind == GSQL_INT64 || t->kind == GSQL_FLOAT32 ||
           t->kind == GSQL_FLOAT64;
}

bool gsql_type_fits(const struct gsql_type *a, const struct gsql_type *b)
{
    return a->kind == GSQL_UNKNOWN || b->kind == GSQL_UNKNOWN ||
           a->kind == b->kind || (gsql_is_number(a) && gsql_is_number(b));
}

/* Bounded as gsql_type_put() is. */
const struct gsql_type *gsql_type_settled(struct arena *arena,
                                          const struct gsql_type *t)
{
    struct gsql_type *out;
    struct gsql_field *fields;
    if (t->kind == GSQL_INTERVAL)
        return NULL;
    if (t->kind == GSQL_UNKNOWN)
        return gsql_scalar(GSQL_INT64);
    if (t->kind < GSQL_ARRAY)
        return t;
    out = arena_zalloc(arena, sizeof(*out));
    *out = *t;
    if (t->kind != GSQL_STRUCT)
        out->element = gsql_type_settled(arena, t->element);
    if (t->kind == GSQL_MAP)
        out->key = gsql_type_settled(arena, t->key);
    if (t->kind != GSQL_STRUCT)
        return out->element && (out->key || t->kind == GSQL_ARRAY) ? out : NULL;
    fields = arena_alloc(arena, (t->field_count + 1) * sizeof(*fields));
    for (size_t i = 0; i < t->field_count; i++) {
        fields[i].name = t->fields[i].name;
        fields[i].type = gsql_type_settled(arena, t->fields[i].type);
        if (!fields[i].type)
            return NULL;
    }
    out->fields = fields;
    return out;
}

bool gsql_type_eq(const struct gsql_type *a, const struct gsql_type *b)
{
    if (a->kind != b->kind || a->field_count != b->field_count)
        return false;
    if (a->kind == GSQL_MAP && !gsql_type_eq(a->key, b->key))
        return false;
    if ((a->kind == GSQL_MAP || a->kind == GSQL_ARRAY) &&
        !gsql_type_eq(a->element, b->element))
        return false;
    for (size_t i = 0; i < a->field_count; i++)
        if (!slice_eq(a->fields[i].name, b->fields[i].name) ||
            !gsql_type_eq(a->fields[i].type, b->fields[i].type))
            return false;
    return true;
}

enum gsql_kind gsql_kind_of(struct slice name)
{
    for (int k = GSQL_BOOL; k < GSQL_KIND_COUNT; k++)
        if (k != GSQL_INTERVAL &&
            gsql_same_name(name, slice_str(kind_names[k].name)))
            return (enum gsql_kind)k;
    return gsql_same_name(name, SLICE_LIT("BOOLEAN")) ? GSQL_BOOL
                                                      : GSQL_UNKNOWN;
}

/* Bounded: types are made with at most GSQL_TYPE_DEPTH_MAX levels. */
void gsql_type_put(const struct gsql_type *t, struct buf *out)
{
    buf_append_str(out, kind_names[t->kind].name);
    if (t->kind < GSQL_ARRAY)
        return;
    buf_append_byte(out, '<');
    if (t->kind == GSQL_MAP) {
        gsql_type_put(t->key, out);
        buf_append_str(out, ", ");
    }
    if (t->kind != GSQL_STRUCT)
        gsql_type_put(t->element, out);
    for (size_t i = 0; i < t->field_count; i++) {
        buf_append_str(out, i ? ", " : "");
        buf_append_slice(out, t->fields[i].name);
        buf_append_str(out, t->fields[i].name.len ? " " : "");
        gsql_type_put(t->fields[i].type, out);
    }
    buf_append_byte(out, '>');
}

static void put_duckdb_fields(const struct gsql_type *t, struct buf *out)
{
    for (size_t i = 0; i < t->field_count; i++) {
        buf_append_str(out, i ? ", " : "");
        gsql_put_field_name(out, t->fields[i].name, i);
        buf_append_byte(out, ' ');
        gsql_type_put_duckdb(t->fields[i].type, out);
    }
}

void gsql_type_put_duckdb(const struct gsql_type *t, struct buf *out)
{
    if (t->kind == GSQL_ARRAY) {
        gsql_type_put_duckdb(t->element, out);
        buf_append_str(out, "[]");
        return;
    }
    buf_append_str(out, kind_names[t->kind].duckdb);
    if (t->kind == GSQL_STRUCT) {
        buf_append_byte(out, '(');
        put_duckdb_fields(t, out);
        buf_append_byte(out, ')');
    } else if (t->kind == GSQL_MAP) {
        buf_append_byte(out, '(');
        gsql_type_put_duckdb(t->key, out);
        buf_append_str(out, ", ");
        gsql_type_put_duckdb(t->element, out);
        buf_append_byte(out, ')');
    }
}
