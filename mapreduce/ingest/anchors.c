/* Links stored where they lead: an anchor:<source row> cell on the target's
 * row, with the link's text, at the time of the source's capture. A search asks
 * for the links to a page far more often than for those of one. */
#include <string.h>

#include "base/core/coding.h"
#include "base/core/hash.h"
#include "mapreduce/ingest/pages.h"
#include "mapreduce/warc/charset.h"

/* A source's row is a qualifier there. */
#define SOURCE_BYTES_MAX ((size_t)16 << 10)

void pages__add_link(void *ctx, const struct html_link *link)
{
    struct pages *p = ctx;
    if (link->href.len == 0 || link->href.data[0] == '#')
        return;
    buf_put_lslice(&p->links, charset_link(p->charsets, link->href, &p->text));
    buf_put_lslice(&p->links, link->text);
}

static bool is_web(struct slice uri)
{
    return slice_starts_with(uri, SLICE_LIT("http:")) ||
           slice_starts_with(uri, SLICE_LIT("https:")) ||
           slice_starts_with(uri, SLICE_LIT("ftp:"));
}

/* The row a link leads to, into p->target_row; false: it leads to no page. */
static bool
find_target(struct pages *p, const struct url *base, struct slice href)
{
    struct slice normal;
    buf_clear(&p->target_uri);
    buf_clear(&p->target_row);
    buf_clear(&p->text);
    url_resolve(base, href, &p->target_uri);
    if (!url_normalise(buf_slice(&p->target_uri), &p->text))
        return false;
    normal = buf_slice(&p->text);
    return is_web(normal) && url_row_key(normal, &p->target_row);
}

int pages__put_anchors(struct pages *p, struct slice base, struct err *err)
{
    struct cursor c = cursor_make(buf_slice(&p->links));
    struct slice source = buf_slice(&p->row);
    struct url from;
    if (source.len > SOURCE_BYTES_MAX || cursor_left(&c) == 0)
        return 0;
    time_set_clear(&p->targets);
    buf_clear(&p->base);
    url_split(buf_slice(&p->uri), &from);
    if (base.len) {
        url_resolve(&from, base, &p->base);
        url_split(buf_slice(&p->base), &from);
    }
    while (cursor_left(&c) > 0) {
        struct slice href = cursor_lslice(&c);
        struct slice text = cursor_lslice(&c);
        struct quarry_mutation *m;
        struct slice target;
        int rc;
        if (!find_target(p, &from, href))
            continue;
        target = buf_slice(&p->target_row);
        if (slice_eq(target, source) ||
            !time_set_add(&p->targets, hash64_slice(target)))
            continue;
        rc = run_batch_row(&p->batch, target, 0, &m, err);
        if (rc)
            return rc;
        run_batch_set(&p->batch, m, "anchor", source, p->time_us, text);
        p->batch.counts.links++;
    }
    return 0;
}
