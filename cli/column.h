/* Columns as users write them: "family:qualifier", or "family" alone. */
#ifndef CLI_COLUMN_H
#define CLI_COLUMN_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"

struct column {
    char *family;         /* Owned. */
    struct buf qualifier; /* Unescaped. */
    bool whole_family;    /* No colon was written. */
};

/* Read @text. Errors: ERR_INVALID, no family. On success column_close(). */
MUST_CHECK int
column_parse(struct slice text, struct column *out, struct err *err);
/* The same, of one column: ERR_INVALID for a family alone, too, which would
 * otherwise be taken for its empty qualifier. */
MUST_CHECK int
column_parse_one(struct slice text, struct column *out, struct err *err);
void column_close(struct column *c);

struct assignment {
    struct column column;
    struct buf value; /* Unescaped. */
};

/* Read "family:qualifier=value"; a '=' in the qualifier is written \x3d.
 * Errors: ERR_INVALID. On success assignment_close(). */
MUST_CHECK int
assignment_parse(const char *text, struct assignment *out, struct err *err);
void assignment_close(struct assignment *a);

#endif /* CLI_COLUMN_H */
