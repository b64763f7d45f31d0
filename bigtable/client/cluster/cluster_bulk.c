/* Bulk loads into the tables of a cluster: files go to the cluster's file
 * system, and then each tablet gets the names of those with rows of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/crypt/secret.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/client/cluster/locator.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/load_calls.h"
#include "gfs-lite/gfs.h"

const struct rpc_security *cluster_bulk_security(struct quarry *q)
{
    return q->cluster->security;
}

static void put_target(struct quarry *q, struct buf *out)
{
    buf_printf(out, GFS_SCHEME "%s%s", q->cluster->target, BIGTABLE_FS_ROOT);
}

/* The file system from @root on, for the calling thread. */
static int
open_files(struct quarry *q, const char *root, struct fs **out, struct err *err)
{
    struct buf target = BUF_INIT;
    int rc;
    buf_printf(&target, GFS_SCHEME "%s%s", q->cluster->target, root);
    rc = fs_open_target(q->world, buf_cstr(&target), q->cluster->security, out,
                        err);
    buf_close(&target);
    return rc;
}

int cluster_bulk_files(struct quarry *q, struct fs **out, struct err *err)
{
    return open_files(q, BIGTABLE_FS_ROOT, out, err);
}

int cluster_user_files(struct quarry *q, struct fs **out, struct err *err)
{
    return open_files(q, "", out, err);
}

/* --- begin --------------------------------------------------------------- */

struct beginning {
    struct quarry *quarry;
    const char *table;
    struct load_ticket ticket;
    uint64_t load;
    struct buf schema;
    struct buf cuts; /* struct slice, in the arena. */
    struct arena arena;
    bool is_loaded;
};

static int see_tablet(void *ctx,
                      const struct tablet_bounds *bounds,
                      const struct tablet_location *location,
                      const struct tablet_state *state)
{
    struct beginning *b = ctx;
    struct slice cut = arena_dup(&b->arena, bounds->start);
    (void)location;
    for (size_t i = 0; i < state->load_count; i++)
        b->is_loaded |= state->loads[i] == b->load;
    if (cut.len)
        buf_append(&b->cuts, &cut, sizeof(cut));
    return 0;
}

static int begin_on_loop(void *arg, struct err *err)
{
    struct beginning *b = arg;
    struct cluster_table *t;
    int rc = cluster_table_new(b->quarry->cluster, b->table, &t, err);
    if (rc)
        return rc;
    rc = cluster_table_refresh(t, err);
    if (rc == 0)
        rc = locator_walk(t->cluster->locator, t->id, see_tablet, b, err);
    if (rc == 0) {
        b->ticket.table_id = t->id;
        schema_encode(t->schema, &b->schema);
    }
    cluster_table_unref(t);
    return rc;
}

/* Make the directory of a new load, or find that of one that continues. */
static int make_directory(struct beginning *b, const char *id, struct err *err)
{
    char dir[LOAD_PATH_BYTES];
    struct fs_info info;
    struct fs *fs;
    int rc = cluster_bulk_files(b->quarry, &fs, err);
    if (rc)
        return rc;
    load_path(slice_str(id), SLICE_EMPTY, dir);
    rc = fs_stat(fs, dir, &info, err);
    if (rc == ERR_NOTFOUND && b->is_loaded)
        rc = err_set(err, ERR_EXISTS, "load %s is committed already", id);
    else if (rc == ERR_NOTFOUND)
        rc = fs_mkdirs(fs, dir, err);
    fs_close(fs);
    return rc;
}

struct lending {
    struct quarry *quarry;
    const char *table;
    const char *id;
    struct key_loan *loan;
};

static int
ask_for_key(struct lending *l, struct location *where, struct err *err)
{
    const struct load_request request = {where->tablet, slice_str(l->id)};
    struct lend_reply reply = {.loan = {.key_id = 0}};
    struct buf body = BUF_INIT;
    struct buf answer = BUF_INIT;
    int rc;
    load_request_put(&request, &body);
    rc = tablet_call(l->quarry->cluster, where, TABLET_LEND, NULL,
                     buf_slice(&body), SLICE_EMPTY, &answer, NULL, err);
    if (rc == 0)
        rc = lend_reply_get(buf_slice(&answer), &reply, err);
    if (rc == 0)
        *l->loan = reply.loan;
    key_loan_close(&reply.loan);
    if (answer.len)
        secret_wipe(answer.data, answer.len);
    buf_close(&body);
    buf_close(&answer);
    return rc;
}

