/* Links of archived pages turned into addresses of the archive.
 *
 * The text of a link stays as it was written, escapes included, behind the
 * address of the archive: what was safe in its place (an attribute, a style
 * sheet) stays so. Relative links are resolved here, so that a page needs no
 * base. Links that lead nowhere else (#part) and those of other schemes
 * (mailto:, data:, javascript:) stay as they are.
 *
 * Pure. Threads: one.
 */
#ifndef WEB_REPLAY_LINK_REWRITER_H
#define WEB_REPLAY_LINK_REWRITER_H

#include "mapreduce/warc/url.h"
#include "web/replay/replay_url.h"

struct link_rewriter {
    const char *prefix; /* "/web/", or with scheme and host in front; NULL:
                           links stay as they are. */
    struct slice date;  /* Of the page's capture: 14 digits. */
    struct buf base;    /* URL that links are relative to; owned. */
    struct url parts;   /* Of `base`. */
    struct buf text;    /* Of the link at hand; owned. */
};

/* For a page at the absolute URL @url. @prefix and @date are borrowed. */
void link_rewriter_init(struct link_rewriter *r,
                        const char *prefix,
                        struct slice date,
                        struct slice url);
void link_rewriter_close(struct link_rewriter *r);
/* Links from now on are relative to @url, if that is absolute with the present
 * base in front. */
void link_rewriter_base(struct link_rewriter *r, struct slice url);

/* Append what stands for @link in the archive. */
void link_rewrite(struct link_rewriter *r,
                  struct slice link,
                  enum replay_mod mod,
                  struct buf *out);

#endif /* WEB_REPLAY_LINK_REWRITER_H */
