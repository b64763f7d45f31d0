/* Merging two small neighbours into one tablet.
 *
 * Both are compacted if their files reach beyond them, as those of a tablet
 * that was split do: otherwise a row deleted in one half would come back from a
 * file of the other. Then both are taken from their servers, so that all of
 * them is in files and nobody writes. Then
 *
 *     1. the upper one's row becomes the merged tablet, in one mutation: new
 *        bounds, the files of both; its key stays, because its end does
 *     2. the lower one's row is removed
 *
 * A master that dies in between leaves the lower row, whose rows the merged
 * tablet has too. The next master recognises that: no split ever leaves a
 * tablet that its upper neighbour covers. It removes the row (merge_heal())
 * before it assigns any user's tablet. */
#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "bigtable/master/master_term.h"
#include "bigtable/master/merge_choice.h"
#include "bigtable/wire/tablet_files.h"

/* Between tries of a write that must be made. */
#define RETRY_US UINT64_C(200000)
/* Merges in progress, and requests of both tablets above which they are busy.
 */
#define MERGES_MAX               4
#define MERGE_REQUESTS_PER_S_MAX 10

struct merging {
    struct known_tablet *lower;
    struct known_tablet *upper;
};

/* The states of the two rows, read when nobody serves them. */
struct pair {
    struct tablet_state lower;
    struct tablet_state upper;
    struct buf lower_bytes;
    struct buf upper_bytes;
};

static int
keep_state(void *ctx, const struct metadata_row *row, struct err *err)
{
    (void)err;
    buf_clear(ctx);
    buf_append_slice(ctx, row->state);
    return 0;
}

static int read_state(struct master_term *r,
                      const struct known_tablet *t,
                      struct buf *bytes,
                      struct tablet_state *s,
                      struct err *err)
{
    struct buf behind = BUF_INIT;
    int rc;

    PRE(t->busy);
    buf_append_slice(&behind, buf_slice(&t->key));
    buf_append_byte(&behind, '\0');
    rc = metadata_scan(r->store, buf_slice(&t->key), buf_slice(&behind),
                       keep_state, bytes, err);
    buf_close(&behind);
    return rc ? rc : tablet_state_get(buf_slice(bytes), s, err);
}

/* --- before -------------------------------------------------------------- */

/* Compact @t if its files reach beyond it. */
static int
make_compact(struct master_term *r, struct known_tablet *t, struct err *err)
{
    struct pair *p = mem_zalloc(1, sizeof(*p));
    struct known_server *s = cluster_view_server(&r->view, t->server);
    bool inside = false;
    int rc = read_state(r, t, &p->lower_bytes, &p->lower, err);

    PRE(t->busy);
    if (rc == 0 && p->lower.changes.len)
        rc = err_set(err, ERR_BUSY, "a tablet that keeps changes stays");
    if (rc == 0)
        rc = tablet_files_inside(p->lower.groups, buf_slice(&t->start),
                                 buf_slice(&t->end), &inside, err);
    buf_close(&p->lower_bytes);
    mem_free(p);
    if (rc || inside)
        return rc;
    return server_order(r, s, TABLET_COMPACT, t, SLICE_EMPTY, SLICE_EMPTY, err);
}

/* --- the writes ---------------------------------------------------------- */

/* Keep the loads that both have: one that only one of them has may still be on
 * its way to the other. */
static void join_loads(const struct pair *p, struct tablet_state *merged)
{
    merged->load_count = 0;
    for (size_t i = 0; i < p->lower.load_count; i++)
        for (size_t k = 0; k < p->upper.load_count; k++)
            if (p->lower.loads[i] == p->upper.loads[k]) {
                merged->loads[merged->load_count++] = p->lower.loads[i];
                break;
            }
}

static int join_states(const struct pair *p,
                       const struct merging *m,
                       struct tablet_state *merged,
                       struct buf *groups,
                       struct buf *done,
                       struct err *err)
{
    bool a = false;
    bool b = false;
    PRE(m->lower->table == m->upper->table);
    int rc = tablet_files_inside(p->lower.groups, buf_slice(&m->lower->start),
                                 buf_slice(&m->lower->end), &a, err);
    if (rc == 0)
        rc = tablet_files_inside(p->upper.groups, buf_slice(&m->upper->start),
                                 buf_slice(&m->upper->end), &b, err);
    if (rc == 0 && (p->lower.changes.len || p->upper.changes.len))
        rc = err_set(err, ERR_BUSY, "a tablet that keeps changes stays");
    if (rc == 0 && (!a || !b || p->lower.log_count || p->upper.log_count))
        rc = err_set(err, ERR_BUSY, "it has files or logs of its past");
    if (rc == 0)
        rc = tablet_files_join(p->lower.groups, p->upper.groups, groups, err);
    merged->groups = buf_slice(groups);
    merged->sequence = MAX_OF(p->lower.sequence, p->upper.sequence);
    buf_append_slice(done, p->lower.done);
    buf_append_slice(done, p->upper.done);
    merged->done = buf_slice(done);
    merged->stamped_us = MAX_OF(p->lower.stamped_us, p->upper.stamped_us);
    merged->log_count = 0;
    join_loads(p, merged);
    merged->bytes = p->lower.bytes + p->upper.bytes;
    return rc;
}

