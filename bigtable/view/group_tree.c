/* The tree of merged states of a group. A state that cannot be subtracted
 * from would be merged again from all contributions at each change; with the
 * tree, those below one path are enough. */
#include "bigtable/view/group_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/view/group.h"
#include "bigtable/view/view_keys.h"

#define LEAF_COUNT_MAX 32
#define FAN_OUT        16

STATIC_ASSERT(GROUP_TREE_DEPTH_MAX < VIEW_HASH_DIGITS,
              "a prefix of each level is a part of the hash");

struct placed_change {
    char digits[VIEW_HASH_DIGITS];
    const struct group_change *change;
};

/* Changes on their way into a group. */
struct tree_work {
    struct view_txn *txn;
    struct group *group;
    struct placed_change *changes; /* By their digits. */
    size_t count;
    struct buf key;   /* Scratch. */
    struct buf state; /* Scratch. */
};

static int by_digits(const void *a, const void *b)
{
    const struct placed_change *x = a;
    const struct placed_change *y = b;
    int order = memcmp(x->digits, y->digits, VIEW_HASH_DIGITS);
    return order ? order : slice_cmp(x->change->row, y->change->row);
}

/* How many of the changes from @from on share its first @level digits. */
static size_t
shared_count(const struct tree_work *w, size_t from, unsigned level)
{
    size_t n = 1;
    while (from + n < w->count &&
           memcmp(w->changes[from].digits, w->changes[from + n].digits,
                  level) == 0)
        n++;
    return n;
}

/* --- contributions ------------------------------------------------------- */

static int write_parts(struct tree_work *w, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < w->count && rc == 0; i++) {
        const struct group_change *c = w->changes[i].change;
        view_key_part(&w->key, w->group->number, w->changes[i].digits,
                      VIEW_HASH_DIGITS, c->row);
        rc = c->is ? view_txn_put(w->txn, buf_slice(&w->key), c->after, err)
                   : view_txn_delete(w->txn, buf_slice(&w->key), err);
    }
    return rc;
}

/* --- merging ------------------------------------------------------------- */

struct merging {
    struct tree_work *work;
    size_t count;
};

static int merge_row(void *ctx,
                     struct slice key,
                     struct slice value,
                     bool *stop,
                     struct err *err)
{
    struct merging *m = ctx;
    const struct group *g = m->work->group;
    (void)key;
    (void)stop;
    m->count++;
    return view_merge_add(&m->work->txn->view->program, g->table, g->key, value,
                          err);
}

/* Merge all rows whose keys begin with w->key into w->state; *@count of them.
 */
static int merge_rows(struct tree_work *w, size_t *count, struct err *err)
{
    struct view_program *p = &w->txn->view->program;
    struct merging m = {.work = w};
    int rc;

    view_merge_begin(p);
    rc = view_txn_scan(w->txn, buf_slice(&w->key), SLICE_EMPTY, merge_row, &m,
                       err);
    *count = m.count;
    return rc ? rc : view_merge_end(p, &w->state, err);
}

/* The node of @level with the prefix of @digits gets w->state, or goes. */
static int write_node(struct tree_work *w,
                      unsigned level,
                      const char *digits,
                      bool there,
                      struct err *err)
{
    if (level == 0) {
        buf_clear(&w->group->state);
        if (there)
            buf_append_slice(&w->group->state, buf_slice(&w->state));
        return 0;
    }
    view_key_node(&w->key, w->group->number, level, digits, level);
    return there ? view_txn_put(w->txn, buf_slice(&w->key),
                                buf_slice(&w->state), err)
                 : view_txn_delete(w->txn, buf_slice(&w->key), err);
}

/* Of the contributions below it, or of its children. */
static int remake_node(struct tree_work *w,
                       unsigned level,
                       const char *digits,
                       struct err *err)
{
    size_t count = 0;
    int rc;

    if (level == w->group->depth)
        view_key_part(&w->key, w->group->number, digits, level, SLICE_EMPTY);
    else
        view_key_node(&w->key, w->group->number, level + 1, digits, level);
    rc = merge_rows(w, &count, err);
    return rc ? rc : write_node(w, level, digits, count > 0, err);
}

