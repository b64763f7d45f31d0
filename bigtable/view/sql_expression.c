/* Expressions of a view's SQL; see sql_expression.h.
 *
 * Each operation is an assignment to a variable of its own. Operators of the
 * language give an undefined value where an operand is undefined, which is what
 * SQL wants of NULL; AND, OR, NOT and IS NULL, which know better, are written
 * out by def().
 */
#include "bigtable/view/sql_expression.h"

#include <string.h>
#include <strings.h>

#include "base/core/panic.h"

#define DEPTH_MAX 60

typedef int (*sql_read_fn)(struct sql_reader *r,
                           struct sql_value *out,
                           struct err *err);

/* --- words --------------------------------------------------------------- */

void sql_reader_close(struct sql_reader *r)
{
    buf_close(&r->column);
}

const struct sql_word *sql_reader_word(const struct sql_reader *r)
{
    static const struct sql_word end = {SQL_WORD_END, {"", 0}};
    return r->at < r->end ? &r->words[r->at] : &end;
}

static const struct sql_word *word_after(const struct sql_reader *r)
{
    static const struct sql_word end = {SQL_WORD_END, {"", 0}};
    return r->at + 1 < r->end ? &r->words[r->at + 1] : &end;
}

bool sql_reader_take(struct sql_reader *r, const char *text)
{
    bool is = sql_word_is(sql_reader_word(r), text);
    r->at += is;
    return is;
}

int sql_reader_fail(const struct sql_reader *r,
                    const char *wanted,
                    struct err *err)
{
    const struct sql_word *w = sql_reader_word(r);
    if (w->kind == SQL_WORD_END)
        return err_set(err, ERR_INVALID, "SQL: expected %s at the end", wanted);
    return err_set(err, ERR_INVALID, "SQL: expected %s, not %.*s", wanted,
                   SLICE_ARG(slice_sub(w->text, 0, 80)));
}

static int
sql_expression_want(struct sql_reader *r, const char *text, struct err *err)
{
    return sql_reader_take(r, text) ? 0 : sql_reader_fail(r, text, err);
}

/* --- writing the program ------------------------------------------------- */

const char *sql_type_name(enum sql_type t)
{
    switch (t) {
    case SQL_TEXT: return "string";
    case SQL_INT: return "int";
    case SQL_FLOAT: return "float";
    case SQL_BOOL: return "bool";
    }
    return "string";
}

int sql_put_literal(struct buf *out, struct slice s, struct err *err)
{
    buf_append_byte(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.data[i];
        if (c == '\n')
            buf_append_str(out, "\\n");
        else if (c == '\t')
            buf_append_str(out, "\\t");
        else if (c < 0x20 || c == 0x7f)
            return err_set(err, ERR_INVALID,
                           "SQL: a text with control characters");
        else if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else
            buf_append_byte(out, (char)c);
    }
    buf_append_byte(out, '"');
    return 0;
}

/* A new variable, whose value is written next, up to a semicolon. */
static void
begin_value(struct sql_reader *r, enum sql_type type, struct sql_value *out)
{
    *out = (struct sql_value){.type = type, .number = r->next++};
    buf_printf(r->program, "  x%u: %s = ", out->number, sql_type_name(type));
}

/* One that stays undefined until it is assigned to. */
static void
begin_open(struct sql_reader *r, enum sql_type type, struct sql_value *out)
{
    *out = (struct sql_value){.type = type, .number = r->next++};
    buf_printf(r->program, "  x%u: %s;\n", out->number, sql_type_name(type));
}

static void
put_and(struct sql_reader *r, struct sql_value *a, const struct sql_value *b)
{
    struct sql_value x;
    begin_open(r, SQL_BOOL, &x);
    buf_printf(r->program,
               "  if (def(x%u) && !x%u) x%u = false;\n"
               "  else if (def(x%u) && !x%u) x%u = false;\n"
               "  else if (def(x%u) && def(x%u)) x%u = true;\n",
               a->number, a->number, x.number, b->number, b->number, x.number,
               a->number, b->number, x.number);
    *a = x;
}

static void put_not(struct sql_reader *r, struct sql_value *a)
{
    struct sql_value x;
    begin_value(r, SQL_BOOL, &x);
    buf_printf(r->program, "!x%u;\n", a->number);
    *a = x;
}

