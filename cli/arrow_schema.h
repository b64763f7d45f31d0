/* Types of Arrow columns: from the format strings of the C data interface to
 * the metadata of an Arrow file, and to the buffers that an array of a type
 * has.
 *
 * Threads: any; nothing is kept.
 */
#ifndef CLI_ARROW_SCHEMA_H
#define CLI_ARROW_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/arrow_abi.h"
#include "base/core/err.h"
#include "base/core/macros.h"

struct buf;

/* Types may be nested that deeply. */
#define ARROW_DEPTH_MAX 64

/* The buffers of an array, in this order. */
struct arrow_buffers {
    bool validity;         /* A bit a value. */
    uint32_t value_bits;   /* Of each value; 0: none. */
    uint32_t offset_bytes; /* Of the ends of lists and texts; 0: none. */
    bool data;             /* Bytes of texts, up to the last offset. */
};

/* The buffers of type @format. Errors: ERR_UNSUPPORTED. */
MUST_CHECK int arrow_buffers_of(const char *format,
                                struct arrow_buffers *out,
                                struct err *err);

/* Write @schema's fields as a Schema table, whose place is returned in *@at.
 * Dictionaries are numbered as arrow_file.h says. Errors: ERR_UNSUPPORTED. */
MUST_CHECK int arrow_put_schema(struct buf *b,
                                const struct ArrowSchema *schema,
                                size_t *at,
                                struct err *err);

#endif /* CLI_ARROW_SCHEMA_H */
