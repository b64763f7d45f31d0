/* Queries: SELECT and its clauses, and the tokens that all of the parser
 * shares.
 */
#include "bigtable/googlesql/gsql_parser.h"

#include <string.h>

#include "base/core/buf.h"
#include "bigtable/googlesql/gsql_parse.h"

/* Bytes of a token that a message shows. */
#define SHOWN_BYTES 60

/* --- tokens -------------------------------------------------------------- */

void gsql_fail_at(struct gsql_parse *p,
                  size_t at,
                  const char *what,
                  struct slice name)
{
    const struct slice shown = slice_sub(name, 0, SHOWN_BYTES);
    size_t line, column;
    if (p->rc)
        return;
    gsql_position(p->lexer.text, at, &line, &column);
    p->rc = err_set(p->err, ERR_INVALID, "%s%s%.*s [at %zu:%zu]", what,
                    name.len ? ": " : "", SLICE_ARG(shown), line, column);
    p->token = p->ahead =
        (struct gsql_token){.kind = GSQL_TOKEN_END, .at = p->token.at};
    p->lexer.at = p->lexer.text.len;
}

static void advance_once(struct gsql_parse *p)
{
    p->token = p->ahead;
    if (p->rc == 0)
        p->ahead = gsql_lexer_next(&p->lexer);
    if (p->token.kind == GSQL_TOKEN_BAD) {
        struct buf text = BUF_INIT;
        buf_printf(&text, "Syntax error: %s", p->token.why);
        gsql_fail_at(p, p->token.at, buf_cstr(&text), SLICE_EMPTY);
        buf_close(&text);
    }
}

void gsql_advance(struct gsql_parse *p)
{
    p->end = p->token.at + p->token.text.len;
    advance_once(p);
}

void gsql_unexpected(struct gsql_parse *p, const char *expected)
{
    struct buf text = BUF_INIT;
    const struct slice got = slice_sub(p->token.text, 0, SHOWN_BYTES);
    if (p->token.kind == GSQL_TOKEN_END)
        buf_printf(&text, "Syntax error: Unexpected end of query: expected %s",
                   expected);
    else
        buf_printf(&text, "Syntax error: Expected %s but got \"%.*s\"",
                   expected, SLICE_ARG(got));
    gsql_fail_at(p, p->token.at, buf_cstr(&text), SLICE_EMPTY);
    buf_close(&text);
}

void gsql_refuse(struct gsql_parse *p, const char *what)
{
    struct buf text = BUF_INIT;
    buf_printf(&text, "%s is not supported in GoogleSQL for Bigtable", what);
    gsql_fail_at(p, p->token.at, buf_cstr(&text), SLICE_EMPTY);
    buf_close(&text);
}

bool gsql_at(const struct gsql_parse *p, const char *word)
{
    return gsql_token_is(&p->token, word);
}

bool gsql_at_symbol(const struct gsql_parse *p, const char *symbol)
{
    return gsql_token_is_symbol(&p->token, symbol);
}

bool gsql_accept(struct gsql_parse *p, const char *word)
{
    const bool is = gsql_at(p, word);
    if (is)
        gsql_advance(p);
    return is;
}

bool gsql_accept_symbol(struct gsql_parse *p, const char *symbol)
{
    const bool is = gsql_at_symbol(p, symbol);
    if (is)
        gsql_advance(p);
    return is;
}

void gsql_expect(struct gsql_parse *p, const char *word)
{
    if (!gsql_accept(p, word))
        gsql_unexpected(p, word);
}

void gsql_expect_symbol(struct gsql_parse *p, const char *symbol)
{
    if (!gsql_accept_symbol(p, symbol))
        gsql_unexpected(p, symbol);
}

bool gsql_at_name(const struct gsql_parse *p)
{
    static const char *const reserved[] = {
        "all",      "and",    "any",     "array",     "as",       "asc",
        "between",  "by",     "case",    "cast",      "cross",    "desc",
        "distinct", "else",   "end",     "except",    "exists",   "extract",
        "false",    "for",    "from",    "full",      "group",    "having",
        "if",       "in",     "inner",   "intersect", "interval", "into",
        "is",       "join",   "lateral", "left",      "like",     "limit",
        "natural",  "not",    "null",    "nulls",     "on",       "or",
        "order",    "outer",  "over",    "partition", "qualify",  "right",
        "rollup",   "select", "set",     "some",      "struct",   "tablesample",
        "then",     "true",   "union",   "unnest",    "using",    "when",
        "where",    "window", "with",    "within",
    };
    if (p->token.kind == GSQL_TOKEN_QUOTED)
        return true;
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
        if (gsql_at(p, reserved[i]))
            return false;
    return p->token.kind == GSQL_TOKEN_WORD;
}

