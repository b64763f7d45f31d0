/* Lists of rates, in the order of names, so that a list is checked in one pass
 * and changed by a merge. */
#include "bigtable/wire/principal_rates.h"

#include <string.h>

#include "base/core/coding.h"

void principal_rate_put(const struct principal_rate *r, struct buf *out)
{
    buf_put_lslice(out, r->name);
    buf_put_varint(out, r->ops);
    buf_put_varint(out, r->bytes);
}

bool principal_rate_get(struct slice *rates, struct principal_rate *r)
{
    struct cursor in = cursor_make(*rates);
    if (rates->len == 0)
        return false;
    r->name = cursor_lslice(&in);
    r->ops = cursor_varint(&in);
    r->bytes = cursor_varint(&in);
    if (in.bad)
        return false;
    *rates = slice_sub(*rates, rates->len - cursor_left(&in), rates->len);
    return true;
}

int principal_rates_check(struct slice rates, struct err *err)
{
    struct principal_rate r;
    struct slice before = SLICE_EMPTY;
    size_t count = 0;
    bool good = rates.len <= PRINCIPAL_RATES_BYTES_MAX;
    while (good && principal_rate_get(&rates, &r)) {
        good = ++count <= PRINCIPAL_RATES_MAX && r.name.len > 0 &&
               r.name.len <= PRINCIPAL_RATE_NAME_MAX &&
               slice_cmp(before, r.name) < 0;
        before = r.name;
    }
    if (good && rates.len == 0)
        return 0;
    return err_set(err, ERR_CORRUPT, "malformed rates of principals");
}

static int check_name(struct slice name, struct err *err)
{
    bool good = name.len > 0 && name.len <= PRINCIPAL_RATE_NAME_MAX;
    for (size_t i = 0; i < name.len && good; i++)
        good = (unsigned char)name.data[i] > ' ' && name.data[i] != ',' &&
               name.data[i] != 0x7f;
    if (good)
        return 0;
    return err_set(err, ERR_INVALID,
                   "a principal's name has 1 to %d bytes, without spaces, "
                   "commas and control characters",
                   PRINCIPAL_RATE_NAME_MAX);
}

int principal_rates_change(struct slice rates,
                           const struct principal_rate *r,
                           struct buf *out,
                           struct err *err)
{
    struct principal_rate each;
    bool put = r->ops == 0 && r->bytes == 0; /* A rate without bounds is
                                              * removed. */
    size_t count = 0;
    int rc = check_name(r->name, err);
    if (rc)
        return rc;
    while (principal_rate_get(&rates, &each)) {
        int order = slice_cmp(each.name, r->name);
        if (!put && order >= 0) {
            principal_rate_put(r, out);
            put = true;
            count++;
        }
        if (order != 0) {
            principal_rate_put(&each, out);
            count++;
        }
    }
    if (!put)
        principal_rate_put(r, out);
    if (count + !put > PRINCIPAL_RATES_MAX)
        return err_set(err, ERR_TOOBIG, "%d principals have rates already",
                       PRINCIPAL_RATES_MAX);
    return 0;
}
