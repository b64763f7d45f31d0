/* Expressions as steps. They give the values that DuckDB computes for the same
 * expression (gsql_emit.c, gsql_functions.c); where the language has nothing
 * equal, the expression is refused.
 *
 * An operation with an undefined operand is undefined, which is what SQL wants
 * of NULL. A failure is another thing: assert() ends the row. So branches are
 * blocks, and only those that are needed are run.
 */
#include "bigtable/googlesql/gsql_steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/googlesql/gsql_lexer.h"
#include "bigtable/googlesql/gsql_steps_call.h"

#define DEPTH_MAX 60
#define CODE_MAX  ((size_t)24 << 10) /* It is a part of a record. */
#define STEPS_MAX 4000               /* With those that are thrown away. */

const char *gsql_steps_type(enum gsql_kind kind)
{
    if (kind == GSQL_BOOL)
        return "bool";
    if (kind == GSQL_INT64 || kind == GSQL_TIMESTAMP)
        return "int";
    if (kind == GSQL_FLOAT64)
        return "float";
    return kind == GSQL_BYTES ? "bytes" : "string";
}

const char *gsql_steps_zero(enum gsql_kind kind)
{
    if (kind == GSQL_BOOL)
        return "false";
    if (kind == GSQL_INT64 || kind == GSQL_TIMESTAMP)
        return "0";
    if (kind == GSQL_FLOAT64)
        return "0.0";
    return kind == GSQL_BYTES ? "B\"\"" : "\"\"";
}

void gsql_steps_refuse(struct gsql_steps *s, const char *what)
{
    if (s->rc == 0)
        s->rc =
            err_set(s->err, ERR_UNSUPPORTED, "%s is not kept up to date", what);
}

struct gsql_step gsql_steps_begin(struct gsql_steps *s, enum gsql_kind kind)
{
    const struct gsql_step v = {kind, s->next++};
    if (s->out.len > CODE_MAX || s->next > STEPS_MAX)
        gsql_steps_refuse(s, "a query as long as this");
    buf_printf(&s->out, "x%u: %s = ", v.number, gsql_steps_type(kind));
    return v;
}

struct gsql_step gsql_steps_open(struct gsql_steps *s, enum gsql_kind kind)
{
    const struct gsql_step v = {kind, s->next++};
    buf_printf(&s->out, "x%u: %s;\n", v.number, gsql_steps_type(kind));
    return v;
}

/* x = y where y has a value. */
static void
put_assign(struct gsql_steps *s, struct gsql_step x, struct gsql_step y)
{
    if (y.kind != GSQL_UNKNOWN)
        buf_printf(&s->out, "if (def(x%u)) x%u = x%u;\n", y.number, x.number,
                   y.number);
}

/* --- literals and names -------------------------------------------------- */

static struct gsql_step put_integer(struct gsql_steps *s,
                                    const struct gsql_node *n)
{
    struct gsql_step v;
    uint64_t value = 0;
    if (text_parse_u64(n->text, &value, NULL) || value > INT64_MAX)
        gsql_steps_refuse(s, "a hexadecimal or large number");
    v = gsql_steps_begin(s, GSQL_INT64);
    buf_printf(&s->out, "%llu;\n", (unsigned long long)value);
    return v;
}

static struct gsql_step put_float(struct gsql_steps *s,
                                  const struct gsql_node *n)
{
    struct gsql_step v;
    struct buf digits = BUF_INIT;
    double value;
    buf_append_slice(&digits, n->text);
    value = strtod(buf_cstr(&digits), NULL);
    buf_close(&digits);
    if (!isfinite(value))
        gsql_steps_refuse(s, "a number as large as this");
    v = gsql_steps_begin(s, GSQL_FLOAT64);
    buf_printf(&s->out, "float(\"%.17g\");\n", value);
    return v;
}

void gsql_steps_put_bytes(struct gsql_steps *s, struct slice bytes)
{
    buf_append_str(&s->out, bytes.len ? "X\"" : "B\"");
    for (size_t i = 0; i < bytes.len; i++)
        buf_printf(&s->out, "%02x", (unsigned char)bytes.data[i]);
    buf_append_byte(&s->out, '"');
}