/* a OR b is NOT (NOT a AND NOT b), with NULL too. */
static void
put_or(struct sql_reader *r, struct sql_value *a, const struct sql_value *b)
{
    struct sql_value not_b = *b;
    put_not(r, a);
    put_not(r, &not_b);
    put_and(r, a, &not_b);
    put_not(r, a);
}

static void put_float(struct sql_reader *r, struct sql_value *a)
{
    struct sql_value x;
    if (a->type == SQL_FLOAT)
        return;
    begin_value(r, SQL_FLOAT, &x);
    buf_printf(r->program, "float(x%u);\n", a->number);
    *a = x;
}

static int two_types(const char *what, struct err *err)
{
    int rc =
        err_set(err, ERR_INVALID, "SQL: %s of values of different types", what);
    err_hint(err, "cast one, as in family['column']::BIGINT");
    return rc;
}

/* Make both of one type, where they are numbers. */
static int match_types(struct sql_reader *r,
                       struct sql_value *a,
                       struct sql_value *b,
                       const char *what,
                       struct err *err)
{
    if (a->type == b->type)
        return 0;
    if ((a->type != SQL_INT && a->type != SQL_FLOAT) ||
        (b->type != SQL_INT && b->type != SQL_FLOAT))
        return two_types(what, err);
    put_float(r, a);
    put_float(r, b);
    return 0;
}

static int want_type(const struct sql_value *v,
                     enum sql_type t,
                     const char *what,
                     struct err *err)
{
    return v->type == t ? 0
                        : err_set(err, ERR_INVALID, "SQL: %s needs a %s", what,
                                  t == SQL_BOOL ? "condition" : "text");
}

static int put_compare(struct sql_reader *r,
                       struct sql_value *a,
                       struct sql_value *b,
                       const char *sign,
                       struct err *err)
{
    struct sql_value x;
    int rc = match_types(r, a, b, "a comparison", err);
    if (rc)
        return rc;
    begin_value(r, SQL_BOOL, &x);
    buf_printf(r->program, "x%u %s x%u;\n", a->number, sign, b->number);
    *a = x;
    return 0;
}

/* --- constants, columns, calls ------------------------------------------- */

static int
read_number(struct sql_reader *r, struct sql_value *out, struct err *err)
{
    struct slice text = sql_reader_word(r)->text;
    size_t dot = slice_find_byte(text, '.');
    bool whole = dot == text.len;
    if (text.len > 18 ||
        (!whole && slice_find_byte(slice_sub(text, dot + 1, text.len), '.') <
                       text.len - dot - 1))
        return sql_reader_fail(r, "a number of at most 18 digits", err);
    begin_value(r, whole ? SQL_INT : SQL_FLOAT, out);
    /* A zero in front would make it octal. */
    while (whole && text.len > 1 && *text.data == '0')
        text = slice_sub(text, 1, text.len);
    buf_printf(r->program, "%.*s%s;\n", SLICE_ARG(text),
               !whole && dot + 1 == text.len ? "0" : "");
    r->at++;
    return 0;
}

static int
read_string(struct sql_reader *r, struct sql_value *out, struct err *err)
{
    struct buf text = BUF_INIT;
    int rc;
    sql_word_value(sql_reader_word(r), &text);
    begin_value(r, SQL_TEXT, out);
    rc = sql_put_literal(r->program, buf_slice(&text), err);
    buf_append_str(r->program, ";\n");
    buf_close(&text);
    r->at++;
    return rc;
}

/* family['qualifier'] */
static int
read_column(struct sql_reader *r, struct sql_value *out, struct err *err)
{
    int rc = 0;
    buf_clear(&r->column);
    sql_word_value(sql_reader_word(r), &r->column);
    buf_append_byte(&r->column, ':');
    r->at++;
    rc = sql_expression_want(r, "[", err);
    if (rc)
        return rc;
    if (sql_reader_word(r)->kind != SQL_WORD_STRING)
        return sql_reader_fail(r, "'qualifier'", err);
    sql_word_value(sql_reader_word(r), &r->column);
    r->at++;
    rc = sql_expression_want(r, "]", err);
    if (rc)
        return rc;
    begin_value(r, SQL_TEXT, out);
    buf_append_str(r->program, "string(cell(r, ");
    rc = sql_put_literal(r->program, buf_slice(&r->column), err);
    buf_append_str(r->program, "));\n");
    out->column = &r->column;
    return rc;
}

