/* Expressions, by the precedence of their operators. Each operator is a level
 * of the tree, and levels are bounded; chains of AND and OR, which are often
 * long, become balanced trees, so that the bound does not refuse them. */
#include <string.h>

#include "bigtable/googlesql/gsql_parse.h"
#include "bigtable/googlesql/gsql_parser.h"

/* Parts of an expression, most binding last. */
enum level {
    LEVEL_OR,
    LEVEL_AND,
    LEVEL_NOT,
    LEVEL_COMPARE,
    LEVEL_BIT_OR,
    LEVEL_BIT_XOR,
    LEVEL_BIT_AND,
    LEVEL_SHIFT,
    LEVEL_ADD,
    LEVEL_MULTIPLY,
    LEVEL_UNARY,
};

static struct gsql_node *parse_level(struct gsql_parse *p, enum level level);
static struct gsql_node *parse_primary(struct gsql_parse *p);

struct gsql_node *
gsql_node_new(struct gsql_parse *p, enum gsql_node_kind kind, size_t at)
{
    struct gsql_node *n = arena_zalloc(p->arena, sizeof(*n));
    n->kind = kind;
    n->at = at;
    n->type = gsql_scalar(GSQL_UNKNOWN);
    return n;
}

struct gsql_node *gsql_parse_expression(struct gsql_parse *p)
{
    struct gsql_node *n;
    if (gsql_enter(p))
        n = parse_level(p, LEVEL_OR);
    else
        n = gsql_node_new(p, GSQL_NULL, p->token.at);
    gsql_leave(p);
    return n;
}

struct gsql_node *gsql_parse_expressions(struct gsql_parse *p)
{
    struct gsql_node *first = NULL, **last = &first;
    do {
        *last = gsql_parse_expression(p);
        last = &(*last)->next;
    } while (p->rc == 0 && gsql_accept_symbol(p, ","));
    return first;
}

/* --- types --------------------------------------------------------------- */

static const struct gsql_type *parse_type(struct gsql_parse *p, int depth);

/* The '>' at the end of a type's parts, which may be half of a ">>". */
static void close_type(struct gsql_parse *p)
{
    if (gsql_at_symbol(p, ">>")) {
        p->token.text = slice_sub(p->token.text, 1, 2);
        p->token.at++;
    } else {
        gsql_expect_symbol(p, ">");
    }
}

static struct gsql_field parse_field(struct gsql_parse *p, int depth)
{
    struct gsql_field f = {.name = SLICE_EMPTY};
    if (gsql_at_name(p) && (p->ahead.kind == GSQL_TOKEN_WORD ||
                            p->ahead.kind == GSQL_TOKEN_QUOTED))
        f.name = gsql_take_name(p);
    f.type = parse_type(p, depth);
    return f;
}

static void parse_fields(struct gsql_parse *p, struct gsql_type *t, int depth)
{
    struct gsql_field *fields = NULL;
    size_t room = 0;
    do {
        if (t->field_count == room) {
            const size_t wider = room ? room * 2 : 4;
            struct gsql_field *more =
                arena_alloc(p->arena, wider * sizeof(*more));
            if (room)
                memcpy(more, fields, room * sizeof(*more));
            fields = more;
            room = wider;
        }
        fields[t->field_count++] = parse_field(p, depth);
    } while (p->rc == 0 && gsql_accept_symbol(p, ","));
    t->fields = fields;
}

static const struct gsql_type *parse_type(struct gsql_parse *p, int depth)
{
    struct gsql_type *t = arena_zalloc(p->arena, sizeof(*t));
    const size_t at = p->token.at;
    struct slice name = p->token.text;
    t->kind = gsql_kind_of(name);
    t->element = t->key = gsql_scalar(GSQL_UNKNOWN);
    if (depth > GSQL_TYPE_DEPTH_MAX)
        gsql_fail_at(p, at, "A type is nested too deeply", SLICE_EMPTY);
    else if (p->token.kind != GSQL_TOKEN_WORD || t->kind == GSQL_UNKNOWN)
        gsql_fail_at(p, at, "Type not found", name);
    gsql_advance(p);
    if (t->kind < GSQL_ARRAY || p->rc)
        return t->kind < GSQL_ARRAY ? t : gsql_scalar(GSQL_UNKNOWN);
    gsql_expect_symbol(p, "<");
    if (t->kind == GSQL_STRUCT) {
        parse_fields(p, t, depth + 1);
    } else {
        if (t->kind == GSQL_MAP) {
            t->key = parse_type(p, depth + 1);
            gsql_expect_symbol(p, ",");
        }
        t->element = parse_type(p, depth + 1);
    }
    close_type(p);
    return t;
}

