/* Bulk load: SSTables written beside a table, and added to it at once.
 *
 * For many rows that are there in order, as the output of a job: nothing of
 * them goes through a commit log or a memtable. Three steps, which may be taken
 * in different processes:
 *
 *     begin    one process: says where the files go, and how the table is
 *              stored. The answer, a ticket, is bytes for the writers.
 *     write    any number of writers, one for each part of the job: rows in
 *              order, at any speed, in any process on any machine. Each ends
 *              with a list of its files.
 *     commit   one process: all files of the lists given, and no others, become
 *              part of the table. Lists are joined by appending one to another.
 *
 *     struct buf ticket = BUF_INIT, files = BUF_INIT;
 *     quarry_bulk_begin(q, "webtable", "crawl-2026-11", &ticket, &err);
 *         struct quarry_bulk_writer *w;
 *         quarry_bulk_writer_open(&place, buf_slice(&ticket), "reduce-00007",
 *                                 &w, &err);
 *         quarry_bulk_writer_set(w, row, "anchor", qualifier, QUARRY_NOW,
 *                                value, &err);   …rows in ascending order
 *         quarry_bulk_writer_finish(w, &files, &err);
 *         quarry_bulk_writer_free(w);
 *     quarry_bulk_commit(q, buf_slice(&ticket), buf_slice(&files), NULL, &err);
 *
 * Meaning. A load has only cells, no deletions. They count as written
 * when the tablet of their row takes the files: they are ordered by timestamps
 * as all cells are; one with the timestamp of an older cell of its column takes
 * that one's place; deletions from before do not hide them, later ones do. A
 * column's cell that is in a load twice with one timestamp is that of the later
 * file in the list. Each tablet shows all of the load's rows from one moment
 * on; different tablets, moments that are a little apart (in a directory: one).
 *
 * Once only. A load is known by its id. To commit it again, because the answer
 * was lost or a job continues after a crash, does nothing to the tablets that
 * have it. After a commit its files beside the table are gone, and the id stays
 * known to each tablet until BULK_LOADS_KEPT later loads have come; until then
 * quarry_bulk_begin() with that id says ERR_EXISTS.
 *
 * A load that was neither committed nor abandoned is removed a week after its
 * last write.
 *
 * Threads: a writer is one thread's at a time; all else any. Everything parks
 * a fiber or blocks a thread.
 */
#ifndef BIGTABLE_CLIENT_BULK_LOAD_H
#define BIGTABLE_CLIENT_BULK_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fs;
struct key_loan;
struct quarry;
struct quarry_bulk_writer;
struct quarry_mutation;
struct rpc_security;
struct world;

/* Ids of loads, and names of parts: letters, digits, '_', '-', '.', not at
 * first a '.'. */
#define BULK_NAME_BYTES_MAX 128
/* Loads whose ids a tablet remembers. */
#define BULK_LOADS_KEPT 32
/* Files in one load. */
#define BULK_FILES_MAX 65536

/* Make a load named @id into @table; the ticket is appended to @ticket. Again
 * with the same id: the same load continues, with the files its parts have
 * written. Errors: ERR_NOTFOUND (table), ERR_EXISTS: a load of this id is
 * committed, ERR_INVALID (the id), ERR_DENIED. */
QUARRY_EXPORT MUST_CHECK int quarry_bulk_begin(struct quarry *q,
                                               const char *table,
                                               const char *id,
                                               struct buf *ticket,
                                               struct err *err);

/* How a writer reaches the files of the ticket's target. */
struct quarry_bulk_place {
    struct world *world;                 /* Borrowed. */
    const struct rpc_security *security; /* Borrowed; NULL: none. Of clusters
                                            alone. */
    struct fs *fs; /* Borrowed: the target's files, open already. NULL: the
                      writer opens them. */
    /* Where the target is encrypted, one of the two: */
    struct quarry *quarry;       /* Borrowed: to ask for the key, */
    const struct key_loan *loan; /* or what quarry_bulk_lend() gave. */
};

/* The key that files of the load @id into @table are encrypted with: for a
 * writer that has no @q of its own. It opens these files, as they are written
 * on behalf of the same principal, and no others. *@out is a secret:
 * key_loan_close() of base/crypt/keyring.h. Its key_id is 0 where nothing is
 * encrypted. Errors: ERR_NOTFOUND (table), ERR_DENIED: @q may not write it. */
QUARRY_EXPORT MUST_CHECK int quarry_bulk_lend(struct quarry *q,
                                              const char *table,
                                              const char *id,
                                              struct key_loan *out,
                                              struct err *err);

/* The file system that loads into @q's tables are written to, for the calling
 * thread. Owned. */
QUARRY_EXPORT MUST_CHECK int
quarry_bulk_files(struct quarry *q, struct fs **out, struct err *err);

/* The file system of @q with the files of its users, for the calling thread: a
 * cluster's whole one, a directory's own. Owned. */
QUARRY_EXPORT MUST_CHECK int
quarry_user_files(struct quarry *q, struct fs **out, struct err *err);

