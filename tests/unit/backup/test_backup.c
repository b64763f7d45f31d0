/* A backup gives back what a scan said when it was made: of random tables with
 * versions, ages, aggregates, groups, changes and an index, which are written
 * to, deleted, flushed, compacted, split and reopened between backups. Backups
 * that are dropped leave the others whole. Any byte of a backup that is changed
 * is told. In the simulated world. */
#include <stdio.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/backup/backup_manifest.h"
#include "bigtable/quarry_backup.h"
#include "bigtable/quarry_index.h"
#include "gfs-lite/fs.h"
#include "tests/lib/check_main.h"

enum {
    ROWS = 7,
    BACKUPS_MAX = 6
};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

struct kept_backup {
    char name[16];
    struct buf rows[2]; /* Of the tables, as text. */
    bool there;
};

struct backup_story {
    struct world *world;
    struct rand_gen rand;
    struct quarry *q;
    struct quarry_table *t[2];
    struct quarry_backups *b;
    struct kept_backup kept[BACKUPS_MAX];
    size_t count;
};

static const char *const names[2] = {"t", "u"};

static void story_open(struct backup_story *s)
{
    const struct quarry_options o = {.world = s->world, .background_tasks = 1};
    OK(quarry_open("file:/q", &o, &s->q, &err));
    for (size_t i = 0; i < 2; i++)
        OK(quarry_table_open(s->q, names[i], &s->t[i], &err));
}

static void story_close(struct backup_story *s)
{
    for (size_t i = 0; i < 2; i++)
        quarry_table_close(s->t[i]);
    quarry_close(s->q);
}

static void story_begin(struct backup_story *s)
{
    const struct quarry_options o = {.world = s->world, .background_tasks = 1};
    const struct quarry_backup_options how = {.world = s->world, .jobs = 2};
    const struct quarry_family_spec f[] = {{"a", "versions=3"},
                                           {"b", "group=g"},
                                           {"c", "ttl=200h"},
                                           {"n", "aggregate=sum"}};
    const struct quarry_group_spec g = {"g", ""};
    OK(quarry_open("file:/q", &o, &s->q, &err));
    OK(quarry_table_create_with_changes(s->q, "t", f, 4, &g, 1, "7d", &err));
    OK(quarry_table_create(s->q, "u", f, 4, &g, 1, &err));
    quarry_close(s->q);
    story_open(s);
    OK(quarry_backups_open("file:/bk", &how, &s->b, &err));
}

/* --- what is there ------------------------------------------------------- */

static void row_text(const struct quarry_row *row, struct buf *out)
{
    buf_append_slice(out, row->key);
    for (size_t i = 0; i < row->cell_count; i++)
        buf_printf(out, " %.*s:%.*s@%lld=%.*s", SLICE_ARG(row->cells[i].family),
                   SLICE_ARG(row->cells[i].qualifier),
                   (long long)row->cells[i].timestamp_us,
                   SLICE_ARG(row->cells[i].value));
    buf_append_byte(out, '\n');
}

static void table_text(struct quarry_table *t, struct buf *out)
{
    const struct quarry_row *row = NULL;
    struct quarry_scanner *s;
    OK(quarry_scan(t, NULL, &s, &err));
    buf_clear(out);
    for (;;) {
        OK(quarry_scanner_next(s, &row, &err));
        if (!row)
            break;
        row_text(row, out);
    }
    quarry_scanner_close(s);
}

/* --- steps --------------------------------------------------------------- */

static void put_entry(struct backup_story *s, struct quarry_mutation *m)
{
    static const char *const families[] = {"a", "b", "c"};
    static const char *const qualifiers[] = {"", "p", "pq"};
    const char *family = families[rand_below(&s->rand, 3)];
    struct slice q = slice_str(qualifiers[rand_below(&s->rand, 3)]);
    int64_t now = (int64_t)world_now_us(s->world);
    int64_t us = rand_one_in(&s->rand, 2)
                     ? QUARRY_NOW
                     : now - (int64_t)rand_below(&s->rand, 4) * 1000;
    char value[24];
    snprintf(value, sizeof(value), "%llu",
             (unsigned long long)rand_below(&s->rand, 1000));
    switch (rand_below(&s->rand, 12)) {
    case 0: quarry_mutation_delete_row(m); break;
    case 1: quarry_mutation_delete_family(m, family); break;
    case 2: quarry_mutation_delete_cells(m, family, q, 0, 0); break;
    case 3: quarry_mutation_delete_cells(m, family, q, 0, now); break;
    case 4: quarry_mutation_add(m, "n", q, 1000, 7); break;
    default: quarry_mutation_set(m, family, q, us, slice_str(value)); break;
    }
}

