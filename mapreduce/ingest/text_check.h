/* Is this the beginning of a text? Refuses, before a row is made of it:
 * compressions that are not supported here, UTF-16, and files of other
 * programs. Pure. Inside mapreduce/ingest only. */
#ifndef MAPREDUCE_INGEST_TEXT_CHECK_H
#define MAPREDUCE_INGEST_TEXT_CHECK_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* Bytes of a file that are examined. */
#define TEXT_CHECK_BYTES ((size_t)4096)

/* @head: the first bytes of a text, decompressed. Errors: ERR_INVALID names the
 * format, and the hint a way out. */
MUST_CHECK int text_check(struct slice head, struct err *err);
/* @head: the first bytes of a file as it is stored. Compressions that this
 * build can undo pass. Errors: as above, and ERR_UNSUPPORTED for the others. */
MUST_CHECK int text_check_packed(struct slice head, struct err *err);

#endif /* MAPREDUCE_INGEST_TEXT_CHECK_H */
