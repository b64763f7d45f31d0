/* Messages between the job master and workers arrive unchanged; those that are
 * cut, ask for too much or lie about their length are refused. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "mapreduce/cluster/job_wire.h"
#include "mapreduce/task/job_package.h"
#include "mapreduce/task/status.h"
#include "tests/lib/check_main.h"

static struct buf b;
static struct buf more;

static struct slice said(void)
{
    return buf_slice(&b);
}

/* Every beginning of a message is refused. */
#define EXPECT_CUT(get, what)                                                  \
    for (size_t n = 0; n < b.len; n++)                                         \
    ck_assert_int_eq(get(slice_make(b.data, n), what, NULL), ERR_CORRUPT)

/* The record of a worker, and the place where its spills are found. */
START_TEST(test_records)
{
    const struct worker_record record = {.number = UINT64_C(0x123456789abcdef0),
                                         .address = SLICE_LIT("10.0.0.1:7400"),
                                         .name = SLICE_LIT("n1"),
                                         .machine = SLICE_LIT("10.0.0.1"),
                                         .boot = SLICE_LIT("b007"),
                                         .rack = SLICE_LIT("r1"),
                                         .directory = SLICE_LIT("/var/lib/a b"),
                                         .slots = 4,
                                         .memory_bytes = 5,
                                         .cores = 3,
                                         .pulls = true};
    struct worker_record out;
    struct worker_place p;
    buf_clear(&b);
    worker_record_put(&record, &b);
    ck_assert_int_eq(worker_record_get(said(), &out, NULL), 0);
    ck_assert_uint_eq(out.number, record.number);
    ck_assert(slice_eq(out.directory, record.directory));
    ck_assert(slice_eq(out.rack, record.rack));
    ck_assert_uint_eq(out.slots, 4);
    ck_assert_uint_eq(out.memory_bytes, 5);
    ck_assert_uint_eq(out.cores, 3);
    ck_assert(out.pulls);
    EXPECT_CUT(worker_record_get, &out);
    /* One that does not tell whether it pulls, and one that tells no cores
     * either: the last fields are a byte each. */
    b.len--;
    b.data[0]--;
    ck_assert_int_eq(worker_record_get(said(), &out, NULL), 0);
    ck_assert_uint_eq(out.cores, 3);
    ck_assert(!out.pulls);
    b.len--;
    b.data[0]--;
    ck_assert_int_eq(worker_record_get(said(), &out, NULL), 0);
    ck_assert_uint_eq(out.cores, 4);
    ck_assert(!out.pulls);
    buf_clear(&b);
    worker_place_put(&record, &b);
    ck_assert_int_eq(worker_place_get(said(), &p, NULL), 0);
    ck_assert_uint_eq(p.number, record.number);
    ck_assert(slice_eq(p.address, record.address));
    ck_assert(slice_eq(p.boot, record.boot));
    ck_assert(slice_eq(p.directory, record.directory));
    ck_assert_int_eq(worker_place_get(SLICE_LIT("a:1 xyz b /d"), &p, NULL),
                     ERR_CORRUPT);
    buf_close(&b);
}

END_TEST

/* No job is called so that its directory would be another's. */
START_TEST(test_names)
{
    static const char *const bad[] = {"", ".", "..", ".x", "a/b", "a b", "a\n"};
    ck_assert(worker_job_id_ok(SLICE_LIT("20260101-000000-0001")));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert(!worker_job_id_ok(slice_str(bad[i])));
    ck_assert(!worker_job_id_ok(slice_make("a\0b", 3)));
}

END_TEST

