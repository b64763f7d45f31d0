/* Expressions, by levels of precedence; see parser.h. Operators of one level
 * associate to the left and are parsed in a loop, so only parentheses and
 * operands recurse. */
#include "sawzall-lite/front/parser_internal.h"

/* From the loosest to the tightest. Comparisons do not associate: a < b < c is
 * an error. */
enum level {
    LEVEL_OR,
    LEVEL_AND,
    LEVEL_COMPARE,
    LEVEL_SUM,
    LEVEL_TERM,
    LEVEL_FACTOR,
};

struct operator
{
    enum level level;
    enum saw_op op;
};

static struct saw_expr *parse_expr_factor(struct saw_parser *p);

static bool binary_operator(enum saw_token_kind k, struct operator* out)
{
    static const struct {
        uint8_t token;
        uint8_t level;
        uint8_t op;
    } table[] = {
        {TOK_CONDOR, LEVEL_OR, OP_LOR},    {TOK_OR, LEVEL_OR, OP_OR},
        {TOK_CONDAND, LEVEL_AND, OP_LAND}, {TOK_AND, LEVEL_AND, OP_AND},
        {TOK_EQL, LEVEL_COMPARE, OP_EQL},  {TOK_NEQ, LEVEL_COMPARE, OP_NEQ},
        {TOK_LSS, LEVEL_COMPARE, OP_LSS},  {TOK_LEQ, LEVEL_COMPARE, OP_LEQ},
        {TOK_GTR, LEVEL_COMPARE, OP_GTR},  {TOK_GEQ, LEVEL_COMPARE, OP_GEQ},
        {TOK_PLUS, LEVEL_SUM, OP_ADD},     {TOK_MINUS, LEVEL_SUM, OP_SUB},
        {TOK_BITOR, LEVEL_SUM, OP_BOR},    {TOK_BITXOR, LEVEL_SUM, OP_BXOR},
        {TOK_TIMES, LEVEL_TERM, OP_MUL},   {TOK_DIV, LEVEL_TERM, OP_DIV},
        {TOK_MOD, LEVEL_TERM, OP_MOD},     {TOK_SHL, LEVEL_TERM, OP_SHL},
        {TOK_SHR, LEVEL_TERM, OP_SHR},     {TOK_BITAND, LEVEL_TERM, OP_BAND},
    };

    size_t i;

    for (i = 0; i < ARRAY_LEN(table); i++) {
        if (table[i].token == k) {
            out->level = (enum level)table[i].level;
            out->op = (enum saw_op)table[i].op;
            return true;
        }
    }
    return false;
}

static struct saw_expr *parse_expr_bad(struct saw_parser *p)
{
    return saw_expr_new(p->arena, EXPR_BAD, p->tok->pos);
}

/* Operators of @level and tighter. */
static struct saw_expr *parse_expr_binary(struct saw_parser *p,
                                          enum level level)
{
    struct saw_expr *left = level == LEVEL_FACTOR
                                ? parse_expr_factor(p)
                                : parse_expr_binary(p, (enum level)(level + 1));
    struct operator o;

    while (binary_operator(parser_kind(p), &o) && o.level == level) {
        struct saw_expr *e = saw_expr_new(p->arena, EXPR_BINARY, left->pos);
        if (o.op == OP_AND || o.op == OP_OR)
            saw_warning(p->diag, p->tok->pos,
                        "%s evaluates both sides; use %s instead",
                        parser_found(p), o.op == OP_AND ? "'&&'" : "'||'");
        parser_next(p);
        e->u.binary.op = o.op;
        e->u.binary.left = left;
        e->u.binary.right = parse_expr_binary(p, (enum level)(level + 1));
        e->pos = parser_span(p, left->pos);
        left = e;
        if (level == LEVEL_COMPARE)
            break;
    }
    return left;
}

struct saw_expr *parser_expr(struct saw_parser *p)
{
    struct saw_expr *e;

    if (!parser_enter(p))
        return parse_expr_bad(p);
    e = parse_expr_binary(p, LEVEL_OR);
    parser_leave(p);
    return e;
}

/* --- calls --------------------------------------------------------------- */

void parser_args(struct saw_parser *p, struct saw_exprs *out)
{
    struct saw_expr *indexing = p->indexing;

    p->indexing = NULL; /* `$` does not reach into a call. */
    if (parser_kind(p) != TOK_RPAREN) {
        saw_exprs_add(p->arena, out, parser_expr(p));
        while (parser_accept(p, TOK_COMMA)) {
            if (parser_kind(p) == TOK_RPAREN) {
                saw_error(p->diag, p->tok->pos,
                          "no trailing comma allowed in argument list");
                break;
            }
            saw_exprs_add(p->arena, out, parser_expr(p));
        }
    }
    parser_expect(p, TOK_RPAREN, "after the arguments");
    p->indexing = indexing;
}

