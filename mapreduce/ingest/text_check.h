/* Is this the beginning of a text? What is refused before a row is made of it:
 * packings that are not undone here, UTF-16, and files of other programs. Pure.
 * Inside mapreduce/ingest only. */
#ifndef MAPREDUCE_INGEST_TEXT_CHECK_H
#define MAPREDUCE_INGEST_TEXT_CHECK_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* So much of a file is looked at. */
#define TEXT_CHECK_BYTES ((size_t)4096)

/* @head: the first bytes of a file, unpacked or as it lies there; gzip and zstd
 * pass, as they are undone. Errors: ERR_INVALID says what it is, and the hint
 * what to do about it. */
MUST_CHECK int text_check(struct slice head, struct err *err);

#endif /* MAPREDUCE_INGEST_TEXT_CHECK_H */
