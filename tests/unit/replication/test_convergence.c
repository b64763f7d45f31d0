/* Tables that are written to at two or three sites become equal, whatever the
 * order in which commits arrive, and however often: random settings and
 * deletions at each, random deliveries, from tokens that fall behind and are
 * used again; flushes, compactions, splits and restarts between. They become
 * what the commits make in the order of their origins, by an obvious model.
 * Commits of a site that is never seen, with a clock of its own, push the
 * clocks of the others apart. In the simulated world. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/quarry_replication.h"
#include "tests/lib/check_main.h"

enum {
    SITES_MAX = 3,
    ROWS = 4,
    FAMILIES = 2,
    QUALIFIERS = 2,
    TIMES = 4,
    CELLS = ROWS * FAMILIES * QUALIFIERS * TIMES,
    COMMITS_MAX = 3000,
    ENTRIES_MAX = 5
};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static const char *const rows[ROWS] = {"a", "ab", "b", "c"};
static const char *const families[FAMILIES] = {"f", "g"};
static const char *const qualifiers[QUALIFIERS] = {"", "q"};

struct entry {
    enum quarry_change_kind kind;
    unsigned family;
    unsigned qualifier;
    unsigned from; /* Of the times: of the cell, or the range [from, to). */
    unsigned to;
    unsigned value;
};

struct commit {
    struct quarry_origin origin; /* Learned when it is told. */
    unsigned row;
    struct entry entries[ENTRIES_MAX];
    size_t count;
};

struct site {
    struct quarry *q;
    struct quarry_table *t;
    uint64_t number;
    char target[32];
    struct buf token; /* Of the reader that learns what was committed. */
};

/* From one site to another. */
struct link {
    size_t from;
    size_t to;
    struct buf tokens[3]; /* Some are of the past. */
};

struct run {
    struct world *world;
    struct rand_gen rand;
    struct site sites[SITES_MAX];
    size_t site_count;
    struct link links[SITES_MAX * SITES_MAX];
    size_t link_count;
    bool is_ring;
    struct commit commits[COMMITS_MAX];
    size_t commit_count;
    unsigned next_value;
    uint64_t foreign_count;
    size_t steps;
};

/* --- sites --------------------------------------------------------------- */

static void open_site(struct run *r, struct site *s)
{
    const struct quarry_options o = {
        .world = r->world, .background_tasks = 1, .memtable_bytes = 1 << 20};
    OK(quarry_open(s->target, &o, &s->q, &err));
    OK(quarry_table_open(s->q, "t", &s->t, &err));
}

static void close_site(struct site *s)
{
    quarry_table_close(s->t);
    quarry_close(s->q);
}

static void create_site(struct run *r, struct site *s, size_t number)
{
    const struct quarry_options o = {.world = r->world};
    const struct quarry_family_spec f[] = {{"f", ""}, {"g", "group=g"}};
    const struct quarry_group_spec g = {"g", ""};
    snprintf(s->target, sizeof(s->target), "file:/site%zu", number);
    OK(quarry_open(s->target, &o, &s->q, &err));
    OK(quarry_table_create_with_changes(s->q, "t", f, 2, &g, 1, "7d", &err));
    OK(quarry_replication_site(s->q, "t", &s->number, &err));
    quarry_close(s->q);
    open_site(r, s);
}

static const struct quarry_replication_spec *spec_of(const struct run *r,
                                                     const struct link *l)
{
    static struct quarry_replication_spec s;
    s = (struct quarry_replication_spec){.table = "t",
                                         .target = r->sites[l->to].target};
    return &s;
}

/* --- writing ------------------------------------------------------------- */

static int64_t us_of(unsigned time)
{
    return 1000 + 1000 * (int64_t)time;
}

static void draw_entry(struct run *r, struct entry *e)
{
    uint64_t kind = rand_below(&r->rand, 12);
    *e = (struct entry){.kind = QUARRY_CHANGE_SET,
                        .family = (unsigned)rand_below(&r->rand, FAMILIES),
                        .qualifier = (unsigned)rand_below(&r->rand, QUALIFIERS),
                        .from = (unsigned)rand_below(&r->rand, TIMES),
                        .value = r->next_value++};
    e->to = e->from + 1 + (unsigned)rand_below(&r->rand, 2);
    if (kind < 7)
        return;
    e->kind = kind < 10    ? QUARRY_CHANGE_DELETE_CELLS
              : kind == 10 ? QUARRY_CHANGE_DELETE_FAMILY
                           : QUARRY_CHANGE_DELETE_ROW;
    if (kind == 9) { /* All times. */
        e->from = 0;
        e->to = TIMES;
    }
}

