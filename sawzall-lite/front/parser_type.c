/* Types as written, including tables and tuples with their members; see
 * parser.h. Names are not resolved here, so a type in the source stays a
 * struct saw_type_expr until the checker turns it into a struct saw_type. */
#include "sawzall-lite/front/parser_internal.h"

static struct saw_type_expr *
type_new(struct saw_parser *p, enum saw_type_expr_kind kind, struct saw_pos pos)
{
    struct saw_type_expr *t = arena_zalloc(p->arena, sizeof(*t));
    t->kind = kind;
    t->pos = pos;
    return t;
}

/* T or package.T or Tuple.T. */
static struct saw_type_expr *type_name(struct saw_parser *p)
{
    struct saw_type_expr *t = type_new(p, TYPE_NAME, p->tok->pos);
    struct saw_pos pos;

    t->name = parser_ident(p, &pos);
    while (parser_kind(p) == TOK_PERIOD && parser_peek(p) == TOK_IDENT) {
        parser_next(p);
        t->name =
            slice_str(arena_printf(p->arena, "%.*s.%.*s", SLICE_ARG(t->name),
                                   SLICE_ARG(p->tok->v.text)));
        parser_next(p);
    }
    t->pos = parser_span(p, t->pos);
    return t;
}

/* `name: T` or `T`. */
static void
parse_type_field(struct saw_parser *p, struct saw_field_expr *f, bool keywords)
{
    f->pos = p->tok->pos;
    if (parser_peek(p) == TOK_COLON &&
        (parser_kind(p) == TOK_IDENT ||
         (keywords && saw_token_is_keyword(parser_kind(p))))) {
        f->name = parser_member(p, &f->pos);
        parser_next(p);
    }
    f->type = parser_type(p);
}

/* The parts after a field of a tuple: = default @ tag : wire-type. */
static void field_proto(struct saw_parser *p, struct saw_field_expr *f)
{
    struct saw_pos pos;

    if (parser_accept(p, TOK_ASSIGN))
        f->init = parser_expr(p);
    if (parser_accept(p, TOK_AT)) {
        f->tag_pos = p->tok->pos;
        if (parser_kind(p) == TOK_INT) {
            f->tag = p->tok->v.number > INT32_MAX ? INT32_MAX
                                                  : (int64_t)p->tok->v.number;
            if (f->tag == 0) {
                saw_error(p->diag, f->tag_pos, "tag value 0 must be > 0");
                f->tag = -1;
            }
            parser_next(p);
        } else if (parser_kind(p) == TOK_MINUS && parser_peek(p) == TOK_INT) {
            saw_error(p->diag, f->tag_pos, "tag value must be > 0");
            f->tag = -1;
            parser_next(p);
            parser_next(p);
        } else {
            saw_error(p->diag, f->tag_pos,
                      "expected int literal after '@'; found %s",
                      parser_found(p));
            f->tag = -1;
            if (parser_kind(p) != TOK_COMMA && parser_kind(p) != TOK_RBRACE)
                parser_next(p);
        }
    }
    if (parser_accept(p, TOK_COLON))
        f->proto = parser_ident(p, &pos);
}

static void tuple_member(struct saw_parser *p, struct saw_type_expr *t)
{
    bool named = parser_peek(p) == TOK_COLON;

    if (parser_kind(p) == TOK_TYPE && !(t->message && named)) {
        saw_stmts_add(p->arena, &t->members, parser_type_decl(p, false));
    } else if (parser_kind(p) == TOK_STATIC && !(t->message && named)) {
        parser_next(p);
        saw_stmts_add(p->arena, &t->members, parser_decl(p, true, false));
    } else {
        struct saw_field_expr *f = saw_fields_add(p->arena, &t->fields);
        f->members_before = t->members.count;
        parse_type_field(p, f, t->message);
        field_proto(p, f);
    }
}

static struct saw_type_expr *parse_type_tuple(struct saw_parser *p,
                                              bool message)
{
    struct saw_type_expr *t = type_new(p, TYPE_TUPLE, p->tok->pos);

    t->message = message;
    parser_mark(p, MARK_TYPE);
    if (!parser_expect(p, TOK_LBRACE, "before the fields"))
        return t;
    while (parser_kind(p) != TOK_RBRACE && parser_kind(p) != TOK_EOF) {
        const struct saw_token *before = p->tok;
        tuple_member(p, t);
        if (parser_kind(p) == TOK_RBRACE)
            break;
        if (!parser_expect(p, TOK_COMMA, "or '}' after the field")) {
            while (parser_kind(p) != TOK_COMMA && parser_kind(p) != TOK_EOF &&
                   parser_kind(p) != TOK_RBRACE &&
                   parser_kind(p) != TOK_SEMICOLON)
                parser_next(p);
            if (!parser_accept(p, TOK_COMMA))
                break;
        }
        if (p->tok == before)
            parser_next(p);
    }
    parser_expect(p, TOK_RBRACE, "at the end of the tuple");
    t->pos = parser_span(p, t->pos);
    return t;
}

static struct saw_type_expr *parse_type_array(struct saw_parser *p)
{
    struct saw_type_expr *t = type_new(p, TYPE_ARRAY, p->tok->pos);
    struct saw_field_expr f = {.name = SLICE_EMPTY};

    parser_next(p);
    parser_expect(p, TOK_OF, "after 'array'");
    parse_type_field(p, &f, false);
    t->elem = f.type;
    t->pos = parser_span(p, t->pos);
    return t;
}

