/* Commits are applied in pieces: looked up, reduced, and written together if
 * none of the rows was written meanwhile. Where one was, all is done again,
 * with half as many. In a piece the commits of a row have rising stamps, so
 * that none of them stands against one behind it. Only the last piece is
 * synced, and the others with it.
 */
#include "bigtable/changes/change_apply.h"

#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "bigtable/changes/change_conflict.h"
#include "bigtable/changes/change_history.h"
#include "bigtable/changes/change_sources.h"
#include "bigtable/log/write_log.h"
#include "bigtable/read/read_options.h"
#include "bigtable/read/scan.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/row_request.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet/tablet_changes.h"
#include "bigtable/tablet/tablet_env.h"

#define PIECE_COUNT_MAX ((size_t)512)

/* One piece on its way. */
struct change_piece {
    struct tablet_env *env;
    struct table_part *table;
    struct table_part_view *view;
    const struct tablet *tablet; /* Of `sources`; NULL: none is open. */
    struct change_sources sources;
    struct buf history;           /* Of one row. */
    struct quarry_mutation *made; /* Owned, with what is in them. */
    size_t made_count;
    const struct quarry_mutation **list; /* The commits to write, */
    size_t *index;                       /* and the place of each. */
    size_t count;
};

size_t change_apply_run(const struct quarry_mutation *const *list,
                        size_t count,
                        bool *foreign)
{
    struct quarry_origin origin;
    uint64_t here;
    size_t n = 1;
    PRE(count > 0);
    *foreign = mutation_origin(list[0], &origin, &here);
    while (n < count && mutation_origin(list[n], &origin, &here) == *foreign)
        n++;
    return n;
}

/* --- one commit ---------------------------------------------------------- */

static void close_sources(struct change_piece *p)
{
    if (p->tablet)
        change_sources_close(&p->sources);
    p->tablet = NULL;
}

static void open_sources(struct change_piece *p, struct slice row)
{
    struct tablet *t;
    if (p->tablet && tablet_contains(p->tablet, row))
        return;
    close_sources(p);
    t = table_part_view_find(p->view, row, NULL);
    change_sources_open(t, &p->sources);
    p->tablet = t;
}

static void
add_made(struct change_piece *p, const struct quarry_mutation *m, size_t index)
{
    p->list[p->count] = m;
    p->index[p->count++] = index;
}

/* The same without its origin, for a table that keeps no changes. */
static void strip_origin(struct change_piece *p,
                         const struct quarry_mutation *m,
                         size_t index)
{
    struct quarry_mutation *to = &p->made[p->made_count++];
    size_t head = 2 + MUTATION_ORIGIN_BYTES; /* Kind and empty family. */
    mutation_init(to, buf_slice(&m->row));
    PRE(m->ops.len > head);
    buf_append(&to->ops, m->ops.data + head, m->ops.len - head);
    to->count = m->count - 1;
    to->session = m->session;
    to->sequence = m->sequence;
    to->answer = m->answer;
    add_made(p, to, index);
}

static int reduce_by(struct change_piece *p,
                     const struct quarry_mutation *m,
                     const struct quarry_row *row,
                     size_t index,
                     struct err *err)
{
    struct quarry_mutation *to = &p->made[p->made_count];
    struct quarry_origin origin = {0};
    enum change_outcome outcome;
    uint64_t here = 0;
    int rc;
    (void)mutation_origin(m, &origin, &here);
    rc = change_conflict_reduce(m, &origin, here, buf_slice(&p->history), row,
                                to, &outcome, err);
    if (rc || outcome == CHANGE_NOTHING)
        return rc;
    p->made_count += outcome == CHANGE_REDUCED;
    add_made(p, outcome == CHANGE_REDUCED ? to : m, index);
    return 0;
}

/* A commit of time 0 is weighed against the cells that there are. */
static int reduce_by_row(struct change_piece *p,
                         const struct quarry_mutation *m,
                         size_t index,
                         struct err *err)
{
    const struct quarry_read_options all = {.row_limit = 1};
    const struct quarry_row *row = NULL;
    struct read_spec spec;
    struct scan *scan;
    int rc = read_spec_build(&spec, p->view, &all, err);
    if (rc)
        return rc;
    read_spec_set_row(&spec, buf_slice(&m->row));
    rc = scan_new(p->view, &spec, tablet_env_age_us(p->env), &scan, err);
    if (rc == 0) {
        rc = scan_next(scan, &row, err);
        if (rc == 0)
            rc = reduce_by(p, m, row, index, err);
        scan_free(scan);
    }
    read_spec_close(&spec);
    return rc;
}

static int take_commit(struct change_piece *p,
                       const struct quarry_mutation *m,
                       size_t index,
                       struct err *err)
{
    struct quarry_origin origin = {0};
    uint64_t here;
    int rc = mutation_check(m, err);
    if (rc)
        return rc;
    open_sources(p, buf_slice(&m->row));
    if (!atomic_load(&p->tablet->changes->on)) {
        strip_origin(p, m, index);
        return 0;
    }
    (void)mutation_origin(m, &origin, &here);
    buf_clear(&p->history);
    rc = change_history_read(&p->sources, p->view->schema, buf_slice(&m->row),
                             origin.us, &p->history, err);
    if (rc)
        return rc;
    return origin.us ? reduce_by(p, m, NULL, index, err)
                     : reduce_by_row(p, m, index, err);
}

/* --- a piece ------------------------------------------------------------- */

static void piece_close(struct change_piece *p)
{
    close_sources(p);
    for (size_t i = 0; i < p->made_count; i++)
        mutation_close(&p->made[i]);
    mem_free(p->made);
    mem_free(p->list);
    mem_free(p->index);
    buf_close(&p->history);
    table_part_view_unref(p->view);
}

