/* The job master's requests and responses, from hostile bytes: the first byte
 * chooses the reader. A message that parses is written and parsed again, to the
 * same bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "mapreduce/cluster/job_calls.h"
#include "mapreduce/job_history.h"
#include "mapreduce/task/saved_job.h"
#include "tests/lib/fuzz_again.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_texts(struct slice in)
{
    struct job_texts t = {NULL, 0};
    struct buf again = BUF_INIT;
    if (job_texts_get(in, &t, NULL) == 0)
        job_texts_put(&t, &again);
    mem_free(t.at);
    buf_close(&again);
}

static void read_workers(struct slice in)
{
    struct job_workers w = {NULL, 0};
    struct buf again = BUF_INIT;
    if (job_workers_get(in, &w, NULL) == 0)
        job_workers_put(&w, &again);
    mem_free(w.at);
    buf_close(&again);
}

static void read_attempts(struct slice in)
{
    struct job_attempts a = {.total = 0};
    struct buf again = BUF_INIT;
    if (job_attempts_get(in, &a, NULL) == 0)
        job_attempts_put(&a, &again);
    job_attempts_close(&a);
    buf_close(&again);
}

/* The history's file of attempts. */
static void read_timeline(struct slice in)
{
    struct job_attempts a = {.now_us = UINT64_C(1) << 40};
    if (job_attempts_digest(in, 1, 3, &a, NULL) == 0 && a.list.count > 3)
        abort();
    job_attempts_close(&a);
}

static void read_options(struct slice in)
{
    struct saved_job r = {.job_id = NULL};
    if (saved_job_decode(&r, in, NULL) == 0 && !r.job_id)
        abort();
    saved_job_close(&r);
}

static void read_summary(struct slice in)
{
    struct job_summary *s = mem_zalloc(1, sizeof(*s));
    if (job_summary_decode(in, s, NULL) == 0) {
        struct buf again = BUF_INIT;
        job_summary_encode(s, &again);
        buf_close(&again);
    }
    job_summaries_free(s, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in;
    if (size == 0)
        return 0;
    in = slice_make(data + 1, size - 1);
    switch (data[0] % 13) {
    case 0: FUZZ_AGAIN(job_submission, in); break;
    case 1: FUZZ_AGAIN(job_watch, in); break;
    case 2: FUZZ_AGAIN(job_news, in); break;
    case 3: FUZZ_AGAIN(job_list, in); break;
    case 4: read_texts(in); break;
    case 5: read_workers(in); break;
    case 6: read_options(in); break;
    case 8: FUZZ_AGAIN(job_attempts_ask, in); break;
    case 9: read_attempts(in); break;
    case 10: read_timeline(in); break;
    case 11: FUZZ_AGAIN(job_log_ask, in); break;
    case 12: FUZZ_AGAIN(job_log, in); break;
    default: read_summary(in); break;
    }
    return 0;
}
