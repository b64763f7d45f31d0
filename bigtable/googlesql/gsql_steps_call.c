/* Functions, casts and patterns that the language computes as DuckDB does. A
 * function that is not here makes its query one that is executed.
 */
#include "bigtable/googlesql/gsql_steps_call.h"

#include <stdio.h>
#include <string.h>

#include "base/core/macros.h"
#include "base/core/text.h"
#include "bigtable/googlesql/gsql_lexer.h"

#define BLANKS     "[ \\\\t\\\\n\\\\r]*"
#define US_SECOND  INT64_C(1000000)
#define US_DAY     (24 * 3600 * US_SECOND)
#define DIGITS_MAX 9 /* Of an argument that is a literal. */

static const struct gsql_step nothing = {GSQL_UNKNOWN, 0};

/* A call of the language on one variable. */
static struct gsql_step put_call(struct gsql_steps *s,
                                 enum gsql_kind kind,
                                 const char *fmt,
                                 struct gsql_step a)
{
    const char *at = strstr(fmt, "$");
    struct gsql_step v = gsql_steps_begin(s, kind);
    buf_printf(&s->out, "%.*sx%u%s;\n", (int)(at - fmt), fmt, a.number, at + 1);
    return v;
}

static bool is_text(struct gsql_step a)
{
    return a.kind == GSQL_STRING || a.kind == GSQL_BYTES;
}

/* A number that is written out; refused else. */
static int64_t take_literal(struct gsql_steps *s, const struct gsql_node *n)
{
    uint64_t v = 0;
    if (n->kind != GSQL_INTEGER || n->text.len > DIGITS_MAX ||
        text_parse_u64(n->text, &v, NULL))
        gsql_steps_refuse(s, "a position that is no small literal");
    return (int64_t)v;
}

/* --- texts --------------------------------------------------------------- */

static struct gsql_step put_case_of(struct gsql_steps *s, struct gsql_node *n)
{
    struct gsql_step a = gsql_steps_make(s, n->list);
    if (a.kind != GSQL_STRING)
        gsql_steps_refuse(s, "LOWER or UPPER of BYTES");
    return put_call(s, GSQL_STRING,
                    gsql_same_name(n->text, SLICE_LIT("LOWER"))
                        ? "lowercase($)"
                        : "uppercase($)",
                    a);
}

static struct gsql_step put_length(struct gsql_steps *s, struct gsql_node *n)
{
    struct gsql_step a = gsql_steps_make(s, n->list);
    const bool of_bytes = gsql_same_name(n->text, SLICE_LIT("BYTE_LENGTH"));
    if (!is_text(a) || (a.kind == GSQL_BYTES && !of_bytes &&
                        !gsql_same_name(n->text, SLICE_LIT("LENGTH"))))
        gsql_steps_refuse(s, "a length of this");
    return put_call(s, GSQL_INT64, of_bytes ? "len(bytes($))" : "len($)", a);
}

static struct gsql_step put_concat(struct gsql_steps *s, struct gsql_node *n)
{
    struct gsql_step a = gsql_steps_make(s, n->list);
    for (struct gsql_node *i = n->list->next; i && s->rc == 0; i = i->next) {
        struct gsql_step b = gsql_steps_as(s, i, a.kind);
        struct gsql_step v;
        gsql_steps_match(s, &a, &b);
        if (!is_text(a))
            gsql_steps_refuse(s, "CONCAT() of what is no text");
        v = gsql_steps_begin(s, a.kind);
        buf_printf(&s->out, "x%u + x%u;\n", a.number, b.number);
        a = v;
    }
    return a;
}

/* Positions from 1 on; slices of the language end where the text does. */
static struct gsql_step put_substr(struct gsql_steps *s, struct gsql_node *n)
{
    struct gsql_step a = gsql_steps_make(s, n->list);
    const int64_t from = MAX_OF(take_literal(s, n->list->next), 1) - 1;
    struct gsql_step v;
    if (!is_text(a))
        gsql_steps_refuse(s, "SUBSTR() of what is no text");
    v = gsql_steps_begin(s, a.kind);
    buf_printf(&s->out, "x%u[%lld:", a.number, (long long)from);
    if (n->list->next->next)
        buf_printf(&s->out, "%lld];\n",
                   (long long)(from + take_literal(s, n->list->next->next)));
    else
        buf_printf(&s->out, "len(x%u)];\n", a.number);
    return v;
}

