/* Records of archives turned into rows. docs/crawl.md describes each column and
 * the reason for it; this file and anchors.c, captures.c and revisits.c are the
 * only writers.
 */
#include "mapreduce/ingest/pages.h"

#include <stdio.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "mapreduce/warc/charset.h"
#include "mapreduce/warc/digest.h"
#include "mapreduce/warc/main_text.h"
#include "mapreduce/warc/method_query.h"

/* --- life ---------------------------------------------------------------- */

struct pages *pages_new(struct run *run, struct revisits *revisits)
{
    struct pages *p = mem_zalloc(1, sizeof(*p));
    PRE(run);
    p->run = run;
    p->revisits = revisits;
    p->decoder = http_decoder_new();
    p->scanner = html_scanner_new();
    p->charsets = charset_decoder_new();
    request_pairs_init(&p->pairs);
    run_batch_init(&p->batch, run);
    return p;
}

void pages_free(struct pages *p)
{
    if (!p)
        return;
    http_decoder_free(p->decoder);
    html_scanner_free(p->scanner);
    main_text_free(p->texts);
    charset_decoder_free(p->charsets);
    run_batch_close(&p->batch);
    time_set_close(&p->times);
    time_set_close(&p->targets);
    exported_close(&p->exported);
    request_pairs_close(&p->pairs);
    buf_close(&p->asked.id);
    buf_close(&p->asked.uri);
    buf_close(&p->asked.row);
    buf_close(&p->member);
    buf_close(&p->lines);
    buf_close(&p->head);
    buf_close(&p->uri);
    buf_close(&p->row);
    buf_close(&p->links);
    buf_close(&p->base);
    buf_close(&p->target_uri);
    buf_close(&p->target_row);
    buf_close(&p->text);
    mem_free(p);
}

void pages_start_file(struct pages *p, size_t path_index)
{
    PRE(path_index < p->run->path_count);
    const char *path = p->run->names[path_index];
    const char *slash = strrchr(path, '/');
    p->path_index = path_index;
    p->file_name = slash ? slash + 1 : path;
    time_set_clear(&p->times);
    p->last_row = 0;
}

void pages_start_member(struct pages *p, size_t path_index, const char *member)
{
    const char *slash = strrchr(member, '/');
    pages_start_file(p, path_index);
    buf_clear(&p->member);
    buf_printf(&p->member, "%s/%s", p->file_name, slash ? slash + 1 : member);
    p->file_name = buf_cstr(&p->member);
}

int pages_flush(struct pages *p, struct err *err)
{
    return run_batch_flush(&p->batch, err);
}

struct run_counts *pages_counts(struct pages *p)
{
    return &p->batch.counts;
}

void pages__damage(struct pages *p,
                   const struct warc_record *rec,
                   bool lost,
                   const char *what)
{
    char text[400];
    PRE(what);
    snprintf(text, sizeof(text), "%s: %.*s", what,
             (int)MIN_OF(rec->uri.len, (size_t)200),
             rec->uri.data ? rec->uri.data : "");
    run_damage(p->run, p->path_index, rec->offset, lost, text);
}

/* --- cells --------------------------------------------------------------- */

void pages__set(struct pages *p,
                const char *family,
                const char *qualifier,
                struct slice value)
{
    PRE(qualifier);
    if (value.len)
        run_batch_set(&p->batch, p->mutation, family, slice_str(qualifier),
                      p->time_us, value);
}

void pages__set_number(struct pages *p,
                       const char *family,
                       const char *qualifier,
                       uint64_t value)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    PRE(n > 0 && (size_t)n < sizeof(text));
    pages__set(p, family, qualifier, slice_make(text, (size_t)n));
}

/* --- where a capture goes ------------------------------------------------ */

