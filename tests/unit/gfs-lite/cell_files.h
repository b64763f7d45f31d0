/* Files on a cell of test machines: made, filled, compared. */
#ifndef TESTS_UNIT_GFS_LITE_CELL_FILES_H
#define TESTS_UNIT_GFS_LITE_CELL_FILES_H

#include "base/core/arena.h"
#include "tests/lib/check_main.h"
#include "tests/unit/gfs-lite/cell.h"

/* Fails the test, with what happened last, unless @call, which may say why in
 * `err`, gives 0. */
#define OK(call)                                                               \
    do {                                                                       \
        struct err err_ = ERR_INIT;                                            \
        struct err *err = &err_;                                               \
        int rc_ = (call);                                                      \
        if (rc_ != 0)                                                          \
            cell_print_trace();                                                \
        ck_assert_msg(rc_ == 0, "%s: %d %s", #call, rc_, err->text);           \
    } while (0)

/* Run @scenario on a fresh cell. */
static inline void run_in_cell(unsigned namenodes,
                               unsigned chunks,
                               void (*scenario)(struct cell *c))
{
    struct cell *c = cell_new(test_seed(), namenodes, chunks);
    cell_run(c, scenario);
    cell_free(c);
}

/* Bytes that tell where they belong. */
static inline void fill(struct buf *b, uint64_t from, size_t len, uint64_t seed)
{
    for (size_t i = 0; i < len; i++) {
        uint64_t at = from + i;
        buf_append_byte(b, (char)((at * 2654435761u + seed + (at >> 9)) >> 3));
    }
}

static inline void
check_file(struct fs *fs, const char *path, struct slice want)
{
    struct buf got = BUF_INIT;
    OK(fs_read_all(fs, path, 1 << 28, &got, err));
    ck_assert_uint_eq(got.len, want.len);
    ck_assert(slice_eq(buf_slice(&got), want));
    buf_close(&got);
}

/* Wait until the namenode has heard of all servers: what is begun earlier has
 * fewer copies. */
static inline void await_servers(struct cell *c, struct fs *fs)
{
    size_t alive = 0;
    for (unsigned i = 0; alive < c->chunk_count; i++) {
        struct gfs_status s;
        struct arena a;
        ck_assert_uint_lt(i, 300);
        world_sleep_us(sim_director(c->sim), 100000);
        arena_init(&a);
        OK(gfs_get_status(fs, &a, &s, err));
        alive = 0;
        for (size_t n = 0; n < s.server_count; n++)
            alive += s.servers[n].alive;
        arena_close(&a);
    }
}

static inline void
write_file(struct fs *fs, const char *path, struct slice data, bool sync)
{
    struct fs_write_options o = {.mode = FS_WRITE_STREAM};
    struct fs_writer *w;
    OK(fs_create(fs, path, &o, &w, err));
    OK(fs_writer_append(w, data.data, data.len, err));
    if (sync)
        OK(fs_writer_sync(w, err));
    fs_writer_close(w);
}

/* Run @scenario on cells of @servers chunk servers and small chunks, for both
 * ways of writing and with several seeds, so that failures come at other
 * moments. If @apart, the cell has one more machine than servers. */
static inline void run_both_ways(void (*scenario)(struct cell *c),
                                 unsigned servers,
                                 uint32_t chunk_bytes,
                                 bool apart)
{
    for (uint64_t seed = test_seed(), end = seed + 4; seed < end; seed++) {
        struct cell *c = cell_new(seed, 1, servers);
        if (apart)
            cell_add_node(c, &c->chunks[servers], "c", servers);
        c->chunk_bytes = chunk_bytes;
        c->write_way = seed % 2 ? GFS_WRITE_TO_EACH : GFS_WRITE_ALONG_CHAIN;
        cell_run(c, scenario);
        cell_free(c);
    }
}

#endif /* TESTS_UNIT_GFS_LITE_CELL_FILES_H */
