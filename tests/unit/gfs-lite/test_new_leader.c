/* A namenode that has just begun to lead learns of the chunk servers one by
 * one: acting before it knows all of them does no harm. */
#include "base/core/arena.h"
#include "base/runtime/log.h"
#include "base/session/leader.h"
#include "gfs-lite/gfs_wire.h"
#include "gfs-lite/namenode/namenode_state.h"
#include "gfs-lite/namenode_command.h"
#include "gfs-lite/peers.h"
#include "tests/unit/gfs-lite/cell_files.h"

#define DEAD_US UINT64_C(9000000)

/* --- Fixture ------------------------------------------------------------- */

static void run(void (*scenario)(struct cell *c))
{
    struct cell *c = cell_new(test_seed(), 1, 3);
    c->namenode_options.server_dead_us = DEAD_US;
    cell_run(c, scenario);
    cell_free(c);
}

static void sleep_us(struct cell *c, uint64_t us)
{
    world_sleep_us(sim_director(c->sim), us);
}

/* Has the namenode heard of server 0? */
static bool hears(struct fs *fs)
{
    struct gfs_status s;
    struct arena a;
    bool alive = false;
    arena_init(&a);
    OK(gfs_get_status(fs, &a, &s, err));
    for (size_t i = 0; i < s.server_count; i++)
        alive |= s.servers[i].alive;
    arena_close(&a);
    return alive;
}

/* A namenode that leads again, and has heard of server 0 alone. */
static void restart(struct cell *c, struct fs *fs)
{
    struct world *nn = c->namenodes[0].world;
    write_file(fs, "before", SLICE_LIT("all are known"), true);
    sim_crash(nn, SIM_CRASH_KILL);
    sim_await_end(nn);
    for (unsigned i = 1; i < 3; i++)
        sim_pause(c->chunks[i].world);
    sim_boot(nn, cell_run_namenode, &c->namenodes[0]);
    while (!hears(fs))
        sleep_us(c, 10000);
}

static unsigned count_copies(struct fs *fs, const char *path)
{
    struct gfs_layout l;
    struct arena a;
    unsigned copies;
    arena_init(&a);
    OK(gfs_get_layout(fs, path, 0, &a, &l, err));
    ck_assert_uint_eq(l.chunk_count, 1);
    copies = l.chunks[0].servers.count;
    arena_close(&a);
    return copies;
}

/* --- Tests --------------------------------------------------------------- */

static void resume(struct cell *c)
{
    for (unsigned i = 1; i < 3; i++)
        sim_resume(c->chunks[i].world);
}

static void resume_later(void *arg)
{
    sleep_us(arg, 500000);
    resume(arg);
}

static void write_early(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "writer");
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs_writer *w;
    uint64_t at;
    restart(c, fs);
    sim_spawn(sim_director(c->sim), "resume", resume_later, c);
    OK(fs_create(fs, "f", &o, &w, err));
    OK(fs_writer_append_sync(w, "three", 5, err));
    ck_assert_uint_eq(count_copies(fs, "f"), 3);
    OK(gfs_record_append(fs, "records", SLICE_LIT("three"), &at, err));
    ck_assert_uint_eq(count_copies(fs, "records"), 3);
    fs_writer_close(w);
    fs_close(fs);
}

/* A chunk is not put on fewer servers than wanted because the others have not
 * been heard of yet. */
START_TEST(test_chunks_wait_for_servers)
{
    run(write_early);
}

END_TEST

static void write_with_one(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "writer");
    uint64_t began;
    restart(c, fs);
    began = sim_cluster_now_us(c->sim);
    write_file(fs, "f", SLICE_LIT("one"), true);
    ck_assert_uint_lt(sim_cluster_now_us(c->sim) - began, DEAD_US);
    resume(c);
    check_file(fs, "f", SLICE_LIT("one"));
    fs_close(fs);
}

/* Nor is it waited for servers that do not come longer than until they are
 * taken for dead. */
START_TEST(test_chunks_do_not_wait_long)
{
    run(write_with_one);
}

END_TEST

