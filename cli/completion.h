/* Tab in the shell: completes commands, options, tables, families, and files of
 * this machine where an argument is a file.
 */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

struct cli;

struct completion {
    struct buf offers; /* NUL-terminated, one after the other. */
    size_t offer_count;
};

void completion_init(struct completion *c);
void completion_close(struct completion *c);

/* Look at the line up to the cursor. Appends to @insert what may be typed for
 * the user (with a blank when the word is whole); when it stays empty there are
 * several offers to print. False when nothing fits. */
bool completion_find(struct completion *c,
                     struct cli *cli,
                     struct slice before,
                     struct buf *insert);
void completion_print(const struct completion *c);

/* For completion of another language: forget the offers; add one if it begins
 * with @typed; and, as completion_find() does, say what to insert. */
void completion_begin(struct completion *c);
void completion_offer_word(struct completion *c,
                           struct slice typed,
                           const char *text,
                           const char *suffix);
bool completion_end(const struct completion *c,
                    struct slice typed,
                    struct buf *insert);

#endif /* CLI_COMPLETION_H */