/* STARTS_WITH and ENDS_WITH, of bytes. */
static struct gsql_step put_affix(struct gsql_steps *s, struct gsql_node *n)
{
    const bool ends = gsql_same_name(n->text, SLICE_LIT("ENDS_WITH"));
    struct gsql_step a, b, v;
    gsql_steps_pair(s, n->list, n->list->next, &a, &b);
    if (!is_text(a))
        gsql_steps_refuse(s, "STARTS_WITH() of what is no text");
    if (a.kind == GSQL_STRING) {
        a = put_call(s, GSQL_BYTES, "bytes($)", a);
        b = put_call(s, GSQL_BYTES, "bytes($)", b);
    }
    v = gsql_steps_begin(s, GSQL_BOOL);
    if (ends)
        buf_printf(&s->out,
                   "len(x%u) >= len(x%u) && x%u[len(x%u) - len(x%u):len(x%u)] "
                   "== x%u;\n",
                   a.number, b.number, a.number, a.number, b.number, a.number,
                   b.number);
    else
        buf_printf(&s->out, "len(x%u) >= len(x%u) && x%u[0:len(x%u)] == x%u;\n",
                   a.number, b.number, a.number, b.number, b.number);
    return v;
}

/* --- patterns ------------------------------------------------------------ */

/* A text as a literal of the language. */
static void put_literal(struct gsql_steps *s, struct slice text)
{
    buf_append_byte(&s->out, '"');
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        if (c < 0x20 || c == 0x7f)
            gsql_steps_refuse(s, "a pattern with control characters");
        else if (c == '"' || c == '\\')
            buf_printf(&s->out, "\\%c", c);
        else
            buf_append_byte(&s->out, (char)c);
    }
    buf_append_byte(&s->out, '"');
}

static struct gsql_step
put_match(struct gsql_steps *s, struct gsql_step a, struct slice regex)
{
    struct gsql_step v = gsql_steps_begin(s, GSQL_BOOL);
    buf_append_str(&s->out, "match(");
    put_literal(s, regex);
    buf_printf(&s->out, ", x%u);\n", a.number);
    return v;
}

static void put_regex_of_like(struct slice like, struct buf *out)
{
    buf_append_str(out, "(?s)^");
    for (size_t i = 0; i < like.len; i++) {
        char c = like.data[i];
        const bool escaped = c == '\\' && i + 1 < like.len;
        if (escaped)
            c = like.data[++i];
        if (c == '%' && !escaped)
            buf_append_str(out, ".*");
        else if (c == '_' && !escaped)
            buf_append_byte(out, '.');
        else
            buf_printf(out, "%s%c", strchr("\\.+*?()|[]{}^$", c) ? "\\" : "",
                       c);
    }
    buf_append_byte(out, '$');
}

/* Of BYTES: a prefix, or the whole. */
static struct gsql_step
put_like_bytes(struct gsql_steps *s, struct gsql_step a, struct slice like)
{
    const bool prefix = like.len && like.data[like.len - 1] == '%';
    const struct slice text = slice_sub(like, 0, like.len - prefix);
    struct gsql_step v;
    for (size_t i = 0; i < text.len; i++)
        if (strchr("%_\\", text.data[i]))
            gsql_steps_refuse(s, "LIKE of BYTES but with a % at its end");
    v = gsql_steps_begin(s, GSQL_BOOL);
    buf_printf(&s->out, "len(x%u) >= %zu && x%u[0:%s", a.number, text.len,
               a.number, prefix ? "" : "len(");
    if (prefix)
        buf_printf(&s->out, "%zu] == ", text.len);
    else
        buf_printf(&s->out, "x%u)] == ", a.number);
    gsql_steps_put_bytes(s, text);
    buf_append_str(&s->out, ";\n");
    return v;
}

struct gsql_step gsql_steps_like(struct gsql_steps *s, struct gsql_node *n)
{
    struct gsql_step a = gsql_steps_make(s, n->a);
    struct buf regex = BUF_INIT;
    if (n->b->kind != GSQL_TEXT || !is_text(a)) {
        gsql_steps_refuse(s, "LIKE of a pattern that is no literal");
        return a;
    }
    if (a.kind == GSQL_BYTES) {
        a = put_like_bytes(s, a, n->b->text);
    } else {
        put_regex_of_like(n->b->text, &regex);
        a = put_match(s, a, buf_slice(&regex));
    }
    buf_close(&regex);
    return n->flag ? gsql_steps_not(s, a) : a;
}

