/* A peer that connects and then stays silent, does not read, or does not finish
 * a frame costs a bounded amount, and nobody else notices.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/metrics/metrics.h"
#include "base/rpc/frame.h"
#include "base/rpc/handshake.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "tests/lib/check_main.h"
#include "tests/lib/frame_header.h"
#include "tests/lib/server_counter.h"

enum {
    ECHO = 1,
    LARGE = 2,
    LARGE_BYTES = 1 << 20,
    UNAUTHENTICATED_MAX = 8
};

/* --- Fixture ------------------------------------------------------------- */

static struct world *world;
static struct metrics *metrics;
static struct rpc_server *server;
static struct rpc_listener *listener;

static int echo(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    (void)err;
    buf_append_slice(call->reply_body, call->body);
    return 0;
}

/* Takes a while, so that many are under way before the first has ended. */
static int large(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    (void)err;
    world_sleep_us(world, 100000);
    buf_append_fill(call->reply_attachment, 'x', LARGE_BYTES);
    return 0;
}

static void start(const struct rpc_listen_options *opts)
{
    static const struct rpc_method methods[] = {{ECHO, "echo", echo, 0},
                                                {LARGE, "large", large, 0}};
    struct rpc_listen_options o = *opts;
    struct err err = ERR_INIT;
    o.metrics = metrics;
    server = rpc_server_new(world);
    rpc_server_add(server, methods, 2, NULL);
    ck_assert_msg(rpc_listen(server, "sim:1", &o, &listener, &err) == 0, "%s",
                  err.text);
}

static void stop(void)
{
    rpc_listener_close(listener);
    rpc_server_free(server);
}

static void simulated(task_fn fn)
{
    for (uint64_t seed = 0; seed < 4; seed++) {
        world = sim_world_new(
            &(struct sim_options){.seed = seed, .network_us = 300});
        metrics = metrics_new();
        sim_run(world, fn, NULL);
        metrics_free(metrics);
        world_free(world);
    }
}

static uint64_t counted(enum metric_id id)
{
    return metric_read(metrics_counter(metrics, id, NULL));
}

/* --- Helpers ------------------------------------------------------------- */

static struct stream *connect_raw(void)
{
    struct err err = ERR_INIT;
    struct stream *s;
    ck_assert_msg(stream_connect(rpc_listener_address(listener), &s, &err) == 0,
                  "%s", err.text);
    return s;
}

static struct stream *connect_proven(void)
{
    struct sharing sharing;
    struct err err = ERR_INIT;
    struct stream *s = connect_raw();
    ck_assert_msg(handshake_connect(NULL, "sim:1", &s, &sharing, &err) == 0,
                  "%s", err.text);
    return s;
}

/* A client that does what it should gets its answer. */
static int call_echo(void)
{
    struct rpc_channel *c;
    struct err err = ERR_INIT;
    int rc = rpc_connect(rpc_listener_address(listener), &c, &err);
    if (rc)
        return rc;
    rc = rpc_call(c, ECHO, NULL, SLICE_LIT("hello"), SLICE_EMPTY, NULL, NULL,
                  &err);
    rpc_channel_free(c);
    return rc;
}

/* "answers=…" and so on of the listener's status. */
static size_t told(const char *key)
{
    struct buf b = BUF_INIT;
    size_t value;
    const char *at;
    rpc_listener_status(listener, &b);
    at = strstr(buf_cstr(&b), key);
    ck_assert_msg(at && at[strlen(key)] == '=', "%s", buf_cstr(&b));
    value = strtoull(at + strlen(key) + 1, NULL, 10);
    buf_close(&b);
    return value;
}

/* --- Not reading --------------------------------------------------------- */

static size_t most_answers;
static bool is_flooded;

static void flood(void *arg)
{
    struct stream *s = arg;
    char frame[FRAME_HEADER_BYTES];
    struct frame f = {.kind = FRAME_PING, .call_id = 7};
    struct slice part;
    int rc = 0;
    frame_encode_header(&f, frame);
    part = slice_make(frame, sizeof(frame));
    for (size_t i = 0; rc == 0 && i < 200000; i++) {
        rc = stream_write(s, &part, 1, NULL);
        if (i % 100 == 0 && told("answers") > most_answers)
            most_answers = told("answers");
    }
    is_flooded = true;
}

static void unread_pings(void *arg)
{
    struct stream *s;
    struct fiber *f;
    (void)arg;
    most_answers = 0;
    is_flooded = false;
    start(&(struct rpc_listen_options){.slow_us = 2000000});
    s = connect_proven();
    f = fiber_start(loop_self(), "flood", flood, s);
    world_sleep_us(world, 1000000);
    ck_assert(!is_flooded); /* It is not read any more. */
    ck_assert_int_eq(call_echo(), 0);
    fiber_join(f); /* It is closed. */
    ck_assert_uint_gt(most_answers, 0);
    ck_assert_uint_lt(most_answers, (size_t)2 << 20);
    ck_assert_uint_eq(counted(METRIC_rpc_slow_connections), 1);
    stream_close(s);
    world_sleep_us(world, 1000000);
    ck_assert_uint_eq(told("answers"), 0);
    stop();
}

