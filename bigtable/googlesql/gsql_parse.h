/* The parser from the inside: gsql_parser.c reads queries, gsql_expression.c
 * expressions. Private to this room.
 */
#ifndef BIGTABLE_GOOGLESQL_GSQL_PARSE_H
#define BIGTABLE_GOOGLESQL_GSQL_PARSE_H

#include "base/core/arena.h"
#include "base/core/err.h"
#include "bigtable/googlesql/gsql_ast.h"
#include "bigtable/googlesql/gsql_lexer.h"

/* After the first error `token` is GSQL_TOKEN_END for ever, so that every loop
 * ends; what was parsed is not used. */
struct gsql_parse {
    struct arena *arena;
    struct gsql_lexer lexer;
    struct gsql_token token; /* The one at hand, */
    struct gsql_token ahead; /* and the next. */
    size_t end;              /* Of the token before. */
    int depth;
    int rc;
    struct err *err;
};

/* Take the token at hand. */
void gsql_advance(struct gsql_parse *p);
/* Fail at offset @at with "@what[: @name] [at …]". */
void gsql_fail_at(struct gsql_parse *p,
                  size_t at,
                  const char *what,
                  struct slice name);
/* Fail because the token at hand is not @expected. */
void gsql_unexpected(struct gsql_parse *p, const char *expected);
/* "@what is not supported", at the token at hand. */
void gsql_refuse(struct gsql_parse *p, const char *what);

/* Take the token at hand if it is that word or symbol. */
bool gsql_accept(struct gsql_parse *p, const char *word);
bool gsql_accept_symbol(struct gsql_parse *p, const char *symbol);
/* The same, or fail. */
void gsql_expect(struct gsql_parse *p, const char *word);
void gsql_expect_symbol(struct gsql_parse *p, const char *symbol);
bool gsql_at(const struct gsql_parse *p, const char *word);
bool gsql_at_symbol(const struct gsql_parse *p, const char *symbol);
/* Is the token at hand a name, and no reserved word? */
bool gsql_at_name(const struct gsql_parse *p);
/* Take it; fails if it is none. */
struct slice gsql_take_name(struct gsql_parse *p);
/* The bytes of the token at hand, which is taken; fails at a bad escape. */
struct slice gsql_take_value(struct gsql_parse *p);
/* One level deeper; false, and failed: too deep. */
bool gsql_enter(struct gsql_parse *p);
void gsql_leave(struct gsql_parse *p);

struct gsql_node *
gsql_node_new(struct gsql_parse *p, enum gsql_node_kind kind, size_t at);
/* [AS] name, or empty. */
struct slice gsql_parse_alias(struct gsql_parse *p);
struct gsql_node *gsql_parse_expression(struct gsql_parse *p);
/* One or more, with commas. */
struct gsql_node *gsql_parse_expressions(struct gsql_parse *p);
struct gsql_node *gsql_parse_order(struct gsql_parse *p);

#endif /* BIGTABLE_GOOGLESQL_GSQL_PARSE_H */
