/* A chunk server's store forgets no file: what it cannot make out it reports as
 * damaged, and what it could not remove it removes later. */
#include <stdio.h>
#include <string.h>

#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/sim/sim.h"
#include "gfs-lite/chunkserver/chunk_store.h"
#include "tests/lib/check_main.h"

#define HANDLE UINT64_C(0x2a7)
#define PATH   "/store/chunks/a7/00000000000002a7.chunk"

/* --- Helpers ------------------------------------------------------------- */

static struct world *w;

static void run(void (*fn)(void *))
{
    w = sim_world_new(&(struct sim_options){.seed = test_seed()});
    sim_run(w, fn, NULL);
    world_free(w);
}

static struct chunk_store *open_store(void)
{
    struct chunk_store *s;
    struct err err = ERR_INIT;
    ck_assert_msg(chunk_store_open(w, "/store", &s, &err) == 0, "%s", err.text);
    return s;
}

static void make_chunk(struct chunk_store *s)
{
    struct stored_chunk *c;
    ck_assert_int_eq(chunk_store_create(s, HANDLE, 1, &c, NULL), 0);
    chunk_store_put(s, c);
}

static bool is_there(void)
{
    struct file *f;
    if (file_open(w, PATH, FILE_READ, &f, NULL))
        return false;
    file_close(f);
    return true;
}

/* --- Tests --------------------------------------------------------------- */

static void open_what_is_no_chunk(void *arg)
{
    struct chunk_store *s = open_store();
    struct stored_chunk *c;
    struct gfs_replica r;
    struct buf report = BUF_INIT;
    struct slice rest;
    struct file *f;
    bool bad;
    (void)arg;
    make_chunk(s);
    chunk_store_close(s);
    ck_assert_int_eq(file_open(w, PATH, FILE_WRITE, &f, NULL), 0);
    ck_assert_int_eq(file_truncate(f, 7, NULL), 0);
    file_close(f);
    s = open_store();
    chunk_store_put_full_report(s, &report);
    rest = buf_slice(&report);
    ck_assert(gfs_replica_get(&rest, &r, &bad));
    ck_assert_uint_eq(r.handle, HANDLE);
    ck_assert(r.damaged);
    c = chunk_store_get(s, HANDLE);
    ck_assert_ptr_nonnull(c);
    chunk_store_delete(s, c);
    chunk_store_put(s, c);
    ck_assert(!is_there());
    chunk_store_close(s);
    buf_close(&report);
}

/* A file that was cut short is a damaged chunk, which can be deleted. */
START_TEST(test_a_file_that_is_no_chunk_is_a_damaged_one)
{
    run(open_what_is_no_chunk);
}

END_TEST

static void delete_with_errors(void *arg)
{
    struct chunk_store *s = open_store();
    struct stored_chunk *c;
    (void)arg;
    make_chunk(s);
    c = chunk_store_get(s, HANDLE);
    sim_fail_at_op(w, 1);
    chunk_store_delete(s, c);
    chunk_store_put(s, c);
    ck_assert_ptr_null(chunk_store_get(s, HANDLE));
    ck_assert(is_there());
    sim_fail_at_op(w, 1);
    chunk_store_sweep(s);
    ck_assert(is_there());
    chunk_store_sweep(s);
    ck_assert(!is_there());
    /* But not one that was put in its place. */
    make_chunk(s);
    c = chunk_store_get(s, HANDLE);
    sim_fail_at_op(w, 1);
    chunk_store_delete(s, c);
    chunk_store_put(s, c);
    make_chunk(s);
    chunk_store_sweep(s);
    ck_assert(is_there());
    chunk_store_close(s);
}

/* A file that could not be removed is removed by a later sweep, unless it is
 * wanted again. */
START_TEST(test_what_could_not_be_removed_is_swept)
{
    run(delete_with_errors);
}

END_TEST

static void begin_with_errors(void *arg)
{
    struct chunk_store *s = open_store();
    struct chunk_file *f;
    char *path = chunk_store_copy_path(s, HANDLE);
    char **names;
    size_t count;
    (void)arg;
    sim_fail_at_op(w, 2);
    ck_assert_int_eq(chunk_file_create(w, path, HANDLE, 1, &f, NULL), ERR_IO);
    ck_assert_int_eq(world_list(w, "/store/copies", &names, &count, NULL), 0);
    world_names_free(names, count);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(chunk_file_create(w, path, HANDLE, 1, &f, NULL), 0);
    chunk_file_close(f);
    ck_assert_int_eq(chunk_store_clear_copies(s), 0);
    ck_assert_int_eq(world_list(w, "/store/copies", &names, &count, NULL), 0);
    world_names_free(names, count);
    ck_assert_uint_eq(count, 0);
    mem_free(path);
    chunk_store_close(s);
}

/* A copy that cannot be begun leaves no file; one that was left can be swept.
 */
START_TEST(test_copies_that_fail_leave_nothing)
{
    run(begin_with_errors);
}

END_TEST

static void append_with_checksums(void *arg)
{
    struct chunk_store *s = open_store();
    struct stored_chunk *c;
    struct rand_gen r;
    char data[3000];
    (void)arg;
    rand_init(&r, test_seed());
    ck_assert_int_eq(chunk_store_create(s, HANDLE, 1, &c, NULL), 0);
    for (int i = 0; i < 200; i++) {
        size_t len = 1 + rand_below(&r, sizeof(data) - 1);
        uint32_t before = c->file->length;
        uint32_t crc;
        for (size_t b = 0; b < len; b++)
            data[b] = (char)rand_u64(&r);
        crc = crc32c(data, len);
        data[rand_below(&r, len)] ^= 1;
        ck_assert_int_eq(
            chunk_file_append(c->file, slice_make(data, len), &crc, NULL),
            ERR_CORRUPT);
        ck_assert_uint_eq(c->file->length, before);
        crc = crc32c(data, len);
        ck_assert_int_eq(
            chunk_file_append(c->file, slice_make(data, len), &crc, NULL), 0);
        ck_assert_uint_eq(c->file->length, before + len);
    }
    ck_assert_int_eq(chunk_file_read(c->file, 0, sizeof(data), data, NULL), 0);
    chunk_store_put(s, c);
    chunk_store_close(s);
}

