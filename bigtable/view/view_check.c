/* Comparing a view with its table, and with itself; see quarry_view.h.
 *
 * First the contribution of each row is held against what the program makes of
 * the row now. One that differs may be a change that was not told yet: these
 * rows are looked at again until they agree or the time is over. Then the
 * contributions of all rows are merged again and held against the groups, both
 * as of one moment.
 */
#include "bigtable/view/view_check.h"

#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/quarry_view.h"
#include "bigtable/view/contribution.h"
#include "bigtable/view/view_core.h"
#include "bigtable/view/view_keys.h"
#include "bigtable/view/view_txn.h"

/* Rows that differ, beyond which the view is plainly wrong, or far behind. */
#define SUSPECTS_MAX  1000
#define LOOK_AGAIN_US ((uint64_t)500000)

struct check {
    struct view_core *view;
    struct quarry_view_check *out;
    struct buf suspects[SUSPECTS_MAX];
    size_t suspect_count;
};

static void note_wrong(struct check *c, const char *what, struct slice name)
{
    if (!*c->out->example)
        snprintf(c->out->example, sizeof(c->out->example), "%s \"%.*s\"", what,
                 SLICE_ARG(slice_sub(name, 0, 160)));
}

/* --- rows ---------------------------------------------------------------- */

/* A row, and whether the view has of it what it should. */
struct look {
    struct slice row;
    bool right;
};

/* The time at which a row is looked at again is of the moment it was read:
 * all else must be equal. */
static bool same_contribution(struct slice a, struct slice b)
{
    struct contribution x = {.count = 0};
    struct contribution y = {.count = 0};
    bool same = contribution_parse(a, &x, NULL) == 0 &&
                contribution_parse(b, &y, NULL) == 0 &&
                (a.len == 0) == (b.len == 0) && x.failed == y.failed &&
                x.count == y.count;
    for (size_t i = 0; same && i < x.count; i++)
        same = contribution_entry_cmp(&x.entries[i], &y.entries[i]) == 0 &&
               slice_eq(x.entries[i].state, y.entries[i].state);
    contribution_close(&x);
    contribution_close(&y);
    return same;
}

static int look_at_row(struct view_txn *t, void *ctx, struct err *err)
{
    struct look *l = ctx;
    struct view_core *v = t->view;
    struct quarry_row *row = NULL;
    struct buf key = BUF_INIT;
    struct buf want = BUF_INIT;
    struct buf have = BUF_INIT;
    int rc;

    view_key_row(&key, l->row);
    rc = quarry_read_row(v->source.table, l->row, NULL, &row, err);
    if (rc == 0 && row)
        rc = view_program_row(&v->program, row, 0, &want, err);
    if (rc == 0)
        rc = view_txn_get(t, buf_slice(&key), &have, err);
    l->right = same_contribution(buf_slice(&want), buf_slice(&have));
    quarry_row_free(row);
    buf_close(&key);
    buf_close(&want);
    buf_close(&have);
    return rc;
}

static int check_row(struct check *c, struct slice row, struct err *err)
{
    struct look l = {.row = row};
    int rc = view_txn_look(c->view, look_at_row, &l, err);
    if (rc || l.right)
        return rc;
    if (c->suspect_count == SUSPECTS_MAX)
        return 0;
    buf_append_slice(&c->suspects[c->suspect_count++], row);
    return 0;
}

static int check_table_rows(struct check *c, struct err *err)
{
    const struct quarry_read_options o = {.keys_only = true};
    struct quarry_scanner *s = NULL;
    const struct quarry_row *row;
    int rc = quarry_scan(c->view->source.table, &o, &s, err);

    while (rc == 0) {
        rc = quarry_scanner_next(s, &row, err);
        if (rc || !row)
            break;
        if (row->key.len > VIEW_NAME_BYTES_MAX)
            continue;
        c->out->rows++;
        rc = check_row(c, row->key, err);
    }
    if (s)
        quarry_scanner_close(s);
    return rc;
}

/* Rows that the view has a contribution of, and that are not there any more. */
static int check_record(void *ctx,
                        struct slice key,
                        struct slice value,
                        bool *stop,
                        struct err *err)
{
    struct check *c = ctx;
    struct quarry_row *row = NULL;
    struct slice name = slice_sub(key, 1, key.len);
    const struct quarry_read_options o = {.keys_only = true};
    int rc = quarry_read_row(c->view->source.table, name, &o, &row, err);
    (void)value;
    (void)stop;
    if (rc == 0 && !row && c->suspect_count < SUSPECTS_MAX)
        buf_append_slice(&c->suspects[c->suspect_count++], name);
    quarry_row_free(row);
    return rc;
}

static int check_records(struct view_txn *t, void *ctx, struct err *err)
{
    const char prefix = VIEW_KEY_ROW;
    return view_txn_scan(t, slice_make(&prefix, 1), SLICE_EMPTY, check_record,
                         ctx, err);
}