static struct gsql_step put_regexp(struct gsql_steps *s, struct gsql_node *n)
{
    struct gsql_step a = gsql_steps_make(s, n->list);
    if (a.kind != GSQL_STRING || n->list->next->kind != GSQL_TEXT)
        gsql_steps_refuse(s, "REGEXP_CONTAINS() but of a STRING by a literal");
    return s->rc ? nothing : put_match(s, a, n->list->next->text);
}

/* --- SPLIT --------------------------------------------------------------- */

void gsql_steps_put_parts(unsigned parts, struct buf *out)
{
    if (parts & GSQL_STEPS_SPLIT)
        buf_append_str(
            out,
            "part: function(s: bytes, by: bytes, n: int): array of bytes {\n"
            "  for (; n > 0; n--) {\n"
            "    i: int = bytesfind(by, s);\n"
            "    if (i < 0) return new(array of bytes, 0, B\"\");\n"
            "    s = s[i + len(by):len(s)];\n"
            "  }\n"
            "  i: int = bytesfind(by, s);\n"
            "  if (i < 0) return new(array of bytes, 1, s);\n"
            "  return new(array of bytes, 1, s[0:i]);\n"
            "};\n");
}

struct gsql_step gsql_steps_part_of_split(struct gsql_steps *s,
                                          struct gsql_node *n)
{
    const struct gsql_node *call = n->a;
    const struct gsql_node *by = call->list ? call->list->next : NULL;
    const bool safe = slice_starts_with(n->text, SLICE_LIT("SAFE"));
    const bool ordinal = slice_ends_with(n->text, SLICE_LIT("ORDINAL"));
    struct gsql_step a, bytes, v;
    int64_t at = take_literal(s, n->b) - ordinal;
    unsigned list;
    if (!gsql_same_name(call->text, SLICE_LIT("SPLIT")) || !call->list ||
        (by && (by->kind != GSQL_TEXT || by->text.len == 0 || by->next)) ||
        n->text.len == 0 || at < 0) {
        gsql_steps_refuse(s, "a subscript but that of a family or of SPLIT()");
        return nothing;
    }
    s->parts |= GSQL_STEPS_SPLIT;
    a = gsql_steps_make(s, call->list);
    if (!is_text(a))
        gsql_steps_refuse(s, "SPLIT() of what is no text");
    bytes = a.kind == GSQL_STRING ? put_call(s, GSQL_BYTES, "bytes($)", a) : a;
    list = s->next++;
    buf_printf(&s->out, "y%u: array of bytes = part(x%u, ", list, bytes.number);
    gsql_steps_put_bytes(s, by ? by->text : SLICE_LIT(","));
    buf_printf(&s->out, ", %lld);\n", (long long)at);
    if (!safe)
        buf_printf(&s->out, "if (def(y%u)) assert(len(y%u) == 1);\n", list,
                   list);
    v = gsql_steps_open(s, a.kind);
    buf_printf(&s->out, "if (def(y%u) && len(y%u) == 1) x%u = %s(y%u[0]);\n",
               list, list, v.number, gsql_steps_type(a.kind), list);
    return v;
}

/* --- casts --------------------------------------------------------------- */

struct gsql_step gsql_steps_eight(struct gsql_steps *s, struct gsql_step bytes)
{
    struct gsql_step v =
        put_call(s, GSQL_INT64, "int($, \"fixed64-big\")", bytes);
    if (bytes.kind != GSQL_BYTES)
        gsql_steps_refuse(s, "TO_INT64() of what is no BYTES");
    buf_printf(&s->out, "if (def(x%u)) assert(def(x%u));\n", bytes.number,
               v.number);
    return v;
}

/* Texts that are UTF-8 are the same after both conversions. */
static struct gsql_step put_decoded(struct gsql_steps *s, struct gsql_step a)
{
    struct gsql_step t = put_call(s, GSQL_STRING, "string($)", a);
    struct gsql_step v = gsql_steps_open(s, GSQL_STRING);
    buf_printf(&s->out, "if (def(x%u) && bytes(x%u) == x%u) x%u = x%u;\n",
               t.number, t.number, a.number, v.number, t.number);
    return v;
}

