/* A loser tree: one comparison a level for each pair, half of what a heap
 * needs. Leaf i's path to the root is (leaves + i) / 2, / 4, … 1; each inner
 * node holds the loser of the match played there, node 0 the winner. */
#include "mapreduce/shuffle/run_merge.h"

#include "base/core/panic.h"
#include "mapreduce/shuffle/sort.h"

void run_merge_init(struct run_merge *m,
                    struct merge_source *const *sources,
                    size_t count,
                    bool descending)
{
    *m = (struct run_merge){
        .count = count, .descending = descending, .leaves = 1};
    while (m->leaves < count)
        m->leaves *= 2;
    m->sources = mem_alloc((count + 1) * sizeof(struct merge_source *));
    if (count > 0)
        memcpy(m->sources, sources, count * sizeof(struct merge_source *));
    m->tree = mem_zalloc(m->leaves, sizeof(*m->tree));
}

void run_merge_close(struct run_merge *m)
{
    mem_free(m->sources);
    mem_free(m->tree);
    m->sources = NULL;
    m->tree = NULL;
}

/* Does @a come before @b? Ties go to the earlier source. */
static bool node_before(const struct run_merge *m,
                        const struct merge_node *a,
                        const struct merge_node *b)
{
    int c;
    if (a->ended || b->ended)
        return !a->ended || (b->ended && a->source < b->source);
    if (a->prefix != b->prefix)
        return a->prefix < b->prefix;
    c = slice_cmp(m->sources[a->source]->key, m->sources[b->source]->key);
    if (c != 0)
        return (c < 0) != m->descending;
    return a->source < b->source;
}

static int node_load(struct run_merge *m, struct merge_node *n, struct err *err)
{
    bool more = false;
    int rc = 0;
    if (n->source < m->count) {
        struct merge_source *s = m->sources[n->source];
        rc = s->next(s, &more, err);
        if (rc == 0 && more) {
            n->prefix = sort_prefix(s->key, 0);
            if (m->descending)
                n->prefix = ~n->prefix;
        }
    }
    n->ended = !more;
    return rc;
}

static void run_merge_swap(struct merge_node *a, struct merge_node *b)
{
    struct merge_node x = *a;
    *a = *b;
    *b = x;
}

/* Play the first round: winners rise, losers stay. */
static int run_merge_build(struct run_merge *m, struct err *err)
{
    struct merge_node *winners = mem_zalloc(2 * m->leaves, sizeof(*winners));
    int rc = 0;
    for (size_t i = 0; i < m->leaves && rc == 0; i++) {
        winners[m->leaves + i].source = (uint32_t)i;
        rc = node_load(m, &winners[m->leaves + i], err);
    }
    for (size_t i = m->leaves; i-- > 1 && rc == 0;) {
        winners[i] = winners[2 * i];
        m->tree[i] = winners[2 * i + 1];
        if (node_before(m, &m->tree[i], &winners[i]))
            run_merge_swap(&m->tree[i], &winners[i]);
    }
    m->tree[0] = winners[1];
    mem_free(winners);
    return rc;
}

int run_merge_next(struct run_merge *m, bool *more, struct err *err)
{
    int rc;
    *more = false;
    if (!m->started) {
        m->started = true;
        rc = run_merge_build(m, err);
    } else if (m->tree[0].ended) {
        return 0;
    } else {
        rc = node_load(m, &m->tree[0], err);
        for (size_t i = (m->leaves + m->tree[0].source) / 2; i >= 1 && rc == 0;
             i /= 2)
            if (node_before(m, &m->tree[i], &m->tree[0]))
                run_merge_swap(&m->tree[i], &m->tree[0]);
    }
    if (rc)
        m->tree[0].ended = true;
    else
        *more = !m->tree[0].ended;
    POST(rc != 0 || !*more || m->tree[0].source < m->count); /* INV-1 */
    return rc;
}
