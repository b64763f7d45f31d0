/* States of aggregator tables from bytes nobody vouches for: merging, printing
 * and encoding again stay within bounds, whatever they are.
 *
 * The first byte chooses the kind, the second the parameter; the rest is two
 * states, merged one after the other.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "sawzall-lite/tables/saw_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A state printed and read again must give the same state. */
static void round_trip(const struct saw_table_decl *d, struct saw_table *t)
{
    struct saw_table *copy = saw_table_new(d, NULL);
    struct buf once = BUF_INIT;
    struct buf twice = BUF_INIT;
    struct cursor c;
    saw_table_encode(t, &once);
    c = cursor_make(buf_slice(&once));
    INVARIANT(saw_table_merge(copy, &c, NULL) == 0);
    saw_table_encode(copy, &twice);
    if (strcmp(d->kind->name, "quantile") != 0)
        INVARIANT(slice_eq(buf_slice(&once), buf_slice(&twice)));
    buf_close(&once);
    buf_close(&twice);
    saw_table_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct saw_table_decl d = {.name = "t"};
    struct saw_table_budget budget = {0, (size_t)64 << 20};
    struct saw_table *t;
    struct buf out = BUF_INIT;
    struct cursor c;
    bool good;

    if (size < 3)
        return 0;
    d.kind = saw_table_traits_at(data[0] % 16);
    d.param = data[1] % 32;
    d.index_count = data[1] / 128;
    t = saw_table_new(&d, &budget);
    c = cursor_make(slice_make(data + 2, size - 2));
    good =
        saw_table_merge(t, &c, NULL) == 0 && saw_table_merge(t, &c, NULL) == 0;
    saw_table_print(t, &out);
    if (good)
        round_trip(&d, t);
    INVARIANT(budget.bytes <= ((size_t)1 << 20) + 256 * size);
    buf_close(&out);
    saw_table_free(t);
    return 0;
}