/* If @v has no value, that of the group of @regex in @a, converted. */
static void put_group(struct gsql_steps *s,
                      struct gsql_step a,
                      struct gsql_step v,
                      const char *regex,
                      const char *convert)
{
    const unsigned list = s->next++;
    buf_printf(&s->out,
               "if (def(x%u) && !def(x%u)) {\n"
               "y%u: array of string = matchstrs(\"^" BLANKS "%s" BLANKS
               "$\", x%u);\n"
               "if (len(y%u) == 2) { z%u: %s = %s; "
               "if (def(z%u)) x%u = z%u; }\n}\n",
               a.number, v.number, list, regex, a.number, list, list,
               gsql_steps_type(v.kind), convert, list, v.number, list);
}

static struct gsql_step put_integer_of(struct gsql_steps *s, struct gsql_step a)
{
    struct gsql_step v = put_call(s, GSQL_INT64, "int($, 10)", a);
    char convert[64];
    snprintf(convert, sizeof(convert), "int(y%u[1], 10)", s->next);
    put_group(s, a, v, "([+-]?[0-9]+)", convert);
    snprintf(convert, sizeof(convert), "int(y%u[1], 16)", s->next);
    put_group(s, a, v, "0[xX]0*([0-7]?[0-9a-fA-F]{1,15})", convert);
    return v;
}

static struct gsql_step put_float_of(struct gsql_steps *s, struct gsql_step a)
{
    struct gsql_step v = gsql_steps_open(s, GSQL_FLOAT64);
    char convert[64];
    snprintf(convert, sizeof(convert), "float(y%u[1])", s->next);
    put_group(s, a, v,
              "([+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?)",
              convert);
    return v;
}

static struct gsql_step put_number_of_bool(struct gsql_steps *s,
                                           struct gsql_step a)
{
    struct gsql_step v = gsql_steps_open(s, GSQL_INT64);
    buf_printf(&s->out, "if (def(x%u)) { x%u = 0; if (x%u) x%u = 1; }\n",
               a.number, v.number, a.number, v.number);
    return v;
}

static struct gsql_step
put_conversion(struct gsql_steps *s, struct gsql_step a, enum gsql_kind to)
{
    if (a.kind == GSQL_BYTES && to == GSQL_STRING)
        return put_decoded(s, a);
    if (a.kind == GSQL_STRING && to == GSQL_BYTES)
        return put_call(s, to, "bytes($)", a);
    if (a.kind == GSQL_STRING && to == GSQL_INT64)
        return put_integer_of(s, a);
    if (a.kind == GSQL_STRING && to == GSQL_FLOAT64)
        return put_float_of(s, a);
    if ((a.kind == GSQL_INT64 || a.kind == GSQL_BOOL) && to == GSQL_STRING)
        return put_call(s, to, "string($)", a);
    if (a.kind == GSQL_INT64 && to == GSQL_FLOAT64)
        return gsql_steps_float(s, a);
    if (a.kind == GSQL_BOOL && to == GSQL_INT64)
        return put_number_of_bool(s, a);
    if (a.kind == GSQL_INT64 && to == GSQL_BOOL)
        return put_call(s, to, "$ != 0", a);
    gsql_steps_refuse(s, "a CAST between these types");
    return a;
}

static void
put_check(struct gsql_steps *s, struct gsql_step a, struct gsql_step v)
{
    buf_printf(&s->out, "if (def(x%u)) assert(def(x%u));\n", a.number,
               v.number);
}

struct gsql_step gsql_steps_cast(struct gsql_steps *s, struct gsql_node *n)
{
    struct gsql_step a = gsql_steps_make(s, n->a);
    struct gsql_step v;
    if (a.kind == n->type->kind && a.kind != GSQL_UNKNOWN)
        return a;
    v = put_conversion(s, a, n->type->kind);
    if (!n->safe)
        put_check(s, a, v);
    return v;
}

/* --- times --------------------------------------------------------------- */

