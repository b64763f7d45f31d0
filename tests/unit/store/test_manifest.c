/* The manifest gives back every edit that was acknowledged, leaves out one that
 * was cut by a crash, and tells damage from that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "bigtable/row/schema.h"
#include "bigtable/store/manifest.h"
#include "gfs-lite/fs.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

#define NAME         "manifest-000001"
#define SECTOR_BYTES 512

static struct err err;
static struct world *world;
static struct fs *fs;
static char path[400];
static struct manifest_state model;
static uint64_t next_id;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static void setup(void)
{
    const char *dir = test_tmpdir();
    world = world_real_new();
    OK(fs_local_open(world, dir, &fs, &err));
    snprintf(path, sizeof(path), "%s/" NAME, dir);
    manifest_state_init(&model);
    next_id = 1;
}

static void teardown(void)
{
    manifest_state_close(&model);
    fs_close(fs);
    world_free(world);
}

static int open_manifest(bool repair, struct manifest **m)
{
    bool fresh;
    memset(&err, 0, sizeof(err));
    return manifest_open(fs, false, repair, m, &fresh, &err);
}

/* --- Helpers ------------------------------------------------------------- */

/* An edit that makes a table of @families families and one tablet. */
static void table_edit(struct buf *edit, int families)
{
    struct schema *s = schema_new();
    char name[32];
    for (int i = 0; i < families; i++) {
        snprintf(name, sizeof(name), "family%d", i);
        OK(schema_add_family(s, name, "versions=3", &err));
    }
    snprintf(name, sizeof(name), "table%llu", (unsigned long long)next_id);
    edit_put_counters(edit, 1, next_id + 1, next_id + 1, 7);
    edit_put_table(edit, next_id, name, s);
    edit_put_tablet(edit, next_id, next_id, SLICE_EMPTY, SLICE_EMPTY, NULL, 0);
    next_id++;
    schema_free(s);
}

static void commit(struct manifest *m, struct buf *edit)
{
    OK(manifest_commit(m, buf_slice(edit), &err));
    OK(manifest_state_apply(&model, buf_slice(edit), &err));
    buf_clear(edit);
}

static size_t read_file(char *to, size_t room)
{
    FILE *f = fopen(path, "rb");
    size_t got;
    ck_assert(f != NULL);
    got = fread(to, 1, room, f);
    fclose(f);
    ck_assert_uint_lt(got, room);
    return got;
}

static void write_file(const char *bytes, size_t len)
{
    FILE *f = fopen(path, "wb");
    ck_assert(f != NULL);
    ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
    fclose(f);
}

static char file[64 << 10]; /* A manifest, */
static size_t file_len;
static size_t last_at; /* where its last record begins, */
static char damaged[64 << 10];

/* Two tables whose edits are in the model, and a last edit that is not. */
static void write_three(int families)
{
    struct buf edit = BUF_INIT;
    struct manifest *m;
    OK(open_manifest(false, &m));
    for (int i = 0; i < 2; i++) {
        table_edit(&edit, families);
        commit(m, &edit);
    }
    last_at = read_file(file, sizeof(file));
    table_edit(&edit, families);
    OK(manifest_commit(m, buf_slice(&edit), &err));
    file_len = read_file(file, sizeof(file));
    manifest_close(m);
    buf_close(&edit);
}

static void check_state(const struct manifest *m)
{
    struct buf want = BUF_INIT;
    struct buf got = BUF_INIT;
    manifest_state_encode(&model, &want);
    manifest_state_encode(manifest_state(m), &got);
    ck_assert(slice_eq(buf_slice(&got), buf_slice(&want)));
    buf_close(&want);
    buf_close(&got);
}

/* It opens, without the last edit. */
static void check_left_out(bool repair)
{
    struct manifest *m;
    OK(open_manifest(repair, &m));
    check_state(m);
    manifest_close(m);
}

static void check_refused(bool repair, size_t offset, const char *reason)
{
    struct manifest *m;
    char want[200];
    ck_assert_int_eq(open_manifest(repair, &m), ERR_CORRUPT);
    snprintf(want, sizeof(want), NAME ": offset %zu: %s", offset, reason);
    ck_assert_str_eq(err.text, want);
    ck_assert(strstr(err.hint, "restore the store from a copy"));
}

static void copy_file(void)
{
    memcpy(damaged, file, file_len);
}

/* --- Tests --------------------------------------------------------------- */

/* Over reopenings, the state is that of all edits committed. */
START_TEST(test_edits_are_kept)
{
    struct buf edit = BUF_INIT;
    struct rand_gen r;
    struct manifest *m;
    rand_init(&r, test_seed());
    setup();
    OK(open_manifest(false, &m));
    for (int i = 0; i < 60; i++) {
        if (model.table_count && rand_one_in(&r, 3)) {
            size_t k = rand_below(&r, model.table_count);
            edit_drop_table(&edit, model.tables[k].id);
        } else {
            table_edit(&edit, 1 + (int)rand_below(&r, 20));
        }
        commit(m, &edit);
        check_state(m);
        if (rand_one_in(&r, 4)) {
            manifest_close(m);
            OK(open_manifest(false, &m));
            check_state(m);
        }
    }
    manifest_close(m);
    buf_close(&edit);
    teardown();
}

END_TEST

/* A last record that is cut anywhere was not finished. */
START_TEST(test_cut_record_is_left_out)
{
    setup();
    write_three(150);
    ck_assert_uint_gt(file_len - last_at, 2 * SECTOR_BYTES);
    for (size_t len = last_at; len < file_len; len++) {
        write_file(file, len);
        check_left_out(false);
    }
    teardown();
}