/* Orders, one after the other. */
START_TEST(test_orders)
{
    const struct worker_head head = {SLICE_LIT("seq"), 7, 8, SLICE_LIT("job")};
    const struct worker_watch watch = {head, 9, 10};
    struct worker_head h;
    struct worker_watch w;
    struct worker_order o;
    struct cursor in;
    buf_clear(&b);
    worker_head_put(&head, &b);
    ck_assert_int_eq(worker_head_get(said(), &h, NULL), 0);
    ck_assert(h.number == 7 && h.pool == 8 && slice_eq(h.job, head.job));
    EXPECT_CUT(worker_head_get, &h);
    buf_clear(&b);
    worker_watch_put(&watch, &b);
    ck_assert_int_eq(worker_watch_get(said(), &w, NULL), 0);
    ck_assert(w.seen == 9 && w.wait_us == 10 && w.head.pool == 8);
    EXPECT_CUT(worker_watch_get, &w);
    buf_clear(&b);
    for (uint64_t i = WORKER_START; i <= WORKER_PULL; i++)
        worker_order_put(&(struct worker_order){(enum worker_order_kind)i, i,
                                                SLICE_LIT("job"),
                                                SLICE_LIT("spec")},
                         &b);
    in = cursor_make(said());
    for (uint64_t i = WORKER_START; i <= WORKER_PULL; i++) {
        worker_order_get(&in, &o);
        ck_assert(!in.bad && o.ticket == i);
        ck_assert_uint_eq(o.kind, i);
    }
    ck_assert_uint_eq(cursor_left(&in), 0);
    in = cursor_make(SLICE_LIT("\4\1\0\0"));
    worker_order_get(&in, &o);
    ck_assert(in.bad);
    buf_close(&b);
}

END_TEST

/* The end of an attempt, with its last words and what it missed. */
START_TEST(test_events)
{
    struct task_spill missing[] = {{1, 2, 0}, {3, 4, 0}};
    struct attempt_event e = {.reported = true, .lost = true};
    struct attempt_event out;
    struct task_status s = {.stage = STATUS_RECORD};
    struct task_status t = {.stage = STATUS_IDLE};
    task_report_init(&e.report);
    e.report.code = ERR_INVALID;
    e.missing = missing;
    e.missing_count = 2;
    memcpy(e.death, "death", 6);
    buf_append_str(&e.said, "last words");
    STATUS_SET(&s, records, 11);
    status_note(&s, SLICE_LIT("key"));
    buf_clear(&b);
    worker_event_put(&e, &s, &b);
    ck_assert_int_eq(worker_event_get(said(), &out, &t, NULL), 0);
    ck_assert(out.reported && out.lost);
    ck_assert_int_eq(out.report.code, ERR_INVALID);
    ck_assert_str_eq(out.death, "death");
    ck_assert(slice_eq(buf_slice(&out.said), buf_slice(&e.said)));
    ck_assert_uint_eq(out.missing_count, 2);
    ck_assert_uint_eq(out.missing[1].task, 3);
    ck_assert_uint_eq(STATUS_GET(&t, records), 11);
    ck_assert_uint_eq(STATUS_GET(&t, note_bytes), 3);
    attempt_event_close(&out);
    for (size_t n = 0; n < b.len; n++) {
        ck_assert_int_eq(
            worker_event_get(slice_make(b.data, n), &out, &t, NULL),
            ERR_CORRUPT);
        attempt_event_close(&out);
    }
    buf_close(&e.said);
    task_report_close(&e.report);
    buf_close(&b);
}

END_TEST

/* Questions for spills: what was asked, no job of a wrong name, and no more
 * bytes than an answer may have, in however many pieces. */
START_TEST(test_spills)
{
    const struct task_spill spills[] = {{5, 6, 0}, {7, 8, 0}};
    const struct spill_ask ask = {9, SLICE_LIT("job"), 3, spills, 2};
    const struct spill_read none = {9, SLICE_LIT("../job"), 0};
    struct spill_piece pieces[] = {{1, 2, 3, SPILL_READ_BYTES_MAX},
                                   {4, 5, 6, SPILL_READ_BYTES_MAX}};
    const struct spill_read read = {9, SLICE_LIT("job"), 2};
    struct spill_ask a;
    struct spill_read r;
    struct task_spill *list;
    struct spill_piece *got;
    spill_ask_put(&ask, &b, &more);
    ck_assert_int_eq(spill_ask_get(said(), buf_slice(&more), &a, &list, NULL),
                     0);
    ck_assert(a.count == 2 && a.partition == 3 && list[1].attempt == 8);
    mem_free(list);
    buf_append_str(&more, "x");
    ck_assert_int_eq(spill_ask_get(said(), buf_slice(&more), &a, &list, NULL),
                     ERR_CORRUPT);
    mem_free(list);
    for (int i = 0; i < 3; i++) {
        int want = i == 0 ? 0 : ERR_CORRUPT;
        buf_clear(&b);
        buf_clear(&more);
        pieces[1].bytes = SPILL_READ_BYTES_MAX + (i == 1);
        spill_read_put(i == 2 ? &none : &read, pieces, &b, &more);
        ck_assert_int_eq(
            spill_read_get(said(), buf_slice(&more), &r, &got, NULL), want);
        if (want == 0)
            ck_assert(r.count == 2 && got[1].offset == 6);
        mem_free(got);
    }
    buf_close(&b);
    buf_close(&more);
}

