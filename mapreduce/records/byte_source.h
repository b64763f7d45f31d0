/* A file's bytes in order, decompressed if they are gzip or zstd.
 *
 * One thread. Open, read and resync park. The caller decides what to do about
 * damage: read reports it, resync continues after it.
 */
#ifndef MAPREDUCE_RECORDS_BYTE_SOURCE_H
#define MAPREDUCE_RECORDS_BYTE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct byte_source;
struct job_files;

/* How the bytes of a file are compressed. Numbers travel in task specs: only
 * append. */
enum byte_compression {
    BYTES_PLAIN,
    BYTES_GZIP,
    BYTES_ZSTD
};

/* Read @path from byte @offset on (0 unless @compression is BYTES_PLAIN).
 * Owned: byte_source_close(). ERR_NOTFOUND, and the errors of the file. Parks.
 */
MUST_CHECK int byte_source_open(const struct job_files *files,
                                const char *path,
                                enum byte_compression compression,
                                uint64_t offset,
                                struct byte_source **out,
                                struct err *err);
/* Up to @len bytes; *@got is 0 only at the end. Parks. ERR_CORRUPT. */
MUST_CHECK int byte_source_read(struct byte_source *s,
                                char *dst,
                                size_t len,
                                size_t *got,
                                struct err *err);
/* After ERR_CORRUPT: continue with the next gzip member or zstd frame that
 * decompresses, or at the end. The bytes after it do not join those before.
 * *@bytes of the file were skipped. Parks. */
MUST_CHECK int
byte_source_resync(struct byte_source *s, uint64_t *bytes, struct err *err);
/* Compressed bytes of the file consumed so far. */
uint64_t byte_source_offset(const struct byte_source *s);
void byte_source_close(struct byte_source *s); /* NULL is allowed. */

/* How the file is compressed, by its first bytes, never by its name; and its
 * size. Parks. */
MUST_CHECK int byte_source_probe(const struct job_files *files,
                                 const char *path,
                                 enum byte_compression *compression,
                                 uint64_t *bytes,
                                 struct err *err);

#endif /* MAPREDUCE_RECORDS_BYTE_SOURCE_H */
