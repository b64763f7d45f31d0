/* Reading single rows and cells, many in one call, each with an outcome of its
 * own.
 *
 * Look-ups are sorted by tablet and by what they read; those of one tablet that
 * read the same columns share one scan. They are cut into batches, each read by
 * a fiber: rows mostly come from memory, and then the batches run one after the
 * other, but a batch that waits for a file does not hold up the others. */
#include <stdlib.h>

#include "base/core/arena.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet_server/rules.h"
#include "bigtable/tablet_server/serving.h"
#include "bigtable/tablet_server/tablet_server_state.h"

/* An answer of this size takes no more rows. */
#define ANSWER_BYTES_MAX ((size_t)4 << 20)
/* Look-ups of a batch at least, and about how many batches a call is cut into.
 */
#define BATCH_LOOKUPS_MIN 8
#define BATCHES_ABOUT     16

/* A look-up and its outcome. */
struct found {
    struct row_lookup l;
    uint32_t index; /* Among those of the call. */
    size_t at;      /* Where its answer begins in the bytes of its batch. */
    size_t len;
};

struct batch {
    struct each *each;
    struct found **list; /* Of one tablet, that want the same. */
    size_t count;
    struct buf bytes; /* Of its answers. */
    struct fiber *fiber;
};

struct each {
    struct tablet_server *server;
    struct slice principal;
    struct arena arena;
    uint64_t deadline_ns; /* Of the call, as the next one. */
    void *context;
    size_t count;
    struct found *all;
    struct found **sorted;
    struct batch **of; /* The batch of each look-up. */
    struct batch *batches;
    size_t batch_count;
    int32_t *codes;
    size_t bytes; /* Of all answers so far. */
    struct err first;
};

/* --- the request --------------------------------------------------------- */

/* The order of batches; 0: both may be in one batch. */
static int compare_kinds(const struct row_lookup *a, const struct row_lookup *b)
{
    if (a->tablet != b->tablet)
        return a->tablet < b->tablet ? -1 : 1;
    if (a->generation != b->generation)
        return a->generation < b->generation ? -1 : 1;
    if (a->is_cell != b->is_cell)
        return a->is_cell ? 1 : -1;
    return a->is_cell ? 0 : slice_cmp(a->options, b->options);
}

static int compare_lookups(const void *a, const void *b)
{
    const struct found *x = *(struct found *const *)a;
    const struct found *y = *(struct found *const *)b;
    int c = compare_kinds(&x->l, &y->l);
    return c ? c : slice_cmp(x->l.row, y->l.row);
}

static int take_lookups(struct each *e, struct slice rest, struct err *err)
{
    PRE(e->all);
    PRE(e->sorted);
    for (size_t i = 0; i < e->count; i++) {
        bool more;
        int rc = row_lookup_next(&rest, &e->all[i].l, &more, err);
        if (rc == 0 && !more)
            rc = err_set(err, ERR_CORRUPT, "there are fewer rows than told");
        if (rc)
            return rc;
        e->all[i].index = (uint32_t)i;
        e->sorted[i] = &e->all[i];
    }
    return rest.len ? err_set(err, ERR_CORRUPT, "there are more rows than told")
                    : 0;
}

static void cut_into_batches(struct each *e)
{
    size_t max = MAX_OF(BATCH_LOOKUPS_MIN, e->count / BATCHES_ABOUT);
    struct batch *b = NULL;
    qsort(e->sorted, e->count, sizeof(*e->sorted), compare_lookups);
    for (size_t i = 0; i < e->count; i++) {
        struct found *f = e->sorted[i];
        if (!b || b->count == max || compare_kinds(&b->list[0]->l, &f->l)) {
            b = &e->batches[e->batch_count++];
            *b = (struct batch){.each = e, .list = &e->sorted[i]};
        }
        b->count++;
        e->of[f->index] = b;
    }
    POST(e->batch_count > 0);
    POST(e->batch_count <= e->count);
}

/* --- outcomes ------------------------------------------------------------ */

static void
serve_each_fail(struct each *e, const struct found *f, int rc, struct err *why)
{
    PRE(f->index < e->count);
    PRE(rc != 0);
    e->codes[f->index] = rc;
    if (e->first.code == 0)
        e->first = *why;
}

static void fail_all(struct batch *b, int rc, struct err *why)
{
    for (size_t i = 0; i < b->count; i++)
        serve_each_fail(b->each, b->list[i], rc, why);
}

/* Begin the answer to @f; end_answer() ends it. */
static void begin_answer(const struct batch *b, struct found *f)
{
    PRE(f->len == 0);
    f->at = b->bytes.len;
}