struct slice gsql_take_value(struct gsql_parse *p)
{
    struct buf value = BUF_INIT;
    struct buf text = BUF_INIT;
    const char *why = gsql_token_value(&p->token, &value);
    struct slice out = SLICE_EMPTY;
    if (why) {
        buf_printf(&text, "Syntax error: Illegal escape sequence: %s", why);
        gsql_fail_at(p, p->token.at, buf_cstr(&text), SLICE_EMPTY);
    } else {
        out = arena_dup(p->arena, buf_slice(&value));
        gsql_advance(p);
    }
    buf_close(&value);
    buf_close(&text);
    return out;
}

struct slice gsql_take_name(struct gsql_parse *p)
{
    if (!gsql_at_name(p)) {
        gsql_unexpected(p, "a name");
        return SLICE_EMPTY;
    }
    return gsql_take_value(p);
}

bool gsql_enter(struct gsql_parse *p)
{
    if (++p->depth > GSQL_DEPTH_MAX)
        gsql_fail_at(p, p->token.at, "The query is nested too deeply",
                     SLICE_EMPTY);
    return p->rc == 0;
}

void gsql_leave(struct gsql_parse *p)
{
    p->depth--;
}

/* --- FROM ---------------------------------------------------------------- */

static struct gsql_query *parse_query(struct gsql_parse *p);
static struct gsql_source *parse_source(struct gsql_parse *p);

struct slice gsql_parse_alias(struct gsql_parse *p)
{
    if (gsql_accept(p, "as") || gsql_at_name(p))
        return gsql_take_name(p);
    return SLICE_EMPTY;
}

/* A table's name, in which dashes need no quotes. */
static struct slice parse_table_name(struct gsql_parse *p)
{
    const bool quoted = p->token.kind == GSQL_TOKEN_QUOTED;
    const size_t begin = p->token.at;
    struct slice name = gsql_take_name(p);
    while (!quoted && gsql_at_symbol(p, "-") && p->token.at == p->end &&
           p->ahead.at == p->token.at + 1 &&
           (p->ahead.kind == GSQL_TOKEN_WORD ||
            p->ahead.kind == GSQL_TOKEN_INTEGER)) {
        gsql_advance(p);
        gsql_advance(p);
        name = slice_sub(p->lexer.text, begin, p->end);
    }
    return name;
}

static struct gsql_node *parse_options(struct gsql_parse *p)
{
    struct gsql_node *first = NULL, **last = &first;
    while (p->rc == 0 && !gsql_at_symbol(p, ")")) {
        struct gsql_node *n = gsql_node_new(p, GSQL_NAMED, p->token.at);
        n->text = gsql_take_name(p);
        gsql_expect_symbol(p, "=>");
        n->a = gsql_parse_expression(p);
        *last = n;
        last = &n->next;
        if (!gsql_accept_symbol(p, ","))
            break;
    }
    gsql_expect_symbol(p, ")");
    return first;
}

static void parse_unpack(struct gsql_parse *p, struct gsql_source *s)
{
    s->kind = GSQL_FROM_UNPACK;
    gsql_advance(p);
    gsql_expect_symbol(p, "(");
    gsql_accept(p, "table");
    if (gsql_enter(p))
        s->inner = parse_source(p);
    gsql_leave(p);
    gsql_expect_symbol(p, ")");
}

static void parse_unnest(struct gsql_parse *p, struct gsql_source *s)
{
    s->kind = GSQL_FROM_UNNEST;
    gsql_advance(p);
    gsql_expect_symbol(p, "(");
    s->array = gsql_parse_expression(p);
    gsql_expect_symbol(p, ")");
}

