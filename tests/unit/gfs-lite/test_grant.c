/* A writer that adds to a chunk's file itself: what it was told is written
 * counts, whatever the server does meanwhile, and nothing else can do harm.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "gfs-lite/chunkserver/chunk_file.h"
#include "tests/lib/check_main.h"

#define PIECES 12

/* --- Fixture ------------------------------------------------------------- */

static struct world *w;
static char path[256];
static struct chunk_file *file;
static struct buf model; /* Bytes that the chunk has, or may have. */
static struct rand_gen r;

/* The writer's side, as a client has it. */
static struct file *his;
static struct chunk_sums sums;
static char granted[CHUNK_SECTOR_BYTES];
static uint64_t sequence;

static void open_files(const char *at)
{
    snprintf(path, sizeof(path), "%s", at);
    ck_assert_int_eq(chunk_file_create(w, path, 7, 1, &file, NULL), 0);
    ck_assert_int_eq(file_open(w, path, FILE_READ | FILE_WRITE, &his, NULL), 0);
}

static void setup(void)
{
    char at[200];
    w = world_real_new();
    rand_init(&r, test_seed());
    snprintf(at, sizeof(at), "%s/chunk", test_tmpdir());
    open_files(at);
}

static void teardown(void)
{
    file_close(his);
    chunk_file_close(file);
    buf_close(&model);
    world_free(w);
}

/* --- Helpers ------------------------------------------------------------- */

static struct slice add_random(size_t len)
{
    char *p = buf_extend(&model, len);
    for (size_t i = 0; i < len; i++)
        p[i] = (char)rand_u64(&r);
    return slice_make(p, len);
}

static void append(size_t len)
{
    ck_assert_int_eq(chunk_file_append(file, add_random(len), NULL, NULL), 0);
}

static void read_granted(char *sector)
{
    size_t got;
    ck_assert_int_eq(file_read_at(his, CHUNK_GRANT_AT, sector,
                                  CHUNK_SECTOR_BYTES, &got, NULL),
                     0);
    ck_assert_uint_eq(got, CHUNK_SECTOR_BYTES);
}

static void grant(void)
{
    ck_assert_int_eq(chunk_file_grant(file, NULL), 0);
    sums = (struct chunk_sums){.length = file->length, .crc = file->tail_crc};
    read_granted(granted);
}

static void put(uint64_t at, const void *data, size_t len)
{
    struct slice part = slice_make(data, len);
    ck_assert_int_eq(file_write_at(his, at, &part, 1, NULL), 0);
}

static void put_tail(const struct chunk_tail *t)
{
    char sector[CHUNK_SECTOR_BYTES];
    chunk_tail_put(t, sector);
    put(chunk_writer_at(t->sequence), sector, sizeof(sector));
}

/* The writer adds @len bytes; the server ends the grant before step @end_at.
 * Returns whether the writer takes them for written. */
static bool add(size_t len, int end_at)
{
    uint32_t at = sums.length;
    struct slice data = add_random(len);
    char now[CHUNK_SECTOR_BYTES];
    chunk_sums_add(&sums, data);
    for (int step = 0; step < 4; step++) {
        if (step == end_at)
            ck_assert_int_eq(chunk_file_end_grant(file, NULL), 0);
        switch (step) {
        case 0: put(CHUNK_DATA_AT + (uint64_t)at, data.data, data.len); break;
        case 1:
            put(CHUNK_SUMS_AT + (uint64_t)sums.first_block * 4, sums.entries,
                (size_t)sums.block_count * 4);
            break;
        case 2:
            put_tail(&(struct chunk_tail){++sequence, sums.length, sums.crc});
            break;
        case 3: read_granted(now); break;
        default: break;
        }
    }
    return memcmp(now, granted, sizeof(now)) == 0;
}

static size_t some_bytes(void)
{
    return rand_below(&r, 3) ? rand_below(&r, 200000)
                             : CHUNK_BLOCK_BYTES * rand_below(&r, 4);
}

static void assert_reads(size_t length)
{
    char *bytes = mem_alloc(length + 1);
    ck_assert_uint_eq(file->length, length);
    ck_assert_int_eq(chunk_file_read(file, 0, (uint32_t)length, bytes, NULL),
                     0);
    ck_assert_int_eq(memcmp(bytes, model.data, length), 0);
    mem_free(bytes);
}

static void open_again(void)
{
    chunk_file_close(file);
    ck_assert_int_eq(chunk_file_open(w, path, &file, NULL), 0);
}

/* --- Tests --------------------------------------------------------------- */

/* Bytes that a writer adds are there when the server looks, and after a server
 * that knew nothing of them was killed; the next one ends the grant. */
START_TEST(test_what_is_added_counts)
{
    char now[CHUNK_SECTOR_BYTES];
    setup();
    append(some_bytes() + 1);
    grant();
    ck_assert_int_eq(chunk_file_grant(file, NULL), ERR_BUSY);
    for (int i = 0; i < PIECES; i++) {
        ck_assert(add(some_bytes(), -1));
        if (rand_below(&r, 2)) {
            ck_assert_int_eq(chunk_file_absorb(file, NULL), 0);
            assert_reads(model.len);
        }
        if (rand_below(&r, 4) == 0)
            ck_assert_int_eq(chunk_file_sync(file, NULL), 0);
    }
    open_again();
    assert_reads(model.len);
    read_granted(now);
    ck_assert_int_ne(memcmp(now, granted, sizeof(now)), 0);
    open_again();
    assert_reads(model.len);
    teardown();
}

END_TEST

/* Whenever the grant ends, bytes that the writer takes for written are counted:
 * it must have looked later than it wrote, the server later than it ended it.
 */