static void put_row(struct backup_story *s)
{
    char name = (char)('a' + rand_below(&s->rand, ROWS));
    struct quarry_mutation *m = quarry_mutation_new(slice_make(&name, 1));
    size_t count = 1 + rand_below(&s->rand, 4);
    for (size_t i = 0; i < count; i++)
        put_entry(s, m);
    OK(quarry_apply(s->t[rand_below(&s->rand, 2)], m, NULL, &err));
    quarry_mutation_free(m);
}

static void make_backup(struct backup_story *s)
{
    struct kept_backup *k = &s->kept[s->count];
    if (s->count == BACKUPS_MAX)
        return;
    snprintf(k->name, sizeof(k->name), "b%u", (unsigned)s->count % 100);
    for (size_t i = 0; i < 2; i++)
        table_text(s->t[i], &k->rows[i]);
    OK(quarry_backup_create(s->b, s->q, k->name, NULL, 0, NULL, &err));
    k->there = true;
    s->count++;
    ck_assert_int_eq(
        quarry_backup_create(s->b, s->q, k->name, NULL, 0, NULL, &err),
        ERR_EXISTS);
}

static void drop_backup(struct backup_story *s)
{
    struct kept_backup *k = &s->kept[rand_below(&s->rand, BACKUPS_MAX)];
    const char *name = k->name;
    if (!k->there)
        return;
    OK(quarry_backup_drop(s->b, &name, 1, 0, NULL, &err));
    k->there = false;
    OK(quarry_backup_verify(s->b, NULL, 0, NULL, &err));
}

static void story_step(struct backup_story *s)
{
    struct slice row = slice_make("d", 1);
    switch (rand_below(&s->rand, 24)) {
    case 0: OK(quarry_flush(s->q, &err)); break;
    case 1:
        OK(quarry_table_compact(s->q, names[rand_below(&s->rand, 2)], &err));
        break;
    case 2: OK(quarry_table_split(s->q, "t", row, &err)); break;
    case 3:
        story_close(s);
        story_open(s);
        break;
    case 4: make_backup(s); break;
    case 5: drop_backup(s); break;
    default: put_row(s); break;
    }
}

/* Restore @k into the store @target and compare; then write to it, and compare
 * again after a compaction and an open: what is written is the newest. */
static void
compare_restored(struct backup_story *s, struct kept_backup *k, const char *dir)
{
    const struct quarry_options o = {.world = s->world, .background_tasks = 1};
    const struct quarry_backup_choice choices[] = {{"t", "x"}, {"u", NULL}};
    struct buf text = BUF_INIT;
    struct quarry_table *t;
    struct quarry *q;
    OK(quarry_open(dir, &o, &q, &err));
    OK(quarry_backup_restore(s->b, k->name, q, choices, 2, false, NULL, &err));
    ck_assert_int_eq(
        quarry_backup_restore(s->b, k->name, q, choices, 2, false, NULL, &err),
        ERR_EXISTS);
    for (int round = 0; round < 2; round++) {
        OK(quarry_table_open(q, "x", &t, &err));
        table_text(t, &text);
        ck_assert_str_eq(buf_cstr(&text), buf_cstr(&k->rows[0]));
        quarry_table_close(t);
        OK(quarry_table_open(q, "u", &t, &err));
        table_text(t, &text);
        ck_assert_str_eq(buf_cstr(&text), buf_cstr(&k->rows[1]));
        quarry_table_close(t);
        quarry_close(q);
        OK(quarry_open(dir, &o, &q, &err));
        OK(quarry_table_compact(q, "x", &err));
    }
    OK(quarry_table_drop(q, "x", &err));
    OK(quarry_table_drop(q, "u", &err));
    quarry_close(q);
    buf_close(&text);
}

static void story_work(void *arg)
{
    const struct quarry_index_column by = {"a", SLICE_LIT("p")};
    const struct quarry_index_spec spec = {
        .table = "t", .name = "by_p", .columns = &by, .column_count = 1};
    struct backup_story *s = arg;
    story_begin(s);
    OK(quarry_index_create(s->q, &spec, NULL, NULL, &err));
    for (size_t i = 0; i < 200; i++)
        story_step(s);
    make_backup(s);
    OK(quarry_backup_verify(s->b, NULL, 0, NULL, &err));
    for (size_t i = 0; i < s->count; i++)
        if (s->kept[i].there)
            compare_restored(s, &s->kept[i], i % 2 ? "file:/r1" : "file:/r2");
    story_close(s);
    quarry_backups_close(s->b);
}