/* As bytes, so that nothing of it needs an escape. */
struct gsql_step
gsql_steps_text(struct gsql_steps *s, struct slice text, enum gsql_kind kind)
{
    struct gsql_step v;
    if (slice_find_byte(text, '\0') < text.len && kind == GSQL_STRING)
        gsql_steps_refuse(s, "a text with a NUL");
    v = gsql_steps_begin(s, kind);
    buf_append_str(&s->out, kind == GSQL_STRING ? "string(" : "(");
    gsql_steps_put_bytes(s, text);
    buf_append_str(&s->out, ");\n");
    return v;
}

static struct gsql_step put_key(struct gsql_steps *s)
{
    struct gsql_step v = gsql_steps_begin(s, GSQL_BYTES);
    buf_append_str(&s->out, "r.key;\n");
    return v;
}

/* family['qualifier'], of which qualifiers that the language's names of columns
 * tell apart. */
static struct gsql_step
put_cell(struct gsql_steps *s, size_t family, struct slice qualifier)
{
    const struct gsql_relation *t = s->table;
    struct gsql_step v;
    for (size_t i = 0; i < qualifier.len; i++)
        if ((unsigned char)qualifier.data[i] < 0x20 ||
            (unsigned char)qualifier.data[i] > 0x7e ||
            strchr("\"\\", qualifier.data[i]))
            gsql_steps_refuse(s, "a qualifier that is not plain ASCII");
    v = gsql_steps_begin(s, GSQL_BYTES);
    buf_printf(&s->out, "cell(r, \"%.*s:%.*s\");\n",
               SLICE_ARG(t->families[family]), SLICE_ARG(qualifier));
    if (t->types && t->types[family]->kind == GSQL_INT64)
        return gsql_steps_eight(s, v);
    return v;
}

/* The name of the table's column that @n is: NAME, or alias.NAME. */
static struct slice column_name(const struct gsql_steps *s,
                                const struct gsql_node *n)
{
    if (n->kind == GSQL_NAME)
        return n->text;
    if (n->kind == GSQL_MEMBER && n->a->kind == GSQL_NAME &&
        gsql_same_name(n->a->text, s->alias))
        return n->text;
    return SLICE_EMPTY;
}

static struct gsql_step put_name(struct gsql_steps *s,
                                 const struct gsql_node *n)
{
    if (gsql_same_name(column_name(s, n), SLICE_LIT("_key")))
        return put_key(s);
    gsql_steps_refuse(s, "a family as a whole, or another name");
    return (struct gsql_step){GSQL_UNKNOWN, 0};
}

static struct gsql_step put_index(struct gsql_steps *s, struct gsql_node *n)
{
    const struct slice family = column_name(s, n->a);
    if (n->a->kind == GSQL_CALL)
        return gsql_steps_part_of_split(s, n);
    for (size_t i = 0; family.len && i < s->table->family_count; i++)
        if (slice_eq(s->table->families[i], family) && n->text.len == 0 &&
            n->b->kind == GSQL_TEXT)
            return put_cell(s, i, n->b->text);
    gsql_steps_refuse(s, "a subscript but that of a family or of SPLIT()");
    return (struct gsql_step){GSQL_UNKNOWN, 0};
}

/* --- two operands -------------------------------------------------------- */

struct gsql_step gsql_steps_float(struct gsql_steps *s, struct gsql_step a)
{
    struct gsql_step v = a;
    if (a.kind == GSQL_INT64) {
        v = gsql_steps_begin(s, GSQL_FLOAT64);
        buf_printf(&s->out, "float(x%u);\n", a.number);
    }
    return v;
}

/* @n where a value of @wanted is: a text may be one of bytes. */
struct gsql_step
gsql_steps_as(struct gsql_steps *s, struct gsql_node *n, enum gsql_kind wanted)
{
    if (n->kind == GSQL_TEXT && wanted == GSQL_BYTES)
        return gsql_steps_text(s, n->text, GSQL_BYTES);
    return gsql_steps_make(s, n);
}

