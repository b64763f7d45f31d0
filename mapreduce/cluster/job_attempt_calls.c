/* Bodies of the calls about a job's timeline: which attempts there were, and
 * what one of them wrote. As job_calls.c: fields are only appended. */
#include "base/core/panic.h"
#include "base/rpc/codec.h"
#include "base/rpc/rpc_message.h"
#include "mapreduce/cluster/job_calls.h"

#define ASK_FIELDS       3
#define ATTEMPTS_FIELDS  9
#define STRAGGLER_FIELDS 3
#define PARTITION_FIELDS 4
#define LOG_ASK_FIELDS   5
#define LOG_FIELDS       1

#define ID_BYTES_MAX   64
#define LIST_BYTES_MAX ((size_t)16 << 20)
#define LOG_BYTES_MAX  ((size_t)1 << 20)

void job_attempts_ask_put(const struct job_attempts_ask *a, struct buf *out)
{
    codec_put_array(out, ASK_FIELDS);
    codec_put_bin(out, a->id);
    codec_put_u64(out, a->after);
    codec_put_u64(out, a->limit);
}

int job_attempts_ask_get(struct slice in,
                         struct job_attempts_ask *a,
                         struct err *err)
{
    struct message_reader m = message_begin(in, ASK_FIELDS);
    a->id = message_bytes(&m.r, ID_BYTES_MAX);
    a->after = codec_get_u64(&m.r);
    a->limit = codec_get_u64(&m.r);
    return message_end(&m, "question about attempts", err);
}

static void put_partitions(const struct partition_digest *d, struct buf *out)
{
    codec_put_u64(out, d->total);
    codec_put_u64(out, d->median_records);
    codec_put_u64(out, d->max_records);
    codec_put_array(out, (uint32_t)d->count);
    for (size_t i = 0; i < d->count; i++) {
        codec_put_array(out, PARTITION_FIELDS);
        codec_put_u64(out, d->at[i].part);
        codec_put_u64(out, d->at[i].index);
        codec_put_u64(out, d->at[i].records);
        codec_put_u64(out, d->at[i].bytes);
    }
}

void job_attempts_put(const struct job_attempts *a, struct buf *out)
{
    struct buf list = BUF_INIT;
    PRE(a->straggler_count <= STRAGGLERS_MAX);
    PRE(a->partitions.count <= PARTITIONS_MAX);
    attempt_list_put(&a->list, &list);
    codec_put_array(out, ATTEMPTS_FIELDS);
    codec_put_bin(out, a->id);
    codec_put_u64(out, a->now_us);
    codec_put_u64(out, a->total);
    codec_put_bin(out, buf_slice(&list));
    codec_put_array(out, (uint32_t)a->straggler_count);
    for (size_t i = 0; i < a->straggler_count; i++) {
        codec_put_array(out, STRAGGLER_FIELDS);
        attempt_record_put(&a->stragglers[i].attempt, out);
        codec_put_u64(out, a->stragglers[i].took_us);
        codec_put_u64(out, a->stragglers[i].median_us);
    }
    put_partitions(&a->partitions, out);
    buf_close(&list);
}

static void get_stragglers(struct codec_reader *r, struct job_attempts *a)
{
    uint32_t count = codec_get_array(r);
    r->bad |= count > STRAGGLERS_MAX;
    for (uint32_t i = 0; i < count && !r->bad; i++) {
        struct job_straggler *s = &a->stragglers[a->straggler_count++];
        message_part(r, STRAGGLER_FIELDS);
        attempt_record_get(r, &s->attempt);
        s->took_us = codec_get_u64(r);
        s->median_us = codec_get_u64(r);
        if (s->attempt.worker >= a->list.worker_count &&
            s->attempt.worker != ATTEMPT_WORKER_NONE)
            r->bad = true;
    }
}

static void get_partitions(struct codec_reader *r, struct partition_digest *d)
{
    uint32_t count;
    d->total = (size_t)codec_get_u64(r);
    d->median_records = codec_get_u64(r);
    d->max_records = codec_get_u64(r);
    count = codec_get_array(r);
    r->bad |= count > PARTITIONS_MAX;
    if (r->bad)
        return;
    d->at = mem_zalloc((size_t)count + 1, sizeof(*d->at));
    for (uint32_t i = 0; i < count && !r->bad; i++) {
        struct partition_figures *f = &d->at[d->count++];
        message_part(r, PARTITION_FIELDS);
        f->part = message_u32(r);
        f->index = message_u32(r);
        f->records = codec_get_u64(r);
        f->bytes = codec_get_u64(r);
    }
}

