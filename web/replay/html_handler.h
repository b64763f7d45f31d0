/* Scripts in attributes of HTML: event handlers (onclick="…") and links that
 * begin with "javascript:". Their character references are taken for the
 * characters, and put back around what is written. Pure. */
#ifndef WEB_REPLAY_HTML_HANDLER_H
#define WEB_REPLAY_HTML_HANDLER_H

#include "base/core/buf.h"
#include "web/replay/js_rewriter.h"

/* Does the link @value begin with "javascript:"? */
bool html_handler_is_script(struct slice value);

/* Append the attribute's value @value, rewritten, with references for quotes,
 * "&" and "<", so that it may stand in quotes of either kind. False: it stays
 * as it is: nothing in it is rewritten, or it holds references that are not
 * known here. */
bool html_handler_rewrite(const struct js_rewrite_options *js,
                          struct slice value,
                          struct buf *out);

#endif /* WEB_REPLAY_HTML_HANDLER_H */