/* --- primaries ----------------------------------------------------------- */

static struct gsql_node *parse_literal(struct gsql_parse *p)
{
    struct gsql_node *n = gsql_node_new(p, GSQL_TEXT, p->token.at);
    if (p->token.kind == GSQL_TOKEN_STRING) {
        n->type = gsql_scalar(p->token.is_bytes ? GSQL_BYTES : GSQL_STRING);
        n->text = gsql_take_value(p);
        return n;
    }
    n->kind = p->token.kind == GSQL_TOKEN_INTEGER ? GSQL_INTEGER : GSQL_FLOAT;
    n->text = p->token.text;
    gsql_advance(p);
    return n;
}

static struct gsql_node *parse_case(struct gsql_parse *p)
{
    struct gsql_node *n = gsql_node_new(p, GSQL_CASE, p->token.at);
    struct gsql_node **last = &n->list;
    gsql_advance(p);
    if (!gsql_at(p, "when"))
        n->a = gsql_parse_expression(p);
    do {
        gsql_expect(p, "when");
        *last = gsql_parse_expression(p);
        last = &(*last)->next;
        gsql_expect(p, "then");
        *last = gsql_parse_expression(p);
        last = &(*last)->next;
    } while (p->rc == 0 && gsql_at(p, "when"));
    if (gsql_accept(p, "else"))
        n->b = gsql_parse_expression(p);
    gsql_expect(p, "end");
    return n;
}

static struct gsql_node *parse_cast(struct gsql_parse *p)
{
    struct gsql_node *n = gsql_node_new(p, GSQL_CAST, p->token.at);
    n->safe = gsql_at(p, "safe_cast");
    gsql_advance(p);
    gsql_expect_symbol(p, "(");
    n->a = gsql_parse_expression(p);
    gsql_expect(p, "as");
    n->type = parse_type(p, 1);
    if (gsql_at(p, "format"))
        gsql_refuse(p, "CAST with FORMAT");
    gsql_expect_symbol(p, ")");
    return n;
}

static struct gsql_node *parse_interval(struct gsql_parse *p)
{
    struct gsql_node *n = gsql_node_new(p, GSQL_INTERVAL_OF, p->token.at);
    gsql_advance(p);
    n->a = gsql_parse_expression(p);
    n->text = gsql_take_name(p);
    if (gsql_at(p, "to"))
        gsql_refuse(p, "INTERVAL … TO");
    return n;
}

static struct gsql_node *parse_extract(struct gsql_parse *p)
{
    struct gsql_node *n = gsql_node_new(p, GSQL_EXTRACT, p->token.at);
    gsql_advance(p);
    gsql_expect_symbol(p, "(");
    n->text = gsql_take_name(p);
    gsql_expect(p, "from");
    n->a = gsql_parse_expression(p);
    if (gsql_at(p, "at"))
        gsql_refuse(p, "AT TIME ZONE");
    gsql_expect_symbol(p, ")");
    return n;
}

static struct gsql_node *parse_array(struct gsql_parse *p)
{
    struct gsql_node *n = gsql_node_new(p, GSQL_ARRAY_OF, p->token.at);
    if (gsql_accept(p, "array")) {
        if (gsql_at_symbol(p, "("))
            gsql_refuse(p, "ARRAY of a subquery");
        if (gsql_accept_symbol(p, "<")) {
            n->type = gsql_array_of(p->arena, parse_type(p, 1));
            close_type(p);
        }
    }
    gsql_expect_symbol(p, "[");
    if (!gsql_at_symbol(p, "]"))
        n->list = gsql_parse_expressions(p);
    gsql_expect_symbol(p, "]");
    return n;
}

