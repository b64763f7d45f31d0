/* Reading rows on behalf of attempts without connections. Rows are read ahead
 * of the questions, up to one answer, while the attempt works on those it has.
 */
#include "mapreduce/attempt/row_relay.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/quarry.h"
#include "gfs-lite/fs.h"
#include "mapreduce/attempt/attempt.h"
#include "mapreduce/input/input.h"

struct relay_store {
    const struct job_setup *setup;
    struct mutex lock;
    struct quarry *store; /* NULL: not needed yet. */
    struct fs *files;     /* NULL: not needed yet. */
};

struct row_relay {
    struct relay_store *store;
    struct mutex
        lock; /* Guards all fields below: aim() is called on another thread. */
    struct input_splits splits;
    struct input_reader *reader; /* Of one of them; NULL: none is open. */
    struct buf rows;             /* Read, and not sent yet. */
    bool ended;
    int code; /* The error of reading; sent after the rows before it. */
    struct err err;
};

/* --- the store ----------------------------------------------------------- */

struct relay_store *relay_store_new(const struct job_setup *setup)
{
    struct relay_store *s = mem_zalloc(1, sizeof(*s));
    s->setup = setup;
    mutex_init(&s->lock);
    return s;
}

void relay_store_free(struct relay_store *s)
{
    if (!s)
        return;
    fs_close(s->files);
    quarry_close(s->store);
    mutex_close(&s->lock);
    mem_free(s);
}

static int
use_store(struct relay_store *s, struct quarry **out, struct err *err)
{
    int rc = 0;
    mutex_lock(&s->lock);
    if (!s->store)
        rc = attempt_store_open(s->setup, &s->store, err);
    *out = s->store;
    mutex_unlock(&s->lock);
    return rc;
}

int relay_store_files(struct relay_store *s, struct fs **out, struct err *err)
{
    struct quarry *q = NULL;
    int rc = use_store(s, &q, err);
    if (rc)
        return rc;
    mutex_lock(&s->lock);
    if (!s->files)
        rc = quarry_bulk_files(q, &s->files, err);
    *out = s->files;
    mutex_unlock(&s->lock);
    return rc;
}

/* --- splits -------------------------------------------------------------- */

static void close_reader(struct row_relay *r)
{
    input_reader_close(r->reader);
    r->reader = NULL;
    buf_clear(&r->rows);
    r->ended = false;
    r->code = 0;
}

static void add_split(struct row_relay *r, const struct input_split *from)
{
    struct input_split *to =
        input_splits_add(&r->splits, from->input, from->path);
    to->snapshot = from->snapshot ? mem_strdup(from->snapshot) : NULL;
    buf_append_slice(&to->first_row, buf_slice(&from->first_row));
    buf_append_slice(&to->end_row, buf_slice(&from->end_row));
}

void row_relay_aim(struct row_relay *r, const struct task_spec *spec)
{
    mutex_lock(&r->lock);
    close_reader(r);
    input_splits_close(&r->splits);
    input_splits_init(&r->splits);
    for (size_t i = 0; i < spec->splits.count; i++)
        add_split(r, &spec->splits.at[i]);
    mutex_unlock(&r->lock);
}

struct row_relay *row_relay_new(struct relay_store *store)
{
    PRE(store != NULL);
    struct row_relay *r = mem_zalloc(1, sizeof(*r));
    r->store = store;
    mutex_init(&r->lock);
    input_splits_init(&r->splits);
    return r;
}

void row_relay_free(struct row_relay *r)
{
    if (!r)
        return;
    close_reader(r);
    input_splits_close(&r->splits);
    buf_close(&r->rows);
    mutex_close(&r->lock);
    mem_free(r);
}

/* --- rows ---------------------------------------------------------------- */

static void put_row(const struct quarry_row *row, struct buf *out)
{
    size_t from = out->len;
    buf_put_le32(out, 0);
    buf_put_lslice(out, row->key);
    buf_put_varint(out, row->cell_count);
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        buf_put_lslice(out, c->family);
        buf_put_lslice(out, c->qualifier);
        buf_put_zigzag(out, c->timestamp_us);
        buf_put_lslice(out, c->value);
        buf_put_lslice(out, c->label);
    }
    INVARIANT(out->len - from - 4 <= UINT32_MAX);
    put_le32(out->data + from, (uint32_t)(out->len - from - 4));
}

/* Read until there is one answer's worth of rows, or no more. */
static void read_ahead(struct row_relay *r)
{
    while (r->reader && !r->ended && r->rows.len < FS_PROXY_BYTES_MAX) {
        struct mr_record record = {.row = NULL};
        bool more = false;
        r->code = r->reader->next(r->reader, &record, &more, &r->err);
        r->ended = r->code != 0 || !more;
        if (!r->ended)
            put_row(record.row, &r->rows);
    }
}

static int open_split(struct row_relay *r, struct cursor *in, struct err *err)
{
    const struct job_setup *s = r->store->setup;
    struct input_context ctx = {.files = s->files, .specs = s->inputs};
    uint64_t number = cursor_varint(in);
    const struct input_split *split;
    int rc;
    close_reader(r);
    if (in->bad || number >= r->splits.count)
        return err_set(err, ERR_DENIED, "a split that is not the attempt's");
    split = &r->splits.at[number];
    if (s->inputs[split->input].kind != MR_SPEC_TABLE)
        return err_set(err, ERR_INVALID, "a split that is no part of a table");
    rc = use_store(r->store, &ctx.store, err);
    return rc ? rc : input_open(&ctx, split, &r->reader, err);
}

static int give_rows(struct row_relay *r, struct buf *out, struct err *err)
{
    size_t n;
    if (!r->reader)
        return err_set(err, ERR_INVALID, "no split is open");
    read_ahead(r);
    n = MIN_OF(r->rows.len, FS_PROXY_BYTES_MAX);
    if (n == 0 && r->code)
        return err_copy(err, &r->err);
    buf_append(out, r->rows.data, n);
    buf_consume(&r->rows, n);
    return 0;
}

static int row_relay_answer(void *ctx,
                            unsigned op,
                            struct cursor *in,
                            struct buf *out,
                            struct err *err)
{
    struct row_relay *r = ctx;
    int rc;
    mutex_lock(&r->lock);
    if (op == RELAY_OPEN)
        rc = open_split(r, in, err);
    else if (op == RELAY_NEXT)
        rc = give_rows(r, out, err);
    else
        rc = err_set(err, ERR_CORRUPT, "malformed question about rows");
    mutex_unlock(&r->lock);
    return rc;
}

static void row_relay_after(void *ctx)
{
    struct row_relay *r = ctx;
    mutex_lock(&r->lock);
    read_ahead(r);
    mutex_unlock(&r->lock);
}

struct fs_proxy_other row_relay_answers(struct row_relay *r)
{
    return (struct fs_proxy_other){row_relay_answer, row_relay_after, r};
}
