/* Bulk loads: beginning, committing and abandoning them, by tickets. A ticket
 * carries all that another process needs, so writers of a load can run
 * anywhere; the targets do the work (embedded_bulk.c, cluster_bulk.c).
 */
#include "bigtable/client/bulk_load.h"

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "bigtable/client/client.h"
#include "bigtable/index/index_write.h"
#include "bigtable/wire/load_calls.h"

int quarry_bulk_begin(struct quarry *q,
                      const char *table,
                      const char *id,
                      struct buf *ticket,
                      struct err *err)
{
    int rc = load_check_name("the load's id", slice_str(id), err);
    if (rc == 0)
        rc = index_refuse(q, table, "a bulk load", err);
    if (rc == 0)
        rc = q->ops->bulk_begin(q, table, id, ticket, err);
    if (rc)
        err_wrap(err, "load into %s", table);
    return rc;
}

void quarry_bulk_place_of(struct quarry *q, struct quarry_bulk_place *out)
{
    *out = (struct quarry_bulk_place){
        .world = q->world, .security = q->ops->bulk_security(q), .quarry = q};
}

int quarry_bulk_lend(struct quarry *q,
                     const char *table,
                     const char *id,
                     struct key_loan *out,
                     struct err *err)
{
    int rc = load_check_name("the load's id", slice_str(id), err);
    *out = (struct key_loan){.key_id = 0};
    if (rc == 0)
        rc = q->ops->bulk_lend(q, table, id, out, err);
    if (rc)
        err_wrap(err, "key for a load into %s", table);
    return rc;
}

int quarry_bulk_files(struct quarry *q, struct fs **out, struct err *err)
{
    return q->ops->bulk_files(q, out, err);
}

int quarry_user_files(struct quarry *q, struct fs **out, struct err *err)
{
    return q->ops->user_files(q, out, err);
}

static void count_files(const struct load_list *l, struct quarry_bulk_result *r)
{
    *r = (struct quarry_bulk_result){.files = l->count};
    for (size_t i = 0; i < l->count; i++) {
        r->cells += l->files[i].entries;
        r->bytes += l->files[i].bytes;
    }
}

/* An index may have been made since the load began. */
static int refuse_indexed(struct quarry *q, struct slice table, struct err *err)
{
    char *name = mem_strndup(table.data, table.len);
    int rc = index_refuse(q, name, "a bulk load", err);
    mem_free(name);
    return rc;
}

int quarry_bulk_commit(struct quarry *q,
                       struct slice ticket,
                       struct slice files,
                       struct quarry_bulk_result *result,
                       struct err *err)
{
    struct quarry_bulk_result own;
    struct load_ticket t;
    struct load_list l;
    struct arena a;
    int rc;
    arena_init(&a);
    rc = load_ticket_get(ticket, &a, &t, err);
    if (rc == 0)
        rc = load_list_get(files, &a, &l, err);
    if (rc == 0) {
        if (!result)
            result = &own;
        count_files(&l, result);
        rc = refuse_indexed(q, t.table, err);
    }
    if (rc == 0) {
        rc = q->ops->bulk_commit(q, &t, &l, result, err);
        if (rc)
            err_wrap(err, "load %.*s into %.*s", SLICE_ARG(t.id),
                     SLICE_ARG(t.table));
    }
    arena_close(&a);
    return rc;
}

int quarry_bulk_abandon(struct quarry *q, struct slice ticket, struct err *err)
{
    struct load_ticket t;
    struct arena a;
    int rc;
    arena_init(&a);
    rc = load_ticket_get(ticket, &a, &t, err);
    if (rc == 0)
        rc = q->ops->bulk_abandon(q, &t, err);
    arena_close(&a);
    return rc;
}

/* --- all in one call ----------------------------------------------------- */

static int write_all(struct quarry_bulk_writer *w,
                     quarry_bulk_next_fn next,
                     void *ctx,
                     struct buf *files,
                     struct err *err)
{
    for (;;) {
        struct quarry_bulk_cell c;
        bool more = true;
        int rc = next(ctx, &c, &more, err);
        if (rc == 0 && !more)
            return quarry_bulk_writer_finish(w, files, err);
        if (rc == 0)
            rc = quarry_bulk_writer_set(w, c.row, c.family, c.qualifier,
                                        c.timestamp_us, c.value, err);
        if (rc)
            return rc;
    }
}

int quarry_bulk_load(struct quarry *q,
                     const char *table,
                     const char *id,
                     quarry_bulk_next_fn next,
                     void *ctx,
                     struct quarry_bulk_result *result,
                     struct err *err)
{
    struct quarry_bulk_place place;
    struct quarry_bulk_writer *w = NULL;
    struct buf ticket = BUF_INIT;
    struct buf files = BUF_INIT;
    int rc = quarry_bulk_begin(q, table, id, &ticket, err);
    quarry_bulk_place_of(q, &place);
    if (rc == 0)
        rc =
            quarry_bulk_writer_open(&place, buf_slice(&ticket), "all", &w, err);
    if (rc == 0)
        rc = write_all(w, next, ctx, &files, err);
    quarry_bulk_writer_free(w);
    if (rc == 0)
        rc = quarry_bulk_commit(q, buf_slice(&ticket), buf_slice(&files),
                                result, err);
    else if (ticket.len && quarry_bulk_abandon(q, buf_slice(&ticket), NULL)) {
        /* It is removed when its time is over. */
    }
    buf_close(&ticket);
    buf_close(&files);
    return rc;
}