static struct gsql_node *parse_struct(struct gsql_parse *p)
{
    struct gsql_node *n = gsql_node_new(p, GSQL_STRUCT_OF, p->token.at);
    struct gsql_node **last = &n->list;
    gsql_advance(p);
    if (gsql_at_symbol(p, "<"))
        gsql_refuse(p, "STRUCT with types");
    gsql_expect_symbol(p, "(");
    do {
        *last = gsql_parse_expression(p);
        if (gsql_accept(p, "as"))
            (*last)->alias = gsql_take_name(p);
        last = &(*last)->next;
    } while (p->rc == 0 && gsql_accept_symbol(p, ","));
    gsql_expect_symbol(p, ")");
    return n;
}

/* (a, b) is a STRUCT, or what a lambda takes; (a) is a. */
static struct gsql_node *parse_parentheses(struct gsql_parse *p)
{
    const size_t at = p->token.at;
    struct gsql_node *n, *tuple;
    gsql_advance(p);
    if (gsql_at(p, "select") || gsql_at(p, "with"))
        gsql_refuse(p, "A subquery as an expression");
    n = gsql_parse_expressions(p);
    gsql_expect_symbol(p, ")");
    if (!n->next)
        return n;
    tuple = gsql_node_new(p, GSQL_STRUCT_OF, at);
    tuple->list = n;
    return tuple;
}

/* The arguments of a call, and the clauses behind them. */
static void parse_arguments(struct gsql_parse *p, struct gsql_node *call)
{
    struct gsql_node **last = &call->list;
    if (gsql_at_symbol(p, "*")) {
        call->list = gsql_node_new(p, GSQL_STAR, p->token.at);
        gsql_advance(p);
        return;
    }
    call->flag = gsql_accept(p, "distinct");
    if (gsql_at_symbol(p, ")"))
        return;
    if (gsql_at(p, "select") || gsql_at(p, "with"))
        gsql_refuse(p, "A subquery as an expression");
    do {
        *last = gsql_parse_expression(p);
        last = &(*last)->next;
    } while (p->rc == 0 && gsql_accept_symbol(p, ","));
    if (gsql_at(p, "ignore") || gsql_at(p, "respect"))
        gsql_refuse(p, "IGNORE NULLS and RESPECT NULLS");
    if (gsql_at(p, "having"))
        gsql_refuse(p, "HAVING MAX and HAVING MIN");
    if (gsql_accept(p, "order")) {
        gsql_expect(p, "by");
        call->b = gsql_parse_order(p);
    }
    if (gsql_accept(p, "limit"))
        call->c = gsql_parse_expression(p);
}

/* @name(…), of which the parenthesis is the token at hand. */
static struct gsql_node *
parse_call(struct gsql_parse *p, struct slice name, size_t at)
{
    struct gsql_node *n = gsql_node_new(p, GSQL_CALL, at);
    n->text = name;
    gsql_advance(p);
    parse_arguments(p, n);
    gsql_expect_symbol(p, ")");
    if (gsql_at(p, "over"))
        gsql_refuse(p, "A window (OVER)");
    return n;
}

/* DATE '…' and TIMESTAMP '…'. */
static struct gsql_node *parse_typed(struct gsql_parse *p)
{
    struct gsql_node *n = gsql_node_new(p, GSQL_TYPED, p->token.at);
    n->type = gsql_scalar(gsql_kind_of(p->token.text));
    gsql_advance(p);
    if (p->token.is_bytes)
        gsql_unexpected(p, "a STRING literal");
    n->text = gsql_take_value(p);
    return n;
}

static struct gsql_node *parse_lambda(struct gsql_parse *p)
{
    struct gsql_node *n = gsql_node_new(p, GSQL_LAMBDA, p->token.at);
    n->list = gsql_node_new(p, GSQL_NAME, p->token.at);
    n->list->text = gsql_take_name(p);
    gsql_expect_symbol(p, "->");
    n->a = gsql_parse_expression(p);
    return n;
}

