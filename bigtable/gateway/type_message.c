/* Types of values and of row keys: bounded recursion over the message Type.
 * Aggregates, whose cells are added up, are of families as a whole, and not
 * within other types.
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
        return err_set(err, ERR_INVALID,
                       "%s: an aggregate is not within another type", what);
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

/* --- aggregates ---------------------------------------------------------- */

/* The number of the kind of @type, of Type; 0: it has none. */
static uint64_t kind_of_type(struct slice type, struct pb_field *kind)
{
    return find_kind(type, PB_Type_enum_type, kind) ? kind->number : 0;
}

/* Is @type of integers as 8 bytes, big-endian, which is the default? */
static bool is_plain_integer(struct slice type)
{
    struct pb_field kind;
    struct pb_field encoding;
    return kind_of_type(type, &kind) == PB_Type_int64_type &&
           (!find_kind(pb_find(kind.bytes, PB_Int64_encoding),
                       PB_Int64_Encoding_ordered_code_bytes, &encoding) ||
            encoding.number == PB_Int64_Encoding_big_endian_bytes);
}

/* Bytes, strings, and what has no type. */
static bool is_plain_bytes(struct slice type)
{
    struct pb_field kind;
    uint64_t number = kind_of_type(type, &kind);
    return type.len == 0 || number == PB_Type_bytes_type ||
           number == PB_Type_string_type;
}

static int aggregate_of_input(struct slice aggregate,
                              const char *what,
                              const char *integers,
                              const char *bytes,
                              const char **out,
                              struct err *err)
{
    struct slice input = pb_find(aggregate, PB_Aggregate_input_type);
    *out = "";
    if (is_plain_integer(input))
        *out = integers;
    else if (bytes && is_plain_bytes(input))
        *out = bytes;
    if (**out)
        return 0;
    return err_set(err, ERR_INVALID,
                   "%s: the aggregate takes no such input_type, but %s", what,
                   bytes ? "Int64, Bytes, String or none"
                         : "Int64 in big-endian bytes");
}

/* The function of @aggregate, by its field in the message; 0: none. */
static uint64_t aggregator_of(struct slice aggregate)
{
    struct cursor c = cursor_make(aggregate);
    struct pb_field f;
    uint64_t function = 0;
    while (pb_next(&c, &f))
        if (f.wire == PB_BYTES && f.number >= PB_Aggregate_sum)
            function = f.number;
    return c.bad ? 0 : function;
}

int type_message_aggregate(struct slice type,
                           const char *what,
                           const char **aggregate,
                           struct err *err)
{
    struct pb_field f;
    *aggregate = "";
    if (kind_of_type(type, &f) != PB_Type_aggregate_type)
        return 0;
    switch (aggregator_of(f.bytes)) {
    case PB_Aggregate_sum:
        return aggregate_of_input(f.bytes, what, "sum", NULL, aggregate, err);
    case PB_Aggregate_min:
        return aggregate_of_input(f.bytes, what, "min", NULL, aggregate, err);
    case PB_Aggregate_max:
        return aggregate_of_input(f.bytes, what, "max", NULL, aggregate, err);
    case PB_Aggregate_hllpp_unique_count:
        return aggregate_of_input(f.bytes, what, "hll", "hll-bytes", aggregate,
                                  err);
    default:
        return err_set(err, ERR_INVALID,
                       "%s: an aggregate without a known aggregator", what);
    }
}

/* Append field @number: a Type of integers, or of bytes, with its encoding. */
static void put_plain_type(struct buf *out, unsigned number, bool integers)
{
    size_t type = pb_open(out, number);
    size_t kind = pb_open(out, integers ? (unsigned)PB_Type_int64_type
                                        : (unsigned)PB_Type_bytes_type);
    size_t encoding = pb_open(out, PB_Int64_encoding);
    pb_put_bytes(out, PB_Int64_Encoding_big_endian_bytes, SLICE_EMPTY);
    pb_close(out, encoding);
    pb_close(out, kind);
    pb_close(out, type);
}

STATIC_ASSERT((int)PB_Int64_encoding == (int)PB_Bytes_encoding &&
                  (int)PB_Int64_Encoding_big_endian_bytes ==
                      (int)PB_Bytes_Encoding_raw,
              "the encodings of both types have the same numbers");

void type_message_put_aggregate(struct buf *out,
                                const char *aggregate,
                                struct slice given)
{
    static const struct {
        const char *name;
        unsigned function;
        bool integers; /* Its input; */
        bool sketch;   /* its state is one. */
    } kinds[] = {
        {"sum", PB_Aggregate_sum, true, false},
        {"min", PB_Aggregate_min, true, false},
        {"max", PB_Aggregate_max, true, false},
        {"hll", PB_Aggregate_hllpp_unique_count, true, true},
        {"hll-bytes", PB_Aggregate_hllpp_unique_count, false, true},
    };
    struct slice input = pb_find(pb_find(given, PB_Type_aggregate_type),
                                 PB_Aggregate_input_type);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        size_t type;
        if (!slice_eq_str(slice_str(aggregate), kinds[i].name))
            continue;
        type = pb_open(out, PB_Type_aggregate_type);
        if (!kinds[i].integers && input.len)
            pb_put_bytes(out, PB_Aggregate_input_type, input);
        else
            put_plain_type(out, PB_Aggregate_input_type, kinds[i].integers);
        put_plain_type(out, PB_Aggregate_state_type, !kinds[i].sketch);
        pb_put_bytes(out, kinds[i].function, SLICE_EMPTY);
        pb_close(out, type);
    }
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
