/* WAT: metadata about a page from a crawler's publisher, as JSON in a metadata
 * record. The record's own date is that of the extraction; the capture's head
 * is inside, and numbers are strings. */
#include <jansson.h>
#include <string.h>

#include "mapreduce/ingest/pages.h"
#include "mapreduce/warc/date.h"

bool pages__is_wat(const struct warc_record *rec)
{
    return http_slice_is(http_media_type(rec->content_type),
                         "application/json");
}

static json_t *wat_field(json_t *o, const char *name)
{
    return json_is_object(o) ? json_object_get(o, name) : NULL;
}

static struct slice text_of(json_t *o, const char *name)
{
    json_t *v = wat_field(o, name);
    if (!json_is_string(v))
        return SLICE_EMPTY;
    return slice_make(json_string_value(v), json_string_length(v));
}

/* A header of a JSON object, in any case. */
static struct slice header_of(json_t *o, const char *lower)
{
    const char *name;
    json_t *v;
    if (!json_is_object(o))
        return SLICE_EMPTY;
    json_object_foreach(o, name, v) {
        if (http_slice_is(slice_str(name), lower) && json_is_string(v))
            return slice_make(json_string_value(v), json_string_length(v));
    }
    return SLICE_EMPTY;
}

/* "A@/href" and "AREA@/href" are links; the rest images, scripts, styles. */
static void gather_links(struct pages *p, json_t *html)
{
    json_t *links = wat_field(html, "Links");
    size_t n = json_is_array(links) ? json_array_size(links) : 0;
    for (size_t i = 0; i < n; i++) {
        json_t *l = json_array_get(links, i);
        struct slice path = text_of(l, "path");
        struct html_link link = {.href = text_of(l, "url"),
                                 .text = slice_trim(text_of(l, "text"))};
        if (!slice_starts_with(path, SLICE_LIT("A@")) &&
            !slice_starts_with(path, SLICE_LIT("AREA@")))
            continue;
        if (link.text.len > LINKS_TEXT_BYTES_MAX)
            link.text.len = LINKS_TEXT_BYTES_MAX;
        pages__add_link(p, &link);
    }
}

static int put_envelope(struct pages *p,
                        const struct warc_record *rec,
                        json_t *envelope,
                        struct err *err)
{
    json_t *head = wat_field(envelope, "WARC-Header-Metadata");
    json_t *http = wat_field(wat_field(envelope, "Payload-Metadata"),
                             "HTTP-Response-Metadata");
    json_t *headers = wat_field(http, "Headers");
    json_t *html = wat_field(http, "HTML-Metadata");
    struct pages_subject page = {
        .uri = text_of(head, "WARC-Target-URI"),
        .date = text_of(head, "WARC-Date"),
        .us = INT64_MIN,
        .id = text_of(head, "WARC-Record-ID"),
    };
    int rc;
    if (!http_slice_is(text_of(head, "WARC-Type"), "response") ||
        !page.uri.len) {
        p->batch.counts.skipped++;
        return 0;
    }
    if (!date_parse(page.date, &page.us))
        page.us = INT64_MIN;
    if (!pages__join(p, rec, &page))
        return 0;
    rc = run_batch_row(&p->batch, buf_slice(&p->row), 0, &p->mutation, err);
    if (rc)
        return rc;
    pages__set(p, "http", "url", page.uri);
    pages__set(p, "http", "status",
               text_of(wat_field(http, "Response-Message"), "Status"));
    pages__set(p, "http", "content-type", header_of(headers, "content-type"));
    pages__set(p, "http", "location", header_of(headers, "location"));
    pages__set(p, "meta", "ip", text_of(head, "WARC-IP-Address"));
    pages__set(p, "meta", "title", text_of(wat_field(html, "Head"), "Title"));
    p->batch.counts.pages++;
    buf_clear(&p->links);
    if (p->run->opts.links)
        gather_links(p, html);
    return pages__put_anchors(p, text_of(wat_field(html, "Head"), "Base"), err);
}

int pages__put_wat(struct pages *p,
                   const struct warc_record *rec,
                   struct err *err)
{
    json_error_t where;
    json_t *root = json_loadb(rec->block.data ? rec->block.data : "",
                              rec->block.len, 0, &where);
    int rc;
    if (!root) {
        pages__damage(p, rec, true, "WAT: bad JSON, record skipped");
        return 0;
    }
    rc = put_envelope(p, rec, wat_field(root, "Envelope"), err);
    json_decref(root);
    return rc;
}