/* Answers to PINGs that nobody reads are bounded: first the server stops
 * reading, then it ends the connection. */
START_TEST(test_unread_pings)
{
    simulated(unread_pings);
}

END_TEST

static void ask_for(struct stream *s, uint32_t method, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char frame[FRAME_HEADER_BYTES];
        struct frame f = {
            .kind = FRAME_REQUEST, .call_id = i + 1, .method = method};
        struct slice part = slice_make(frame, sizeof(frame));
        frame_encode_header(&f, frame);
        if (stream_write(s, &part, 1, NULL))
            return;
    }
}

static void unread_answers(void *arg)
{
    struct stream *s[3];
    (void)arg;
    start(&(struct rpc_listen_options){.out_all_bytes_max = 64 * LARGE_BYTES});
    for (int i = 0; i < 3; i++)
        s[i] = connect_proven();
    ask_for(s[0], LARGE, 40);
    ask_for(s[1], LARGE, 20);
    world_sleep_us(world, 1000000);
    ck_assert_uint_eq(counted(METRIC_rpc_slow_connections), 0);
    ck_assert_uint_le(told("answers"), 62 * LARGE_BYTES);
    ask_for(s[2], LARGE, 20);
    world_sleep_us(world, 1000000);
    /* The greediest is gone; the others wait for their readers. */
    ck_assert_uint_eq(counted(METRIC_rpc_slow_connections), 1);
    ck_assert_uint_ge(told("answers"), 38 * LARGE_BYTES);
    ck_assert_uint_le(told("answers"), 42 * LARGE_BYTES);
    ck_assert_int_eq(call_echo(), 0);
    for (int i = 0; i < 3; i++)
        stream_close(s[i]);
    stop();
}

/* Of all answers that wait, the connection with most of them pays for what is
 * too much. */
START_TEST(test_unread_answers)
{
    simulated(unread_answers);
}

END_TEST

static void no_more_answers(void *arg)
{
    struct stream *s;
    (void)arg;
    start(&(struct rpc_listen_options){.calls_max = 4});
    s = connect_proven();
    ask_for(s, LARGE, 100);
    world_sleep_us(world, 5000000);
    ck_assert_uint_le(server_calls(server, "large"), 8);
    stream_close(s);
    stop();
}

/* For one that does not read no more answers are made. */
START_TEST(test_no_more_answers)
{
    simulated(no_more_answers);
}

END_TEST

/* --- Not ending what was begun ------------------------------------------- */

static void drip(void *arg)
{
    struct stream *s = arg;
    struct slice byte = SLICE_LIT("x");
    while (stream_write(s, &byte, 1, NULL) == 0)
        world_sleep_us(world, 500000);
}

static void announce(struct stream *s, size_t bytes)
{
    char frame[FRAME_HEADER_BYTES];
    struct frame f = {.kind = FRAME_REQUEST,
                      .call_id = 1,
                      .method = ECHO,
                      .file_bytes = bytes,
                      .attachment_crc_known = true};
    struct slice part = slice_make(frame, sizeof(frame));
    frame_encode_header(&f, frame);
    ck_assert_int_eq(stream_write(s, &part, 1, NULL), 0);
}

static void dripping(void *arg)
{
    struct stream *s;
    uint64_t from = world_mono_ns(world);
    (void)arg;
    start(&(struct rpc_listen_options){.slow_us = 2000000});
    s = connect_proven();
    announce(s, 128 << 10);
    drip(s);
    ck_assert_uint_lt(world_mono_ns(world) - from, UINT64_C(15000000000));
    ck_assert_uint_eq(counted(METRIC_rpc_slow_connections), 1);
    stream_close(s);
    stop();
}

/* A request that comes byte by byte is not waited for for ever. */
START_TEST(test_dripping)
{
    simulated(dripping);
}

END_TEST

static void send_large(void *arg)
{
    struct buf some = BUF_INIT;
    struct slice part;
    struct stream *s = connect_proven();
    (void)arg;
    buf_append_fill(&some, 'x', 64 << 10);
    part = buf_slice(&some);
    announce(s, 8 << 20);
    for (int i = 0; i < 64; i++) /* Half of it, and then nothing. */
        if (stream_write(s, &part, 1, NULL))
            break;
    world_sleep_us(world, 1000000);
    stream_close(s);
    buf_close(&some);
}