static void put_entry(struct quarry_mutation *m, const struct entry *e)
{
    const char *family = families[e->family];
    struct slice qualifier = slice_str(qualifiers[e->qualifier]);
    bool all = e->from == 0 && e->to == TIMES;
    char value[16];
    snprintf(value, sizeof(value), "%u", e->value);
    switch (e->kind) {
    case QUARRY_CHANGE_SET:
        quarry_mutation_set(m, family, qualifier, us_of(e->from),
                            slice_str(value));
        break;
    case QUARRY_CHANGE_DELETE_CELLS:
        quarry_mutation_delete_cells(m, family, qualifier,
                                     all ? 0 : us_of(e->from),
                                     all ? 0 : us_of(e->to));
        break;
    case QUARRY_CHANGE_DELETE_FAMILY:
        quarry_mutation_delete_family(m, family);
        break;
    case QUARRY_CHANGE_DELETE_ROW: quarry_mutation_delete_row(m); break;
    case QUARRY_CHANGE_ADD:
    case QUARRY_CHANGE_MERGE: break; /* None are drawn. */
    }
}

/* Note the origin of the commit that @s has just made. */
static void learn_origin(struct site *s, struct commit *c)
{
    const struct quarry_changes_options o = {.token = buf_slice(&s->token),
                                             .since_us = QUARRY_CHANGES_OLDEST};
    const struct quarry_change *list;
    struct quarry_changes *changes;
    size_t count;
    OK(quarry_changes_open(s->t, &o, &changes, &err));
    do {
        OK(quarry_changes_next(changes, 0, &list, &count, &err));
        for (size_t i = 0; i < count; i++)
            if (list[i].origin.site == 0)
                c->origin = (struct quarry_origin){s->number, list[i].commit_us,
                                                   list[i].sequence};
    } while (count);
    buf_clear(&s->token);
    quarry_changes_token(changes, &s->token);
    quarry_changes_close(changes);
}

static void write_commit(struct run *r)
{
    struct site *s = &r->sites[rand_below(&r->rand, r->site_count)];
    struct commit *c = &r->commits[r->commit_count++];
    struct quarry_mutation *m;
    ck_assert_uint_le(r->commit_count, COMMITS_MAX);
    c->row = (unsigned)rand_below(&r->rand, ROWS);
    c->count = 1 + rand_below(&r->rand, ENTRIES_MAX);
    m = quarry_mutation_new(slice_str(rows[c->row]));
    for (size_t i = 0; i < c->count; i++) {
        draw_entry(r, &c->entries[i]);
        put_entry(m, &c->entries[i]);
    }
    OK(quarry_apply(s->t, m, NULL, &err));
    quarry_mutation_free(m);
    learn_origin(s, c);
    ck_assert_uint_eq(c->origin.site, s->number);
}

/* A commit of another site, whose clock is before or behind: a table's clock
 * that is pushed ahead stands still, so that commits share times. */
static void write_foreign(struct run *r)
{
    struct site *s = &r->sites[rand_below(&r->rand, r->site_count)];
    struct commit *c = &r->commits[r->commit_count++];
    struct quarry_mutation *m;
    ck_assert_uint_le(r->commit_count, COMMITS_MAX);
    c->row = (unsigned)rand_below(&r->rand, ROWS);
    c->count = 1 + rand_below(&r->rand, ENTRIES_MAX);
    c->origin.site = rand_one_in(&r->rand, 2) ? 1 : UINT64_MAX;
    c->origin.us =
        (int64_t)(world_now_us(r->world) + rand_below(&r->rand, 20000)) - 10000;
    c->origin.sequence = ++r->foreign_count;
    m = quarry_mutation_new(slice_str(rows[c->row]));
    quarry_mutation_set_origin(m, &c->origin, s->number);
    for (size_t i = 0; i < c->count; i++) {
        draw_entry(r, &c->entries[i]);
        put_entry(m, &c->entries[i]);
    }
    OK(quarry_apply(s->t, m, NULL, &err));
    quarry_mutation_free(m);
}

/* --- delivering ---------------------------------------------------------- */

/* By the pipeline of readers and senders, which is stopped in its middle now
 * and then: the place that it told last is where the next run begins. */
struct stopper {
    struct run *run;
    quarry_flag stop;
    struct buf *token; /* Of the link. */
    bool any;
};

static void stop_soon(void *arg)
{
    struct stopper *s = arg;
    world_sleep_us(s->run->world, rand_below(&s->run->rand, 3000));
    atomic_store(&s->stop, true);
}

static int
keep_token(void *arg, const struct quarry_replication_place *at, struct err *e)
{
    struct stopper *s = arg;
    (void)e;
    buf_clear(s->token);
    buf_append_slice(s->token, at->token);
    s->any |= at->changes > 0;
    return 0;
}