/* Where the part @part of the load @id writes in it: the paths of its files
 * begin so, appended to @out. ERR_INVALID (a name). */
QUARRY_EXPORT MUST_CHECK int quarry_bulk_part_path(const char *id,
                                                   const char *part,
                                                   struct buf *out,
                                                   struct err *err);

/* How writers of this process reach what @q reaches. Lives as long as @q. */
QUARRY_EXPORT void quarry_bulk_place_of(struct quarry *q,
                                        struct quarry_bulk_place *out);

/* Write the part @part of the load. Each try of a part has its own name, or
 * follows one that is known to be over: what a part of this name has written
 * before is replaced. Owned. Errors: ERR_CORRUPT (the ticket), ERR_INVALID (the
 * name), ERR_DENIED (also: the target is encrypted, and @place has no key),
 * ERR_UNAVAILABLE. */
QUARRY_EXPORT MUST_CHECK int
quarry_bulk_writer_open(const struct quarry_bulk_place *place,
                        struct slice ticket,
                        const char *part,
                        struct quarry_bulk_writer **out,
                        struct err *err);

/* Add a cell, copied. Rows ascend; the cells of one row come in any order, and
 * of two with the same column and timestamp the later counts. QUARRY_NOW is the
 * time at which the writer was opened. Memory: one row, and the blocks being
 * written. Errors: ERR_INVALID (a row below the one before, a bad name or
 * timestamp; names row and column), ERR_NOTFOUND (family), ERR_TOOBIG, ERR_IO,
 * ERR_FULL. After an error only free is allowed. */
QUARRY_EXPORT MUST_CHECK int
quarry_bulk_writer_set(struct quarry_bulk_writer *w,
                       struct slice row,
                       const char *family,
                       struct slice qualifier,
                       int64_t timestamp_us,
                       struct slice value,
                       struct err *err);
/* Add all cells of @m. ERR_INVALID when it deletes. */
QUARRY_EXPORT MUST_CHECK int
quarry_bulk_writer_add(struct quarry_bulk_writer *w,
                       const struct quarry_mutation *m,
                       struct err *err);
/* Cells added so far, and bytes of their rows, columns and values. */
QUARRY_EXPORT uint64_t
quarry_bulk_writer_cells(const struct quarry_bulk_writer *w);
QUARRY_EXPORT uint64_t
quarry_bulk_writer_bytes(const struct quarry_bulk_writer *w);
/* Write and sync the rest; the list of the part's files, possibly of none, is
 * appended to @files. Only free is allowed afterwards. */
QUARRY_EXPORT MUST_CHECK int
quarry_bulk_writer_finish(struct quarry_bulk_writer *w,
                          struct buf *files,
                          struct err *err);
/* The files of a writer that did not finish are removed. NULL is allowed. */
QUARRY_EXPORT void quarry_bulk_writer_free(struct quarry_bulk_writer *w);

struct quarry_bulk_result {
    uint64_t files;
    uint64_t cells;
    uint64_t bytes;          /* Of the files. */
    uint64_t tablets;        /* That took files now, */
    uint64_t tablets_before; /* and that had taken them before. */
};

/* Check every file and add them to the table. On success the load is over: what
 * is left of it beside the table is removed. On error some tablets of a cluster
 * may have it and others not: commit again. @result may be NULL.
 * Errors: ERR_CORRUPT (file, offset and reason: nothing of it was added to the
 * tablet that found it), ERR_NOTFOUND (the table or a file), ERR_ABORTED (the
 * table was dropped and made again, or a family is gone), ERR_TOOBIG,
 * ERR_UNAVAILABLE, ERR_UNKNOWN_OUTCOME: commit again, which does nothing where
 * it was done. */
QUARRY_EXPORT MUST_CHECK int
quarry_bulk_commit(struct quarry *q,
                   struct slice ticket,
                   struct slice files,
                   struct quarry_bulk_result *result,
                   struct err *err);

/* Remove what has been written. No error if there is nothing. */
QUARRY_EXPORT MUST_CHECK int
quarry_bulk_abandon(struct quarry *q, struct slice ticket, struct err *err);

/* All of it in one call: cells come from @next until it sets *more to false. */
struct quarry_bulk_cell {
    struct slice row; /* Each is borrowed until the next call. */
    const char *family;
    struct slice qualifier;
    int64_t timestamp_us;
    struct slice value;
};

typedef int (*quarry_bulk_next_fn)(void *ctx,
                                   struct quarry_bulk_cell *cell,
                                   bool *more,
                                   struct err *err);
/* Load what @next gives into @table, as the load @id. Errors: those of the
 * above, and of @next. */
QUARRY_EXPORT MUST_CHECK int quarry_bulk_load(struct quarry *q,
                                              const char *table,
                                              const char *id,
                                              quarry_bulk_next_fn next,
                                              void *ctx,
                                              struct quarry_bulk_result *result,
                                              struct err *err);

#ifdef __cplusplus
}
#endif

#endif /* BIGTABLE_CLIENT_BULK_LOAD_H */
