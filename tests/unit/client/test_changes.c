/* Changes of a table against an obvious model: each commit that is told was
 * made as it is told, whole, once, and in the order of its row; whatever is
 * flushed, compacted, split, reopened or cut off in between, nothing that was
 * acknowledged as synced is missed, and what was told is still there after a
 * power cut. Made again of its changes, a table has equal cells. In the
 * simulated world. */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"

enum {
    ROWS = 9,
    COMMITS_MAX = 4000
};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

/* A commit that was asked for: the text of each commit, by its number. */
struct issued {
    char *text; /* Owned. */
    unsigned row;
    bool synced;
};

/* Commits that a reader was told of each row: numbers of commits. */
struct told {
    struct buf rows[ROWS]; /* size_t. */
    size_t count;
};

struct run_state {
    struct world *world;
    struct rand_gen rand;
    struct quarry *q;
    struct quarry_table *t;
    struct issued issued[COMMITS_MAX];
    size_t issued_count;
    struct buf token;
    struct told told;
    int64_t watermark_us;
    size_t steps;
    uint64_t cut_at_sync; /* The power goes there; 0: it does not. */
    bool deletes;
};

static struct slice row_name(unsigned row)
{
    /* One has an escape in its key, one is a prefix of another. */
    static const char *const names[ROWS] = {"a", "ab", "b", "c1",  "c2",
                                            "d", "e",  "f", "g\0h"};
    return row == ROWS - 1 ? slice_make(names[row], 3) : slice_str(names[row]);
}

static unsigned row_number(struct slice name)
{
    for (unsigned i = 0; i < ROWS; i++)
        if (slice_eq(row_name(i), name))
            return i;
    ck_abort_msg("a row that nobody wrote");
    return 0;
}

/* --- the store ----------------------------------------------------------- */

static int open_store(struct run_state *r)
{
    const struct quarry_options o = {.world = r->world, .background_tasks = 1};
    int rc = quarry_open("file:/q", &o, &r->q, &err);
    if (rc == 0)
        rc = quarry_table_open(r->q, "t", &r->t, &err);
    return rc;
}

static void create_tables(struct run_state *r, const char *changes)
{
    const struct quarry_options o = {.world = r->world, .background_tasks = 1};
    const struct quarry_family_spec f[] = {
        {"a", ""}, {"b", "group=g"}, {"n", "aggregate=sum"}};
    const struct quarry_group_spec g = {"g", ""};
    OK(quarry_open("file:/q", &o, &r->q, &err));
    OK(quarry_table_create_with_changes(r->q, "t", f, 3, &g, 1, changes, &err));
    OK(quarry_table_create(r->q, "copy", f, 3, &g, 1, &err));
    OK(quarry_table_open(r->q, "t", &r->t, &err));
}

static void close_store(struct run_state *r)
{
    quarry_table_close(r->t);
    quarry_close(r->q);
    r->t = NULL;
    r->q = NULL;
}

/* --- commits ------------------------------------------------------------- */

static void text_of(const struct quarry_change *c, struct buf *out)
{
    buf_clear(out);
    for (size_t i = 0; i < c->entry_count; i++) {
        const struct quarry_change_entry *e = &c->entries[i];
        buf_printf(out, "%d %.*s:%.*s %lld %lld %.*s;", (int)e->kind,
                   (int)e->family.len, e->family.data, (int)e->qualifier.len,
                   e->qualifier.data, (long long)e->timestamp_us,
                   (long long)e->max_us, (int)e->value.len, e->value.data);
    }
}

static void draw_entry(struct run_state *r, struct quarry_change_entry *e)
{
    static const char *const families[] = {"a", "b", "n"};
    static const char *const qualifiers[] = {"", "p", "pq", "z"};
    uint64_t kind = rand_below(&r->rand, r->deletes ? 12 : 6);
    *e = (struct quarry_change_entry){
        .kind = QUARRY_CHANGE_SET,
        .family = slice_str(families[rand_below(&r->rand, 3)]),
        .qualifier = slice_str(qualifiers[rand_below(&r->rand, 4)])};
    if (kind < 6) {
        e->timestamp_us = (int64_t)rand_below(&r->rand, 5) * 1000;
        e->value = slice_str(qualifiers[rand_below(&r->rand, 4)]);
        if (slice_eq_str(e->family, "n")) {
            e->kind = rand_one_in(&r->rand, 2) ? QUARRY_CHANGE_ADD
                                               : QUARRY_CHANGE_MERGE;
            e->value = SLICE_LIT("\1number\2");
        }
    } else if (kind < 10) {
        e->kind = QUARRY_CHANGE_DELETE_CELLS;
        if (kind < 9) {
            e->timestamp_us = (int64_t)rand_below(&r->rand, 3) * 1000;
            e->max_us = e->timestamp_us + 1000;
        }
    } else {
        e->kind =
            kind == 10 ? QUARRY_CHANGE_DELETE_FAMILY : QUARRY_CHANGE_DELETE_ROW;
        e->qualifier = SLICE_EMPTY;
        if (kind == 11)
            e->family = SLICE_EMPTY;
    }
}

