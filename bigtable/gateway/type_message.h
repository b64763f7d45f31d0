/* The message Type: what a family's values, or the parts of row keys, are said
 * to be. Cells stay bytes; a type is checked, kept and given back. Pure.
 *
 *     Type      bytes 1, string 2, array 3, map 4, int64 5, aggregate 6,
 *               struct 7, bool 8, float64 9, timestamp 10, date 11, float32 12,
 *               proto 13, enum 14: one of them
 *     Struct    fields 1 {field_name 1, type 2}, encoding 2 {singleton 1,
 *               delimited_bytes 2 {delimiter 1}, ordered_code_bytes 3}
 */
#ifndef BIGTABLE_GATEWAY_TYPE_MESSAGE_H
#define BIGTABLE_GATEWAY_TYPE_MESSAGE_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* Is @type one of the API's, as far as it can be kept? @what names the field it
 * is in, for errors. Errors: ERR_INVALID; ERR_UNSUPPORTED, an aggregate. */
MUST_CHECK int
type_message_check(struct slice type, const char *what, struct err *err);

/* May a name be a field of a row key's schema: is it no family's? */
typedef bool (*row_key_name_cb)(void *ctx, struct slice name);

/* Is @schema (Type.Struct) one for row keys: each field with a name of its own
 * and a scalar type with an encoding, and an encoding of the whole? Fields for
 * whose names is_taken() is true are refused. ERR_INVALID. */
MUST_CHECK int row_key_schema_check(struct slice schema,
                                    row_key_name_cb is_taken,
                                    void *ctx,
                                    struct err *err);
/* Has @schema a field @name? */
bool row_key_schema_has(struct slice schema, struct slice name);

#endif /* BIGTABLE_GATEWAY_TYPE_MESSAGE_H */