static bool follow(struct run *r,
                   struct quarry_replication *stream,
                   struct quarry_changes *c,
                   struct buf *at,
                   bool stopped)
{
    struct stopper s = {.run = r, .token = at};
    struct task *task = NULL;
    int rc;
    if (stopped) {
        quarry_replication_cancel(stream, &s.stop);
        task = task_start(r->world, "stopper", stop_soon, &s);
    }
    rc = quarry_replication_follow(stream, c, false, keep_token, &s, &err);
    ck_assert_msg(rc == 0 || (stopped && rc == ERR_CANCELLED), "%s", err.text);
    if (task)
        task_join(task);
    return s.any;
}

/* Send up to @batches along @l from one of its tokens. The store at the other
 * end is open already, so that the stream is given its table: within one
 * process a directory is opened once. */
static bool deliver(struct run *r, struct link *l, size_t token, size_t batches)
{
    struct site *from = &r->sites[l->from];
    struct site *to = &r->sites[l->to];
    struct buf *at = &l->tokens[token];
    const struct quarry_changes_options o = {.token = buf_slice(at),
                                             .since_us = QUARRY_CHANGES_OLDEST,
                                             .batch_bytes =
                                                 1 + rand_below(&r->rand, 300)};
    const struct quarry_change *list;
    struct quarry_changes *c;
    struct quarry_replication *stream;
    bool any = false;
    bool piped = rand_one_in(&r->rand, 2);
    size_t count = !piped;
    quarry_table_close(to->t);
    quarry_close(to->q);
    OK(quarry_replication_open(from->q, spec_of(r, l), &stream, &err));
    OK(quarry_changes_open(from->t, &o, &c, &err));
    for (size_t i = 0; i < batches && count; i++) {
        OK(quarry_changes_next(c, 0, &list, &count, &err));
        OK(quarry_replication_send(stream, list, count, NULL, &err));
        any |= count > 0;
    }
    if (piped) {
        any = follow(r, stream, c, at, batches != SIZE_MAX);
    } else {
        buf_clear(at);
        quarry_changes_token(c, at);
    }
    quarry_changes_close(c);
    quarry_replication_close(stream);
    open_site(r, to);
    return any;
}

static void deliver_some(struct run *r)
{
    struct link *l = &r->links[rand_below(&r->rand, r->link_count)];
    (void)deliver(r, l, rand_below(&r->rand, 3), 1 + rand_below(&r->rand, 5));
}

static void deliver_all(struct run *r)
{
    bool any = true;
    for (size_t round = 0; any; round++) {
        ck_assert_uint_lt(round, 50); /* Nothing goes round for ever. */
        any = false;
        for (size_t i = 0; i < r->link_count; i++)
            for (size_t k = 0; k < 3; k++)
                any |= deliver(r, &r->links[i], k, SIZE_MAX);
    }
}

/* --- the model ----------------------------------------------------------- */

struct model_cell {
    bool there;
    unsigned value;
};

static struct model_cell *cell_at(struct model_cell *cells,
                                  unsigned row,
                                  unsigned family,
                                  unsigned qualifier,
                                  unsigned time)
{
    return &cells[((row * FAMILIES + family) * QUALIFIERS + qualifier) * TIMES +
                  time];
}

static bool model_covers(const struct entry *e,
                         unsigned family,
                         unsigned qualifier,
                         unsigned time)
{
    switch (e->kind) {
    case QUARRY_CHANGE_SET:
        return family == e->family && qualifier == e->qualifier &&
               time == e->from;
    case QUARRY_CHANGE_DELETE_CELLS:
        return family == e->family && qualifier == e->qualifier &&
               time >= e->from && time < e->to;
    case QUARRY_CHANGE_DELETE_FAMILY: return family == e->family;
    case QUARRY_CHANGE_DELETE_ROW: return true;
    case QUARRY_CHANGE_ADD:
    case QUARRY_CHANGE_MERGE: return false; /* None are drawn. */
    }
    return false;
}

static void model_apply(struct model_cell *cells, const struct commit *c)
{
    for (size_t i = 0; i < c->count; i++)
        for (unsigned f = 0; f < FAMILIES; f++)
            for (unsigned q = 0; q < QUALIFIERS; q++)
                for (unsigned t = 0; t < TIMES; t++) {
                    const struct entry *e = &c->entries[i];
                    if (model_covers(e, f, q, t))
                        *cell_at(cells, c->row, f, q, t) = (struct model_cell){
                            e->kind == QUARRY_CHANGE_SET, e->value};
                }
}

