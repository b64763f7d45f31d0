/* Bytes as cell keys: no part reads past them, what decodes encodes back, and
 * visibility takes any sequence of them. */
#include <stdint.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/schema.h"
#include "bigtable/row/visibility.h"

static void check(struct slice key)
{
    struct buf scratch = BUF_INIT;
    struct buf again = BUF_INIT;
    struct cell_key k;
    cell_key_row_length(key);
    cell_key_column_length(key);
    if (cell_key_decode(key, &k, &scratch)) {
        cell_key_append(&again, &k);
        INVARIANT(slice_eq(key, buf_slice(&again)));
    }
    buf_close(&scratch);
    buf_close(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cursor c = cursor_make(slice_make(data, size));
    struct schema *schema = schema_new();
    struct visibility v;
    if (schema_add_family(schema, "f", "versions=2", NULL))
        PANIC("the family is refused");
    visibility_init(&v, schema, 1000);
    while (c.p < c.end && !c.bad) {
        struct slice key = cursor_lslice(&c);
        struct slice value = cursor_lslice(&c);
        check(key);
        visibility_feed(&v, key, value);
    }
    visibility_close(&v);
    schema_free(schema);
    return 0;
}
