/* Source text to tokens.
 *
 * The whole program becomes one array of tokens, with included files spliced
 * in where they are included, so that the parser can look ahead freely. Values
 * of literals are decoded here. A character that begins no token is reported
 * and skipped; a malformed literal is reported and given some value.
 */
#ifndef SAWZALL_LITE_FRONT_LEXER_H
#define SAWZALL_LITE_FRONT_LEXER_H

#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/slice.h"
#include "sawzall-lite/front/diag.h"

struct saw_compile_options;

/* Sources larger than this are refused. */
#define SAW_SOURCE_BYTES_MAX  ((size_t)16 << 20)
#define SAW_INCLUDE_DEPTH_MAX 32
#define SAW_TOKENS_MAX        ((size_t)4 << 20)

/* name, text in messages. Keywords, in alphabetical order, come last. */
#define SAW_TOKENS(X)                                                          \
    X(EOF, "end of file")                                                      \
    X(IDENT, "identifier")                                                     \
    X(INT, "int literal")                                                      \
    X(UINT, "uint literal")                                                    \
    X(FINGERPRINT, "fingerprint literal")                                      \
    X(TIME, "time literal")                                                    \
    X(TIME_TEXT, "time literal")                                               \
    X(FLOAT, "float literal")                                                  \
    X(STRING, "string literal")                                                \
    X(BYTES, "bytes literal")                                                  \
    X(PLUS, "'+'")                                                             \
    X(MINUS, "'-'")                                                            \
    X(TIMES, "'*'")                                                            \
    X(DIV, "'/'")                                                              \
    X(MOD, "'%'")                                                              \
    X(BITAND, "'&'")                                                           \
    X(BITOR, "'|'")                                                            \
    X(BITXOR, "'^'")                                                           \
    X(SHL, "'<<'")                                                             \
    X(SHR, "'>>'")                                                             \
    X(EQL, "'=='")                                                             \
    X(NEQ, "'!='")                                                             \
    X(LSS, "'<'")                                                              \
    X(LEQ, "'<='")                                                             \
    X(GTR, "'>'")                                                              \
    X(GEQ, "'>='")                                                             \
    X(CONDAND, "'&&'")                                                         \
    X(CONDOR, "'||'")                                                          \
    X(BITNOT, "'~'")                                                           \
    X(BANG, "'!'")                                                             \
    X(AT, "'@'")                                                               \
    X(LPAREN, "'('")                                                           \
    X(RPAREN, "')'")                                                           \
    X(LBRACK, "'['")                                                           \
    X(RBRACK, "']'")                                                           \
    X(LBRACE, "'{'")                                                           \
    X(RBRACE, "'}'")                                                           \
    X(PERIOD, "'.'")                                                           \
    X(COMMA, "','")                                                            \
    X(SEMICOLON, "';'")                                                        \
    X(COLON, "':'")                                                            \
    X(ASSIGN, "'='")                                                           \
    X(LARROW, "'<-'")                                                          \
    X(DOLLAR, "'$'")                                                           \
    X(QUERY, "'?'")                                                            \
    X(INC, "'++'")                                                             \
    X(DEC, "'--'")                                                             \
    X(ALL, "'all'")                                                            \
    X(AND, "'and'")                                                            \
    X(ARRAY, "'array'")                                                        \
    X(BREAK, "'break'")                                                        \
    X(CASE, "'case'")                                                          \
    X(CONTINUE, "'continue'")                                                  \
    X(DEFAULT, "'default'")                                                    \
    X(DO, "'do'")                                                              \
    X(EACH, "'each'")                                                          \
    X(ELSE, "'else'")                                                          \
    X(EMIT, "'emit'")                                                          \
    X(FILE, "'file'")                                                          \
    X(FOR, "'for'")                                                            \
    X(FORMAT, "'format'")                                                      \
    X(FUNCTION, "'function'")                                                  \
    X(IF, "'if'")                                                              \
    X(INCLUDE, "'include'")                                                    \
    X(MAP, "'map'")                                                            \
    X(NOT, "'not'")                                                            \
    X(OF, "'of'")                                                              \
    X(OR, "'or'")                                                              \
    X(PARSEDMESSAGE, "'parsedmessage'")                                        \
    X(PROC, "'proc'")                                                          \
    X(PROTO, "'proto'")                                                        \
    X(REST, "'rest'")                                                          \
    X(RETURN, "'return'")                                                      \
    X(SKIP, "'skip'")                                                          \
    X(SOME, "'some'")                                                          \
    X(STATIC, "'static'")                                                      \
    X(SUBMATCH, "'submatch'")                                                  \
    X(SWITCH, "'switch'")                                                      \
    X(TABLE, "'table'")                                                        \
    X(TYPE, "'type'")                                                          \
    X(WEIGHT, "'weight'")                                                      \
    X(WHEN, "'when'")                                                          \
    X(WHILE, "'while'")

enum saw_token_kind {
#define X(name, text) TOK_##name,
    SAW_TOKENS(X)
#undef X
};

struct saw_token {
    enum saw_token_kind kind;
    struct saw_pos pos;

    union {
        uint64_t number;   /* INT: magnitude; UINT, FINGERPRINT, TIME. */
        double real;       /* FLOAT. */
        struct slice text; /* IDENT, keywords, STRING, BYTES, TIME_TEXT. */
    } v;
};

struct saw_tokens {
    struct saw_token *at; /* Ends with TOK_EOF; owned: mem_free. */
    size_t count;
};

/* The token in messages: "'<-'", "identifier". Static text. */
const char *saw_token_name(enum saw_token_kind kind);

static inline bool saw_token_is_keyword(enum saw_token_kind kind)
{
    return kind >= TOK_ALL;
}

/* Make a source of @text (copied into @a), with the offsets of its lines. */
struct saw_source *
saw_source_new(struct arena *a, struct slice name, struct slice text);

/* Split @text, called @name, into tokens. Errors go to @d; *@out is complete
 * and owned in any case (mem_free of @out->at). */
void saw_lex(struct arena *a,
             const struct saw_compile_options *opts,
             const char *name,
             struct slice text,
             struct saw_diag *d,
             struct saw_tokens *out);

#endif /* SAWZALL_LITE_FRONT_LEXER_H */
