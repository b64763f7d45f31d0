/* Text of web pages as UTF-8, by the rules that browsers follow: a byte order
 * mark decides, then the charset of the Content-Type header, then the page's
 * own <meta>; where none is told, the bytes are looked at. Labels mean what the
 * Encoding Standard says they mean: "gb2312" is GBK, "latin1" is windows-1252.
 *
 * Two exceptions, for what is on the web: bytes that are valid UTF-8 beyond
 * ASCII are UTF-8 where nothing or only a Western default is told, and bytes
 * under the label UTF-8 that are not are left to the caller.
 *
 * Threads: one decoder, one thread. Nothing waits.
 */
#ifndef MAPREDUCE_WARC_CHARSET_H
#define MAPREDUCE_WARC_CHARSET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/slice.h"

struct buf;
struct charset_decoder;

/* Owned: charset_decoder_free(). */
struct charset_decoder *charset_decoder_new(void);
void charset_decoder_free(struct charset_decoder *d); /* NULL is allowed. */

/* @body as UTF-8: itself when it needs no change, else borrowed until the next
 * call. @label is the charset of the Content-Type header, or "". @html: look
 * for <meta>. Invalid bytes become U+FFFD. Takes up to three times the body's
 * bytes. */
struct slice charset_decode(struct charset_decoder *d,
                            struct slice label,
                            bool html,
                            struct slice body);

/* The Standard's name of the encoding that was used last, in lower case. Static
 * or borrowed until the next charset_decode(). */
const char *charset_name(const struct charset_decoder *d);

/* Was that encoding detected from the bytes, rather than declared or the
 * default? */
bool charset_was_detected(const struct charset_decoder *d);

/* A link of the page decoded last as browsers send it: characters of its query
 * beyond ASCII are escaped in the page's encoding. @href itself when there are
 * none, else in @out, which is cleared. */
struct slice
charset_link(struct charset_decoder *d, struct slice href, struct buf *out);

#endif /* MAPREDUCE_WARC_CHARSET_H */
