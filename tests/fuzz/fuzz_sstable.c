/* Any bytes given as an SSTable, a block or a footer: errors or entries,
 * never a fault, a hang or a large allocation.
 *
 * The first byte chooses. As a table the input is first given right checksums
 * where its footer says blocks are, so that the fuzzer gets past them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/sim/sim.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/schema.h"
#include "bigtable/sstable/block.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/sstable/properties.h"
#include "bigtable/sstable/sealing.h"
#include "bigtable/sstable/sstable_format.h"
#include "bigtable/sstable/sstable_reader.h"
#include "bigtable/sstable/sstable_writer.h"
#include "bigtable/sstable/verify.h"
#include "gfs-lite/fs.h"

#define INPUT_BYTES_MAX ((size_t)64 << 10)
#define STEPS_MAX       20000

static void walk_block(struct slice bytes)
{
    struct block_iter it;
    int steps = 0;

    block_iter_init(&it);
    if (block_iter_open(&it, bytes, NULL) == 0) {
        for (block_iter_first(&it); it.valid && steps < STEPS_MAX; steps++)
            block_iter_next(&it);
        block_iter_seek(&it, slice_sub(bytes, 0, 8));
        block_iter_after(&it, slice_sub(bytes, 0, 3));
    }
    block_iter_close(&it);
}

static void read_properties(struct slice bytes)
{
    struct sstable_properties p;
    int rc;

    sstable_properties_init(&p);
    rc = sstable_properties_parse(bytes, &p, NULL);
    PRE(rc == 0 || rc == ERR_CORRUPT);
    sstable_properties_close(&p);
}

/* Put the right checksum behind the block at @h. */
static void seal(char *file, size_t len, const char *handle)
{
    uint64_t offset = get_le64(handle);
    uint64_t stored = get_le32(handle + 8);

    if (stored == 0 || offset > len || stored > len - offset ||
        len - offset - stored < BLOCK_TRAILER_BYTES)
        return;
    put_le32(file + offset + stored + 1, crc32c(file + offset, stored + 1));
}

/* And behind every data block that the index block at @h names. */
static void seal_data(char *file, size_t len, const struct block_handle *index)
{
    struct block_iter it;
    int steps = 0;

    block_iter_init(&it);
    if (block_iter_open(
            &it, slice_make(file + index->offset, index->stored_bytes), NULL)) {
        block_iter_close(&it);
        return;
    }
    for (block_iter_first(&it); it.valid && steps < 100; steps++) {
        struct cursor c = cursor_make(block_iter_value(&it));
        struct block_handle h;
        block_handle_get(&c, len, &h);
        if (!c.bad && h.stored_bytes > 0)
            put_le32(file + h.offset + h.stored_bytes + 1,
                     crc32c(file + h.offset, (size_t)h.stored_bytes + 1));
        block_iter_next(&it);
    }
    block_iter_close(&it);
}

/* And behind every block that the top names. */
static void seal_partitions(char *file, size_t len, const char *handle)
{
    uint64_t offset = get_le64(handle);
    uint64_t stored = get_le32(handle + 8);
    struct block_iter it;

    if (offset > len || stored > len - offset)
        return;
    block_iter_init(&it);
    if (block_iter_open(&it, slice_make(file + offset, stored), NULL) == 0) {
        int steps = 0;
        for (block_iter_first(&it); it.valid && steps < 100; steps++) {
            struct partition_entry e;
            if (partition_entry_parse(block_iter_value(&it), len, &e, NULL) ==
                0) {
                char h[16];
                put_le64(h, e.index.offset);
                put_le32(h + 8, e.index.stored_bytes);
                seal(file, len, h);
                seal_data(file, len, &e.index);
            }
            block_iter_next(&it);
        }
    }
    block_iter_close(&it);
}

static void repair(char *file, size_t len)
{
    char *footer = file + len - SSTABLE_FOOTER_BYTES;

    put_le64(footer + FOOTER_MAGIC_AT, SSTABLE_MAGIC);
    put_le32(footer + FOOTER_VERSION_AT, SSTABLE_VERSION);
    put_le32(footer + FOOTER_CRC_AT, crc32c(footer, FOOTER_CRC_AT));
    seal_partitions(file, len, footer + FOOTER_TOP_AT);
    seal(file, len, footer + FOOTER_TOP_AT);
    seal(file, len, footer + FOOTER_PROPERTIES_AT);
    seal(file, len, footer + FOOTER_DICTIONARY_AT);
}

struct table_input {
    struct world *world;
    struct slice bytes;
};

/* An encrypted table of one small entry, with the first bytes of the input over
 * it, at the place that the first of them says: its footer, its sealing, its
 * blocks, behind right checksums of the outermost. */