/* Bytes that are not those of their checksum change nothing; the right ones are
 * taken after them. */
START_TEST(test_bytes_that_came_damaged_are_refused)
{
    run(append_with_checksums);
}

END_TEST

/* --- Copies that come while the chunk is made ---------------------------- */

struct arrival {
    struct chunk_store *store;
    struct chunk_file *copy;
    int rc;
};

static void adopt(void *arg)
{
    struct arrival *a = arg;
    a->rc = chunk_store_adopt(a->store, a->copy, NULL);
}

/* A copy of version 2, which holds "copied", all of it on the disk. */
static struct chunk_file *new_copy(struct chunk_store *s)
{
    char *path = chunk_store_copy_path(s, HANDLE);
    struct chunk_file *f;
    ck_assert_int_eq(chunk_file_create(w, path, HANDLE, 2, &f, NULL), 0);
    ck_assert_int_eq(chunk_file_append(f, slice_str("copied"), NULL, NULL), 0);
    ck_assert_int_eq(chunk_file_seal(f, 6, NULL), 0);
    mem_free(path);
    return f;
}

/* The table says the same as the file. */
static void check_one(struct chunk_store *s)
{
    struct stored_chunk *c = chunk_store_get(s, HANDLE);
    uint32_t version = c->version;
    uint32_t length = c->length;
    chunk_store_put(s, c);
    chunk_store_close(s);
    s = open_store();
    c = chunk_store_get(s, HANDLE);
    ck_assert_ptr_nonnull(c);
    ck_assert(!c->damaged);
    ck_assert_uint_eq(c->version, version);
    ck_assert_uint_eq(c->length, length);
    chunk_store_delete(s, c);
    chunk_store_put(s, c);
    ck_assert(!is_there());
    chunk_store_close(s);
}

static void copy_and_make(void *arg)
{
    (void)arg;
    for (uint64_t us = 0; us < 1500; us += 25) {
        struct arrival a = {.store = open_store()};
        struct stored_chunk *c;
        struct fiber *f;
        int rc;
        a.copy = new_copy(a.store);
        f = fiber_start(loop_self(), "adopt", adopt, &a);
        world_sleep_us(w, us);
        rc = chunk_store_create(a.store, HANDLE, 1, &c, NULL);
        if (rc == 0)
            chunk_store_put(a.store, c);
        else
            ck_assert_int_eq(rc, ERR_EXISTS);
        fiber_join(f);
        ck_assert_int_eq(a.rc, 0);
        check_one(a.store);
    }
}

/* A copy that comes while a writer makes the same chunk takes its place or was
 * there before: neither has the other's file, and none is kept open for ever.
 */
START_TEST(test_a_copy_and_a_writer_at_once)
{
    w = sim_world_new(&(struct sim_options){
        .seed = test_seed(), .name_us = 100, .write_us = 50, .sync_us = 300});
    sim_run(w, copy_and_make, NULL);
    world_free(w);
}

END_TEST

/* --- A new store --------------------------------------------------------- */

static void count_syncs(void *arg)
{
    (void)arg;
    chunk_store_close(open_store());
    ck_assert_uint_lt(sim_sync_count(w), 10);
}

/* A new server is there after a few syncs, however slow the disk. */
START_TEST(test_a_new_store_waits_for_few_syncs)
{
    run(count_syncs);
}

END_TEST

/* The power goes in the @n-th sync, and once more after a store that was made
 * whole has a chunk. Returns whether there were @n syncs. */
static bool cut_while_made(uint64_t n)
{
    struct chunk_store *s = NULL;
    struct stored_chunk *c;
    bool cut;
    sim_power_off_at_sync(w, n);
    cut = chunk_store_open(w, "/store", &s, NULL) != 0;
    if (!cut)
        chunk_store_close(s);
    sim_power_off_at_sync(w, 0);
    sim_power_on(w);
    s = open_store();
    make_chunk(s);
    chunk_store_close(s);
    sim_power_on(w);
    s = open_store();
    c = chunk_store_get(s, HANDLE);
    ck_assert_ptr_nonnull(c);
    chunk_store_put(s, c);
    chunk_store_close(s);
    return cut;
}

struct cut {
    uint64_t at_sync;
    bool happened;
};

static void cut_and_look(void *arg)
{
    struct cut *c = arg;
    c->happened = cut_while_made(c->at_sync);
}

/* A store whose making the power ended is made by the next who opens it, and
 * holds what it takes in. */
START_TEST(test_power_goes_while_a_store_is_made)
{
    struct cut c = {.happened = true};
    while (c.happened) {
        c.at_sync++;
        w = sim_world_new(&(struct sim_options){.seed = test_seed()});
        sim_run(w, cut_and_look, &c);
        world_free(w);
    }
    ck_assert_uint_gt(c.at_sync, 3);
}

END_TEST

TEST_MAIN("store",
          test_a_new_store_waits_for_few_syncs,
          test_power_goes_while_a_store_is_made,
          test_a_copy_and_a_writer_at_once,
          test_copies_that_fail_leave_nothing,
          test_bytes_that_came_damaged_are_refused,
          test_a_file_that_is_no_chunk_is_a_damaged_one,
          test_what_could_not_be_removed_is_swept)