static enum saw_arg_flag arg_flag(struct saw_parser *p)
{
    if (parser_accept(p, TOK_SKIP))
        return ARG_SKIP;
    if (parser_accept(p, TOK_REST))
        return ARG_REST;
    return parser_accept(p, TOK_SUBMATCH) ? ARG_SUBMATCH : ARG_PLAIN;
}

/* Arguments that may carry skip, rest and submatch. */
static void saw_args(struct saw_parser *p, struct saw_expr *call)
{
    struct saw_exprs *args = &call->u.call.args;
    enum saw_arg_flag *flags = NULL;
    size_t cap = 0;

    while (parser_kind(p) != TOK_RPAREN && parser_kind(p) != TOK_EOF) {
        if (args->count == cap) {
            enum saw_arg_flag *old = flags;
            cap = cap ? cap * 2 : 8;
            flags = arena_zalloc(p->arena, cap * sizeof(*flags));
            if (old)
                memcpy(flags, old, args->count * sizeof(*flags));
        }
        flags[args->count] = arg_flag(p);
        saw_exprs_add(p->arena, args, parser_expr(p));
        if (!parser_accept(p, TOK_COMMA))
            break;
    }
    parser_expect(p, TOK_RPAREN, "after the arguments");
    call->u.call.flags = flags;
}

static bool is_name(const struct saw_expr *e, const char *name)
{
    return e->kind == EXPR_NAME && slice_eq_str(e->u.name.text, name);
}

/* Whether a type begins here that cannot be an expression. */
static bool begins_type(const struct saw_parser *p)
{
    enum saw_token_kind k = parser_kind(p);

    return k == TOK_ARRAY || k == TOK_MAP || k == TOK_LBRACE ||
           k == TOK_PROTO || k == TOK_PARSEDMESSAGE || k == TOK_FUNCTION ||
           k == TOK_TABLE;
}

static struct saw_expr *parse_expr_call(struct saw_parser *p,
                                        struct saw_expr *fn)
{
    struct saw_expr *e = saw_expr_new(p->arena, EXPR_CALL, fn->pos);
    struct saw_expr *indexing = p->indexing;

    p->indexing = NULL;
    e->u.call.fn = fn;
    e->u.call.open = p->tok->pos;
    parser_next(p); /* '(' */
    if ((is_name(fn, "convert") || is_name(fn, "new") ||
         is_name(fn, "regex")) &&
        begins_type(p)) {
        struct saw_expr *t = saw_expr_new(p->arena, EXPR_TYPE, p->tok->pos);
        t->u.type_expr = parser_type(p);
        t->pos = parser_span(p, t->pos);
        saw_exprs_add(p->arena, &e->u.call.args, t);
        if (parser_kind(p) == TOK_COMMA) {
            parser_next(p);
            parser_args(p, &e->u.call.args);
        } else {
            parser_expect(p, TOK_RPAREN, "after the arguments");
        }
    } else if (is_name(fn, "saw") || is_name(fn, "sawn") ||
               is_name(fn, "sawzall")) {
        saw_args(p, e);
    } else {
        parser_args(p, &e->u.call.args);
    }
    p->indexing = indexing;
    e->pos = parser_span(p, fn->pos);
    return e;
}

/* --- operands ------------------------------------------------------------ */

static struct saw_expr *index_expr(struct saw_parser *p,
                                   struct saw_expr *object)
{
    struct saw_expr *e = saw_expr_new(p->arena, EXPR_INDEX, object->pos);
    struct saw_expr *outer = p->indexing;

    parser_next(p); /* '[' */
    p->indexing = e;
    e->u.index.object = object;
    e->u.index.begin = parser_expr(p);
    parser_mark(p, MARK_SLICE);
    if (parser_accept(p, TOK_COLON))
        e->u.index.end = parser_expr(p);
    p->indexing = outer;
    parser_expect(p, TOK_RBRACK, "after the index");
    e->pos = parser_span(p, object->pos);
    return e;
}

static struct saw_expr *select_expr(struct saw_parser *p,
                                    struct saw_expr *object)
{
    struct saw_expr *e = saw_expr_new(p->arena, EXPR_SELECT, object->pos);