static struct saw_type_expr *parse_type_map(struct saw_parser *p)
{
    struct saw_type_expr *t = type_new(p, TYPE_MAP, p->tok->pos);
    struct saw_field_expr f = {.name = SLICE_EMPTY};

    parser_next(p);
    t->key = arena_zalloc(p->arena, sizeof(*t->key));
    parser_expect(p, TOK_LBRACK, "after 'map'");
    parse_type_field(p, t->key, false);
    parser_expect(p, TOK_RBRACK, "after the key type");
    parser_expect(p, TOK_OF, "in the map type");
    parse_type_field(p, &f, false);
    t->elem = f.type;
    t->pos = parser_span(p, t->pos);
    return t;
}

static void parse_type_parameter(struct saw_parser *p, struct saw_fields *out)
{
    struct saw_field_expr *f = saw_fields_add(p->arena, out);

    f->name = parser_ident(p, &f->pos);
    parser_expect(p, TOK_COLON, "after the parameter's name");
    f->type = parser_type(p);
}

static struct saw_type_expr *function_type(struct saw_parser *p)
{
    struct saw_type_expr *t = type_new(p, TYPE_FUNCTION, p->tok->pos);

    parser_next(p);
    parser_expect(p, TOK_LPAREN, "after 'function'");
    if (parser_kind(p) != TOK_RPAREN) {
        parse_type_parameter(p, &t->fields);
        while (parser_accept(p, TOK_COMMA))
            parse_type_parameter(p, &t->fields);
    }
    parser_expect(p, TOK_RPAREN, "after the parameters");
    if (parser_accept(p, TOK_COLON))
        t->elem = parser_type(p);
    t->pos = parser_span(p, t->pos);
    return t;
}

/* --- tables -------------------------------------------------------------- */

/* file(…), proc(…), format(…). */
static void table_args(struct saw_parser *p,
                       struct saw_exprs *out,
                       struct saw_pos *pos,
                       bool *seen)
{
    *pos = p->tok->pos;
    if (*seen)
        saw_error(p->diag, *pos, "duplicate %s", parser_found(p));
    *seen = true;
    parser_next(p);
    out->count = 0;
    if (parser_expect(p, TOK_LPAREN, NULL))
        parser_args(p, out);
    *pos = parser_span(p, *pos);
}

static void table_outputs(struct saw_parser *p, struct saw_table_expr *t)
{
    for (;;) {
        enum saw_token_kind k = parser_kind(p);
        if (k == TOK_FORMAT) {
            table_args(p, &t->format, &t->format_pos, &t->has_format);
        } else if (k == TOK_FILE || k == TOK_PROC) {
            t->is_proc = k == TOK_PROC;
            table_args(p, &t->file, &t->file_pos, &t->has_file);
        } else {
            return;
        }
    }
}

static struct saw_type_expr *parse_type_table(struct saw_parser *p)
{
    struct saw_type_expr *t = type_new(p, TYPE_TABLE, p->tok->pos);
    struct saw_table_expr *x = arena_zalloc(p->arena, sizeof(*x));

    t->table = x;
    parser_next(p);
    x->kind = parser_ident(p, &x->kind_pos);
    if (parser_accept(p, TOK_LPAREN)) {
        x->param = parser_expr(p);
        parser_expect(p, TOK_RPAREN, "after the table's parameter");
    }
    while (parser_accept(p, TOK_LBRACK)) {
        parse_type_field(p, saw_fields_add(p->arena, &x->indices), false);
        parser_expect(p, TOK_RBRACK, "after the index");
    }
    parser_expect(p, TOK_OF, "in the table type");
    parse_type_field(p, &x->element, false);
    if (parser_accept(p, TOK_WEIGHT))
        parse_type_field(p, &x->weight, false);
    table_outputs(p, x);
    t->pos = parser_span(p, t->pos);
    return t;
}

static struct saw_type_expr *parse_type_proto(struct saw_parser *p)
{
    struct saw_type_expr *t = type_new(p, TYPE_PROTO, p->tok->pos);

    parser_next(p);
    t->elem = parser_type(p);
    t->pos = parser_span(p, t->pos);
    return t;
}

static struct saw_type_expr *any_type(struct saw_parser *p)
{
    struct saw_type_expr *t;

    switch ((int)parser_kind(p)) {
    case TOK_IDENT: return type_name(p);
    case TOK_LBRACE: return parse_type_tuple(p, false);
    case TOK_PARSEDMESSAGE: parser_next(p); return parse_type_tuple(p, true);
    case TOK_ARRAY: return parse_type_array(p);
    case TOK_MAP: return parse_type_map(p);
    case TOK_FUNCTION: return function_type(p);
    case TOK_PROTO: return parse_type_proto(p);
    case TOK_TABLE: return parse_type_table(p);
    default: break;
    }
    t = type_new(p, TYPE_BAD, p->tok->pos);
    saw_error(p->diag, p->tok->pos, "type expected; found %s", parser_found(p));
    if (parser_kind(p) != TOK_SEMICOLON && parser_kind(p) != TOK_RPAREN &&
        parser_kind(p) != TOK_RBRACK && parser_kind(p) != TOK_RBRACE)
        parser_next(p);
    return t;
}

struct saw_type_expr *parser_type(struct saw_parser *p)
{
    struct saw_type_expr *t;

    if (!parser_enter(p))
        return type_new(p, TYPE_BAD, p->tok->pos);
    t = any_type(p);
    parser_leave(p);
    return t;
}
