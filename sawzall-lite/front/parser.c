/* Statements, and the helpers of the whole parser; see parser.h.
 *
 * A recursive descent over the grammar of the published compiler. Depth is
 * counted (parser_enter), because the C stack is a fiber's.
 */
#include "sawzall-lite/front/parser.h"

#include "base/core/panic.h"
#include "sawzall-lite/front/parser_internal.h"

static struct saw_stmt *parse_statement(struct saw_parser *p);

/* --- tokens -------------------------------------------------------------- */

struct saw_pos parser_span(const struct saw_parser *p, struct saw_pos from)
{
    return p->tok > p->begin ? saw_pos_join(from, p->tok[-1].pos) : from;
}

const char *parser_found(const struct saw_parser *p)
{
    const struct saw_token *t = p->tok;

    if (t->kind == TOK_IDENT)
        return arena_printf(p->arena, "'%.*s'",
                            SLICE_ARG(slice_sub(t->v.text, 0, 40)));
    return saw_token_name(t->kind);
}

bool parser_accept(struct saw_parser *p, enum saw_token_kind kind)
{
    if (parser_kind(p) != kind)
        return false;
    parser_next(p);
    return true;
}

static bool is_arithmetic(enum saw_token_kind k)
{
    return k >= TOK_PLUS && k <= TOK_SHR;
}

const char *parser_hint(const struct saw_parser *p)
{
    enum saw_token_kind k = parser_kind(p);
    enum saw_token_kind last = p->tok > p->begin ? p->tok[-1].kind : TOK_EOF;

    if (k == TOK_ASSIGN && is_arithmetic(last))
        return " (there is no '+=' and the like: write x = x + y)";
    if (k == TOK_ASSIGN)
        return " ('==' compares)";
    if (k == TOK_QUERY)
        return " (there is no '?:': use if, or ?{ … result e; })";
    if (k == TOK_LBRACK)
        return " (arrays are written {1, 2})";
    if (k == TOK_DIV && last == TOK_DIV)
        return " (a comment begins with '#')";
    if ((k == TOK_INC || k == TOK_DEC) && last == TOK_IDENT)
        return " (x++ is a statement, and has no value)";
    if (k == TOK_LARROW && last == TOK_IDENT)
        return " (does it lack 'emit'?)";
    if (k == TOK_IDENT && last == TOK_IDENT)
        return " (a declaration is written name: type)";
    if (k == TOK_IDENT && last == TOK_FUNCTION)
        return " (a function is written name: function(…) {…};)";
    return "";
}

bool parser_expect(struct saw_parser *p,
                   enum saw_token_kind kind,
                   const char *where)
{
    if (parser_accept(p, kind))
        return true;
    saw_error(p->diag, p->tok->pos, "%s expected%s%s; found %s%s",
              saw_token_name(kind), where ? " " : "", where ? where : "",
              parser_found(p), parser_hint(p));
    return false;
}

bool parser_enter(struct saw_parser *p)
{
    if (p->nesting >= SAW_NESTING_MAX) {
        saw_error(p->diag, p->tok->pos, "nested too deeply (over %d levels)",
                  SAW_NESTING_MAX);
        p->tok = p->end; /* Later errors would only repeat this one. */
        return false;
    }
    p->nesting++;
    return true;
}

void parser_leave(struct saw_parser *p)
{
    INVARIANT(p->nesting > 0); /* INV-2 */
    p->nesting--;
}

struct slice parser_ident(struct saw_parser *p, struct saw_pos *pos)
{
    struct slice name = SLICE_EMPTY;

    *pos = p->tok->pos;
    if (parser_kind(p) == TOK_IDENT) {
        name = p->tok->v.text;
        parser_next(p);
    } else {
        saw_error(p->diag, *pos, "identifier expected; found %s",
                  parser_found(p));
    }
    return name;
}

struct slice parser_member(struct saw_parser *p, struct saw_pos *pos)
{
    struct slice name;

    if (!saw_token_is_keyword(parser_kind(p)))
        return parser_ident(p, pos);
    *pos = p->tok->pos;
    name = p->tok->v.text;
    parser_next(p);
    return name;
}

/* --- recovery ------------------------------------------------------------ */

