/* A bundle for a report of a bug: entries of an archive, what could not be had,
 * and a MANIFEST at its end that lists both. Everything is scrubbed (scrub.h)
 * and cut to a length before it is packed.
 *
 * Threads: one at a time.
 */
#ifndef CLI_BUNDLE_BUNDLE_H
#define CLI_BUNDLE_BUNDLE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "cli/progress.h"

struct archive;
struct cli;
struct remote;
struct scrub;

/* Bytes of an entry, and of all of them before they are compressed. */
#define BUNDLE_ENTRY_BYTES_MAX ((size_t)4 << 20)
#define BUNDLE_BYTES_MAX       ((size_t)256 << 20)
#define BUNDLE_ENTRIES_MAX     4000

struct bundle {
    struct cli *cli;         /* Borrowed. */
    struct archive *archive; /* Owned, as all below. */
    struct scrub *scrub;
    bool hash_keys;
    struct progress progress;
    size_t entry_count;
    size_t bytes;
    struct buf list;   /* Lines: what was packed, */
    struct buf missed; /* and what not. */
    size_t missed_count;
    bool is_ending; /* The MANIFEST comes next. */
    int code;       /* The archive could not be written, because of `err`. */
    struct err err;
};

/* Pack @text as @name, a path whose odd bytes become '_'. A failure to
 * write is remembered in b->code. */
void bundle_add(struct bundle *b, const char *name, struct slice text);
/* The same of @doc, without row keys if these are hashed; it is changed. */
void bundle_add_document(struct bundle *b, const char *name, json_t *doc);
/* Note that @name is not there, because of @why. */
void bundle_miss(struct bundle *b, const char *name, const struct err *why);
/* Show how far it is, in parts per thousand. */
void bundle_progress(struct bundle *b, unsigned permille, const char *what);

/* The parts. All park, and note what they could not have. */

/* This machine: kernel, limits, memory, versions of libraries. */
void bundle_add_machine(struct bundle *b);
/* Documents, texts and logs of the cluster that @r reaches. */
void bundle_add_cluster(struct bundle *b, struct remote *r);
/* Logs and outputs of the nodes of a cluster in a directory of this machine,
 * also of those that do not run. */
void bundle_add_cluster_files(struct bundle *b, const char *dir);
/* The store in the directory @dir. */
void bundle_add_store(struct bundle *b, const char *dir);

#endif /* CLI_BUNDLE_BUNDLE_H */
