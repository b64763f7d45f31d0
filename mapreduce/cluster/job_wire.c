/* Bodies and attachments of the calls of workers: small fields as MessagePack,
 * bulk in attachments, which are not copied on their way. */
#include "mapreduce/cluster/job_wire.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/rpc/rpc_message.h"
#include "mapreduce/task/status.h"

/* --- who a worker is ----------------------------------------------------- */

void worker_record_put(const struct worker_record *r, struct buf *out)
{
    codec_put_array(out, 11);
    codec_put_u64(out, r->number);
    codec_put_str(out, r->address);
    codec_put_str(out, r->name);
    codec_put_str(out, r->machine);
    codec_put_str(out, r->boot);
    codec_put_str(out, r->rack);
    codec_put_str(out, r->directory);
    codec_put_u64(out, r->slots);
    codec_put_u64(out, r->memory_bytes);
    codec_put_u64(out, r->cores);
    codec_put_u64(out, r->pulls);
}

int worker_record_get(struct slice in, struct worker_record *r, struct err *err)
{
    struct message_reader m = message_begin(in, 9);
    r->number = codec_get_u64(&m.r);
    r->address = message_bytes(&m.r, WORKER_TEXT_BYTES_MAX);
    r->name = message_bytes(&m.r, WORKER_TEXT_BYTES_MAX);
    r->machine = message_bytes(&m.r, WORKER_TEXT_BYTES_MAX);
    r->boot = message_bytes(&m.r, WORKER_TEXT_BYTES_MAX);
    r->rack = message_bytes(&m.r, WORKER_TEXT_BYTES_MAX);
    r->directory = message_bytes(&m.r, WORKER_TEXT_BYTES_MAX);
    r->slots = message_u32(&m.r);
    r->memory_bytes = codec_get_u64(&m.r);
    r->cores = r->slots;
    if (m.count > m.known) {
        r->cores = message_u32(&m.r);
        m.known++;
    }
    r->pulls = false;
    if (m.count > m.known) {
        r->pulls = codec_get_u64(&m.r) != 0;
        m.known++;
    }
    return message_end(&m, "record of a worker", err);
}

void worker_place_put(const struct worker_record *r, struct buf *out)
{
    buf_printf(out, "%.*s %016llx %.*s %.*s", SLICE_ARG(r->address),
               (unsigned long long)r->number, SLICE_ARG(r->boot),
               SLICE_ARG(r->directory));
}

static struct slice take_word(struct slice *rest)
{
    size_t n = slice_find_byte(*rest, ' ');
    struct slice word = slice_sub(*rest, 0, MIN_OF(n, rest->len));
    *rest = slice_sub(*rest, MIN_OF(n + 1, rest->len), rest->len);
    return word;
}

static bool parse_hex(struct slice s, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < s.len; i++) {
        const char *digits = "0123456789abcdef";
        const char *d = s.data[i] ? strchr(digits, s.data[i]) : NULL;
        if (!d)
            return false;
        *out = *out << 4 | (uint64_t)(d - digits);
    }
    return s.len == 16;
}

int worker_place_get(struct slice in, struct worker_place *p, struct err *err)
{
    struct slice rest = in;
    p->address = take_word(&rest);
    if (!parse_hex(take_word(&rest), &p->number))
        return err_set(err, ERR_CORRUPT, "malformed place of a worker");
    p->boot = take_word(&rest);
    p->directory = rest;
    return 0;
}

void worker_job_dir(struct slice directory, const char *job, struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "%.*s/%s", SLICE_ARG(directory), job);
}

bool worker_job_id_ok(struct slice id)
{
    if (id.len == 0 || id.len > 128 || id.data[0] == '.')
        return false;
    for (size_t i = 0; i < id.len; i++)
        if (id.data[i] <= ' ' || id.data[i] == '/' || id.data[i] == 127)
            return false;
    return true;
}

/* --- orders -------------------------------------------------------------- */

static void put_head(const struct worker_head *h, struct buf *out)
{
    codec_put_str(out, h->sequencer);
    codec_put_u64(out, h->number);
    codec_put_u64(out, h->pool);
    codec_put_str(out, h->job);
}

static void get_head(struct codec_reader *r, struct worker_head *h)
{
    h->sequencer = message_bytes(r, WORKER_TEXT_BYTES_MAX * 2);
    h->number = codec_get_u64(r);
    h->pool = codec_get_u64(r);
    h->job = message_bytes(r, WORKER_TEXT_BYTES_MAX);
}

