/* A reader keeps its tokens and what it was told in one step, between which
 * nothing parks: as a consumer that keeps both in one transaction.
 */
#include "tests/sim/told_changes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/quarry_changes.h"
#include "tests/sim/row_model.h"

#define WRITES_MAX  20000
#define READERS_MAX 4
#define ROWS_MAX    100
/* Calls of a reader for each time that it opens one. */
#define CALLS   4
#define WAIT_US (SECOND_US / 5)
#define PAD     200

struct written {
    unsigned row;
    int64_t begin; /* Events; end 0: not acknowledged. */
    int64_t end;
};

struct told_reader {
    struct told_changes *all;
    const char *name;
    bool divides;
    bool watermarks;
    struct buf *tokens; /* Of neighbouring ranges, in order; owned. */
    size_t token_count;
    int64_t watermark_us;
    uint64_t *places; /* Of each write: when it was told, from 1; 0: not yet. */
    uint64_t count;
    uint64_t handed; /* Changes, with those that it does not take. */

    struct row_place {
        int64_t us;
        uint64_t sequence;
    } rows[ROWS_MAX]; /* The last commit of each. */
    struct row_model *model;
    void (*each)(void *ctx, const struct quarry_change *c); /* NULL: none; */
    void *ctx; /* else commits of elsewhere are not taken. */
};

struct told_changes {
    unsigned rows;
    struct written *writes; /* Number i has id i + 1. */
    uint64_t count;
    uint64_t acknowledged;
    int64_t now; /* Events so far. */
    struct told_reader *readers[READERS_MAX];
    size_t reader_count;
};

struct told_changes *told_changes_new(unsigned rows)
{
    struct told_changes *t = mem_zalloc(1, sizeof(*t));
    PRE(rows <= ROWS_MAX);
    t->rows = rows;
    t->writes = mem_zalloc(WRITES_MAX, sizeof(*t->writes));
    return t;
}

static void free_tokens(struct told_reader *r)
{
    for (size_t i = 0; i < r->token_count; i++)
        buf_close(&r->tokens[i]);
    mem_free(r->tokens);
    r->tokens = NULL;
    r->token_count = 0;
}

void told_changes_free(struct told_changes *t)
{
    for (size_t i = 0; i < t->reader_count; i++) {
        free_tokens(t->readers[i]);
        row_model_free(t->readers[i]->model);
        mem_free(t->readers[i]->places);
        mem_free(t->readers[i]);
    }
    mem_free(t->writes);
    mem_free(t);
}

/* --- writing ------------------------------------------------------------- */

void told_table_create(struct quarry *q)
{
    const struct quarry_family_spec f[] = {{"f", ""}, {"g", "group=g"}};
    const struct quarry_group_spec g = {"g", ""};
    struct err err = ERR_INIT;
    STORM_CHECK(
        quarry_table_create_with_changes(q, "t", f, 2, &g, 1, "90d", &err) == 0,
        "%s", err.text);
}

/* Add what a commit does beside its number. */
static void add_deed(struct quarry_mutation *m, struct rand_gen *rand)
{
    const char *family = rand_one_in(rand, 2) ? "f" : "g";
    int64_t us = 1000 * (int64_t)(1 + rand_below(rand, 4));
    char pad[PAD + 1];
    snprintf(pad, sizeof(pad), "%0*u", PAD, (unsigned)rand_below(rand, 1000));
    switch (rand_below(rand, 12)) {
    case 0: quarry_mutation_delete_row(m); break;
    case 1: quarry_mutation_delete_family(m, family); break;
    case 2:
        quarry_mutation_delete_cells(m, family, SLICE_LIT("old"), us,
                                     us + 2000);
        break;
    case 3:
        quarry_mutation_delete_cells(m, family, SLICE_LIT("id"), 0, 0);
        break;
    case 4:
    case 5:
    case 6:
        quarry_mutation_set(m, family, SLICE_LIT("old"), us, slice_str(pad));
        break;
    default:
        quarry_mutation_set(m, family, SLICE_LIT("new"), QUARRY_NOW,
                            slice_str(pad));
    }
}

