/* Kept of the running work are all of a sampled trace, slow calls with
 * their long parts, and nothing else; within a bound of bytes. */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "base/sim/world_sim.h"
#include "base/trace/span.h"
#include "base/trace/tracer.h"
#include "tests/lib/check_main.h"

#define MS UINT64_C(1000)

static struct world *world;
static struct tracer *tracer;

static void run(void (*test)(void *arg), const struct trace_settings *s)
{
    world = sim_world_new(&(struct sim_options){.seed = 1});
    tracer = tracer_new(world, 100000);
    tracer_set(tracer, s);
    world_set_tracer(world, tracer);
    sim_run(world, test, NULL);
    world_set_tracer(world, NULL);
    tracer_free(tracer);
    world_free(world);
}

/* The kept spans, oldest first: "name name". */
static void expect_kept(const char *names)
{
    struct buf spans = BUF_INIT;
    struct buf b = BUF_INIT;
    struct slice rest;
    ck_assert(tracer_query(tracer, &(struct span_query){.min_us = 0}, SIZE_MAX,
                           &spans));
    rest = buf_slice(&spans);
    while (rest.len) {
        struct span_record r;
        ck_assert_int_eq(span_record_get(&rest, &r, NULL), 0);
        buf_printf(&b, "%s%.*s", b.len ? " " : "", SLICE_ARG(r.name));
    }
    ck_assert_str_eq(buf_cstr(&b), names);
    buf_close(&b);
    buf_close(&spans);
}

/* A call of @us with a part of @part_us in it. */
static void call(const char *name,
                 uint64_t us,
                 uint64_t part_us,
                 uint64_t parent,
                 int flags)
{
    struct trace_context caller = {.trace = {parent, parent},
                                   .span_id = parent};
    struct span s;
    struct span part;
    caller.sampled = (flags & SPAN_SAMPLED) != 0;
    span_begin_root(&s, world, SPAN_SERVER, name, &caller, 0);
    if (flags & SPAN_WAITS)
        span_set_waits(&s);
    ck_assert_ptr_eq(span_here(), &s);
    span_begin(&part, "part");
    ck_assert_ptr_eq(span_here(), &part);
    span_number(&part, "rows", 3);
    world_sleep_us(world, part_us);
    span_end(&part, 0);
    world_sleep_us(world, us - part_us);
    span_end(&s, 0);
    ck_assert_ptr_null(fiber_context());
}

static void tail(void *arg)
{
    (void)arg;
    call("quick", 999 * MS, 500 * MS, 0, 0);
    expect_kept("");
    call("slow", 1000 * MS, 10 * MS, 0, 0);
    expect_kept("part slow");
    call("hasty", 1000 * MS, 9 * MS, 0, 0);
    expect_kept("hasty part slow");
    call("nested-quick", 99 * MS, 50 * MS, 7, 0);
    call("nested-slow", 100 * MS, 50 * MS, 7, 0);
    expect_kept("part nested-slow hasty part slow");
    call("waits", 9000 * MS, 9000 * MS, 0, SPAN_WAITS);
    expect_kept("part nested-slow hasty part slow");
}

/* Slow calls are kept with their long parts; a part of another call is slow
 * sooner; one that waits by its nature never is. */
START_TEST(test_slow_calls)
{
    run(tail, &(struct trace_settings){.slow_us = 1000 * MS});
}

END_TEST

static void sampled(void *arg)
{
    (void)arg;
    call("asked", 1, 1, 9, SPAN_SAMPLED);
    expect_kept("asked part");
    call("unasked", 1, 1, 9, 0);
    expect_kept("asked part");
}

/* The caller's decision counts, both ways. */
START_TEST(test_callers_decide)
{
    run(sampled, &(struct trace_settings){.one_in = 1});
}

END_TEST

static void counted(void *arg)
{
    struct buf spans = BUF_INIT;
    unsigned count = 0;
    struct slice rest;
    (void)arg;
    for (int i = 0; i < 1000; i++)
        call("root", 1, 0, 0, 0);
    ck_assert(tracer_query(tracer, &(struct span_query){.calls = true},
                           SIZE_MAX, &spans));
    rest = buf_slice(&spans);
    for (; rest.len; count++) {
        struct span_record r;
        ck_assert_int_eq(span_record_get(&rest, &r, NULL), 0);
        ck_assert_uint_eq(r.flags, SPAN_SAMPLED);
    }
    ck_assert_uint_ge(count, 60);
    ck_assert_uint_le(count, 140);
    buf_close(&spans);
}

/* Of traces that begin here, about one in ten is sampled. */
START_TEST(test_one_in)
{
    run(counted, &(struct trace_settings){.one_in = 10});
}

END_TEST