int job_attempts_get(struct slice in, struct job_attempts *a, struct err *err)
{
    struct message_reader m = message_begin(in, ATTEMPTS_FIELDS);
    struct slice list;
    *a = (struct job_attempts){.id = message_bytes(&m.r, ID_BYTES_MAX)};
    a->now_us = codec_get_u64(&m.r);
    a->total = codec_get_u64(&m.r);
    list = message_bytes(&m.r, LIST_BYTES_MAX);
    if (!m.r.bad && attempt_list_get(list, &a->list, NULL))
        m.r.bad = true;
    get_stragglers(&m.r, a);
    get_partitions(&m.r, &a->partitions);
    return message_end(&m, "attempts of a job", err);
}

void job_attempts_close(struct job_attempts *a)
{
    attempt_list_close(&a->list);
    mem_free(a->partitions.at);
    a->partitions.at = NULL;
}

/* Leave of @l what was asked for. */
static void cut_list(struct attempt_list *l, uint64_t after, uint64_t limit)
{
    size_t from = (size_t)MIN_OF(after, (uint64_t)l->count);
    if (limit == 0 || limit > JOB_ATTEMPTS_MAX)
        limit = JOB_ATTEMPTS_MAX;
    l->count = (size_t)MIN_OF((uint64_t)(l->count - from), limit);
    POST(l->count <= limit);
    memmove(l->at, l->at + from, l->count * sizeof(*l->at));
}

int job_attempts_digest(struct slice bytes,
                        uint64_t after,
                        uint64_t limit,
                        struct job_attempts *out,
                        struct err *err)
{
    struct straggler slow[STRAGGLERS_MAX];
    int rc;
    PRE(out->now_us > 0);
    rc = attempt_list_get(bytes, &out->list, err);
    out->straggler_count = 0;
    out->partitions = (struct partition_digest){.at = NULL};
    if (rc)
        return rc;
    out->total = out->list.count;
    out->straggler_count = attempt_stragglers(&out->list, out->now_us, slow);
    for (size_t i = 0; i < out->straggler_count; i++)
        out->stragglers[i] = (struct job_straggler){
            out->list.at[slow[i].index], slow[i].took_us, slow[i].median_us};
    attempt_partitions(&out->list, PARTITIONS_MAX, &out->partitions);
    cut_list(&out->list, after, limit);
    return 0;
}

/* --- logs ---------------------------------------------------------------- */

void job_log_ask_put(const struct job_log_ask *a, struct buf *out)
{
    codec_put_array(out, LOG_ASK_FIELDS);
    codec_put_bin(out, a->id);
    codec_put_u64(out, a->part);
    codec_put_u64(out, (uint64_t)a->kind);
    codec_put_u64(out, a->task);
    codec_put_u64(out, a->attempt);
}

int job_log_ask_get(struct slice in, struct job_log_ask *a, struct err *err)
{
    struct message_reader m = message_begin(in, LOG_ASK_FIELDS);
    uint64_t kind;
    a->id = message_bytes(&m.r, ID_BYTES_MAX);
    a->part = message_u32(&m.r);
    kind = codec_get_u64(&m.r);
    m.r.bad |= kind > TASK_WHOLE;
    a->kind = m.r.bad ? TASK_MAP : (enum task_kind)kind;
    a->task = message_u32(&m.r);
    a->attempt = message_u32(&m.r);
    return message_end(&m, "question about a log", err);
}

void job_log_put(const struct job_log *l, struct buf *out)
{
    codec_put_array(out, LOG_FIELDS);
    codec_put_bin(out, l->text);
}

int job_log_get(struct slice in, struct job_log *l, struct err *err)
{
    struct message_reader m = message_begin(in, LOG_FIELDS);
    l->text = message_bytes(&m.r, LOG_BYTES_MAX);
    return message_end(&m, "log of an attempt", err);
}
