/* Calls, casts and patterns as steps, and what they share with other
 * expressions (gsql_steps.c). Private to this room.
 */
#ifndef BIGTABLE_GOOGLESQL_GSQL_STEPS_CALL_H
#define BIGTABLE_GOOGLESQL_GSQL_STEPS_CALL_H

#include "bigtable/googlesql/gsql_steps.h"

/* --- gsql_steps_call.c --------------------------------------------------- */

struct gsql_step gsql_steps_call(struct gsql_steps *s, struct gsql_node *n);
struct gsql_step gsql_steps_cast(struct gsql_steps *s, struct gsql_node *n);
struct gsql_step gsql_steps_like(struct gsql_steps *s, struct gsql_node *n);
/* SPLIT(text, by)[OFFSET(n)] and the like. */
struct gsql_step gsql_steps_part_of_split(struct gsql_steps *s,
                                          struct gsql_node *n);
/* The INT64 that 8 bytes are; it fails of others. */
struct gsql_step gsql_steps_eight(struct gsql_steps *s, struct gsql_step bytes);
/* The functions that @parts names, for the program's beginning. */
void gsql_steps_put_parts(unsigned parts, struct buf *out);

/* --- gsql_steps.c -------------------------------------------------------- */

/* Append "x7: int = "; the caller appends the value and ";\n". */
struct gsql_step gsql_steps_begin(struct gsql_steps *s, enum gsql_kind kind);
/* A STRING or BYTES, and its bytes as a literal. */
struct gsql_step
gsql_steps_text(struct gsql_steps *s, struct slice text, enum gsql_kind kind);
void gsql_steps_put_bytes(struct gsql_steps *s, struct slice bytes);
/* An INT64 as a FLOAT64; any other as it is. */
struct gsql_step gsql_steps_float(struct gsql_steps *s, struct gsql_step a);
/* @n where a value of @wanted is expected. */
struct gsql_step
gsql_steps_as(struct gsql_steps *s, struct gsql_node *n, enum gsql_kind wanted);
/* Make them of one type. */
void gsql_steps_match(struct gsql_steps *s,
                      struct gsql_step *a,
                      struct gsql_step *b);
/* Two operands, of one type. */
void gsql_steps_pair(struct gsql_steps *s,
                     struct gsql_node *left,
                     struct gsql_node *right,
                     struct gsql_step *a,
                     struct gsql_step *b);
struct gsql_step gsql_steps_not(struct gsql_steps *s, struct gsql_step a);
/* @op: one of +-*% and the slash. */
struct gsql_step gsql_steps_calculate(struct gsql_steps *s,
                                      struct gsql_step a,
                                      struct gsql_step b,
                                      char op);
/* IF(condition, value, value) and COALESCE(value, …) of @list. */
struct gsql_step gsql_steps_if(struct gsql_steps *s, struct gsql_node *list);
struct gsql_step gsql_steps_coalesce(struct gsql_steps *s,
                                     struct gsql_node *list);

#endif /* BIGTABLE_GOOGLESQL_GSQL_STEPS_CALL_H */