void gsql_steps_match(struct gsql_steps *s,
                      struct gsql_step *a,
                      struct gsql_step *b)
{
    if (a->kind == b->kind && a->kind != GSQL_UNKNOWN)
        return;
    *a = gsql_steps_float(s, *a);
    *b = gsql_steps_float(s, *b);
    if (a->kind != b->kind || a->kind == GSQL_UNKNOWN)
        gsql_steps_refuse(s, "an expression of values of different types");
}

void gsql_steps_pair(struct gsql_steps *s,
                     struct gsql_node *left,
                     struct gsql_node *right,
                     struct gsql_step *a,
                     struct gsql_step *b)
{
    if (left->kind == GSQL_TEXT) {
        *b = gsql_steps_make(s, right);
        *a = gsql_steps_as(s, left, b->kind);
    } else {
        *a = gsql_steps_make(s, left);
        *b = gsql_steps_as(s, right, a->kind);
    }
    gsql_steps_match(s, a, b);
}

/* --- logic --------------------------------------------------------------- */

/* a AND b, or a OR b with @found for true: b is looked at if a is not
 * decisive. */
static struct gsql_step put_logic(struct gsql_steps *s, struct gsql_node *n)
{
    const bool is_or = slice_eq_str(n->text, "OR");
    const char *decisive = is_or ? "" : "!";
    struct gsql_step a = gsql_steps_make(s, n->a);
    struct gsql_step v = gsql_steps_open(s, GSQL_BOOL);
    struct gsql_step b;
    buf_printf(&s->out, "if (def(x%u) && %sx%u) x%u = %s; else {\n", a.number,
               decisive, a.number, v.number, is_or ? "true" : "false");
    b = gsql_steps_make(s, n->b);
    buf_printf(&s->out,
               "if (def(x%u) && %sx%u) x%u = %s;\n"
               "else if (def(x%u) && def(x%u)) x%u = %s;\n}\n",
               b.number, decisive, b.number, v.number, is_or ? "true" : "false",
               a.number, b.number, v.number, is_or ? "false" : "true");
    if (a.kind != GSQL_BOOL || b.kind != GSQL_BOOL)
        gsql_steps_refuse(s, "AND or OR of what is no BOOL");
    return v;
}

struct gsql_step gsql_steps_not(struct gsql_steps *s, struct gsql_step a)
{
    struct gsql_step v = gsql_steps_begin(s, GSQL_BOOL);
    buf_printf(&s->out, "!x%u;\n", a.number);
    if (a.kind != GSQL_BOOL)
        gsql_steps_refuse(s, "NOT of what is no BOOL");
    return v;
}

static struct gsql_step put_compare(struct gsql_steps *s,
                                    struct gsql_step a,
                                    struct gsql_step b,
                                    const char *sign)
{
    struct gsql_step v = gsql_steps_begin(s, GSQL_BOOL);
    if (a.kind == GSQL_BOOL && strcmp(sign, "==") != 0 &&
        strcmp(sign, "!=") != 0)
        gsql_steps_refuse(s, "an order of BOOLs");
    buf_printf(&s->out, "x%u %s x%u;\n", a.number, sign, b.number);
    return v;
}

/* --- arithmetic ---------------------------------------------------------- */

static void
put_assert(struct gsql_steps *s, struct gsql_step v, const char *that)
{
    buf_printf(&s->out, "if (def(x%u)) assert(%s);\n", v.number, that);
}

/* Sums and products wrap in the language, and fail in SQL. */
static void check_overflow(struct gsql_steps *s,
                           struct gsql_step a,
                           struct gsql_step b,
                           struct gsql_step v,
                           char op)
{
    char that[160];
    if (op == '*')
        snprintf(
            that, sizeof(that),
            "x%u == 0 || (x%u / x%u == x%u && !(x%u == -1 && x%u == x%u && "
            "x%u < 0))",
            a.number, v.number, a.number, b.number, a.number, v.number,
            b.number, b.number);
    else
        snprintf(that, sizeof(that), "((x%u ^ x%u) & (x%u ^ x%u)) >= 0",
                 a.number, op == '+' ? v.number : b.number,
                 op == '+' ? b.number : a.number, v.number);
    put_assert(s, v, that);
}