static bool begins_statement(enum saw_token_kind k)
{
    return k == TOK_BREAK || k == TOK_CONTINUE || k == TOK_DO ||
           k == TOK_EMIT || k == TOK_FOR || k == TOK_IF || k == TOK_RETURN ||
           k == TOK_STATIC || k == TOK_SWITCH || k == TOK_TYPE ||
           k == TOK_WHEN || k == TOK_WHILE;
}

/* Skip past the next ';', or to the beginning of a statement or the end of a
 * block. Brackets opened on the way are skipped as a whole. */
static void parse_resynchronise(struct saw_parser *p)
{
    int depth = 0;

    while (parser_kind(p) != TOK_EOF) {
        enum saw_token_kind k = parser_kind(p);
        if (depth == 0 && (begins_statement(k) || k == TOK_RBRACE ||
                           k == TOK_CASE || k == TOK_DEFAULT))
            return;
        if (k == TOK_LBRACE || k == TOK_LPAREN || k == TOK_LBRACK)
            depth++;
        if ((k == TOK_RBRACE || k == TOK_RPAREN || k == TOK_RBRACK) &&
            depth > 0)
            depth--;
        parser_next(p);
        if (k == TOK_SEMICOLON && depth == 0)
            return;
    }
}

/* The ';' after a statement. If it is missing before the clear beginning of
 * another statement, the error is reported where it belongs and nothing is
 * skipped. */
static void parse_semicolon(struct saw_parser *p)
{
    const struct saw_token *last = p->tok > p->begin ? p->tok - 1 : p->tok;
    struct saw_pos pos = {last->pos.source, last->pos.end, last->pos.end};

    if (parser_accept(p, TOK_SEMICOLON))
        return;
    if (saw_pos_line(p->tok->pos) == saw_pos_line(pos))
        pos = p->tok->pos;
    saw_error(p->diag, pos, "';' expected; found %s%s", parser_found(p),
              parser_hint(p));
    if (!begins_statement(parser_kind(p)) && parser_kind(p) != TOK_RBRACE &&
        !(parser_kind(p) == TOK_IDENT &&
          saw_pos_line(p->tok->pos) != saw_pos_line(last->pos)))
        parse_resynchronise(p);
}

/* --- declarations -------------------------------------------------------- */

/* A declaration (after `static`, if any): name: T; name: T = e; name := e;
 * name: function(…) {…}; */
struct saw_stmt *
parser_decl(struct saw_parser *p, bool is_static, bool with_semicolon)
{
    struct saw_decl *d = arena_zalloc(p->arena, sizeof(*d));
    struct saw_stmt *s;

    d->kind = DECL_VAR;
    d->name = parser_ident(p, &d->pos);
    d->is_static = is_static;
    d->table = -1;
    s = saw_stmt_new(p->arena, STMT_DECL, d->pos);
    s->u.decl = d;
    if (parser_expect(p, TOK_COLON, "in declaration")) {
        if (parser_kind(p) != TOK_ASSIGN)
            d->type_expr = parser_type(p);
        if (parser_kind(p) == TOK_LBRACE && d->type_expr) {
            d->init = saw_expr_new(p->arena, EXPR_FUNCTION, d->pos);
            d->init->u.function.type = d->type_expr;
            d->init->u.function.fn = parser_function(p, d->name, d->pos);
        } else if (parser_accept(p, TOK_ASSIGN)) {
            d->init = parser_expr(p);
            if (d->init->kind == EXPR_FUNCTION &&
                d->init->u.function.fn->name.len == 0)
                d->init->u.function.fn->name = d->name;
        }
    }
    s->pos = parser_span(p, d->pos);
    if (with_semicolon)
        parse_semicolon(p);
    return s;
}

/* type T = …; inside a tuple without the semicolon. */
struct saw_stmt *parser_type_decl(struct saw_parser *p, bool with_semicolon)
{
    struct saw_decl *d = arena_zalloc(p->arena, sizeof(*d));
    struct saw_pos from = p->tok->pos;
    struct saw_stmt *s;
    struct saw_pos pos;
    bool qualified = false;

