/* Nothing that was stored can be read in the files of an encrypted store,
 * whatever happened to it; and keys come and go without its data being
 * written again. */
#define _GNU_SOURCE /* memmem */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/crc32c.h"
#include "base/core/hash_map.h"
#include "base/crypt/keyring.h"
#include "base/crypt/master_key.h"
#include "base/crypt/sealer.h"
#include "base/runtime/world.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/log/log_format.h"
#include "bigtable/quarry.h"
#include "bigtable/store/store_encryption.h"
#include "gfs-lite/fs.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

#define MARKER "plainly"

static struct world *world;
static struct err err;
static char directory[512];
static char target[600];
static struct quarry_options options;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static struct master_keys *master(unsigned char first)
{
    unsigned char bytes[32] = {first};
    return master_keys_of(bytes);
}

static void setup(bool encrypted)
{
    world = world_real_new();
    snprintf(directory, sizeof(directory), "%s/store", test_tmpdir());
    snprintf(target, sizeof(target), "file:%s", directory);
    options = (struct quarry_options){
        .world = world,
        .memtable_bytes = 256 << 10, /* Segments are small, then. */
        .background_tasks = 1,
        .master_keys = encrypted ? master(1) : NULL};
}

static void teardown(void)
{
    master_keys_unref(options.master_keys);
    world_free(world);
}

static void make_table(void)
{
    const struct quarry_family_spec family = {MARKER "family", ""};
    struct quarry *q;
    OK(quarry_open(target, &options, &q, &err));
    OK(quarry_table_create(q, MARKER "table", &family, 1, NULL, 0, &err));
    quarry_close(q);
}

static void put_row(struct quarry_table *t, int i, bool synced)
{
    const struct quarry_write_options o = {
        .durability = synced ? QUARRY_SYNCED : QUARRY_LOGGED};
    struct quarry_mutation *m;
    char row[64], value[2000];
    snprintf(row, sizeof(row), MARKER "row%06d", i);
    memset(value, 0, sizeof(value)); /* To be compressed, too. */
    snprintf(value, sizeof(value), MARKER "value%d", i);
    m = quarry_mutation_new(slice_str(row));
    quarry_mutation_set(m, MARKER "family", SLICE_LIT(MARKER "qualifier"), 1,
                        slice_make(value, sizeof(value)));
    OK(quarry_apply(t, m, &o, &err));
    quarry_mutation_free(m);
}

static void put_rows(struct quarry *q, int from, int to)
{
    struct quarry_table *t;
    OK(quarry_table_open(q, MARKER "table", &t, &err));
    for (int i = from; i < to; i++)
        put_row(t, i, i % 50 == 0);
    quarry_table_close(t);
}

static int count_rows(struct quarry *q)
{
    const struct quarry_row *row = NULL;
    struct quarry_scanner *s;
    struct quarry_table *t;
    int count = 0;
    OK(quarry_table_open(q, MARKER "table", &t, &err));
    OK(quarry_scan(t, NULL, &s, &err));
    while (quarry_scanner_next(s, &row, &err) == 0 && row)
        count++;
    quarry_scanner_close(s);
    quarry_table_close(t);
    return count;
}

static void check_rows(int want)
{
    struct quarry *q;
    OK(quarry_open(target, &options, &q, &err));
    ck_assert_int_eq(count_rows(q), want);
    quarry_close(q);
}

/* Have rows written by a process that is killed. */
static void crash_behind(int from, int to)
{
    int status;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct quarry *q;
        OK(quarry_open(target, &options, &q, &err));
        put_rows(q, from, to);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}

static void flush_compact_snapshot(void)
{
    struct quarry *q;
    OK(quarry_open(target, &options, &q, &err));
    OK(quarry_flush(q, &err));
    OK(quarry_table_compact(q, MARKER "table", &err));
    OK(quarry_table_snapshot(q, MARKER "table", "s", 0, &err));
    OK(quarry_pin(q, &err));
    quarry_close(q);
}

/* The store's keys, as another process has them. Owned. */
static struct keyring *open_keys(void)
{
    struct keyring *k;
    char path[700];
    snprintf(path, sizeof(path), "%s/KEYS", directory);
    OK(keyring_open(world, keyring_world_place(world, path),
                    options.master_keys, false, &k, &err));
    return k;
}

