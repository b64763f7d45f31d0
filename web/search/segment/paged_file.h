/* A file in pages, each with a checksum or sealed: how segments of a search
 * index lie on the disk. Its bytes are one stream to callers; no byte of it
 * reaches one before its page was verified.
 *
 *     file  = magic "QRYSRCH1", key id le64 (0: not sealed), salt (16 bytes),
 *             crc32c le32 of these 32 bytes, page*
 *     page  = payload, crc32c le32 of the page's number (le64) and the payload
 *           | ciphertext, tag (16 bytes), the page's number being the nonce
 *
 * Pages have PAGED_FILE_PAGE_BYTES, the last one fewer. A file is sealed if
 * the file system has a keyring when it is begun: with a key of its own,
 * derived from a data key and the salt (base/crypt/keyring.h), so no two pages
 * share key and nonce.
 *
 * Threads: a writer has one; a reader any number.
 *
 * Invariants
 *     INV-1. Bytes in a page cache have been verified.
 *     INV-2. A set of the cache holds each page at most once.
 */
#ifndef WEB_SEARCH_SEGMENT_PAGED_FILE_H
#define WEB_SEARCH_SEGMENT_PAGED_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct fs;
struct page_cache;
struct paged_reader;
struct paged_writer;

#define PAGED_FILE_MAGIC      "QRYSRCH1"
#define PAGED_FILE_PAGE_BYTES ((size_t)16384)
#define PAGED_FILE_HEAD_BYTES ((size_t)36)

/* --- writing ------------------------------------------------------------- */

/* Create the file @path of @fs, which is borrowed. *@out is owned. Parks.
 * Errors: those of fs_create(), of deriving a key. */
MUST_CHECK int paged_writer_new(struct fs *fs,
                                const char *path,
                                struct paged_writer **out,
                                struct err *err);
/* Hand the bytes of the stream to @fn with @ctx, as they are appended: of a
 * file that others will write. Owned. append() returns the result of @fn.
 */
typedef int (*paged_sink_fn)(void *ctx, struct slice bytes, struct err *err);
struct paged_writer *paged_writer_to(paged_sink_fn fn, void *ctx);
/* Append @bytes, copied. Parks. Errors: those of fs_writer_append(). */
MUST_CHECK int paged_writer_append(struct paged_writer *w,
                                   struct slice bytes,
                                   struct err *err);
/* Bytes appended so far: the place of the next one in the stream. */
uint64_t paged_writer_offset(const struct paged_writer *w);
/* Write the last page and sync. Parks. Errors: those of fs_writer_sync(). */
MUST_CHECK int paged_writer_finish(struct paged_writer *w, struct err *err);
void paged_writer_free(struct paged_writer *w); /* NULL is allowed. */

/* --- reading ------------------------------------------------------------- */

/* A cache of @bytes for the pages of any number of readers. Owned. */
struct page_cache *page_cache_new(size_t bytes);
void page_cache_free(struct page_cache *c); /* PRE: no reader uses it. */

/* Open @path of @fs. @fs and @cache are borrowed. *@out is owned. Parks.
 * Errors: ERR_NOTFOUND, ERR_CORRUPT, ERR_DENIED (it is sealed, and there is no
 * key). */
MUST_CHECK int paged_reader_open(struct fs *fs,
                                 const char *path,
                                 struct page_cache *cache,
                                 struct paged_reader **out,
                                 struct err *err);
void paged_reader_close(struct paged_reader *r); /* NULL is allowed. */
/* Bytes of the stream, and of the file. */
uint64_t paged_reader_size(const struct paged_reader *r);
uint64_t paged_reader_file_bytes(const struct paged_reader *r);
/* Read [@offset, @offset + @len) of the stream, by the cache. Parks. Errors:
 * ERR_CORRUPT (a page is damaged, or the stream is shorter), ERR_IO. */
MUST_CHECK int paged_reader_read(struct paged_reader *r,
                                 uint64_t offset,
                                 void *to,
                                 size_t len,
                                 struct err *err);
/* The same past the cache, for bytes that are read once. */
MUST_CHECK int paged_reader_load(struct paged_reader *r,
                                 uint64_t offset,
                                 void *to,
                                 size_t len,
                                 struct err *err);

#endif /* WEB_SEARCH_SEGMENT_PAGED_FILE_H */