static int cast_text(struct sql_reader *r, struct sql_value *v, struct err *err)
{
    struct sql_value x;
    if (v->type == SQL_TEXT)
        return 0;
    if (v->type == SQL_BOOL)
        return err_set(err, ERR_UNSUPPORTED,
                       "SQL: a view does not cast conditions to texts");
    begin_value(r, SQL_TEXT, &x);
    buf_printf(r->program, "string(x%u);\n", v->number);
    *v = x;
    return 0;
}

static int cast_number(struct sql_reader *r,
                       struct sql_value *v,
                       enum sql_type type,
                       struct err *err)
{
    struct sql_value x;
    if (v->type == type)
        return 0;
    if (v->type == SQL_BOOL)
        return err_set(err, ERR_UNSUPPORTED,
                       "SQL: a view does not cast conditions to numbers");
    begin_value(r, type, &x);
    buf_printf(r->program, "%s(x%u%s);\n", sql_type_name(type), v->number,
               type == SQL_INT && v->type == SQL_TEXT ? ", 10" : "");
    *v = x;
    return 0;
}

/* 8 bytes, as `quarry incr` writes them. */
static int
cast_int64(struct sql_reader *r, struct sql_value *v, struct err *err)
{
    struct sql_value x;
    int rc;
    if (!v->column)
        return err_set(err, ERR_INVALID, "SQL: ::INT64 is of columns");
    begin_value(r, SQL_INT, &x);
    buf_append_str(r->program, "int(cell(r, ");
    rc = sql_put_literal(r->program, buf_slice(v->column), err);
    buf_append_str(r->program, "), \"fixed64-big\");\n");
    *v = x;
    return rc;
}

static int
sql_expression_cast(struct sql_reader *r, struct sql_value *v, struct err *err)
{
    int rc;
    if (sql_reader_take(r, "VARCHAR") || sql_reader_take(r, "TEXT"))
        rc = cast_text(r, v, err);
    else if (sql_reader_take(r, "BIGINT") || sql_reader_take(r, "INTEGER") ||
             sql_reader_take(r, "INT"))
        rc = cast_number(r, v, SQL_INT, err);
    else if (sql_reader_take(r, "DOUBLE"))
        rc = cast_number(r, v, SQL_FLOAT, err);
    else if (sql_reader_take(r, "INT64"))
        rc = cast_int64(r, v, err);
    else
        rc = sql_reader_fail(r, "VARCHAR, BIGINT, DOUBLE or INT64", err);
    v->column = NULL;
    return rc;
}

/* CAST(x AS type); the word and the parenthesis are taken. */
static int
read_cast(struct sql_reader *r, struct sql_value *out, struct err *err)
{
    int rc = sql_expression_read(r, out, err);
    if (rc == 0)
        rc = sql_expression_want(r, "AS", err);
    if (rc == 0)
        rc = sql_expression_cast(r, out, err);
    return rc ? rc : sql_expression_want(r, ")", err);
}

/* The first of its arguments that is not NULL. */
static int
read_coalesce(struct sql_reader *r, struct sql_value *out, struct err *err)
{
    int rc = sql_expression_read(r, out, err);
    while (rc == 0 && sql_reader_take(r, ",")) {
        struct sql_value next;
        struct sql_value x;
        rc = sql_expression_read(r, &next, err);
        if (rc == 0)
            rc = match_types(r, out, &next, "coalesce()", err);
        if (rc)
            break;
        begin_open(r, out->type, &x);
        buf_printf(r->program,
                   "  if (def(x%u)) x%u = x%u;\n"
                   "  else if (def(x%u)) x%u = x%u;\n",
                   out->number, x.number, out->number, next.number, x.number,
                   next.number);
        *out = x;
    }
    out->column = NULL;
    return rc ? rc : sql_expression_want(r, ")", err);
}

static const struct {
    const char *name;
    const char *call; /* In the language. */
    enum sql_type type;
} text_calls[] = {
    {"lower", "lowercase", SQL_TEXT},
    {"upper", "uppercase", SQL_TEXT},
    {"length", "len", SQL_INT},
    {"decode", "string", SQL_TEXT},
};

