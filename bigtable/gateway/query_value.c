/* Both directions of the message Value. In results the type is said once, in
 * the metadata; in parameters each value says its own.
 */
#include "bigtable/gateway/query_value.h"

#include <math.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/core/pb.h"
#include "base/core/text.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/query_type.h"
#include "bigtable/googlesql/gsql_literal.h"
#include "bigtable/googlesql/gsql_translate.h"

#define US_PER_S INT64_C(1000000)
/* Of the years 1 to 9999. */
#define SECONDS_MIN INT64_C(-62135596800)
#define SECONDS_MAX INT64_C(253402300799)
/* Elements of an array as a parameter. */
#define ELEMENTS_MAX ((size_t)100000)

/* --- results ------------------------------------------------------------- */

void query_writer_begin(struct query_writer *w)
{
    PRE(w->depth == 0);
    w->begin = w->out->len;
    w->too_big = false;
}

/* The field that a value is in: of ProtoRows, or of an array. */
static unsigned value_field(const struct query_writer *w)
{
    return w->depth ? (unsigned)PB_ArrayValue_values
                    : (unsigned)PB_ProtoRows_values;
}

/* Is there room for a value of @bytes? */
static bool has_room(struct query_writer *w, size_t bytes)
{
    w->too_big |= w->out->len - w->begin + bytes > QUERY_ROW_BYTES_MAX;
    return !w->too_big;
}

/* Append a Value that is the @len bytes at @value. */
static void put_small(struct query_writer *w, const char *value, size_t len)
{
    if (!has_room(w, len + 8))
        return;
    pb_put_head(w->out, value_field(w), len);
    buf_append(w->out, value, len);
}

static void writer_null(void *ctx)
{
    put_small(ctx, "", 0);
}

static char *put_tag(char *p, unsigned number, enum pb_wire wire)
{
    return put_varint(p, (uint64_t)number << 3 | wire);
}

static char *put_number(char *p, unsigned number, int64_t v)
{
    return put_varint(put_tag(p, number, PB_VARINT), (uint64_t)v);
}

/* Append the @len bytes of the message at @inner as @number of a Value. */
static void put_message(struct query_writer *w,
                        unsigned number,
                        const char *inner,
                        size_t len)
{
    char value[64], *p = put_tag(value, number, PB_BYTES);
    PRE(len < 48);
    p = put_varint(p, len);
    memcpy(p, inner, len);
    put_small(w, value, (size_t)(p - value) + len);
}

static void put_timestamp(struct query_writer *w, int64_t us)
{
    char inner[32], *p = inner;
    int64_t rest = us % US_PER_S;
    rest += rest < 0 ? US_PER_S : 0;
    p = put_number(p, PB_Timestamp_seconds, (us - rest) / US_PER_S);
    p = put_number(p, PB_Timestamp_nanos, rest * 1000);
    put_message(w, PB_Value_timestamp_value, inner, (size_t)(p - inner));
}

static void put_date(struct query_writer *w, int64_t days)
{
    char inner[40], *p = inner;
    int64_t year;
    unsigned month, day;
    text_date_from_days(days, &year, &month, &day);
    p = put_number(p, PB_Date_year, year);
    p = put_number(p, PB_Date_month, month);
    p = put_number(p, PB_Date_day, day);
    put_message(w, PB_Value_date_value, inner, (size_t)(p - inner));
}

static void writer_integer(void *ctx, enum gsql_kind kind, int64_t v)
{
    struct query_writer *w = ctx;
    char value[24], *p;
    if (kind == GSQL_TIMESTAMP) {
        put_timestamp(w, v);
        return;
    }
    if (kind == GSQL_DATE) {
        put_date(w, v);
        return;
    }
    p = put_number(
        value, kind == GSQL_BOOL ? PB_Value_bool_value : PB_Value_int_value, v);
    put_small(w, value, (size_t)(p - value));
}

static void writer_real(void *ctx, double v)
{
    char value[16], *p = put_tag(value, PB_Value_float_value, PB_FIXED64);
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    put_le64(p, bits);
    put_small(ctx, value, (size_t)(p - value) + sizeof(bits));
}

static void writer_bytes(void *ctx, enum gsql_kind kind, struct slice s)
{
    struct query_writer *w = ctx;
    if (!has_room(w, s.len + 16))
        return;
    pb_put_head(w->out, value_field(w), pb_bytes_size(s.len));
    pb_put_bytes(
        w->out,
        kind == GSQL_STRING ? PB_Value_string_value : PB_Value_bytes_value, s);
}