static void damage_sealed(struct fs *fs, struct slice with)
{
    const struct fs_write_options log = {.mode = FS_WRITE_LOG};
    struct group_options group;
    struct buf key = BUF_INIT;
    struct buf file = BUF_INIT;
    struct cell_key k = {.row = SLICE_LIT("row"),
                         .qualifier = SLICE_LIT("q"),
                         .sequence = 1,
                         .family = 1,
                         .kind = ENTRY_PUT};
    struct sstable_writer *t;
    struct fs_writer *w;
    char *tail;

    group_options_default(&group);
    cell_key_append(&key, &k);
    if (sstable_writer_open(fs, "s", &group, 0, false, &t, NULL) ||
        sstable_writer_add(t, buf_slice(&key), SLICE_LIT("value"), NULL) ||
        sstable_writer_finish(t, NULL) ||
        fs_read_all(fs, "s", INPUT_BYTES_MAX, &file, NULL))
        abort();
    sstable_writer_free(t);
    for (size_t i = 2; i < with.len; i++) {
        size_t at = (unsigned char)with.data[0] | (size_t)with.data[1] << 8;
        file.data[(at + i) % file.len] ^= with.data[i];
    }
    tail = file.data + file.len - SSTABLE_FOOTER_BYTES;
    put_le64(tail + FOOTER_MAGIC_AT, SSTABLE_MAGIC);
    put_le32(tail + FOOTER_CRC_AT, crc32c(tail, FOOTER_CRC_AT));
    tail -= SSTABLE_SEALING_BYTES;
    put_le32(tail + 40, crc32c(tail, 40));
    if (fs_create(fs, "t", &log, &w, NULL) ||
        fs_writer_append(w, file.data, file.len, NULL))
        abort();
    fs_writer_close(w);
    buf_close(&key);
    buf_close(&file);
}

static void ignore_block(void *arg,
                         struct slice separator,
                         const struct block_handle *handle)
{
    (void)arg;
    (void)separator;
    (void)handle;
}

/* Read all of the table "t". */
static void read_all(struct fs *fs)
{
    struct block_cache *cache = block_cache_new((size_t)1 << 20);
    struct sstable_reader_options opts = {.cache = cache};
    struct sstable_reader *r;
    uint64_t count;
    int rc = sstable_reader_open(fs, "t", &opts, &r, NULL);

    if (rc == 0) {
        rc = sstable_reader_each_block(r, ignore_block, NULL, NULL);
        if (rc == 0)
            rc = sstable_verify(r, &count, NULL);
        sstable_reader_unref(r);
    }
    PRE(rc == 0 || rc == ERR_CORRUPT || rc == ERR_UNSUPPORTED ||
        rc == ERR_NOMEM);
    block_cache_free(cache);
}

/* The same where tables are encrypted. */
static void read_sealed(void *arg)
{
    const struct table_input *in = arg;
    struct keyring *k = keyring_new_ephemeral(in->world);
    struct fs *fs;

    if (fs_local_open(in->world, "/", &fs, NULL))
        abort();
    fs_set_keyring(fs, k);
    damage_sealed(fs, in->bytes);
    read_all(fs);
    fs_close(fs);
    keyring_unref(k);
}

static void try_sealed(struct slice bytes)
{
    struct table_input in = {
        .world = sim_world_new(&(struct sim_options){.seed = 1}),
        .bytes = bytes};

    if (bytes.len > 2)
        sim_run(in.world, read_sealed, &in);
    world_free(in.world);
}

static void read_table(void *arg)
{
    const struct table_input *in = arg;
    struct fs_write_options log = {.mode = FS_WRITE_LOG};
    struct fs_writer *w;
    struct fs *fs;

    if (fs_local_open(in->world, "/", &fs, NULL) ||
        fs_create(fs, "t", &log, &w, NULL))
        abort();
    if (fs_writer_append(w, in->bytes.data, in->bytes.len, NULL))
        abort();
    fs_writer_close(w);
    read_all(fs);
    fs_close(fs);
}

static void try_table(struct slice bytes)
{
    struct table_input in = {
        .world = sim_world_new(&(struct sim_options){.seed = 1})};
    struct buf file = BUF_INIT;

    buf_append_slice(&file, bytes);
    if (file.len >= SSTABLE_FOOTER_BYTES)
        repair(file.data, file.len);
    in.bytes = buf_slice(&file);
    sim_run(in.world, read_table, &in);
    world_free(in.world);
    buf_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice rest;

    if (size == 0 || size > INPUT_BYTES_MAX)
        return 0;
    rest = slice_make(data + 1, size - 1);
    if (data[0] >= 0xf0) {
        try_sealed(rest);
        return 0;
    }
    switch (data[0] % 4) {
    case 0: walk_block(rest); break;
    case 1: read_properties(rest); break;
    default: try_table(rest); break;
    }
    return 0;
}
