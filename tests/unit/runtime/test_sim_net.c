/* The network between simulated machines delays, loses, cuts and resets as it
 * is told, disks rot, and equal seeds give equal runs. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/runtime/sim_pair.h"

static int errors_seen;

/* --- Network ------------------------------------------------------------- */

static void partitions(void *arg)
{
    struct err err = ERR_INIT;
    struct stream *s;
    struct world *d = sim_director(cluster);
    struct slice part = SLICE_LIT("y");
    uint64_t from;
    char p[1];
    (void)arg;
    sim_boot(a, echo_server, NULL);
    world_sleep_us(d, 1000);
    s = must_connect("a:7");
    /* Cut for a while: late, not lost. */
    sim_cut(d, a, true);
    ck_assert_int_eq(stream_write(s, &part, 1, &err), 0);
    world_sleep_us(d, 3 * SECOND);
    sim_cut(d, a, false);
    from = sim_cluster_now_us(cluster);
    ck_assert_int_eq(stream_read_full(s, p, 1, &err), 0);
    ck_assert_uint_lt(sim_cluster_now_us(cluster) - from, SECOND);
    /* The way back cut: it hears us, we do not hear it. */
    sim_cut(a, d, true);
    ck_assert_int_eq(stream_write(s, &part, 1, &err), 0);
    fiber_set_deadline(world_mono_ns(d) + UINT64_C(2000000000));
    ck_assert_int_eq(stream_read_full(s, p, 1, &err), ERR_DEADLINE);
    fiber_set_deadline(0);
    /* For long: given up. */
    ck_assert_int_eq(stream_read_full(s, p, 1, &err), ERR_CLOSED);
    ck_assert_ptr_nonnull(strstr(err.text, "timed out"));
    stream_close(s);
    from = sim_cluster_now_us(cluster);
    ck_assert_int_eq(stream_connect("a:7", &s, &err), ERR_UNAVAILABLE);
    ck_assert_uint_ge(sim_cluster_now_us(cluster) - from, SIM_NET_GIVE_UP_US);
    sim_heal(cluster);
    s = must_connect("a:7");
    ck_assert_int_eq(say(s, 'z', &err), 0);
    sim_reset_connections(cluster, a, d);
    ck_assert_int_eq(say(s, 'z', &err), ERR_CLOSED);
    stream_close(s);
}

/* A short cut delays, a long one breaks; each way on its own. */
START_TEST(test_partitions)
{
    everywhere(partitions);
}

END_TEST

static char to_a[] = "a:7";
static char to_b[] = "b:7";

static void try_partition(void *arg)
{
    struct err err = ERR_INIT;
    struct stream *s;
    int rc;
    fiber_set_deadline(world_mono_ns(here()) + 1000000000);
    rc = stream_connect(arg, &s, &err);
    if (rc == 0)
        rc = say(s, 'p', &err);
    errors_seen += rc != 0;
    stream_close(s);
}

static void sides(void *arg)
{
    struct world *side[1] = {a};
    (void)arg;
    errors_seen = 0;
    sim_boot(a, echo_server, NULL);
    sim_boot(b, echo_server, NULL);
    world_sleep_us(here(), 1000);
    sim_partition(cluster, side, 1);
    try_partition(to_b);
    sim_spawn(a, "self", try_partition, to_a);
    world_sleep_us(here(), 2 * SECOND);
    ck_assert_int_eq(errors_seen, 0);
    sim_spawn(a, "out", try_partition, to_b);
    sim_spawn(b, "in", try_partition, to_a);
    try_partition(to_a);
    world_sleep_us(here(), 2 * SECOND);
    ck_assert_int_eq(errors_seen, 3);
}

/* A partition parts its side from the rest, and nobody else. */
START_TEST(test_partition_sides)
{
    everywhere(sides);
}

END_TEST

static int served; /* Bytes the counting server has read. */

static void count_one(void *arg)
{
    struct stream *s = arg;
    char p[1];
    size_t got;
    while (stream_read(s, p, 1, &got, NULL) == 0 && got) {
        struct slice part = slice_make(p, 1);
        served++;
        if (stream_write(s, &part, 1, NULL))
            break;
    }
    stream_close(s);
}

static void count_accept(void *arg)
{
    struct stream *s;
    while (stream_accept(arg, &s, NULL) == 0)
        fiber_detach(fiber_start(loop_self(), "count", count_one, s));
}

static void count_server(void *arg)
{
    struct stream_listener *l;
    (void)arg;
    ck_assert_int_eq(stream_listen(":7", &l, NULL), 0);
    count_accept(l);
    stream_listener_close(l);
}

static void lost_answers(void *arg)
{
    struct err err = ERR_INIT;
    struct world *d = sim_director(cluster);
    struct stream *s;
    int answered = 0;
    (void)arg;
    served = 0;
    sim_boot(a, count_server, NULL);
    world_sleep_us(d, 1000);
    sim_set_link(cluster, d, a,
                 &(struct sim_link){.answer_rate = 300000, .loss_rate = 50000});
    for (int i = 0; i < 100; i++) {
        s = must_connect("a:7");
        answered += say(s, 'q', &err) == 0;
        stream_close(s);
    }
    world_sleep_us(d, 10 * SECOND);
    ck_assert_int_eq(served, 100); /* All were executed. */
    ck_assert_int_lt(answered, 85);
    ck_assert_int_gt(answered, 50);
    sim_set_link(cluster, d, a, &(struct sim_link){.reset_rate = 1000000});
    s = must_connect("a:7");
    ck_assert_int_eq(say(s, 'q', &err), ERR_CLOSED);
    stream_close(s);
}

