/* Another worker, asked for its spills: what it has arrives, long segments in
 * several answers; one that answers nonsense, too little or nothing is to
 * blame, and one whose answer nobody waits for is not.
 *
 * The worker is a machine of a simulation that says what the test has it say.
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/rpc/channel_set.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "base/sim/sim_cluster.h"
#include "mapreduce/cluster/spill_peer.h"
#include "tests/lib/check_main.h"

#define ADDRESS "w1:900"

enum {
    SECOND = 1000000,
    FILE_BYTES = 10 << 20
};

static struct sim_cluster *cluster;
static struct rpc_security *security;
static struct world *director;
static struct world *machine;
static struct channel_set *channels;
static bool up;
static bool over;
static unsigned calls;
static char *spill;       /* The bytes of all spills. */
static struct buf index_; /* The answer to all questions where segments are. */
static uint64_t too_few;  /* Bytes that each answer lacks. */

/* --- the worker ---------------------------------------------------------- */

static int on_index(void *ctx, struct rpc_call *call, struct err *err)
{
    struct task_spill *spills = NULL;
    struct spill_ask a;
    int rc = spill_ask_get(call->body, call->attachment, &a, &spills, err);
    (void)ctx;
    calls++;
    if (rc == 0 && a.number != 7)
        rc = err_set(err, ERR_CLOSED, "another incarnation");
    if (rc == 0)
        buf_append_slice(call->reply_attachment, buf_slice(&index_));
    mem_free(spills);
    return rc;
}

static int on_read(void *ctx, struct rpc_call *call, struct err *err)
{
    struct spill_piece *pieces = NULL;
    struct spill_read r;
    int rc = spill_read_get(call->body, call->attachment, &r, &pieces, err);
    (void)ctx;
    calls++;
    for (size_t i = 0; i < r.count && rc == 0; i++) {
        ck_assert_uint_le(pieces[i].offset + pieces[i].bytes, FILE_BYTES);
        buf_append(call->reply_attachment, spill + pieces[i].offset,
                   pieces[i].bytes);
    }
    call->reply_attachment->len -=
        MIN_OF(call->reply_attachment->len, (size_t)too_few);
    mem_free(pieces);
    return rc;
}

static void run_worker(void *arg)
{
    static const struct rpc_method methods[] = {
        {WORKER_SPILL_INDEX, "index", on_index, 0},
        {WORKER_SPILL_READ, "read", on_read, 0},
    };
    struct rpc_listen_options listen = {.security = security};
    struct rpc_listener *listener = NULL;
    struct rpc_server *rpc = rpc_server_new(machine);
    (void)arg;
    rpc_server_add(rpc, methods, ARRAY_LEN(methods), NULL);
    ck_assert_int_eq(rpc_listen(rpc, ADDRESS, &listen, &listener, NULL), 0);
    up = true;
    while (fiber_check(NULL) == 0)
        world_sleep_us(machine, SECOND / 10);
    rpc_listener_close(listener);
    rpc_server_free(rpc);
}

/* --- who asks ------------------------------------------------------------ */

static bool is_over(void *ctx)
{
    (void)ctx;
    return over;
}

static struct spill_peer peer_of(uint64_t number)
{
    return (struct spill_peer){
        .world = director,
        .channels = channels,
        .place = {.number = number, .address = SLICE_LIT(ADDRESS)},
        .job = "job",
        .partition = 3,
        .tries = 2,
        .is_over = is_over};
}

static int take(void *ctx, struct slice bytes, struct err *err)
{
    (void)err;
    buf_append_slice(ctx, bytes);
    return 0;
}

