/* Types of GoogleSQL as messages of the public API, and back. Scalars are a
 * table; ARRAY, STRUCT and MAP nest, within the bound on levels that the
 * parser has as well. */
#include "bigtable/gateway/query_type.h"

#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"

/* The field of Type for each kind. */
static const unsigned kind_fields[GSQL_KIND_COUNT] = {
    [GSQL_BOOL] = PB_Type_bool_type,
    [GSQL_INT64] = PB_Type_int64_type,
    [GSQL_FLOAT32] = PB_Type_float32_type,
    [GSQL_FLOAT64] = PB_Type_float64_type,
    [GSQL_STRING] = PB_Type_string_type,
    [GSQL_BYTES] = PB_Type_bytes_type,
    [GSQL_DATE] = PB_Type_date_type,
    [GSQL_TIMESTAMP] = PB_Type_timestamp_type,
    [GSQL_ARRAY] = PB_Type_array_type,
    [GSQL_STRUCT] = PB_Type_struct_type,
    [GSQL_MAP] = PB_Type_map_type,
};

/* Bounded: types have at most GSQL_TYPE_DEPTH_MAX levels. */
void query_type_put(struct buf *out,
                    unsigned number,
                    const struct gsql_type *type)
{
    const size_t whole = pb_open(out, number);
    size_t kind;
    PRE(kind_fields[type->kind]);
    kind = pb_open(out, kind_fields[type->kind]);
    if (type->kind == GSQL_ARRAY)
        query_type_put(out, PB_Array_element_type, type->element);
    if (type->kind == GSQL_MAP) {
        query_type_put(out, PB_Map_key_type, type->key);
        query_type_put(out, PB_Map_value_type, type->element);
    }
    for (size_t i = 0; i < type->field_count; i++) {
        const size_t field = pb_open(out, PB_Struct_fields);
        if (type->fields[i].name.len)
            pb_put_bytes(out, PB_Field_field_name, type->fields[i].name);
        query_type_put(out, PB_Field_type, type->fields[i].type);
        pb_close(out, field);
    }
    pb_close(out, kind);
    pb_close(out, whole);
}

/* The kind of @message, and the message within; GSQL_UNKNOWN: none is known. */
static enum gsql_kind kind_of_message(struct slice message, struct slice *inner)
{
    struct cursor c = cursor_make(message);
    enum gsql_kind kind = GSQL_UNKNOWN;
    struct pb_field f;
    while (pb_next(&c, &f)) {
        kind = GSQL_UNKNOWN;
        for (int k = GSQL_BOOL; k < GSQL_KIND_COUNT; k++)
            if (kind_fields[k] && pb_is_bytes(&f, kind_fields[k]))
                kind = (enum gsql_kind)k;
        *inner = f.bytes;
    }
    return c.bad ? GSQL_UNKNOWN : kind;
}

int query_type_get(struct slice message,
                   struct slice name,
                   struct arena *arena,
                   const struct gsql_type **out,
                   struct err *err)
{
    struct slice inner, element;
    const struct slice shown = slice_sub(name, 0, 80);
    enum gsql_kind kind = kind_of_message(message, &inner);
    if (kind == GSQL_ARRAY) {
        kind = kind_of_message(pb_find(inner, PB_Array_element_type), &element);
        *out = gsql_array_of(arena,
                             gsql_scalar(kind < GSQL_ARRAY ? kind : GSQL_BOOL));
    } else if (kind < GSQL_ARRAY) {
        *out = gsql_scalar(kind);
    }
    if (kind == GSQL_UNKNOWN)
        return err_set(err, ERR_INVALID,
                       "parameter %.*s: no type, or an unknown one",
                       SLICE_ARG(shown));
    if (kind >= GSQL_ARRAY)
        return err_set(err, ERR_INVALID,
                       "parameter %.*s: a parameter is a scalar or an ARRAY "
                       "of scalars",
                       SLICE_ARG(shown));
    return 0;
}