static void check_divisor(struct gsql_steps *s, struct gsql_step b)
{
    char that[40];
    snprintf(that, sizeof(that), "x%u != %s", b.number,
             gsql_steps_zero(b.kind));
    put_assert(s, b, that);
}

struct gsql_step gsql_steps_calculate(struct gsql_steps *s,
                                      struct gsql_step a,
                                      struct gsql_step b,
                                      char op)
{
    struct gsql_step v;
    if (a.kind != GSQL_INT64 && a.kind != GSQL_FLOAT64)
        gsql_steps_refuse(s, "arithmetic of what is no number");
    if (op == '/') {
        a = gsql_steps_float(s, a);
        b = gsql_steps_float(s, b);
    }
    if (op == '/' || op == '%')
        check_divisor(s, b);
    v = gsql_steps_begin(s, a.kind);
    buf_printf(&s->out, "x%u %c x%u;\n", a.number, op, b.number);
    if (a.kind == GSQL_INT64 && op != '%')
        check_overflow(s, a, b, v, op);
    return v;
}

static struct gsql_step
put_joined(struct gsql_steps *s, struct gsql_step a, struct gsql_step b)
{
    struct gsql_step v = gsql_steps_begin(s, a.kind);
    if (a.kind != GSQL_STRING && a.kind != GSQL_BYTES)
        gsql_steps_refuse(s, "|| of what is no text");
    buf_printf(&s->out, "x%u + x%u;\n", a.number, b.number);
    return v;
}

static struct gsql_step put_binary(struct gsql_steps *s, struct gsql_node *n)
{
    static const char *const signs[][2] = {{"=", "=="}, {"<>", "!="},
                                           {"<", "<"},  {"<=", "<="},
                                           {">", ">"},  {">=", ">="}};
    const struct slice op = n->text;
    struct gsql_step a, b;
    if (slice_eq_str(op, "AND") || slice_eq_str(op, "OR"))
        return put_logic(s, n);
    gsql_steps_pair(s, n->a, n->b, &a, &b);
    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (slice_eq_str(op, signs[i][0]))
            return put_compare(s, a, b, signs[i][1]);
    if (slice_eq_str(op, "||"))
        return put_joined(s, a, b);
    if (op.len == 1 && strchr("+-*/", op.data[0]))
        return gsql_steps_calculate(s, a, b, op.data[0]);
    gsql_steps_refuse(s, "an operator of bits");
    return a;
}

static struct gsql_step put_unary(struct gsql_steps *s, struct gsql_node *n)
{
    struct gsql_step a = gsql_steps_make(s, n->a);
    struct gsql_step zero;
    if (slice_eq_str(n->text, "NOT"))
        return gsql_steps_not(s, a);
    if (slice_eq_str(n->text, "+"))
        return a;
    if (!slice_eq_str(n->text, "-"))
        gsql_steps_refuse(s, "an operator of bits");
    zero = gsql_steps_begin(s, a.kind);
    buf_printf(&s->out, "%s;\n", gsql_steps_zero(a.kind));
    return gsql_steps_calculate(s, zero, a, '-');
}

/* --- conditions ---------------------------------------------------------- */

/* A variable that is true where @a is NULL, or a truth. */
static struct gsql_step put_is(struct gsql_steps *s, struct gsql_node *n)
{
    struct gsql_step a = gsql_steps_make(s, n->a);
    struct gsql_step v;
    if (n->b)
        gsql_steps_refuse(s, "IS DISTINCT FROM");
    v = gsql_steps_begin(s, GSQL_BOOL);
    if (gsql_same_name(n->text, SLICE_LIT("null")))
        buf_printf(&s->out, "%sdef(x%u);\n", n->flag ? "" : "!", a.number);
    else if (a.kind == GSQL_BOOL)
        buf_printf(&s->out, "%s(def(x%u) && x%u == %s);\n", n->flag ? "!" : "",
                   a.number, a.number,
                   gsql_same_name(n->text, SLICE_LIT("true")) ? "true"
                                                              : "false");
    else
        gsql_steps_refuse(s, "IS TRUE of what is no BOOL");
    return v;
}