/* Those that agree now are dropped. */
static int check_suspects(struct check *c, struct err *err)
{
    size_t kept = 0;
    int rc = 0;
    for (size_t i = 0; i < c->suspect_count; i++) {
        struct look l = {.row = buf_slice(&c->suspects[i])};
        struct buf b = c->suspects[i];
        if (rc == 0)
            rc = view_txn_look(c->view, look_at_row, &l, err);
        if (rc == 0 && l.right) {
            buf_close(&c->suspects[i]);
            continue;
        }
        c->suspects[i] = BUF_INIT;
        c->suspects[kept++] = b;
    }
    c->suspect_count = kept;
    return rc;
}

static int check_rows(struct check *c, uint64_t wait_us, struct err *err)
{
    struct world *w = quarry_world(c->view->quarry);
    uint64_t end_ns = world_mono_ns(w) + wait_us * 1000;
    int rc = check_table_rows(c, err);

    if (rc == 0)
        rc = view_txn_look(c->view, check_records, c, err);
    c->out->pending_rows = c->suspect_count;
    while (rc == 0 && c->suspect_count && world_mono_ns(w) < end_ns) {
        world_sleep_us(w, LOOK_AGAIN_US);
        rc = check_suspects(c, err);
    }
    c->out->pending_rows -= c->suspect_count;
    c->out->wrong_rows = c->suspect_count;
    if (c->suspect_count)
        note_wrong(c, "row", buf_slice(&c->suspects[0]));
    return rc;
}

/* --- groups -------------------------------------------------------------- */

static int merge_record(void *ctx,
                        struct slice key,
                        struct slice value,
                        bool *stop,
                        struct err *err)
{
    struct saw_run *run = ctx;
    struct contribution c;
    int rc = contribution_parse(value, &c, err);
    (void)key;
    (void)stop;
    if (rc)
        return rc;
    for (size_t i = 0; i < c.count && rc == 0; i++)
        rc = saw_run_merge_state(run, c.entries[i].table, c.entries[i].key,
                                 c.entries[i].state, err);
    contribution_close(&c);
    return rc;
}

/* The groups, and the contributions, as of one moment. */
struct both {
    struct saw_run *kept;
    struct saw_run *again;
};

static int load_both(struct view_txn *t, void *ctx, struct err *err)
{
    struct both *b = ctx;
    const char prefix = VIEW_KEY_ROW;
    int rc = view_load_in(t, b->kept, err);
    saw_run_clear(b->again);
    return rc ? rc
              : view_txn_scan(t, slice_make(&prefix, 1), SLICE_EMPTY,
                              merge_record, b->again, err);
}

static struct slice next_line(struct slice *text)
{
    size_t n = slice_find_byte(*text, '\n');
    struct slice line = slice_sub(*text, 0, n);
    *text = slice_sub(*text, MIN_OF(n + 1, text->len), text->len);
    return line;
}

/* Of a table that estimates, by the name at the line's beginning? */
static bool is_estimate(struct saw_run *run, struct slice line)
{
    struct slice name = slice_sub(line, 0, slice_find_byte(line, '['));
    return saw_run_estimates(run, name);
}

static void compare_texts(struct check *c,
                          struct both *b,
                          struct slice kept,
                          struct slice again)
{
    while (kept.len || again.len) {
        struct slice x = next_line(&kept);
        struct slice y = next_line(&again);
        c->out->groups++;
        if (slice_eq(x, y) || is_estimate(b->kept, x.len ? x : y))
            continue;
        c->out->wrong_groups++;
        note_wrong(c, "result", x.len ? x : y);
    }
}

static int check_groups(struct check *c, struct err *err)
{
    struct both b = {.kept = NULL};
    struct buf kept = BUF_INIT;
    struct buf again = BUF_INIT;
    int rc =
        view_program_run(&c->view->program, VIEW_MEMORY_BYTES, &b.kept, err);

    if (rc == 0)
        rc = view_program_run(&c->view->program, VIEW_MEMORY_BYTES, &b.again,
                              err);
    if (rc == 0)
        rc = view_txn_look(c->view, load_both, &b, err);
    if (rc == 0) {
        saw_run_print(b.kept, &kept);
        saw_run_print(b.again, &again);
        compare_texts(c, &b, buf_slice(&kept), buf_slice(&again));
    }
    saw_run_free(b.kept);
    saw_run_free(b.again);
    buf_close(&kept);
    buf_close(&again);
    return rc;
}

int view_check(struct view_core *v,
               uint64_t wait_us,
               struct quarry_view_check *out,
               struct err *err)
{
    struct check *c = mem_zalloc(1, sizeof(*c));
    int rc;

    c->view = v;
    c->out = out;
    rc = check_rows(c, wait_us, err);
    if (rc == 0)
        rc = check_groups(c, err);
    for (size_t i = 0; i < c->suspect_count; i++)
        buf_close(&c->suspects[i]);
    mem_free(c);
    return rc;
}