static void large_requests(void *arg)
{
    struct fiber *f[12];
    size_t most = 0;
    (void)arg;
    start(&(struct rpc_listen_options){.in_all_bytes_max = 8 << 20});
    for (int i = 0; i < 12; i++)
        f[i] = fiber_start(loop_self(), "sender", send_large, NULL);
    for (int i = 0; i < 200; i++) {
        world_sleep_us(world, 3000);
        most = told("requests") > most ? told("requests") : most;
    }
    ck_assert_uint_gt(most, 4 << 20);
    ck_assert_uint_le(most, 12 << 20);
    ck_assert_int_eq(call_echo(), 0);
    for (int i = 0; i < 12; i++)
        fiber_join(f[i]);
    world_sleep_us(world, 1000000);
    ck_assert_uint_eq(told("requests"), 0);
    stop();
}

/* Large requests of many connections take a bounded amount of memory, and small
 * ones are answered meanwhile. */
START_TEST(test_large_requests)
{
    simulated(large_requests);
}

END_TEST

/* --- Saying nothing ------------------------------------------------------ */

static void silent(void *arg)
{
    struct stream *s[4 * UNAUTHENTICATED_MAX];
    (void)arg;
    start(&(struct rpc_listen_options){
        .admission = {.unauthenticated_max = UNAUTHENTICATED_MAX,
                      .peers_max = 4}});
    for (size_t i = 0; i < 4 * UNAUTHENTICATED_MAX; i++)
        s[i] = connect_raw();
    world_sleep_us(world, 10000);
    ck_assert_uint_le(told("unauthenticated"), UNAUTHENTICATED_MAX);
    ck_assert_uint_gt(counted(METRIC_rpc_turned_away_connections) +
                          counted(METRIC_rpc_evicted_connections),
                      0);
    ck_assert_uint_eq(told("connections"), 0);
    world_sleep_us(world, 6000000); /* Their time is over. */
    ck_assert_uint_eq(told("unauthenticated"), 0);
    ck_assert_int_eq(call_echo(), 0);
    for (size_t i = 0; i < 4 * UNAUTHENTICATED_MAX; i++)
        stream_close(s[i]);
    stop();
}

/* Those who say nothing are few at a time, and take no place from peers. */
START_TEST(test_silent)
{
    simulated(silent);
}

END_TEST

static bool is_friend(void *ctx, const char *principal, const char *peer)
{
    (void)peer;
    ck_assert_ptr_eq(ctx, &world);
    return strcmp(principal, "n2") == 0;
}

static int call_as(const char *principal)
{
    struct rpc_security *sec = rpc_security_none("", principal);
    struct rpc_channel *c =
        rpc_channel_new(rpc_listener_address(listener),
                        &(struct rpc_channel_options){.security = sec});
    int rc =
        rpc_call(c, ECHO, NULL, SLICE_EMPTY, SLICE_EMPTY, NULL, NULL, NULL);
    rpc_channel_free(c);
    rpc_security_free(sec);
    return rc;
}

static void crowded(void *arg)
{
    struct stream *s[6];
    (void)arg;
    start(&(struct rpc_listen_options){
        .admission = {.peers_max = 8, .peers_reserved = 2},
        .is_member = is_friend,
        .ctx = &world});
    for (int i = 0; i < 6; i++)
        s[i] = connect_proven();
    ck_assert_int_eq(call_as("n3"), ERR_UNAVAILABLE);
    ck_assert_int_eq(call_as("n2"), 0);
    ck_assert_uint_eq(counted(METRIC_rpc_turned_away_connections), 1);
    stream_close(s[0]);
    world_sleep_us(world, 100000);
    ck_assert_int_eq(call_as("n3"), 0);
    for (int i = 1; i < 6; i++)
        stream_close(s[i]);
    stop();
}

/* Clients that take all places leave members theirs. */
START_TEST(test_members_keep_places)
{
    simulated(crowded);
}

END_TEST

/* --- Names --------------------------------------------------------------- */

static void names(void *arg)
{
    static const char *const bad[] = {"a\nb", "a\x1b[31m",   "\x7f",
                                      "\xff", "back\\slash", "\xc2\x9b"};
    struct buf b = BUF_INIT;
    struct stream *s;
    (void)arg;
    start(&(struct rpc_listen_options){.calls_max = 0});
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_int_eq(call_as(bad[i]), ERR_DENIED);
    ck_assert_uint_eq(
        metric_read(metrics_counter(metrics, METRIC_rpc_refused_connections,
                                    METRIC_LABELS("name"))),
        sizeof(bad) / sizeof(*bad));
    ck_assert_int_eq(call_as("Zo\xc3\xab the crawler"), 0);
    s = connect_proven();
    rpc_listener_print(listener, &b);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&b), "principal=anonymous calls=0"));
    buf_close(&b);
    stream_close(s);
    stop();
}

/* A name that would do something to a terminal or a log is refused. */
START_TEST(test_names)
{
    simulated(names);
}

END_TEST

TEST_MAIN("unauthenticated",
          test_unread_pings,
          test_unread_answers,
          test_no_more_answers,
          test_dripping,
          test_large_requests,
          test_silent,
          test_members_keep_places,
          test_names)