static void rotate(void)
{
    struct keyring *k = open_keys();
    OK(keyring_rotate(k, &err));
    keyring_unref(k);
}

/* --- Files --------------------------------------------------------------- */

typedef void (*file_fn)(const char *path, const char *name, struct slice bytes);

static void each_file(const char *dir, file_fn fn)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    ck_assert_ptr_nonnull(d);
    while ((e = readdir(d))) {
        struct buf path = BUF_INIT, bytes = BUF_INIT;
        struct stat st;
        FILE *f;
        if (e->d_name[0] == '.')
            continue;
        buf_printf(&path, "%s/%s", dir, e->d_name);
        ck_assert_int_eq(stat(buf_cstr(&path), &st), 0);
        if (S_ISDIR(st.st_mode)) {
            each_file(buf_cstr(&path), fn);
        } else {
            f = fopen(buf_cstr(&path), "r");
            ck_assert_ptr_nonnull(f);
            buf_reserve(&bytes, (size_t)st.st_size + 1);
            bytes.len = fread(bytes.data, 1, (size_t)st.st_size, f);
            fclose(f);
            fn(buf_cstr(&path), e->d_name, buf_slice(&bytes));
        }
        buf_close(&path);
        buf_close(&bytes);
    }
    closedir(d);
}

static int files_with_marker;

static void
look_for_marker(const char *path, const char *name, struct slice bytes)
{
    (void)name;
    if (!memmem(bytes.data, bytes.len, MARKER, strlen(MARKER)))
        return;
    files_with_marker++;
    if (options.master_keys)
        fprintf(stderr, "%s says it\n", path);
}

static int count_files_with_marker(void)
{
    files_with_marker = 0;
    each_file(directory, look_for_marker);
    return files_with_marker;
}

/* --- Tests --------------------------------------------------------------- */

/* Row keys, qualifiers, values, names of tables and families are in no file: of
 * the log, the manifest, tables, snapshots and pins, after crashes too. In a
 * store that is not encrypted the same search finds them. */
static void search_after_everything(bool encrypted)
{
    struct encryption_status tables = {.plain = {0, 0}};
    struct fs *fs;
    setup(encrypted);
    make_table();
    crash_behind(0, 100);
    ck_assert_int_eq(count_files_with_marker() > 0, !encrypted);
    crash_behind(100, 2000);
    ck_assert_int_eq(count_files_with_marker() > 0, !encrypted);
    check_rows(2000);
    flush_compact_snapshot();
    crash_behind(2000, 2100);
    ck_assert_int_eq(count_files_with_marker() > 0, !encrypted);
    check_rows(2100);
    OK(fs_local_open(world, directory, &fs, &err));
    OK(encryption_count_tables(fs, "tables", 0, &tables, &err));
    ck_assert_int_eq(tables.sealed.files > 0, encrypted);
    ck_assert_int_eq(tables.plain.files > 0, !encrypted);
    fs_close(fs);
    teardown();
}

START_TEST(test_no_file_says_anything)
{
    search_after_everything(true);
}

END_TEST

START_TEST(test_the_search_finds_what_is_not_encrypted)
{
    search_after_everything(false);
}

END_TEST

/* A store without its master key, or with another one, says so. */
START_TEST(test_no_key)
{
    struct quarry *q;
    setup(true);
    make_table();
    crash_behind(0, 10);
    master_keys_unref(options.master_keys);
    options.master_keys = NULL;
    ck_assert_int_eq(quarry_open(target, &options, &q, &err), ERR_DENIED);
    ck_assert_ptr_nonnull(strstr(err.text, "no master key was given"));
    ck_assert_ptr_nonnull(strstr(err.text, directory));
    options.read_only = true;
    ck_assert_int_eq(quarry_open(target, &options, &q, &err), ERR_DENIED);
    options.read_only = false;
    options.master_keys = master(2);
    ck_assert_int_eq(quarry_open(target, &options, &q, &err), ERR_DENIED);
    master_keys_unref(options.master_keys);
    options.master_keys = master(1);
    check_rows(10);
    teardown();
}

END_TEST

