/* Replication: commits to a table are made again in a table elsewhere.
 * docs/replication.md has the promise.
 *
 *     const struct quarry_replication_spec spec = {
 *         .table = "webtable", .target = "file:/mnt/copy"};
 *
 *     quarry_replication_open(q, &spec, &r, &err)
 *     quarry_replication_begin(r, &token, &err)      once: keep the token
 *     quarry_replication_copy(r, NULL, NULL, NULL, &err)
 *     quarry_changes_open(…the table, from the token…)
 *     quarry_replication_follow(r, changes, true, keep_token, NULL, &err)
 *     quarry_replication_close(r)
 *
 * `quarry replication create` makes a stream that the servers run.
 *
 * Each table that takes part is a *site*, with a number of its own. A commit
 * keeps the number of the site where it was made, the time and the sequence
 * that it had there, on its way through any number of others: its origin. All
 * sites order commits by their origins (time, site, sequence), so that tables
 * that are written to at several sites become equal, whatever the order in
 * which commits arrive, and however often.
 *
 * Threads: one at a time for each object. Calls park a fiber or block a thread,
 * and fail as those of quarry.h do.
 */
#ifndef BIGTABLE_QUARRY_REPLICATION_H
#define BIGTABLE_QUARRY_REPLICATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bigtable/quarry.h"