static void many_parts(void *arg)
{
    struct trace_context caller = {.sampled = false};
    struct buf spans = BUF_INIT;
    struct span s;
    unsigned count = 0;
    struct slice rest;
    (void)arg;
    span_begin_root(&s, world, SPAN_SERVER, "call", &caller, 0);
    for (int i = 0; i < 1000; i++) {
        struct span part;
        span_begin(&part, "part");
        world_sleep_us(world, 20 * MS);
        span_end(&part, 0);
    }
    span_end(&s, 0);
    ck_assert(tracer_query(tracer, &(struct span_query){.min_us = 0}, SIZE_MAX,
                           &spans));
    for (rest = buf_slice(&spans); rest.len; count++) {
        struct span_record r;
        ck_assert_int_eq(span_record_get(&rest, &r, NULL), 0);
    }
    ck_assert_uint_eq(count, 65);
    buf_close(&spans);
}

/* A call collects a bounded number of parts. */
START_TEST(test_parts_are_bounded)
{
    run(many_parts, &(struct trace_settings){.slow_us = 1000 * MS});
}

END_TEST

static void begin_calls(void *arg)
{
    struct trace_id before = {0, 0};
    (void)arg;
    for (int i = 0; i < 100; i++) {
        struct span s;
        span_begin_call(&s, world, "call", "there:1", 0);
        ck_assert(trace_id_is_set(s.self.trace) && s.self.span_id);
        ck_assert(!trace_id_eq(s.self.trace, before));
        ck_assert(!s.self.sampled && !span_is_recorded(&s));
        before = s.self.trace;
        world_sleep_us(world, 2000 * MS);
        span_end(&s, 0);
    }
    expect_kept("");
}

/* A call that begins an unsampled trace has ids, and is not kept: its server
 * keeps its part. */
START_TEST(test_calls_that_begin)
{
    run(begin_calls, &(struct trace_settings){.slow_us = 1000 * MS});
}

END_TEST

static void ask_due(void *arg)
{
    struct trace_context caller = {.trace = {1, 2}, .span_id = 3};
    struct span s;
    (void)arg;
    span_begin_root(&s, world, SPAN_SERVER, "call", &caller,
                    world_mono_ns(world));
    ck_assert(!span_is_due(&s, s.start_ns + 99999 * MS));
    ck_assert(span_is_due(&s, s.start_ns + 100000 * MS));
    span_end_at(&s, s.start_ns + 100000 * MS, 0);
    expect_kept("call");
    span_begin_root(&s, world, SPAN_SERVER, "waits", &caller, 0);
    span_set_waits(&s);
    ck_assert(!span_is_due(&s, s.start_ns + UINT64_C(1000000000000)));
    span_end_at(&s, s.start_ns + UINT64_C(1000000000000), 0);
    expect_kept("call");
}

/* Whether a span is kept is known before it ends. */
START_TEST(test_due)
{
    run(ask_due, &(struct trace_settings){.slow_us = 1000 * MS});
}

END_TEST

static void ask_ratio(void *arg)
{
    unsigned sampled = 0;
    (void)arg;
    tracer_set_ratio(tracer, 0.7);
    /* Another setting does not change it. */
    tracer_set(tracer,
               &(struct trace_settings){
                   .one_in = tracer_settings(tracer).one_in, .slow_us = 5000});
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t limit;
        struct trace_id id = {tracer_draw(tracer, TRACE_LIMIT_NONE, &limit),
                              tracer_draw(tracer, TRACE_LIMIT_NONE, &limit)};
        ck_assert_uint_eq(limit, UINT64_MAX);
        sampled += tracer_samples(tracer, id);
    }
    ck_assert_uint_ge(sampled, 620);
    ck_assert_uint_le(sampled, 780);
    tracer_set_ratio(tracer, 0);
    ck_assert(!tracer_samples(tracer, (struct trace_id){0, 1}));
    tracer_set_ratio(tracer, 1);
    ck_assert(tracer_samples(tracer, (struct trace_id){UINT64_MAX, 0}));
}

/* A part of all traces is sampled that no number says. */
START_TEST(test_ratio)
{
    run(ask_ratio, &(struct trace_settings){.one_in = 0});
}

END_TEST

static void ask_sampled(void *arg)
{
    struct trace_context caller = {.sampled = true};
    struct span s;
    (void)arg;
    span_begin_root(&s, world, SPAN_CLIENT, "asked", &caller, 0);
    ck_assert(s.self.sampled && trace_id_is_set(s.self.trace));
    span_end(&s, 0);
    expect_kept("asked");
    world_set_tracer(world, NULL);
    span_begin_root(&s, world, SPAN_CLIENT, "untold", &caller, 0);
    ck_assert(s.self.sampled && trace_id_is_set(s.self.trace));
    span_end(&s, 0);
}

/* A new trace is sampled if its maker says so, also where nothing records. */
START_TEST(test_sampled_from_the_start)
{
    run(ask_sampled, &(struct trace_settings){.one_in = 0});
}

END_TEST

