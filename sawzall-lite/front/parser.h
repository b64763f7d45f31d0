/* Tokens to the tree: the grammar, and recovery from syntax errors.
 *
 * The parser knows no names: the meaning of an identifier is the checker's
 * task. Two places of the language depend on names all the same. `T{…}` is
 * taken for a function of the type T; and the first argument of convert, new
 * and regex is parsed as a type.
 *
 * After an error the parser skips to a place where a statement can begin, so
 * that one run reports several errors; the part that was not understood
 * becomes a bad node, which causes no further errors.
 */
#ifndef SAWZALL_LITE_FRONT_PARSER_H
#define SAWZALL_LITE_FRONT_PARSER_H

#include "sawzall-lite/front/ast.h"
#include "sawzall-lite/front/diag.h"
#include "sawzall-lite/front/lexer.h"

/* Parse the program, which becomes the body of a function without a name;
 * never NULL. Errors go to @d. PRE: @tokens end with TOK_EOF. */
struct saw_function *
saw_parse(struct arena *a, const struct saw_tokens *tokens, struct saw_diag *d);

/* The role of a token where its kind alone does not show it, for the
 * formatter. */
enum saw_mark {
    MARK_STATEMENT = 1, /* The first of a statement. */
    MARK_BLOCK = 2,     /* '{' of statements, or of a switch. */
    MARK_TYPE = 4,      /* '{' of a tuple type. */
    MARK_UNARY = 8,
    MARK_SLICE = 16, /* ':' of a[i:j] */
    MARK_LABEL = 32, /* ':' after case … and default */
    MARK_WORD = 64,  /* An identifier that is a keyword here: result. */
};

struct saw_token_marks {
    uint8_t marks; /* Of enum saw_mark. */
    uint8_t ends;  /* Number of statements that end with this token. */
};

/* The same, and the roles of the tokens into @marks, one entry for each of
 * @tokens. */
struct saw_function *saw_parse_marked(struct arena *a,
                                      const struct saw_tokens *tokens,
                                      struct saw_diag *d,
                                      struct saw_token_marks *marks);

/* A type alone, such as the signature of an intrinsic; TYPE_BAD on error. */
struct saw_type_expr *saw_parse_type(struct arena *a,
                                     const struct saw_tokens *tokens,
                                     struct saw_diag *d);

#endif /* SAWZALL_LITE_FRONT_PARSER_H */
