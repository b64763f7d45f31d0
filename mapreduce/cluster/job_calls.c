/* Bodies of the calls to the job master, as MessagePack arrays. Fields are only
 * appended: a reader takes the fields it knows, and defaults for missing ones.
 */
#include "mapreduce/cluster/job_calls.h"

#include "base/core/panic.h"
#include "base/rpc/codec.h"
#include "base/rpc/rpc_message.h"
#include "base/rpc/security.h"

#define SUBMISSION_FIELDS 5 /* Without the principal: of earlier versions. */
#define WATCH_FIELDS      3
#define NEWS_FIELDS       13
#define LIST_FIELDS       1
#define TEXTS_FIELDS      1
#define WORKERS_FIELDS    1
#define WORKER_FIELDS     10

#define ID_BYTES_MAX      64
#define OPTIONS_BYTES_MAX ((size_t)8 << 20)
#define SUMMARY_BYTES_MAX ((size_t)8 << 20)
#define NAME_BYTES_MAX    1024
#define WORKERS_MAX       65536

void job_submission_put(const struct job_submission *s, struct buf *out)
{
    codec_put_array(out, SUBMISSION_FIELDS + 1);
    codec_put_bin(out, s->id);
    codec_put_bin(out, s->options);
    codec_put_i64(out, s->priority);
    codec_put_u64(out, s->weight);
    codec_put_u64(out, s->slots_max);
    codec_put_bin(out, s->principal);
}

int job_submission_get(struct slice in,
                       struct job_submission *s,
                       struct err *err)
{
    struct message_reader m = message_begin(in, SUBMISSION_FIELDS);
    s->id = message_bytes(&m.r, ID_BYTES_MAX);
    s->options = message_bytes(&m.r, OPTIONS_BYTES_MAX);
    s->priority = codec_get_i64(&m.r);
    s->weight = message_u32(&m.r);
    s->slots_max = message_u32(&m.r);
    s->principal = SLICE_EMPTY;
    if (m.count > m.known) {
        s->principal = message_bytes(&m.r, RPC_NAME_BYTES_MAX);
        m.known++;
    }
    return message_end(&m, "submission of a job", err);
}

void job_watch_put(const struct job_watch *w, struct buf *out)
{
    codec_put_array(out, WATCH_FIELDS);
    codec_put_bin(out, w->id);
    codec_put_u64(out, w->seen);
    codec_put_u64(out, w->wait_us);
}

int job_watch_get(struct slice in, struct job_watch *w, struct err *err)
{
    struct message_reader m = message_begin(in, WATCH_FIELDS);
    w->id = message_bytes(&m.r, ID_BYTES_MAX);
    w->seen = codec_get_u64(&m.r);
    w->wait_us = codec_get_u64(&m.r);
    return message_end(&m, "question about a job", err);
}

void job_news_put(const struct job_news *n, struct buf *out)
{
    const struct mr_progress *p = &n->progress;
    codec_put_array(out, NEWS_FIELDS);
    codec_put_u64(out, n->version);
    codec_put_bool(out, n->ended);
    codec_put_bin(out, n->summary);
    codec_put_u64(out, (uint64_t)p->phase);
    codec_put_u64(out, p->tasks_total);
    codec_put_u64(out, p->tasks_done);
    codec_put_u64(out, p->tasks_running);
    codec_put_u64(out, p->attempts_failed);
    codec_put_u64(out, p->records_skipped);
    codec_put_u64(out, p->records);
    codec_put_u64(out, p->bytes);
    codec_put_u64(out, p->bytes_total);
    codec_put_u64(out, p->elapsed_us);
}

