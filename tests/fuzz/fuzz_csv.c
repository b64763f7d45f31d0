/* Any bytes cut into fields: the fields are no longer than the record, and
 * quoting them again gives the same fields. */
#include <stdlib.h>

#include "base/core/buf.h"
#include "mapreduce/ingest/csv_fields.h"

static void quote(struct buf *out, struct slice s)
{
    buf_append_byte(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] == '"')
            buf_append_byte(out, '"');
        buf_append_byte(out, s.data[i]);
    }
    buf_append_byte(out, '"');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct csv_fields a = {0};
    struct csv_fields b = {0};
    struct buf again = BUF_INIT;
    struct slice all = slice_make(data, size);
    char separator = csv_guess_separator(all);
    csv_split(&a, all, separator);
    if (a.count == 0 || a.text.len > size)
        abort();
    for (size_t i = 0; i < a.count; i++) {
        if (i)
            buf_append_byte(&again, separator);
        quote(&again, csv_field(&a, i));
    }
    csv_split(&b, buf_slice(&again), separator);
    if (a.count != b.count)
        abort();
    for (size_t i = 0; i < a.count; i++)
        if (!slice_eq(csv_field(&a, i), csv_field(&b, i)))
            abort();
    if (csv_ends_open(buf_slice(&again), false))
        abort();
    csv_fields_close(&a);
    csv_fields_close(&b);
    buf_close(&again);
    return 0;
}
