/* Values as texts of DuckDB's SQL. Whatever the bytes are, the text is ASCII,
 * without NUL, and cannot end early. Pure.
 */
#ifndef BIGTABLE_GOOGLESQL_GSQL_LITERAL_H
#define BIGTABLE_GOOGLESQL_GSQL_LITERAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

struct buf;

/* Append a BLOB. */
void gsql_put_bytes(struct buf *out, struct slice s);
/* Append a VARCHAR. PRE: @s is UTF-8. */
void gsql_put_string(struct buf *out, struct slice s);
void gsql_put_int64(struct buf *out, int64_t v);
void gsql_put_float64(struct buf *out, double v);
/* Append the name, in quotes, that DuckDB has for field @index of a STRUCT:
 * @name, or one made up for a field that has none, or one that is not plain
 * text. */
void gsql_put_field_name(struct buf *out, struct slice name, size_t index);

#endif /* BIGTABLE_GOOGLESQL_GSQL_LITERAL_H */
