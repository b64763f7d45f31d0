/* The rows of a site by their SURT: what finds the rows of a URL.
 *
 * Memory: SITE_INDEX_BYTES_MAX an index; the archive keeps a few.
 *
 * Invariants
 *     INV-1. Entries ascend by SURT, then by row.
 */
#ifndef WEB_REPLAY_SITE_INDEX_H
#define WEB_REPLAY_SITE_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct quarry_table;

#define SITE_INDEX_BYTES_MAX ((size_t)48 << 20)

struct site_entry {
    struct slice surt; /* Both in the index's arena. */
    struct slice row;
};

struct site_index {
    struct site_entry *at; /* Owned array. */
    size_t count;
    size_t cap;
    bool is_partial; /* It had no room for all rows. */
    struct arena arena;
};

/* Append the reversed host under which the rows of @url's site lie, without
 * "www": "com.cnn". False: it has no host. */
bool site_host(struct slice url, struct buf *out);

/* Read the rows of the site at @host, with @domain those of its subdomains too,
 * into @out, which is closed in any case. Parks. */
MUST_CHECK int site_index_read(struct quarry_table *table,
                               struct slice host,
                               bool domain,
                               struct site_index *out,
                               struct err *err);
void site_index_close(struct site_index *x);

/* The first entry whose SURT is not before @surt. */
size_t site_index_find(const struct site_index *x, struct slice surt);

#endif /* WEB_REPLAY_SITE_INDEX_H */
