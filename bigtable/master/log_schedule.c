/* Spreading the sorting of logs over servers: the least busy server takes the
 * next segment. */
#include "bigtable/master/log_schedule.h"

#include "base/core/panic.h"

static bool is_at_it(const struct sort_segment *s, uint64_t server)
{
    for (int i = 0; i < LOG_SORTS_PER_SEGMENT; i++)
        if (s->at[i] == server)
            return true;
    return false;
}

static bool is_due(const struct sort_segment *s, uint64_t now_us)
{
    bool begun = false;
    for (int i = 0; i < LOG_SORTS_PER_SEGMENT; i++)
        begun |= s->at[i] != 0;
    if (s->done || !is_at_it(s, 0) || now_us < s->not_before_us)
        return false;
    return !begun || now_us - s->since_us >= LOG_SORT_STRAGGLES_US;
}

/* The least busy server that does not sort it already; the one that failed only
 * when there is no other. @count: none is free. */
static size_t choose_server(const struct sort_server *servers,
                            size_t count,
                            const struct sort_segment *segment)
{
    size_t best = count;
    for (size_t i = 0; i < count; i++) {
        if (servers[i].running >= LOG_SORTS_PER_SERVER ||
            is_at_it(segment, servers[i].number))
            continue;
        if (servers[i].number == segment->failed && count > 1)
            continue;
        if (best == count || servers[i].running < servers[best].running)
            best = i;
    }
    return best;
}

size_t log_schedule_choose(struct sort_server *servers,
                           size_t server_count,
                           const struct sort_segment *segments,
                           size_t segment_count,
                           uint64_t now_us,
                           struct sort_order *out)
{
    size_t n = 0;
    for (uint32_t i = 0; i < segment_count; i++) {
        size_t s;
        if (!is_due(&segments[i], now_us))
            continue;
        s = choose_server(servers, server_count, &segments[i]);
        if (s == server_count)
            continue;
        PRE(servers[s].running < LOG_SORTS_PER_SERVER);
        servers[s].running++;
        out[n++] = (struct sort_order){i, (uint32_t)s};
    }
    return n;
}