static struct backup_story *story_new(uint64_t seed)
{
    struct backup_story *s = mem_zalloc(1, sizeof(*s));
    rand_init(&s->rand, seed);
    s->world = sim_world_new(&(struct sim_options){.seed = seed});
    return s;
}

static void story_free(struct backup_story *s)
{
    world_free(s->world);
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < 2; k++)
            buf_close(&s->kept[i].rows[k]);
    mem_free(s);
}

START_TEST(test_tables_come_back_as_they_were)
{
    for (uint64_t i = 0; i < 8; i++) {
        struct backup_story *s = story_new(test_seed() + i);
        sim_run(s->world, story_work, s);
        story_free(s);
    }
}

END_TEST

/* --- moments ------------------------------------------------------------- */

enum {
    MOMENTS_MAX = 24
};

struct moment {
    int64_t us;
    struct buf rows;
    bool archived;  /* A call of the archive came after it. */
    bool backed_up; /* A backup that an archive continues came before. */
};

struct moments {
    struct backup_story *story;
    struct moment list[MOMENTS_MAX];
    size_t count;
    bool has_archive;
    bool has_backup;
};

static void keep_moment(struct moments *m)
{
    struct moment *k = &m->list[m->count % MOMENTS_MAX];
    world_sleep_us(m->story->world, 2000);
    buf_close(&k->rows);
    *k = (struct moment){.us = (int64_t)world_now_us(m->story->world),
                         .backed_up = m->has_backup};
    table_text(m->story->t[0], &k->rows);
    m->count++;
    world_sleep_us(m->story->world, 2000);
}

static void archive_now(struct moments *m)
{
    const char *const table = "t";
    world_sleep_us(m->story->world, 2000);
    OK(quarry_backup_archive(m->story->b, m->story->q, &table, 1, false, NULL,
                             &err));
    m->has_archive = true;
    for (size_t i = 0; i < MOMENTS_MAX; i++)
        m->list[i].archived = true;
}

/* Another store gets the table as it was; what cannot be is refused. */
static void restore_moment(struct moments *m, struct moment *k)
{
    const struct quarry_options o = {.world = m->story->world,
                                     .background_tasks = 1};
    const struct quarry_backup_choice choice = {"t", "x"};
    struct buf text = BUF_INIT;
    char **tables = NULL;
    size_t count = 0;
    struct quarry_table *t;
    struct quarry *q;
    int rc;
    OK(quarry_open("file:/r3", &o, &q, &err));
    rc = quarry_backup_restore_to(m->story->b, NULL, q, &choice, 1, false,
                                  k->us, NULL, &err);
    /* A later backup does as well if nothing was written in between. */
    if (!k->archived || (!k->backed_up && rc)) {
        ck_assert_msg(rc == ERR_EXHAUSTED || rc == ERR_INVALID ||
                          rc == ERR_NOTFOUND,
                      "%d %s", rc, err.text);
    } else {
        ck_assert_msg(rc == 0, "%s", err.text);
        OK(quarry_table_open(q, "x", &t, &err));
        table_text(t, &text);
        ck_assert_str_eq(buf_cstr(&text), buf_cstr(&k->rows));
        quarry_table_close(t);
        OK(quarry_table_drop(q, "x", &err));
    }
    OK(quarry_table_list(q, &tables, &count, &err));
    ck_assert_uint_eq(count, 0);
    quarry_names_free(tables, count);
    quarry_close(q);
    buf_close(&text);
}

static void moments_step(struct moments *m)
{
    const char *const table = "t";
    char name[16];
    switch (rand_below(&m->story->rand, 12)) {
    case 0: archive_now(m); break;
    case 1:
    case 2: keep_moment(m); break;
    case 3:
        if (!rand_one_in(&m->story->rand, 2))
            break;
        snprintf(name, sizeof(name), "m%zu", m->story->count++ % 10000);
        OK(quarry_backup_create(m->story->b, m->story->q, name, &table, 1, NULL,
                                &err));
        m->has_backup |= m->has_archive;
        break;
    case 4: OK(quarry_flush(m->story->q, &err)); break;
    case 5: OK(quarry_table_compact(m->story->q, "t", &err)); break;
    case 6:
        if (rand_one_in(&m->story->rand, 3)) {
            story_close(m->story);
            story_open(m->story);
        } else {
            OK(quarry_table_split(m->story->q, "t", slice_make("d", 1), &err));
        }
        break;
    default:
        for (int i = 0; i < 3; i++)
            put_row(m->story);
        break;
    }
}

