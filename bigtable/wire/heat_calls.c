/* Messages about heat. Of a picture most rows are empty and most values small:
 * a row is one byte, 0, or 1 and a varint for each range.
 */
#include "bigtable/wire/heat_calls.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/wire/message.h"

/* Values are in units of this part. */
#define HEAT_PARTS 16.0
#define VALUE_MAX  1e17

static uint64_t in_parts(double value)
{
    PRE(value >= 0);
    return (uint64_t)(MIN_OF(value, VALUE_MAX) * HEAT_PARTS + 0.5);
}

void heat_values_put(const double *values,
                     size_t times,
                     size_t ranges,
                     struct buf *out)
{
    for (size_t t = 0; t < times; t++, values += ranges) {
        bool any = false;
        for (size_t i = 0; i < ranges && !any; i++)
            any = in_parts(values[i]) > 0;
        buf_append_byte(out, any ? 1 : 0);
        for (size_t i = 0; i < ranges && any; i++) {
            char *at = buf_reserve(out, VARINT64_BYTES_MAX);
            out->len += (size_t)(put_varint(at, in_parts(values[i])) - at);
        }
    }
}

int heat_values_add(struct slice in,
                    size_t times,
                    size_t ranges,
                    double *values,
                    struct err *err)
{
    const char *p = in.data, *end = in.data + in.len;
    for (size_t t = 0; t < times && p; t++, values += ranges) {
        bool any = p < end && *p == 1;
        p = p < end ? p + 1 : NULL;
        for (size_t i = 0; i < ranges && any && p; i++) {
            uint64_t parts = 0;
            p = get_varint(p, end, &parts);
            if (p)
                values[i] += (double)parts / HEAT_PARTS;
        }
    }
    return p == end ? 0 : err_set(err, ERR_CORRUPT, "malformed heat");
}
