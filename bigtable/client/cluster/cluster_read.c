/* Reading single rows, and cells of them: many at once, or one.
 *
 * The rows of one call of the library are cut into chunks; of a chunk, the
 * rows of one server go in one parcel, which may travel with those of other
 * users (shared_calls.h). A row whose tablet is elsewhere, or whose server did
 * not answer, is asked for again.
 */
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/client/cluster/fan_out.h"
#include "bigtable/client/cluster/locator.h"
#include "bigtable/client/cluster/shared_calls.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/row_copy.h"

/* Rows of a chunk, and chunks that are read at once. */
#define CHUNK_ROWS 256
#define CHUNKS_MAX 8

static void put_request(const struct cluster *c,
                        uint8_t flavor,
                        uint32_t count,
                        struct buf *body)
{
    (void)c;
    const struct each_request r = {.count = count};
    (void)flavor;
    each_request_put(&r, body);
}

/* Two calls: one is on its way while the other is looked at. */
const struct shared_kind cluster_read_kind = {
    .method = TABLET_READ_EACH,
    .calls_max = 2,
    .count_max = EACH_LOOKUPS_MAX,
    .bytes_max = (size_t)1 << 20,
    .small_bytes = (size_t)64 << 10,
    .has_answers = true,
    .put = put_request,
};

/* One row of a reading. */
struct wanted {
    struct slice row;
    bool pending;
    struct location *where; /* Reference, during a try. */
};

/* The rows of one call of the library, on the loop. */
struct reading {
    struct quarry_table *table;
    struct cluster_table *of; /* Reference. */
    struct row_lookup what;   /* Of each row. */
    struct wanted *wanted;
    size_t count;
    size_t next; /* Behind the chunks that were begun. */
    bool once;   /* Nothing is tried again. */
    /* Takes the answer about row @i: empty when there is nothing. */
    int (*take)(void *ctx, size_t i, struct slice answer, struct err *err);
    void *ctx;
};

/* --- one parcel ---------------------------------------------------------- */

static void put_lookup(const struct reading *r,
                       const struct wanted *w,
                       struct shared_parcel *p)
{
    struct row_lookup l = r->what;
    l.tablet = w->where->tablet;
    l.generation = r->of->generation;
    l.row = w->row;
    row_lookup_put(&l, &p->items);
    p->count++;
}

/* The server refused to look up @w, or no call of it was answered. */
static void put_off(const struct reading *r,
                    const struct wanted *w,
                    int rc,
                    const struct err *err)
{
    if (retry_is_of_use(rc, err) && !retry_is_rate(rc, err))
        locator_forget(r->of->cluster->locator, w->where);
}

/* Why row @i was not looked up. */
static int take_failure(struct reading *r,
                        size_t i,
                        const struct shared_parcel *p,
                        int code,
                        struct err *err)
{
    err_copy(err, &p->first);
    if (err)
        err->code = code;
    put_off(r, &r->wanted[i], code, err);
    return code;
}

/* Outcomes of the parcel's rows, which are those @indexes; rows whose outcome
 * is good are pending no more. The first failure is told; that some were left
 * out is none when others were not. */
static int take_outcomes(struct reading *r,
                         const size_t *indexes,
                         const struct shared_parcel *p,
                         struct err *err)
{
    struct cursor answers = cursor_make(buf_slice(&p->answers));
    bool any = false;
    int first = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        struct slice answer = cursor_lslice(&answers);
        if (p->codes[i] == 0) {
            int rc = r->take(r->ctx, indexes[i], answer, err);
            if (rc)
                return rc;
            r->wanted[indexes[i]].pending = false;
            any = true;
        } else if (first == 0 || first == ERR_TOOBIG) {
            first = take_failure(r, indexes[i], p, p->codes[i], err);
        } else {
            put_off(r, &r->wanted[indexes[i]], p->codes[i], err);
        }
    }
    return first == ERR_TOOBIG && any ? 0 : first;
}

/* Ask the server of row @first for it, and for those behind it up to @end that
 * it has, too. */
static int
send_parcel(struct reading *r, size_t first, size_t end, struct err *err)
{
    struct cluster *c = r->of->cluster;
    struct location *server = r->wanted[first].where;
    struct shared_parcel p = {.cluster = c, .where = location_ref(server)};
    size_t indexes[CHUNK_ROWS];
    int32_t codes[CHUNK_ROWS];
    int rc;
    for (size_t i = first; i < end; i++) {
        struct wanted *w = &r->wanted[i];
        if (!w->where || !slice_eq(w->where->address, server->address))
            continue;
        indexes[p.count] = i;
        put_lookup(r, w, &p);
    }
    p.codes = codes;
    rc = shared_calls_send(c->reads, &p, err);
    for (uint32_t i = 0; rc && i < p.count; i++)
        put_off(r, &r->wanted[indexes[i]], rc, err);
    if (rc == 0)
        rc = take_outcomes(r, indexes, &p, err);
    for (uint32_t i = 0; i < p.count; i++) {
        location_unref(r->wanted[indexes[i]].where);
        r->wanted[indexes[i]].where = NULL;
    }
    shared_parcel_close(&p);
    location_unref(p.where);
    return rc;
}