static void moments_work(void *arg)
{
    struct moments m = {.story = arg};
    story_begin(m.story);
    for (size_t i = 0; i < 150; i++) {
        moments_step(&m);
        if (m.count > 0 && rand_one_in(&m.story->rand, 12))
            restore_moment(
                &m, &m.list[rand_below(&m.story->rand,
                                       MIN_OF(m.count, (size_t)MOMENTS_MAX))]);
    }
    archive_now(&m);
    for (size_t i = 0; i < MIN_OF(m.count, (size_t)MOMENTS_MAX); i++)
        restore_moment(&m, &m.list[i]);
    for (size_t i = 0; i < MOMENTS_MAX; i++)
        buf_close(&m.list[i].rows);
    story_close(m.story);
    quarry_backups_close(m.story->b);
    m.story->count = 0;
}

/* A backup and the archive of its table give back what a scan said at any
 * moment between, sums included, over flushes, compactions, splits and opens;
 * moments that the archive does not reach, or that no backup precedes, are
 * refused. */
START_TEST(test_tables_come_back_as_of_a_moment)
{
    for (uint64_t i = 0; i < 6; i++) {
        struct backup_story *s = story_new(test_seed() + i);
        sim_run(s->world, moments_work, s);
        story_free(s);
    }
}

END_TEST

/* --- damage -------------------------------------------------------------- */

struct damaging {
    struct backup_story *story;
    struct fs *fs;
    char path[256];
    size_t bytes; /* That were changed. */
};

static void damage_file(struct damaging *d)
{
    struct buf whole = BUF_INIT;
    OK(fs_read_all(d->fs, d->path, 1 << 20, &whole, &err));
    for (size_t i = 0; i < whole.len; i++) {
        whole.data[i] ^= 0x41;
        OK(fs_replace(d->fs, d->path, buf_slice(&whole), &err));
        ck_assert_msg(quarry_backup_verify(d->story->b, NULL, 0, NULL, NULL) ==
                          ERR_CORRUPT,
                      "%s: byte %zu", d->path, i);
        whole.data[i] ^= 0x41;
        d->bytes++;
    }
    OK(fs_replace(d->fs, d->path, buf_slice(&whole), &err));
    OK(quarry_backup_verify(d->story->b, NULL, 0, NULL, &err));
    buf_close(&whole);
}

static void damage_tree(struct damaging *d)
{
    char **list = NULL;
    size_t count = 0;
    size_t len = strlen(d->path);
    OK(fs_list(d->fs, d->path, &list, &count, &err));
    for (size_t i = 0; i < count; i++) {
        struct fs_info info;
        if (list[i][0] == '.')
            continue;
        snprintf(d->path + len, sizeof(d->path) - len, "/%s", list[i]);
        OK(fs_stat(d->fs, d->path, &info, &err));
        if (info.is_directory)
            damage_tree(d);
        else
            damage_file(d);
        d->path[len] = '\0';
    }
    fs_names_free(list, count);
}

static void damage_work(void *arg)
{
    struct damaging d = {.story = arg};
    story_begin(d.story);
    for (size_t i = 0; i < 5; i++)
        put_row(d.story);
    make_backup(d.story);
    OK(fs_local_open(d.story->world, "/bk", &d.fs, &err));
    snprintf(d.path, sizeof(d.path), "files");
    damage_tree(&d);
    snprintf(d.path, sizeof(d.path), "backups");
    damage_tree(&d);
    ck_assert_uint_gt(d.bytes, 1000);
    fs_close(d.fs);
    story_close(d.story);
    quarry_backups_close(d.story->b);
}

START_TEST(test_every_byte_that_is_changed_is_told)
{
    struct backup_story *s = story_new(test_seed());
    sim_run(s->world, damage_work, s);
    story_free(s);
}

END_TEST

TEST_MAIN("backup",
          test_tables_come_back_as_they_were,
          test_tables_come_back_as_of_a_moment,
          test_every_byte_that_is_changed_is_told)