/* A store that gets a key later keeps what it has, and is encrypted all over
 * when it was compacted and its log was written to tables. */
START_TEST(test_a_key_comes_later)
{
    struct quarry *q;
    setup(false);
    make_table();
    crash_behind(0, 500);
    flush_compact_snapshot();
    crash_behind(500, 600);
    options.master_keys = master(1);
    check_rows(600);
    crash_behind(600, 700);
    check_rows(700);
    OK(quarry_open(target, &options, &q, &err));
    OK(quarry_snapshot_drop(q, "s", &err));
    OK(quarry_flush(q, &err));
    OK(quarry_table_compact(q, MARKER "table", &err));
    quarry_close(q);
    crash_behind(700, 800); /* Spares of the log are written again. */
    crash_behind(800, 1500);
    check_rows(1500);
    OK(quarry_open(target, &options, &q, &err));
    OK(quarry_flush(q, &err));
    quarry_close(q);
    teardown();
}

END_TEST

/* Rotations of the data key while rows are written: all are read, by keys of
 * their times, and new files have the new key. */
START_TEST(test_rotation_beside_writes)
{
    struct encryption_status tables = {.plain = {0, 0}};
    struct keyring *k;
    struct quarry *q;
    struct fs *fs;
    setup(true);
    make_table();
    OK(quarry_open(target, &options, &q, &err));
    for (int i = 0; i < 3; i++) {
        put_rows(q, i * 200, i * 200 + 200);
        OK(quarry_flush(q, &err));
        rotate();
        world_sleep_us(world, 1100000); /* KEYS is looked at again. */
    }
    put_rows(q, 600, 800);
    OK(quarry_table_compact(q, MARKER "table", &err));
    ck_assert_int_eq(count_rows(q), 800);
    quarry_close(q);
    check_rows(800);
    k = open_keys();
    OK(fs_local_open(world, directory, &fs, &err));
    OK(encryption_count_tables(fs, "tables", keyring_current_id(k), &tables,
                               &err));
    ck_assert_uint_gt(tables.sealed.files, 0);
    ck_assert_uint_eq(tables.old.files, 0);
    ck_assert_int_eq(count_files_with_marker(), 0);
    fs_close(fs);
    keyring_unref(k);
    teardown();
}

END_TEST

/* The heads of all sealed records seen, by ciphertext. */
static struct hash_map units;
static size_t unit_count;

static void note_unit(struct slice unit)
{
    uint64_t crc = crc32c(unit.data, unit.len);
    union hash_value *v;
    bool added;
    unit_count++;
    v = hash_map_put(&units, slice_sub(unit, 0, UNIT_HEAD_BYTES), &added);
    if (added)
        v->number = crc;
    ck_assert_uint_eq(v->number, crc);
}

/* All records in @bytes of a segment that has, or had, the number in its name;
 * also those of before, when it was another. */
static void note_log(const char *path, const char *name, struct slice bytes)
{
    uint64_t highest;
    (void)path;
    if (!log_segment_number(name, &highest) &&
        !log_spare_number(name, &highest))
        return;
    for (size_t at = LOG_SEGMENT_HEADER_BYTES; at < bytes.len; at++) {
        struct slice rest = slice_sub(bytes, at, bytes.len);
        struct log_record_header h;
        struct slice payload;
        if (!log_may_be_record(rest))
            continue;
        for (uint64_t n = highest + 1; n-- > 1;)
            if (log_get_record(rest, n, &h, &payload)) {
                note_unit(payload);
                at += LOG_RECORD_HEADER_BYTES + payload.len - 1;
                break;
            }
    }
}

/* Over crashes, reopened logs and segments that are written again, no two
 * different records ever have the same key and nonce. */
START_TEST(test_no_nonce_comes_twice)
{
    setup(true);
    make_table();
    hash_map_init(&units, HASH_KEYS_COPIED);
    for (int round = 0; round < 8; round++) {
        crash_behind(round * 150, round * 150 + 150);
        each_file(directory, note_log);
    }
    check_rows(8 * 150);
    /* 1,200 were written; how many are seen depends on when segments that
     * tables have are written again. */
    ck_assert_uint_gt(unit_count, 400);
    hash_map_close(&units);
    teardown();
}

END_TEST