/* --- One server is left -------------------------------------------------- */

/* All but server 0 end, and the namenode takes them for dead. */
static void leave_one(struct cell *c, struct fs *fs)
{
    write_file(fs, "before", SLICE_LIT("all are known"), true);
    for (unsigned i = 1; i < 3; i++)
        sim_pause(c->chunks[i].world);
    sleep_us(c, DEAD_US + DEAD_US / 4);
}

static void write_while_one_is_left(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "writer");
    leave_one(c, fs);
    sim_spawn(sim_director(c->sim), "resume", resume_later, c);
    write_file(fs, "f", SLICE_LIT("more than one"), true);
    ck_assert_uint_gt(count_copies(fs, "f"), 1);
    fs_close(fs);
}

/* A server that was lost a moment ago is waited for. */
START_TEST(test_one_server_is_too_few)
{
    run(write_while_one_is_left);
}

END_TEST

static void write_to_the_last(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "writer");
    uint64_t began;
    leave_one(c, fs);
    began = sim_cluster_now_us(c->sim);
    write_file(fs, "f", SLICE_LIT("one"), true);
    ck_assert_uint_gt(sim_cluster_now_us(c->sim) - began, DEAD_US / 2);
    ck_assert_uint_lt(sim_cluster_now_us(c->sim) - began, DEAD_US);
    began = sim_cluster_now_us(c->sim);
    write_file(fs, "g", SLICE_LIT("at once"), true);
    ck_assert_uint_lt(sim_cluster_now_us(c->sim) - began, DEAD_US / 8);
    ck_assert_uint_eq(count_copies(fs, "g"), 1);
    resume(c);
    fs_close(fs);
}

/* Lost for longer, they are not: one copy is better than none. */
START_TEST(test_one_server_is_better_than_none)
{
    run(write_to_the_last);
}

END_TEST

/* --- Answers that were lost ---------------------------------------------- */

/* A client that does not hear some of the answers. */
struct caller {
    struct cell *cell;
    struct peers *peers;
    struct leader *leader;
    uint64_t session;
    uint64_t sequence;
    uint64_t file; /* Of allocate_more(), which sets the rest. */
    uint64_t epoch;
    int answer;
    bool done;
};

static struct gfs_result say(struct caller *k, struct gfs_command c)
{
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct gfs_result r;
    c.session = k->session;
    c.sequence = k->sequence;
    gfs_command_put(&c, &body);
    OK(leader_call(k->leader, GFS_EXECUTE, 10000000, buf_slice(&body),
                   SLICE_EMPTY, &reply, NULL, err));
    OK(gfs_result_get(buf_slice(&reply), &r, err));
    ck_assert_int_eq(r.code, 0);
    buf_close(&body);
    buf_close(&reply);
    return r; /* Its texts are gone. */
}

static void caller_open(struct caller *k, struct cell *c)
{
    *k = (struct caller){.cell = c, .peers = peers_new(NULL)};
    OK(peers_find_leader(k->peers, sim_director(c->sim), c->addresses,
                         &k->leader, err));
    k->session =
        say(k, (struct gfs_command){.op = GFS_OP_SESSION_OPEN}).session;
}

static void caller_close(struct caller *k)
{
    leader_free(k->leader);
    peers_close(k->peers);
}

static void allocate_again(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "other");
    struct gfs_command allocate = {.op = GFS_OP_ALLOCATE};
    struct gfs_result first;
    struct gfs_result again;
    struct caller k;
    await_servers(c, fs);
    caller_open(&k, c);
    k.sequence = 1;
    first = say(&k, (struct gfs_command){.op = GFS_OP_CREATE,
                                         .path = SLICE_LIT("f"),
                                         .replication = 3});
    allocate.file = first.file;
    allocate.epoch = first.epoch;
    k.sequence = 2;
    first = say(&k, allocate);
    restart(c, fs);
    again = say(&k, allocate);
    ck_assert_uint_ne(first.chunk, 0);
    ck_assert_uint_eq(again.chunk, first.chunk);
    ck_assert_uint_eq(again.servers.count, first.servers.count);
    resume(c);
    caller_close(&k);
    fs_close(fs);
}