static int lend_on_loop(void *arg, struct err *err)
{
    struct lending *l = arg;
    struct retry retry = {.cluster = l->quarry->cluster};
    struct cluster_table *t;
    int rc = cluster_table_new(l->quarry->cluster, l->table, &t, err);
    if (rc)
        return rc;
    do {
        struct location *where;
        rc = locator_find(l->quarry->cluster->locator, t->id, SLICE_EMPTY,
                          &where, err);
        if (rc)
            continue;
        rc = ask_for_key(l, where, err);
        location_unref(where);
    } while (rc && retry_again(&retry, &rc, err));
    cluster_table_unref(t);
    return rc;
}

int cluster_bulk_lend(struct quarry *q,
                      const char *table,
                      const char *id,
                      struct key_loan *out,
                      struct err *err)
{
    struct lending l = {q, table, id, out};
    return cluster_do(q->cluster, "bulk lend", 0, lend_on_loop, &l, err);
}

/* Are files of the load encrypted? */
static int look_for_key(struct beginning *b, const char *id, struct err *err)
{
    struct key_loan loan = {.key_id = 0};
    int rc = cluster_bulk_lend(b->quarry, b->table, id, &loan, err);
    b->ticket.is_encrypted = loan.key_id != 0;
    key_loan_close(&loan);
    return rc;
}

static void put_ticket(struct beginning *b, const char *id, struct buf *out)
{
    struct buf target = BUF_INIT;
    put_target(b->quarry, &target);
    b->ticket.target = buf_slice(&target);
    b->ticket.id = slice_str(id);
    b->ticket.table = slice_str(b->table);
    b->ticket.schema = buf_slice(&b->schema);
    b->ticket.cuts = (struct slice *)(void *)b->cuts.data;
    b->ticket.cut_count = b->cuts.len / sizeof(struct slice);
    load_ticket_put(&b->ticket, out);
    buf_close(&target);
}

int cluster_bulk_begin(struct quarry *q,
                       const char *table,
                       const char *id,
                       struct buf *ticket,
                       struct err *err)
{
    struct beginning b = {
        .quarry = q, .table = table, .load = load_number(slice_str(id))};
    int rc;
    arena_init(&b.arena);
    rc = cluster_do(q->cluster, "bulk begin", 0, begin_on_loop, &b, err);
    if (rc == 0)
        rc = look_for_key(&b, id, err);
    if (rc == 0)
        rc = make_directory(&b, id, err);
    if (rc == 0)
        put_ticket(&b, id, ticket);
    buf_close(&b.schema);
    buf_close(&b.cuts);
    arena_close(&b.arena);
    return rc;
}

/* --- commit -------------------------------------------------------------- */

struct commit {
    struct quarry *quarry;
    const struct load_ticket *ticket;
    const struct load_list *list;
    struct cluster_table *table;
    struct quarry_bulk_result *result;
};

/* Has @f entries of rows in [@start, @end), encoded? */
static bool
has_rows(const struct load_file *f, struct slice start, struct slice end)
{
    return slice_cmp(f->last_key, start) >= 0 &&
           (end.len == 0 || slice_cmp(f->first_key, end) < 0);
}

/* The files with rows of @l, appended in the list's order. */
static void
put_files(const struct commit *c, const struct location *l, struct buf *out)
{
    struct buf start = BUF_INIT;
    struct buf end = BUF_INIT;
    if (l->start.len)
        cell_key_append_row(&start, l->start);
    if (l->end.len)
        cell_key_append_row(&end, l->end);
    for (size_t i = 0; i < c->list->count; i++)
        if (has_rows(&c->list->files[i], buf_slice(&start), buf_slice(&end)))
            load_file_put(&c->list->files[i], out);
    buf_close(&start);
    buf_close(&end);
}

