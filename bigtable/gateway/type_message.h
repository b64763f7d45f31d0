/* The message Type: the declared type of a family's values, or of the parts of
 * row keys. Cells stay bytes; a type is checked, kept and given back. Pure.
 */
#ifndef BIGTABLE_GATEWAY_TYPE_MESSAGE_H
#define BIGTABLE_GATEWAY_TYPE_MESSAGE_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;

/* Check that @type is one of the API's. @what names its field in errors.
 * ERR_INVALID. */
MUST_CHECK int
type_message_check(struct slice type, const char *what, struct err *err);

/* If @type is an aggregate, set *@aggregate to the family option that stands
 * for it, "sum" and so on; else to "". ERR_INVALID: an aggregate of an unknown
 * function, or of an input that the function does not take. */
MUST_CHECK int type_message_aggregate(struct slice type,
                                      const char *what,
                                      const char **aggregate,
                                      struct err *err);
/* Append the Type of a family with @aggregate (not ""), its state's included;
 * bytes are the input of @given, the Type that it was created with, which may
 * be empty. */
void type_message_put_aggregate(struct buf *out,
                                const char *aggregate,
                                struct slice given);

/* Is @name taken, so that no field of a row key may have it? */
typedef bool (*row_key_name_cb)(void *ctx, struct slice name);

/* Check that @schema (Type.Struct) describes row keys: each field has a name of
 * its own that is not taken and a scalar type with an encoding, and the whole
 * has an encoding. ERR_INVALID. */
MUST_CHECK int row_key_schema_check(struct slice schema,
                                    row_key_name_cb is_taken,
                                    void *ctx,
                                    struct err *err);
/* Has @schema a field @name? */
bool row_key_schema_has(struct slice schema, struct slice name);

#endif /* BIGTABLE_GATEWAY_TYPE_MESSAGE_H */