static void writer_open(void *ctx, enum gsql_kind kind)
{
    struct query_writer *w = ctx;
    const unsigned field = value_field(w);
    (void)kind;
    PRE(w->depth < QUERY_LEVELS_MAX);
    w->open[w->depth].value = w->open[w->depth].array = SIZE_MAX;
    if (has_room(w, 16)) {
        w->open[w->depth].value = pb_open(w->out, field);
        w->open[w->depth].array = pb_open(w->out, PB_Value_array_value);
    }
    w->depth++;
}

static void writer_close(void *ctx)
{
    struct query_writer *w = ctx;
    PRE(w->depth > 0);
    w->depth--;
    if (w->open[w->depth].value == SIZE_MAX) /* The row is cut. */
        return;
    pb_close(w->out, w->open[w->depth].array);
    pb_close(w->out, w->open[w->depth].value);
}

struct gsql_sink query_writer_sink(struct query_writer *w)
{
    return (struct gsql_sink){.ctx = w,
                              .null = writer_null,
                              .integer = writer_integer,
                              .real = writer_real,
                              .bytes = writer_bytes,
                              .open = writer_open,
                              .close = writer_close};
}

/* --- parameters ---------------------------------------------------------- */

/* The kind that is set of a Value; its number is 0: none. */
static bool find_kind(struct slice message, struct pb_field *kind)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    kind->number = 0;
    while (pb_next(&c, &f))
        if (f.number != PB_Value_type)
            *kind = f;
    return !c.bad;
}

static void put_null(struct buf *out, const struct gsql_type *type)
{
    buf_append_str(out, "(NULL::");
    gsql_type_put_duckdb(type, out);
    buf_append_byte(out, ')');
}

static bool put_real(struct buf *out, const struct pb_field *f, bool single)
{
    double v;
    if (f->number != PB_Value_float_value || f->wire != PB_FIXED64)
        return false;
    memcpy(&v, &f->integer, sizeof(v));
    gsql_put_float64(out, v);
    if (single)
        buf_append_str(out, "::FLOAT");
    return true;
}

static bool put_time(struct buf *out, const struct pb_field *f)
{
    const int64_t s = (int64_t)pb_find_integer(f->bytes, PB_Timestamp_seconds);
    const int64_t ns = (int64_t)pb_find_integer(f->bytes, PB_Timestamp_nanos);
    if (!pb_is_bytes(f, PB_Value_timestamp_value) || s < SECONDS_MIN ||
        s > SECONDS_MAX || ns < 0 || ns >= 1000 * US_PER_S)
        return false;
    buf_append_str(out, "make_timestamp");
    gsql_put_int64(out, s * US_PER_S + ns / 1000);
    return true;
}

static bool put_day(struct buf *out, const struct pb_field *f)
{
    const uint64_t year = pb_find_integer(f->bytes, PB_Date_year);
    const uint64_t month = pb_find_integer(f->bytes, PB_Date_month);
    const uint64_t day = pb_find_integer(f->bytes, PB_Date_day);
    int64_t y;
    unsigned m, d;
    if (!pb_is_bytes(f, PB_Value_date_value) || year < 1 || year > 9999 ||
        month < 1 || month > 12 || day < 1 || day > 31)
        return false;
    text_date_from_days(
        text_days_from_date((int64_t)year, (unsigned)month, (unsigned)day), &y,
        &m, &d);
    if (m != month) /* As the 30th of February. */
        return false;
    buf_printf(out, "('%04u-%02u-%02u'::DATE)", (unsigned)year, (unsigned)month,
               (unsigned)day);
    return true;
}

