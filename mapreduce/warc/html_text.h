/* Text of HTML as plain UTF-8: character references, blanks, old charsets. Only
 * links.c includes this. */
#ifndef MAPREDUCE_WARC_HTML_TEXT_H
#define MAPREDUCE_WARC_HTML_TEXT_H

#include "base/core/buf.h"
#include "base/core/slice.h"

/* Append @s with references decoded; stop before @out would exceed @bytes_max.
 * @collapse: runs of blanks become one, none at the start of @out. */
void html_text_append(struct buf *out,
                      struct slice s,
                      bool collapse,
                      size_t bytes_max);

/* Make @b[from..] valid UTF-8 if it is not: as windows-1252, or cut where a
 * character was cut. */
void html_text_fix(struct buf *b, size_t from);

/* Is @s valid UTF-8? With @cut, a character cut at the very end of @s is
 * allowed: *@cut bytes of it. */
bool html_text_is_utf8(struct slice s, size_t *cut);

#endif /* MAPREDUCE_WARC_HTML_TEXT_H */