/* Units of INT64 to µs, which must fit. */
static struct gsql_step
put_scaled(struct gsql_steps *s, struct gsql_node *n, int64_t unit)
{
    struct gsql_step a = gsql_steps_make(s, n->list);
    struct gsql_step v;
    if (a.kind != GSQL_INT64)
        gsql_steps_refuse(s, "a time of what is no INT64");
    v = gsql_steps_begin(s, GSQL_TIMESTAMP);
    buf_printf(&s->out, "x%u * %lld;\n", a.number, (long long)unit);
    buf_printf(&s->out, "if (def(x%u)) assert(x%u / %lld == x%u);\n", v.number,
               v.number, (long long)unit, a.number);
    return v;
}

static struct gsql_step
put_unscaled(struct gsql_steps *s, struct gsql_node *n, int64_t unit)
{
    struct gsql_step a = gsql_steps_make(s, n->list);
    struct gsql_step v;
    if (a.kind != GSQL_TIMESTAMP)
        gsql_steps_refuse(s, "UNIX_SECONDS() of what is no TIMESTAMP");
    v = gsql_steps_begin(s, GSQL_INT64);
    buf_printf(&s->out, "x%u / %lld;\n", a.number, (long long)unit);
    return v;
}

static struct gsql_step put_trunc(struct gsql_steps *s, struct gsql_node *n)
{
    static const struct {
        const char *name;
        int64_t us;
        int64_t shift; /* Weeks begin on Mondays. */
    } units[] = {
        {"MICROSECOND", 1, 0},
        {"MILLISECOND", 1000, 0},
        {"SECOND", US_SECOND, 0},
        {"MINUTE", 60 * US_SECOND, 0},
        {"HOUR", 3600 * US_SECOND, 0},
        {"DAY", US_DAY, 0},
        {"ISOWEEK", 7 * US_DAY, 3 * US_DAY},
    };
    struct gsql_step a = gsql_steps_make(s, n->list);
    const struct gsql_node *part = n->list->next;
    if (a.kind != GSQL_TIMESTAMP || part->kind != GSQL_NAME) {
        gsql_steps_refuse(s, "TIMESTAMP_TRUNC() of what is no TIMESTAMP");
        return a;
    }
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        struct gsql_step v;
        if (!gsql_same_name(part->text, slice_str(units[i].name)))
            continue;
        v = gsql_steps_begin(s, GSQL_TIMESTAMP);
        buf_printf(&s->out, "x%u - ((x%u + %lld) %% %lld + %lld) %% %lld;\n",
                   a.number, a.number, (long long)units[i].shift,
                   (long long)units[i].us, (long long)units[i].us,
                   (long long)units[i].us);
        return v;
    }
    gsql_steps_refuse(s, "TIMESTAMP_TRUNC() to months and longer");
    return a;
}

/* --- a call -------------------------------------------------------------- */

static struct gsql_step put_nullif(struct gsql_steps *s, struct gsql_node *n)
{
    struct gsql_step a, b, v;
    gsql_steps_pair(s, n->list, n->list->next, &a, &b);
    v = gsql_steps_open(s, a.kind);
    buf_printf(&s->out,
               "if (def(x%u) && !(def(x%u) && x%u == x%u)) x%u = x%u;\n",
               a.number, b.number, a.number, b.number, v.number, a.number);
    return v;
}

static struct gsql_step put_abs(struct gsql_steps *s, struct gsql_node *n)
{
    struct gsql_step a = gsql_steps_make(s, n->list);
    struct gsql_step v;
    if (a.kind != GSQL_INT64 && a.kind != GSQL_FLOAT64)
        gsql_steps_refuse(s, "ABS() of what is no number");
    v = put_call(s, a.kind, "abs($)", a);
    if (a.kind == GSQL_INT64)
        buf_printf(&s->out, "if (def(x%u)) assert(x%u >= 0);\n", v.number,
                   v.number);
    return v;
}

static struct gsql_step put_mod(struct gsql_steps *s, struct gsql_node *n)
{
    struct gsql_step a, b;
    gsql_steps_pair(s, n->list, n->list->next, &a, &b);
    if (a.kind != GSQL_INT64)
        gsql_steps_refuse(s, "MOD() of what is no INT64");
    return gsql_steps_calculate(s, a, b, '%');
}

static struct gsql_step put_eight(struct gsql_steps *s, struct gsql_node *n)
{
    return gsql_steps_eight(s, gsql_steps_make(s, n->list));
}