/* A lost answer's request is executed; a reset's caller gets an error. */
START_TEST(test_lost_answers)
{
    everywhere(lost_answers);
}

END_TEST

static void sink_server(void *arg)
{
    struct stream_listener *l;
    struct stream *s;
    char p[1000];
    size_t got;
    (void)arg;
    ck_assert_int_eq(stream_listen(":7", &l, NULL), 0);
    ck_assert_int_eq(stream_accept(l, &s, NULL), 0);
    while (stream_read(s, p, sizeof(p), &got, NULL) == 0 && got)
        continue;
    stream_close(s);
    stream_listener_close(l);
}

static void bandwidth(void *arg)
{
    struct err err = ERR_INIT;
    struct world *d = sim_director(cluster);
    struct stream *s;
    char *big = calloc(1, 1000000);
    struct slice part = slice_make(big, 1000000);
    uint64_t from = sim_cluster_now_us(cluster);
    (void)arg;
    sim_boot(a, sink_server, NULL);
    world_sleep_us(d, 1000);
    sim_set_link(cluster, d, a, &(struct sim_link){.bytes_per_s = 500000});
    s = must_connect("a:7");
    ck_assert_int_eq(stream_write(s, &part, 1, &err), 0);
    ck_assert_uint_gt(sim_cluster_now_us(cluster) - from, SECOND);
    ck_assert_uint_lt(sim_cluster_now_us(cluster) - from, 3 * SECOND);
    stream_close(s);
    free(big);
}

/* A line takes the time its bytes need. */
START_TEST(test_bandwidth)
{
    start(1);
    sim_cluster_run(cluster, bandwidth, NULL);
    sim_cluster_free(cluster);
}

END_TEST

/* --- Rot ----------------------------------------------------------------- */

static void rot(void *arg)
{
    struct file *f;
    struct slice part = SLICE_LIT("00000000");
    char p[8];
    size_t got;
    int differ = 0;
    (void)arg;
    ck_assert(!sim_rot(a, "dir/"));
    ck_assert_int_eq(world_mkdir(a, "dir", NULL), 0);
    f = must_open(a, "dir/file");
    ck_assert_int_eq(file_write_at(f, 0, &part, 1, NULL), 0);
    ck_assert_int_eq(file_sync(f, NULL), 0);
    ck_assert(!sim_rot(a, "other"));
    ck_assert(sim_rot(a, "dir/"));
    ck_assert_int_eq(file_read_at(f, 0, p, 8, &got, NULL), 0);
    for (int i = 0; i < 8; i++)
        differ += p[i] != '0';
    ck_assert_int_eq(differ, 1);
    file_close(f);
}

/* Rot flips one bit of a file below the prefix. */
START_TEST(test_rot)
{
    everywhere(rot);
}

END_TEST

/* --- Replay -------------------------------------------------------------- */

static void chatter(void *arg)
{
    for (int i = 0; fiber_check(NULL) == 0 && i < 1000; i++) {
        struct stream *s;
        if (stream_connect(arg, &s, NULL) == 0) {
            (void)!say(s, (char)i, NULL);
            stream_close(s);
        }
        world_sleep_us(here(), world_random(here()) % 5000);
    }
}

static void chaos(void *arg)
{
    struct world *d = sim_director(cluster);
    (void)arg;
    sim_boot(a, echo_server, NULL);
    sim_boot(b, echo_server, NULL);
    sim_spawn(a, "chatter", chatter, to_b);
    sim_spawn(b, "chatter", chatter, to_a);
    sim_set_link(cluster, NULL, NULL,
                 &(struct sim_link){.loss_rate = 100000, .jitter_us = 500});
    for (int i = 0; i < 6; i++) {
        struct world *w = world_random(d) % 2 ? a : b;
        world_sleep_us(d, world_random(d) % SECOND);
        sim_crash(w, world_random(d) % 2 ? SIM_CRASH_KILL : SIM_CRASH_POWER);
        sim_await_end(w);
        sim_boot_again(w);
        sim_note(cluster, "round %d", i);
        sim_spawn(w, "chatter", chatter, w == a ? to_b : to_a);
    }
}

static uint64_t hash_of(uint64_t seed)
{
    uint64_t hash;
    start(seed);
    sim_cluster_run(cluster, chaos, NULL);
    hash = sim_cluster_trace_hash(cluster);
    sim_cluster_free(cluster);
    return hash;
}

/* The same seed gives the same run, another one another. */
START_TEST(test_replay)
{
    for (uint64_t seed = 1; seed < 8; seed++) {
        uint64_t h = hash_of(seed);
        ck_assert_uint_eq(h, hash_of(seed));
        ck_assert_uint_ne(h, hash_of(seed + 100));
    }
}

END_TEST

TEST_MAIN("sim_net",
          test_partitions,
          test_partition_sides,
          test_lost_answers,
          test_bandwidth,
          test_rot,
          test_replay)