    parser_next(p);
    d->kind = DECL_TYPE;
    d->table = -1;
    d->name = parser_ident(p, &d->pos);
    /* package.Name, as compilers of .proto files write it; not in a tuple. */
    while (with_semicolon && parser_accept(p, TOK_PERIOD)) {
        struct slice part = parser_member(p, &pos);
        d->name = slice_str(arena_printf(p->arena, "%.*s.%.*s",
                                         SLICE_ARG(d->name), SLICE_ARG(part)));
        qualified = true;
    }
    s = saw_stmt_new(p->arena, STMT_TYPE, from);
    s->u.decl = d;
    if (parser_expect(p, TOK_ASSIGN, "in type declaration")) {
        if (qualified && parser_kind(p) != TOK_PARSEDMESSAGE &&
            parser_kind(p) != TOK_PROTO)
            saw_error(p->diag, d->pos,
                      "only a 'parsedmessage' or 'proto' type can be "
                      "qualified by a package");
        d->type_expr = parser_type(p);
    }
    s->pos = parser_span(p, from);
    if (with_semicolon)
        parse_semicolon(p);
    return s;
}

/* --- simple statements --------------------------------------------------- */

/* Declaration, assignment, ++, -- or an expression. */
static struct saw_stmt *parse_simple(struct saw_parser *p, bool with_semicolon)
{
    struct saw_pos from = p->tok->pos;
    struct saw_stmt *s;
    struct saw_expr *e;

    if (parser_kind(p) == TOK_IDENT && parser_peek(p) == TOK_COLON)
        return parser_decl(p, false, with_semicolon);
    e = parser_expr(p);
    if (parser_kind(p) == TOK_ASSIGN) {
        parser_next(p);
        s = saw_stmt_new(p->arena, STMT_ASSIGN, from);
        s->u.assign.target = e;
        s->u.assign.value = parser_expr(p);
    } else if (parser_kind(p) == TOK_INC || parser_kind(p) == TOK_DEC) {
        s = saw_stmt_new(p->arena, STMT_INCREMENT, from);
        s->u.increment.target = e;
        s->u.increment.delta = parser_kind(p) == TOK_INC ? 1 : -1;
        parser_next(p);
    } else {
        s = saw_stmt_new(p->arena, STMT_EXPR, from);
        s->u.expr = e;
    }
    s->pos = parser_span(p, from);
    if (with_semicolon)
        parse_semicolon(p);
    return s;
}

static struct saw_stmt *parse_emit(struct saw_parser *p)
{
    struct saw_pos from = p->tok->pos;
    struct saw_stmt *s = saw_stmt_new(p->arena, STMT_EMIT, from);
    struct saw_pos pos;

    parser_next(p);
    s->u.emit.name = parser_ident(p, &s->u.emit.name_pos);
    while (parser_accept(p, TOK_PERIOD)) {
        struct slice part = parser_member(p, &pos);
        s->u.emit.name = slice_str(arena_printf(
            p->arena, "%.*s.%.*s", SLICE_ARG(s->u.emit.name), SLICE_ARG(part)));
    }
    while (parser_accept(p, TOK_LBRACK)) {
        saw_exprs_add(p->arena, &s->u.emit.indices, parser_expr(p));
        parser_expect(p, TOK_RBRACK, "after the index");
    }
    if (parser_expect(p, TOK_LARROW, "in emit"))
        s->u.emit.value = parser_expr(p);
    else
        s->u.emit.value = saw_expr_new(p->arena, EXPR_BAD, p->tok->pos);
    if (parser_accept(p, TOK_WEIGHT))
        s->u.emit.weight = parser_expr(p);
    s->pos = parser_span(p, from);
    parse_semicolon(p);
    return s;
}

static struct saw_stmt *parse_jump(struct saw_parser *p,
                                   enum saw_stmt_kind kind)
{
    struct saw_stmt *s = saw_stmt_new(p->arena, kind, p->tok->pos);

    parser_next(p);
    parse_semicolon(p);
    return s;
}

/* return e; return; result e; */
static struct saw_stmt *value_jump(struct saw_parser *p,
                                   enum saw_stmt_kind kind)
{
    struct saw_pos from = p->tok->pos;
    struct saw_stmt *s = saw_stmt_new(p->arena, kind, from);

    parser_next(p);
    if (parser_kind(p) != TOK_SEMICOLON)
        s->u.expr = parser_expr(p);
    s->pos = parser_span(p, from);
    parse_semicolon(p);
    return s;
}

/* --- compound statements ------------------------------------------------- */

static struct saw_expr *parse_condition(struct saw_parser *p)
{
    struct saw_expr *e;