/* --- chunks -------------------------------------------------------------- */

static int cluster_read_locate(struct reading *r,
                               size_t begin,
                               size_t end,
                               struct err *err)
{
    int rc = 0;
    for (size_t i = begin; rc == 0 && i < end; i++) {
        struct wanted *w = &r->wanted[i];
        if (w->pending)
            rc = locator_find(r->of->cluster->locator, r->of->id, w->row,
                              &w->where, err);
    }
    return rc;
}

/* One try for what is pending of a chunk; some may be afterwards. */
static int
try_chunk(struct reading *r, size_t begin, size_t end, struct err *err)
{
    int rc = cluster_table_refresh(r->of, err);
    if (rc == 0)
        rc = cluster_read_locate(r, begin, end, err);
    for (size_t i = begin; i < end; i++) {
        if (rc == 0 && r->wanted[i].where)
            rc = send_parcel(r, i, end, err);
        location_unref(r->wanted[i].where);
        r->wanted[i].where = NULL;
    }
    return rc;
}

static bool is_pending(const struct reading *r, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        if (r->wanted[i].pending)
            return true;
    return false;
}

static int
read_chunk(struct reading *r, size_t begin, size_t end, struct err *err)
{
    struct retry retry = {.cluster = r->of->cluster};
    int rc;
    do
        rc = try_chunk(r, begin, end, err);
    while (!r->once &&
           (rc ? retry_again(&retry, &rc, err) : is_pending(r, begin, end)));
    return rc;
}

/* A turn of a worker: the next chunk. */
static int read_next_chunk(void *ctx, bool *more, struct err *err)
{
    struct reading *r = ctx;
    size_t begin = r->next;
    r->next = MIN_OF(begin + CHUNK_ROWS, r->count);
    *more = r->next < r->count;
    return read_chunk(r, begin, r->next, err);
}

static int read_on_loop(void *arg, struct err *err)
{
    struct reading *r = arg;
    unsigned chunks =
        (unsigned)MIN_OF((r->count + CHUNK_ROWS - 1) / CHUNK_ROWS, CHUNKS_MAX);
    int rc;
    r->of = cluster_table_ref(r->table->remote);
    if (chunks <= 1)
        rc = read_chunk(r, 0, r->count, err);
    else
        rc = fan_out(r->of->cluster->loop, chunks, read_next_chunk, r, err);
    cluster_table_unref(r->of);
    return rc;
}

static int read_wanted(struct reading *r, struct err *err)
{
    for (size_t i = 0; i < r->count; i++) {
        int rc = row_name_check(r->wanted[i].row, err);
        if (rc)
            return rc;
        r->wanted[i].pending = true;
    }
    return cluster_do(r->table->quarry->cluster, "tables read", 0, read_on_loop,
                      r, err);
}

/* --- rows ---------------------------------------------------------------- */

static int take_row(void *ctx, size_t i, struct slice answer, struct err *err)
{
    struct quarry_row **rows = ctx;
    const struct quarry_row *row;
    struct row_decoder d;
    int rc;
    row_decoder_init(&d, answer);
    rc = row_decoder_next(&d, &row, err);
    if (rc == 0 && row)
        rows[i] = row_copy(row);
    row_decoder_close(&d);
    return rc;
}

/* Append the part of @opts (may be NULL) that concerns the cells of a row. */
static int put_options(const struct quarry_read_options *opts,
                       struct buf *out,
                       struct err *err)
{
    struct quarry_read_options o = {.versions = 0};
    int rc = opts && opts->filter ? filter_check(opts->filter, err) : 0;
    if (rc)
        return rc;
    if (opts)
        o = *opts;
    o.range_count = o.key_count = 0;
    o.row_limit = 0;
    o.program = NULL;
    o.program_len = 0;
    read_options_put(&o, out);
    return 0;
}

static int read_row(struct quarry_table *t,
                    struct slice row,
                    struct slice options,
                    struct quarry_row **out,
                    struct err *err)
{
    struct wanted one = {.row = row};
    struct reading r = {.table = t,
                        .what = {.options = options},
                        .wanted = &one,
                        .count = 1,
                        .take = take_row,
                        .ctx = out};
    *out = NULL;
    return read_wanted(&r, err);
}

