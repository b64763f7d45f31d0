/* The cells of `quarry top`: values of documents as a person reads them, and
 * text from servers without anything that a terminal would obey.
 */
#ifndef CLI_TOP_TOP_CELL_H
#define CLI_TOP_TOP_CELL_H

#include <jansson.h>

#include "base/core/slice.h"
#include "cli/top/top_view.h"

struct buf;

/* Append @text: control characters (also those of eight bits), marks that turn
 * the direction of writing, and bytes that are not UTF-8 become \xHH or
 * \u{HHHH}. */
void top_put_printable(struct buf *out, struct slice text);
/* Append @text without what is beyond @columns, where a "…" stands; filled up
 * with blanks if @fill says so. Returns the columns it takes. */
size_t
top_put_columns(struct buf *out, struct slice text, size_t columns, bool fill);
/* Append @value as @kind; nothing where it is absent. Printable. */
void top_put_cell(struct buf *out, const json_t *value, enum top_kind kind);
/* The kind of a value, by the name of its member. */
enum top_kind top_kind_of(const char *field, const json_t *value);

#endif /* CLI_TOP_TOP_CELL_H */