static void add_entry(struct quarry_mutation *m,
                      const struct quarry_change_entry *e)
{
    char family[8];
    snprintf(family, sizeof(family), "%.*s", (int)e->family.len,
             e->family.data ? e->family.data : "");
    switch (e->kind) {
    case QUARRY_CHANGE_SET:
        quarry_mutation_set(m, family, e->qualifier, e->timestamp_us, e->value);
        break;
    case QUARRY_CHANGE_ADD:
        quarry_mutation_add_bytes(m, family, e->qualifier, e->timestamp_us,
                                  e->value);
        break;
    case QUARRY_CHANGE_MERGE:
        quarry_mutation_merge(m, family, e->qualifier, e->timestamp_us,
                              e->value);
        break;
    case QUARRY_CHANGE_DELETE_CELLS:
        quarry_mutation_delete_cells(m, family, e->qualifier, e->timestamp_us,
                                     e->max_us);
        break;
    case QUARRY_CHANGE_DELETE_FAMILY:
        quarry_mutation_delete_family(m, family);
        break;
    case QUARRY_CHANGE_DELETE_ROW: quarry_mutation_delete_row(m); break;
    }
}

/* A commit whose first entry has its number as a time. */
static struct quarry_mutation *draw_commit(struct run_state *r, bool synced)
{
    struct quarry_change_entry entries[6];
    struct quarry_change c = {.entries = entries};
    unsigned row = (unsigned)rand_below(&r->rand, ROWS);
    struct quarry_mutation *m = quarry_mutation_new(row_name(row));
    struct issued *to = &r->issued[r->issued_count];
    struct buf text = BUF_INIT;
    ck_assert_uint_lt(r->issued_count, COMMITS_MAX);
    entries[0] = (struct quarry_change_entry){
        .kind = QUARRY_CHANGE_SET,
        .family = slice_str(rand_one_in(&r->rand, 2) ? "a" : "b"),
        .qualifier = SLICE_LIT("n"),
        .timestamp_us = (int64_t)r->issued_count * 1000};
    c.entry_count = 1 + rand_below(&r->rand, 5);
    for (size_t i = 1; i < c.entry_count; i++)
        draw_entry(r, &entries[i]);
    for (size_t i = 0; i < c.entry_count; i++)
        add_entry(m, &entries[i]);
    text_of(&c, &text);
    *to = (struct issued){mem_strdup(buf_cstr(&text)), row, synced};
    r->issued_count++;
    buf_close(&text);
    return m;
}

static void write_some(struct run_state *r)
{
    struct quarry_mutation *m[8];
    size_t count = 1 + rand_below(&r->rand, 8);
    bool synced = rand_one_in(&r->rand, 3);
    const struct quarry_write_options o = {
        .durability = synced                     ? QUARRY_SYNCED
                      : rand_one_in(&r->rand, 4) ? QUARRY_DEFERRED
                                                 : QUARRY_LOGGED};
    size_t first = r->issued_count;
    int rc;
    for (size_t i = 0; i < count; i++)
        m[i] = draw_commit(r, synced);
    rc = quarry_apply_batch(r->t, m, count, &o, NULL, &err);
    for (size_t i = 0; i < count; i++) {
        r->issued[first + i].synced &= rc == 0;
        quarry_mutation_free(m[i]);
    }
    ck_assert_msg(rc == 0 || sim_is_off(r->world), "%s", err.text);
}

/* --- readers ------------------------------------------------------------- */

static void told_close(struct told *t)
{
    for (size_t i = 0; i < ROWS; i++)
        buf_close(&t->rows[i]);
    t->count = 0;
}