static void end_answer(struct batch *b, struct found *f)
{
    PRE(f->at <= b->bytes.len);
    f->len = b->bytes.len - f->at;
    b->each->bytes += f->len;
}

/* The first answer always fits. */
static int check_room(const struct each *e, struct err *err)
{
    return e->bytes < ANSWER_BYTES_MAX
               ? 0
               : err_set(err, ERR_TOOBIG, "the answer has no room for more");
}

/* --- rows ---------------------------------------------------------------- */

/* Append the rows of @scan as answers to the look-ups of the batch. */
static int
take_rows(struct batch *b, struct scan *scan, size_t *done, struct err *err)
{
    const struct quarry_row *row = NULL;
    int rc = 0;
    INVARIANT(b->count == 0 || b->list);
    for (size_t i = 0; i < b->count; i = ++*done) {
        struct found *f = b->list[i];
        rc = check_room(b->each, err);
        while (rc == 0 && (!row || slice_cmp(row->key, f->l.row) < 0)) {
            rc = scan_next(scan, &row, err);
            if (rc == 0 && !row)
                return 0;
        }
        if (rc)
            return rc;
        if (!slice_eq(row->key, f->l.row))
            continue;
        begin_answer(b, f);
        row_put(row, &b->bytes);
        end_answer(b, f);
    }
    return rc;
}

/* Keep the look-ups of rows that the tablet has; the others fail. */
static void keep_rows(struct batch *b, const struct tablet *t)
{
    size_t kept = 0;

    PRE(b->count > 0);
    for (size_t i = 0; i < b->count; i++) {
        struct found *f = b->list[i];
        struct err why = ERR_INIT;
        if (tablet_contains(t, f->l.row))
            b->list[kept++] = f;
        else
            serve_each_fail(b->each, f, not_here(f->l.tablet, &why), &why);
    }
    b->count = kept;
}

static int make_spec(struct batch *b,
                     struct serving *v,
                     struct slice options,
                     struct err *err)
{
    struct arena *a = &b->each->arena;
    struct slice *keys = arena_alloc(a, b->count * sizeof(*keys));
    struct quarry_read_options o;
    int rc = read_options_get(options, a, &o, err);

    PRE(b->count > 0);
    PRE(!b->list[0]->l.is_cell);
    if (rc)
        return rc;
    for (size_t i = 0; i < b->count; i++)
        keys[i] = b->list[i]->l.row;
    o.keys = keys;
    o.key_count = b->count;
    o.range_count = 0;
    o.row_limit = 0;
    o.program = NULL;
    o.read_ahead_off = true;
    rc = serving_spec(v, &o, SLICE_EMPTY, err);
    quarry_filter_free((struct quarry_filter *)(uintptr_t)o.filter);
    return rc;
}

static int read_rows(struct batch *b, struct serving *v, struct err *err)
{
    struct tablet_server *s = b->each->server;
    struct scan *scan;
    size_t done = 0;
    int rc = make_spec(b, v, b->list[0]->l.options, err);
    if (rc == 0)
        rc = serving_may_read(s, v, b->each->principal, err);
    if (rc == 0)
        rc = scan_new(v->view, &v->spec, tablet_env_age_us(&s->store->env),
                      &scan, err);
    if (rc)
        return rc;
    rc = take_rows(b, scan, &done, err);
    scan_free(scan);
    INVARIANT(done <= b->count);
    b->list += done;
    b->count -= done;
    return rc;
}

/* --- cells --------------------------------------------------------------- */

static int
read_one_cell(struct batch *b, struct serving *v, size_t i, struct err *err)
{
    struct each *e = b->each;
    struct found *f = b->list[i];
    struct cell_answer c = {0, SLICE_EMPTY};
    struct buf value = BUF_INIT;
    bool found = false;
    int rc = check_room(e, err);

    PRE(i < b->count);
    PRE(b->list[i]->l.is_cell);
    if (rc == 0)
        rc = rules_may(e->server, v->served, e->principal, f->l.family,
                       ACCESS_READ, err);
    if (rc == 0)
        rc = read_cell(v->served->table, f->l.row, f->l.family, f->l.qualifier,
                       &value, &c.timestamp_us, &found, err);
    if (rc == 0 && found) {
        c.value = buf_slice(&value);
        begin_answer(b, f);
        cell_answer_put(&c, &b->bytes);
        end_answer(b, f);
    }
    buf_close(&value);
    return rc;
}

/* Each cell has an outcome of its own. */
static int read_cells(struct batch *b, struct serving *v, struct err *err)
{
    int rc = rules_may_go(b->each->server, v->served, b->each->principal,
                          RATE_READS, err);
    for (size_t i = 0; rc == 0 && i < b->count; i++) {
        struct err why = ERR_INIT;
        int code = read_one_cell(b, v, i, &why);
        if (code)
            serve_each_fail(b->each, b->list[i], code, &why);
    }
    if (rc == 0)
        b->count = 0;
    return rc;
}