static struct gsql_step put_safe_text(struct gsql_steps *s, struct gsql_node *n)
{
    struct gsql_step a = gsql_steps_make(s, n->list);
    if (a.kind != GSQL_BYTES)
        gsql_steps_refuse(s, "SAFE_CONVERT_BYTES_TO_STRING() of this");
    return put_decoded(s, a);
}

static struct gsql_step put_if(struct gsql_steps *s, struct gsql_node *n)
{
    return gsql_steps_if(s, n->list);
}

static struct gsql_step put_coalesce(struct gsql_steps *s, struct gsql_node *n)
{
    return gsql_steps_coalesce(s, n->list);
}

static struct gsql_step put_seconds(struct gsql_steps *s, struct gsql_node *n)
{
    return put_scaled(s, n, US_SECOND);
}

static struct gsql_step put_millis(struct gsql_steps *s, struct gsql_node *n)
{
    return put_scaled(s, n, 1000);
}

static struct gsql_step put_micros(struct gsql_steps *s, struct gsql_node *n)
{
    return put_scaled(s, n, 1);
}

static struct gsql_step put_unix_seconds(struct gsql_steps *s,
                                         struct gsql_node *n)
{
    return put_unscaled(s, n, US_SECOND);
}

static struct gsql_step put_unix_micros(struct gsql_steps *s,
                                        struct gsql_node *n)
{
    return put_unscaled(s, n, 1);
}

static const struct {
    const char *name;
    unsigned min;
    unsigned max;
    struct gsql_step (*put)(struct gsql_steps *s, struct gsql_node *n);
} calls[] = {
    {"ABS", 1, 1, put_abs},
    {"BYTE_LENGTH", 1, 1, put_length},
    {"CHARACTER_LENGTH", 1, 1, put_length},
    {"CHAR_LENGTH", 1, 1, put_length},
    {"COALESCE", 1, 100, put_coalesce},
    {"CONCAT", 1, 100, put_concat},
    {"ENDS_WITH", 2, 2, put_affix},
    {"IF", 3, 3, put_if},
    {"IFNULL", 2, 2, put_coalesce},
    {"LENGTH", 1, 1, put_length},
    {"LOWER", 1, 1, put_case_of},
    {"MOD", 2, 2, put_mod},
    {"NULLIF", 2, 2, put_nullif},
    {"REGEXP_CONTAINS", 2, 2, put_regexp},
    {"SAFE_CONVERT_BYTES_TO_STRING", 1, 1, put_safe_text},
    {"STARTS_WITH", 2, 2, put_affix},
    {"SUBSTR", 2, 3, put_substr},
    {"SUBSTRING", 2, 3, put_substr},
    {"TIMESTAMP_FROM_UNIX_MICROS", 1, 1, put_micros},
    {"TIMESTAMP_FROM_UNIX_MILLIS", 1, 1, put_millis},
    {"TIMESTAMP_FROM_UNIX_SECONDS", 1, 1, put_seconds},
    {"TIMESTAMP_MICROS", 1, 1, put_micros},
    {"TIMESTAMP_MILLIS", 1, 1, put_millis},
    {"TIMESTAMP_SECONDS", 1, 1, put_seconds},
    {"TIMESTAMP_TRUNC", 2, 2, put_trunc},
    {"TO_INT64", 1, 1, put_eight},
    {"UNIX_MICROS", 1, 1, put_unix_micros},
    {"UNIX_SECONDS", 1, 1, put_unix_seconds},
    {"UPPER", 1, 1, put_case_of},
};

struct gsql_step gsql_steps_call(struct gsql_steps *s, struct gsql_node *n)
{
    char what[80];
    unsigned count = 0;
    for (const struct gsql_node *i = n->list; i; i = i->next)
        count++;
    for (size_t i = 0; i < ARRAY_LEN(calls) && !n->safe && !n->flag; i++)
        if (gsql_same_name(n->text, slice_str(calls[i].name)) &&
            count >= calls[i].min && count <= calls[i].max)
            return calls[i].put(s, n);
    snprintf(what, sizeof(what), "the function %s%.*s()",
             n->safe ? "SAFE." : "", SLICE_ARG(slice_sub(n->text, 0, 40)));
    gsql_steps_refuse(s, what);
    return nothing;
}