static struct gsql_source *parse_source(struct gsql_parse *p)
{
    struct gsql_source *s = arena_zalloc(p->arena, sizeof(*s));
    s->at = p->token.at;
    if (gsql_accept_symbol(p, "(")) {
        s->kind = GSQL_FROM_QUERY;
        s->query = parse_query(p);
        gsql_expect_symbol(p, ")");
    } else if (gsql_at(p, "unnest")) {
        parse_unnest(p, s);
    } else if (gsql_at(p, "unpack") && gsql_token_is_symbol(&p->ahead, "(")) {
        parse_unpack(p, s);
    } else {
        s->kind = GSQL_FROM_TABLE;
        s->name = parse_table_name(p);
        if (gsql_at_symbol(p, "."))
            gsql_refuse(p, "A table of another instance or project");
        if (gsql_accept_symbol(p, "("))
            s->options = parse_options(p);
    }
    s->alias = gsql_parse_alias(p);
    if (gsql_at(p, "with"))
        gsql_refuse(p, "WITH OFFSET");
    return s;
}

static void refuse_joins(struct gsql_parse *p)
{
    static const char *const words[] = {"join",    "inner",      "left",
                                        "right",   "full",       "cross",
                                        "natural", "tablesample"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (gsql_at(p, words[i]))
            gsql_refuse(p, i + 1 < sizeof(words) / sizeof(words[0])
                               ? "JOIN"
                               : "TABLESAMPLE");
}

static struct gsql_source *parse_from(struct gsql_parse *p)
{
    struct gsql_source *first = parse_source(p);
    struct gsql_source **last = &first->next;
    refuse_joins(p);
    while (gsql_accept_symbol(p, ",")) {
        if (!gsql_at(p, "unnest"))
            gsql_refuse(p, "A cross join of tables");
        *last = parse_source(p);
        last = &(*last)->next;
        refuse_joins(p);
    }
    return first;
}

/* --- SELECT -------------------------------------------------------------- */

static struct gsql_node *parse_names(struct gsql_parse *p)
{
    struct gsql_node *first = NULL, **last = &first;
    gsql_expect_symbol(p, "(");
    do {
        *last = gsql_node_new(p, GSQL_NAME, p->token.at);
        (*last)->text = gsql_take_name(p);
        last = &(*last)->next;
    } while (gsql_accept_symbol(p, ","));
    gsql_expect_symbol(p, ")");
    return first;
}

static struct gsql_node *parse_replacements(struct gsql_parse *p)
{
    struct gsql_node *first = NULL, **last = &first;
    gsql_expect_symbol(p, "(");
    do {
        *last = gsql_parse_expression(p);
        gsql_expect(p, "as");
        (*last)->alias = gsql_take_name(p);
        last = &(*last)->next;
    } while (gsql_accept_symbol(p, ","));
    gsql_expect_symbol(p, ")");
    return first;
}

static void parse_star_rest(struct gsql_parse *p, struct gsql_node *star)
{
    if (gsql_accept(p, "except"))
        star->list = parse_names(p);
    if (gsql_accept(p, "replace"))
        star->b = parse_replacements(p);
}

static struct gsql_node *parse_selected(struct gsql_parse *p)
{
    struct gsql_node *n;
    if (gsql_at_symbol(p, "*")) {
        n = gsql_node_new(p, GSQL_STAR, p->token.at);
        gsql_advance(p);
        parse_star_rest(p, n);
        return n;
    }
    n = gsql_parse_expression(p);
    if (n->kind == GSQL_STAR)
        parse_star_rest(p, n);
    else
        n->alias = gsql_parse_alias(p);
    return n;
}

static struct gsql_node *parse_select_list(struct gsql_parse *p)
{
    struct gsql_node *first = NULL, **last = &first;
    do {
        if (first && (gsql_at(p, "from") || p->token.kind == GSQL_TOKEN_END))
            break; /* A comma at the end is allowed. */
        *last = parse_selected(p);
        last = &(*last)->next;
    } while (p->rc == 0 && gsql_accept_symbol(p, ","));
    return first;
}

struct gsql_node *gsql_parse_order(struct gsql_parse *p)
{
    struct gsql_node *first = NULL, **last = &first;
    do {
        struct gsql_node *n = gsql_node_new(p, GSQL_ORDER, p->token.at);
        n->a = gsql_parse_expression(p);
        if (gsql_accept(p, "desc"))
            n->flag = true;
        else
            gsql_accept(p, "asc");
        if (gsql_accept(p, "nulls")) {
            n->text = SLICE_LIT("FIRST");
            if (!gsql_accept(p, "first")) {
                gsql_expect(p, "last");
                n->text = SLICE_LIT("LAST");
            }
        }
        *last = n;
        last = &n->next;
    } while (gsql_accept_symbol(p, ","));
    return first;
}

static void parse_group(struct gsql_parse *p, struct gsql_query *q)
{
    if (!gsql_accept(p, "group"))
        return;
    gsql_expect(p, "by");
    if (gsql_at(p, "rollup") || gsql_at(p, "cube") || gsql_at(p, "grouping"))
        gsql_refuse(p, "GROUP BY ROLLUP, CUBE or GROUPING SETS");
    q->group_all = gsql_accept(p, "all");
    if (!q->group_all)
        q->group = gsql_parse_expressions(p);
}

static void parse_clauses(struct gsql_parse *p, struct gsql_query *q)
{
    if (gsql_accept(p, "from"))
        q->from = parse_from(p);
    if (gsql_accept(p, "where"))
        q->where = gsql_parse_expression(p);
    parse_group(p, q);
    if (gsql_accept(p, "having"))
        q->having = gsql_parse_expression(p);
    if (gsql_at(p, "qualify"))
        gsql_refuse(p, "QUALIFY");
    if (gsql_at(p, "window"))
        gsql_refuse(p, "WINDOW");
}

static void parse_tail(struct gsql_parse *p, struct gsql_query *q)
{
    if (gsql_at(p, "union") || gsql_at(p, "intersect") || gsql_at(p, "except"))
        gsql_refuse(p, "UNION, INTERSECT or EXCEPT of queries");
    if (gsql_accept(p, "order")) {
        gsql_expect(p, "by");
        q->order = gsql_parse_order(p);
    }
    if (gsql_accept(p, "limit")) {
        q->limit = gsql_parse_expression(p);
        if (gsql_accept(p, "offset"))
            q->offset = gsql_parse_expression(p);
    }
}

/* SELECT * FROM (query), for a query in parentheses that has clauses of its
 * own behind them. */
static struct gsql_query *parse_nested(struct gsql_parse *p)
{
    struct gsql_query *q = arena_zalloc(p->arena, sizeof(*q));
    q->select = gsql_node_new(p, GSQL_STAR, p->token.at);
    q->from = arena_zalloc(p->arena, sizeof(*q->from));
    q->from->kind = GSQL_FROM_QUERY;
    q->from->at = p->token.at;
    gsql_advance(p);
    q->from->query = parse_query(p);
    gsql_expect_symbol(p, ")");
    parse_tail(p, q);
    return q;
}

static struct gsql_query *parse_select(struct gsql_parse *p)
{
    struct gsql_query *q = arena_zalloc(p->arena, sizeof(*q));
    if (gsql_at(p, "with"))
        gsql_refuse(p, "WITH");
    gsql_expect(p, "select");
    q->distinct = gsql_accept(p, "distinct");
    if (!q->distinct)
        gsql_accept(p, "all");
    if (gsql_at(p, "as"))
        gsql_refuse(p, "SELECT AS STRUCT or VALUE");
    q->select = parse_select_list(p);
    parse_clauses(p, q);
    parse_tail(p, q);
    if (gsql_at_symbol(p, "|>"))
        gsql_refuse(p, "Pipe syntax");
    return q;
}

static struct gsql_query *parse_query(struct gsql_parse *p)
{
    struct gsql_query *q = NULL;
    if (gsql_enter(p))
        q = gsql_at_symbol(p, "(") ? parse_nested(p) : parse_select(p);
    gsql_leave(p);
    return q;
}

static void refuse_changes(struct gsql_parse *p)
{
    static const char *const words[] = {
        "insert", "update", "delete", "merge", "create", "drop",     "alter",
        "grant",  "revoke", "begin",  "call",  "export", "truncate", "explain"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (gsql_at(p, words[i]))
            gsql_refuse(p, "A statement other than a query");
}

int gsql_parse(struct slice text,
               struct arena *arena,
               struct gsql_query **out,
               struct err *err)
{
    struct gsql_parse p = {.arena = arena, .lexer = {.text = text}, .err = err};
    *out = NULL;
    if (text.len > GSQL_QUERY_BYTES_MAX)
        return err_set(err, ERR_INVALID,
                       "a query has at most %zu bytes, this one has %zu",
                       GSQL_QUERY_BYTES_MAX, text.len);
    advance_once(&p);
    advance_once(&p);
    refuse_changes(&p);
    if (p.rc == 0)
        *out = parse_query(&p);
    gsql_accept_symbol(&p, ";");
    if (p.rc == 0 && p.token.kind != GSQL_TOKEN_END)
        gsql_unexpected(&p, "the end of the query");
    return p.rc;
}
