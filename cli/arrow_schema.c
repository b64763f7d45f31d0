/* Formats of the C data interface are short texts: a letter or a few, for some
 * types with numbers behind a colon. Each is a line of a table here: what it is
 * in the file's metadata, and which buffers its arrays have.
 */
#include "cli/arrow_schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/slice.h"
#include "cli/flat_table.h"

/* Numbers of types and units in the metadata. */
enum arrow_type {
    ARROW_TYPE_NULL = 1,
    ARROW_TYPE_INT = 2,
    ARROW_TYPE_FLOAT = 3,
    ARROW_TYPE_BINARY = 4,
    ARROW_TYPE_UTF8 = 5,
    ARROW_TYPE_BOOL = 6,
    ARROW_TYPE_DECIMAL = 7,
    ARROW_TYPE_DATE = 8,
    ARROW_TYPE_TIME = 9,
    ARROW_TYPE_TIMESTAMP = 10,
    ARROW_TYPE_INTERVAL = 11,
    ARROW_TYPE_LIST = 12,
    ARROW_TYPE_STRUCT = 13,
    ARROW_TYPE_UNION = 14,
    ARROW_TYPE_FIXED_BINARY = 15,
    ARROW_TYPE_FIXED_LIST = 16,
    ARROW_TYPE_MAP = 17,
    ARROW_TYPE_DURATION = 18,
    ARROW_TYPE_LARGE_BINARY = 19,
    ARROW_TYPE_LARGE_UTF8 = 20,
    ARROW_TYPE_LARGE_LIST = 21,
};

struct arrow_format {
    const char *format; /* With a colon at its end: a beginning. */
    uint8_t type;
    int16_t unit; /* Precision of a float, unit of a time, 1: a signed int. */
    struct arrow_buffers buffers;
};

static const struct arrow_format arrow_formats[] = {
    {"n", ARROW_TYPE_NULL, 0, {false, 0, 0, false}},
    {"b", ARROW_TYPE_BOOL, 0, {true, 1, 0, false}},
    {"c", ARROW_TYPE_INT, 1, {true, 8, 0, false}},
    {"C", ARROW_TYPE_INT, 0, {true, 8, 0, false}},
    {"s", ARROW_TYPE_INT, 1, {true, 16, 0, false}},
    {"S", ARROW_TYPE_INT, 0, {true, 16, 0, false}},
    {"i", ARROW_TYPE_INT, 1, {true, 32, 0, false}},
    {"I", ARROW_TYPE_INT, 0, {true, 32, 0, false}},
    {"l", ARROW_TYPE_INT, 1, {true, 64, 0, false}},
    {"L", ARROW_TYPE_INT, 0, {true, 64, 0, false}},
    {"e", ARROW_TYPE_FLOAT, 0, {true, 16, 0, false}},
    {"f", ARROW_TYPE_FLOAT, 1, {true, 32, 0, false}},
    {"g", ARROW_TYPE_FLOAT, 2, {true, 64, 0, false}},
    {"z", ARROW_TYPE_BINARY, 0, {true, 0, 4, true}},
    {"u", ARROW_TYPE_UTF8, 0, {true, 0, 4, true}},
    {"Z", ARROW_TYPE_LARGE_BINARY, 0, {true, 0, 8, true}},
    {"U", ARROW_TYPE_LARGE_UTF8, 0, {true, 0, 8, true}},
    {"tdD", ARROW_TYPE_DATE, 0, {true, 32, 0, false}},
    {"tdm", ARROW_TYPE_DATE, 1, {true, 64, 0, false}},
    {"tts", ARROW_TYPE_TIME, 0, {true, 32, 0, false}},
    {"ttm", ARROW_TYPE_TIME, 1, {true, 32, 0, false}},
    {"ttu", ARROW_TYPE_TIME, 2, {true, 64, 0, false}},
    {"ttn", ARROW_TYPE_TIME, 3, {true, 64, 0, false}},
    {"tss:", ARROW_TYPE_TIMESTAMP, 0, {true, 64, 0, false}},
    {"tsm:", ARROW_TYPE_TIMESTAMP, 1, {true, 64, 0, false}},
    {"tsu:", ARROW_TYPE_TIMESTAMP, 2, {true, 64, 0, false}},
    {"tsn:", ARROW_TYPE_TIMESTAMP, 3, {true, 64, 0, false}},
    {"tDs", ARROW_TYPE_DURATION, 0, {true, 64, 0, false}},
    {"tDm", ARROW_TYPE_DURATION, 1, {true, 64, 0, false}},
    {"tDu", ARROW_TYPE_DURATION, 2, {true, 64, 0, false}},
    {"tDn", ARROW_TYPE_DURATION, 3, {true, 64, 0, false}},
    {"tiM", ARROW_TYPE_INTERVAL, 0, {true, 32, 0, false}},
    {"tiD", ARROW_TYPE_INTERVAL, 1, {true, 64, 0, false}},
    {"tin", ARROW_TYPE_INTERVAL, 2, {true, 128, 0, false}},
    {"d:", ARROW_TYPE_DECIMAL, 0, {true, 128, 0, false}},
    {"w:", ARROW_TYPE_FIXED_BINARY, 0, {true, 0, 0, false}},
    {"+l", ARROW_TYPE_LIST, 0, {true, 0, 4, false}},
    {"+L", ARROW_TYPE_LARGE_LIST, 0, {true, 0, 8, false}},
    {"+m", ARROW_TYPE_MAP, 0, {true, 0, 4, false}},
    {"+w:", ARROW_TYPE_FIXED_LIST, 0, {true, 0, 0, false}},
    {"+s", ARROW_TYPE_STRUCT, 0, {true, 0, 0, false}},
    {"+us:", ARROW_TYPE_UNION, 0, {false, 8, 0, false}},
};

