/* A binary heap: sources are few (memtables and runs), and the one that won
 * mostly wins again, which sift_down() finds after two comparisons.
 */
#include "bigtable/lsm/merge.h"

#include "base/core/panic.h"

void merge_init(struct merge *m,
                struct merge_source **sources,
                struct merge_source **heap,
                size_t count)
{
    *m =
        (struct merge){.sources = sources, .source_count = count, .heap = heap};
    for (size_t i = 0; i < count; i++)
        sources[i]->age = i;
}

static bool is_less(const struct merge_source *a, const struct merge_source *b)
{
    int c = slice_cmp(a->key, b->key);
    return c < 0 || (c == 0 && a->age < b->age);
}

static void sift_down(struct merge *m, size_t at)
{
    struct merge_source *s = m->heap[at];

    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= m->heap_count)
            break;
        if (child + 1 < m->heap_count &&
            is_less(m->heap[child + 1], m->heap[child]))
            child++;
        if (!is_less(m->heap[child], s))
            break;
        m->heap[at] = m->heap[child];
        at = child;
    }
    m->heap[at] = s;
}

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
    for (size_t i = m->heap_count / 2; i-- > 0;)
        sift_down(m, i);
    return 0;
}

int merge_next(struct merge *m, struct err *err)
{
    struct merge_source *s = m->heap[0];
    int rc = s->next(s, err);

    PRE(m->heap_count > 0);
    if (UNLIKELY(rc)) {
        m->heap_count = 0;
        return rc;
    }
    if (UNLIKELY(!s->valid))
        m->heap[0] = m->heap[--m->heap_count];
    if (m->heap_count > 1)
        sift_down(m, 0);
    return 0;
}
