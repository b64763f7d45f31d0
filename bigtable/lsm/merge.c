/* Merging by a binary heap. Sources are few (memtables and runs), and the
 * source of the last entry mostly has the next one as well, which sifting it
 * down from the top finds after two comparisons.
 */
#include "bigtable/lsm/merge.h"

#include "base/core/heap.h"
#include "base/core/panic.h"

void merge_init(struct merge *m,
                struct merge_source **sources,
                struct merge_source **heap,
                size_t count)
{
    PRE(count == 0 || (sources && heap));
    *m =
        (struct merge){.sources = sources, .source_count = count, .heap = heap};
    for (size_t i = 0; i < count; i++)
        sources[i]->age = i;
}

static bool source_before(const struct merge *m,
                          struct merge_source *const *a,
                          struct merge_source *const *b)
{
    int c = slice_cmp((*a)->key, (*b)->key);
    ASSERT_SLOW((*a)->valid && (*b)->valid);
    (void)m;
    return c < 0 || (c == 0 && (*a)->age < (*b)->age);
}

HEAP_DEFINE(source_heap,
            struct merge_source *,
            const struct merge *,
            source_before);

int merge_seek(struct merge *m, struct slice target, struct err *err)
{
    m->heap_count = 0;
    for (size_t i = 0; i < m->source_count; i++) {
        struct merge_source *s = m->sources[i];
        int rc = s->seek(s, target, err);
        if (rc) {
            m->heap_count = 0;
            return rc;
        }
        if (s->valid)
            m->heap[m->heap_count++] = s;
    }
    INVARIANT(m->heap_count <= m->source_count);
    source_heap_make(m, m->heap, m->heap_count);
    return 0;
}

int merge_next(struct merge *m, struct err *err)
{
    struct merge_source *s = m->heap[0];
    int rc;

    PRE(m->heap_count > 0);
    rc = s->next(s, err);
    if (UNLIKELY(rc)) {
        m->heap_count = 0;
        return rc;
    }
    if (UNLIKELY(!s->valid))
        m->heap[0] = m->heap[--m->heap_count];
    if (m->heap_count > 1)
        source_heap_sift_down(m, m->heap, m->heap_count, 0);
    return 0;
}
