/* Types of values and of row keys: bounded recursion over the message Type.
 * All types of the API are accepted except aggregates, whose cells are added
 * up, which no family here does.
 */
#include "bigtable/gateway/type_message.h"

#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"

/* Levels of types within types. */
#define DEPTH_MAX 8
/* Bounds of a row key's schema: generous, since the API states none. */
#define KEY_FIELDS_MAX      100
#define DELIMITER_BYTES_MAX 50

/* Find the member that is set of a oneof whose members are messages with
 * numbers up to @last. False: none is set, or the message is malformed. */
static bool
find_kind(struct slice message, unsigned last, struct pb_field *kind)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    kind->number = 0;
    while (pb_next(&c, &f)) {
        if (f.wire != PB_BYTES || f.number > last)
            return false;
        *kind = f;
    }
    return !c.bad && kind->number != 0;
}

static int check_type(struct slice type,
                      const char *what,
                      unsigned depth,
                      struct err *err);

/* Check field @number of @message, a type. */
static int check_part(struct slice message,
                      unsigned number,
                      const char *what,
                      unsigned depth,
                      struct err *err)
{
    return check_type(pb_find(message, number), what, depth + 1, err);
}

static int check_struct(struct slice message,
                        const char *what,
                        unsigned depth,
                        struct err *err)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    int rc = 0;
    while (rc == 0 && pb_next(&c, &f))
        if (pb_is_bytes(&f, PB_Struct_fields))
            rc = check_part(f.bytes, PB_Field_type, what, depth, err);
    return rc;
}

/* At most DEPTH_MAX levels. */
static int
check_type(struct slice type, const char *what, unsigned depth, struct err *err)
{
    struct pb_field kind;
    int rc;
    if (!find_kind(type, PB_Type_enum_type, &kind) ||
        !pb_is_message(kind.bytes))
        return err_set(err, ERR_INVALID, "%s: not a known type", what);
    if (depth > DEPTH_MAX)
        return err_set(err, ERR_INVALID, "%s: more than %d types within types",
                       what, DEPTH_MAX);
    switch (kind.number) {
    case PB_Type_aggregate_type:
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: aggregates (families whose cells are added up)",
                       what);
    case PB_Type_array_type:
        return check_part(kind.bytes, PB_Array_element_type, what, depth, err);
    case PB_Type_map_type:
        rc = check_part(kind.bytes, PB_Map_key_type, what, depth, err);
        return rc ? rc
                  : check_part(kind.bytes, PB_Map_value_type, what, depth, err);
    case PB_Type_struct_type: return check_struct(kind.bytes, what, depth, err);
    default: return 0;
    }
}

int type_message_check(struct slice type, const char *what, struct err *err)
{
    return check_type(type, what, 1, err);
}

/* --- row keys ------------------------------------------------------------ */

/* Has the scalar @type an encoding? Types for which the API defines none
 * (booleans, floats, dates) cannot be part of a key. The field `encoding` has
 * the same number in all of them. */
static bool has_encoding(struct slice type)
{
    static const unsigned last[] = {
        [PB_Type_bytes_type] = PB_Bytes_Encoding_raw,
        [PB_Type_string_type] = PB_String_Encoding_utf8_bytes,
        [PB_Type_int64_type] = PB_Int64_Encoding_ordered_code_bytes,
        [PB_Type_timestamp_type] = PB_Timestamp_Encoding_unix_micros_int64,
    };
    struct pb_field kind;
    struct pb_field encoding;
    if (!find_kind(type, PB_Type_enum_type, &kind) ||
        kind.number >= ARRAY_LEN(last) || last[kind.number] == 0)
        return false;
    if (!find_kind(pb_find(kind.bytes, PB_Bytes_encoding), last[kind.number],
                   &encoding))
        return false;
    return kind.number != PB_Type_timestamp_type ||
           find_kind(encoding.bytes, last[PB_Type_int64_type], &encoding);
}

static int check_key_field(struct slice field,
                           row_key_name_cb is_taken,
                           void *ctx,
                           struct err *err)
{
    struct slice name = pb_find(field, PB_Field_field_name);
    struct slice shown = slice_sub(name, 0, 80);
    if (name.len == 0)
        return err_set(err, ERR_INVALID,
                       "row_key_schema: a field without a name");
    if (slice_eq_str(name, "_key") || slice_eq_str(name, "_timestamp") ||
        is_taken(ctx, name))
        return err_set(err, ERR_INVALID,
                       "row_key_schema: the name \"%.*s\" is taken",
                       SLICE_ARG(shown));
    if (!has_encoding(pb_find(field, PB_Field_type)))
        return err_set(err, ERR_INVALID,
                       "row_key_schema: field \"%.*s\" is not of a scalar type "
                       "with an encoding",
                       SLICE_ARG(shown));
    return 0;
}

static int
check_key_encoding(struct slice encoding, size_t field_count, struct err *err)
{
    struct pb_field kind;
    size_t delimiter;
    if (!find_kind(encoding, PB_Struct_Encoding_ordered_code_bytes, &kind))
        return err_set(err, ERR_INVALID, "row_key_schema: no encoding");
    if (kind.number == PB_Struct_Encoding_singleton && field_count != 1)
        return err_set(err, ERR_INVALID,
                       "row_key_schema: the encoding singleton is for one "
                       "field");
    delimiter = pb_find(kind.bytes, PB_DelimitedBytes_delimiter).len;
    if (kind.number == PB_Struct_Encoding_delimited_bytes &&
        (delimiter < 1 || delimiter > DELIMITER_BYTES_MAX))
        return err_set(err, ERR_INVALID,
                       "row_key_schema: a delimiter has 1 to %d bytes",
                       DELIMITER_BYTES_MAX);
    return 0;
}

/* The number of fields of @schema that are called @name. */
static size_t count_name(struct slice schema, struct slice name)
{
    struct cursor c = cursor_make(schema);
    struct pb_field f;
    size_t count = 0;
    while (pb_next(&c, &f))
        count += pb_is_bytes(&f, PB_Struct_fields) &&
                 slice_eq(pb_find(f.bytes, PB_Field_field_name), name);
    return count;
}

bool row_key_schema_has(struct slice schema, struct slice name)
{
    return count_name(schema, name) > 0;
}

int row_key_schema_check(struct slice schema,
                         row_key_name_cb is_taken,
                         void *ctx,
                         struct err *err)
{
    struct cursor c = cursor_make(schema);
    struct pb_field f;
    size_t count = 0;
    int rc = 0;
    while (rc == 0 && pb_next(&c, &f)) {
        if (!pb_is_bytes(&f, PB_Struct_fields))
            continue;
        if (++count > KEY_FIELDS_MAX)
            return err_set(err, ERR_INVALID,
                           "row_key_schema: more than %d fields",
                           KEY_FIELDS_MAX);
        rc = check_key_field(f.bytes, is_taken, ctx, err);
        if (rc == 0 &&
            count_name(schema, pb_find(f.bytes, PB_Field_field_name)) > 1)
            rc = err_set(err, ERR_INVALID,
                         "row_key_schema: two fields with the same name");
    }
    if (rc == 0 && (c.bad || count == 0))
        rc = err_set(err, ERR_INVALID, "row_key_schema: no fields");
    return rc ? rc
              : check_key_encoding(pb_find(schema, PB_Struct_encoding), count,
                                   err);
}
