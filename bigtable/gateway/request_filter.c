/* Row filters. The store's binary form of a filter is the API's message, so
 * this bounds its size and passes it on.
 */
#include "bigtable/gateway/request_filter.h"

#include "bigtable/row/filter.h"

/* As the real service: a longer one is refused. */
#define FILTER_BYTES_MAX ((size_t)20 << 10)

int request_filter(struct slice bytes,
                   struct quarry_filter **out,
                   struct err *err)
{
    int rc;
    *out = NULL;
    if (bytes.len > FILTER_BYTES_MAX)
        return err_set(err, ERR_INVALID,
                       "the filter has %zu bytes, more than %zu", bytes.len,
                       FILTER_BYTES_MAX);
    rc = filter_decode(bytes, out, err);
    return rc == ERR_CORRUPT ? ERR_INVALID : rc;
}