static const char *damaged_name;

/* Change one byte in the middle of an SSTable, and in a log's record make the
 * checksum right again. */
static void damage_table(const char *path, const char *name, struct slice bytes)
{
    FILE *f;
    if (damaged_name || !strstr(name, ".sst"))
        return;
    f = fopen(path, "r+");
    ck_assert_ptr_nonnull(f);
    fseek(f, 20, SEEK_SET);
    fputc(bytes.data[20] ^ 1, f);
    fclose(f);
    damaged_name = name;
}

/* Damage is told as of any other store: file and offset. */
START_TEST(test_damage_is_told)
{
    const struct quarry_row *row = NULL;
    struct quarry_scanner *s;
    struct quarry_table *t;
    struct quarry *q;
    int rc;
    setup(true);
    make_table();
    crash_behind(0, 200);
    flush_compact_snapshot();
    each_file(directory, damage_table);
    ck_assert_ptr_nonnull(damaged_name);
    OK(quarry_open(target, &options, &q, &err));
    OK(quarry_table_open(q, MARKER "table", &t, &err));
    OK(quarry_scan(t, NULL, &s, &err));
    while ((rc = quarry_scanner_next(s, &row, &err)) == 0 && row) {
    }
    ck_assert_int_eq(rc, ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(err.text, ".sst: block at 0"));
    quarry_scanner_close(s);
    quarry_table_close(t);
    quarry_close(q);
    teardown();
}

END_TEST

static void load_row(struct quarry_bulk_writer *w, int i)
{
    char row[64], value[64];
    snprintf(row, sizeof(row), MARKER "row%06d", i);
    snprintf(value, sizeof(value), MARKER "value%d", i);
    OK(quarry_bulk_writer_set(w, slice_str(row), MARKER "family",
                              SLICE_LIT("q"), 1, slice_str(value), &err));
}

/* Write 100 rows; @place has the key, or who gives it. */
static void write_load(const struct quarry_bulk_place *place,
                       struct slice ticket,
                       struct buf *files)
{
    struct quarry_bulk_writer *w;
    OK(quarry_bulk_writer_open(place, ticket, "part", &w, &err));
    for (int i = 0; i < 100; i++)
        load_row(w, i);
    OK(quarry_bulk_writer_finish(w, files, &err));
    quarry_bulk_writer_free(w);
}

/* Files of bulk loads are encrypted as they are written, with a key that is
 * lent; without one a writer is refused. Data keys come and go meanwhile. */
START_TEST(test_bulk_loads)
{
    struct buf ticket = BUF_INIT, files = BUF_INIT;
    struct quarry_bulk_place place;
    struct quarry_bulk_writer *w;
    struct key_loan loan;
    struct quarry *q;
    setup(true);
    make_table();
    OK(quarry_open(target, &options, &q, &err));
    OK(quarry_bulk_begin(q, MARKER "table", "load", &ticket, &err));
    place = (struct quarry_bulk_place){.world = world};
    ck_assert_int_eq(
        quarry_bulk_writer_open(&place, buf_slice(&ticket), "part", &w, &err),
        ERR_DENIED);
    ck_assert_ptr_nonnull(strstr(err.text, "no key"));
    OK(quarry_bulk_lend(q, MARKER "table", "load", &loan, &err));
    place.loan = &loan;
    write_load(&place, buf_slice(&ticket), &files);
    rotate();
    ck_assert_int_eq(count_files_with_marker(), 0);
    OK(quarry_bulk_commit(q, buf_slice(&ticket), buf_slice(&files), NULL,
                          &err));
    ck_assert_int_eq(count_rows(q), 100);
    quarry_close(q);
    ck_assert_int_eq(count_files_with_marker(), 0);
    check_rows(100);
    flush_compact_snapshot();
    check_rows(100);
    key_loan_close(&loan);
    buf_close(&ticket);
    buf_close(&files);
    teardown();
}

END_TEST

TEST_MAIN("encryption",
          test_no_file_says_anything,
          test_bulk_loads,
          test_the_search_finds_what_is_not_encrypted,
          test_no_key,
          test_a_key_comes_later,
          test_rotation_beside_writes,
          test_no_nonce_comes_twice,
          test_damage_is_told)
