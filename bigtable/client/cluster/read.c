/* Reading one row, and one cell. */
#include "base/core/panic.h"
#include "bigtable/client/cluster/cluster.h"
#include "bigtable/client/cluster/locator.h"
#include "bigtable/client/cluster/options_copy.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/row_copy.h"

/* A row being read, on the loop. */
struct row_read {
    struct quarry_table *table;
    struct slice row;
    struct quarry_read_options options; /* Whatever they say of rows. */
    /* What to do with the row, borrowed during the call; NULL: there is none.
     */
    void (*take)(void *ctx, const struct quarry_row *row);
    void *ctx;
};

static int
take_answer(const struct row_read *r, struct slice attachment, struct err *err)
{
    const struct quarry_row *row;
    struct row_decoder d;
    int rc;
    row_decoder_init(&d, attachment);
    rc = row_decoder_next(&d, &row, err);
    if (rc == 0)
        r->take(r->ctx, row);
    row_decoder_close(&d);
    return rc;
}

static int try_read(struct row_read *r,
                    struct cluster_table *t,
                    struct slice options,
                    struct err *err)
{
    struct read_request request = {.options = options, .row_limit = 1};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct buf rows = BUF_INIT;
    struct location *where;
    int rc = cluster_table_refresh(t, err);
    if (rc == 0)
        rc = locator_find(t->cluster->locator, t->id, r->row, &where, err);
    if (rc)
        return rc;
    request.tablet = where->tablet;
    request.generation = t->generation;
    read_request_put(&request, &body);
    rc = tablet_call(t->cluster, where, TABLET_READ, NULL, buf_slice(&body),
                     SLICE_EMPTY, &reply, &rows, err);
    if (rc == 0)
        rc = take_answer(r, buf_slice(&rows), err);
    location_unref(where);
    buf_close(&body);
    buf_close(&reply);
    buf_close(&rows);
    return rc;
}

static int read_on_loop(void *arg, struct err *err)
{
    struct row_read *r = arg;
    struct cluster_table *t = cluster_table_ref(r->table->remote);
    struct retry retry = {.cluster = t->cluster};
    struct buf options = BUF_INIT;
    int rc;
    read_options_put(&r->options, &options);
    do
        rc = try_read(r, t, buf_slice(&options), err);
    while (rc && retry_again(&retry, &rc, err));
    buf_close(&options);
    cluster_table_unref(t);
    return rc;
}

static int read_row(struct row_read *r, struct err *err)
{
    struct quarry_read_options *o = &r->options;
    int rc = row_name_check(r->row, err);
    if (rc == 0 && o->filter)
        rc = filter_check(o->filter, err);
    if (rc)
        return rc;
    o->ranges = NULL;
    o->range_count = 0;
    o->keys = &r->row;
    o->key_count = 1;
    o->row_limit = 0;
    o->program = NULL;
    o->program_len = 0;
    return cluster_do(r->table->quarry->cluster, "tables read", 0, read_on_loop,
                      r, err);
}

/* --- rows ------------------------------------------------------------------
 */

static void copy_row(void *ctx, const struct quarry_row *row)
{
    struct quarry_row **out = ctx;
    *out = row ? row_copy(row) : NULL;
}

int cluster_read_row(struct quarry_table *t,
                     struct slice row,
                     const struct quarry_read_options *opts,
                     struct quarry_row **out,
                     struct err *err)
{
    struct row_read r = {.table = t, .row = row, .take = copy_row, .ctx = out};
    *out = NULL;
    if (opts)
        r.options = *opts;
    return read_row(&r, err);
}

/* --- cells -----------------------------------------------------------------
 */

/* A cell being read, on the loop. */
struct cell_read {
    struct quarry_table *table;
    struct get_request request;
    struct buf *value;
    struct get_reply reply;
};

static int
try_get(struct cell_read *r, struct cluster_table *t, struct err *err)
{
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct location *where;
    int rc = cluster_table_refresh(t, err);
    if (rc == 0)
        rc = locator_find(t->cluster->locator, t->id, r->request.row, &where,
                          err);
    if (rc)
        return rc;
    r->request.tablet = where->tablet;
    r->request.generation = t->generation;
    get_request_put(&r->request, &body);
    buf_clear(r->value);
    rc = tablet_call(t->cluster, where, TABLET_GET, NULL, buf_slice(&body),
                     SLICE_EMPTY, &reply, r->value, err);
    if (rc == 0)
        rc = get_reply_get(buf_slice(&reply), &r->reply, err);
    location_unref(where);
    buf_close(&body);
    buf_close(&reply);
    return rc;
}

static int get_on_loop(void *arg, struct err *err)
{
    struct cell_read *r = arg;
    struct cluster_table *t = cluster_table_ref(r->table->remote);
    struct retry retry = {.cluster = t->cluster};
    int rc;
    do
        rc = try_get(r, t, err);
    while (rc && retry_again(&retry, &rc, err));
    cluster_table_unref(t);
    return rc;
}

int cluster_get(struct quarry_table *t,
                struct slice row,
                const char *family,
                struct slice qualifier,
                struct buf *value,
                bool *found,
                struct err *err)
{
    struct cell_read r = {.table = t,
                          .request = {.row = row,
                                      .family = slice_str(family),
                                      .qualifier = qualifier},
                          .value = value};
    int rc = row_name_check(row, err);
    *found = false;
    buf_clear(value);
    if (rc == 0)
        rc = cluster_do(t->quarry->cluster, "tables get", 0, get_on_loop, &r,
                        err);
    if (rc == 0)
        *found = r.reply.found;
    else
        buf_clear(value);
    return rc;
}

/* --- for asynchronous calls ------------------------------------------------
 */

struct any_read {
    struct quarry_table *table;
    struct options_copy copy; /* Unless `mistake` has a code. */
    struct err mistake;
};

struct any_read *cluster_read_prepare(struct quarry_table *t,
                                      const struct quarry_read_options *opts)
{
    struct any_read *r = mem_zalloc(1, sizeof(*r));
    r->table = t;
    if (options_copy_init(&r->copy, opts, &r->mistake))
        PRE(r->mistake.code != 0);
    return r;
}

int cluster_read_run(struct any_read *r,
                     struct slice row,
                     struct quarry_row **out,
                     struct err *err)
{
    *out = NULL;
    if (r->mistake.code)
        return err_copy(err, &r->mistake);
    return cluster_read_row(r->table, row, &r->copy.options, out, err);
}

void cluster_read_free(struct any_read *r)
{
    if (r->mistake.code == 0)
        options_copy_close(&r->copy);
    mem_free(r);
}