END_TEST

/* Nor was one of which a sector never reached the disk, whichever it was. */
START_TEST(test_lost_sector_is_left_out)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    setup();
    write_three(100);
    for (int round = 0; round < 200; round++) {
        bool any = false;
        copy_file();
        for (size_t at = last_at; at < file_len;) {
            size_t to = (at / SECTOR_BYTES + 1) * SECTOR_BYTES;
            if (to > file_len) /* Lost, it would not be in the file's size. */
                break;
            if (rand_one_in(&r, 3)) {
                memset(damaged + at, 0, to - at);
                any = true;
            }
            at = to;
        }
        if (!any)
            continue;
        write_file(damaged, file_len);
        check_left_out(false);
    }
    teardown();
}

END_TEST

/* A last record that is all there but for a flipped bit was acknowledged: it is
 * refused with its place and a remedy, which works. */
START_TEST(test_flipped_bit_is_damage)
{
    setup();
    write_three(5);
    for (size_t at = last_at; at < file_len; at++) {
        for (int bit = 0; bit < 8; bit += 3) {
            copy_file();
            damaged[at] = (char)(damaged[at] ^ 1 << bit);
            write_file(damaged, file_len);
            check_refused(false, last_at, "the last change is damaged");
            check_left_out(true);
        }
    }
    teardown();
}

END_TEST

/* Damage before the last record is refused, and nothing repairs it. */
START_TEST(test_damage_before_the_end)
{
    setup();
    write_three(5);
    for (size_t at = 16; at < last_at; at += 7) {
        copy_file();
        damaged[at] = (char)(damaged[at] ^ 4);
        write_file(damaged, file_len);
        for (int repair = 0; repair < 2; repair++) {
            struct manifest *m;
            ck_assert_int_eq(open_manifest(repair, &m), ERR_CORRUPT);
            ck_assert(strstr(err.text, ": bad record"));
            ck_assert(strstr(err.hint, "restore the store from a copy"));
        }
    }
    copy_file();
    damaged[3] = (char)(damaged[3] ^ 4);
    write_file(damaged, file_len);
    {
        struct manifest *m;
        ck_assert_int_eq(open_manifest(true, &m), ERR_CORRUPT);
        ck_assert_str_eq(err.text, NAME ": offset 0: bad header");
    }
    teardown();
}

END_TEST

static void commit_flush(struct manifest *m)
{
    static const struct lsm_edit nothing;
    struct buf edit = BUF_INIT;
    edit_put_counters(&edit, 5, next_id, next_id, 9);
    edit_change_group(&edit, next_id - 1, 0, &nothing);
    commit(m, &edit);
    buf_close(&edit);
}

/* A reader that holds the log keeps its state beside flushes; it loses it to
 * every change of the tables, to damage, and without the log to a flush. */
START_TEST(test_rows_unchanged)
{
    struct manifest *writer;
    struct manifest *reader;
    struct buf edit = BUF_INIT;
    setup();
    OK(open_manifest(false, &writer));
    table_edit(&edit, 2);
    commit(writer, &edit);
    OK(open_manifest(false, &reader));
    ck_assert(manifest_rows_unchanged(reader, false));
    ck_assert(manifest_rows_unchanged(reader, true));
    commit_flush(writer);
    ck_assert(!manifest_rows_unchanged(reader, false));
    ck_assert(manifest_rows_unchanged(reader, true));
    commit_flush(writer);
    ck_assert(manifest_rows_unchanged(reader, true));
    table_edit(&edit, 1);
    commit(writer, &edit);
    ck_assert(!manifest_rows_unchanged(reader, true));
    manifest_close(reader);
    OK(open_manifest(false, &reader));
    ck_assert(manifest_rows_unchanged(reader, false));
    file_len = read_file(file, sizeof(file));
    file[file_len / 2] ^= 1;
    write_file(file, file_len);
    ck_assert(!manifest_rows_unchanged(reader, true));
    manifest_close(reader);
    manifest_close(writer);
    buf_close(&edit);
    teardown();
}

END_TEST

/* A tablet has at most GROUP_COUNT_MAX groups, also if an edit of one group
 * after the other adds them. */
START_TEST(test_groups_are_bounded)
{
    static const struct lsm_edit nothing;
    struct manifest_state s;
    struct buf edit = BUF_INIT;
    setup();
    manifest_state_init(&s);
    table_edit(&edit, 1);
    OK(manifest_state_apply(&s, buf_slice(&edit), &err));
    for (uint32_t id = 0; id <= GROUP_COUNT_MAX; id++) {
        buf_clear(&edit);
        edit_change_group(&edit, next_id - 1, id, &nothing);
        ck_assert_int_eq(manifest_state_apply(&s, buf_slice(&edit), &err),
                         id < GROUP_COUNT_MAX ? 0 : ERR_CORRUPT);
    }
    /* A group that is there may change. */
    buf_clear(&edit);
    edit_change_group(&edit, next_id - 1, 3, &nothing);
    OK(manifest_state_apply(&s, buf_slice(&edit), &err));
    manifest_state_close(&s);
    buf_close(&edit);
    teardown();
}

END_TEST

TEST_MAIN("manifest",
          test_groups_are_bounded,
          test_edits_are_kept,
          test_cut_record_is_left_out,
          test_lost_sector_is_left_out,
          test_flipped_bit_is_damage,
          test_damage_before_the_end,
          test_rows_unchanged)