int job_news_get(struct slice in, struct job_news *n, struct err *err)
{
    struct message_reader m = message_begin(in, NEWS_FIELDS);
    struct mr_progress *p = &n->progress;
    uint64_t phase;
    *n = (struct job_news){.version = codec_get_u64(&m.r)};
    n->ended = codec_get_bool(&m.r);
    n->summary = message_bytes(&m.r, SUMMARY_BYTES_MAX);
    phase = codec_get_u64(&m.r);
    p->phase = phase <= MR_PHASE_DONE ? (enum mr_phase)phase : MR_PHASE_PLAN;
    p->tasks_total = message_u32(&m.r);
    p->tasks_done = message_u32(&m.r);
    p->tasks_running = message_u32(&m.r);
    p->attempts_failed = message_u32(&m.r);
    p->records_skipped = message_u32(&m.r);
    p->records = codec_get_u64(&m.r);
    p->bytes = codec_get_u64(&m.r);
    p->bytes_total = codec_get_u64(&m.r);
    p->elapsed_us = codec_get_u64(&m.r);
    return message_end(&m, "news of a job", err);
}

void job_list_put(const struct job_list *l, struct buf *out)
{
    codec_put_array(out, LIST_FIELDS);
    codec_put_u64(out, l->ended_max);
}

int job_list_get(struct slice in, struct job_list *l, struct err *err)
{
    struct message_reader m = message_begin(in, LIST_FIELDS);
    l->ended_max = codec_get_u64(&m.r);
    return message_end(&m, "question about jobs", err);
}

void job_texts_put(const struct job_texts *t, struct buf *out)
{
    codec_put_array(out, TEXTS_FIELDS);
    codec_put_array(out, (uint32_t)t->count);
    for (size_t i = 0; i < t->count; i++)
        codec_put_bin(out, t->at[i]);
}

int job_texts_get(struct slice in, struct job_texts *t, struct err *err)
{
    struct message_reader m = message_begin(in, TEXTS_FIELDS);
    uint32_t count = codec_get_array(&m.r);
    *t = (struct job_texts){NULL, 0};
    if (count > JOB_TEXTS_MAX)
        m.r.bad = true;
    if (!m.r.bad)
        t->at = mem_zalloc((size_t)count + 1, sizeof(*t->at));
    for (uint32_t i = 0; i < count && !m.r.bad; i++)
        t->at[t->count++] = message_bytes(&m.r, SUMMARY_BYTES_MAX);
    return message_end(&m, "list of jobs", err);
}

static void put_worker(const struct job_worker *w, struct buf *out)
{
    codec_put_array(out, WORKER_FIELDS);
    codec_put_u64(out, w->number);
    codec_put_bin(out, w->name);
    codec_put_bin(out, w->address);
    codec_put_bin(out, w->machine);
    codec_put_bin(out, w->rack);
    codec_put_u64(out, w->slots);
    codec_put_u64(out, w->busy);
    codec_put_u64(out, w->memory_bytes);
    codec_put_u64(out, w->used_bytes);
    codec_put_bool(out, w->is_silent);
}

static void get_worker(struct codec_reader *r, struct job_worker *w)
{
    if (codec_get_array(r) < WORKER_FIELDS)
        r->bad = true;
    w->number = codec_get_u64(r);
    w->name = message_bytes(r, NAME_BYTES_MAX);
    w->address = message_bytes(r, NAME_BYTES_MAX);
    w->machine = message_bytes(r, NAME_BYTES_MAX);
    w->rack = message_bytes(r, NAME_BYTES_MAX);
    w->slots = message_u32(r);
    w->busy = message_u32(r);
    w->memory_bytes = codec_get_u64(r);
    w->used_bytes = codec_get_u64(r);
    w->is_silent = codec_get_bool(r);
}

void job_workers_put(const struct job_workers *w, struct buf *out)
{
    codec_put_array(out, WORKERS_FIELDS);
    codec_put_array(out, (uint32_t)w->count);
    for (size_t i = 0; i < w->count; i++)
        put_worker(&w->at[i], out);
}

int job_workers_get(struct slice in, struct job_workers *w, struct err *err)
{
    struct message_reader m = message_begin(in, WORKERS_FIELDS);
    uint32_t count = codec_get_array(&m.r);
    *w = (struct job_workers){NULL, 0};
    if (count > WORKERS_MAX)
        m.r.bad = true;
    if (!m.r.bad)
        w->at = mem_zalloc((size_t)count + 1, sizeof(*w->at));
    for (uint32_t i = 0; i < count && !m.r.bad; i++)
        get_worker(&m.r, &w->at[w->count++]);
    return message_end(&m, "list of workers", err);
}
