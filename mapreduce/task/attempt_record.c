/* The codec of attempts that are remembered, and the names of attempts. A
 * reader skips fields that it does not know, so that a list outlives the
 * version that wrote it. */
#include "mapreduce/task/attempt_record.h"

#include "base/core/panic.h"
#include "base/rpc/rpc_message.h"

#define LIST_VERSION     1
#define LIST_FIELDS      5
#define RECORD_FIELDS    13
#define WORKER_BYTES_MAX 1024

#define FLAG_BACKUP 1u
#define FLAG_LOG    2u

const char *attempt_end_name(enum attempt_end e)
{
    switch (e) {
    case ATTEMPT_END_RUNNING: return "running";
    case ATTEMPT_END_SUCCEEDED: return "succeeded";
    case ATTEMPT_END_FAILED: return "failed";
    case ATTEMPT_END_LOST: return "lost";
    case ATTEMPT_END_STOPPED: return "stopped";
    }
    return "?";
}

const char *attempt_kind_name(enum task_kind kind)
{
    switch (kind) {
    case TASK_SAMPLE: return "sample";
    case TASK_MAP: return "map";
    case TASK_REDUCE: return "reduce";
    case TASK_WHOLE: return "whole";
    }
    return "?";
}

static const char kind_letters[] = {[TASK_SAMPLE] = 's',
                                    [TASK_MAP] = 'm',
                                    [TASK_REDUCE] = 'r',
                                    [TASK_WHOLE] = 'w'};

void attempt_name_put(const struct attempt_record *a, struct buf *out)
{
    PRE(a->kind <= TASK_WHOLE);
    if (a->part > 1)
        buf_printf(out, "%u-", a->part);
    buf_printf(out, "%c%u.%u", kind_letters[a->kind], a->task, a->attempt);
}

/* Take the digits at the beginning of *@s; false: there are none, or too many.
 */
static bool take_number(struct slice *s, uint32_t *out)
{
    uint64_t v = 0;
    size_t i = 0;
    for (; i < s->len && i < 10 && s->data[i] >= '0' && s->data[i] <= '9'; i++)
        v = v * 10 + (uint64_t)(s->data[i] - '0');
    *out = (uint32_t)v;
    *s = slice_sub(*s, i, s->len);
    return i > 0 && v <= UINT32_MAX;
}

static bool take_letter(struct slice *s, char c)
{
    if (s->len == 0 || s->data[0] != c)
        return false;
    *s = slice_sub(*s, 1, s->len);
    return true;
}

static bool take_kind(struct slice *s, enum task_kind *out)
{
    for (size_t i = 0; i < ARRAY_LEN(kind_letters); i++)
        if (take_letter(s, kind_letters[i])) {
            *out = (enum task_kind)i;
            return true;
        }
    return false;
}

bool attempt_name_get(struct slice name, struct attempt_record *a)
{
    struct slice s = name;
    a->part = 1;
    if (s.len > 0 && s.data[0] >= '0' && s.data[0] <= '9' &&
        !(take_number(&s, &a->part) && take_letter(&s, '-')))
        return false;
    return take_kind(&s, &a->kind) && take_number(&s, &a->task) &&
           take_letter(&s, '.') && take_number(&s, &a->attempt) && s.len == 0;
}

uint64_t attempt_record_took_us(const struct attempt_record *a, uint64_t now_us)
{
    if (a->state != ATTEMPT_END_RUNNING)
        return a->took_us;
    return now_us > a->begun_at_us ? now_us - a->begun_at_us : 0;
}

struct slice attempt_list_worker(const struct attempt_list *l,
                                 const struct attempt_record *a)
{
    if (a->worker == ATTEMPT_WORKER_NONE)
        return SLICE_EMPTY;
    PRE(a->worker < l->worker_count); /* INV-1 */
    return l->workers[a->worker];
}

