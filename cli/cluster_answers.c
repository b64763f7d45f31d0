/* Parsing of the text of a node's status, and conclusions from the answers of
 * all nodes: clocks that differ, services without a leader, the health of the
 * files. Values may be quoted; slices borrow from the text.
 */
#include "cli/cluster_answers.h"

#include <stdlib.h>

#include "base/core/text.h"
#include "cli/status_text.h"

const char *question_state(const struct question *q)
{
    if (q->pid == 0)
        return "down";
    return q->rc ? "silent" : "up";
}

struct slice answer_about(const struct question *q, const char *key)
{
    return status_value(status_about(buf_slice(&q->answer)), key);
}

struct slice answer_up(const struct question *q)
{
    return answer_about(q, "up_us");
}

/* By how much its clock is ahead of the one of who asks; false: unknown. */
static bool clock_offset(const struct question *q, int64_t *us)
{
    uint64_t time = 0;
    if (q->pid == 0 || q->rc ||
        text_parse_u64(answer_about(q, "time"), &time, NULL))
        return false;
    *us = (int64_t)(time - (q->asked_us + q->waited_us / 2));
    return true;
}

static int compare_offsets(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The median of the nodes' offsets and of this machine's own, which is 0: with
 * two nodes it tells which of their clocks is wrong. */
static int64_t middle_offset(const struct inquiry *i)
{
    int64_t all[INQUIRY_NODES_MAX + 1] = {0};
    size_t count = 1;
    for (size_t n = 0; n < i->count; n++)
        count += clock_offset(&i->questions[n], &all[count]);
    qsort(all, count, sizeof(*all), compare_offsets);
    return all[count / 2];
}

int64_t answer_clock(const struct inquiry *i, size_t n)
{
    const struct question *q = &i->questions[n];
    int64_t slack = CLOCKS_DIFFER_US + (int64_t)q->waited_us;
    int64_t us;
    if (!clock_offset(q, &us))
        return 0;
    us -= middle_offset(i);
    return us > slack || us < -slack ? us : 0;
}

struct slice answer_roles(const struct question *q)
{
    return status_roles(buf_slice(&q->answer));
}

/* Do nodes have @wanted, and does none of them lead it? */
static bool lacks_leader(const struct inquiry *i, const char *wanted)
{
    bool is_there = false;
    struct slice role;
    struct slice pairs;
    for (size_t n = 0; n < i->count; n++) {
        struct slice rest = answer_roles(&i->questions[n]);
        while (status_next_role(&rest, &role, &pairs)) {
            if (!slice_eq_str(role, wanted))
                continue;
            is_there = true;
            if (status_leads(pairs) &&
                !slice_eq_str(status_value(pairs, "ready"), "no"))
                return false;
        }
    }
    return is_there;
}

const char *answers_without_leader(const struct inquiry *i)
{
    static const char *const led[] = {"lock", "namenode", "master", "jobs"};
    for (size_t r = 0; r < ARRAY_LEN(led); r++)
        if (lacks_leader(i, led[r]))
            return led[r];
    return NULL;
}

void put_files_health(const struct gfs_status *f, struct buf *out)
{
    if (f->safe_mode)
        buf_append_str(out, "safe mode");
    else if (f->lost)
        buf_printf(out, "lost chunks: %llu", (unsigned long long)f->lost);
    else if (f->unreported)
        buf_printf(out, "chunks not yet reported: %llu",
                   (unsigned long long)f->unreported);
    else if (f->under_replicated)
        buf_printf(out, "chunks with too few copies: %llu",
                   (unsigned long long)f->under_replicated);
    else
        buf_append_str(out, "well");
}

size_t
living_servers(const struct gfs_status *f, uint64_t *capacity, uint64_t *space)
{
    size_t alive = 0;
    *capacity = 0;
    *space = 0;
    for (size_t i = 0; i < f->server_count; i++) {
        if (!f->servers[i].alive)
            continue;
        alive++;
        *capacity += f->servers[i].capacity_bytes;
        *space += f->servers[i].free_bytes;
    }
    return alive;
}
