/* Appends to a chunk's file, past the page cache and through it, are there when
 * it is read, and the synced ones after a loss of power.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "gfs-lite/chunkserver/chunk_file.h"
#include "tests/lib/check_main.h"

#define STEPS 24
/* More than what goes past the page cache from the first on. */
#define STEP_BYTES_MAX ((size_t)90 << 10)

/* --- Helpers ------------------------------------------------------------- */

#define PATH_BYTES 256

struct writing {
    struct world *world;
    struct rand_gen chance;
    const char *path;
    struct chunk_file *file;
    struct buf model;
    size_t synced; /* Of it: a sync said so. */
    int rc;
};

static struct slice add_random(struct writing *t)
{
    size_t len = 1 + rand_below(&t->chance, 2) * 7 +
                 rand_below(&t->chance,
                            rand_below(&t->chance, 3) ? STEP_BYTES_MAX : 3000);
    char *p = buf_extend(&t->model, len);
    for (size_t i = 0; i < len; i++)
        p[i] = (char)rand_u64(&t->chance);
    return slice_make(p, len);
}

/* From a page's beginning on, where it is worth it to go past the page cache.
 */
static int append_unread(struct writing *t)
{
    size_t skew = -t->model.len % FILE_DIRECT_ALIGN;
    struct slice data;
    uint32_t crc;
    int rc = 0;
    if (skew) {
        data = slice_make(buf_extend(&t->model, skew), skew);
        memset(t->model.data + t->model.len - skew, 'x', skew);
        rc = chunk_file_append(t->file, data, NULL, NULL);
    }
    data = add_random(t);
    crc = crc32c(data.data, data.len);
    return rc ? rc : chunk_file_append_unread(t->file, data, &crc, NULL);
}

/* One change: mostly a synced append, at times another one. */
static int change(struct writing *t)
{
    struct slice data;
    uint32_t crc;
    int rc;
    if (rand_below(&t->chance, 8) == 0) {
        rc = chunk_file_set_version(t->file, t->file->id.version + 1, NULL);
        t->synced = rc ? t->synced : t->model.len;
        return rc;
    }
    if (rand_below(&t->chance, 4) == 0)
        return append_unread(t);
    data = add_random(t);
    crc = crc32c(data.data, data.len);
    if (rand_below(&t->chance, 5) == 0)
        return chunk_file_append(t->file, data, &crc, NULL);
    rc = chunk_file_append_sync(t->file, data, &crc, NULL);
    t->synced = rc ? t->synced : t->model.len;
    return rc;
}

static void write_some(void *arg)
{
    struct writing *t = arg;
    t->rc = chunk_file_create(t->world, t->path, 7, 1, &t->file, NULL);
    if (t->rc == 0)
        t->rc = world_sync_dir(t->world, "/", NULL);
    for (int i = 0; i < STEPS && t->rc == 0; i++)
        t->rc = change(t);
}

/* The chunk holds the model, up to its own length. */
static void assert_reads(struct writing *t)
{
    uint32_t length = t->file->length;
    char *bytes = mem_alloc(length + 1);
    ck_assert_uint_le(length, t->model.len);
    ck_assert_int_eq(chunk_file_read(t->file, 0, length, bytes, NULL), 0);
    if (length)
        ck_assert_int_eq(memcmp(bytes, t->model.data, length), 0);
    mem_free(bytes);
}

static void reopen(void *arg)
{
    struct writing *t = arg;
    chunk_file_close(t->file);
    t->file = NULL;
    t->rc = chunk_file_open(t->world, t->path, &t->file, NULL);
}

static void end(struct writing *t)
{
    chunk_file_close(t->file);
    buf_close(&t->model);
    world_free(t->world);
}

/* A new chunk in the real world, at @path. */
static void begin(struct writing *t, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/chunk", test_tmpdir());
    t->path = path;
    rand_init(&t->chance, test_seed());
    ck_assert_int_eq(chunk_file_create(t->world, t->path, 7, 1, &t->file, NULL),
                     0);
}

/* --- Tests --------------------------------------------------------------- */