START_TEST(test_an_end_at_any_step)
{
    for (int end_at = 0; end_at < 5; end_at++) {
        size_t before;
        setup();
        append(1000);
        grant();
        ck_assert(add(some_bytes(), -1));
        before = model.len;
        if (add(some_bytes() + 1, end_at))
            before = model.len;
        ck_assert_int_eq(chunk_file_end_grant(file, NULL), 0);
        ck_assert_uint_ge(file->length, before);
        ck_assert(!add(some_bytes() + 1, -1));
        open_again();
        ck_assert_uint_ge(file->length, before);
        assert_reads(file->length);
        teardown();
        model = BUF_INIT;
    }
}

END_TEST

/* A chunk that was written by a grant is sealed at any length, and a writer
 * that comes back later spoils nothing of it. */
START_TEST(test_sealed_and_late)
{
    uint32_t length;
    setup();
    append(some_bytes() + 1);
    grant();
    for (int i = 0; i < PIECES; i++)
        ck_assert(add(some_bytes(), -1));
    ck_assert_int_eq(chunk_file_end_grant(file, NULL), 0);
    length = (uint32_t)rand_below(&r, model.len + 1);
    ck_assert_int_eq(chunk_file_seal(file, length, NULL), 0);
    assert_reads(length);
    ck_assert(!add(some_bytes() + 1, -1));
    assert_reads(length);
    open_again();
    assert_reads(length);
    teardown();
}

END_TEST

/* After it is settled the chunk is added to by calls as if there had been no
 * grant, also when nothing came by it. */
START_TEST(test_settled)
{
    for (int pieces = 0; pieces < 3; pieces++) {
        setup();
        append(some_bytes() + 1);
        grant();
        for (int i = 0; i < pieces; i++)
            ck_assert(add(some_bytes() + 1, -1));
        ck_assert_int_eq(chunk_file_settle(file, NULL), 0);
        assert_reads(model.len);
        open_again();
        assert_reads(model.len);
        append(some_bytes() + 1);
        assert_reads(model.len);
        open_again();
        assert_reads(model.len);
        teardown();
        model = BUF_INIT;
    }
}

END_TEST

/* Pieces by a grant, some of them synced by the server, then the power goes. */
static void lose_power(void *arg)
{
    size_t synced = 0;
    (void)arg;
    open_files("/chunk");
    ck_assert_int_eq(world_sync_dir(w, "/", NULL), 0);
    append(some_bytes() + 1);
    grant();
    for (int i = (int)rand_below(&r, PIECES); i >= 0; i--) {
        ck_assert(add(some_bytes(), -1));
        if (rand_below(&r, 2))
            continue;
        ck_assert_int_eq(chunk_file_absorb(file, NULL), 0);
        ck_assert_int_eq(chunk_file_sync(file, NULL), 0);
        synced = model.len;
    }
    if (rand_below(&r, 4) == 0) {
        ck_assert_int_eq(chunk_file_settle(file, NULL), 0);
        synced = model.len;
    }
    sim_power_off(w);
    chunk_file_close(file);
    file_close(his);
    sim_power_on(w);
    if (chunk_file_open(w, path, &file, NULL)) { /* Never on the disk. */
        ck_assert_uint_eq(synced, 0);
        return;
    }
    ck_assert_uint_ge(file->length, synced);
    assert_reads(file->length);
    chunk_file_close(file);
}

/* Bytes that came by a grant and were synced survive a loss of power; those
 * that were not synced leave nothing wrong. */
START_TEST(test_synced_survives)
{
    for (unsigned i = 0; i < 40; i++) {
        w = sim_world_new(&(struct sim_options){.seed = test_seed() + i});
        rand_init(&r, test_seed() + i);
        sim_run(w, lose_power, NULL);
        world_free(w);
        buf_close(&model);
        model = BUF_INIT;
    }
}

END_TEST

/* A tail record of bytes that are not there, of fewer than there were, or of
 * none at all changes nothing; checksums that are wrong are found. */
START_TEST(test_a_writer_that_lies)
{
    static const uint32_t lengths[] = {0, 1, 70000, GFS_CHUNK_BYTES,
                                       UINT32_MAX};
    char noise[CHUNK_SECTOR_BYTES];
    char *bytes;
    size_t good;
    setup();
    append(CHUNK_BLOCK_BYTES + 5000);
    grant();
    good = model.len;
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        put_tail(&(struct chunk_tail){9, lengths[i], 1});
        ck_assert_int_eq(chunk_file_absorb(file, NULL), 0);
        assert_reads(good);
    }
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (char)(rand_u64(&r) | 1);
    put(CHUNK_WRITER_AT, noise, sizeof(noise));
    ck_assert_int_eq(chunk_file_absorb(file, NULL), 0);
    assert_reads(good);
    /* The next record is half there: the last one counts. */
    ck_assert(add(200000, -1));
    put(chunk_writer_at(sequence + 1), noise, sizeof(noise));
    ck_assert_int_eq(chunk_file_absorb(file, NULL), 0);
    assert_reads(model.len);
    ck_assert(add(200000, -1));
    put(CHUNK_SUMS_AT + 4 * 4, noise, 4);
    ck_assert_int_eq(chunk_file_absorb(file, NULL), 0);
    bytes = mem_alloc(CHUNK_BLOCK_BYTES);
    ck_assert_int_eq(chunk_file_read(file, 4 * CHUNK_BLOCK_BYTES,
                                     CHUNK_BLOCK_BYTES, bytes, NULL),
                     ERR_CORRUPT);
    mem_free(bytes);
    open_again();
    assert_reads(good);
    teardown();
}

END_TEST

TEST_MAIN("grant",
          test_what_is_added_counts,
          test_an_end_at_any_step,
          test_sealed_and_late,
          test_settled,
          test_synced_survives,
          test_a_writer_that_lies)
