/* Snapshots as files. One changes at a time; `snapshot_steps` of the term is
 * odd while one does, so that a reading of METADATA beside it is not used for a
 * sweep. */
#include "bigtable/master/table_snapshots.h"

#include <stdio.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "bigtable/master/master_term.h"
#include "bigtable/master/policies.h"
#include "bigtable/master/restore.h"
#include "bigtable/master/table_capture.h"
#include "bigtable/row/schema.h"
#include "gfs-lite/fs.h"

#define PATH_BYTES                                                             \
    (sizeof(SNAPSHOTS_DIR SNAPSHOT_SUFFIX) + TABLE_NAME_BYTES_MAX + 2)

/* Of an answer: a frame's body, with room for its head. */
#define RECORD_REPLY_BYTES_MAX ((size_t)15 << 20)

/* --- files --------------------------------------------------------------- */

/* PRE: snapshot_check_name() has nothing against it. */
static void path_of(char path[PATH_BYTES], struct slice name)
{
    char text[TABLE_NAME_BYTES_MAX + 1] = {0};
    PRE(name.len <= TABLE_NAME_BYTES_MAX);
    memcpy(text, name.data, name.len);
    snprintf(path, PATH_BYTES, SNAPSHOTS_DIR "/%s" SNAPSHOT_SUFFIX, text);
}

/* A record and what it borrows from. */
struct snapshot_file {
    struct buf bytes;
    struct arena arena;
    struct snapshot_record record;
};

static void close_file(struct snapshot_file *f)
{
    buf_close(&f->bytes);
    arena_close(&f->arena);
}

/* close_file() in any case. */
static int read_file(struct master_term *r,
                     struct slice name,
                     struct snapshot_file *f,
                     struct err *err)
{
    char path[PATH_BYTES];
    int rc = snapshot_check_name(name, err);
    f->bytes = BUF_INIT;
    arena_init(&f->arena);
    if (rc)
        return rc;
    path_of(path, name);
    rc = fs_read_all_sealed(r->options->fs, path, SNAPSHOT_BYTES_MAX, &f->bytes,
                            err);
    if (rc == ERR_NOTFOUND)
        return err_set(err, rc, "no snapshot %.*s", SLICE_ARG(name));
    if (rc == 0)
        rc = snapshot_record_get(buf_slice(&f->bytes), &f->arena, &f->record,
                                 err);
    if (rc)
        err_wrap(err, "%s", path);
    return rc;
}

static int write_file(struct master_term *r,
                      const struct snapshot_record *record,
                      struct err *err)
{
    char path[PATH_BYTES];
    struct buf bytes = BUF_INIT;
    int rc;

    PRE(record->tablet_count > 0);
    snapshot_record_put(record, &bytes);
    path_of(path, record->name);
    rc = fs_mkdirs(r->options->fs, SNAPSHOTS_DIR, err);
    if (rc == 0 && !chubby_is_safe(r->chubby))
        rc = err_set(err, ERR_UNAVAILABLE, "this may not be the master");
    if (rc == 0)
        rc = fs_replace_sealed(r->options->fs, path, buf_slice(&bytes), err);
    buf_close(&bytes);
    return rc;
}

static int
remove_file(struct master_term *r, struct slice name, struct err *err)
{
    char path[PATH_BYTES];

    PRE(name.len > 0);
    path_of(path, name);
    return fs_remove(r->options->fs, path, err);
}