/* --- batches ------------------------------------------------------------- */

/* Look-ups that are left in the batch afterwards have failed with its error. */
static int read_batch(struct batch *b, struct err *err)
{
    struct tablet_server *s = b->each->server;
    const struct row_lookup *l = &b->list[0]->l;
    uint64_t start_ns = world_mono_ns(s->world);
    uint64_t took_ns;
    bool is_cell = l->is_cell;
    struct serving v;
    int rc = serving_begin(s, &v, l->tablet, l->generation, err);

    PRE(b->count > 0);
    if (rc == 0)
        keep_rows(b, v.view->tablets[0]);
    if (rc == 0 && b->count) {
        size_t count = b->count;
        rc = is_cell ? read_cells(b, &v, err) : read_rows(b, &v, err);
        atomic_fetch_add(&v.served->reads, count);
        took_ns = world_mono_ns(s->world) - start_ns;
        atomic_fetch_add(&v.served->cpu_us, took_ns / 1000);
        metric_observe(v.served->meters.read_seconds, took_ns);
        metric_add(v.served->meters.read_rows, count);
        if (rc == 0)
            rules_pay(s, v.served, b->each->principal, RATE_READS, count,
                      b->bytes.len);
    }
    serving_end(&v);
    return rc;
}

static void run_batch(void *arg)
{
    struct batch *b = arg;
    struct err err = ERR_INIT;
    int rc;

    PRE(b->count > 0);
    if (fiber_self()) {
        (void)fiber_set_deadline(b->each->deadline_ns);
        (void)fiber_set_context(b->each->context);
    }
    rc = read_batch(b, &err);
    if (rc)
        fail_all(b, rc, &err);
}

static void run_batches(struct each *e)
{
    PRE(e->batch_count <= e->count);
    for (size_t i = 1; fiber_self() && i < e->batch_count; i++)
        e->batches[i].fiber =
            fiber_start(loop_self(), "read rows", run_batch, &e->batches[i]);
    for (size_t i = 0; i < e->batch_count; i++)
        if (!e->batches[i].fiber)
            run_batch(&e->batches[i]);
    for (size_t i = 1; i < e->batch_count; i++)
        if (e->batches[i].fiber)
            fiber_join(e->batches[i].fiber);
}

/* --- the answer ---------------------------------------------------------- */

static void put_answers(struct each *e, struct rpc_call *call)
{
    const struct apply_reply r = {
        .count = (uint32_t)e->count, .codes = e->codes, .first = e->first};

    PRE(e->batch_count > 0);
    apply_reply_put(&r, call->reply_body);
    for (size_t i = 0; i < e->count; i++) {
        const struct found *f = &e->all[i];
        buf_put_lslice(
            call->reply_attachment,
            slice_sub(buf_slice(&e->of[i]->bytes), f->at, f->at + f->len));
    }
}

static void begin_each(struct each *e, uint32_t count)
{
    PRE(!e->all);
    PRE(e->count == 0);
    arena_init(&e->arena);
    e->count = count;
    e->all = arena_zalloc(&e->arena, count * sizeof(*e->all));
    e->sorted = arena_zalloc(&e->arena, count * sizeof(*e->sorted));
    e->of = arena_zalloc(&e->arena, count * sizeof(struct batch *));
    e->batches = arena_zalloc(&e->arena, count * sizeof(*e->batches));
    e->codes = arena_zalloc(&e->arena, count * sizeof(*e->codes));
}

int handle_read_each(struct tablet_server *s,
                     struct rpc_call *call,
                     struct err *err)
{
    struct each e = {.server = s,
                     .principal = call->principal,
                     .deadline_ns = fiber_deadline(),
                     .context = fiber_context()};
    struct each_request r;
    int rc = each_request_get(call->body, &r, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc)
        return rc;
    if (r.count == 0 || r.count > EACH_LOOKUPS_MAX)
        return err_set(err, ERR_INVALID, "%u rows in one call", r.count);
    begin_each(&e, r.count);
    rc = take_lookups(&e, call->attachment, err);
    if (rc == 0) {
        cut_into_batches(&e);
        run_batches(&e);
        rc = check_answer(e.server, err);
    }
    if (rc == 0)
        put_answers(&e, call);
    serving_audit(e.server, call, "tablet.read_each", &e.first);
    for (size_t i = 0; i < e.batch_count; i++)
        buf_close(&e.batches[i].bytes);
    arena_close(&e.arena);
    return rc;
}
