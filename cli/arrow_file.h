/* A writer of Arrow's own file format (IPC), from columns in the form of the C
 * data interface: as a stream, which can be read while it comes through a pipe,
 * or as a file, which has a list of its parts at the end.
 *
 * Enums of a result are dictionaries: each is written once, before the first
 * batch, so all batches have to have the same, as those of one statement have.
 *
 * Threads: one. Ownership: schema and batches stay the caller's.
 *
 * Invariants
 *     INV-1. `at` is the number of bytes written, a multiple of 8.
 *     INV-2. Dictionaries have the numbers 0, 1, … in the order of a walk over
 *            the schema, children before their own dictionary's.
 */
#ifndef CLI_ARROW_FILE_H
#define CLI_ARROW_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/arrow_abi.h"
#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* A part of the file, as its end lists them. */
struct arrow_part {
    uint64_t at;
    uint32_t metadata_bytes;
    uint64_t body_bytes;
};

struct arrow_parts {
    struct arrow_part *list; /* Owned. */
    size_t count;
    size_t room;
};

struct arrow_file {
    int (*write)(void *ctx, struct slice bytes, struct err *err);
    void *ctx;
    bool stream; /* No list of parts at the end. */
    uint64_t at;
    const struct ArrowSchema *schema; /* Borrowed until the end. */
    bool has_dictionaries;            /* They are written. */
    struct arrow_parts dictionaries;
    struct arrow_parts batches;
    struct buf metadata;
    struct buf body;
};

/* Begin to write columns of @schema, a struct. Errors: ERR_UNSUPPORTED (a type
 * that has no place in such a file, named by its column), those of @f->write.
 * PRE: write, ctx and stream are set, all else is zero. arrow_file_free() in
 * any case. */
MUST_CHECK int arrow_file_begin(struct arrow_file *f,
                                const struct ArrowSchema *schema,
                                struct err *err);
/* Write a batch of these columns. */
MUST_CHECK int arrow_file_add(struct arrow_file *f,
                              const struct ArrowArray *batch,
                              struct err *err);
/* Write the end: of a file, the list of its parts. */
MUST_CHECK int arrow_file_end(struct arrow_file *f, struct err *err);
void arrow_file_free(struct arrow_file *f);

#endif /* CLI_ARROW_FILE_H */