    parser_expect(p, TOK_LPAREN, "before the condition");
    e = parser_expr(p);
    parser_expect(p, TOK_RPAREN, "after the condition");
    return e;
}

static struct saw_stmt *if_statement(struct saw_parser *p)
{
    struct saw_stmt *s = saw_stmt_new(p->arena, STMT_IF, p->tok->pos);

    parser_next(p);
    s->u.branch.cond = parse_condition(p);
    s->u.branch.then = parse_statement(p);
    if (parser_accept(p, TOK_ELSE))
        s->u.branch.otherwise = parse_statement(p);
    return s;
}

static struct saw_stmt *while_statement(struct saw_parser *p)
{
    struct saw_stmt *s = saw_stmt_new(p->arena, STMT_LOOP, p->tok->pos);

    parser_next(p);
    s->u.loop.cond = parse_condition(p);
    s->u.loop.body = parse_statement(p);
    return s;
}

static struct saw_stmt *do_statement(struct saw_parser *p)
{
    struct saw_stmt *s = saw_stmt_new(p->arena, STMT_LOOP, p->tok->pos);

    parser_next(p);
    s->u.loop.cond_last = true;
    s->u.loop.body = parse_statement(p);
    parser_expect(p, TOK_WHILE, "after the body of do");
    s->u.loop.cond = parse_condition(p);
    parse_semicolon(p);
    return s;
}

/* The first or the last part of the head of a for. */
static struct saw_stmt *for_part(struct saw_parser *p)
{
    if (parser_kind(p) != TOK_IDENT)
        saw_error(p->diag, p->tok->pos,
                  "declaration, assignment or call expected in for; found %s",
                  parser_found(p));
    return parse_simple(p, false);
}

static struct saw_stmt *for_statement(struct saw_parser *p)
{
    struct saw_stmt *s = saw_stmt_new(p->arena, STMT_LOOP, p->tok->pos);

    parser_next(p);
    parser_expect(p, TOK_LPAREN, "after for");
    if (parser_kind(p) != TOK_SEMICOLON)
        s->u.loop.before = for_part(p);
    parser_expect(p, TOK_SEMICOLON, "in for");
    if (parser_kind(p) != TOK_SEMICOLON)
        s->u.loop.cond = parser_expr(p);
    parser_expect(p, TOK_SEMICOLON, "in for");
    if (parser_kind(p) != TOK_RPAREN)
        s->u.loop.after = for_part(p);
    parser_expect(p, TOK_RPAREN, "in for");
    s->u.loop.body = parse_statement(p);
    return s;
}

/* Statements up to the next case, default or '}'. */
static struct saw_stmt *case_body(struct saw_parser *p)
{
    struct saw_stmt *s = saw_stmt_new(p->arena, STMT_BLOCK, p->tok->pos);

    do {
        const struct saw_token *before = p->tok;
        saw_stmts_add(p->arena, &s->u.block, parse_statement(p));
        if (p->tok == before)
            parser_next(p);
    } while (parser_kind(p) != TOK_CASE && parser_kind(p) != TOK_DEFAULT &&
             parser_kind(p) != TOK_RBRACE && parser_kind(p) != TOK_EOF);
    return s;
}

static struct saw_stmt *switch_statement(struct saw_parser *p)
{
    struct saw_stmt *s = saw_stmt_new(p->arena, STMT_SWITCH, p->tok->pos);
    struct saw_case *c;

    parser_next(p);
    s->u.select.tag = parse_condition(p);
    parser_mark(p, MARK_BLOCK);
    parser_expect(p, TOK_LBRACE, "after switch (…)");
    while (parser_accept(p, TOK_CASE)) {
        struct saw_exprs labels = {0};
        do {
            saw_exprs_add(p->arena, &labels, parser_expr(p));
        } while (parser_accept(p, TOK_COMMA));
        parser_mark(p, MARK_LABEL);
        parser_expect(p, TOK_COLON, "after case");
        c = saw_cases_add(p->arena, s);
        c->labels = labels;
        c->body = case_body(p);
    }
    if (parser_expect(p, TOK_DEFAULT, "at the end of switch")) {
        parser_mark(p, MARK_LABEL);
        parser_expect(p, TOK_COLON, "after default");
        c = saw_cases_add(p->arena, s);
        c->body = case_body(p);
    }
    if (!parser_expect(p, TOK_RBRACE, "at the end of switch"))
        parse_resynchronise(p);
    return s;
}