static int check_free(struct master_term *r, struct slice name, struct err *err)
{
    char path[PATH_BYTES];
    struct fs_info info;
    int rc = snapshot_check_name(name, err);
    PRE(r->ready);
    if (rc)
        return rc;
    path_of(path, name);
    rc = fs_stat(r->options->fs, path, &info, err);
    if (rc == 0)
        return err_set(err, ERR_EXISTS, "snapshot %.*s exists already",
                       SLICE_ARG(name));
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* --- one at a time ------------------------------------------------------- */

/* The sweep recognises by `snapshot_steps` that a snapshot changed beside it.
 */
static void master_snapshots_begin(struct master_term *r)
{
    mutex_lock(&r->snapshot_lock);
    INVARIANT(r->snapshot_steps % 2 == 0);
    r->snapshot_steps++;
}

static void master_snapshots_end(struct master_term *r)
{
    INVARIANT(r->snapshot_steps % 2 == 1);
    r->snapshot_steps++;
    mutex_unlock(&r->snapshot_lock);
}

static int master_snapshots_take(struct master_term *r,
                                 const struct snapshot_order *o,
                                 struct err *err)
{
    struct table_state t;
    struct buf list = BUF_INIT;
    bool any = false;
    uint64_t now_us = world_now_us(r->world);
    int rc = check_free(r, o->name, err);

    PRE(r->snapshot_steps % 2 == 1); /* One at a time. */
    if (rc)
        return rc;
    rc = capture_table(r, o->table, &t, err);
    if (rc == 0)
        rc = policies_list(r, o->table, &any, &list, err);
    if (rc == 0) {
        const struct snapshot_record record = {
            .name = o->name,
            .table = o->table,
            .created_us = now_us,
            .expires_us = o->ttl_us ? now_us + o->ttl_us : 0,
            .schema = buf_slice(&t.schema),
            .tablet_count = t.tablet_count,
            .tablets = t.tablets,
            .has_access = any,
            .access = buf_slice(&list)};
        rc = write_file(r, &record, err);
    }
    if (rc == 0)
        master_note(r, EVENT_SNAPSHOT, "name=%.*s table=%.*s tablets=%zu",
                    SLICE_ARG(o->name), SLICE_ARG(o->table), t.tablet_count);
    table_state_close(&t);
    buf_close(&list);
    return rc;
}

int snapshots_take(struct master_term *r,
                   const struct snapshot_order *o,
                   struct err *err)
{
    int rc;

    PRE(r->ready);
    master_snapshots_begin(r);
    rc = master_snapshots_take(r, o, err);
    master_snapshots_end(r);
    return rc;
}

static int master_snapshots_drop(struct master_term *r,
                                 struct slice principal,
                                 const struct snapshot_order *o,
                                 struct err *err)
{
    struct snapshot_file f;
    int rc = read_file(r, o->name, &f, err);

    PRE(r->snapshot_steps % 2 == 1); /* One at a time. */
    if (rc == 0)
        rc = policies_check_snapshot(r, principal, f.record.table, ACCESS_OWN,
                                     err);
    /* A damaged snapshot can be dropped by administrators. */
    else if (rc == ERR_CORRUPT)
        rc =
            policies_check_snapshot(r, principal, SLICE_EMPTY, ACCESS_OWN, err);
    close_file(&f);
    return rc ? rc : remove_file(r, o->name, err);
}

int snapshots_drop(struct master_term *r,
                   struct slice principal,
                   const struct snapshot_order *o,
                   struct err *err)
{
    int rc;

    PRE(r->ready);
    master_snapshots_begin(r);
    rc = master_snapshots_drop(r, principal, o, err);
    master_snapshots_end(r);
    if (rc == 0)
        master_note(r, EVENT_SNAPSHOT_DROP, "name=%.*s", SLICE_ARG(o->name));
    return rc;
}

static bool is_over(const struct master_term *r,
                    const struct snapshot_record *s)
{
    return s->expires_us && s->expires_us <= world_now_us(r->world);
}

/* A snapshot of an older version has no list of rights: take the one that the
 * table has now. */
static int add_list(struct master_term *r,
                    struct snapshot_record *s,
                    struct buf *list,
                    struct err *err)
{
    int rc;
    if (s->has_access)
        return 0;
    rc = policies_list(r, s->table, &s->has_access, list, err);
    s->access = buf_slice(list);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

int snapshots_restore(struct master_term *r,
                      struct slice principal,
                      const struct snapshot_order *o,
                      struct err *err)
{
    struct snapshot_file f;
    struct buf list = BUF_INIT;
    int rc;

    PRE(r->ready);
    master_snapshots_begin(r);
    rc = read_file(r, o->name, &f, err);
    if (rc == 0 && is_over(r, &f.record))
        rc = err_set(err, ERR_NOTFOUND, "no snapshot %.*s: it expired",
                     SLICE_ARG(o->name));
    if (rc == 0)
        rc = policies_check_snapshot(r, principal, f.record.table, ACCESS_READ,
                                     err);
    if (rc == 0)
        rc = add_list(r, &f.record, &list, err);
    if (rc == 0)
        rc = restore_table(r, o->table, principal, &f.record, err);
    master_snapshots_end(r);
    close_file(&f);
    buf_close(&list);
    return rc;
}

int snapshots_clone(struct master_term *r,
                    struct slice principal,
                    const struct snapshot_order *o,
                    struct err *err)
{
    struct table_state t;
    struct buf list = BUF_INIT;
    int rc;

    PRE(r->ready);
    master_snapshots_begin(r);
    rc = capture_table(r, o->name, &t, err);
    if (rc == 0) {
        struct snapshot_record record = {.name = o->name,
                                         .table = o->name,
                                         .schema = buf_slice(&t.schema),
                                         .tablet_count = t.tablet_count,
                                         .tablets = t.tablets};
        rc = add_list(r, &record, &list, err);
        if (rc == 0)
            rc = restore_table(r, o->table, principal, &record, err);
    }
    master_snapshots_end(r);
    table_state_close(&t);
    buf_close(&list);
    return rc;
}

/* --- all of them --------------------------------------------------------- */

typedef int (*each_fn)(struct master_term *r,
                       struct slice name,
                       const struct snapshot_record *record,
                       void *ctx,
                       struct err *err);

/* Call @fn for each; one that is dropped meanwhile is skipped. */
static int master_snapshots_each(struct master_term *r,
                                 each_fn fn,
                                 void *ctx,
                                 struct err *err)
{
    char **names = NULL;
    size_t count = 0;
    int rc = fs_list(r->options->fs, SNAPSHOTS_DIR, &names, &count, err);
    if (rc == ERR_NOTFOUND)
        return 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct snapshot_file f;
        struct slice name;
        if (!snapshot_of_file(slice_str(names[i]), &name))
            continue; /* The rest of an interrupted write. */
        rc = read_file(r, name, &f, err);
        if (rc == 0)
            rc = fn(r, name, &f.record, ctx, err);
        else if (rc == ERR_NOTFOUND)
            rc = 0;
        close_file(&f);
    }
    fs_names_free(names, count);
    return rc;
}

static int master_snapshots_summarize(struct master_term *r,
                                      struct slice name,
                                      const struct snapshot_record *record,
                                      void *ctx,
                                      struct err *err)
{
    struct snapshot_summary s;
    int rc;
    (void)name;
    if (is_over(r, record))
        return 0;
    rc = snapshot_summarize(record, &s, err);
    if (rc == 0)
        snapshot_summary_put(&s, ctx);
    return rc;
}

int snapshots_list(struct master_term *r, struct buf *out, struct err *err)
{
    PRE(r->ready);
    return master_snapshots_each(r, master_snapshots_summarize, out, err);
}

int snapshots_show(struct master_term *r,
                   const struct snapshot_order *o,
                   struct buf *out,
                   struct err *err)
{
    struct snapshot_file f;
    int rc = read_file(r, o->name, &f, err);

    PRE(r->ready);
    for (size_t i = 0; rc == 0 && i < f.record.tablet_count; i++)
        f.record.tablets[i].groups = SLICE_EMPTY;
    if (rc == 0)
        snapshot_record_put(&f.record, out);
    close_file(&f);
    return rc;
}

int snapshots_record(struct master_term *r,
                     const struct snapshot_order *o,
                     struct buf *out,
                     struct err *err)
{
    struct snapshot_file f;
    int rc = read_file(r, o->name, &f, err);

    PRE(r->ready);
    if (rc == 0 && f.bytes.len > RECORD_REPLY_BYTES_MAX)
        rc = err_set(err, ERR_TOOBIG,
                     "the record of snapshot %.*s has %zu bytes",
                     SLICE_ARG(o->name), f.bytes.len);
    if (rc == 0)
        buf_append_slice(out, buf_slice(&f.bytes));
    close_file(&f);
    return rc;
}

static void mark_file(void *ctx, uint64_t number)
{
    garbage_mark(ctx, number);
}

static int master_snapshots_mark(struct master_term *r,
                                 struct slice name,
                                 const struct snapshot_record *record,
                                 void *ctx,
                                 struct err *err)
{
    PRE(r->rereading);
    (void)ctx;
    if (is_over(r, record)) {
        struct err why = ERR_INIT;
        if (chubby_is_safe(r->chubby) && remove_file(r, name, &why))
            log_warn(r->world, "master", "drop snapshot %.*s: %s",
                     SLICE_ARG(name), why.text);
    }
    /* Its files are marked too: they wait for a reading that does not find it.
     */
    return snapshot_each_file(record, mark_file, &r->files, err);
}

int snapshots_mark(struct master_term *r, struct err *err)
{
    PRE(r->ready);
    return master_snapshots_each(r, master_snapshots_mark, NULL, err);
}
