/* HTML of archived pages: links in attributes, styles and refreshes lead into
 * the archive; every byte elsewhere stays as it was, so that odd markup means
 * to a browser what it meant.
 *
 * Rewritten are the attributes that hold links (src, href, srcset, action,
 * data, poster and the others of the table in html_rewriter.c), style
 * attributes and <style>, <meta http-equiv=refresh>, and data-… attributes that
 * begin with a URL. <base> is honoured. integrity, nonce and crossorigin are
 * put aside (as _integrity …): the bytes changed, and their origin. Policies
 * and referrers in <meta> are put aside too. target=_top and _blank mean the
 * page itself, which is in a frame. Scripts, event handlers and javascript:
 * links are rewritten if opts->module_url is there (js_rewriter.h), else they
 * are left as they are.
 *
 * Pure. Threads: one.
 */
#ifndef WEB_REPLAY_HTML_REWRITER_H
#define WEB_REPLAY_HTML_REWRITER_H

#include "web/replay/byte_sink.h"
#include "web/replay/link_rewriter.h"

struct html_rewrite_options {
    struct link_rewriter *links;
    /* Markup for the start of <head>, before the page's own; may be "". */
    struct slice head_insert;
    /* Of js_module_declarations; NULL: scripts stay as they are. */
    const char *module_url;
};

/* Rewrite @html, in a charset whose ASCII bytes mean ASCII, into @out. */
void html_rewrite(const struct html_rewrite_options *opts,
                  struct slice html,
                  struct byte_sink *out);

#endif /* WEB_REPLAY_HTML_REWRITER_H */
