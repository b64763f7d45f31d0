/* Additions to base/core/text.h for the command line: bytes given as arguments,
 * values cut to a width, and bytes in JSON.
 *
 * Rows, qualifiers and values are any bytes. They are printed as UTF-8 with
 * everything else as \xNN, and arguments are read the same way, so that the
 * output of one command can be given to another.
 */
#ifndef CLI_TEXT_FORM_H
#define CLI_TEXT_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/base64.h"
#include "base/core/slice.h"

struct buf;

/* text_unescape() of an argument. */
void argument_unescape(struct buf *out, struct slice text);

/* Append @s escaped on one line, at most @columns wide on a terminal; a "…" at
 * the end tells that there was more. */
void text_put_cut(struct buf *out, struct slice s, size_t columns);

/* A field of CSV. Bytes that are not UTF-8, or hold a NUL, are written as the
 * mark and base64, and so is text that begins with the mark. */
void csv_put_bytes(struct buf *out, struct slice s);

/* `"NAME": "…"`, or `"NAME_base64": "…"` when @s is not UTF-8. */
void json_put_bytes(struct buf *out, const char *name, struct slice s);

#endif /* CLI_TEXT_FORM_H */