static int read_text_call(struct sql_reader *r,
                          size_t i,
                          struct sql_value *out,
                          struct err *err)
{
    struct sql_value x;
    int rc = sql_expression_read(r, out, err);
    if (rc == 0)
        rc = want_type(out, SQL_TEXT, text_calls[i].name, err);
    if (rc == 0)
        rc = sql_expression_want(r, ")", err);
    if (rc)
        return rc;
    begin_value(r, text_calls[i].type, &x);
    buf_printf(r->program, "%s(x%u);\n", text_calls[i].call, out->number);
    *out = x;
    return 0;
}

static int
read_call(struct sql_reader *r, struct sql_value *out, struct err *err)
{
    const struct sql_word *name = sql_reader_word(r);
    r->at += 2;
    if (sql_word_is(name, "CAST"))
        return read_cast(r, out, err);
    if (sql_word_is(name, "coalesce"))
        return read_coalesce(r, out, err);
    for (size_t i = 0; i < ARRAY_LEN(text_calls); i++)
        if (sql_word_is(name, text_calls[i].name))
            return read_text_call(r, i, out, err);
    return err_set(err, ERR_UNSUPPORTED, "SQL: a view has no %.*s() here",
                   SLICE_ARG(name->text));
}

static int
read_name(struct sql_reader *r, struct sql_value *out, struct err *err)
{
    const struct sql_word *w = sql_reader_word(r);
    if (sql_word_is(word_after(r), "["))
        return read_column(r, out, err);
    if (w->kind == SQL_WORD_NAME && sql_word_is(word_after(r), "("))
        return read_call(r, out, err);
    if (sql_word_is(w, "CASE") || sql_word_is(w, "SELECT") ||
        sql_word_is(w, "EXISTS"))
        return err_set(err, ERR_UNSUPPORTED, "SQL: a view has no %.*s here",
                       SLICE_ARG(w->text));
    if (!slice_eq_str(w->text, "key") && !slice_eq_str(w->text, "\"key\"")) {
        int rc = sql_reader_fail(r, "key or family['qualifier']", err);
        err_hint(err, "a column is written as family['qualifier']");
        return rc;
    }
    r->at++;
    begin_value(r, SQL_TEXT, out);
    buf_append_str(r->program, "string(r.key);\n");
    return 0;
}

/* --- operators, tight ones first ----------------------------------------- */

static int
read_atom(struct sql_reader *r, struct sql_value *out, struct err *err)
{
    const struct sql_word *w = sql_reader_word(r);
    int rc;
    if (sql_reader_take(r, "(")) {
        rc = sql_expression_read(r, out, err);
        return rc ? rc : sql_expression_want(r, ")", err);
    }
    switch (w->kind) {
    case SQL_WORD_NUMBER: return read_number(r, out, err);
    case SQL_WORD_STRING: return read_string(r, out, err);
    case SQL_WORD_NAME:
    case SQL_WORD_QUOTED: return read_name(r, out, err);
    case SQL_WORD_SIGN:
    case SQL_WORD_END: break;
    }
    return sql_reader_fail(r, "a value", err);
}

static int
read_cast_sign(struct sql_reader *r, struct sql_value *out, struct err *err)
{
    int rc = read_atom(r, out, err);
    while (rc == 0 && sql_reader_take(r, "::"))
        rc = sql_expression_cast(r, out, err);
    return rc;
}

static int
read_unary(struct sql_reader *r, struct sql_value *out, struct err *err)
{
    struct sql_value x;
    bool minus = sql_reader_take(r, "-");
    int rc = read_cast_sign(r, out, err);
    if (rc || !minus)
        return rc;
    if (out->type != SQL_INT && out->type != SQL_FLOAT)
        return err_set(err, ERR_INVALID, "SQL: - needs a number");
    begin_value(r, out->type, &x);
    buf_printf(r->program, "-x%u;\n", out->number);
    *out = x;
    return 0;
}

