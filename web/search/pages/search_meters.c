/* A registry of the server's own: several servers in one process (the shell)
 * do not count each other's queries. */
#include "web/search/pages/search_meters.h"

#include "base/core/err.h"
#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/runtime/world.h"
#include "web/search/search.h"

struct search_meters {
    struct metrics *registry; /* Owned; the instruments are its. */
    struct metric_counter *outcomes[SEARCH_OUTCOMES];
    struct metric_counter *results;
    struct metric_counter *stale;
};

struct search_meters *search_meters_new(void)
{
    static const char *const names[] = {"found", "nothing", "refused",
                                        "failed"};
    struct search_meters *m = mem_zalloc(1, sizeof(*m));
    STATIC_ASSERT(ARRAY_LEN(names) == SEARCH_OUTCOMES, "a name each");
    m->registry = metrics_new();
    for (size_t i = 0; i < SEARCH_OUTCOMES; i++)
        m->outcomes[i] = metrics_counter(m->registry, METRIC_search_queries,
                                         METRIC_LABELS(names[i]));
    m->results = metrics_counter(m->registry, METRIC_search_results, NULL);
    m->stale = metrics_counter(m->registry, METRIC_search_index_failures, NULL);
    return m;
}

void search_meters_free(struct search_meters *m)
{
    if (!m)
        return;
    metrics_free(m->registry);
    mem_free(m);
}

struct search_ending search_ending_of(int rc, size_t results)
{
    struct search_ending e = {SEARCH_FAILED, 0};
    if (rc == ERR_INVALID || rc == ERR_TOOBIG)
        e.outcome = SEARCH_REFUSED;
    else if (rc == 0)
        e = (struct search_ending){results ? SEARCH_FOUND : SEARCH_NOTHING,
                                   results};
    return e;
}

static void observe_form(struct search_meters *m, const char *form, uint64_t ns)
{
    metric_observe(metrics_histogram(m->registry, METRIC_search_query_seconds,
                                     METRIC_LABELS(form)),
                   ns);
}

void search_meters_query(struct search_meters *m,
                         const char *form,
                         struct search_ending ending,
                         uint64_t ns)
{
    PRE(ending.outcome < SEARCH_OUTCOMES);
    metric_add(m->outcomes[ending.outcome], 1);
    metric_add(m->results, ending.results);
    observe_form(m, form, ns);
}

void search_meters_suggestion(struct search_meters *m, uint64_t ns)
{
    observe_form(m, "suggest", ns);
}

void search_meters_stale(struct search_meters *m)
{
    metric_add(m->stale, 1);
}

static void
put_index(struct search_index *index, uint64_t now_us, struct metric_set *out)
{
    struct search_index_facts f;
    search_index_get_facts(index, &f);
    metric_put(out, METRIC_search_index_pages, NULL, (double)f.documents);
    metric_put(out, METRIC_search_index_bytes, NULL, (double)f.bytes);
    metric_put(out, METRIC_search_index_segments, NULL,
               (double)f.segment_count);
    metric_put(out, METRIC_search_index_age_seconds, NULL,
               (double)(now_us - MIN_OF(f.updated_us, now_us)) / 1e6);
}

void search_meters_print(struct search_meters *m,
                         struct search_index *index,
                         struct world *world,
                         void (*gather)(struct metric_set *out),
                         struct buf *out)
{
    struct metric_set *s = metric_set_new(m->registry);
    metrics_gather(m->registry, s);
    put_index(index, world_now_us(world), s);
    if (gather)
        gather(s);
    metric_set_print(s, METRIC_TEXT_PROMETHEUS, out);
    metric_set_free(s);
}