/* A scalar that is not NULL; false: it is not of @kind. */
static bool
put_scalar(struct buf *out, enum gsql_kind kind, const struct pb_field *f)
{
    switch (kind) {
    case GSQL_BOOL:
        if (!pb_is_integer(f, PB_Value_bool_value))
            return false;
        buf_append_str(out, f->integer ? "(true)" : "(false)");
        return true;
    case GSQL_INT64:
        if (!pb_is_integer(f, PB_Value_int_value))
            return false;
        gsql_put_int64(out, (int64_t)f->integer);
        return true;
    case GSQL_STRING:
        if (!pb_is_bytes(f, PB_Value_string_value) || !utf8_valid(f->bytes))
            return false;
        gsql_put_string(out, f->bytes);
        return true;
    case GSQL_BYTES:
        if (!pb_is_bytes(f, PB_Value_bytes_value))
            return false;
        gsql_put_bytes(out, f->bytes);
        return true;
    case GSQL_FLOAT32:
    case GSQL_FLOAT64: return put_real(out, f, kind == GSQL_FLOAT32);
    case GSQL_DATE: return put_day(out, f);
    case GSQL_TIMESTAMP: return put_time(out, f);
    case GSQL_UNKNOWN:
    case GSQL_INTERVAL:
    case GSQL_ARRAY:
    case GSQL_STRUCT:
    case GSQL_MAP: break;
    }
    return false;
}

static bool put_scalar_or_null(struct buf *out,
                               const struct gsql_type *type,
                               struct slice message)
{
    struct pb_field f;
    if (!find_kind(message, &f))
        return false;
    if (f.number == 0) {
        put_null(out, type);
        return true;
    }
    return put_scalar(out, type->kind, &f);
}

static bool put_array(struct buf *out,
                      const struct gsql_type *type,
                      const struct pb_field *array)
{
    struct cursor c = cursor_make(array->bytes);
    struct pb_field f;
    size_t count = 0;
    if (!pb_is_bytes(array, PB_Value_array_value))
        return false;
    buf_append_str(out, "CAST([");
    while (pb_next(&c, &f) && out->len <= GSQL_SQL_BYTES_MAX) {
        if (!pb_is_bytes(&f, PB_ArrayValue_values))
            continue;
        buf_append_str(out, count ? ", " : "");
        if (++count > ELEMENTS_MAX ||
            !put_scalar_or_null(out, type->element, f.bytes))
            return false;
    }
    buf_append_str(out, "] AS ");
    gsql_type_put_duckdb(type, out);
    buf_append_byte(out, ')');
    return !c.bad;
}

/* The type that the value says, if it says one, is that of the parameter. */
static int check_type(struct slice message,
                      const struct gsql_param *p,
                      struct arena *arena,
                      struct err *err)
{
    const struct gsql_type *said;
    struct buf a = BUF_INIT, b = BUF_INIT;
    int rc;
    if (!pb_has_field(message, PB_Value_type))
        return 0;
    rc = query_type_get(pb_find(message, PB_Value_type), p->name, arena, &said,
                        err);
    if (rc || gsql_type_eq(said, p->type))
        return rc;
    gsql_type_put(said, &a);
    gsql_type_put(p->type, &b);
    rc = err_set(err, ERR_INVALID,
                 "parameter %.*s: its type is %s, and was %s when the query "
                 "was prepared",
                 SLICE_ARG(slice_sub(p->name, 0, 80)), buf_cstr(&a),
                 buf_cstr(&b));
    buf_close(&a);
    buf_close(&b);
    return rc;
}

int query_value_get(struct slice message,
                    struct gsql_param *p,
                    struct arena *arena,
                    struct err *err)
{
    struct buf sql = BUF_INIT;
    struct pb_field f = {.number = 0};
    bool good;
    int rc = check_type(message, p, arena, err);
    if (rc)
        return rc;
    good = find_kind(message, &f) && f.bytes.len <= GSQL_SQL_BYTES_MAX / 4;
    if (good && p->type->kind == GSQL_ARRAY && f.number)
        good = put_array(&sql, p->type, &f);
    else if (good)
        good = put_scalar_or_null(&sql, p->type, message);
    p->sql = arena_dup(arena, buf_slice(&sql));
    p->has_bytes =
        f.number == PB_Value_bytes_value || f.number == PB_Value_string_value;
    p->bytes = f.bytes;
    buf_close(&sql);
    if (!good)
        rc = err_set(err, ERR_INVALID,
                     "parameter %.*s: its value is not of its type, or too "
                     "large",
                     SLICE_ARG(slice_sub(p->name, 0, 80)));
    return rc;
}

void query_value_none(struct gsql_param *p, struct arena *arena)
{
    struct buf sql = BUF_INIT;
    put_null(&sql, p->type);
    p->sql = arena_dup(arena, buf_slice(&sql));
    buf_close(&sql);
}