/* + - * / % of numbers, || of texts. / gives a DOUBLE, as DuckDB's does. */
static int put_arithmetic(struct sql_reader *r,
                          struct sql_value *a,
                          struct sql_value *b,
                          const char *sign,
                          struct err *err)
{
    struct sql_value x;
    bool text = strcmp(sign, "||") == 0;
    int rc = match_types(r, a, b, sign, err);
    if (rc)
        return rc;
    if (text != (a->type == SQL_TEXT) || a->type == SQL_BOOL)
        return err_set(err, ERR_INVALID, "SQL: %s needs %s", sign,
                       text ? "texts" : "numbers");
    if (*sign == '%' && a->type != SQL_INT)
        return err_set(err, ERR_INVALID, "SQL: %% needs whole numbers");
    if (*sign == '/') {
        put_float(r, a);
        put_float(r, b);
    }
    begin_value(r, a->type, &x);
    buf_printf(r->program, "x%u %s x%u;\n", a->number, text ? "+" : sign,
               b->number);
    *a = x;
    return 0;
}

static int read_chain(struct sql_reader *r,
                      const char *const *signs,
                      sql_read_fn operand,
                      struct sql_value *out,
                      struct err *err)
{
    int rc = operand(r, out, err);
    for (size_t i = 0; rc == 0 && signs[i];) {
        struct sql_value b;
        if (!sql_reader_take(r, signs[i])) {
            i++;
            continue;
        }
        out->column = NULL;
        rc = operand(r, &b, err);
        if (rc == 0)
            rc = put_arithmetic(r, out, &b, signs[i], err);
        i = 0;
    }
    return rc;
}

static int
read_product(struct sql_reader *r, struct sql_value *out, struct err *err)
{
    static const char *const signs[] = {"*", "/", "%", NULL};
    return read_chain(r, signs, read_unary, out, err);
}

static int
read_sum(struct sql_reader *r, struct sql_value *out, struct err *err)
{
    static const char *const signs[] = {"+", "-", "||", NULL};
    return read_chain(r, signs, read_product, out, err);
}

/* --- conditions ---------------------------------------------------------- */

/* The pattern of LIKE as a regular expression. */
static void like_regex(struct slice like, struct buf *out)
{
    buf_append_str(out, "(?s)^");
    for (size_t i = 0; i < like.len; i++) {
        if (like.data[i] == '%')
            buf_append_str(out, ".*");
        else if (like.data[i] == '_')
            buf_append_byte(out, '.');
        else {
            if (strchr("\\.+*?()|[]{}^$", like.data[i]))
                buf_append_byte(out, '\\');
            buf_append_byte(out, like.data[i]);
        }
    }
    buf_append_byte(out, '$');
}

static int read_like(struct sql_reader *r, struct sql_value *a, struct err *err)
{
    struct buf like = BUF_INIT;
    struct buf regex = BUF_INIT;
    struct sql_value x;
    int rc = want_type(a, SQL_TEXT, "LIKE", err);
    if (rc)
        return rc;
    if (sql_reader_word(r)->kind != SQL_WORD_STRING)
        return sql_reader_fail(r, "'pattern'", err);
    sql_word_value(sql_reader_word(r), &like);
    r->at++;
    like_regex(buf_slice(&like), &regex);
    begin_value(r, SQL_BOOL, &x);
    buf_append_str(r->program, "match(");
    rc = sql_put_literal(r->program, buf_slice(&regex), err);
    buf_printf(r->program, ", x%u);\n", a->number);
    *a = x;
    buf_close(&like);
    buf_close(&regex);
    return rc;
}

static int read_in(struct sql_reader *r, struct sql_value *a, struct err *err)
{
    struct sql_value any = {.type = SQL_BOOL};
    bool first = true;
    int rc = sql_expression_want(r, "(", err);
    do {
        struct sql_value item;
        struct sql_value same = *a;
        if (rc == 0)
            rc = sql_expression_read(r, &item, err);
        if (rc == 0)
            rc = put_compare(r, &same, &item, "==", err);
        if (rc)
            return rc;
        if (first)
            any = same;
        else
            put_or(r, &any, &same);
        first = false;
    } while (sql_reader_take(r, ","));
    *a = any;
    return sql_expression_want(r, ")", err);
}

