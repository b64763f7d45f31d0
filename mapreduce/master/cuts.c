/* Borders of a total order from a sample of the keys: cuts at equal ranks of
 * the sorted sample, without repeated ones, since the pairs of one key belong
 * to one partition (MapReduce, OSDI 2004, section 4.1 and the sort of 5.3). */
#include <stdlib.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "mapreduce/master/job_run.h"

static int cuts_ascending(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

static int descending_cmp(const void *a, const void *b)
{
    return cuts_ascending(b, a);
}

static size_t load_keys(struct slice sample, struct slice *keys)
{
    struct cursor in = cursor_make(sample);
    size_t n = 0;
    while (cursor_left(&in) > 0) {
        struct slice key = cursor_lslice(&in);
        INVARIANT(!in.bad);
        if (keys)
            keys[n] = key;
        n++;
    }
    return n;
}

void job_choose_cuts(struct slice sample,
                     unsigned parts,
                     bool descending,
                     struct slice **cuts,
                     size_t *count)
{
    PRE(parts >= 1);
    size_t n = load_keys(sample, NULL);
    struct slice *keys = mem_alloc((n + 1) * sizeof(*keys));
    (void)load_keys(sample, keys);
    if (n > 1)
        qsort(keys, n, sizeof(*keys),
              descending ? descending_cmp : cuts_ascending);
    *cuts = mem_alloc((size_t)parts * sizeof(**cuts));
    *count = 0;
    for (unsigned i = 1; i < parts && n > 0; i++) {
        struct slice cut = keys[n * i / parts];
        /* The pairs of one key stay together: equal cuts become one. */
        if (*count == 0 || !slice_eq(cut, (*cuts)[*count - 1]))
            (*cuts)[(*count)++] = cut;
    }
    POST(*count < parts);
    mem_free(keys);
}
