/* Messages of the job master and of workers to a worker and about it, from
 * hostile bytes: the first byte chooses the reader. Packages, tasks and
 * reports get a checksum that fits, so that what is inside is reached. */
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "mapreduce/cluster/job_wire.h"
#include "mapreduce/task/job_package.h"
#include "mapreduce/task/status.h"
#include "tests/lib/fuzz_again.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_place(struct slice in)
{
    struct worker_place p;
    struct buf dir = BUF_INIT;
    if (worker_place_get(in, &p, NULL) == 0 && p.directory.len < 4096)
        worker_job_dir(p.directory, "job", &dir);
    (void)worker_job_id_ok(in);
    buf_close(&dir);
}

static void read_orders(struct slice in)
{
    struct cursor c = cursor_make(in);
    while (cursor_left(&c) > 0 && !c.bad) {
        struct worker_order o;
        struct buf again = BUF_INIT;
        worker_order_get(&c, &o);
        if (!c.bad)
            worker_order_put(&o, &again);
        buf_close(&again);
    }
}

static void read_event(struct slice in)
{
    struct attempt_event e;
    struct task_status s = {.stage = STATUS_IDLE};
    struct buf one = BUF_INIT;
    struct buf two = BUF_INIT;
    if (worker_event_get(in, &e, &s, NULL) == 0) {
        struct attempt_event again;
        worker_event_put(&e, &s, &one);
        if (worker_event_get(buf_slice(&one), &again, &s, NULL))
            abort();
        worker_event_put(&again, &s, &two);
        if (!slice_eq(buf_slice(&one), buf_slice(&two)))
            abort();
        attempt_event_close(&again);
    }
    attempt_event_close(&e);
    buf_close(&one);
    buf_close(&two);
}

/* The first byte is the length of the body, what follows it the attachment. */
static void read_spills(bool pieces, struct slice in)
{
    struct cursor c = cursor_make(in);
    struct slice body = cursor_bytes(&c, cursor_u8(&c));
    struct slice rest = cursor_bytes(&c, cursor_left(&c));
    struct buf again = BUF_INIT;
    struct buf more = BUF_INIT;
    if (pieces) {
        struct spill_piece *list = NULL;
        struct spill_read r;
        if (spill_read_get(body, rest, &r, &list, NULL) == 0) {
            uint64_t bytes = 0;
            for (size_t i = 0; i < r.count; i++)
                bytes += list[i].bytes;
            if (bytes > 2 * SPILL_READ_BYTES_MAX)
                abort();
            spill_read_put(&r, list, &again, &more);
        }
        mem_free(list);
    } else {
        struct task_spill *list = NULL;
        struct spill_ask a;
        if (spill_ask_get(body, rest, &a, &list, NULL) == 0)
            spill_ask_put(&a, &again, &more);
        mem_free(list);
    }
    buf_close(&again);
    buf_close(&more);
}

static void read_spec(struct slice sealed)
{
    struct task_spec s;
    struct buf again = BUF_INIT;
    if (task_spec_decode(&s, sealed, NULL) == 0)
        task_spec_encode(&s, &again);
    task_spec_close(&s);
    buf_close(&again);
}

static void read_pull(struct slice sealed)
{
    struct task_pull p;
    struct buf again = BUF_INIT;
    if (task_pull_decode(&p, sealed, NULL) == 0) {
        for (size_t i = 0; i < p.spill_count; i++)
            if (p.spills[i].place >= p.place_count)
                abort();
        task_pull_encode(&p, &again);
    }
    task_pull_close(&p);
    buf_close(&again);
}

static void read_report(struct slice sealed)
{
    struct task_report r;
    struct buf again = BUF_INIT;
    if (task_report_decode(&r, sealed, NULL) == 0)
        task_report_encode(&r, &again);
    task_report_close(&r);
    buf_close(&again);
}

static void read_package(struct slice sealed)
{
    struct job_package p;
    (void)!job_package_decode(&p, sealed, NULL, NULL);
    job_package_close(&p);
}

static void read_traits(struct slice in)
{
    struct job_traits t;
    struct buf again = BUF_INIT;
    if (job_traits_decode(&t, in, NULL) == 0)
        job_traits_encode(&t, &again);
    job_traits_close(&t);
    buf_close(&again);
}

static void with_checksum(void (*read)(struct slice), struct slice in)
{
    struct buf sealed = BUF_INIT;
    buf_append_slice(&sealed, in);
    buf_put_le32(&sealed, crc32c(in.data, in.len));
    read(buf_slice(&sealed));
    buf_close(&sealed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in;
    if (size == 0)
        return 0;
    in = slice_make(data + 1, size - 1);
    switch (data[0] % 13) {
    case 0: FUZZ_AGAIN(worker_record, in); break;
    case 1: FUZZ_AGAIN(worker_head, in); break;
    case 2: FUZZ_AGAIN(worker_watch, in); break;
    case 3: read_place(in); break;
    case 4: read_orders(in); break;
    case 5: read_event(in); break;
    case 6: read_spills(false, in); break;
    case 7: read_spills(true, in); break;
    case 8: with_checksum(read_spec, in); break;
    case 9: with_checksum(read_report, in); break;
    case 10: with_checksum(read_package, in); break;
    case 11: read_traits(in); break;
    default: with_checksum(read_pull, in); break;
    }
    return 0;
}