static int write_upper(struct master_term *r,
                       const struct merging *m,
                       const struct tablet_state *merged,
                       uint64_t id,
                       struct err *err)
{
    struct tablet_bounds bounds = {id, m->upper->table,
                                   buf_slice(&m->lower->start),
                                   buf_slice(&m->upper->end)};
    struct buf b[2] = {BUF_INIT, BUF_INIT};
    struct metadata_change c = {
        .key = buf_slice(&m->upper->key),
        .condition = METADATA_IF_LOCATION,
        .if_location = buf_slice(&m->upper->location),
        .event = SLICE_LIT("merged with the tablet before it"),
    };
    bool done;
    int rc;

    PRE(m->lower->table == m->upper->table);
    PRE(m->lower->busy);
    PRE(m->upper->busy);
    tablet_bounds_put(&bounds, &b[0]);
    tablet_state_put(merged, &b[1]);
    c.tablet = buf_slice(&b[0]);
    c.state = buf_slice(&b[1]);
    rc = metadata_change(r->store, &c, &done, err);
    if (rc == 0 && !done)
        rc = err_set(err, ERR_ABORTED, "its row has changed");
    buf_close(&b[0]);
    buf_close(&b[1]);
    return rc;
}

static int keep_id(void *ctx, const struct metadata_row *row, struct err *err)
{
    struct tablet_bounds b;
    int rc = tablet_bounds_get(row->tablet, &b, err);
    if (rc == 0)
        *(uint64_t *)ctx = b.id;
    return rc;
}

/* Does the row of @t have the tablet @id? Tries until it can be read. */
static bool
is_written(struct master_term *r, const struct known_tablet *t, uint64_t id)
{
    struct buf behind = BUF_INIT;
    uint64_t found = 0;
    PRE(t->busy); /* INV-2 of the view. */
    buf_append_slice(&behind, buf_slice(&t->key));
    buf_append_byte(&behind, '\0');
    while (metadata_scan(r->store, buf_slice(&t->key), buf_slice(&behind),
                         keep_id, &found, NULL))
        if (!master_term_wait(r, RETRY_US))
            break;
    buf_close(&behind);
    return found == id;
}

static int remove_row_once(struct master_term *r,
                           const struct known_tablet *t,
                           bool *done,
                           struct err *err)
{
    struct metadata_change c = {.key = buf_slice(&t->key),
                                .condition = METADATA_IF_LOCATION,
                                .if_location = buf_slice(&t->location),
                                .remove = true};

    PRE(t->busy);
    return metadata_change(r->store, &c, done, err);
}

/* Remove the row of @t, which no server serves. A row with another location is
 * there still: a server that died had emptied it, and its word came late. */
static int
remove_row(struct master_term *r, struct known_tablet *t, struct err *err)
{
    bool done = false;
    bool found = true;
    int rc = remove_row_once(r, t, &done, err);

    while (rc == 0 && !done && found) {
        rc = master_term_read_tablet(r, t, &found, err);
        if (rc == 0 && found)
            rc = remove_row_once(r, t, &done, err);
    }
    POST(rc || done || !found);
    return rc;
}

/* Make both writes. Once the first is made the second must follow: it is tried
 * until the term ends. */
static int write_both(struct master_term *r,
                      const struct merging *m,
                      const struct tablet_state *merged,
                      struct err *err)
{
    uint64_t id = cluster_id(r->number, r->next_id++);
    PRE(m->lower->busy);
    PRE(m->upper->busy);
    PRE(r->number != 0); /* It makes the id unique. */
    int rc = write_upper(r, m, merged, id, err);
    if (rc && !is_written(r, m->upper, id))
        return rc;
    while (remove_row(r, m->lower, err))
        if (!master_term_wait(r, RETRY_US))
            return master_term_over(err);
    return 0;
}

static int
write_merged(struct master_term *r, const struct merging *m, struct err *err)
{
    struct pair *p = mem_zalloc(1, sizeof(*p));
    struct tablet_state *merged = mem_zalloc(1, sizeof(*merged));
    struct buf groups = BUF_INIT;
    struct buf done = BUF_INIT;
    PRE(m->lower->busy);
    PRE(m->upper->busy);
    int rc = read_state(r, m->lower, &p->lower_bytes, &p->lower, err);
    if (rc == 0)
        rc = read_state(r, m->upper, &p->upper_bytes, &p->upper, err);
    if (rc == 0)
        rc = join_states(p, m, merged, &groups, &done, err);
    if (rc == 0)
        rc = write_both(r, m, merged, err);
    buf_close(&groups);
    buf_close(&done);
    buf_close(&p->lower_bytes);
    buf_close(&p->upper_bytes);
    mem_free(merged);
    mem_free(p);
    return rc;
}