/* i: each int; in the head of a when. */
static void parse_quantifier(struct saw_parser *p, struct saw_stmt *s)
{
    struct saw_decl *d = arena_zalloc(p->arena, sizeof(*d));

    d->kind = DECL_VAR;
    d->table = -1;
    d->name = parser_ident(p, &d->pos);
    parser_next(p); /* ':' */
    d->quant = QUANT_ALL;
    if (parser_accept(p, TOK_EACH))
        d->quant = QUANT_EACH;
    else if (parser_accept(p, TOK_SOME))
        d->quant = QUANT_SOME;
    else if (!parser_accept(p, TOK_ALL))
        saw_error(p->diag, p->tok->pos,
                  "'all', 'each' or 'some' expected; found %s",
                  parser_found(p));
    d->type_expr = parser_type(p);
    parser_expect(p, TOK_SEMICOLON, "after the quantifier");
    saw_decls_add(p->arena, &s->u.when.vars, d);
}

static struct saw_stmt *when_statement(struct saw_parser *p)
{
    struct saw_stmt *s = saw_stmt_new(p->arena, STMT_WHEN, p->tok->pos);

    parser_next(p);
    parser_expect(p, TOK_LPAREN, "after when");
    while (parser_kind(p) == TOK_IDENT && parser_peek(p) == TOK_COLON)
        parse_quantifier(p, s);
    if (parser_kind(p) == TOK_RPAREN)
        saw_error(p->diag, p->tok->pos, "empty condition in 'when'");
    else
        s->u.when.cond = parser_expr(p);
    parser_expect(p, TOK_RPAREN, "after the condition");
    s->u.when.body = parse_statement(p);
    return s;
}

static void parse_statements(struct saw_parser *p, struct saw_stmts *out)
{
    while (parser_kind(p) != TOK_RBRACE && parser_kind(p) != TOK_EOF) {
        const struct saw_token *before = p->tok;
        saw_stmts_add(p->arena, out, parse_statement(p));
        if (p->tok == before) /* Always make progress. */
            parser_next(p);
    }
}

struct saw_stmt *parser_block(struct saw_parser *p)
{
    struct saw_stmt *s = saw_stmt_new(p->arena, STMT_BLOCK, p->tok->pos);
    struct saw_pos open = p->tok->pos;

    parser_mark(p, MARK_BLOCK);
    if (!parser_expect(p, TOK_LBRACE, NULL))
        return s;
    parse_statements(p, &s->u.block);
    if (parser_kind(p) == TOK_EOF) {
        saw_error(p->diag, p->tok->pos, "'}' expected; found end of file");
        saw_note(p->diag, open, "to match this '{'");
    }
    parser_accept(p, TOK_RBRACE);
    s->pos = parser_span(p, open);
    return s;
}

struct saw_function *
parser_function(struct saw_parser *p, struct slice name, struct saw_pos pos)
{
    struct saw_function *f = arena_zalloc(p->arena, sizeof(*f));
    struct saw_expr *indexing = p->indexing;
    unsigned statexprs = p->statexprs;

    f->name = name;
    f->owner = p->fn;
    f->level = p->fn->level + 1;
    p->fn = f;
    p->indexing = NULL;
    p->statexprs = 0;
    if (parser_enter(p)) {
        f->body = parser_block(p);
        parser_leave(p);
    } else {
        f->body = saw_stmt_new(p->arena, STMT_BLOCK, pos);
    }
    INVARIANT(p->fn == f);
    p->fn = f->owner;
    p->indexing = indexing;
    p->statexprs = statexprs;
    f->pos = parser_span(p, pos);
    return f;
}

/* proto "file.proto": parsed for the checker to refuse. */
static struct saw_stmt *proto_clause(struct saw_parser *p)
{
    struct saw_stmt *s = saw_stmt_new(p->arena, STMT_PROTO, p->tok->pos);

    parser_next(p);
    if (parser_kind(p) == TOK_STRING) {
        s->u.text = p->tok->v.text;
        parser_next(p);
        s->pos = parser_span(p, s->pos);
    } else {
        saw_error(p->diag, s->pos, "proto expects a file name in quotes");
        parse_resynchronise(p);
    }
    return s;
}