static int by_origin(const void *a, const void *b)
{
    const struct quarry_origin *x = &((const struct commit *)a)->origin;
    const struct quarry_origin *y = &((const struct commit *)b)->origin;
    if (x->us != y->us)
        return x->us < y->us ? -1 : 1;
    if (x->site != y->site)
        return x->site < y->site ? -1 : 1;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static void model_text(struct run *r, struct buf *out)
{
    struct model_cell cells[CELLS] = {{false, 0}};
    qsort(r->commits, r->commit_count, sizeof(r->commits[0]), by_origin);
    for (size_t i = 0; i < r->commit_count; i++)
        model_apply(cells, &r->commits[i]);
    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned f = 0; f < FAMILIES; f++)
            for (unsigned q = 0; q < QUALIFIERS; q++)
                for (unsigned t = TIMES; t-- > 0;) {
                    const struct model_cell *c = cell_at(cells, row, f, q, t);
                    if (c->there)
                        buf_printf(out, "%s %s:%s@%lld=%u\n", rows[row],
                                   families[f], qualifiers[q],
                                   (long long)us_of(t), c->value);
                }
}

static void site_text(struct site *s, struct buf *out)
{
    const struct quarry_row *row;
    struct quarry_scanner *scan;
    OK(quarry_scan(s->t, NULL, &scan, &err));
    for (;;) {
        OK(quarry_scanner_next(scan, &row, &err));
        if (!row)
            break;
        for (size_t i = 0; i < row->cell_count; i++) {
            const struct quarry_cell *c = &row->cells[i];
            buf_printf(out, "%.*s %.*s:%.*s@%lld=%.*s\n", SLICE_ARG(row->key),
                       SLICE_ARG(c->family), SLICE_ARG(c->qualifier),
                       (long long)c->timestamp_us, SLICE_ARG(c->value));
        }
    }
    quarry_scanner_close(scan);
}

static void expect_model(struct run *r)
{
    struct buf model = BUF_INIT;
    model_text(r, &model);
    for (size_t i = 0; i < r->site_count; i++) {
        struct buf text = BUF_INIT;
        site_text(&r->sites[i], &text);
        ck_assert_str_eq(buf_cstr(&text), buf_cstr(&model));
        buf_close(&text);
    }
    buf_close(&model);
}

/* --- runs ---------------------------------------------------------------- */

static void step(struct run *r)
{
    struct site *s = &r->sites[rand_below(&r->rand, r->site_count)];
    switch (rand_below(&r->rand, 16)) {
    case 0: OK(quarry_flush(s->q, &err)); break;
    case 1: OK(quarry_table_compact(s->q, "t", &err)); break;
    case 2:
        if (rand_one_in(&r->rand, 8))
            (void)!quarry_table_split(s->q, "t", SLICE_LIT("b"), &err);
        break;
    case 3: world_sleep_us(r->world, rand_below(&r->rand, 2000)); break;
    case 7: write_foreign(r); break;
    case 4:
    case 5:
    case 6: deliver_some(r); break;
    default: write_commit(r); break;
    }
}

static void connect_sites(struct run *r)
{
    for (size_t i = 0; i < r->site_count; i++)
        for (size_t k = 0; k < r->site_count; k++)
            if (i != k && (!r->is_ring || k == (i + 1) % r->site_count))
                r->links[r->link_count++] = (struct link){.from = i, .to = k};
}

static void work(void *arg)
{
    struct run *r = arg;
    for (size_t i = 0; i < r->site_count; i++)
        create_site(r, &r->sites[i], i);
    connect_sites(r);
    for (size_t i = 0; i < r->steps; i++)
        step(r);
    deliver_all(r);
    expect_model(r);
    for (size_t i = 0; i < r->site_count; i++) {
        close_site(&r->sites[i]);
        buf_close(&r->sites[i].token);
    }
    for (size_t i = 0; i < r->link_count; i++)
        for (size_t k = 0; k < 3; k++)
            buf_close(&r->links[i].tokens[k]);
}

static void run_seed(unsigned long long seed, size_t sites, bool is_ring)
{
    struct run *r = mem_zalloc(1, sizeof(*r));
    printf("seed %llu, %zu sites%s\n", seed, sites, is_ring ? ", a ring" : "");
    fflush(stdout);
    r->world = sim_world_new(&(struct sim_options){.seed = seed});
    rand_init(&r->rand, seed);
    r->site_count = sites;
    r->is_ring = is_ring;
    r->steps = 60 + rand_below(&r->rand, 200);
    sim_run(r->world, work, r);
    world_free(r->world);
    mem_free(r);
}

START_TEST(test_two_sites)
{
    for (unsigned long long i = 0; i < 6; i++)
        run_seed(test_seed() + i, 2, false);
}

END_TEST

START_TEST(test_three_sites)
{
    for (unsigned long long i = 0; i < 4; i++)
        run_seed(test_seed() + 1000 + i, 3, false);
}

END_TEST

START_TEST(test_ring)
{
    for (unsigned long long i = 0; i < 4; i++)
        run_seed(test_seed() + 2000 + i, 3, true);
}

END_TEST

TEST_MAIN("convergence", test_two_sites, test_three_sites, test_ring)