static struct gsql_node *parse_named(struct gsql_parse *p)
{
    struct gsql_node *n;
    const size_t at = p->token.at;
    if (gsql_token_is_symbol(&p->ahead, "->"))
        return parse_lambda(p);
    if (p->ahead.kind == GSQL_TOKEN_STRING &&
        (gsql_at(p, "date") || gsql_at(p, "timestamp")))
        return parse_typed(p);
    if (gsql_at(p, "safe_cast") && gsql_token_is_symbol(&p->ahead, "("))
        return parse_cast(p);
    n = gsql_node_new(p, GSQL_NAME, at);
    n->text = gsql_take_name(p);
    return gsql_at_symbol(p, "(") ? parse_call(p, n->text, at) : n;
}

static struct gsql_node *parse_keyword(struct gsql_parse *p)
{
    struct gsql_node *n = gsql_node_new(p, GSQL_NULL, p->token.at);
    if ((gsql_at(p, "if") || gsql_at(p, "left") || gsql_at(p, "right")) &&
        gsql_token_is_symbol(&p->ahead, "(")) {
        const struct slice name = p->token.text;
        gsql_advance(p);
        return parse_call(p, name, n->at);
    }
    if (gsql_at(p, "case"))
        return parse_case(p);
    if (gsql_at(p, "cast"))
        return parse_cast(p);
    if (gsql_at(p, "interval"))
        return parse_interval(p);
    if (gsql_at(p, "extract"))
        return parse_extract(p);
    if (gsql_at(p, "array"))
        return parse_array(p);
    if (gsql_at(p, "struct"))
        return parse_struct(p);
    if (gsql_at(p, "exists"))
        gsql_refuse(p, "EXISTS");
    if (gsql_accept(p, "null"))
        return n;
    n->kind = GSQL_TRUTH;
    n->flag = gsql_at(p, "true");
    if (!gsql_accept(p, "true") && !gsql_accept(p, "false"))
        gsql_unexpected(p, "an expression");
    return n;
}

static struct gsql_node *parse_atom(struct gsql_parse *p)
{
    struct gsql_node *n;
    switch ((int)p->token.kind) {
    case GSQL_TOKEN_STRING:
    case GSQL_TOKEN_INTEGER:
    case GSQL_TOKEN_FLOAT: return parse_literal(p);
    case GSQL_TOKEN_PARAM:
        n = gsql_node_new(p, GSQL_PARAM, p->token.at);
        n->text = gsql_take_value(p);
        return n;
    default: break;
    }
    if (gsql_at_symbol(p, "("))
        return parse_parentheses(p);
    if (gsql_at_symbol(p, "["))
        return parse_array(p);
    if (gsql_at_symbol(p, "?"))
        gsql_refuse(p, "A parameter by position");
    return gsql_at_name(p) ? parse_named(p) : parse_keyword(p);
}

/* a[b], a[OFFSET(b)] and so on. */
static struct gsql_node *parse_index(struct gsql_parse *p, struct gsql_node *a)
{
    static const char *const ways[] = {
        "OFFSET", "SAFE_OFFSET", "ORDINAL", "SAFE_ORDINAL", "KEY", "SAFE_KEY"};
    struct gsql_node *n = gsql_node_new(p, GSQL_INDEX, p->token.at);
    n->a = a;
    gsql_advance(p);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (gsql_at(p, ways[i]) && gsql_token_is_symbol(&p->ahead, "("))
            n->text = slice_str(ways[i]);
    if (n->text.len) {
        gsql_advance(p);
        gsql_advance(p);
    }
    n->b = gsql_parse_expression(p);
    if (n->text.len)
        gsql_expect_symbol(p, ")");
    gsql_expect_symbol(p, "]");
    return n;
}

/* a.name, a.*, a.name(…). */
static struct gsql_node *parse_member(struct gsql_parse *p, struct gsql_node *a)
{
    struct gsql_node *n = gsql_node_new(p, GSQL_MEMBER, p->token.at);
    n->a = a;
    gsql_advance(p);
    if (gsql_accept_symbol(p, "*")) {
        n->kind = GSQL_STAR;
        return n;
    }
    if (p->token.kind != GSQL_TOKEN_WORD && p->token.kind != GSQL_TOKEN_QUOTED)
        gsql_unexpected(p, "a name");
    else
        n->text = gsql_take_value(p); /* Reserved words are names here. */
    if (!gsql_at_symbol(p, "(") || a->kind != GSQL_NAME)
        return n;
    if (gsql_same_name(a->text, SLICE_LIT("SAFE"))) {
        n = parse_call(p, n->text, n->at);
        n->safe = true;
        return n;
    }
    return parse_call(
        p,
        slice_str(arena_printf(p->arena, "%.*s.%.*s", SLICE_ARG(a->text),
                               SLICE_ARG(n->text))),
        a->at);
}