static struct quarry_origin origin_of(const struct quarry_mutation *m)
{
    struct quarry_origin origin = {0};
    uint64_t here;
    (void)mutation_origin(m, &origin, &here);
    return origin;
}

/* Does @m come behind the commits of its row that are in @rows? */
static bool is_behind(struct hash_map *rows, const struct quarry_mutation *m)
{
    const struct quarry_origin origin = origin_of(m);
    union hash_value *last;
    struct quarry_origin before;
    bool added;
    last = hash_map_put(rows, buf_slice(&m->row), &added);
    if (!added) {
        before = origin_of(last->pointer);
        if (change_origin_cmp(&before, &origin) >= 0)
            return false;
    }
    last->pointer = (void *)(uintptr_t)m;
    return true;
}

/* The commits from @list on whose rows' stamps rise, and which are not too far
 * ahead of @now_us; *@after_us: a time behind all of their stamps. */
static size_t piece_size(const struct quarry_mutation *const *list,
                         size_t count,
                         int64_t now_us,
                         int64_t *after_us)
{
    struct hash_map rows;
    size_t n = 0;
    hash_map_init(&rows, HASH_KEYS_BORROWED);
    *after_us = now_us;
    for (; n < count; n++) {
        int64_t us = origin_of(list[n]).us;
        if (us > now_us + CHANGE_AHEAD_US_MAX || !is_behind(&rows, list[n]))
            break;
        *after_us = MAX_OF(*after_us, us + 1);
    }
    hash_map_close(&rows);
    return n;
}

static int
too_far_ahead(const struct quarry_mutation *m, int64_t now_us, struct err *err)
{
    const struct quarry_origin origin = origin_of(m);
    err_set(err, ERR_INVALID,
            "a change of another site was made %lld s ahead of the clock here",
            (long long)((origin.us - now_us) / 1000000));
    err_hint(err, "set the clocks of both sites");
    return ERR_INVALID;
}

/* Look @count commits up, reduce and write them. ERR_ABORTED: a row was written
 * meanwhile. *@done of them are known to be applied. */
static int apply_piece(struct change_piece *p,
                       const struct quarry_mutation *const *list,
                       size_t count,
                       enum write_durability durability,
                       int64_t now_us,
                       size_t *done,
                       struct err *err)
{
    /* Writes behind this number may not be seen below. */
    struct write_condition condition = {SLICE_EMPTY,
                                        atomic_load(&p->env->visible)};
    size_t failed = 0;
    size_t n = 0;
    int wrong = 0;
    struct err mistake = ERR_INIT;
    int rc = 0;
    *done = 0;
    p->view = table_part_get_view(p->table);
    if (!p->view)
        return table_part_gone(p->table, err);
    p->made = mem_zalloc(count, sizeof(*p->made));
    p->list = mem_zalloc(count, sizeof(struct quarry_mutation *));
    p->index = mem_zalloc(count, sizeof(*p->index));
    while (n < count && wrong == 0) {
        wrong = take_commit(p, list[n], n, &mistake);
        n += wrong == 0;
    }
    close_sources(p);
    if (p->count)
        rc = write_apply(p->env, p->table, p->list, p->count, durability,
                         now_us, &condition, &failed, err);
    if (rc) {
        *done = p->index[failed];
        return rc;
    }
    *done = n;
    return wrong ? err_copy(err, &mistake) : 0;
}

int change_apply(struct tablet_env *env,
                 struct table_part *t,
                 const struct quarry_mutation *const *list,
                 size_t count,
                 enum write_durability durability,
                 int64_t now_us,
                 size_t *failed_index,
                 struct err *err)
{
    size_t at = 0;
    size_t room = PIECE_COUNT_MAX;
    bool unsynced = false;
    int rc = tablet_env_check_writable(env, err);
    while (rc == 0 && at < count) {
        struct change_piece p = {.env = env, .table = t};
        struct err why = ERR_INIT;
        enum write_durability how = durability;
        int64_t after_us;
        size_t done = 0;
        size_t n =
            piece_size(list + at, MIN_OF(room, count - at), now_us, &after_us);
        if (n == 0) {
            rc = too_far_ahead(list[at], now_us, err);
            break;
        }
        if (at + n < count && how == WRITE_SYNCED)
            how = WRITE_LOGGED;
        rc = apply_piece(&p, list + at, n, how, after_us, &done, &why);
        if (p.count)
            unsynced = how != durability;
        piece_close(&p);
        if (rc == ERR_ABORTED) {
            room = MAX_OF(n / 2, (size_t)1);
            rc = 0;
            continue;
        }
        at += done;
        if (rc)
            err_copy(err, &why);
    }
    if (unsynced && env->log && rc == 0)
        rc = write_log_sync(env->log, err);
    else if (unsynced && env->log && write_log_sync(env->log, NULL))
        at = 0; /* None of them is known to be safe. */
    if (failed_index)
        *failed_index = at;
    return rc;
}

int change_apply_any(struct tablet_env *env,
                     struct table_part *t,
                     const struct quarry_mutation *const *list,
                     size_t count,
                     enum write_durability durability,
                     int64_t now_us,
                     size_t *failed_index,
                     struct err *err)
{
    size_t at = 0;
    int rc = 0;
    while (rc == 0 && at < count) {
        size_t failed = 0;
        bool foreign;
        size_t n = change_apply_run(list + at, count - at, &foreign);
        rc = foreign ? change_apply(env, t, list + at, n, durability, now_us,
                                    &failed, err)
                     : write_apply(env, t, list + at, n, durability, now_us,
                                   NULL, &failed, err);
        at += rc ? failed : n;
    }
    if (failed_index)
        *failed_index = at;
    return rc;
}