    parser_next(p); /* '.' */
    e->u.select.object = object;
    e->u.select.name = parser_member(p, &e->u.select.name_pos);
    e->pos = parser_span(p, object->pos);
    return e;
}

static struct saw_expr *parse_expr_composite(struct saw_parser *p)
{
    struct saw_expr *e = saw_expr_new(p->arena, EXPR_COMPOSITE, p->tok->pos);
    struct saw_expr *indexing = p->indexing;
    struct saw_exprs *items = &e->u.composite.items;

    p->indexing = NULL;
    parser_next(p); /* '{' */
    e->type = &saw_type_incomplete;
    if (parser_accept(p, TOK_COLON))
        e->u.composite.paired = true;
    while (parser_kind(p) != TOK_RBRACE && parser_kind(p) != TOK_EOF) {
        const struct saw_token *before = p->tok;
        saw_exprs_add(p->arena, items, parser_expr(p));
        if (items->count == 1 && parser_kind(p) == TOK_COLON)
            e->u.composite.paired = true;
        if (e->u.composite.paired) {
            parser_expect(p, TOK_COLON, "between key and value");
            saw_exprs_add(p->arena, items, parser_expr(p));
        }
        if (parser_kind(p) != TOK_RBRACE &&
            !parser_expect(p, TOK_COMMA, "or '}' in the literal"))
            break;
        if (p->tok == before)
            break;
    }
    parser_expect(p, TOK_RBRACE, "at the end of the literal");
    p->indexing = indexing;
    e->pos = parser_span(p, e->pos);
    return e;
}

static struct saw_expr *parse_expr_statexpr(struct saw_parser *p)
{
    struct saw_expr *e = saw_expr_new(p->arena, EXPR_STATEXPR, p->tok->pos);
    struct saw_expr *indexing = p->indexing;

    parser_next(p); /* '?' */
    p->indexing = NULL;
    p->statexprs++;
    e->u.statexpr.body = parser_block(p);
    p->statexprs--;
    p->indexing = indexing;
    e->pos = parser_span(p, e->pos);
    return e;
}

static struct saw_expr *parse_expr_dollar(struct saw_parser *p)
{
    struct saw_expr *e = saw_expr_new(p->arena, EXPR_DOLLAR, p->tok->pos);

    if (!p->indexing) {
        saw_error(p->diag, p->tok->pos, "'$' must appear in an index");
        e->kind = EXPR_BAD;
    } else {
        e->u.dollar = p->indexing;
        p->indexing->u.index.has_dollar = true;
    }
    parser_next(p);
    return e;
}

/* -1 is one literal, so that the smallest int can be written. */
static struct saw_expr *negative_int(struct saw_parser *p)
{
    struct saw_pos from = p->tok->pos;
    union saw_slot v;

    parser_next(p);
    v.u = 0 - p->tok->v.number;
    parser_next(p);
    return saw_expr_literal(p->arena, parser_span(p, from), &saw_type_int, v);
}

static struct saw_expr *parse_expr_unary(struct saw_parser *p, enum saw_op op)
{
    struct saw_expr *e = saw_expr_new(p->arena, EXPR_UNARY, p->tok->pos);

    parser_mark(p, MARK_UNARY);
    if (op == OP_NEG && parser_peek(p) == TOK_INT)
        return negative_int(p);
    if (op == OP_NEG &&
        (parser_peek(p) == TOK_UINT || parser_peek(p) == TOK_TIME ||
         parser_peek(p) == TOK_FINGERPRINT))
        saw_error(p->diag, p->tok->pos, "%s must be positive",
                  saw_token_name(parser_peek(p)));
    parser_next(p);
    if (!parser_enter(p))
        return parse_expr_bad(p);
    e->u.binary.op = op;
    e->u.binary.left = parse_expr_factor(p);
    parser_leave(p);
    e->pos = parser_span(p, e->pos);
    return e;
}

static struct saw_expr *parse_expr_number(struct saw_parser *p,
                                          const struct saw_type *type)
{
    struct saw_token t = *p->tok;
    union saw_slot v;

    v.u = t.v.number;
    if (t.kind == TOK_FLOAT)
        v.f = t.v.real;
    if (t.kind == TOK_INT && t.v.number > INT64_MAX)
        saw_error(p->diag, t.pos, "overflow in int literal");
    parser_next(p);
    return saw_expr_literal(p->arena, t.pos, type, v);
}