void worker_head_put(const struct worker_head *h, struct buf *out)
{
    codec_put_array(out, 4);
    put_head(h, out);
}

int worker_head_get(struct slice in, struct worker_head *h, struct err *err)
{
    struct message_reader m = message_begin(in, 4);
    get_head(&m.r, h);
    return message_end(&m, "order to a worker", err);
}

void worker_order_put(const struct worker_order *o, struct buf *out)
{
    buf_put_u8(out, (uint8_t)o->kind);
    buf_put_varint(out, o->ticket);
    buf_put_lslice(out, o->job);
    buf_put_lslice(out, o->spec);
}

void worker_order_get(struct cursor *in, struct worker_order *o)
{
    uint8_t kind = cursor_u8(in);
    in->bad |= kind < WORKER_START || kind > WORKER_PULL;
    o->kind = in->bad ? WORKER_KILL : (enum worker_order_kind)kind;
    o->ticket = cursor_varint(in);
    o->job = cursor_lslice(in);
    o->spec = cursor_lslice(in);
}

/* --- news ---------------------------------------------------------------- */

void worker_watch_put(const struct worker_watch *w, struct buf *out)
{
    codec_put_array(out, 6);
    put_head(&w->head, out);
    codec_put_u64(out, w->seen);
    codec_put_u64(out, w->wait_us);
}

int worker_watch_get(struct slice in, struct worker_watch *w, struct err *err)
{
    struct message_reader m = message_begin(in, 6);
    get_head(&m.r, &w->head);
    w->seen = codec_get_u64(&m.r);
    w->wait_us = codec_get_u64(&m.r);
    return message_end(&m, "question to a worker", err);
}

void worker_status_put(const struct task_status *s, bool note, struct buf *out)
{
    unsigned n =
        note ? MIN_OF(STATUS_GET(s, note_bytes), (unsigned)STATUS_NOTE_BYTES)
             : 0;
    buf_put_varint(out, STATUS_GET(s, stage));
    buf_put_varint(out, STATUS_GET(s, reducing));
    buf_put_varint(out, STATUS_GET(s, records));
    buf_put_varint(out, STATUS_GET(s, bytes));
    buf_put_varint(out, STATUS_GET(s, values));
    buf_put_varint(out, STATUS_GET(s, total));
    buf_put_varint(out, STATUS_GET(s, number));
    buf_put_varint(out, STATUS_GET(s, offset));
    buf_put_lslice(out, slice_make(s->note, n));
}

void worker_status_get(struct cursor *in, struct task_status *s)
{
    STATUS_SET(s, stage, (unsigned)cursor_varint(in));
    STATUS_SET(s, reducing, (unsigned)cursor_varint(in));
    STATUS_SET(s, records, cursor_varint(in));
    STATUS_SET(s, bytes, cursor_varint(in));
    STATUS_SET(s, values, cursor_varint(in));
    STATUS_SET(s, total, cursor_varint(in));
    STATUS_SET(s, number, cursor_varint(in));
    STATUS_SET(s, offset, cursor_varint(in));
    status_note(s, cursor_lslice(in));
}

void worker_event_put(const struct attempt_event *e,
                      const struct task_status *s,
                      struct buf *out)
{
    struct buf report = BUF_INIT;
    buf_put_u8(out, e->reported);
    buf_put_u8(out, e->lost);
    buf_put_lslice(out, slice_str(e->death));
    buf_put_lslice(out, buf_slice(&e->said));
    if (e->reported)
        task_report_encode(&e->report, &report);
    buf_put_lslice(out, buf_slice(&report));
    buf_put_varint(out, e->missing_count);
    for (size_t i = 0; i < e->missing_count; i++) {
        buf_put_varint(out, e->missing[i].task);
        buf_put_varint(out, e->missing[i].attempt);
    }
    worker_status_put(s, true, out);
    buf_close(&report);
}

static void get_missing(struct cursor *in, struct attempt_event *e)
{
    size_t count = cursor_count(in, 2);
    e->missing = mem_zalloc(count + 1, sizeof(*e->missing));
    for (; e->missing_count < count; e->missing_count++) {
        e->missing[e->missing_count].task = (uint32_t)cursor_varint(in);
        e->missing[e->missing_count].attempt = (uint32_t)cursor_varint(in);
    }
}