void told_write(struct told_changes *t,
                struct quarry_table *table,
                struct rand_gen *rand)
{
    struct written *w = &t->writes[t->count];
    struct quarry_write_options o = {QUARRY_SYNCED};
    uint64_t id = ++t->count;
    struct quarry_mutation *m;
    char name[8];
    char number[24];
    STORM_CHECK(t->count < WRITES_MAX, "too many writes");
    *w = (struct written){.row = (unsigned)rand_below(rand, t->rows),
                          .begin = ++t->now};
    snprintf(name, sizeof(name), "r%02u", w->row % 100);
    snprintf(number, sizeof(number), "%" PRIu64, id);
    m = quarry_mutation_new(slice_str(name));
    add_deed(m, rand);
    quarry_mutation_set(m, "f", SLICE_LIT("id"), QUARRY_NOW, slice_str(number));
    quarry_mutation_set(m, "g", SLICE_LIT("id"), QUARRY_NOW, slice_str(number));
    if (rand_one_in(rand, 4)) /* May be lost, unless somebody was told. */
        o.durability = QUARRY_LOGGED;
    if (quarry_apply(table, m, &o, NULL) == 0 &&
        o.durability == QUARRY_SYNCED) {
        w->end = ++t->now;
        t->acknowledged++;
    }
    quarry_mutation_free(m);
}

uint64_t told_acknowledged(const struct told_changes *t)
{
    return t->acknowledged;
}

/* --- what a reader was told ---------------------------------------------- */

struct told_reader *told_reader_new(struct told_changes *t,
                                    const char *name,
                                    bool divides,
                                    bool watermarks)
{
    struct told_reader *r = mem_zalloc(1, sizeof(*r));
    PRE(t->reader_count < READERS_MAX);
    PRE(!divides || !watermarks);
    r->all = t;
    r->name = name;
    r->divides = divides;
    r->watermarks = watermarks;
    r->places = mem_zalloc(WRITES_MAX, sizeof(*r->places));
    r->model = row_model_new();
    t->readers[t->reader_count++] = r;
    return r;
}

void told_reader_local(struct told_reader *r,
                       void (*each)(void *ctx, const struct quarry_change *c),
                       void *ctx)
{
    r->each = each;
    r->ctx = ctx;
}

uint64_t told_id(const struct quarry_change *c)
{
    uint64_t ids[2] = {0, 0};
    for (size_t i = 0; i < c->entry_count; i++) {
        const struct quarry_change_entry *e = &c->entries[i];
        if (e->kind == QUARRY_CHANGE_SET && slice_eq_str(e->qualifier, "id"))
            STORM_CHECK(
                text_parse_u64(e->value,
                               &ids[slice_eq_str(e->family, "g") ? 1 : 0],
                               NULL) == 0,
                "a number that was not written");
    }
    STORM_CHECK(ids[0] && ids[0] == ids[1],
                "row %.*s: a part of commit %" PRIu64 " is told",
                SLICE_ARG(c->row), MAX_OF(ids[0], ids[1]));
    return ids[0];
}

static void check_order(struct told_reader *r,
                        const struct quarry_change *c,
                        uint64_t id,
                        unsigned row)
{
    struct row_place *last = &r->rows[row];
    STORM_CHECK(c->commit_us > last->us ||
                    (c->commit_us == last->us && c->sequence > last->sequence),
                "%s: commit %" PRIu64 " of row %u is told behind a later one",
                r->name, id, row);
    *last = (struct row_place){c->commit_us, c->sequence};
}

static void take_change(struct told_reader *r, const struct quarry_change *c)
{
    const struct written *w;
    uint64_t id;
    char name[8];
    r->handed++;
    if (r->each && c->origin.site)
        return;
    id = told_id(c);
    STORM_CHECK(id <= r->all->count, "%s: nobody wrote commit %" PRIu64,
                r->name, id);
    w = &r->all->writes[id - 1];
    snprintf(name, sizeof(name), "r%02u", w->row % 100);
    STORM_CHECK(slice_eq_str(c->row, name),
                "%s: commit %" PRIu64 " has another row", r->name, id);
    STORM_CHECK(r->places[id - 1] == 0, "%s: commit %" PRIu64 " is told twice",
                r->name, id);
    STORM_CHECK(!r->watermarks || c->commit_us > r->watermark_us,
                "%s: commit %" PRIu64 " of %" PRId64 " is told behind the "
                "watermark %" PRId64,
                r->name, id, c->commit_us, r->watermark_us);
    r->places[id - 1] = ++r->count;
    check_order(r, c, id, w->row);
    row_model_apply(r->model, c);
    if (r->each)
        r->each(r->ctx, c);
}