/* One that is true where two are, and NULL where that is not known. */
static struct gsql_step
put_both(struct gsql_steps *s, struct gsql_step a, struct gsql_step b)
{
    struct gsql_step v = gsql_steps_open(s, GSQL_BOOL);
    buf_printf(&s->out,
               "if ((def(x%u) && !x%u) || (def(x%u) && !x%u)) x%u = false;\n"
               "else if (def(x%u) && def(x%u)) x%u = true;\n",
               a.number, a.number, b.number, b.number, v.number, a.number,
               b.number, v.number);
    return v;
}

static struct gsql_step put_between(struct gsql_steps *s, struct gsql_node *n)
{
    struct gsql_step a, low, high;
    gsql_steps_pair(s, n->a, n->b, &a, &low);
    low = put_compare(s, a, low, ">=");
    gsql_steps_pair(s, n->a, n->c, &a, &high);
    high = put_compare(s, a, high, "<=");
    a = put_both(s, low, high);
    return n->flag ? gsql_steps_not(s, a) : a;
}

/* NOT (a <> b1 AND a <> b2 …) */
static struct gsql_step put_in(struct gsql_steps *s, struct gsql_node *n)
{
    struct gsql_step a = gsql_steps_make(s, n->a);
    struct gsql_step none = {GSQL_UNKNOWN, 0};
    if (n->b)
        gsql_steps_refuse(s, "IN UNNEST()");
    for (struct gsql_node *i = n->list; i && s->rc == 0; i = i->next) {
        struct gsql_step x = a;
        struct gsql_step y = gsql_steps_as(s, i, a.kind);
        gsql_steps_match(s, &x, &y);
        y = put_compare(s, x, y, "!=");
        none = none.kind == GSQL_UNKNOWN ? y : put_both(s, none, y);
    }
    return n->flag ? none : gsql_steps_not(s, none);
}

/* --- branches ------------------------------------------------------------ */

/* A value of a branch into @v, whose type is that of the first. */
static void
put_branch(struct gsql_steps *s, struct gsql_step v, struct gsql_node *n)
{
    struct gsql_step x = gsql_steps_as(s, n, v.kind);
    if (x.kind == GSQL_INT64 && v.kind == GSQL_FLOAT64)
        x = gsql_steps_float(s, x);
    if (x.kind != v.kind && x.kind != GSQL_UNKNOWN)
        gsql_steps_refuse(s, "CASE of values of different types");
    put_assign(s, v, x);
}

/* The type that @n has; its steps are thrown away. */
static enum gsql_kind kind_of(struct gsql_steps *s, struct gsql_node *n)
{
    const size_t at = s->out.len;
    const struct gsql_step v = gsql_steps_make(s, n);
    buf_truncate(&s->out, at);
    return v.kind;
}

static enum gsql_kind wider_kind(enum gsql_kind a, enum gsql_kind b)
{
    if (a == GSQL_UNKNOWN || (a == GSQL_INT64 && b == GSQL_FLOAT64))
        return b;
    return a;
}

static struct gsql_step put_case(struct gsql_steps *s, struct gsql_node *n)
{
    enum gsql_kind kind = n->b ? kind_of(s, n->b) : GSQL_UNKNOWN;
    struct gsql_step v;
    size_t open = 0;
    for (struct gsql_node *i = n->list; i && i->next; i = i->next->next)
        kind = wider_kind(kind_of(s, i->next), kind);
    v = gsql_steps_open(s, kind);
    for (struct gsql_node *i = n->list; i && i->next; i = i->next->next) {
        struct gsql_step a, b;
        if (n->a) {
            gsql_steps_pair(s, n->a, i, &a, &b);
            a = put_compare(s, a, b, "==");
        } else {
            a = gsql_steps_make(s, i);
        }
        if (a.kind != GSQL_BOOL)
            gsql_steps_refuse(s, "WHEN of what is no BOOL");
        buf_printf(&s->out, "if (def(x%u) && x%u) {\n", a.number, a.number);
        put_branch(s, v, i->next);
        buf_append_str(&s->out, "} else {\n");
        open++;
    }
    if (n->b)
        put_branch(s, v, n->b);
    for (; open; open--)
        buf_append_str(&s->out, "}\n");
    return v;
}