static struct saw_expr *parse_expr_text(struct saw_parser *p,
                                        const struct saw_type *type)
{
    struct saw_token t = *p->tok;
    struct saw_str *s = arena_alloc(p->arena, sizeof(*s));
    union saw_slot v;

    s->data = t.v.text.data;
    s->len = t.v.text.len;
    s->chars = type->kind == SAW_STRING ? saw_utf8_count(t.v.text) : s->len;
    v.s = s;
    parser_next(p);
    return saw_expr_literal(p->arena, t.pos, type, v);
}

static struct saw_expr *parse_expr_function(struct saw_parser *p)
{
    struct saw_expr *e = saw_expr_new(p->arena, EXPR_FUNCTION, p->tok->pos);

    e->u.function.type = parser_type(p);
    e->u.function.fn = parser_function(p, SLICE_EMPTY, e->pos);
    e->u.function.fn->literal = true;
    e->pos = parser_span(p, e->pos);
    return e;
}

static struct saw_expr *parse_expr_name(struct saw_parser *p)
{
    struct saw_expr *e = saw_expr_new(p->arena, EXPR_NAME, p->tok->pos);

    /* T {…}: a function of the named type T. */
    if (parser_kind(p) == TOK_IDENT && parser_peek(p) == TOK_LBRACE)
        return parse_expr_function(p);
    e->u.name.text = p->tok->v.text;
    parser_next(p);
    return e;
}

static struct saw_expr *parse_expr_parenthesis(struct saw_parser *p)
{
    struct saw_expr *e;

    parser_next(p);
    e = parser_expr(p);
    parser_expect(p, TOK_RPAREN, "to close the '('");
    return e;
}

static struct saw_expr *parse_expr_operand(struct saw_parser *p)
{
    struct saw_expr *e;

    switch ((int)parser_kind(p)) {
    case TOK_IDENT:
    case TOK_FORMAT: return parse_expr_name(p);
    case TOK_DOLLAR: return parse_expr_dollar(p);
    case TOK_QUERY: return parse_expr_statexpr(p);
    case TOK_LBRACE: return parse_expr_composite(p);
    case TOK_LPAREN: return parse_expr_parenthesis(p);
    case TOK_BITNOT: return parse_expr_unary(p, OP_BITNOT);
    case TOK_BANG:
    case TOK_NOT: return parse_expr_unary(p, OP_NOT);
    case TOK_MINUS: return parse_expr_unary(p, OP_NEG);
    case TOK_PLUS: return parse_expr_unary(p, OP_PLUS);
    case TOK_INT: return parse_expr_number(p, &saw_type_int);
    case TOK_UINT: return parse_expr_number(p, &saw_type_uint);
    case TOK_TIME: return parse_expr_number(p, &saw_type_time);
    case TOK_FINGERPRINT: return parse_expr_number(p, &saw_type_fingerprint);
    case TOK_FLOAT: return parse_expr_number(p, &saw_type_float);
    case TOK_STRING: return parse_expr_text(p, &saw_type_string);
    case TOK_BYTES: return parse_expr_text(p, &saw_type_bytes);
    case TOK_TIME_TEXT:
        e = saw_expr_new(p->arena, EXPR_TIME_TEXT, p->tok->pos);
        e->u.text = p->tok->v.text;
        parser_next(p);
        return e;
    case TOK_FUNCTION: return parse_expr_function(p);
    case TOK_ARRAY:
    case TOK_MAP:
    case TOK_PARSEDMESSAGE:
    case TOK_PROTO:
    case TOK_TABLE:
        saw_error(p->diag, p->tok->pos,
                  "a type cannot stand where a value is expected");
        e = parse_expr_bad(p);
        parser_type(p);
        return e;
    default: break;
    }
    saw_error(p->diag, p->tok->pos, "expression expected; found %s%s",
              parser_found(p), parser_hint(p));
    e = parse_expr_bad(p);
    return e;
}

static struct saw_expr *parse_expr_factor(struct saw_parser *p)
{
    struct saw_expr *e = parse_expr_operand(p);
    unsigned depth = 0;

    for (;;) {
        enum saw_token_kind k = parser_kind(p);
        if (k != TOK_PERIOD && k != TOK_LBRACK && k != TOK_LPAREN)
            return e;
        if (++depth > SAW_NESTING_MAX) {
            saw_error(p->diag, p->tok->pos,
                      "nested too deeply (over %d levels)", SAW_NESTING_MAX);
            p->tok = p->end;
            return parse_expr_bad(p);
        }
        if (k == TOK_PERIOD)
            e = select_expr(p, e);
        else if (k == TOK_LBRACK)
            e = index_expr(p, e);
        else
            e = parse_expr_call(p, e);
    }
}
