/* Which of a chunk's servers a reader asks. */
#include "base/core/arena.h"
#include "gfs-lite/gfs_wire.h"
#include "tests/lib/server_counter.h"
#include "tests/unit/gfs-lite/cell_files.h"

#define SERVERS    3
#define READS      400
#define READ_BYTES 1000

/* Reads that server @i has answered. */
static uint64_t reads_of(struct cell *c, unsigned i)
{
    return server_calls(c->chunks[i].server, "chunk.read");
}

/* The one whose count has risen since @before, which becomes the count. */
static unsigned find_asked(struct cell *c, uint64_t before[SERVERS])
{
    unsigned asked = SERVERS;
    for (unsigned i = 0; i < SERVERS; i++) {
        uint64_t now = reads_of(c, i);
        if (now != before[i])
            asked = i;
        before[i] = now;
    }
    ck_assert_uint_lt(asked, SERVERS);
    return asked;
}

static void take_turns(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "test");
    struct buf data = BUF_INIT;
    uint64_t counts[SERVERS];
    unsigned parts[SERVERS] = {0};
    unsigned last = SERVERS;
    unsigned changes = 0;
    struct fs_reader *r;
    fill(&data, 0, 100000, 5);
    write_file(fs, "f", buf_slice(&data), true);
    world_sleep_us(sim_director(c->sim), 3000000);
    OK(fs_open(fs, "f", &r, err));
    for (unsigned i = 0; i < SERVERS; i++)
        counts[i] = reads_of(c, i);
    for (unsigned i = 0; i < READS; i++) {
        char piece[READ_BYTES];
        size_t at = i * 7919 % (data.len - sizeof(piece));
        size_t got;
        unsigned asked;
        OK(fs_read_at(r, at, piece, sizeof(piece), &got, err));
        ck_assert_uint_eq(got, sizeof(piece));
        ck_assert_mem_eq(piece, data.data + at, got);
        asked = find_asked(c, counts);
        changes += asked != last;
        last = asked;
        parts[asked]++;
    }
    ck_assert_uint_le(changes, READS / 4 + 1);
    for (unsigned i = 0; i < SERVERS; i++)
        ck_assert_uint_ge(parts[i], READS / 10);
    fs_reader_close(r);
    buf_close(&data);
    fs_close(fs);
}

/* Servers that are equally near have their parts of the reads, a few reads in a
 * row each, so that those under way at once can share messages. */
START_TEST(test_near_servers_take_turns)
{
    run_in_cell(1, SERVERS, take_turns);
}

END_TEST

/* The servers of the only chunk of @path, as readers are told. */
static struct gfs_server_set servers_of(struct fs *fs, const char *path)
{
    struct gfs_server_set servers;
    struct gfs_layout l;
    struct arena a;
    arena_init(&a);
    OK(gfs_get_layout(fs, path, 0, &a, &l, err));
    ck_assert_uint_eq(l.chunk_count, 1);
    servers = l.chunks[0].servers;
    arena_close(&a);
    return servers;
}

static void keep_order(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "test");
    struct fs_write_options o = {.mode = FS_WRITE_STREAM};
    for (unsigned i = 0; i < 12; i++) {
        struct gfs_server_set chain, closed;
        struct fs_writer *w;
        char path[16];
        snprintf(path, sizeof(path), "f%u", i);
        OK(fs_create(fs, path, &o, &w, err));
        OK(fs_writer_append(w, "x", 1, err));
        OK(fs_writer_sync(w, err));
        chain = servers_of(fs, path);
        world_sleep_us(sim_director(c->sim), 2500000); /* It is reported. */
        fs_writer_close(w);
        closed = servers_of(fs, path);
        ck_assert_uint_eq(chain.count, SERVERS);
        ck_assert_uint_eq(closed.count, SERVERS);
        ck_assert_mem_eq(closed.numbers, chain.numbers,
                         SERVERS * sizeof(chain.numbers[0]));
    }
    fs_close(fs);
}

/* Of a file that was closed a moment ago the servers are named in the order of
 * their chain, whichever reported first: of copies on one machine the first is
 * in the page cache. */
START_TEST(test_closed_files_keep_the_order_of_the_chain)
{
    run_in_cell(1, SERVERS, keep_order);
}

END_TEST

TEST_MAIN("read",
          test_near_servers_take_turns,
          test_closed_files_keep_the_order_of_the_chain)
