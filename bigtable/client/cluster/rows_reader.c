/* Rows of a set, one answer of a server at a time. The reader remembers the key
 * to continue at and nothing else, so a split or a move between two answers
 * costs a look-up.
 */
#include "bigtable/client/cluster/rows_reader.h"

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/client/cluster/locator.h"
#include "bigtable/read/read_options.h"
#include "bigtable/read/script.h"
#include "bigtable/row/explain.h"
#include "bigtable/row/mutation.h"

/* Answers grow: the first rows come soon, the many come in few calls. */
#define ANSWER_BYTES_MIN ((uint32_t)128 << 10)
#define ANSWER_BYTES_MAX ((uint32_t)2 << 20)
/* Ranges sent with one request. */
#define RANGES_MAX  ((size_t)4096)
#define RANGE_BYTES ((size_t)1 << 20)

/* Refuse options that are invalid whatever the table holds, with the store's
 * own errors. */
static int check_options(struct cluster_table *t,
                         const struct quarry_read_options *opts,
                         struct err *err)
{
    struct read_spec spec;
    int rc = 0;
    for (size_t i = 0; opts && i < opts->key_count && rc == 0; i++)
        rc = row_name_check(opts->keys[i], err);
    if (rc == 0)
        rc = read_spec_of_schema(&spec, t->schema, opts, err);
    if (rc == 0)
        read_spec_close(&spec);
    if (rc == 0 && opts && opts->program) {
        struct script_filter *script;
        rc = script_filter_new(slice_make(opts->program, opts->program_len),
                               opts->program_fuel, &script, err);
        if (rc == 0)
            script_filter_free(script);
    }
    return rc;
}

int rows_reader_init(struct rows_reader *r,
                     struct cluster_table *t,
                     const struct quarry_read_options *opts,
                     struct err *err)
{
    struct quarry_read_options rowless = {.versions = 0};
    int rc = cluster_table_refresh(t, err);
    *r = (struct rows_reader){.bytes_max = ANSWER_BYTES_MIN};
    if (opts)
        rowless = *opts;
    rowless.ranges = NULL;
    rowless.range_count = 0;
    if (rc == 0)
        rc = check_options(t, &rowless, err);
    if (rc == 0)
        rc = options_copy_init(&r->copy, opts, err);
    if (rc)
        return rc;
    row_set_init(&r->set, opts);
    r->table = cluster_table_ref(t);
    r->left = r->copy.options.row_limit;
    return 0;
}

void rows_reader_close(struct rows_reader *r)
{
    options_copy_close(&r->copy);
    row_set_close(&r->set);
    buf_close(&r->at);
    cluster_table_unref(r->table);
}

/* Continue at @key; empty: that was all. */
static void reader_continue(struct rows_reader *r, struct slice key)
{
    struct buf at = BUF_INIT;
    buf_append_slice(&at, key);
    buf_close(&r->at);
    r->at = at;
    r->done |= key.len == 0;
}

/* The request for the part of the set that @where has from @row on. *@stop is
 * where that part ends. */
static void put_request(const struct rows_reader *r,
                        const struct location *where,
                        struct slice row,
                        struct slice *stop,
                        struct buf *body)
{
    struct quarry_range *ranges = mem_alloc(RANGES_MAX * sizeof(*ranges));
    struct quarry_read_options o = r->copy.options;
    struct read_request request = {.tablet = where->tablet,
                                   .generation = r->table->generation,
                                   .row_limit = r->left,
                                   .bytes_max = r->bytes_max,
                                   .explain = r->explain != NULL};
    struct buf options = BUF_INIT;
    o.ranges = ranges;
    o.range_count = row_set_part(&r->set, row, where->end, RANGE_BYTES, ranges,
                                 RANGES_MAX, stop);
    o.row_limit = 0;
    PRE(o.range_count > 0);
    read_options_put(&o, &options);
    request.options = buf_slice(&options);
    read_request_put(&request, body);
    buf_close(&options);
    mem_free(ranges);
}

/* The tablet server's part of the time. */
static uint64_t time_served(const struct quarry_explain_counts *c)
{
    return c->time_queue + c->time_reading + c->time_decompressing +
           c->time_merging + c->time_filter + c->time_program +
           c->time_answering;
}

/* Add what an answer says about its scan; @took_ns: the call, from here. A
 * server that does not know of records sends none. */
static int take_explained(struct rows_reader *r,
                          const struct location *where,
                          struct slice record,
                          uint64_t took_ns,
                          struct err *err)
{
    PRE(r->explain);

    struct explain_tablet *t = explain_tablet(
        r->explain, where->tablet, where->address, where->start, where->end);
    uint64_t before_ns = time_served(&t->counts);
    uint64_t served_ns;
    int rc = record.len ? explain_get(record, t, err) : 0;
    served_ns = time_served(&t->counts) - before_ns;
    t->counts.calls_made++;
    t->counts.calls_retried += r->retried;
    t->counts.time_network += took_ns > served_ns ? took_ns - served_ns : 0;
    r->retried = 0;
    return rc;
}

static int take_reply(struct rows_reader *r,
                      const struct location *where,
                      struct slice body,
                      struct slice stop,
                      uint64_t took_ns,
                      struct err *err)
{
    struct read_reply reply;
    int rc = read_reply_get(body, &reply, err);
    PRE(!r->done);
    if (rc == 0 && r->explain)
        rc = take_explained(r, where, reply.explain, took_ns, err);
    if (rc == 0 && !reply.done && slice_cmp(reply.next, buf_slice(&r->at)) < 0)
        rc = err_set(err, ERR_CORRUPT, "an answer that goes back");
    if (rc)
        return rc;
    if (r->copy.options.row_limit) {
        r->left -= MIN_OF(reply.row_count, r->left);
        r->done = r->left == 0;
    }
    reader_continue(r, reply.done ? stop : reply.next);
    r->bytes_max = MIN_OF(r->bytes_max * 2, ANSWER_BYTES_MAX);
    return 0;
}

static int
rows_reader_ask(struct rows_reader *r, struct buf *rows, struct err *err)
{
    struct cluster *c = r->table->cluster;
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct location *where;
    struct slice row, stop;
    uint64_t begin_ns;
    int rc = cluster_table_refresh(r->table, err);
    PRE(!r->done);
    if (rc)
        return rc;
    if (!row_set_next(&r->set, buf_slice(&r->at), &row)) {
        r->done = true;
        return 0;
    }
    rc = locator_find(c->locator, r->table->id, row, &where, err);
    if (rc)
        return rc;
    put_request(r, where, row, &stop, &body);
    buf_clear(rows);
    begin_ns = world_mono_ns(c->world);
    rc = tablet_call(c, where, TABLET_READ, NULL, buf_slice(&body), SLICE_EMPTY,
                     &reply, rows, err);
    if (rc == 0)
        rc = take_reply(r, where, buf_slice(&reply), stop,
                        world_mono_ns(c->world) - begin_ns, err);
    location_unref(where);
    buf_close(&body);
    buf_close(&reply);
    return rc;
}

int rows_reader_next(struct rows_reader *r, struct buf *rows, struct err *err)
{
    struct retry retry = {.cluster = r->table->cluster};
    int rc = 0;
    while (!r->done && (rows->len == 0 || rc)) {
        rc = rows_reader_ask(r, rows, err);
        if (rc == 0)
            retry.tries = 0;
        else if (!retry_again(&retry, &rc, err))
            break;
        else
            r->retried++;
    }
    return rc;
}