/* Ask for two spills, and read what they have into @out. */
static int bring(uint64_t number, struct buf *out)
{
    const struct task_spill spills[] = {{5, 1, 0}, {6, 2, 0}};
    const struct spill_peer peer = peer_of(number);
    struct spill_found found[2];
    struct spill_reader r = {.peer = &peer, .take = take, .ctx = out};
    int rc;
    memset(found, 0, sizeof(found));
    rc = spill_peer_ask(&peer, spills, found, 2, NULL);
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = spill_reader_add(&r, &found[i], NULL);
    if (rc == 0)
        rc = spill_reader_finish(&r, NULL);
    spill_reader_close(&r);
    for (int i = 0; i < 2; i++)
        spill_found_close(&found[i]);
    return rc;
}

static void put_segment(uint64_t offset, uint64_t bytes)
{
    buf_put_varint(&index_, offset);
    buf_put_varint(&index_, bytes);
    buf_put_varint(&index_, 9);
}

static void put_head(bool there, unsigned count)
{
    buf_put_u8(&index_, there);
    buf_put_varint(&index_, count);
}

static void ask(void *arg)
{
    const struct rpc_channel_options o = {.security = security};
    struct buf got = BUF_INIT;
    (void)arg;
    sim_boot(machine, run_worker, NULL);
    while (!up)
        world_sleep_us(director, SECOND / 100);
    channels = channel_set_new(&o);
    /* Small ones, none, and one of more than an answer has. */
    put_head(true, 3);
    put_segment(10, 20);
    put_segment(50, 1);
    put_segment(1000, 2 * SPILL_READ_BYTES_MAX + 77);
    put_head(true, 0);
    ck_assert_int_eq(bring(7, &got), 0);
    ck_assert_uint_eq(got.len, 21 + 2 * SPILL_READ_BYTES_MAX + 77);
    ck_assert_mem_eq(got.data, spill + 10, 20);
    ck_assert_mem_eq(got.data + 20, spill + 50, 1);
    ck_assert_mem_eq(got.data + 21, spill + 1000, got.len - 21);
    /* In one life it is this worker, in another it is not. */
    ck_assert_int_eq(bring(8, &got), ERR_CLOSED);
    too_few = 1;
    ck_assert_int_eq(bring(7, &got), ERR_CORRUPT);
    ck_assert(spill_peer_is_to_blame(ERR_CORRUPT));
    too_few = 0;
    /* Cut, one too many, an empty one, beyond all bounds, and segments of what
     * is not there. */
    for (int i = 0; i < 5; i++) {
        buf_clear(&index_);
        put_head(i != 4, 1);
        if (i == 2)
            put_segment(10, 0);
        else
            put_segment(i == 3 ? UINT64_MAX - 5 : 10, 10);
        if (i > 0)
            put_head(true, 0);
        if (i == 1)
            put_head(true, 0);
        ck_assert_int_eq(bring(7, &got), ERR_CORRUPT);
    }
    /* Nobody waits: nobody is asked. */
    over = true;
    calls = 0;
    ck_assert_int_eq(bring(7, &got), ERR_CANCELLED);
    ck_assert_uint_eq(calls, 0);
    ck_assert(!spill_peer_is_to_blame(ERR_CANCELLED));
    over = false;
    sim_stop(machine);
    ck_assert(spill_peer_is_to_blame(bring(7, &got)));
    channel_set_close(channels);
    buf_close(&got);
    buf_close(&index_);
}

START_TEST(test_answers)
{
    struct sim_options o = {.network_us = 100, .sync_us = 100};
    struct rand_gen r;
    rand_init(&r, test_seed());
    spill = mem_alloc(FILE_BYTES);
    for (size_t i = 0; i < FILE_BYTES; i += 8)
        put_le64(spill + i, rand_u64(&r));
    cluster = sim_cluster_new(test_seed());
    security = rpc_security_none("test", "ann");
    director = sim_director(cluster);
    machine = sim_machine_new(cluster, "w1", &o);
    sim_cluster_run(cluster, ask, NULL);
    rpc_security_free(security);
    sim_cluster_free(cluster);
    mem_free(spill);
}

END_TEST

TEST_MAIN("spill_peer", test_answers)
