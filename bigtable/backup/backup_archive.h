/* Archives of changes at the place of backups: what was committed to a table,
 * in files that are never changed, each with the place in the changes behind
 * it.
 *
 *     archive/ID/NUMBER.changes     ID: 16 hexadecimal digits, of one table of
 *                                   one store; NUMBER: 10 digits, from 0 on
 *     file = "QRYARCH1" sha-256 of the rest (32 bytes), body
 *     body = MessagePack: [table, ID, number, begins, watermark µs, token,
 *            count, changes (changes/change_batch.h)]
 *
 * `begins`: changes before it may be missing. Else it has exactly those that
 * follow the token of the file before: names are taken once, so that of two
 * calls that continue one archive one is refused.
 *
 * Private to bigtable/backup. Everything parks.
 */
#ifndef BIGTABLE_BACKUP_BACKUP_ARCHIVE_H
#define BIGTABLE_BACKUP_BACKUP_ARCHIVE_H

#include "bigtable/backup/backup_place.h"

#define BACKUP_ARCHIVE_DIR "archive"
/* About as many bytes of changes go to a file; and no file has more than this:
 * a row's commit may be large. */
#define ARCHIVE_BYTES     ((size_t)8 << 20)
#define ARCHIVE_BYTES_MAX ((size_t)128 << 20)

struct archive_file {
    struct slice table;
    uint64_t id;
    uint64_t number;
    bool begins;
    int64_t watermark_us; /* All commits up to it are in it or before. */
    struct slice token;
    uint64_t count;
    struct slice changes;
};

/* The file, appended; its bytes from a file. The latter borrows from @in.
 * ERR_CORRUPT. */
void archive_file_put(const struct archive_file *f, struct buf *out);
MUST_CHECK int
archive_file_get(struct slice in, struct archive_file *f, struct err *err);

/* The ID of the archive of @t, whose name is @table; never 0. */
MUST_CHECK int archive_id(struct quarry *q,
                          const char *table,
                          const struct quarry_table *t,
                          uint64_t *id,
                          struct err *err);
/* The numbers of the files of @id, in order; *@numbers is owned. */
MUST_CHECK int archive_list(struct quarry_backups *b,
                            uint64_t id,
                            uint64_t **numbers,
                            size_t *count,
                            struct err *err);
/* Read file @number of @id into @bytes, and what it is. ERR_NOTFOUND. */
MUST_CHECK int archive_read(struct quarry_backups *b,
                            uint64_t id,
                            uint64_t number,
                            struct buf *bytes,
                            struct archive_file *f,
                            struct err *err);
/* The place in an archive from which a backup of @table that begins now is
 * continued: the number behind its last file. *@id 0: it has none here. */
MUST_CHECK int archive_position(struct quarry_backups *b,
                                struct quarry *q,
                                const char *table,
                                uint64_t *id,
                                uint64_t *number,
                                struct err *err);
/* Remove files of archives that no backup of @all is continued by. */
MUST_CHECK int archive_prune(struct quarry_backups *b,
                             const struct backup_all *all,
                             struct err *err);

/* Does the archive of @t continue it to the moment @to_us? Errors: ERR_INVALID:
 * the backup is later; ERR_EXHAUSTED: the archive has a gap, or ends before, or
 * is none. */
MUST_CHECK int archive_reaches(struct quarry_backups *b,
                               const struct backup_table *t,
                               int64_t to_us,
                               struct err *err);
/* Apply the commits up to @to_us that the backup @t has not to the table @as,
 * which was restored from it. PRE: archive_reaches(). Errors: ERR_NOTFOUND (a
 * family), ERR_UNSUPPORTED (it takes part in transactions), ERR_CORRUPT. */
MUST_CHECK int archive_replay(struct quarry_backups *b,
                              const struct backup_table *t,
                              struct quarry *q,
                              const char *as,
                              int64_t to_us,
                              struct err *err);

#endif /* BIGTABLE_BACKUP_BACKUP_ARCHIVE_H */