/* The state of a node as it is; an empty one if it is not there. */
static int read_node(struct tree_work *w,
                     unsigned level,
                     const char *digits,
                     struct err *err)
{
    if (level == 0) {
        buf_clear(&w->state);
        buf_append_slice(&w->state, buf_slice(&w->group->state));
        return 0;
    }
    view_key_node(&w->key, w->group->number, level, digits, level);
    return view_txn_get(w->txn, buf_slice(&w->key), &w->state, err);
}

/* PRE: the @count changes from @from on only add. */
static int grow_node(struct tree_work *w,
                     unsigned level,
                     size_t from,
                     size_t count,
                     struct err *err)
{
    struct view_program *p = &w->txn->view->program;
    const struct group *g = w->group;
    int rc = read_node(w, level, w->changes[from].digits, err);

    view_merge_begin(p);
    if (rc == 0 && w->state.len)
        rc = view_merge_add(p, g->table, g->key, buf_slice(&w->state), err);
    for (size_t i = from; i < from + count && rc == 0; i++)
        rc = view_merge_add(p, g->table, g->key, w->changes[i].change->after,
                            err);
    if (rc == 0)
        rc = view_merge_end(p, &w->state, err);
    return rc ? rc : write_node(w, level, w->changes[from].digits, true, err);
}

/* --- paths --------------------------------------------------------------- */

static bool only_adds(const struct tree_work *w, size_t from, size_t count)
{
    for (size_t i = from; i < from + count; i++)
        if (w->changes[i].change->was)
            return false;
    return true;
}

/* All nodes of @level that a change is below. PRE: those of the level below
 * are right. */
static int update_level(struct tree_work *w, unsigned level, struct err *err)
{
    size_t i = 0;
    int rc = 0;

    while (i < w->count && rc == 0) {
        size_t n = shared_count(w, i, level);
        rc = only_adds(w, i, n)
                 ? grow_node(w, level, i, n, err)
                 : remake_node(w, level, w->changes[i].digits, err);
        i += n;
    }
    return rc;
}

/* --- growing ------------------------------------------------------------- */

static unsigned wanted_depth(const struct group *g)
{
    uint64_t room = LEAF_COUNT_MAX;
    unsigned depth = 0;
    while (g->count > room && depth < GROUP_TREE_DEPTH_MAX) {
        room *= FAN_OUT;
        depth++;
    }
    return MAX_OF(depth, g->depth); /* It never shrinks. */
}

/* Make all nodes of @level, of the contributions. */
static int fill_level(struct tree_work *w, unsigned level, struct err *err)
{
    unsigned node_count = 1;
    char digits[GROUP_TREE_DEPTH_MAX];
    size_t count;
    int rc = 0;

    for (unsigned i = 0; i < level; i++)
        node_count *= FAN_OUT;
    for (unsigned n = 0; n < node_count && rc == 0; n++) {
        for (unsigned i = 0; i < level; i++)
            digits[i] = "0123456789abcdef"[n >> (4 * (level - 1 - i)) & 15];
        view_key_part(&w->key, w->group->number, digits, level, SLICE_EMPTY);
        rc = merge_rows(w, &count, err);
        if (rc == 0 && count)
            rc = write_node(w, level, digits, true, err);
    }
    return rc;
}

static int tree_work_do(struct tree_work *w, struct err *err)
{
    unsigned depth = wanted_depth(w->group);
    unsigned level = w->group->depth + 1;
    int rc = write_parts(w, err);

    /* The new levels, and then the paths in those that there were. */
    for (unsigned l = depth; l > w->group->depth && rc == 0; l--)
        rc = fill_level(w, l, err);
    w->group->depth = depth;
    while (level-- > 0 && rc == 0)
        rc = update_level(w, level, err);
    return rc;
}

int group_tree_change(struct view_txn *t,
                      struct group *g,
                      struct group_change *changes,
                      size_t count,
                      struct err *err)
{
    struct tree_work w = {.txn = t, .group = g, .count = count};
    int rc;

    PRE(count > 0);
    w.changes = mem_alloc(count * sizeof(*w.changes));
    for (size_t i = 0; i < count; i++) {
        view_hash_digits(changes[i].row, w.changes[i].digits);
        w.changes[i].change = &changes[i];
    }
    qsort(w.changes, count, sizeof(*w.changes), by_digits);
    rc = tree_work_do(&w, err);
    mem_free(w.changes);
    buf_close(&w.key);
    buf_close(&w.state);
    return rc;
}
