/* Scripts of archived pages: wombat stands in for `window`, `document`,
 * `location`, `top` and the like, so that a script sees the page's own address.
 *
 * A script that uses one of these names is put into a block in which they are
 * variables that hold wombat's stand-ins:
 *
 *     var _____WB$wombat$assign$function_____ = …; { let location = …; { … }}
 *
 * as pywb and wabac.js do, whose helpers in wombat are called. Names that the
 * script declares itself are left out. Names that its top level declares by
 * let, const, class, async and generator functions would stay in the block:
 * accessors of those names are put on the window before. A module imports the
 * stand-ins instead (static/__wb_module_decl.js).
 *
 * Changed in the text are `this` where the window may be meant, assignments to
 * `location`, calls of eval, import() and postMessage(), and the addresses that
 * modules import. Strings, templates, comments and regular expressions stay as
 * they are; so does all of a script that the scanner does not understand
 * (js_token.h). The text is read twice and written as it is read; nothing is
 * kept but names.
 *
 * Pure. Threads: one.
 */
#ifndef WEB_REPLAY_JS_REWRITER_H
#define WEB_REPLAY_JS_REWRITER_H

#include <stdbool.h>

#include "web/replay/byte_sink.h"
#include "web/replay/link_rewriter.h"

/* The text of the module that the others import. */
extern const char js_module_declarations[];

struct js_rewrite_options {
    struct link_rewriter *links; /* Of imports. */
    const char *module_url;      /* Of js_module_declarations. */
    bool is_module;              /* Known to be one; else import tells. */
    bool is_attribute;           /* An event handler, or javascript: */
};

/* Is the media type @type, without parameters, one of JavaScript? */
bool js_is_type(struct slice type);

/* Rewrite @js, in a charset whose ASCII bytes mean ASCII, into @out. False: it
 * is as it was. */
bool js_rewrite(const struct js_rewrite_options *opts,
                struct slice js,
                struct byte_sink *out);

#endif /* WEB_REPLAY_JS_REWRITER_H */