static struct gsql_node *parse_primary(struct gsql_parse *p)
{
    struct gsql_node *n = parse_atom(p);
    int links = 0;
    while (p->rc == 0) {
        if (gsql_at_symbol(p, "["))
            n = parse_index(p, n);
        else if (gsql_at_symbol(p, ".") && n->kind != GSQL_STAR)
            n = parse_member(p, n);
        else
            break;
        /* Each is a level of the tree. */
        if (++links > GSQL_DEPTH_MAX)
            gsql_fail_at(p, n->at, "The query is nested too deeply",
                         SLICE_EMPTY);
    }
    return n;
}

/* --- operators ----------------------------------------------------------- */

static const char *const operators[][4] = {
    [LEVEL_BIT_OR] = {"|"},   [LEVEL_BIT_XOR] = {"^"},
    [LEVEL_BIT_AND] = {"&"},  [LEVEL_SHIFT] = {"<<", ">>"},
    [LEVEL_ADD] = {"+", "-"}, [LEVEL_MULTIPLY] = {"*", "/", "||"},
    [LEVEL_UNARY] = {NULL},
};

static bool at_operator(const struct gsql_parse *p, enum level level)
{
    if (level == LEVEL_OR || level == LEVEL_AND)
        return gsql_at(p, level == LEVEL_OR ? "or" : "and");
    for (size_t i = 0; i < 4 && operators[level][i]; i++)
        if (gsql_at_symbol(p, operators[level][i]))
            return true;
    return false;
}

/* Operators of one level, from left to right. Each is a level of the tree, so
 * that a chain of them is bounded: AND and OR, of which long ones are common,
 * are halved instead (gsql_expression_balance()). */
static struct gsql_node *parse_chain(struct gsql_parse *p, enum level level)
{
    struct gsql_node *n = parse_level(p, level + 1);
    int links = 0;
    while (p->rc == 0 && at_operator(p, level)) {
        struct gsql_node *whole = gsql_node_new(p, GSQL_BINARY, p->token.at);
        whole->text = p->token.text;
        gsql_advance(p);
        whole->a = n;
        whole->b = parse_level(p, level + 1);
        n = whole;
        if (++links > GSQL_DEPTH_MAX)
            gsql_fail_at(p, n->at, "The query is nested too deeply",
                         SLICE_EMPTY);
    }
    return n;
}

/* A tree of @count operands of AND or OR, linked by `next`. */
static struct gsql_node *gsql_expression_balance(struct gsql_parse *p,
                                                 struct gsql_node **first,
                                                 size_t count,
                                                 const char *word)
{
    struct gsql_node *n;
    if (count == 1) {
        n = *first;
        *first = n->next;
        n->next = NULL;
        return n;
    }
    n = gsql_node_new(p, GSQL_BINARY, (*first)->at);
    n->text = slice_str(word);
    n->a = gsql_expression_balance(p, first, count / 2, word);
    n->b = gsql_expression_balance(p, first, count - count / 2, word);
    return n;
}

static struct gsql_node *parse_logic(struct gsql_parse *p, enum level level)
{
    const char *word = level == LEVEL_OR ? "OR" : "AND";
    struct gsql_node *first = parse_level(p, level + 1);
    struct gsql_node **last = &first->next;
    size_t count = 1;
    while (p->rc == 0 && gsql_accept(p, word)) {
        *last = parse_level(p, level + 1);
        last = &(*last)->next;
        count++;
    }
    return gsql_expression_balance(p, &first, count, word);
}

static struct gsql_node *
parse_is(struct gsql_parse *p, struct gsql_node *a, size_t at)
{
    struct gsql_node *n = gsql_node_new(p, GSQL_IS, at);
    n->a = a;
    n->flag = gsql_accept(p, "not");
    if (gsql_accept(p, "distinct")) {
        gsql_expect(p, "from");
        n->b = parse_level(p, LEVEL_BIT_OR);
    } else if (gsql_at(p, "null") || gsql_at(p, "true") ||
               gsql_at(p, "false")) {
        n->text = p->token.text;
        gsql_advance(p);
    } else {
        gsql_unexpected(p, "NULL, TRUE or FALSE");
    }
    return n;
}