static void fill(void *arg)
{
    struct buf spans = BUF_INIT;
    struct span_record r;
    struct slice rest;
    (void)arg;
    for (int i = 0; i < 5000; i++)
        call("call", 1, 1, 3, SPAN_SAMPLED);
    call("last", 1, 1, 3, SPAN_SAMPLED);
    ck_assert(tracer_query(tracer, &(struct span_query){.min_us = 0}, SIZE_MAX,
                           &spans));
    ck_assert_uint_lt(spans.len, 100000);
    ck_assert_uint_gt(spans.len, 60000);
    rest = buf_slice(&spans);
    ck_assert_int_eq(span_record_get(&rest, &r, NULL), 0);
    ck_assert(slice_eq_str(r.name, "last"));
    buf_clear(&spans);
    ck_assert(
        !tracer_query(tracer, &(struct span_query){.min_us = 0}, 1000, &spans));
    ck_assert_uint_le(spans.len, 1000);
    buf_close(&spans);
}

/* The oldest spans give way; a query has a bound of its own. */
START_TEST(test_ring_is_bounded)
{
    run(fill, &(struct trace_settings){.one_in = 0});
}

END_TEST

static void on_loop(void *arg)
{
    struct span part;
    (void)arg;
    span_begin(&part, "elsewhere");
    world_sleep_us(world, 50 * MS);
    span_end(&part, ERR_IO);
}

static void across(void *arg)
{
    struct trace_context caller = {.sampled = false};
    struct trace_context copy;
    struct span s;
    char id[TRACE_ID_TEXT_BYTES];
    (void)arg;
    ck_assert_uint_eq(trace_request_text(id), 0);
    trace_copy_context(&copy);
    ck_assert(!trace_id_is_set(copy.trace));
    span_begin_root(&s, world, SPAN_SERVER, "call", &caller, 0);
    ck_assert_uint_eq(trace_request_text(id), 32);
    trace_copy_context(&copy);
    ck_assert(trace_id_eq(copy.trace, s.self.trace));
    ck_assert(!copy.parts && !copy.is_span);
    loop_call(loop_self(), "other", on_loop, NULL);
    offload(on_loop, NULL);
    world_sleep_us(world, 1000 * MS);
    span_end(&s, 0);
    expect_kept("elsewhere elsewhere call");
}

/* Work on another fiber or thread for a call that waits is a part of it.
 */
START_TEST(test_work_elsewhere)
{
    run(across, &(struct trace_settings){.slow_us = 1000 * MS});
}

END_TEST

/* Any span comes back; a cut or changed one is refused or harmless. */
START_TEST(test_records)
{
    struct rand_gen g;
    rand_init(&g, 3);
    for (int n = 0; n < 3000; n++) {
        struct span_record r = {.trace = {rand_u64(&g), 1},
                                .id = rand_u64(&g) | 1,
                                .parent = rand_u64(&g),
                                .kind = (enum span_kind)rand_below(&g, 3),
                                .status = (int32_t)rand_below(&g, 5) - 5,
                                .start_us = rand_below(&g, 1u << 30),
                                .duration_us = rand_below(&g, 1u << 30),
                                .name = SLICE_LIT("name"),
                                .peer = SLICE_LIT("host:1"),
                                .attribute_count =
                                    (unsigned)rand_below(&g, 13)};
        struct span_record back;
        struct buf b = BUF_INIT;
        struct slice rest;
        for (unsigned i = 0; i < r.attribute_count; i++)
            r.attributes[i] = (struct span_attribute){.key = "key",
                                                      .key_bytes = 3,
                                                      .is_text = i % 2,
                                                      .number = -(int64_t)i,
                                                      .text = SLICE_LIT("t")};
        span_record_put(&r, &b);
        rest = buf_slice(&b);
        ck_assert_int_eq(span_record_get(&rest, &back, NULL), 0);
        ck_assert_uint_eq(rest.len, 0);
        ck_assert(trace_id_eq(back.trace, r.trace));
        ck_assert_uint_eq(back.id, r.id);
        ck_assert_int_eq(back.status, r.status);
        ck_assert_uint_eq(back.attribute_count, r.attribute_count);
        if (r.attribute_count > 2)
            ck_assert_int_eq(back.attributes[2].number, -2);
        rest = slice_make(b.data, rand_below(&g, b.len - 1) + 1);
        ck_assert_int_eq(span_record_get(&rest, &back, NULL), ERR_CORRUPT);
        b.data[rand_below(&g, b.len)] ^= (char)(1 << rand_below(&g, 8));
        rest = buf_slice(&b);
        (void)!span_record_get(&rest, &back, NULL);
        buf_close(&b);
    }
}

END_TEST

TEST_MAIN("span",
          test_slow_calls,
          test_callers_decide,
          test_one_in,
          test_calls_that_begin,
          test_due,
          test_ratio,
          test_sampled_from_the_start,
          test_parts_are_bounded,
          test_ring_is_bounded,
          test_work_elsewhere,
          test_records)