static int
merge_tablets(struct master_term *r, struct merging *m, struct err *err)
{
    int rc = make_compact(r, m->lower, err);

    PRE(m->lower->busy);
    PRE(m->upper->busy);
    if (rc == 0)
        rc = make_compact(r, m->upper, err);
    if (rc == 0)
        rc = take_back(r, m->lower, err);
    if (rc == 0)
        rc = take_back(r, m->upper, err);
    return rc ? rc : write_merged(r, m, err);
}

static void run_merge(struct master_term *r, void *arg)
{
    struct merging *m = arg;
    struct err err = ERR_INIT;
    struct buf start = BUF_INIT;
    struct buf end = BUF_INIT;
    int rc = merge_tablets(r, m, &err);
    POST(m->lower->busy);
    POST(m->upper->busy);
    INVARIANT(m->lower->table == m->upper->table);

    if (rc)
        log_info(r->world, "master", "tablets %llu and %llu not merged: %s",
                 (unsigned long long)m->lower->id,
                 (unsigned long long)m->upper->id, err.text);
    else
        master_note(r, EVENT_MERGE, "tablet=%llu into=%llu",
                    (unsigned long long)m->lower->id,
                    (unsigned long long)m->upper->id);
    metadata_search_key(m->lower->table, buf_slice(&m->lower->start), &start);
    buf_append_slice(&end, buf_slice(&m->upper->key));
    buf_append_byte(&end, '\0');
    m->lower->known_ns = m->upper->known_ns = master_term_now_ns(r);
    m->lower->is_fresh = m->upper->is_fresh = false;
    known_tablet_release(m->lower);
    known_tablet_release(m->upper);
    mem_free(m);
    while (master_term_read(r, buf_slice(&start), buf_slice(&end), NULL, NULL,
                            &err))
        if (!master_term_wait(r, RETRY_US))
            break;
    buf_close(&start);
    buf_close(&end);
}

/* --- which --------------------------------------------------------------- */

void merge_some(struct master_term *r)
{
    const struct cluster_view *p = &r->view;
    struct merge_rules rules = {r->options->merge_bytes,
                                MERGE_REQUESTS_PER_S_MAX,
                                r->options->merge_age_us};
    struct merge_tablet *view =
        mem_alloc((p->tablet_count + 1) * sizeof(*view));
    uint32_t chosen[MERGES_MAX];
    size_t count;

    for (size_t i = 0; i < p->tablet_count; i++) {
        const struct known_tablet *t = p->tablets[i];
        view[i] = (struct merge_tablet){
            t->table, t->use.bytes + t->use.memory_bytes, t->use.requests_per_s,
            (master_term_now_ns(r) - t->known_ns) / 1000,
            t->stage == STAGE_SERVED && !t->busy &&
                cluster_view_level(t) == LEVEL_USER && !t->has_split};
    }
    count = merge_choose(&rules, view, p->tablet_count, chosen, MERGES_MAX);
    INVARIANT(count <= MERGES_MAX);
    for (size_t i = 0; i < count; i++) {
        struct merging *m = mem_alloc(sizeof(*m));
        INVARIANT(chosen[i] + 1 < p->tablet_count);
        *m = (struct merging){p->tablets[chosen[i]], p->tablets[chosen[i] + 1]};
        INVARIANT(m->lower->table == m->upper->table);
        known_tablet_hold(m->lower);
        known_tablet_hold(m->upper);
        master_term_spawn(r, "merge", run_merge, m);
    }
    mem_free(view);
}

/* Does the next tablet cover the rows of this one? */
static bool is_covered(const struct cluster_view *p, size_t i)
{
    const struct known_tablet *t = p->tablets[i];
    const struct known_tablet *next =
        i + 1 < p->tablet_count ? p->tablets[i + 1] : NULL;
    PRE(i < p->tablet_count);
    return next && next->table == t->table &&
           slice_cmp(buf_slice(&next->start), buf_slice(&t->start)) <= 0;
}

int merge_heal(struct master_term *r, struct err *err)
{
    struct cluster_view *p = &r->view;

    PRE(!r->known); /* No user's tablet is assigned yet. */
    for (size_t i = 0; i < p->tablet_count; i++) {
        struct known_tablet *t = p->tablets[i];
        int rc;
        if (cluster_view_level(t) != LEVEL_USER || !is_covered(p, i))
            continue;
        known_tablet_hold(t);
        rc = remove_row(r, t, err);
        known_tablet_release(t);
        if (rc)
            return rc;
        log_info(r->world, "master", "tablet %llu was merged: row removed",
                 (unsigned long long)t->id);
        /* The view may have changed meanwhile: begin again. */
        cluster_view_remove(p, t);
        i = (size_t)-1;
    }
    return 0;
}