/* The line of @format; *@rest gets what is behind its colon. */
static int find_format(const char *format,
                       const struct arrow_format **out,
                       const char **rest,
                       struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(arrow_formats); i++) {
        const char *name = arrow_formats[i].format;
        const size_t n = strlen(name);
        if (strncmp(format, name, n) == 0 &&
            (name[n - 1] == ':' || !format[n])) {
            *out = &arrow_formats[i];
            *rest = format + n;
            return 0;
        }
    }
    return err_set(err, ERR_UNSUPPORTED,
                   "Arrow's type '%.40s' has no place in a file here", format);
}

/* The number that follows the next commas, @skip of them. */
static uint32_t number_in(const char *text, int skip)
{
    for (; skip > 0 && (text = strchr(text, ',')); skip--)
        text++;
    return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

/* Bits of a decimal, of "precision,scale[,bits]". */
static uint32_t decimal_bits(const char *rest)
{
    const uint32_t bits = number_in(rest, 2);
    return bits ? bits : 128;
}

int arrow_buffers_of(const char *format,
                     struct arrow_buffers *out,
                     struct err *err)
{
    const struct arrow_format *f;
    const char *rest;
    int rc = find_format(format, &f, &rest, err);
    if (rc)
        return rc;
    *out = f->buffers;
    if (f->type == ARROW_TYPE_DECIMAL)
        out->value_bits = decimal_bits(rest);
    if (f->type == ARROW_TYPE_FIXED_BINARY)
        out->value_bits = 8 * number_in(rest, 0);
    return 0;
}

/* --- tables of types ----------------------------------------------------- */

static struct flat_table put_number(struct buf *b, uint32_t first)
{
    const struct flat_table t = flat_add_table(b, (const uint8_t[]){4}, 1);
    flat_set32(b, t.fields[0], first);
    return t;
}

static struct flat_table put_unit(struct buf *b, int16_t unit)
{
    const struct flat_table t = flat_add_table(b, (const uint8_t[]){2}, 1);
    flat_set16(b, t.fields[0], (uint16_t)unit);
    return t;
}

static struct flat_table put_int(struct buf *b, uint32_t bits, bool is_signed)
{
    const struct flat_table t = flat_add_table(b, (const uint8_t[]){4, 1}, 2);
    flat_set32(b, t.fields[0], bits);
    flat_set8(b, t.fields[1], is_signed);
    return t;
}

static struct flat_table put_time(struct buf *b, const struct arrow_format *f)
{
    const struct flat_table t = flat_add_table(b, (const uint8_t[]){2, 4}, 2);
    flat_set16(b, t.fields[0], (uint16_t)f->unit);
    flat_set32(b, t.fields[1], f->buffers.value_bits);
    return t;
}

/* @zone: empty for a time without one. */
static struct flat_table
put_timestamp(struct buf *b, int16_t unit, const char *zone)
{
    const struct flat_table t =
        flat_add_table(b, (const uint8_t[]){2, *zone ? 4 : 0}, 2);
    flat_set16(b, t.fields[0], (uint16_t)unit);
    if (*zone)
        flat_point(b, t.fields[1], flat_add_string(b, slice_str(zone)));
    return t;
}

static struct flat_table put_decimal(struct buf *b, const char *rest)
{
    const struct flat_table t =
        flat_add_table(b, (const uint8_t[]){4, 4, 4}, 3);
    flat_set32(b, t.fields[0], number_in(rest, 0));
    flat_set32(b, t.fields[1], number_in(rest, 1));
    flat_set32(b, t.fields[2], decimal_bits(rest));
    return t;
}

/* Of members with the numbers that @rest lists. */
static struct flat_table
put_union(struct buf *b, const char *rest, size_t members)
{
    const struct flat_table t = flat_add_table(b, (const uint8_t[]){2, 4}, 2);
    size_t first;
    const size_t ids = flat_add_vector(b, members, 4, &first);
    flat_point(b, t.fields[1], ids);
    for (size_t i = 0; i < members; i++)
        flat_set32(b, first + 4 * i, number_in(rest, (int)i));
    return t;
}

static struct flat_table put_type(struct buf *b,
                                  const struct ArrowSchema *schema,
                                  const struct arrow_format *f,
                                  const char *rest)
{
    switch ((enum arrow_type)f->type) {
    case ARROW_TYPE_INT: return put_int(b, f->buffers.value_bits, f->unit != 0);
    case ARROW_TYPE_FLOAT:
    case ARROW_TYPE_DATE:
    case ARROW_TYPE_INTERVAL:
    case ARROW_TYPE_DURATION: return put_unit(b, f->unit);
    case ARROW_TYPE_TIME: return put_time(b, f);
    case ARROW_TYPE_TIMESTAMP: return put_timestamp(b, f->unit, rest);
    case ARROW_TYPE_DECIMAL: return put_decimal(b, rest);
    case ARROW_TYPE_FIXED_BINARY:
    case ARROW_TYPE_FIXED_LIST: return put_number(b, number_in(rest, 0));
    case ARROW_TYPE_UNION:
        return put_union(b, rest, (size_t)schema->n_children);
    case ARROW_TYPE_NULL:
    case ARROW_TYPE_BINARY:
    case ARROW_TYPE_UTF8:
    case ARROW_TYPE_BOOL:
    case ARROW_TYPE_LIST:
    case ARROW_TYPE_STRUCT:
    case ARROW_TYPE_MAP:
    case ARROW_TYPE_LARGE_BINARY:
    case ARROW_TYPE_LARGE_UTF8:
    case ARROW_TYPE_LARGE_LIST: break;
    }
    return flat_add_table(b, NULL, 0);
}

/* --- fields -------------------------------------------------------------- */

/* Places of the fields of a Field. */
enum {
    FIELD_NAME,
    FIELD_NULLABLE,
    FIELD_TYPE_KIND,
    FIELD_TYPE,
    FIELD_DICTIONARY,
    FIELD_CHILDREN,
    FIELD_METADATA,
    FIELD_PARTS,
};

static struct slice take_metadata(const char **p)
{
    int32_t n;
    struct slice out;
    memcpy(&n, *p, sizeof(n));
    out = slice_make(*p + sizeof(n), (size_t)n);
    *p += sizeof(n) + (size_t)n;
    return out;
}

/* Names and values of the schema's metadata: a vector of tables. */
static size_t put_metadata(struct buf *b, const char *metadata)
{
    int32_t count;
    size_t first, at;
    memcpy(&count, metadata, sizeof(count));
    metadata += sizeof(count);
    at = flat_add_vector(b, (size_t)count, 4, &first);
    for (size_t i = 0; i < (size_t)count; i++) {
        const struct flat_table t =
            flat_add_table(b, (const uint8_t[]){4, 4}, 2);
        flat_point(b, first + 4 * i, t.at);
        flat_point(b, t.fields[0],
                   flat_add_string(b, take_metadata(&metadata)));
        flat_point(b, t.fields[1],
                   flat_add_string(b, take_metadata(&metadata)));
    }
    return at;
}

/* A dictionary's number, and that its indices are of type @f. */
static size_t put_dictionary(struct buf *b,
                             const struct arrow_format *f,
                             int64_t number,
                             bool ordered)
{
    const struct flat_table t =
        flat_add_table(b, (const uint8_t[]){8, 4, 1}, 3);
    struct flat_table index;
    flat_set64(b, t.fields[0], (uint64_t)number);
    flat_set8(b, t.fields[2], ordered);
    index = put_int(b, f->buffers.value_bits, f->unit != 0);
    flat_point(b, t.fields[1], index.at);
    return t.at;
}

static int put_field(struct buf *b,
                     const struct ArrowSchema *schema,
                     int depth,
                     int64_t *dictionaries,
                     size_t *at,
                     struct err *err);

static int put_children(struct buf *b,
                        const struct ArrowSchema *schema,
                        int depth,
                        int64_t *dictionaries,
                        size_t *at,
                        struct err *err)
{
    size_t first, child;
    int rc = 0;
    *at = flat_add_vector(b, (size_t)schema->n_children, 4, &first);
    for (size_t i = 0; rc == 0 && i < (size_t)schema->n_children; i++) {
        rc =
            put_field(b, schema->children[i], depth, dictionaries, &child, err);
        if (rc == 0)
            flat_point(b, first + 4 * i, child);
    }
    return rc;
}

/* Of a dictionary the type is that of its values. */
static int put_field(struct buf *b,
                     const struct ArrowSchema *schema,
                     int depth,
                     int64_t *dictionaries,
                     size_t *at,
                     struct err *err)
{
    const struct ArrowSchema *dictionary = schema->dictionary;
    const struct ArrowSchema *values = dictionary ? dictionary : schema;
    const char *name = schema->name ? schema->name : "";
    const uint8_t parts[FIELD_PARTS] = {
        4, 1, 1, 4, dictionary ? 4 : 0, 4, schema->metadata ? 4 : 0};
    const struct arrow_format *own, *f;
    const char *rest;
    struct flat_table t;
    size_t children;
    int rc = find_format(schema->format, &own, &rest, err);
    if (rc == 0)
        rc = find_format(values->format, &f, &rest, err);
    if (rc) {
        err_wrap(err, "column %s", name);
        return rc;
    }
    if (depth == ARROW_DEPTH_MAX || values->dictionary)
        return err_set(err, ERR_UNSUPPORTED,
                       "column %s: its type is nested more than %d deep", name,
                       ARROW_DEPTH_MAX);
    t = flat_add_table(b, parts, FIELD_PARTS);
    flat_point(b, t.fields[FIELD_NAME], flat_add_string(b, slice_str(name)));
    flat_set8(b, t.fields[FIELD_NULLABLE],
              (schema->flags & ARROW_FLAG_NULLABLE) != 0);
    flat_set8(b, t.fields[FIELD_TYPE_KIND], f->type);
    flat_point(b, t.fields[FIELD_TYPE], put_type(b, values, f, rest).at);
    rc = put_children(b, values, depth + 1, dictionaries, &children, err);
    if (rc)
        return rc;
    flat_point(b, t.fields[FIELD_CHILDREN], children);
    if (dictionary)
        flat_point(b, t.fields[FIELD_DICTIONARY],
                   put_dictionary(
                       b, own, (*dictionaries)++,
                       (schema->flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0));
    if (schema->metadata)
        flat_point(b, t.fields[FIELD_METADATA],
                   put_metadata(b, schema->metadata));
    *at = t.at;
    return 0;
}

int arrow_put_schema(struct buf *b,
                     const struct ArrowSchema *schema,
                     size_t *at,
                     struct err *err)
{
    /* The byte order, which is little, and the fields. */
    const struct flat_table t = flat_add_table(b, (const uint8_t[]){2, 4}, 2);
    int64_t dictionaries = 0;
    size_t children;
    int rc = put_children(b, schema, 0, &dictionaries, &children, err);
    if (rc)
        return rc;
    flat_point(b, t.fields[1], children);
    *at = t.at;
    return 0;
}