static int
cluster_bulk_give(struct commit *c, struct location *l, struct err *err)
{
    const struct load_request request = {l->tablet, c->ticket->id};
    struct load_reply reply = {.before = false};
    struct buf body = BUF_INIT;
    struct buf files = BUF_INIT;
    struct buf answer = BUF_INIT;
    int rc = 0;
    put_files(c, l, &files);
    if (files.len) {
        load_request_put(&request, &body);
        rc = tablet_call(c->quarry->cluster, l, TABLET_LOAD_FILES, NULL,
                         buf_slice(&body), buf_slice(&files), &answer, NULL,
                         err);
        if (rc == 0)
            rc = load_reply_get(buf_slice(&answer), &reply, err);
        if (rc == 0)
            ++*(reply.before ? &c->result->tablets_before
                             : &c->result->tablets);
    }
    buf_close(&body);
    buf_close(&files);
    buf_close(&answer);
    return rc;
}

/* Give the tablet of @row its files; *@end is where the tablet ends. After a
 * split, a move or a crash the row is looked up again; a tablet that already
 * has the load says so. */
static int
give_at(struct commit *c, struct slice row, struct buf *end, struct err *err)
{
    struct retry retry = {.cluster = c->quarry->cluster};
    int rc;
    do {
        struct location *where;
        rc = cluster_table_refresh(c->table, err);
        if (rc == 0 && c->table->id != c->ticket->table_id)
            return err_set(err, ERR_ABORTED, "it was dropped and made again");
        if (rc == 0)
            rc = locator_find(c->quarry->cluster->locator, c->table->id, row,
                              &where, err);
        if (rc)
            continue;
        rc = cluster_bulk_give(c, where, err);
        buf_clear(end);
        buf_append_slice(end, where->end);
        location_unref(where);
    } while (rc && retry_again(&retry, &rc, err));
    return rc;
}

/* The lowest row at or behind @row that a file may have; false: none. */
static bool next_row(const struct commit *c, struct slice row, struct buf *out)
{
    struct buf from = BUF_INIT;
    struct buf scratch = BUF_INIT;
    struct slice best = SLICE_EMPTY;
    bool found = false;
    if (row.len)
        cell_key_append_row(&from, row);
    for (size_t i = 0; i < c->list->count; i++) {
        const struct load_file *f = &c->list->files[i];
        if (slice_cmp(f->last_key, buf_slice(&from)) < 0)
            continue;
        if (!found || slice_cmp(f->first_key, best) < 0)
            best = f->first_key;
        found = true;
    }
    buf_clear(out);
    if (found && slice_cmp(best, buf_slice(&from)) > 0)
        buf_append_slice(out, cell_key_plain_row(best, &scratch));
    else
        buf_append_slice(out, row);
    buf_close(&from);
    buf_close(&scratch);
    return found;
}

static int commit_on_loop(void *arg, struct err *err)
{
    struct commit *c = arg;
    struct buf at = BUF_INIT;
    struct buf row = BUF_INIT;
    char *name = mem_strndup(c->ticket->table.data, c->ticket->table.len);
    bool more = true;
    int rc = cluster_table_new(c->quarry->cluster, name, &c->table, err);
    while (rc == 0 && more && next_row(c, buf_slice(&at), &row)) {
        rc = give_at(c, buf_slice(&row), &at, err);
        more = at.len > 0;
    }
    cluster_table_unref(c->table);
    mem_free(name);
    buf_close(&at);
    buf_close(&row);
    return rc;
}

int cluster_bulk_commit(struct quarry *q,
                        const struct load_ticket *ticket,
                        const struct load_list *l,
                        struct quarry_bulk_result *result,
                        struct err *err)
{
    struct commit c = {
        .quarry = q, .ticket = ticket, .list = l, .result = result};
    int rc = cluster_do(q->cluster, "bulk commit", CLUSTER_NO_TIMEOUT,
                        commit_on_loop, &c, err);
    if (rc == 0) {
        /* Its files are removed when it expires. */
        IGNORE_RESULT(cluster_bulk_abandon(q, ticket, NULL));
    }
    return rc;
}

int cluster_bulk_abandon(struct quarry *q,
                         const struct load_ticket *ticket,
                         struct err *err)
{
    char dir[LOAD_PATH_BYTES];
    struct fs *fs;
    int rc = cluster_bulk_files(q, &fs, err);
    if (rc)
        return rc;
    load_path(ticket->id, SLICE_EMPTY, dir);
    rc = fs_remove_tree(fs, dir, err);
    fs_close(fs);
    return rc == ERR_NOTFOUND ? 0 : rc;
}