/* --- tokens -------------------------------------------------------------- */

/* Put the tokens of @c in the place of token @at. */
static void
put_parts(struct told_reader *r, size_t at, struct quarry_changes *c)
{
    size_t parts = quarry_changes_part_count(c);
    struct buf *list = mem_zalloc(r->token_count + parts, sizeof(struct buf));
    size_t n = 0;
    for (size_t i = 0; i < at; i++)
        list[n++] = r->tokens[i];
    for (size_t i = 0; i < parts; i++)
        (void)quarry_changes_part(c, i, &list[n++]);
    for (size_t i = at + 1; i < r->token_count; i++)
        list[n++] = r->tokens[i];
    buf_close(&r->tokens[at]);
    mem_free(r->tokens);
    r->tokens = list;
    r->token_count = n;
}

static void join_two(struct told_reader *r, size_t at)
{
    struct err err = ERR_INIT;
    STORM_CHECK(quarry_changes_token_join(
                    &r->tokens[at], buf_slice(&r->tokens[at + 1]), &err) == 0,
                "%s: %s", r->name, err.text);
    buf_close(&r->tokens[at + 1]);
    for (size_t i = at + 1; i + 1 < r->token_count; i++)
        r->tokens[i] = r->tokens[i + 1];
    r->token_count--;
}

static void
keep_tokens(struct told_reader *r, size_t at, struct quarry_changes *c)
{
    if (r->divides) {
        put_parts(r, at, c);
    } else {
        buf_clear(&r->tokens[at]);
        quarry_changes_token(c, &r->tokens[at]);
    }
}

/* --- reading ------------------------------------------------------------- */

/* An error that no fault explains. */
static void
check_error(const struct told_reader *r, int rc, const struct err *e)
{
    STORM_CHECK(rc != ERR_CORRUPT && rc != ERR_INVALID && rc != ERR_EXHAUSTED &&
                    rc != ERR_UNSUPPORTED,
                "%s: %s", r->name, e->text);
}

/* Take the first @n of those that were told last, and keep the place behind
 * them. */
static void take_some(struct told_reader *r,
                      size_t at,
                      struct quarry_changes *c,
                      const struct quarry_change *list,
                      size_t count,
                      size_t n)
{
    int64_t *us = mem_zalloc(count, sizeof(*us));
    struct err err = ERR_INIT;
    for (size_t i = 0; i < n; i++)
        take_change(r, &list[i]);
    quarry_changes_watermarks(c, us);
    buf_clear(&r->tokens[at]);
    STORM_CHECK(quarry_changes_token_behind(c, n - 1, &r->tokens[at], &err) ==
                    0,
                "%s: %s", r->name, err.text);
    if (r->watermarks)
        r->watermark_us = MAX_OF(r->watermark_us, us[n - 1]);
    mem_free(us);
}

/* One call. True: it may be followed by another. */
static bool read_once(struct told_reader *r,
                      size_t at,
                      struct quarry_changes *c,
                      struct rand_gen *rand,
                      bool *failed)
{
    const struct quarry_change *list;
    struct err err = ERR_INIT;
    size_t count;
    int rc = quarry_changes_next(c, WAIT_US, &list, &count, &err);
    check_error(r, rc, &err);
    *failed = rc != 0;
    if (rc)
        return false;
    if (count > 1 && rand_one_in(rand, 4)) {
        take_some(r, at, c, list, count, 1 + rand_below(rand, count - 1));
        return false;
    }
    for (size_t i = 0; i < count; i++)
        take_change(r, &list[i]);
    if (r->watermarks)
        r->watermark_us = MAX_OF(r->watermark_us, quarry_changes_watermark(c));
    if (!r->divides || quarry_changes_part_count(c) == 1) {
        keep_tokens(r, at, c);
        return count > 0;
    }
    keep_tokens(r, at, c);
    return false; /* It is several tokens now. */
}

