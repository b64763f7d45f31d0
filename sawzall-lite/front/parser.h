/* Tokens to the tree: the grammar, and recovery from what does not fit it.
 *
 * The parser knows no names: what an identifier means is the checker's
 * business. Two places of the language depend on names all the same. `T{…}` is
 * taken for a function of the type T; and the first argument of convert, new
 * and regex is parsed as a type.
 *
 * After an error the parser skips to where a statement can begin, so that one
 * run reports many; what could not be understood becomes a bad node, about
 * which nobody complains again.
 */
#ifndef SAWZALL_LITE_FRONT_PARSER_H
#define SAWZALL_LITE_FRONT_PARSER_H

#include "sawzall-lite/front/ast.h"
#include "sawzall-lite/front/diag.h"
#include "sawzall-lite/front/lexer.h"

/* The program as the body of a function without name; never NULL. */
struct saw_function *
saw_parse(struct arena *a, const struct saw_tokens *tokens, struct saw_diag *d);

/* What a token is for, where its kind alone does not tell: for the formatter.
 */
enum saw_mark {
    MARK_STATEMENT = 1, /* The first of a statement. */
    MARK_BLOCK = 2,     /* '{' of statements, or of a switch. */
    MARK_TYPE = 4,      /* '{' of a tuple type. */
    MARK_UNARY = 8,
    MARK_SLICE = 16, /* ':' of a[i:j] */
    MARK_LABEL = 32, /* ':' behind case … and default */
    MARK_WORD = 64,  /* An identifier that is a keyword here: result. */
};

struct saw_token_marks {
    uint8_t marks; /* Of enum saw_mark. */
    uint8_t ends;  /* Statements that end with this token. */
};

/* The same, and what the tokens are into @marks, one for each of @tokens. */
struct saw_function *saw_parse_marked(struct arena *a,
                                      const struct saw_tokens *tokens,
                                      struct saw_diag *d,
                                      struct saw_token_marks *marks);

/* A type alone, such as the signature of an intrinsic; TYPE_BAD on error. */
struct saw_type_expr *saw_parse_type(struct arena *a,
                                     const struct saw_tokens *tokens,
                                     struct saw_diag *d);

#endif /* SAWZALL_LITE_FRONT_PARSER_H */
