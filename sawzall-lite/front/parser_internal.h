/* Shared by the files of the parser: parser.c (statements), parser_expr.c,
 * parser_type.c.
 *
 * Invariants
 *   INV-1. begin <= tok <= end, and *end is TOK_EOF: looking at the token is
 *          always allowed.
 *   INV-2. nesting <= SAW_NESTING_MAX; each parser_enter() that succeeded is
 *          paired with a parser_leave().
 */
#ifndef SAWZALL_LITE_FRONT_PARSER_INTERNAL_H
#define SAWZALL_LITE_FRONT_PARSER_INTERNAL_H

#include "base/core/panic.h"
#include "sawzall-lite/front/parser.h"

struct saw_parser {
    struct arena *arena;
    struct saw_diag *diag;
    const struct saw_token *tok; /* The token to look at next. */
    const struct saw_token *begin;
    const struct saw_token *end; /* The TOK_EOF. */
    unsigned nesting;
    unsigned statexprs;            /* Open ?{ }: `result` is a keyword. */
    struct saw_function *fn;       /* The function being parsed. */
    struct saw_expr *indexing;     /* The innermost a[…], for `$`. */
    struct saw_token_marks *marks; /* One a token; NULL: not wanted. */
};

/* Note a role of the token to look at next. */
static inline void parser_mark(struct saw_parser *p, enum saw_mark mark)
{
    if (p->marks)
        p->marks[p->tok - p->begin].marks |= (uint8_t)mark;
}

static inline enum saw_token_kind parser_kind(const struct saw_parser *p)
{
    return p->tok->kind;
}

static inline enum saw_token_kind parser_peek(const struct saw_parser *p)
{
    return p->tok < p->end ? p->tok[1].kind : TOK_EOF;
}

static inline void parser_next(struct saw_parser *p)
{
    INVARIANT(p->begin <= p->tok && p->tok <= p->end); /* INV-1 */
    if (p->tok < p->end)
        p->tok++;
}

/* Take the token if it is a @kind. */
bool parser_accept(struct saw_parser *p, enum saw_token_kind kind);
/* The same, but its absence is an error, reported after the last token, with
 * @where ("in for"; NULL: none) in the message. */
bool parser_expect(struct saw_parser *p,
                   enum saw_token_kind kind,
                   const char *where);
/* From @from to the last token taken. */
struct saw_pos parser_span(const struct saw_parser *p, struct saw_pos from);
/* Name of the token ahead, for messages: "'x'", "int literal". */
const char *parser_found(const struct saw_parser *p);
/* A guess at the intended syntax, in parentheses after a blank, or "". */
const char *parser_hint(const struct saw_parser *p);
/* One level deeper; false, with an error, when too deep. Each successful call
 * is paired with parser_leave(). */
bool parser_enter(struct saw_parser *p);
void parser_leave(struct saw_parser *p);
/* An identifier; an error and "" if there is none. */
struct slice parser_ident(struct saw_parser *p, struct saw_pos *pos);
/* An identifier, or a keyword used as a name after a dot. */
struct slice parser_member(struct saw_parser *p, struct saw_pos *pos);

/* Parse the construct at the token ahead; never NULL. Errors give bad nodes. */
struct saw_expr *parser_expr(struct saw_parser *p);
/* Arguments "e, e, …" after an opening parenthesis, through the closing one. */
void parser_args(struct saw_parser *p, struct saw_exprs *out);
struct saw_type_expr *parser_type(struct saw_parser *p);
/* The body { … } of a function of @type. */
struct saw_function *
parser_function(struct saw_parser *p, struct slice name, struct saw_pos pos);
struct saw_stmt *parser_block(struct saw_parser *p);
/* `static` members and types inside a tuple. */
struct saw_stmt *parser_type_decl(struct saw_parser *p, bool semicolon);
struct saw_stmt *
parser_decl(struct saw_parser *p, bool is_static, bool semicolon);

#endif /* SAWZALL_LITE_FRONT_PARSER_INTERNAL_H */