int cluster_read_row(struct quarry_table *t,
                     struct slice row,
                     const struct quarry_read_options *opts,
                     struct quarry_row **out,
                     struct err *err)
{
    struct buf options = BUF_INIT;
    int rc;
    *out = NULL;
    rc = put_options(opts, &options, err);
    if (rc == 0)
        rc = read_row(t, row, buf_slice(&options), out, err);
    buf_close(&options);
    return rc;
}

int cluster_read_rows(struct quarry_table *t,
                      const struct slice *keys,
                      size_t count,
                      const struct quarry_read_options *opts,
                      struct quarry_row **rows,
                      struct err *err)
{
    struct reading r = {
        .table = t, .count = count, .take = take_row, .ctx = rows};
    struct buf options = BUF_INIT;
    int rc = put_options(opts, &options, err);
    r.wanted = mem_zalloc(count + 1, sizeof(*r.wanted));
    r.what.options = buf_slice(&options);
    for (size_t i = 0; i < count; i++)
        r.wanted[i].row = keys[i];
    if (rc == 0 && count)
        rc = read_wanted(&r, err);
    mem_free(r.wanted);
    buf_close(&options);
    return rc;
}

/* --- cells --------------------------------------------------------------- */

struct cell_read {
    struct buf *value;
    bool *found;
};

static int take_cell(void *ctx, size_t i, struct slice answer, struct err *err)
{
    struct cell_read *r = ctx;
    struct cell_answer c;
    int rc = 0;
    (void)i;
    *r->found = answer.len > 0;
    if (*r->found)
        rc = cell_answer_get(answer, &c, err);
    if (rc == 0 && *r->found)
        buf_append_slice(r->value, c.value);
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
    struct cell_read c = {value, found};
    struct wanted one = {.row = row};
    struct reading r = {.table = t,
                        .what = {.is_cell = true,
                                 .family = slice_str(family),
                                 .qualifier = qualifier},
                        .wanted = &one,
                        .count = 1,
                        .take = take_cell,
                        .ctx = &c};
    *found = false;
    buf_clear(value);
    return read_wanted(&r, err);
}

/* --- for asynchronous calls ---------------------------------------------- */

struct any_read {
    struct quarry_table *table;
    struct buf options; /* Encoded; or there is a mistake in them: */
    struct err *mistake;
};

struct any_read *cluster_read_prepare(struct quarry_table *t,
                                      const struct quarry_read_options *opts)
{
    struct any_read *r = mem_zalloc(1, sizeof(*r));
    struct err mistake = ERR_INIT;
    r->table = t;
    if (put_options(opts, &r->options, &mistake)) {
        r->mistake = mem_alloc(sizeof(*r->mistake));
        *r->mistake = mistake;
    }
    return r;
}

int cluster_read_run(struct any_read *r,
                     struct slice row,
                     struct quarry_row **out,
                     struct err *err)
{
    *out = NULL;
    if (r->mistake)
        return err_copy(err, r->mistake);
    return read_row(r->table, row, buf_slice(&r->options), out, err);
}

void cluster_read_free(struct any_read *r)
{
    buf_close(&r->options);
    mem_free(r->mistake);
    mem_free(r);
}

/* A row with a name that cannot be is left to a reading of its own, which says
 * what is wrong with it. */
void cluster_read_some(struct any_read *read,
                       const struct slice *keys,
                       size_t count,
                       struct quarry_row **rows,
                       int *codes,
                       struct err *err)
{
    struct reading r = {.table = read->table,
                        .what = {.options = buf_slice(&read->options)},
                        .wanted = mem_zalloc(count, sizeof(*r.wanted)),
                        .count = count,
                        .once = true,
                        .take = take_row,
                        .ctx = rows};
    int rc;
    PRE(count <= CHUNK_ROWS && !read->mistake);
    for (size_t i = 0; i < count; i++) {
        r.wanted[i].row = keys[i];
        r.wanted[i].pending = row_name_check(keys[i], NULL) == 0;
        codes[i] = r.wanted[i].pending ? 0 : ERR_INVALID;
    }
    rc = cluster_do(read->table->quarry->cluster, "tables read", 0,
                    read_on_loop, &r, err);
    for (size_t i = 0; i < count; i++)
        if (r.wanted[i].pending)
            codes[i] = rc ? rc : ERR_TOOBIG;
    mem_free(r.wanted);
}

bool cluster_read_is_same(const struct any_read *a, const struct any_read *b)
{
    return !a->mistake && !b->mistake &&
           slice_eq(buf_slice(&a->options), buf_slice(&b->options));
}