/* The first token: of all changes that there are. */
static bool begin(struct told_reader *r, struct quarry_table *table)
{
    const struct quarry_changes_options o = {.since_us = QUARRY_CHANGES_OLDEST};
    struct quarry_changes *c;
    struct err err = ERR_INIT;
    int rc = quarry_changes_open(table, &o, &c, &err);
    check_error(r, rc, &err);
    if (rc)
        return false;
    r->tokens = mem_zalloc(1, sizeof(*r->tokens));
    r->token_count = 1;
    quarry_changes_token(c, &r->tokens[0]);
    quarry_changes_close(c);
    return true;
}

enum told_outcome told_read(struct told_reader *r,
                            struct quarry_table *table,
                            struct rand_gen *rand)
{
    struct quarry_changes_options o = {.batch_bytes =
                                           1 + rand_below(rand, 3000)};
    uint64_t before = r->handed;
    bool failed = false;
    struct quarry_changes *c;
    struct err err = ERR_INIT;
    size_t at;
    int rc;
    if (r->token_count == 0 && !begin(r, table))
        return TOLD_ERROR;
    if (r->token_count > 1 && rand_one_in(rand, 4))
        join_two(r, rand_below(rand, r->token_count - 1));
    at = rand_below(rand, r->token_count);
    o.token = buf_slice(&r->tokens[at]);
    rc = quarry_changes_open(table, &o, &c, &err);
    check_error(r, rc, &err);
    if (rc)
        return TOLD_ERROR;
    for (int i = 0; i < CALLS && read_once(r, at, c, rand, &failed); i++)
        ;
    quarry_changes_close(c);
    return failed ? TOLD_ERROR : r->handed > before ? TOLD_SOME : TOLD_NOTHING;
}

void told_reader_unite(struct told_reader *r)
{
    while (r->token_count > 1)
        join_two(r, 0);
    r->divides = false;
}

/* --- the outcome --------------------------------------------------------- */

bool told_all(const struct told_reader *r)
{
    for (uint64_t i = 0; i < r->all->count; i++)
        if (r->all->writes[i].end && r->places[i] == 0)
            return false;
    return true;
}

int64_t told_watermark_us(const struct told_reader *r)
{
    return r->watermarks ? r->watermark_us : 0;
}

bool told_has(const struct told_reader *r, uint64_t id)
{
    STORM_CHECK(id && id <= r->all->count, "nobody wrote commit %" PRIu64, id);
    return r->places[id - 1] > 0;
}

uint64_t told_count(const struct told_reader *r)
{
    return r->count;
}

/* Of two writes to a row, the one that was acknowledged before the other began
 * is told before it. */
static void check_pair(const struct told_reader *r, uint64_t a, uint64_t b)
{
    const struct written *x = &r->all->writes[a];
    const struct written *y = &r->all->writes[b];
    if (x->row == y->row && x->end && x->end < y->begin && r->places[b])
        STORM_CHECK(r->places[a] && r->places[a] < r->places[b],
                    "%s: commit %" PRIu64 " is told before %" PRIu64
                    ", which was there when it began",
                    r->name, b + 1, a + 1);
}

void told_check_orders(const struct told_reader *r)
{
    for (uint64_t i = 0; i < r->all->count; i++) {
        STORM_CHECK(r->all->writes[i].end == 0 || r->places[i],
                    "%s: commit %" PRIu64 " of row %u was acknowledged, and is "
                    "not told",
                    r->name, i + 1, r->all->writes[i].row);
        for (uint64_t k = i + 1; k < r->all->count; k++)
            check_pair(r, i, k);
    }
}

void told_check(struct told_reader *r, struct quarry_table *table)
{
    told_check_orders(r);
    row_model_check(r->model, table, r->name);
}