static void parse_in(struct gsql_parse *p, struct gsql_node *n)
{
    n->kind = GSQL_IN;
    if (gsql_accept(p, "unnest")) {
        gsql_expect_symbol(p, "(");
        n->b = gsql_parse_expression(p);
    } else {
        gsql_expect_symbol(p, "(");
        if (gsql_at(p, "select") || gsql_at(p, "with"))
            gsql_refuse(p, "A subquery as an expression");
        n->list = gsql_parse_expressions(p);
    }
    gsql_expect_symbol(p, ")");
}

/* [NOT] LIKE, BETWEEN, IN: of which the token at hand is the first. */
static struct gsql_node *parse_matching(struct gsql_parse *p,
                                        struct gsql_node *a)
{
    struct gsql_node *n = gsql_node_new(p, GSQL_LIKE, p->token.at);
    n->a = a;
    n->flag = gsql_accept(p, "not");
    if (gsql_accept(p, "in")) {
        parse_in(p, n);
    } else if (gsql_accept(p, "between")) {
        n->kind = GSQL_BETWEEN;
        n->b = parse_level(p, LEVEL_BIT_OR);
        gsql_expect(p, "and");
        n->c = parse_level(p, LEVEL_BIT_OR);
    } else {
        gsql_expect(p, "like");
        if (gsql_at(p, "any") || gsql_at(p, "some") || gsql_at(p, "all"))
            gsql_refuse(p, "LIKE ANY, SOME or ALL");
        n->b = parse_level(p, LEVEL_BIT_OR);
    }
    return n;
}

/* Comparisons do not chain. */
static struct gsql_node *parse_comparison(struct gsql_parse *p)
{
    static const char *const symbols[] = {"=",  "!=", "<>", "<",
                                          "<=", ">",  ">="};
    struct gsql_node *a = parse_level(p, LEVEL_BIT_OR);
    const size_t at = p->token.at;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
        if (gsql_accept_symbol(p, symbols[i])) {
            struct gsql_node *n = gsql_node_new(p, GSQL_BINARY, at);
            n->text = slice_str(i == 1 ? "<>" : symbols[i]);
            n->a = a;
            n->b = parse_level(p, LEVEL_BIT_OR);
            return n;
        }
    if (gsql_accept(p, "is"))
        return parse_is(p, a, at);
    if (gsql_at(p, "like") || gsql_at(p, "in") || gsql_at(p, "between") ||
        (gsql_at(p, "not") &&
         (gsql_token_is(&p->ahead, "like") || gsql_token_is(&p->ahead, "in") ||
          gsql_token_is(&p->ahead, "between"))))
        return parse_matching(p, a);
    return a;
}

static struct gsql_node *
parse_unary(struct gsql_parse *p, const char *text, enum level level)
{
    struct gsql_node *n = gsql_node_new(p, GSQL_UNARY, p->token.at);
    n->text = slice_str(text);
    gsql_advance(p);
    if (gsql_enter(p))
        n->a = parse_level(p, level);
    else
        n->kind = GSQL_NULL;
    gsql_leave(p);
    return n;
}

static struct gsql_node *parse_level(struct gsql_parse *p, enum level level)
{
    switch ((int)level) {
    case LEVEL_OR:
    case LEVEL_AND: return parse_logic(p, level);
    case LEVEL_NOT:
        return gsql_at(p, "not") ? parse_unary(p, "NOT", LEVEL_NOT)
                                 : parse_comparison(p);
    case LEVEL_COMPARE: return parse_comparison(p);
    case LEVEL_UNARY:
        if (gsql_at_symbol(p, "-"))
            return parse_unary(p, "-", LEVEL_UNARY);
        if (gsql_at_symbol(p, "+"))
            return parse_unary(p, "+", LEVEL_UNARY);
        if (gsql_at_symbol(p, "~"))
            return parse_unary(p, "~", LEVEL_UNARY);
        return parse_primary(p);
    default: return parse_chain(p, level);
    }
}
