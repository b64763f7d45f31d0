/* Continuing a backup by its archive. The backup says which file of the archive
 * was the next when it began, and its record which sequence number is the last
 * in each tablet's files: a commit is applied if its number is higher and its
 * time is not behind the moment. Along a row both rise, so what is applied is a
 * run of its commits without gaps.
 *
 * A commit that came after the last file before the backup and before the
 * backup's moment is in both: its number tells. Where compactions took the
 * entries with the highest numbers out of the files, commits are applied again
 * that have had their effect, all of them and in order, and have it again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "bigtable/backup/backup_archive.h"
#include "bigtable/changes/change_batch.h"
#include "bigtable/row/schema.h" /* FAMILY_NAME_BYTES_MAX */
#include "bigtable/wire/snapshot_record.h"
#include "bigtable/wire/tablet_files.h"

/* Rows, and bytes, that are written at once. */
#define REPLAY_ROWS  256
#define REPLAY_BYTES ((size_t)1 << 20)

/* --- what the backup has ------------------------------------------------- */

static int raise_sequence(void *ctx, struct tablet_file_entry *f, struct err *e)
{
    uint64_t *last = ctx;
    (void)e;
    *last = MAX_OF(*last, f->sequence_max);
    return 0;
}

/* last[i]: of the files of tablet @i of @r; owned. */
static int last_sequences(const struct snapshot_record *r,
                          uint64_t **last,
                          struct err *err)
{
    int rc = 0;
    *last = mem_zalloc(r->tablet_count + 1, sizeof(**last));
    for (size_t i = 0; i < r->tablet_count && rc == 0; i++) {
        struct buf ignored = BUF_INIT;
        rc = tablet_files_change(r->tablets[i].groups, raise_sequence,
                                 &(*last)[i], &ignored, err);
        buf_close(&ignored);
    }
    return rc;
}

