/* Which page answers which path, and the answers for programs. Paths that are
 * not of search are replay's, which shares the address: results open there.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/http/http.h"
#include "base/runtime/world.h"
#include "mapreduce/warc/date.h"
#include "web/replay/replay_server.h"
#include "web/search/pages/result_page.h"
#include "web/search/pages/search_meters.h"
#include "web/search/pages/search_pages.h"
#include "web/search/search.h"

#define PAGE_HITS 10
#define JSON_HITS 100

struct search_server {
    struct replay_server *replay; /* Owned. */
    struct search_index *index;   /* Borrowed. */
    struct quarry_table *table;
    bool has_ranks;
    char *table_name;
    struct search_meters *meters; /* Owned. */
    struct world *world;
    void (*process_metrics)(struct metric_set *out);
};

/* --- requests ------------------------------------------------------------ */

/* The number in field @name, at most @max; @otherwise where there is none. */
static size_t form_number(const struct http_form *form,
                          const char *name,
                          size_t otherwise,
                          size_t max)
{
    const char *text = http_form_get(form, name);
    uint64_t v;
    if (!text || text_parse_u64(slice_str(text), &v, NULL))
        return otherwise;
    return (size_t)MIN_OF(v, (uint64_t)max);
}

static struct search_request form_request(const struct http_form *form,
                                          size_t limit)
{
    const char *q = http_form_get(form, "q");
    struct search_request r = {.query = slice_str(q ? q : ""),
                               .limit = limit,
                               .keep_alike = http_form_get(form, "all")};
    r.skip = form_number(form, "from", 0, SEARCH_RESULTS_MAX - limit);
    return r;
}

/* --- JSON ---------------------------------------------------------------- */

/* Text in pieces: what was looked for is in objects. */
static json_t *search_text_json(const struct search_text *t)
{
    json_t *out = json_array();
    size_t at = 0;
    for (size_t i = 0; i <= t->mark_count; i++) {
        size_t end = i < t->mark_count ? t->marks[i].begin : t->text.len;
        struct slice plain = slice_sub(buf_slice(&t->text), at, end);
        if (plain.len)
            json_array_append_new(out,
                                  json_stringn_nocheck(plain.data, plain.len));
        if (i == t->mark_count)
            break;
        struct slice mark =
            slice_sub(buf_slice(&t->text), end, t->marks[i].end);
        json_array_append_new(
            out, json_pack("{s:o}", "match",
                           json_stringn_nocheck(mark.data, mark.len)));
        at = t->marks[i].end;
    }
    return out;
}

/* A string; bytes that are not UTF-8 become U+FFFD. */
static json_t *json_of_bytes(struct slice s)
{
    struct buf b = BUF_INIT;
    json_t *out;
    const char *p = s.data;
    const char *end = s.data + s.len;
    while (p < end) {
        uint32_t code;
        char bytes[4];
        p += utf8_decode(p, end, &code);
        buf_append(&b, bytes, utf8_encode(bytes, code));
    }
    out = json_stringn_nocheck(b.data ? b.data : "", b.len);
    buf_close(&b);
    return out;
}

json_t *search_hit_json(const struct search_hit *hit,
                        const struct search_page *page)
{
    json_t *out = json_object();
    struct buf time = BUF_INIT;
    char date[DATE_TEXT_BYTES];
    text_put_time(&time, hit->time_us);
    date_format_14(hit->time_us, date);
    json_object_set_new(out, "url", json_of_bytes(buf_slice(&page->url)));
    json_object_set_new(out, "title",
                        json_of_bytes(buf_slice(&page->title.text)));
    json_object_set_new(out, "snippet", search_text_json(&page->snippet));
    json_object_set_new(out, "row", json_of_bytes(hit->row));
    json_object_set_new(out, "time", json_string(buf_cstr(&time)));
    json_object_set_new(out, "date", json_string(date));
    json_object_set_new(out, "score", json_real(hit->score));
    json_object_set_new(out, "captures", json_integer(hit->capture_count));
    json_object_set_new(out, "alike", json_integer(hit->alike_count));
    buf_close(&time);
    return out;
}

static void reply_json(struct http_reply *reply, json_t *doc)
{
    char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(8));
    reply->content_type = "application/json";
    if (text)
        buf_append_str(&reply->body, text);
    buf_append_byte(&reply->body, '\n');
    free(text);
    json_decref(doc);
}

static void reply_json_error(struct http_reply *reply, const struct err *err)
{
    reply->status =
        err->code == ERR_INVALID || err->code == ERR_TOOBIG ? 400 : 503;
    reply_json(reply, json_pack("{s:s}", "error", err->text));
}

static int results_json(struct search_server *s,
                        const struct search_results *results,
                        json_t *list,
                        struct err *err)
{
    struct search_page page = {.url = BUF_INIT};
    int rc = 0;
    for (size_t i = 0; i < results->count && !rc; i++) {
        rc = search_describe(s->index, s->table, results, &results->hits[i],
                             &page, err);
        if (!rc && !page.is_blocked)
            json_array_append_new(list,
                                  search_hit_json(&results->hits[i], &page));
    }
    search_page_close(&page);
    return rc;
}