static void
tell(const struct run_state *r, struct told *t, const struct quarry_change *c)
{
    unsigned row = row_number(c->row);
    size_t number = (size_t)(c->entries[0].timestamp_us / 1000);
    const size_t *list = (const void *)t->rows[row].data;
    size_t count = t->rows[row].len / sizeof(*list);
    struct buf text = BUF_INIT;
    text_of(c, &text);
    ck_assert_uint_lt(number, r->issued_count);
    ck_assert_uint_eq(r->issued[number].row, row);
    ck_assert_str_eq(r->issued[number].text, buf_cstr(&text));
    ck_assert_msg(count == 0 || list[count - 1] < number,
                  "commit %zu is told after %zu", number, list[count - 1]);
    buf_append(&t->rows[row], &number, sizeof(number));
    t->count++;
    buf_close(&text);
}

/* Read up to @batches batches, with a fresh reader at @token. */
static int read_changes(struct run_state *r,
                        struct buf *token,
                        struct told *to,
                        size_t batch_bytes,
                        size_t batches)
{
    const struct quarry_changes_options o = {.token = buf_slice(token),
                                             .since_us = QUARRY_CHANGES_OLDEST,
                                             .batch_bytes = batch_bytes};
    const struct quarry_change *list;
    struct quarry_changes *c;
    size_t count = 1;
    int rc = quarry_changes_open(r->t, &o, &c, &err);
    for (size_t i = 0; rc == 0 && i < batches && count > 0; i++) {
        rc = quarry_changes_next(c, 0, &list, &count, &err);
        for (size_t k = 0; rc == 0 && k < count; k++) {
            ck_assert_int_gt(list[k].commit_us, 0);
            tell(r, to, &list[k]);
        }
    }
    if (rc == 0) {
        buf_clear(token);
        quarry_changes_token(c, token);
    }
    quarry_changes_close(c);
    return rc;
}

static void follow(struct run_state *r, size_t batches)
{
    int rc = read_changes(r, &r->token, &r->told, 1 + rand_below(&r->rand, 400),
                          batches);
    ck_assert_msg(rc == 0 || sim_is_off(r->world), "%s", err.text);
}

/* --- steps --------------------------------------------------------------- */

static void split_somewhere(struct run_state *r)
{
    unsigned row = 1 + (unsigned)rand_below(&r->rand, ROWS - 1);
    int rc = quarry_table_split(r->q, "t", row_name(row), &err);
    ck_assert_msg(rc == 0 || sim_is_off(r->world), "%s", err.text);
}

static void step(struct run_state *r)
{
    int rc = 0;
    switch (rand_below(&r->rand, 14)) {
    case 0: rc = quarry_flush(r->q, &err); break;
    case 1: rc = quarry_table_compact(r->q, "t", &err); break;
    case 2:
        if (rand_one_in(&r->rand, 4))
            split_somewhere(r);
        break;
    case 3:
        close_store(r);
        rc = open_store(r);
        break;
    case 4:
    case 5:
    case 6: follow(r, rand_below(&r->rand, 6)); break;
    default: write_some(r); break;
    }
    ck_assert_msg(rc == 0 || sim_is_off(r->world), "%s", err.text);
}

static void work(void *arg)
{
    struct run_state *r = arg;
    create_tables(r, "7d");
    if (r->cut_at_sync)
        sim_power_off_at_sync(r->world, r->cut_at_sync);
    for (size_t i = 0; i < r->steps && !sim_is_off(r->world) && r->t; i++)
        step(r);
    if (r->cut_at_sync && r->t && !sim_is_off(r->world)) {
        write_some(r);
        follow(r, SIZE_MAX);
        sim_power_off(r->world);
    }
    if (r->t)
        close_store(r);
    else if (r->q)
        quarry_close(r->q);
}

/* --- what must hold at the end ------------------------------------------- */

static void expect_equal_told(const struct told *a, const struct told *b)
{
    for (size_t i = 0; i < ROWS; i++)
        ck_assert_msg(slice_eq(buf_slice(&a->rows[i]), buf_slice(&b->rows[i])),
                      "row %zu: %zu commits told, and %zu afterwards", i,
                      a->rows[i].len / sizeof(size_t),
                      b->rows[i].len / sizeof(size_t));
}

static bool was_told(const struct told *t, unsigned row, size_t number)
{
    const size_t *list = (const void *)t->rows[row].data;
    for (size_t i = 0; i < t->rows[row].len / sizeof(*list); i++)
        if (list[i] == number)
            return true;
    return false;
}

