/* Style sheets of archived pages: url(…) and @import lead into the archive,
 * everything else stays byte by byte. Comments and strings are told apart as
 * CSS does; the work is linear in the text. Pure. */
#ifndef WEB_REPLAY_CSS_REWRITER_H
#define WEB_REPLAY_CSS_REWRITER_H

#include "web/replay/byte_sink.h"
#include "web/replay/link_rewriter.h"

/* Rewrite @css into @out. @is_attribute: it is the value of style="…", where
 * quotes may be character references. */
void css_rewrite(struct link_rewriter *links,
                 struct slice css,
                 bool is_attribute,
                 struct byte_sink *out);

#endif /* WEB_REPLAY_CSS_REWRITER_H */