END_TEST

/* An order to pull arrives unchanged; it names no place that does not exist,
 * and is refused when cut or changed. */
START_TEST(test_pulls)
{
    uint32_t partitions[] = {3, 5};
    struct task_spill spills[] = {{1, 2, 0}, {3, 1004, 1}};
    char one[] = "a:1 0000000000000001 b /d";
    char two[] = "b:1 0000000000000002 c /d";
    char *places[] = {one, two};
    struct task_pull p = {true, partitions, 2, spills, 2, places, 2};
    struct task_pull got;
    task_pull_encode(&p, &b);
    ck_assert_int_eq(task_pull_decode(&got, said(), NULL), 0);
    ck_assert(got.over && got.partition_count == 2 && got.spill_count == 2);
    ck_assert_uint_eq(got.partitions[1], 5);
    ck_assert(got.spills[1].task == 3 && got.spills[1].attempt == 1004);
    ck_assert_str_eq(got.places[got.spills[1].place], two);
    task_pull_close(&got);
    for (size_t n = 0; n < b.len; n++) {
        ck_assert_int_eq(task_pull_decode(&got, slice_make(b.data, n), NULL),
                         ERR_CORRUPT);
        task_pull_close(&got);
        b.data[n] ^= 0x10;
        ck_assert_int_eq(task_pull_decode(&got, said(), NULL), ERR_CORRUPT);
        task_pull_close(&got);
        b.data[n] ^= 0x10;
    }
    spills[0].place = 2;
    buf_clear(&b);
    task_pull_encode(&p, &b);
    ck_assert_int_eq(task_pull_decode(&got, said(), NULL), ERR_CORRUPT);
    task_pull_close(&got);
    buf_close(&b);
}

END_TEST

/* A package is what the setup was, and one that is cut or changed is none. */
START_TEST(test_package)
{
    const char *const inputs[] = {"file:/in*"};
    const char *const outputs[] = {"file:/out"};
    const struct mr_options o = {.inputs = inputs,
                                 .input_count = 1,
                                 .outputs = outputs,
                                 .output_count = 1,
                                 .label = "label",
                                 .program = {.mapper = "cat"}};
    char id[] = "id";
    char work[] = "/work";
    char temporary[] = "/.out";
    char *staging[] = {temporary};
    struct mr_spec in = {.kind = MR_SPEC_FILE, .path = work};
    struct mr_spec out = {.kind = MR_SPEC_FILE, .path = id};
    const struct job_setup setup = {.opts = &o,
                                    .job_id = id,
                                    .job_time_us = 12,
                                    .work_dir = work,
                                    .inputs = &in,
                                    .outputs = &out,
                                    .output_count = 1,
                                    .staging = staging,
                                    .slot_bytes = 34,
                                    .heap_bytes = 56};
    struct job_package p;
    job_package_encode(&setup, &b);
    ck_assert_int_eq(job_package_decode(&p, said(), NULL, NULL), 0);
    ck_assert_str_eq(p.setup.job_id, "id");
    ck_assert_str_eq(p.setup.work_dir, "/work");
    ck_assert_str_eq(p.setup.staging[0], "/.out");
    ck_assert_uint_eq(p.setup.slot_bytes, 34);
    ck_assert_str_eq(p.setup.opts->program.mapper, "cat");
    job_package_close(&p);
    for (size_t n = 0; n < b.len; n++) {
        ck_assert_int_eq(
            job_package_decode(&p, slice_make(b.data, n), NULL, NULL),
            ERR_CORRUPT);
        job_package_close(&p);
    }
    for (size_t i = 0; i < b.len; i++) {
        b.data[i] ^= 0x10;
        ck_assert_int_eq(job_package_decode(&p, said(), NULL, NULL),
                         ERR_CORRUPT);
        job_package_close(&p);
        b.data[i] ^= 0x10;
    }
    buf_close(&b);
}

END_TEST

TEST_MAIN("worker_calls",
          test_records,
          test_names,
          test_orders,
          test_events,
          test_spills,
          test_pulls,
          test_package)