void attempt_record_put(const struct attempt_record *a, struct buf *out)
{
    codec_put_array(out, RECORD_FIELDS);
    codec_put_u64(out, a->part);
    codec_put_u64(out, (uint64_t)a->kind);
    codec_put_u64(out, a->task);
    codec_put_u64(out, a->attempt);
    codec_put_u64(out, a->worker);
    codec_put_u64(out, (uint64_t)a->state);
    codec_put_u64(out,
                  (a->backup ? FLAG_BACKUP : 0) | (a->has_log ? FLAG_LOG : 0));
    codec_put_u64(out, a->begun_at_us);
    codec_put_u64(out, a->took_us);
    codec_put_u64(out, a->records);
    codec_put_u64(out, a->bytes);
    codec_put_u64(out, a->total);
    codec_put_bin(out, a->error);
}

void attempt_record_get(struct codec_reader *r, struct attempt_record *a)
{
    uint32_t fields = codec_get_array(r);
    uint64_t kind;
    uint64_t state;
    uint64_t flags;
    r->bad |= fields < RECORD_FIELDS;
    *a = (struct attempt_record){.part = message_u32(r)};
    kind = codec_get_u64(r);
    a->task = message_u32(r);
    a->attempt = message_u32(r);
    a->worker = message_u32(r);
    state = codec_get_u64(r);
    flags = codec_get_u64(r);
    a->begun_at_us = codec_get_u64(r);
    a->took_us = codec_get_u64(r);
    a->records = codec_get_u64(r);
    a->bytes = codec_get_u64(r);
    a->total = codec_get_u64(r);
    a->error = message_bytes(r, ATTEMPT_ERROR_BYTES_MAX);
    for (uint32_t i = RECORD_FIELDS; i < fields && !r->bad; i++)
        codec_skip(r);
    r->bad |= kind > TASK_WHOLE || state > ATTEMPT_END_STOPPED;
    a->kind = r->bad ? TASK_MAP : (enum task_kind)kind;
    a->state = r->bad ? ATTEMPT_END_LOST : (enum attempt_end)state;
    a->backup = (flags & FLAG_BACKUP) != 0;
    a->has_log = (flags & FLAG_LOG) != 0;
}

void attempt_list_put(const struct attempt_list *l, struct buf *out)
{
    codec_put_array(out, LIST_FIELDS);
    codec_put_u64(out, LIST_VERSION);
    codec_put_u64(out, l->parts);
    codec_put_u64(out, l->dropped);
    codec_put_array(out, (uint32_t)l->worker_count);
    for (size_t i = 0; i < l->worker_count; i++)
        codec_put_bin(out, l->workers[i]);
    codec_put_array(out, (uint32_t)l->count);
    for (size_t i = 0; i < l->count; i++)
        attempt_record_put(&l->at[i], out);
}

static void get_workers(struct codec_reader *r, struct attempt_list *l)
{
    uint32_t count = codec_get_array(r);
    r->bad |= count > ATTEMPT_WORKERS_MAX;
    if (r->bad)
        return;
    l->workers = mem_zalloc((size_t)count + 1, sizeof(*l->workers));
    for (uint32_t i = 0; i < count && !r->bad; i++)
        l->workers[l->worker_count++] = message_bytes(r, WORKER_BYTES_MAX);
}

static void get_records(struct codec_reader *r, struct attempt_list *l)
{
    uint32_t count = codec_get_array(r);
    r->bad |= count > ATTEMPT_RECORDS_MAX;
    if (r->bad)
        return;
    l->at = mem_zalloc((size_t)count + 1, sizeof(*l->at));
    for (uint32_t i = 0; i < count && !r->bad; i++) {
        struct attempt_record *a = &l->at[l->count++];
        attempt_record_get(r, a);
        if (a->worker >= l->worker_count && a->worker != ATTEMPT_WORKER_NONE)
            r->bad = true; /* INV-1 */
    }
}

int attempt_list_get(struct slice in, struct attempt_list *l, struct err *err)
{
    struct message_reader m = message_begin(in, LIST_FIELDS);
    *l = (struct attempt_list){.parts = 0};
    m.r.bad |= codec_get_u64(&m.r) != LIST_VERSION;
    l->parts = message_u32(&m.r);
    l->dropped = codec_get_u64(&m.r);
    get_workers(&m.r, l);
    get_records(&m.r, l);
    return message_end(&m, "list of attempts", err);
}

void attempt_list_close(struct attempt_list *l)
{
    mem_free(l->workers);
    mem_free(l->at);
    *l = (struct attempt_list){.parts = 0};
}