int worker_event_get(struct slice bytes,
                     struct attempt_event *e,
                     struct task_status *s,
                     struct err *err)
{
    struct cursor in = cursor_make(bytes);
    struct slice death;
    struct slice report;
    *e = (struct attempt_event){.slot = 0};
    task_report_init(&e->report);
    e->reported = cursor_u8(&in) != 0;
    e->lost = cursor_u8(&in) != 0;
    death = cursor_lslice(&in);
    memcpy(e->death, death.data, MIN_OF(death.len, sizeof(e->death) - 1));
    buf_append_slice(&e->said, cursor_lslice(&in));
    report = cursor_lslice(&in);
    get_missing(&in, e);
    worker_status_get(&in, s);
    if (in.bad || cursor_left(&in) > 0)
        return err_set(err, ERR_CORRUPT, "malformed end of an attempt");
    return e->reported ? task_report_decode(&e->report, report, err) : 0;
}

/* --- spills -------------------------------------------------------------- */

void spill_ask_put(const struct spill_ask *a, struct buf *body, struct buf *out)
{
    codec_put_array(body, 4);
    codec_put_u64(body, a->number);
    codec_put_str(body, a->job);
    codec_put_u64(body, a->partition);
    codec_put_u64(body, a->count);
    for (size_t i = 0; i < a->count; i++) {
        buf_put_varint(out, a->spills[i].task);
        buf_put_varint(out, a->spills[i].attempt);
    }
}

int spill_ask_get(struct slice body,
                  struct slice attachment,
                  struct spill_ask *a,
                  struct task_spill **spills,
                  struct err *err)
{
    struct message_reader m = message_begin(body, 4);
    struct cursor in = cursor_make(attachment);
    uint64_t count;
    a->number = codec_get_u64(&m.r);
    a->job = message_bytes(&m.r, WORKER_TEXT_BYTES_MAX);
    a->partition = message_u32(&m.r);
    count = codec_get_u64(&m.r);
    m.r.bad |= count > SPILL_ASK_MAX || !worker_job_id_ok(a->job);
    *spills = NULL;
    a->count = m.r.bad ? 0 : (size_t)count;
    a->spills = *spills = mem_zalloc(a->count + 1, sizeof(**spills));
    for (size_t i = 0; i < a->count; i++) {
        (*spills)[i].task = (uint32_t)cursor_varint(&in);
        (*spills)[i].attempt = (uint32_t)cursor_varint(&in);
    }
    m.r.bad |= in.bad || cursor_left(&in) > 0;
    return message_end(&m, "question for spills", err);
}

void spill_read_put(const struct spill_read *r,
                    const struct spill_piece *pieces,
                    struct buf *body,
                    struct buf *out)
{
    codec_put_array(body, 3);
    codec_put_u64(body, r->number);
    codec_put_str(body, r->job);
    codec_put_u64(body, r->count);
    for (size_t i = 0; i < r->count; i++) {
        buf_put_varint(out, pieces[i].task);
        buf_put_varint(out, pieces[i].attempt);
        buf_put_varint(out, pieces[i].offset);
        buf_put_varint(out, pieces[i].bytes);
    }
}

int spill_read_get(struct slice body,
                   struct slice attachment,
                   struct spill_read *r,
                   struct spill_piece **pieces,
                   struct err *err)
{
    struct message_reader m = message_begin(body, 3);
    struct cursor in = cursor_make(attachment);
    uint64_t left = 2 * SPILL_READ_BYTES_MAX;
    uint64_t count;
    r->number = codec_get_u64(&m.r);
    r->job = message_bytes(&m.r, WORKER_TEXT_BYTES_MAX);
    count = codec_get_u64(&m.r);
    m.r.bad |= count > SPILL_ASK_MAX || !worker_job_id_ok(r->job);
    r->count = m.r.bad ? 0 : (size_t)count;
    *pieces = mem_zalloc(r->count + 1, sizeof(**pieces));
    for (size_t i = 0; i < r->count; i++) {
        struct spill_piece *p = &(*pieces)[i];
        p->task = (uint32_t)cursor_varint(&in);
        p->attempt = (uint32_t)cursor_varint(&in);
        p->offset = cursor_varint(&in);
        p->bytes = cursor_varint(&in);
        m.r.bad |= p->bytes > left;
        left -= MIN_OF(left, p->bytes);
    }
    m.r.bad |= in.bad || cursor_left(&in) > 0;
    return message_end(&m, "question for pieces of spills", err);
}