static bool
find_row(struct pages *p, const struct warc_record *rec, struct slice uri)
{
    buf_clear(&p->uri);
    buf_clear(&p->row);
    if (url_normalise(uri, &p->uri) && url_row_key(buf_slice(&p->uri), &p->row))
        return true;
    buf_clear(&p->uri);
    buf_clear(&p->row);
    if (url_escape_whole(uri, &p->uri)) {
        buf_append_slice(&p->row, buf_slice(&p->uri));
        pages__damage(p, rec, false, "odd host in the URI, kept as it is");
        return true;
    }
    pages__damage(p, rec, true,
                  uri.len ? "no usable URI, record skipped"
                          : "no URI, record skipped");
    return false;
}

/* The row of the capture of @uri: one of its own for a method other than GET.
 */
static bool
find_own_row(struct pages *p, const struct warc_record *rec, struct slice uri)
{
    struct buf asked = BUF_INIT;
    bool ok;
    if (!p->request)
        return find_row(p, rec, uri);
    method_query_url(uri, buf_slice(&p->request->method),
                     buf_slice(&p->request->query), &asked);
    ok = find_row(p, rec, buf_slice(&asked));
    buf_clear(&p->asked.id);
    buf_clear(&p->asked.uri);
    buf_clear(&p->asked.row);
    buf_append_slice(&p->asked.id, rec->id);
    buf_append_slice(&p->asked.uri, uri);
    buf_append_slice(&p->asked.row, buf_slice(&p->row));
    buf_close(&asked);
    return ok;
}

bool pages__place(struct pages *p,
                  const struct warc_record *rec,
                  struct slice uri,
                  int64_t us)
{
    if (!find_own_row(p, rec, uri))
        return false;
    if (us == INT64_MIN) {
        pages__damage(p, rec, false,
                      "no usable date, stored in the first second of 1970");
        us = 0;
    }
    p->time_us =
        time_set_claim(&p->times, buf_slice(&p->row),
                       capture_time(rec->date, us, capture_identity(rec)));
    p->last_row = hash64_slice(buf_slice(&p->row));
    p->last_dated_us = us;
    p->last_time_us = p->time_us;
    return true;
}

/* Is @subject the last capture, if that was asked for by another method? */
static bool is_last_asked(const struct pages *p,
                          const struct pages_subject *subject)
{
    if (p->asked.uri.len == 0 ||
        !slice_eq(buf_slice(&p->asked.uri), subject->uri) ||
        p->last_row != hash64_slice(buf_slice(&p->asked.row)))
        return false;
    return subject->id.len ? slice_eq(buf_slice(&p->asked.id), subject->id)
                           : p->last_dated_us == subject->us;
}

bool pages__join(struct pages *p,
                 const struct warc_record *rec,
                 const struct pages_subject *subject)
{
    if (!find_row(p, rec, subject->uri))
        return false;
    if (is_last_asked(p, subject)) {
        buf_clear(&p->row);
        buf_append_slice(&p->row, buf_slice(&p->asked.row));
    }
    p->time_us = subject->us == INT64_MIN ? 0 : subject->us;
    if (subject->id.len)
        p->time_us = capture_time(subject->date, p->time_us,
                                  capture_identity_of(subject->id));
    else if (p->last_row == hash64_slice(buf_slice(&p->row)) &&
             p->last_dated_us == p->time_us)
        p->time_us = p->last_time_us;
    return true;
}

/* --- what the record says ------------------------------------------------ */

static void put_digest(struct pages *p, struct slice label)
{
    struct digest d;
    char text[DIGEST_TEXT_MAX];
    if (digest_parse(label, &d))
        label = slice_make(text, digest_format(&d, text));
    pages__set(p, "meta", "digest", label);
}

/* The file and place where the capture was first read. */
static void put_source(struct pages *p, const struct warc_record *rec)
{
    char source[512];
    int n = snprintf(source, sizeof(source), "%.400s:%llu", p->file_name,
                     (unsigned long long)rec->offset);
    PRE(n > 0);
    pages__set(p, "meta", "source",
               p->exported.is_one ? p->exported.source
                                  : slice_make(source, (size_t)n));
}