static int
read_between(struct sql_reader *r, struct sql_value *a, struct err *err)
{
    struct sql_value low = *a;
    struct sql_value bound;
    int rc = read_sum(r, &bound, err);
    if (rc == 0)
        rc = put_compare(r, &low, &bound, ">=", err);
    if (rc == 0)
        rc = sql_expression_want(r, "AND", err);
    if (rc == 0)
        rc = read_sum(r, &bound, err);
    if (rc == 0)
        rc = put_compare(r, a, &bound, "<=", err);
    if (rc == 0)
        put_and(r, a, &low);
    return rc;
}

/* IS [NOT] NULL */
static int read_is(struct sql_reader *r, struct sql_value *a, struct err *err)
{
    bool not = sql_reader_take(r, "NOT");
    struct sql_value x;
    int rc = sql_expression_want(r, "NULL", err);
    if (rc)
        return rc;
    begin_value(r, SQL_BOOL, &x);
    buf_printf(r->program, "%sdef(x%u);\n", not ? "" : "!", a->number);
    *a = x;
    return 0;
}

static int read_comparison_sign(struct sql_reader *r,
                                struct sql_value *a,
                                bool *found,
                                struct err *err)
{
    static const char *const signs[][2] = {
        {"=", "=="},  {"<>", "!="}, {"!=", "!="}, {"<=", "<="},
        {">=", ">="}, {"<", "<"},   {">", ">"}};
    struct sql_value b;
    for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
        if (!sql_reader_take(r, signs[i][0]))
            continue;
        int rc = read_sum(r, &b, err);
        *found = true;
        return rc ? rc : put_compare(r, a, &b, signs[i][1], err);
    }
    return 0;
}

static int
read_comparison(struct sql_reader *r, struct sql_value *out, struct err *err)
{
    bool found = false;
    bool not ;
    int rc = read_sum(r, out, err);
    if (rc == 0)
        rc = read_comparison_sign(r, out, &found, err);
    if (rc || found)
        return rc;
    if (sql_reader_take(r, "IS"))
        return read_is(r, out, err);
    not = sql_reader_take(r, "NOT");
    if (sql_reader_take(r, "LIKE"))
        rc = read_like(r, out, err);
    else if (sql_reader_take(r, "IN"))
        rc = read_in(r, out, err);
    else if (sql_reader_take(r, "BETWEEN"))
        rc = read_between(r, out, err);
    else
        return not ? sql_reader_fail(r, "LIKE, IN or BETWEEN", err) : 0;
    if (rc == 0 && not )
        put_not(r, out);
    return rc;
}

static int
read_not(struct sql_reader *r, struct sql_value *out, struct err *err)
{
    bool not = false;
    int rc;
    while (sql_reader_take(r, "NOT"))
        not = !not ;
    rc = read_comparison(r, out, err);
    if (rc || !not )
        return rc;
    rc = want_type(out, SQL_BOOL, "NOT", err);
    if (rc == 0)
        put_not(r, out);
    return rc;
}

static int
read_and(struct sql_reader *r, struct sql_value *out, struct err *err)
{
    int rc = read_not(r, out, err);
    while (rc == 0 && sql_reader_take(r, "AND")) {
        struct sql_value b;
        rc = read_not(r, &b, err);
        if (rc == 0)
            rc = want_type(out, SQL_BOOL, "AND", err);
        if (rc == 0)
            rc = want_type(&b, SQL_BOOL, "AND", err);
        if (rc == 0)
            put_and(r, out, &b);
    }
    return rc;
}

static int read_or(struct sql_reader *r, struct sql_value *out, struct err *err)
{
    int rc = read_and(r, out, err);
    while (rc == 0 && sql_reader_take(r, "OR")) {
        struct sql_value b;
        rc = read_and(r, &b, err);
        if (rc == 0)
            rc = want_type(out, SQL_BOOL, "OR", err);
        if (rc == 0)
            rc = want_type(&b, SQL_BOOL, "OR", err);
        if (rc == 0)
            put_or(r, out, &b);
    }
    return rc;
}

int sql_expression_read(struct sql_reader *r,
                        struct sql_value *out,
                        struct err *err)
{
    int rc;
    if (r->depth == DEPTH_MAX)
        return err_set(err, ERR_TOOBIG, "SQL: nested deeper than %d",
                       DEPTH_MAX);
    r->depth++;
    rc = read_or(r, out, err);
    r->depth--;
    return rc;
}
