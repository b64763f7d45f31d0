/* A stream compressed in parts: each some MiB of it as a gzip member, a frame
 * of zstd or lz4, or a stream of bzip2 or xz of its own. All readers take such
 * files, and damage costs one part.
 *
 * Threads: one a packer. Nothing waits.
 */
#ifndef MAPREDUCE_WARC_PACKER_H
#define MAPREDUCE_WARC_PACKER_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct packer;

enum packing {
    PACKING_NONE,
    PACKING_GZIP,
    PACKING_ZSTD,
    PACKING_LZ4,
    PACKING_BZIP2,
    PACKING_XZ,
    PACKINGS
};

/* "gz", "zst", "lz4", "bz2", "xz": the end of a file's name; "" for none. */
const char *packing_suffix(enum packing packing);
/* That of @suffix, also by the program's name ("gzip", "zstd", "bzip2"); false:
 * there is none. */
bool packing_of(struct slice suffix, enum packing *out);

/* Owned: packer_free(). ERR_UNSUPPORTED: this build cannot write @packing. */
MUST_CHECK int
packer_new(enum packing packing, struct packer **out, struct err *err);
void packer_free(struct packer *p); /* NULL is allowed. */

/* Take @s; parts that are full are appended to @out. */
MUST_CHECK int
packer_put(struct packer *p, struct slice s, struct buf *out, struct err *err);
/* The rest. An empty stream is one empty part. */
MUST_CHECK int packer_end(struct packer *p, struct buf *out, struct err *err);

#endif /* MAPREDUCE_WARC_PACKER_H */