/* Whatever appends are mixed, the chunk reads as it was written, is the same
 * when it is opened again, and after its seal. */
START_TEST(test_appends_mix)
{
    struct writing t = {.world = world_real_new()};
    char path[PATH_BYTES];
    bool was_direct = false;
    uint32_t cut;
    begin(&t, path);
    for (int i = 0; i < STEPS; i++) {
        ck_assert_int_eq(change(&t), 0);
        ck_assert_uint_eq(t.file->length, t.model.len);
        assert_reads(&t);
        was_direct |= t.file->direct != NULL;
        if (rand_below(&t.chance, 6))
            continue;
        reopen(&t);
        ck_assert_int_eq(t.rc, 0);
        ck_assert_uint_eq(t.file->length, t.model.len);
    }
    ck_assert(was_direct);
    cut = (uint32_t)rand_below(&t.chance, t.model.len);
    ck_assert_int_eq(chunk_file_seal(t.file, cut, NULL), 0);
    reopen(&t);
    ck_assert_int_eq(t.rc, 0);
    ck_assert_uint_eq(t.file->length, cut);
    assert_reads(&t);
    end(&t);
}

END_TEST

/* Large writes that nobody will read go past the page cache, and read as they
 * were written there too, before and after the chunk is opened again. */
START_TEST(test_unread_bytes_are_there)
{
    struct writing t = {.world = world_real_new()};
    char path[PATH_BYTES];
    begin(&t, path);
    for (int i = 0; i < STEPS; i++) {
        ck_assert_int_eq(append_unread(&t), 0);
        assert_reads(&t);
    }
    ck_assert_ptr_nonnull(t.file->direct);
    reopen(&t);
    ck_assert_int_eq(t.rc, 0);
    ck_assert_uint_eq(t.file->length, t.model.len);
    assert_reads(&t);
    end(&t);
}

END_TEST

/* Bytes that are not those of their checksum change nothing. */
START_TEST(test_damaged_bytes_change_nothing)
{
    struct writing t = {.world = world_real_new()};
    char path[PATH_BYTES];
    uint32_t wrong = 1;
    struct slice data;
    begin(&t, path);
    for (int i = 0; i < STEPS; i++) {
        data = add_random(&t);
        ck_assert_int_eq(chunk_file_append_sync(t.file, data, &wrong, NULL),
                         ERR_CORRUPT);
        ck_assert_int_eq(chunk_file_append_unread(t.file, data, &wrong, NULL),
                         ERR_CORRUPT);
        ck_assert_int_eq(chunk_file_append_sync(t.file, data, NULL, NULL), 0);
    }
    assert_reads(&t);
    ck_assert_uint_eq(t.file->length, t.model.len);
    end(&t);
}

END_TEST

/* Whenever the power goes, in the middle of whichever write or sync, the chunk
 * has all that was synced, and nothing that was not written. */
START_TEST(test_synced_bytes_survive_a_loss_of_power)
{
    uint64_t cut_count = 0;
    bool was_cut = true;
    for (uint64_t n = 1; was_cut; n++) {
        struct writing t = {.path = "/chunk"};
        t.world = sim_world_new(&(struct sim_options){.seed = test_seed() + n});
        rand_init(&t.chance, test_seed());
        sim_power_off_at_op(t.world, n);
        sim_run(t.world, write_some, &t);
        was_cut = sim_is_off(t.world);
        ck_assert_int_eq(t.rc == 0, !was_cut);
        cut_count += was_cut;
        sim_power_off(t.world);
        sim_power_on(t.world);
        sim_run(t.world, reopen, &t);
        if (t.synced)
            ck_assert_int_eq(t.rc, 0);
        if (t.rc == 0) {
            ck_assert_uint_ge(t.file->length, t.synced);
            assert_reads(&t);
        }
        end(&t);
    }
    ck_assert_uint_gt(cut_count, STEPS);
}

END_TEST

TEST_MAIN("synced_append",
          test_appends_mix,
          test_unread_bytes_are_there,
          test_damaged_bytes_change_nothing,
          test_synced_bytes_survive_a_loss_of_power)