/* The tablet that has @row: they are in order, and have all rows. */
static size_t tablet_of(const struct snapshot_record *r, struct slice row)
{
    size_t low = 0;
    size_t high = r->tablet_count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (slice_cmp(r->tablets[middle].start, row) <= 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The backup has no commit of a later time than @to_us. */
static int
check_moment(const struct backup_table *t, int64_t to_us, struct err *err)
{
    struct snapshot_record r;
    struct arena a;
    int64_t latest_us = 0;
    int rc;
    arena_init(&a);
    rc = snapshot_record_get(t->record, &a, &r, err);
    for (size_t i = 0; i < r.tablet_count && rc == 0; i++)
        latest_us = MAX_OF(latest_us, r.tablets[i].stamped_us);
    if (rc == 0 && latest_us > to_us) {
        struct buf text = BUF_INIT;
        text_put_time(&text, latest_us);
        rc = err_set(err, ERR_INVALID,
                     "table %.*s: the backup has commits up to %s",
                     SLICE_ARG(t->name), buf_cstr(&text));
        buf_close(&text);
    }
    arena_close(&a);
    return rc;
}

/* Refuse by name what is missing. */
static int say_missing(const struct backup_table *t,
                       const char *what,
                       int64_t us,
                       struct err *err)
{
    struct buf text = BUF_INIT;
    text_put_time(&text, us);
    err_set(err, ERR_EXHAUSTED, "table %.*s: %s %s", SLICE_ARG(t->name), what,
            us ? buf_cstr(&text) : "the backup");
    buf_close(&text);
    return ERR_EXHAUSTED;
}

int archive_reaches(struct quarry_backups *b,
                    const struct backup_table *t,
                    int64_t to_us,
                    struct err *err)
{
    struct buf bytes = BUF_INIT;
    struct archive_file f = {.id = 0};
    int64_t reached_us = 0;
    uint64_t number = t->archive_number;
    int rc = check_moment(t, to_us, err);
    if (rc == 0 && !t->archive_id)
        rc = err_set(err, ERR_EXHAUSTED,
                     "table %.*s had no archive at this place when it was "
                     "backed up",
                     SLICE_ARG(t->name));
    for (; rc == 0; number++) {
        rc = archive_read(b, t->archive_id, number, &bytes, &f, err);
        if (rc == ERR_NOTFOUND)
            rc = say_missing(t, "the archive has all commits up to", reached_us,
                             err);
        else if (rc == 0 && f.begins)
            rc = say_missing(t,
                             "changes are missing in the archive, which has "
                             "all commits up to",
                             reached_us, err);
        if (rc == 0 && f.watermark_us >= to_us)
            break;
        reached_us = MAX_OF(reached_us, f.watermark_us);
    }
    buf_close(&bytes);
    return rc;
}

/* --- applying ------------------------------------------------------------ */

struct replaying {
    struct quarry_table *table;
    struct snapshot_record record;
    uint64_t *last; /* One a tablet. */
    int64_t to_us;
    struct quarry_mutation *batch[REPLAY_ROWS];
    size_t count;
    size_t bytes;
};

static void add_entry(struct quarry_mutation *m,
                      const struct quarry_change_entry *e)
{
    char family[FAMILY_NAME_BYTES_MAX + 1];
    size_t len = MIN_OF(e->family.len, FAMILY_NAME_BYTES_MAX);
    if (len > 0)
        memcpy(family, e->family.data, len);
    family[len] = '\0';
    switch (e->kind) {
    case QUARRY_CHANGE_SET:
        quarry_mutation_set(m, family, e->qualifier, e->timestamp_us, e->value);
        break;
    case QUARRY_CHANGE_ADD:
        quarry_mutation_add_bytes(m, family, e->qualifier, e->timestamp_us,
                                  e->value);
        break;
    case QUARRY_CHANGE_MERGE:
        quarry_mutation_merge(m, family, e->qualifier, e->timestamp_us,
                              e->value);
        break;
    case QUARRY_CHANGE_DELETE_CELLS:
        quarry_mutation_delete_cells(m, family, e->qualifier, e->timestamp_us,
                                     e->max_us);
        break;
    case QUARRY_CHANGE_DELETE_FAMILY:
        quarry_mutation_delete_family(m, family);
        break;
    case QUARRY_CHANGE_DELETE_ROW: quarry_mutation_delete_row(m); break;
    }
}

static void drop_batch(struct replaying *p)
{
    while (p->count > 0)
        quarry_mutation_free(p->batch[--p->count]);
    p->bytes = 0;
}

static int write_batch(struct replaying *p, struct err *err)
{
    int rc = 0;
    if (p->count > 0)
        rc = quarry_apply_batch(p->table, p->batch, p->count, NULL, NULL, err);
    drop_batch(p);
    return rc;
}

static int replay_change(struct replaying *p,
                         const struct quarry_change *c,
                         struct err *err)
{
    size_t tablet = tablet_of(&p->record, c->row);
    struct quarry_mutation *m;
    INVARIANT(tablet < p->record.tablet_count);
    if (c->sequence <= p->last[tablet] || c->commit_us > p->to_us)
        return 0;
    m = quarry_mutation_new(c->row);
    for (size_t i = 0; i < c->entry_count; i++)
        add_entry(m, &c->entries[i]);
    p->batch[p->count++] = m;
    p->bytes += quarry_mutation_bytes(m);
    return p->count == REPLAY_ROWS || p->bytes >= REPLAY_BYTES
               ? write_batch(p, err)
               : 0;
}

static int
replay_file(struct replaying *p, const struct archive_file *f, struct err *err)
{
    struct cursor at = cursor_make(f->changes);
    struct buf ops = BUF_INIT;
    struct quarry_change change;
    uint64_t count = 0;
    int rc = 0;
    while (rc == 0 && change_batch_next(&at, &ops, &change)) {
        rc = replay_change(p, &change, err);
        count++;
    }
    buf_close(&ops);
    if (rc == 0 && (at.bad || count != f->count))
        rc = err_set(err, ERR_CORRUPT, "file %" PRIu64 " of the archive",
                     f->number);
    return rc;
}

static int replay_files(struct replaying *p,
                        struct quarry_backups *b,
                        const struct backup_table *t,
                        struct err *err)
{
    struct buf bytes = BUF_INIT;
    struct archive_file f = {.id = 0};
    uint64_t number = t->archive_number;
    bool more = true;
    int rc = 0;
    while (rc == 0 && more) {
        rc = archive_read(b, t->archive_id, number++, &bytes, &f, err);
        if (rc == 0)
            rc = replay_file(p, &f, err);
        more = f.watermark_us < p->to_us;
    }
    buf_close(&bytes);
    return rc ? rc : write_batch(p, err);
}

static int check_table(struct quarry *q, const char *table, struct err *err)
{
    struct quarry_table_info *info = NULL;
    int rc = quarry_table_describe(q, table, &info, err);
    if (rc == 0 && info->transactions)
        rc = err_set(err, ERR_UNSUPPORTED,
                     "a table that takes part in transactions is restored "
                     "to the moments of its backups alone");
    quarry_table_info_free(info);
    return rc;
}

int archive_replay(struct quarry_backups *b,
                   const struct backup_table *t,
                   struct quarry *q,
                   const char *as,
                   int64_t to_us,
                   struct err *err)
{
    struct replaying p = {.to_us = to_us};
    struct arena a;
    int rc = check_table(q, as, err);
    arena_init(&a);
    if (rc == 0)
        rc = snapshot_record_get(t->record, &a, &p.record, err);
    if (rc == 0)
        rc = last_sequences(&p.record, &p.last, err);
    if (rc == 0)
        rc = quarry_table_open(q, as, &p.table, err);
    if (rc == 0)
        rc = replay_files(&p, b, t, err);
    drop_batch(&p);
    if (p.table)
        quarry_table_close(p.table);
    mem_free(p.last);
    arena_close(&a);
    if (rc)
        err_wrap(err, "archive of table %.*s", SLICE_ARG(t->name));
    return rc;
}