/* A writer whose chunk was begun, but that did not hear so, is told when it
 * asks the new leader, which could not begin one yet. */
START_TEST(test_a_chunk_whose_answer_was_lost)
{
    run(allocate_again);
}

END_TEST

/* --- A leader that is deposed while a call waits ------------------------- */

static struct cell_node *leader_of(struct cell *c)
{
    for (unsigned i = 0; i < c->namenode_count; i++)
        if (namenode_lead(c->namenodes[i].namenode, NULL) == 0)
            return &c->namenodes[i];
    return NULL;
}

/* Another client takes the file over, which waits for its servers. */
static void take_file(void *arg)
{
    struct cell *c = arg;
    struct fs *fs = cell_client(c, sim_director(c->sim), "taker");
    uint64_t length;
    if (fs_recover(fs, "f", &length, NULL))
        log_debug(sim_director(c->sim), "test", "the file was not taken");
    fs_close(fs);
}

/* Ask for another chunk of the file; whether there is one does not matter. */
static void allocate_more(void *arg)
{
    struct caller *k = arg;
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct gfs_command more = {.op = GFS_OP_ALLOCATE,
                               .session = k->session,
                               .sequence = k->sequence,
                               .file = k->file,
                               .epoch = k->epoch};
    gfs_command_put(&more, &body);
    k->answer = leader_call(k->leader, GFS_EXECUTE, 10000000, buf_slice(&body),
                            SLICE_EMPTY, &reply, NULL, NULL);
    buf_close(&body);
    buf_close(&reply);
    k->done = true;
}

static void depose_while_allocating(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "other");
    struct gfs_result made;
    struct cell_node *leader;
    struct caller k;
    await_servers(c, fs);
    caller_open(&k, c);
    k.sequence = 1;
    made = say(&k, (struct gfs_command){.op = GFS_OP_CREATE,
                                        .path = SLICE_LIT("f"),
                                        .replication = 3});
    k.file = made.file;
    k.epoch = made.epoch;
    k.sequence = 2;
    say(&k, (struct gfs_command){
                .op = GFS_OP_ALLOCATE, .file = k.file, .epoch = k.epoch});
    for (unsigned i = 0; i < c->chunk_count; i++)
        sim_pause(c->chunks[i].world);
    sim_spawn(sim_director(c->sim), "taker", take_file, c);
    sleep_us(c, 100000);
    k.sequence = 3;
    sim_spawn(sim_director(c->sim), "allocate", allocate_more, &k);
    sleep_us(c, 100000);
    leader = leader_of(c);
    ck_assert_ptr_nonnull(leader);
    ck_assert(!k.done);
    for (unsigned i = 0; i < c->namenode_count; i++) {
        sim_cut(leader->world, c->namenodes[i].world, true);
        sim_cut(c->namenodes[i].world, leader->world, true);
    }
    while (namenode_lead(leader->namenode, NULL) == 0)
        sleep_us(c, 10000);
    ck_assert(!k.done);
    for (unsigned i = 0; i < c->chunk_count; i++)
        sim_resume(c->chunks[i].world);
    while (!k.done)
        sleep_us(c, 10000);
    sim_heal(c->sim);
    check_file(fs, "f", SLICE_EMPTY);
    caller_close(&k);
    fs_close(fs);
}

/* A namenode that waits for a recovery before it chooses servers, and does not
 * lead any more when that ends, refuses the call and continues. */
START_TEST(test_a_leader_deposed_while_it_waits)
{
    struct cell *c = cell_new(test_seed(), 3, 3);
    c->namenode_options.server_dead_us = DEAD_US;
    cell_run(c, depose_while_allocating);
    cell_free(c);
}

END_TEST

TEST_MAIN("gfs_new_leader",
          test_a_leader_deposed_while_it_waits,
          test_a_chunk_whose_answer_was_lost,
          test_chunks_wait_for_servers,
          test_chunks_do_not_wait_long,
          test_one_server_is_too_few,
          test_one_server_is_better_than_none)
