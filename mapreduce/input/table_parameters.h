/* The parameters of a table that is read: "columns=a:b,c:&prefix=P&versions=N".
 * docs/jobs.md lists them.
 */
#ifndef MAPREDUCE_INPUT_TABLE_PARAMETERS_H
#define MAPREDUCE_INPUT_TABLE_PARAMETERS_H

#include "base/core/err.h"

struct mr_spec;
struct world;

/* input_format.parameters of tables: parse @text into @s. Reads the file of
 * saw=. Parks. */
const char *table_parameters(struct mr_spec *s,
                             const char *text,
                             struct world *world,
                             int *code,
                             struct err *err);

#endif /* MAPREDUCE_INPUT_TABLE_PARAMETERS_H */