void pages__put_record(struct pages *p, const struct warc_record *rec)
{
    const struct exported *e = &p->exported;
    struct slice type = rec->is_arc ? SLICE_LIT("response") : rec->type_name;
    pages__set(p, "meta", "type", e->type.len ? e->type : type);
    put_source(p, rec);
    pages__set(p, "meta", "id", e->made_id ? SLICE_EMPTY : rec->id);
    pages__set(p, "meta", "ip", rec->ip);
    put_digest(p, e->is_one ? e->digest : rec->payload_digest);
    pages__set(p, "meta", "truncated",
               rec->cut ? SLICE_LIT("damaged") : rec->truncated);
}

/* --- records ------------------------------------------------------------- */

static int
put_one(struct pages *p, const struct warc_record *rec, struct err *err)
{
    switch (rec->type) {
    case WARC_RESPONSE: return pages__put_response(p, rec, err);
    case WARC_RESOURCE: return pages__put_resource(p, rec, err);
    case WARC_CONVERSION: return pages__put_conversion(p, rec, err);
    case WARC_REVISIT: return pages__put_revisit(p, rec, err);
    case WARC_METADATA: return pages__put_metadata(p, rec, err);
    case WARC_OTHER:
        pages__damage(p, rec, true, "record of an unknown type, skipped");
        break;
    case WARC_INFO:
    case WARC_REQUEST:
    case WARC_CONTINUATION: break;
    }
    p->batch.counts.skipped++;
    return 0;
}

/* Name the file and the place that @rec was taken from. */
static void use_part(struct pages *p, struct warc_record *rec)
{
    const struct ingest_options *o = &p->run->opts;
    size_t low = 0;
    size_t high = o->part_count;
    /* The last part that begins at or before it. */
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (o->parts[mid].at <= rec->offset)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0)
        return;
    const struct ingest_part *part = &o->parts[low - 1];
    const char *slash = strrchr(part->name, '/');
    p->file_name = slash ? slash + 1 : part->name;
    rec->offset = rec->offset - part->at + part->offset;
}

static int
put_own(struct pages *p, const struct warc_record *rec, struct err *err)
{
    struct warc_record own = *rec;
    use_part(p, &own);
    exported_read(&own, &p->exported);
    return put_one(p, &own, err);
}

/* Put the answer @rec, whose request is the one that is held. */
static int
put_answer(struct pages *p, const struct warc_record *rec, struct err *err)
{
    int rc;
    if (p->pairs.request.method.len)
        p->request = &p->pairs.request;
    rc = put_own(p, rec, err);
    p->request = NULL;
    request_pairs_forget_request(&p->pairs);
    return rc;
}

int pages_end_archive(struct pages *p, struct err *err)
{
    struct held_answer *a = &p->pairs.answer;
    int rc = 0;
    if (a->is_held) {
        rc = put_own(p, &a->record, err);
        request_pairs_release(&p->pairs);
    }
    request_pairs_forget_request(&p->pairs);
    return rc;
}

static int
put_request(struct pages *p, const struct warc_record *rec, struct err *err)
{
    struct held_answer *a = &p->pairs.answer;
    int rc = 0;
    request_pairs_put_request(&p->pairs, rec);
    p->batch.counts.skipped++;
    if (a->is_held && request_pairs_match(&p->pairs, &a->record)) {
        rc = put_answer(p, &a->record, err);
        request_pairs_release(&p->pairs);
    } else if (a->is_held) {
        rc = put_own(p, &a->record, err);
        request_pairs_release(&p->pairs);
    }
    return rc;
}

int pages_put(struct pages *p, const struct warc_record *rec, struct err *err)
{
    struct held_answer *a = &p->pairs.answer;
    int rc = 0;
    if (rec->type == WARC_REQUEST)
        return put_request(p, rec, err);
    if (a->is_held) {
        rc = put_own(p, &a->record, err);
        request_pairs_release(&p->pairs);
    }
    if (rc)
        return rc;
    if (request_pairs_match(&p->pairs, rec))
        return put_answer(p, rec, err);
    request_pairs_forget_request(&p->pairs);
    if (!request_pairs_may_follow(rec))
        return put_own(p, rec, err);
    request_pairs_hold(&p->pairs, rec);
    return 0;
}
