/* One answer and one request, copied out of the reader's memory: a record is
 * gone when the next one is read. */
#include "mapreduce/ingest/request_pairs.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "mapreduce/warc/method_query.h"

/* Copies of blocks beyond this are given back at once. */
#define KEPT_BYTES_MAX ((size_t)1 << 20)

void request_pairs_init(struct request_pairs *p)
{
    memset(p, 0, sizeof(*p));
    arena_init(&p->answer.arena);
}

void request_pairs_close(struct request_pairs *p)
{
    struct held_request *r = &p->request;
    buf_close(&r->id);
    buf_close(&r->uri);
    buf_close(&r->concurrent);
    buf_close(&r->method);
    buf_close(&r->query);
    buf_close(&r->bytes);
    arena_close(&p->answer.arena);
    buf_close(&p->answer.block);
}

/* --- requests ------------------------------------------------------------ */

static void set_text(struct buf *b, struct slice s)
{
    buf_clear(b);
    buf_append_slice(b, s);
}

/* A record's id without its brackets. */
static struct slice bare_id(struct slice id)
{
    id = slice_trim(id);
    if (id.len > 1 && id.data[0] == '<' && id.data[id.len - 1] == '>')
        return slice_sub(id, 1, id.len - 1);
    return id;
}

/* The body as far as its length says; without one there is none. */
static struct slice body_of(const struct http_message *m)
{
    struct slice v;
    uint64_t length;
    if (!http_header(m, "content-length", &v) ||
        text_parse_u64(slice_trim(v), &length, NULL))
        return SLICE_EMPTY;
    return slice_sub(m->raw_body, 0, MIN_OF(length, m->raw_body.len));
}

static void upper_case(struct buf *b)
{
    for (size_t i = 0; i < b->len; i++)
        if (b->data[i] >= 'a' && b->data[i] <= 'z')
            b->data[i] -= 'a' - 'A';
}

/* Read the method, and what the body says. */
static void note_method(struct request_pairs *p, const struct warc_record *rec)
{
    struct held_request *r = &p->request;
    struct http_message *m = &p->message;
    struct slice type = SLICE_EMPTY;
    if (!http_parse(rec->block, m) || !m->is_request || m->method.len > 32)
        return;
    set_text(&r->method, m->method);
    upper_case(&r->method);
    if (!method_is_other(buf_slice(&r->method))) {
        buf_clear(&r->method);
        return;
    }
    http_header(m, "content-type", &type);
    method_query_put(buf_slice(&r->method), type, body_of(m), &r->query);
    if (rec->whole && rec->block.len <= REQUEST_BYTES_MAX)
        set_text(&r->bytes, rec->block);
}

void request_pairs_put_request(struct request_pairs *p,
                               const struct warc_record *rec)
{
    struct held_request *r = &p->request;
    struct slice v = SLICE_EMPTY;
    warc_record_header(rec, "warc-concurrent-to", &v);
    r->is_held = true;
    set_text(&r->id, rec->id);
    set_text(&r->uri, rec->uri);
    set_text(&r->concurrent, bare_id(v));
    buf_clear(&r->method);
    buf_clear(&r->query);
    buf_clear(&r->bytes);
    note_method(p, rec);
}

void request_pairs_forget_request(struct request_pairs *p)
{
    p->request.is_held = false;
}

bool request_pairs_match(const struct request_pairs *p,
                         const struct warc_record *answer)
{
    const struct held_request *r = &p->request;
    if (!r->is_held || !slice_eq(buf_slice(&r->uri), answer->uri))
        return false;
    if (answer->id.len && slice_eq(buf_slice(&r->concurrent), answer->id))
        return true;
    for (size_t i = 0; r->id.len && i < answer->header_count; i++)
        if (http_slice_is(answer->headers[i].name, "warc-concurrent-to") &&
            slice_eq(bare_id(answer->headers[i].value), buf_slice(&r->id)))
            return true;
    return false;
}

/* --- answers ------------------------------------------------------------- */

bool request_pairs_may_follow(const struct warc_record *rec)
{
    return (rec->type == WARC_RESPONSE || rec->type == WARC_REVISIT) &&
           !rec->is_arc && rec->id.len > 0;
}

void request_pairs_hold(struct request_pairs *p, const struct warc_record *rec)
{
    struct held_answer *a = &p->answer;
    PRE(!a->is_held); /* INV-1 */
    warc_record_copy(rec, &a->arena, &a->record);
    set_text(&a->block, rec->block);
    a->record.block = buf_slice(&a->block);
    a->is_held = true;
}

void request_pairs_release(struct request_pairs *p)
{
    struct held_answer *a = &p->answer;
    a->is_held = false;
    arena_reset(&a->arena);
    if (a->block.cap > KEPT_BYTES_MAX)
        buf_close(&a->block);
}