static struct search_ending answer_json(struct search_server *s,
                                        const struct http_form *form,
                                        struct http_reply *reply)
{
    struct search_request request = form_request(
        form, MAX_OF(form_number(form, "limit", PAGE_HITS, JSON_HITS), 1));
    struct search_results results;
    struct err err = ERR_INIT;
    struct search_ending ending;
    json_t *list = json_array();
    int rc = search_run(s->index, &request, &results, &err);
    if (!rc)
        rc = results_json(s, &results, list, &err);
    if (rc) {
        json_decref(list);
        reply_json_error(reply, &err);
    } else {
        json_t *doc = json_object();
        json_object_set_new(doc, "query", json_of_bytes(request.query));
        json_object_set_new(doc, "from",
                            json_integer((json_int_t)request.skip));
        json_object_set_new(doc, "results", list);
        json_object_set_new(doc, "more", json_boolean(results.has_more));
        json_object_set_new(doc, "documents",
                            json_integer((json_int_t)results.documents));
        if (results.suggestion.len)
            json_object_set_new(doc, "suggestion",
                                json_of_bytes(results.suggestion));
        reply_json(reply, doc);
    }
    ending = search_ending_of(rc, results.count);
    search_results_close(&results);
    return ending;
}

static void answer_suggestions(struct search_server *s,
                               const struct http_form *form,
                               struct http_reply *reply)
{
    const char *q = http_form_get(form, "q");
    struct buf lines = BUF_INIT;
    struct err err = ERR_INIT;
    json_t *list;
    struct slice rest;
    if (search_suggest(s->index, slice_str(q ? q : ""), &lines, &err)) {
        reply_json_error(reply, &err);
        buf_close(&lines);
        return;
    }
    list = json_array();
    for (rest = buf_slice(&lines); rest.len;) {
        size_t n = slice_find_byte(rest, '\n');
        json_array_append_new(list, json_of_bytes(slice_sub(rest, 0, n)));
        rest = slice_sub(rest, n + 1, rest.len);
    }
    reply_json(reply, list);
    buf_close(&lines);
}

/* --- pages --------------------------------------------------------------- */

static struct search_ending answer_page(struct search_server *s,
                                        const struct http_form *form,
                                        struct http_reply *reply)
{
    struct result_page page = {.index = s->index,
                               .table = s->table,
                               .table_name = s->table_name,
                               .has_ranks = s->has_ranks,
                               .request = form_request(form, PAGE_HITS)};
    return result_page_put(&page, reply);
}

static void answer_metrics(struct search_server *s, struct http_reply *reply)
{
    reply->content_type = "text/plain; version=0.0.4; charset=utf-8";
    search_meters_print(s->meters, s->index, s->world, s->process_metrics,
                        &reply->body);
}

/* Has the request a query? Else the page is the form. */
static bool has_query(const struct http_form *form)
{
    const char *q = http_form_get(form, "q");
    return q && slice_trim(slice_str(q)).len > 0;
}

/* Answer @path, and count it. */
static void answer_counted(struct search_server *s,
                           struct slice path,
                           const struct http_form *query,
                           struct http_reply *reply)
{
    uint64_t begin = world_mono_ns(s->world);
    bool json = slice_eq_str(path, "/search.json");
    struct search_ending ending;
    if (slice_eq_str(path, "/suggest.json")) {
        answer_suggestions(s, query, reply);
        search_meters_suggestion(s->meters, world_mono_ns(s->world) - begin);
        return;
    }
    ending = json ? answer_json(s, query, reply) : answer_page(s, query, reply);
    if (json || has_query(query))
        search_meters_query(s->meters, json ? "json" : "page", ending,
                            world_mono_ns(s->world) - begin);
}

static bool search_guest(void *ctx,
                         struct slice path,
                         const struct http_form *query,
                         struct http_reply *reply)
{
    struct search_server *s = ctx;
    struct err err = ERR_INIT;
    static const char *const pages[] = {"/", "/search", "/search.json",
                                        "/suggest.json", "/metrics"};
    size_t n = 0;
    while (n < ARRAY_LEN(pages) && !slice_eq_str(path, pages[n]))
        n++;
    if (n == ARRAY_LEN(pages))
        return false;
    /* Where the new index cannot be read, the old one answers. */
    if (search_index_refresh(s->index, &err))
        search_meters_stale(s->meters);
    if (slice_eq_str(path, "/metrics"))
        answer_metrics(s, reply);
    else
        answer_counted(s, path, query, reply);
    return true;
}

/* --- opening ------------------------------------------------------------- */

int search_server_open(const struct search_server_options *opts,
                       struct search_server **out,
                       struct err *err)
{
    struct search_server *s = mem_zalloc(1, sizeof(*s));
    const struct replay_options replay = {.table = opts->table,
                                          .ranks = opts->ranks,
                                          .table_name = opts->table_name,
                                          .address = opts->address,
                                          .names = opts->names,
                                          .wombat = opts->wombat,
                                          .is_fixed = opts->is_fixed,
                                          .policy = opts->policy,
                                          .guest = search_guest,
                                          .guest_ctx = s};
    int rc;
    s->index = opts->index;
    s->table = opts->table;
    s->has_ranks = opts->ranks != NULL;
    s->world = opts->world;
    s->process_metrics = opts->process_metrics;
    s->meters = search_meters_new();
    s->table_name = mem_strdup(opts->table_name);
    rc = replay_server_open(&replay, &s->replay, err);
    if (rc) {
        search_server_close(s);
        s = NULL;
    }
    *out = s;
    return rc;
}

const char *search_server_address(const struct search_server *s)
{
    return replay_server_address(s->replay);
}

void search_server_close(struct search_server *s)
{
    if (!s)
        return;
    replay_server_close(s->replay);
    search_meters_free(s->meters);
    mem_free(s->table_name);
    mem_free(s);
}