#ifdef __cplusplus
extern "C" {
#endif

struct quarry_replication;

/* The number of @table as a site, never 0. That of its store is drawn at the
 * first call, and kept in the table REPLICATION_SITES. ERR_DENIED: it must be
 * made, and may not. */
#define REPLICATION_SITES ".sites"
QUARRY_EXPORT MUST_CHECK int quarry_replication_site(struct quarry *q,
                                                     const char *table,
                                                     uint64_t *site,
                                                     struct err *err);

/* Say, before anything is added to @m, that it was first made elsewhere: at
 * @origin. @here is the site that it will be applied to. Where the table keeps
 * its changes it is reduced to what the commits there that have later origins
 * leave of it; that may be nothing. A time of 0 is before all that is known.
 * ERR_INVALID when it is applied: its time is an hour ahead of the clock there.
 * It cannot be part of a transaction, of a conditional change or of a bulk
 * load.
 */
QUARRY_EXPORT void
quarry_mutation_set_origin(struct quarry_mutation *m,
                           const struct quarry_origin *origin,
                           uint64_t here);

struct quarry_replication_family {
    const char *from;
    const char *to; /* NULL: the same. */
};

/* A stream: from where to where, and which part. Borrowed until the call
 * returns. */
struct quarry_replication_spec {
    const char *table;
    const char *target;   /* As of quarry_open(); NULL: the same store. */
    const char *to_table; /* NULL: the same name. */
    const struct quarry_replication_family *families;
    size_t family_count; /* 0: all, by their names. */
    struct slice start;  /* Rows [start, end); an empty end has no bound. */
    struct slice end;
    const char *qualifiers; /* RE2, of the whole qualifier; NULL: all. */
    bool no_deletions;      /* Deletions are not sent. */
    uint64_t bytes_per_s;   /* At most; 0: no bound. */
    /* How the target is opened; as in struct quarry_options. */
    const char *key_file;
    const char *cluster;
    const char *principal;
    const char *certificate_file;
    const char *certificate_key_file;
    const char *authority_file;
};

/* Open both ends. @q is borrowed. *@out is owned. Errors: ERR_INVALID: both
 * ends are one table, or one is a copy of the other's files; a bad pattern;
 * ERR_NOTFOUND: a table or a family; ERR_UNSUPPORTED: the table keeps no
 * changes. */
QUARRY_EXPORT MUST_CHECK int
quarry_replication_open(struct quarry *q,
                        const struct quarry_replication_spec *spec,
                        struct quarry_replication **out,
                        struct err *err);
QUARRY_EXPORT void quarry_replication_close(struct quarry_replication *r);
/* Copying and sending end with ERR_CANCELLED when @stop is set. Borrowed. */
QUARRY_EXPORT void quarry_replication_cancel(struct quarry_replication *r,
                                             const quarry_flag *stop);
/* The table at the other end. Borrowed. */
QUARRY_EXPORT struct quarry_table *
quarry_replication_target(struct quarry_replication *r);
/* Make the table at the other end like this one, if there is none: families,
 * groups, and how long changes are kept. *@made (may be NULL): it was made. */
QUARRY_EXPORT MUST_CHECK int
quarry_replication_create_target(struct quarry *q,
                                 const struct quarry_replication_spec *spec,
                                 bool *made,
                                 struct err *err);

/* The token from which changes follow what a copy that begins now will have:
 * all changes that are kept, where the other end may have seen writes of its
 * own; else those from now on. Appended to @token. */
QUARRY_EXPORT MUST_CHECK int
quarry_replication_begin(struct quarry_replication *r,
                         struct buf *token,
                         struct err *err);

/* Called after each batch of a copy: all rows up to @row are at the other end.
 * Anything but 0 ends the copy with that error. */
typedef int (*quarry_replication_at)(void *arg,
                                     struct slice row,
                                     uint64_t rows,
                                     uint64_t bytes,
                                     struct err *err);

/* Copy the rows behind @after (NULL: all). They have the times that they have,
 * and, as what was there before all that is known, give way to anything else.
 */
QUARRY_EXPORT MUST_CHECK int
quarry_replication_copy(struct quarry_replication *r,
                        const struct slice *after,
                        quarry_replication_at at,
                        void *arg,
                        struct err *err);
/* Send changes on; when it returns they are safe at the other end. *@bytes (may
 * be NULL): how many were sent. Waits as bytes_per_s says. */
QUARRY_EXPORT MUST_CHECK int
quarry_replication_send(struct quarry_replication *r,
                        const struct quarry_change *list,
                        size_t count,
                        uint64_t *bytes,
                        struct err *err);

/* All that was read up to here is safe at the other end. Borrowed. */
struct quarry_replication_place {
    struct slice token;
    int64_t watermark_us; /* As quarry_changes_watermark(). */
    uint64_t changes;     /* Read since the call before, */
    uint64_t bytes;       /* and sent. */
    bool last;            /* Nothing is called behind it. */
};

/* Called in the caller's thread, a few times a second, and at the end, also
 * that by an error. Anything but 0 ends the stream with that error. */
typedef int (*quarry_replication_reached)(
    void *arg,
    const struct quarry_replication_place *at,
    struct err *err);

/* Send the changes that follow in @changes, which are of the table. Reading,
 * sending and @reached happen at the same time, with several calls to the other
 * end at once, each for rows of its own, so that commits of one row arrive in
 * their order. With @wait until it is cancelled (ERR_CANCELLED), else until
 * there are none now. The caller keeps places: after a crash the changes behind
 * the kept one are sent again, which has no effect. Nobody else uses @r and
 * @changes meanwhile. Memory: eight batches as @changes reads them. */
QUARRY_EXPORT MUST_CHECK int
quarry_replication_follow(struct quarry_replication *r,
                          struct quarry_changes *changes,
                          bool wait,
                          quarry_replication_reached reached,
                          void *arg,
                          struct err *err);

/* --- comparing ----------------------------------------------------------- */

struct quarry_replication_difference {
    struct slice row;
    uint64_t missing; /* Cells that the other end lacks, */
    uint64_t extra;   /* has and should not, */
    uint64_t unequal; /* or has with another value. */
};

struct quarry_replication_verify {
    bool repair; /* Make them equal: as they are at this end. */
    void (*found)(void *arg, const struct quarry_replication_difference *d);
    void *arg;
    const quarry_flag *cancel; /* ERR_CANCELLED when it is set; NULL: never. */
    /* Output: */
    uint64_t rows;   /* That were compared, */
    uint64_t pieces; /* the digests by which they were, */
    uint64_t read;   /* and those of them that were read at both ends. */
    uint64_t different;
    uint64_t repaired;
};

/* Compare the two ends of the stream, all versions of their rows: by digests
 * that their servers make of ranges, and row by row where these differ. A row
 * that differs is looked at again, since changes may be on their way. */
QUARRY_EXPORT MUST_CHECK int
quarry_replication_verify(struct quarry_replication *r,
                          struct quarry_replication_verify *v,
                          struct err *err);

#ifdef __cplusplus
}
#endif

#endif /* BIGTABLE_QUARRY_REPLICATION_H */