static void expect_acknowledged(const struct run_state *r)
{
    for (size_t i = 0; i < r->issued_count; i++)
        ck_assert_msg(!r->issued[i].synced ||
                          was_told(&r->told, r->issued[i].row, i),
                      "commit %zu, synced, is missed", i);
}

static void copy_changes(struct run_state *r)
{
    const struct quarry_changes_options o = {.since_us = QUARRY_CHANGES_OLDEST,
                                             .batch_bytes = 1000};
    const struct quarry_change *list;
    struct quarry_changes *c;
    struct quarry_table *copy;
    size_t count;
    OK(quarry_table_open(r->q, "copy", &copy, &err));
    OK(quarry_changes_open(r->t, &o, &c, &err));
    do {
        OK(quarry_changes_next(c, 0, &list, &count, &err));
        for (size_t i = 0; i < count; i++) {
            struct quarry_mutation *m = quarry_mutation_new(list[i].row);
            for (size_t k = 0; k < list[i].entry_count; k++)
                add_entry(m, &list[i].entries[k]);
            OK(quarry_apply(copy, m, NULL, &err));
            quarry_mutation_free(m);
        }
    } while (count);
    quarry_changes_close(c);
    quarry_table_close(copy);
}

static void scan_text(struct quarry *q, const char *table, struct buf *out)
{
    struct quarry_scanner *s;
    struct quarry_table *t;
    const struct quarry_row *row;
    OK(quarry_table_open(q, table, &t, &err));
    OK(quarry_scan(t, NULL, &s, &err));
    for (;;) {
        OK(quarry_scanner_next(s, &row, &err));
        if (!row)
            break;
        buf_append_slice(out, row->key);
        for (size_t i = 0; i < row->cell_count; i++)
            buf_printf(out, " %.*s:%.*s@%lld=%.*s",
                       (int)row->cells[i].family.len, row->cells[i].family.data,
                       (int)row->cells[i].qualifier.len,
                       row->cells[i].qualifier.data,
                       (long long)row->cells[i].timestamp_us,
                       (int)row->cells[i].value.len, row->cells[i].value.data);
        buf_append_byte(out, '\n');
    }
    quarry_scanner_close(s);
    quarry_table_close(t);
}

static void expect_equal_copy(struct run_state *r)
{
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    copy_changes(r);
    scan_text(r->q, "t", &a);
    scan_text(r->q, "copy", &b);
    ck_assert_str_eq(buf_cstr(&a), buf_cstr(&b));
    buf_close(&a);
    buf_close(&b);
}

static void finish(void *arg)
{
    struct run_state *r = arg;
    struct told all = {.count = 0};
    struct buf token = BUF_INIT;
    OK(open_store(r));
    OK(read_changes(r, &r->token, &r->told, 300, SIZE_MAX));
    OK(read_changes(r, &token, &all, 0, SIZE_MAX));
    expect_equal_told(&r->told, &all);
    expect_acknowledged(r);
    expect_equal_copy(r);
    told_close(&all);
    buf_close(&token);
    close_store(r);
}

static void
run_once(uint64_t seed, size_t steps, uint64_t cut_at_sync, bool deletes)
{
    struct run_state *r = mem_zalloc(1, sizeof(*r));
    r->steps = steps;
    r->cut_at_sync = cut_at_sync;
    r->deletes = deletes;
    rand_init(&r->rand, seed);
    r->world = sim_world_new(&(struct sim_options){.seed = seed});
    sim_run(r->world, work, r);
    sim_power_on(r->world);
    sim_run(r->world, finish, r);
    world_free(r->world);
    ck_assert(cut_at_sync || r->told.count == r->issued_count);
    for (size_t i = 0; i < r->issued_count; i++)
        mem_free(r->issued[i].text);
    told_close(&r->told);
    buf_close(&r->token);
    mem_free(r);
}

START_TEST(test_each_commit_is_told_once_and_whole)
{
    for (uint64_t i = 0; i < 24; i++)
        run_once(test_seed() + i, 150, 0, i % 3 != 0);
}

END_TEST

START_TEST(test_nothing_told_is_lost_by_a_power_cut)
{
    for (uint64_t i = 1; i <= 40; i++)
        run_once(test_seed() + i, 5 * i, 4 * i, true);
}

END_TEST

TEST_MAIN("changes",
          test_each_commit_is_told_once_and_whole,
          test_nothing_told_is_lost_by_a_power_cut)
