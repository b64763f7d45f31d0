/* Keys and values of a materialized view's rows, from what a query delivers.
 *
 * A column with the name _key is the row's key. Without one, the key is the
 * STRUCT of the columns that the query groups (or orders) by, in the encoding
 * that the API calls ordered_code_bytes: fields apart by 00 01, 00 within one
 * as 00 FF, an empty one as 00 00, empty ones at the end left out. So the keys
 * are in the order of the columns.
 *
 * Pure.
 */
#ifndef BIGTABLE_GATEWAY_VIEW_KEY_H
#define BIGTABLE_GATEWAY_VIEW_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/slice.h"
#include "bigtable/googlesql/gsql_type.h"

/* Append @v in 1 to 10 bytes that are in the order of the numbers: as many ones
 * in front as there are bytes, and then the number; of one below zero, all
 * bits of its complement turned round. */
void view_key_put_integer(struct buf *out, int64_t v);

/* A key being put together. Zeroed: none of it yet. */
struct view_key {
    struct buf out; /* Owned: buf_close(). */
    size_t empty;   /* Fields since the last that was not empty. */
    size_t fields;  /* Before those. */
};

void view_key_clear(struct view_key *k);
/* Add a field of the STRUCT. */
void view_key_add(struct view_key *k, struct slice field);
/* The key, when all fields were added. Borrowed until the next change. */
struct slice view_key_end(struct view_key *k);

/* The number that @bytes are in this form; false: they are none. */
bool view_key_get_integer(struct slice bytes, int64_t *v);
/* Take a key of up to @max fields apart: their number, of which the last may be
 * cut. Bytes are of @bytes, which is cleared. */
size_t view_key_split(struct slice key,
                      struct buf *bytes,
                      struct slice *fields,
                      size_t max);

/* The column of the API for a result's column @name: "family.qualifier", or a
 * qualifier of the family "default". */
void view_column(struct slice name,
                 struct slice *family,
                 struct slice *qualifier);

/* Can cells and keys be of this type? */
bool view_type_is_stored(enum gsql_kind kind);

#endif /* BIGTABLE_GATEWAY_VIEW_KEY_H */