static struct saw_stmt *static_statement(struct saw_parser *p)
{
    parser_next(p);
    if (parser_kind(p) == TOK_IDENT && parser_peek(p) == TOK_COLON)
        return parser_decl(p, true, true);
    saw_error(p->diag, p->tok->pos,
              "variable declaration expected after 'static'");
    return parse_simple(p, true);
}

static struct saw_stmt *any_statement(struct saw_parser *p)
{
    switch ((int)parser_kind(p)) {
    case TOK_SEMICOLON: {
        struct saw_stmt *s = saw_stmt_new(p->arena, STMT_EMPTY, p->tok->pos);
        parser_next(p);
        return s;
    }
    case TOK_BREAK: return parse_jump(p, STMT_BREAK);
    case TOK_CONTINUE: return parse_jump(p, STMT_CONTINUE);
    case TOK_DO: return do_statement(p);
    case TOK_EMIT: return parse_emit(p);
    case TOK_WHEN: return when_statement(p);
    case TOK_IF: return if_statement(p);
    case TOK_WHILE: return while_statement(p);
    case TOK_FOR: return for_statement(p);
    case TOK_LBRACE: return parser_block(p);
    case TOK_TYPE: return parser_type_decl(p, true);
    case TOK_RETURN: return value_jump(p, STMT_RETURN);
    case TOK_SWITCH: return switch_statement(p);
    case TOK_STATIC: return static_statement(p);
    case TOK_PROTO:
        if (parser_peek(p) == TOK_STRING)
            return proto_clause(p);
        break;
    case TOK_IDENT:
        if (slice_eq_str(p->tok->v.text, "result") &&
            parser_peek(p) != TOK_COLON && parser_peek(p) != TOK_ASSIGN &&
            (p->statexprs > 0 || parser_peek(p) == TOK_IDENT)) {
            parser_mark(p, MARK_WORD);
            return value_jump(p, STMT_RESULT);
        }
        break;
    default: break;
    }
    return parse_simple(p, true);
}

static struct saw_stmt *parse_statement(struct saw_parser *p)
{
    const struct saw_token *before = p->tok;
    struct saw_stmt *s;

    if (!parser_enter(p))
        return saw_stmt_new(p->arena, STMT_EMPTY, p->tok->pos);
    parser_mark(p, MARK_STATEMENT);
    s = any_statement(p);
    if (p->marks && p->tok > before)
        p->marks[p->tok - p->begin - 1].ends++;
    if (p->tok == before && p->tok->kind != TOK_RBRACE)
        parse_resynchronise(p);
    parser_leave(p);
    return s;
}

struct saw_function *
saw_parse(struct arena *a, const struct saw_tokens *tokens, struct saw_diag *d)
{
    return saw_parse_marked(a, tokens, d, NULL);
}

struct saw_function *saw_parse_marked(struct arena *a,
                                      const struct saw_tokens *tokens,
                                      struct saw_diag *d,
                                      struct saw_token_marks *marks)
{
    struct saw_function *f = arena_zalloc(a, sizeof(*f));
    struct saw_parser p = {.arena = a,
                           .diag = d,
                           .marks = marks,
                           .tok = tokens->at,
                           .begin = tokens->at,
                           .end = tokens->at + tokens->count - 1,
                           .fn = f};

    PRE(tokens->count > 0 && p.end->kind == TOK_EOF);
    f->pos = p.tok->pos;
    f->body = saw_stmt_new(a, STMT_BLOCK, p.tok->pos);
    while (parser_kind(&p) != TOK_EOF) {
        parse_statements(&p, &f->body->u.block);
        if (parser_kind(&p) == TOK_RBRACE) {
            saw_error(d, p.tok->pos, "unmatched '}'");
            parser_next(&p);
        }
    }
    POST(p.nesting == 0 && p.tok == p.end);
    return f;
}

struct saw_type_expr *saw_parse_type(struct arena *a,
                                     const struct saw_tokens *tokens,
                                     struct saw_diag *d)
{
    struct saw_function f = {0};
    struct saw_parser p = {.arena = a,
                           .diag = d,
                           .tok = tokens->at,
                           .begin = tokens->at,
                           .end = tokens->at + tokens->count - 1,
                           .fn = &f};
    return parser_type(&p);
}
