/* Rows of a view, made of a document.
 */
#ifndef CLI_TOP_TOP_ROWS_H
#define CLI_TOP_TOP_ROWS_H

#include <jansson.h>
#include <stddef.h>

struct arena;
struct top_row;
struct top_view;

/* Detail that is cut: the document of a large tablet. */
#define TOP_ROWS_MAX 20000

/* All is in @arena; texts of values are copied, `value` borrows from @doc. */
void top_rows_make(const struct top_view *v,
                   const json_t *doc,
                   struct arena *arena,
                   struct top_row **rows,
                   size_t *count);

#endif /* CLI_TOP_TOP_ROWS_H */
