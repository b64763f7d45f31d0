/* Early write-back changes nothing that can be read, and the room kept ahead of
 * a chunk is given back.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/chunk_file.h"
#include "tests/lib/check_main.h"

#define STEP_BYTES ((size_t)768 << 10)
#define STEPS      14
/* The disk is given so much at a time. */
#define PIECE_BYTES_MAX (2 << 20)
/* A file system's blocks, and what it needs to find them. */
#define SLACK_BYTES (256 << 10)

/* --- Fixture ------------------------------------------------------------- */

static struct world *w;
static char path[256];
static struct chunk_file *file;
static struct buf model;

static void setup(void)
{
    w = world_real_new();
    snprintf(path, sizeof(path), "%s/chunk", test_tmpdir());
    ck_assert_int_eq(chunk_file_create(w, path, 7, 1, &file, NULL), 0);
}

static void teardown(void)
{
    chunk_file_close(file);
    buf_close(&model);
    world_free(w);
}

/* --- Helpers ------------------------------------------------------------- */

static void append_random(struct rand_gen *r, size_t len)
{
    char *p = buf_extend(&model, len);
    for (size_t i = 0; i + 8 <= len; i += 8) {
        uint64_t v = rand_u64(r);
        memcpy(p + i, &v, 8);
    }
    ck_assert_int_eq(chunk_file_append(file, slice_make(p, len), NULL, NULL),
                     0);
}

static void assert_reads(uint32_t length)
{
    char *bytes = mem_alloc(length);
    ck_assert_uint_eq(file->length, length);
    ck_assert_int_eq(chunk_file_read(file, 0, length, bytes, NULL), 0);
    ck_assert_int_eq(memcmp(bytes, model.data, length), 0);
    mem_free(bytes);
}

/* The disk takes what there is, in pieces of which none is large. */
static void catch_up(void)
{
    while (chunk_file_is_behind(file)) {
        uint32_t before = file->started;
        chunk_file_write_back(file);
        ck_assert_uint_gt(file->started, before);
        ck_assert_uint_le(file->started - before, PIECE_BYTES_MAX);
    }
}

/* --- Tests --------------------------------------------------------------- */

/* However write-back and room are mixed with appends, the chunk reads as it was
 * written, also when it is opened again; once told, the disk is not behind. */
START_TEST(test_bytes_stay_what_they_are)
{
    struct rand_gen r;
    bool was_behind = false;
    setup();
    rand_init(&r, test_seed());
    for (int i = 0; i < STEPS; i++) {
        append_random(&r, STEP_BYTES + rand_below(&r, 1000) * 8);
        was_behind |= chunk_file_is_behind(file);
        if (rand_below(&r, 2))
            chunk_file_keep_room(file);
        if (rand_below(&r, 4) == 0)
            chunk_file_write_back(file);
        if (rand_below(&r, 4) == 0)
            catch_up();
    }
    ck_assert(was_behind);
    catch_up();
    assert_reads((uint32_t)model.len);
    chunk_file_close(file);
    ck_assert_int_eq(chunk_file_open(w, path, &file, NULL), 0);
    assert_reads((uint32_t)model.len);
    teardown();
}

END_TEST

/* A sealed chunk takes no more of the disk than its bytes, and asks for no more
 * of it. */
START_TEST(test_room_is_given_back)
{
    struct rand_gen r;
    struct stat st;
    uint32_t length;
    setup();
    rand_init(&r, test_seed());
    for (int i = 0; i < STEPS; i++) {
        append_random(&r, STEP_BYTES);
        chunk_file_keep_room(file);
    }
    length = (uint32_t)model.len - 12345;
    ck_assert_int_eq(chunk_file_seal(file, length, NULL), 0);
    ck_assert(!chunk_file_lacks_room(file));
    chunk_file_keep_room(file);
    ck_assert(!chunk_file_is_behind(file));
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_size, CHUNK_DATA_AT + (off_t)length);
    ck_assert_int_lt((off_t)st.st_blocks * 512, st.st_size + SLACK_BYTES);
    assert_reads(length);
    teardown();
}

END_TEST

TEST_MAIN("write_back", test_bytes_stay_what_they_are, test_room_is_given_back)
