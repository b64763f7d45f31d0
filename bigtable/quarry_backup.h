/* Backups of tables at a place outside of the store: a directory, a bucket of
 * S3, or another place of gfs-lite/fs_location.h. docs/backups.md has the
 * promise.
 *
 *     quarry_backups_open("s3://backups/web", NULL, &b, &err)
 *     quarry_backup_create(b, q, "monday", NULL, 0, &counts, &err)
 *     quarry_backup_restore(b, "monday", q2, NULL, 0, false, &counts, &err)
 *     quarry_backups_close(b)
 *
 * A backup is a file that names what it consists of, its manifest, and the
 * files that tables consist of, which backups of one place share: a file that
 * is there is not sent again.
 *
 * Of a cluster with certificates, its members alone make and restore backups.
 *
 * Threads: one call at a time for each object; a call reads and writes several
 * files at once, by tasks of its own. Everything parks. Errors: those of
 * quarry.h and of the place's file system, and what is said at each call.
 */
#ifndef BIGTABLE_QUARRY_BACKUP_H
#define BIGTABLE_QUARRY_BACKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bigtable/quarry.h"

#ifdef __cplusplus
extern "C" {
#endif

struct master_keys;
struct quarry_backups;

/* Figures of a call, which it also reports while it runs. */
struct quarry_backup_counts {
    uint64_t tables;
    uint64_t files; /* Of them, and their bytes. */
    uint64_t bytes;
    uint64_t done_bytes;    /* Of these, so far. */
    uint64_t moved_files;   /* Sent or fetched; the others were there. */
    uint64_t moved_bytes;   /* So far. */
    uint64_t removed_files; /* By a drop. */
    uint64_t removed_bytes;
    uint64_t problems;    /* That a verification found. */
    bool was_interrupted; /* A drop left files alone: backups are being made. */
};

struct quarry_backup_options {
    struct world *world; /* Borrowed; NULL: the real one, owned. */
    const struct rpc_security *security; /* For gfs://; borrowed; NULL: none. */
    /* Settings of S3 and others, as getenv(); NULL: none. */
    const char *(*variable)(const char *name);
    unsigned jobs;       /* Files at once; 0: 4. */
    uint64_t rate_bytes; /* Sent and fetched a second, at most; 0: no limit. */
    /* A call that has not renewed its sign of life for this time is taken for
     * dead by others; 0: 5 minutes. The same for all that use the place. */
    uint64_t lease_us;
    /* Of encrypted backups that are restored: shared; NULL: none. */
    struct master_keys *master_keys;
    /* Called about twice a second while files are moved, by any thread. */
    void (*progress)(void *ctx, const struct quarry_backup_counts *counts);
    /* A finding of a verification: what is wrong, and where. */
    void (*problem)(void *ctx, const char *text);
    void *ctx;
};

/* Open the place @name; @opts (may be NULL) is copied. Nothing is written, and
 * the place need not exist. *@out is owned. */
QUARRY_EXPORT MUST_CHECK int
quarry_backups_open(const char *name,
                    const struct quarry_backup_options *opts,
                    struct quarry_backups **out,
                    struct err *err);
QUARRY_EXPORT void quarry_backups_close(struct quarry_backups *b); /* NULL ok */

/* --- making -------------------------------------------------------------- */

/* Back up @tables of @q (none: all but system tables) as @name: each as of a
 * moment of its own within this call, before anything is copied. The backup is
 * there when the call succeeds, whole, and not before. After an error, or a
 * crash, a call of the same name sends only what is missing. Errors: ERR_EXISTS
 * (the name), ERR_NOTFOUND (a table), ERR_INVALID, ERR_BUSY (files are being
 * removed from the place). */
QUARRY_EXPORT MUST_CHECK int
quarry_backup_create(struct quarry_backups *b,
                     struct quarry *q,
                     const char *name,
                     const char *const *tables,
                     size_t table_count,
                     struct quarry_backup_counts *counts,
                     struct err *err);

/* Bring what was committed to @tables (none: all that keep their changes) up to
 * now to the place, behind what it has already: backups that are made behind
 * the first such call can be restored to any moment up to the last one. Of two
 * calls at once one fails (ERR_BUSY). @restart: begin again, from now on, where
 * the changes that follow are not kept any more (ERR_EXHAUSTED); backups from
 * before cannot be continued past that. Errors: ERR_UNSUPPORTED (a table keeps
 * no changes; the store is encrypted). */
QUARRY_EXPORT MUST_CHECK int
quarry_backup_archive(struct quarry_backups *b,
                      struct quarry *q,
                      const char *const *tables,
                      size_t table_count,
                      bool restart,
                      struct quarry_backup_counts *counts,
                      struct err *err);

/* --- looking ------------------------------------------------------------- */

struct quarry_backup_table {
    const char *name;
    uint64_t tablets;
    uint64_t files;
    uint64_t bytes;
    uint64_t as_of_us; /* When its files were listed. */
    bool has_rights;   /* A list of rights is with it. */
};

struct quarry_backup {
    const char *name;
    const char *source; /* The store that it is of. */
    uint64_t created_us;
    uint64_t files;
    uint64_t bytes;
    bool is_encrypted;
    const struct quarry_backup_table *tables;
    size_t table_count;
    const char *damage; /* NULL: none. Else all above but `name` is unknown. */
};

struct quarry_backup_list {
    const struct quarry_backup *list; /* Oldest first. */
    size_t count;
};

/* All backups of the place, or the one that is named (ERR_NOTFOUND). *@out is
 * owned: quarry_backup_list_free(). */
QUARRY_EXPORT MUST_CHECK int quarry_backup_list(struct quarry_backups *b,
                                                const char *name,
                                                struct quarry_backup_list **out,
                                                struct err *err);
QUARRY_EXPORT void quarry_backup_list_free(struct quarry_backup_list *l);

/* Read all files of the backups @names (none: of all), and compare them with
 * their digests. ERR_CORRUPT after all was read, if anything was found. */
QUARRY_EXPORT MUST_CHECK int
quarry_backup_verify(struct quarry_backups *b,
                     const char *const *names,
                     size_t count,
                     struct quarry_backup_counts *counts,
                     struct err *err);

/* --- restoring ----------------------------------------------------------- */

struct quarry_backup_choice {
    const char *table;
    const char *as; /* The new table; NULL: of the same name. */
};

/* Make tables of @q of those in the backup @name (NULL: the newest): of
 * @choices, or all. Each appears whole; a table that is there is never changed
 * (ERR_EXISTS, before anything is fetched). @rights: with their lists of
 * rights, else they are the caller's. Indexes and changes are not made. After
 * an error, or a crash, the same call fetches only what is missing; choose the
 * tables that are not there yet. Errors: ERR_NOTFOUND, ERR_CORRUPT, ERR_DENIED
 * (it is encrypted with other master keys). */
QUARRY_EXPORT MUST_CHECK int
quarry_backup_restore(struct quarry_backups *b,
                      const char *name,
                      struct quarry *q,
                      const struct quarry_backup_choice *choices,
                      size_t choice_count,
                      bool rights,
                      struct quarry_backup_counts *counts,
                      struct err *err);

/* The same, of the tables as they were at the moment @to_us, a time of the
 * table's commits: the backup is continued by its archive
 * (quarry_backup_archive()), with every commit up to the moment, whole, and
 * none of a later one. @name NULL: the newest backup that can be. Each table
 * appears when it is what it was; until then a table ".restore-…" is there.
 * @to_us 0: as quarry_backup_restore(). Errors also: ERR_INVALID: the backup is
 * of a later moment; ERR_EXHAUSTED: the archive of a table does not reach it,
 * or has a gap; ERR_UNSUPPORTED: a table takes part in transactions. */
QUARRY_EXPORT MUST_CHECK int
quarry_backup_restore_to(struct quarry_backups *b,
                         const char *name,
                         struct quarry *q,
                         const struct quarry_backup_choice *choices,
                         size_t choice_count,
                         bool rights,
                         int64_t to_us,
                         struct quarry_backup_counts *counts,
                         struct err *err);

/* Make tables of @into of those of @from, a store in a directory that @b was
 * opened with as its place: files are read where they lie, and nothing else is
 * written to the directory than a snapshot of each table, which is dropped at
 * the end. Each table appears whole; one that is there is never changed
 * (ERR_EXISTS). With @drop, the directory's is dropped once it is there. After
 * an error, or a crash, the same call continues. Lists of rights are taken
 * over; indexes and changes are not made, which options.problem is told.
 * Errors: those of quarry_backup_restore(). */
QUARRY_EXPORT MUST_CHECK int
quarry_backup_adopt(struct quarry_backups *b,
                    struct quarry *from,
                    struct quarry *into,
                    const struct quarry_backup_choice *choices,
                    size_t choice_count,
                    bool drop,
                    struct quarry_backup_counts *counts,
                    struct err *err);

/* --- dropping ------------------------------------------------------------ */

/* Drop the backups @names, then the oldest until @keep are left (0: no others),
 * then files that none of those left needs, unless a backup is being made here:
 * then the next drop removes them. A damaged manifest keeps all files
 * (ERR_CORRUPT): drop it by its name. Errors: ERR_NOTFOUND. */
QUARRY_EXPORT MUST_CHECK int
quarry_backup_drop(struct quarry_backups *b,
                   const char *const *names,
                   size_t count,
                   size_t keep,
                   struct quarry_backup_counts *counts,
                   struct err *err);

#ifdef __cplusplus
}
#endif

#endif /* BIGTABLE_QUARRY_BACKUP_H */
