/* Types of values and of row keys. */
#include "bigtable/gateway/type_message.h"

#include "bigtable/gateway/pb.h"

enum type_kind {
    TYPE_BYTES = 1,
    TYPE_STRING = 2,
    TYPE_ARRAY = 3,
    TYPE_MAP = 4,
    TYPE_INT64 = 5,
    TYPE_AGGREGATE = 6,
    TYPE_STRUCT = 7,
    TYPE_TIMESTAMP = 10,
    TYPE_LAST = 14,
};

/* Types within types. */
#define DEPTH_MAX 8
/* Fields of a row key's schema; no more than anybody has. */
#define KEY_FIELDS_MAX      100
#define DELIMITER_BYTES_MAX 50

/* The field that is set of a oneof whose members are all messages: false when
 * none is, or it is not well-formed. */
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

/* Field @number of @message, a type. */
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
        if (pb_is_bytes(&f, 1))
            rc = check_part(f.bytes, 2, what, depth, err);
    return rc;
}

/* At most DEPTH_MAX levels. */
static int
check_type(struct slice type, const char *what, unsigned depth, struct err *err)
{
    struct pb_field kind;
    int rc;
    if (!find_kind(type, TYPE_LAST, &kind) || !pb_is_message(kind.bytes))
        return err_set(err, ERR_INVALID, "%s: not a type that is known here",
                       what);
    if (depth > DEPTH_MAX)
        return err_set(err, ERR_INVALID, "%s: more than %d types within types",
                       what, DEPTH_MAX);
    switch (kind.number) {
    case TYPE_AGGREGATE:
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: aggregates (families whose cells are added up)",
                       what);
    case TYPE_ARRAY: return check_part(kind.bytes, 1, what, depth, err);
    case TYPE_MAP:
        rc = check_part(kind.bytes, 1, what, depth, err);
        return rc ? rc : check_part(kind.bytes, 2, what, depth, err);
    case TYPE_STRUCT: return check_struct(kind.bytes, what, depth, err);
    default: return 0;
    }
}

int type_message_check(struct slice type, const char *what, struct err *err)
{
    return check_type(type, what, 1, err);
}

/* --- row keys ---------------------------------------------------------------
 */

/* Has the scalar @type an encoding? Those of the API without any cannot be in a
 * key: booleans, floats, dates. */
static bool has_encoding(struct slice type)
{
    static const unsigned last[] = {[TYPE_BYTES] = 1,
                                    [TYPE_STRING] = 2,
                                    [TYPE_INT64] = 2,
                                    [TYPE_TIMESTAMP] = 1};
    struct pb_field kind;
    struct pb_field encoding;
    if (!find_kind(type, TYPE_LAST, &kind) || kind.number >= ARRAY_LEN(last) ||
        last[kind.number] == 0)
        return false;
    if (!find_kind(pb_find(kind.bytes, 1), last[kind.number], &encoding))
        return false;
    return kind.number != TYPE_TIMESTAMP ||
           find_kind(encoding.bytes, last[TYPE_INT64], &encoding);
}

static int check_key_field(struct slice field,
                           row_key_name_cb is_taken,
                           void *ctx,
                           struct err *err)
{
    struct slice name = pb_find(field, 1);
    struct slice shown = slice_sub(name, 0, 80);
    if (name.len == 0)
        return err_set(err, ERR_INVALID,
                       "row_key_schema: a field without a name");
    if (slice_eq_str(name, "_key") || slice_eq_str(name, "_timestamp") ||
        is_taken(ctx, name))
        return err_set(err, ERR_INVALID,
                       "row_key_schema: the name \"%.*s\" is taken",
                       SLICE_ARG(shown));
    if (!has_encoding(pb_find(field, 2)))
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
    if (!find_kind(encoding, 3, &kind))
        return err_set(err, ERR_INVALID, "row_key_schema: no encoding");
    if (kind.number == 1 && field_count != 1)
        return err_set(err, ERR_INVALID,
                       "row_key_schema: the encoding singleton is for one "
                       "field");
    delimiter = pb_find(kind.bytes, 1).len;
    if (kind.number == 2 && (delimiter < 1 || delimiter > DELIMITER_BYTES_MAX))
        return err_set(err, ERR_INVALID,
                       "row_key_schema: a delimiter has 1 to %d bytes",
                       DELIMITER_BYTES_MAX);
    return 0;
}

/* How many fields of @schema are called @name. */
static size_t count_name(struct slice schema, struct slice name)
{
    struct cursor c = cursor_make(schema);
    struct pb_field f;
    size_t count = 0;
    while (pb_next(&c, &f))
        count += pb_is_bytes(&f, 1) && slice_eq(pb_find(f.bytes, 1), name);
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
        if (!pb_is_bytes(&f, 1))
            continue;
        if (++count > KEY_FIELDS_MAX)
            return err_set(err, ERR_INVALID,
                           "row_key_schema: more than %d fields",
                           KEY_FIELDS_MAX);
        rc = check_key_field(f.bytes, is_taken, ctx, err);
        if (rc == 0 && count_name(schema, pb_find(f.bytes, 1)) > 1)
            rc = err_set(err, ERR_INVALID,
                         "row_key_schema: two fields with the same name");
    }
    if (rc == 0 && (c.bad || count == 0))
        rc = err_set(err, ERR_INVALID, "row_key_schema: no fields");
    return rc ? rc : check_key_encoding(pb_find(schema, 2), count, err);
}
