/* Groups of a view: the row of one key, made from the contributions to it.
 * Sums and counts are changed in place; where a value cannot be taken back (a
 * maximum), the group is made from its contributions. */
#include "bigtable/view/group.h"

#include <stdlib.h>

#include "base/core/coding.h"
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "bigtable/view/group_tree.h"
#include "bigtable/view/view_keys.h"

#define GROUP_VERSION   1
#define GROUP_KEY_BYTES 5 /* Before the key: kind of row, table. */

/* --- the row of a group -------------------------------------------------- */

static void group_encode(const struct group *g, struct buf *out)
{
    buf_put_u8(out, GROUP_VERSION);
    buf_put_u8(out, (uint8_t)g->kind);
    buf_put_varint(out, g->number);
    buf_put_varint(out, g->count);
    buf_put_varint(out, g->depth);
    buf_append_slice(out, buf_slice(&g->state));
}

int group_parse(struct slice value, struct group *out, struct err *err)
{
    struct cursor c = cursor_make(value);
    uint8_t version = cursor_u8(&c);
    uint8_t kind = cursor_u8(&c);
    uint64_t depth;

    out->kind = (enum group_kind)kind;
    out->number = cursor_varint(&c);
    out->count = cursor_varint(&c);
    depth = cursor_varint(&c);
    out->depth = (unsigned)depth;
    if (c.bad || version != GROUP_VERSION || kind < GROUP_SUM ||
        kind > GROUP_ORDER || depth > GROUP_TREE_DEPTH_MAX)
        return err_set(err, ERR_CORRUPT, "a group of the view is damaged");
    buf_clear(&out->state);
    buf_append_slice(&out->state, slice_make(c.p, cursor_left(&c)));
    return 0;
}

void group_close(struct group *g)
{
    buf_close(&g->state);
}

bool group_parse_key(struct slice row_key, struct group *g)
{
    const unsigned char *p = (const unsigned char *)row_key.data;
    if (row_key.len < GROUP_KEY_BYTES || *p != VIEW_KEY_GROUP)
        return false;
    g->table = (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 |
               (uint32_t)p[3] << 8 | p[4];
    g->key = slice_sub(row_key, GROUP_KEY_BYTES, row_key.len);
    return true;
}

static int group_read(struct view_txn *t, struct group *g, struct err *err)
{
    struct buf key = BUF_INIT;
    struct buf value = BUF_INIT;
    int rc;

    view_key_group(&key, g->table, g->key);
    rc = view_txn_get(t, buf_slice(&key), &value, err);
    if (rc == 0 && value.len)
        rc = group_parse(buf_slice(&value), g, err);
    buf_close(&key);
    buf_close(&value);
    return rc;
}

static int group_write(struct view_txn *t, struct group *g, struct err *err)
{
    struct buf key = BUF_INIT;
    struct buf value = BUF_INIT;
    int rc;

    view_key_group(&key, g->table, g->key);
    group_encode(g, &value);
    rc = g->count ? view_txn_put(t, buf_slice(&key), buf_slice(&value), err)
                  : view_txn_delete(t, buf_slice(&key), err);
    buf_close(&key);
    buf_close(&value);
    return rc;
}

/* --- changes ------------------------------------------------------------- */

static int by_group(const void *a, const void *b)
{
    const struct group_change *x = a;
    const struct group_change *y = b;
    int order;
    if (x->table != y->table)
        return x->table < y->table ? -1 : 1;
    order = slice_cmp(x->key, y->key);
    return order ? order : slice_cmp(x->row, y->row);
}

static bool same_group(const struct group_change *a,
                       const struct group_change *b)
{
    return a->table == b->table && slice_eq(a->key, b->key);
}

static enum group_kind kind_of(struct view_program *p,
                               const struct group_change *c)
{
    if (saw_run_keeps_order(p->merger, c->table))
        return GROUP_ORDER;
    return view_program_is_sum(p, c->table, c->after) ? GROUP_SUM : GROUP_TREE;
}

/* A group that is not there yet; or the view is damaged. */
static int group_make(struct view_txn *t,
                      struct group *g,
                      const struct group_change *first,
                      struct err *err)
{
    if (first->was)
        return err_set(err, ERR_CORRUPT,
                       "a row contributes to a group that is not there");
    g->kind = kind_of(&t->view->program, first);
    g->number = t->meta.next_group++;
    t->meta.groups++;
    return 0;
}

static int count_rows(struct group *g,
                      const struct group_change *changes,
                      size_t count,
                      struct err *err)
{
    uint64_t less = 0;
    for (size_t i = 0; i < count; i++) {
        g->count += changes[i].is;
        less += changes[i].was;
    }
    if (less > g->count)
        return err_set(err, ERR_CORRUPT,
                       "a group has fewer contributions than rows name");
    g->count -= less;
    return 0;
}

static int change_sum(struct view_txn *t,
                      struct group *g,
                      const struct group_change *changes,
                      size_t count,
                      struct err *err)
{
    struct view_program *p = &t->view->program;
    int rc = 0;

    view_merge_begin(p);
    if (g->state.len)
        rc = view_merge_add(p, g->table, g->key, buf_slice(&g->state), err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        const struct group_change *c = &changes[i];
        if (c->was && c->before.len && !fault_hit("view.keep_what_was"))
            rc = view_merge_retract(p, g->table, g->key, c->before, err);
        if (rc == 0 && c->is)
            rc = view_merge_add(p, g->table, g->key, c->after, err);
    }
    return rc ? rc : view_merge_end(p, &g->state, err);
}

static int change_order(struct view_txn *t,
                        const struct group *g,
                        const struct group_change *changes,
                        size_t count,
                        struct err *err)
{
    struct buf key = BUF_INIT;
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        view_key_part(&key, g->number, "", 0, changes[i].row);
        rc = changes[i].is
                 ? view_txn_put(t, buf_slice(&key), changes[i].after, err)
                 : view_txn_delete(t, buf_slice(&key), err);
    }
    buf_close(&key);
    return rc;
}

/* PRE: all @changes are of one group. */
static int change_group(struct view_txn *t,
                        struct group_change *changes,
                        size_t count,
                        struct err *err)
{
    struct group g = {.table = changes->table, .key = changes->key};
    int rc = group_read(t, &g, err);

    if (rc == 0 && g.kind == 0)
        rc = group_make(t, &g, changes, err);
    if (rc == 0)
        rc = count_rows(&g, changes, count, err);
    if (rc == 0 && g.kind == GROUP_SUM)
        rc = change_sum(t, &g, changes, count, err);
    else if (rc == 0 && g.kind == GROUP_ORDER)
        rc = change_order(t, &g, changes, count, err);
    else if (rc == 0)
        rc = group_tree_change(t, &g, changes, count, err);
    if (rc == 0 && g.count == 0)
        t->meta.groups--;
    if (rc == 0)
        rc = group_write(t, &g, err);
    group_close(&g);
    return rc;
}

int group_apply(struct view_txn *t,
                struct group_change *changes,
                size_t count,
                struct err *err)
{
    size_t i = 0;
    int rc = 0;

    if (count)
        qsort(changes, count, sizeof(*changes), by_group);
    while (i < count && rc == 0) {
        size_t end = i + 1;
        while (end < count && same_group(&changes[i], &changes[end]))
            end++;
        rc = change_group(t, &changes[i], end - i, err);
        i = end;
    }
    return rc;
}