struct gsql_step gsql_steps_if(struct gsql_steps *s, struct gsql_node *list)
{
    struct gsql_node when = {
        .kind = GSQL_CASE, .list = list, .b = list->next->next};
    return put_case(s, &when);
}

struct gsql_step gsql_steps_coalesce(struct gsql_steps *s,
                                     struct gsql_node *list)
{
    enum gsql_kind kind = GSQL_UNKNOWN;
    struct gsql_step v;
    size_t open = 0;
    for (struct gsql_node *i = list; i; i = i->next)
        kind = i->kind == GSQL_TEXT && kind ? kind
                                            : wider_kind(kind_of(s, i), kind);
    v = gsql_steps_open(s, kind);
    for (struct gsql_node *i = list; i; i = i->next) {
        put_branch(s, v, i);
        if (!i->next)
            break;
        buf_printf(&s->out, "if (!def(x%u)) {\n", v.number);
        open++;
    }
    for (; open; open--)
        buf_append_str(&s->out, "}\n");
    return v;
}

/* --- an expression ------------------------------------------------------- */

static struct gsql_step put_truth(struct gsql_steps *s, bool truth)
{
    struct gsql_step v = gsql_steps_begin(s, GSQL_BOOL);
    buf_append_str(&s->out, truth ? "true;\n" : "false;\n");
    return v;
}

static struct gsql_step make_step(struct gsql_steps *s, struct gsql_node *n)
{
    const struct gsql_step nothing = {GSQL_UNKNOWN, 0};
    switch (n->kind) {
    case GSQL_TRUTH: return put_truth(s, n->flag);
    case GSQL_INTEGER: return put_integer(s, n);
    case GSQL_FLOAT: return put_float(s, n);
    case GSQL_TEXT: return gsql_steps_text(s, n->text, n->type->kind);
    case GSQL_NAME:
    case GSQL_MEMBER: return put_name(s, n);
    case GSQL_INDEX: return put_index(s, n);
    case GSQL_CALL: return gsql_steps_call(s, n);
    case GSQL_CAST: return gsql_steps_cast(s, n);
    case GSQL_UNARY: return put_unary(s, n);
    case GSQL_BINARY: return put_binary(s, n);
    case GSQL_LIKE: return gsql_steps_like(s, n);
    case GSQL_BETWEEN: return put_between(s, n);
    case GSQL_IN: return put_in(s, n);
    case GSQL_IS: return put_is(s, n);
    case GSQL_CASE: return put_case(s, n);
    case GSQL_NULL: return nothing;
    case GSQL_PARAM: gsql_steps_refuse(s, "a parameter"); return nothing;
    case GSQL_TYPED:
    case GSQL_STAR:
    case GSQL_ARRAY_OF:
    case GSQL_STRUCT_OF:
    case GSQL_LAMBDA:
    case GSQL_INTERVAL_OF:
    case GSQL_EXTRACT:
    case GSQL_ORDER:
    case GSQL_NAMED: break;
    }
    gsql_steps_refuse(s, "an ARRAY, STRUCT, DATE or part of one");
    return nothing;
}

struct gsql_step gsql_steps_make(struct gsql_steps *s, struct gsql_node *n)
{
    struct gsql_step v = {GSQL_UNKNOWN, 0};
    if (s->rc)
        return v;
    if (s->depth == DEPTH_MAX) {
        gsql_steps_refuse(s, "an expression as deep as this");
        return v;
    }
    s->depth++;
    v = make_step(s, n);
    s->depth--;
    return v;
}
