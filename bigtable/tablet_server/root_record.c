/* The record of the root tablet: a file of the lock service. Its version is the
 * file's content generation, so that a change is one conditional write. It is
 * never split, so that no row of it is ever created. */
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/tablet_server/tablet_rows.h"
#include "bigtable/wire/metadata.h"
#include "chubby-lite/chubby.h"

struct root_record {
    struct tablet_rows base;
    struct chubby *chubby; /* Borrowed. */
};

static struct chubby *chubby_of(struct tablet_rows *r)
{
    return ((struct root_record *)r)->chubby;
}

static int read_file(struct chubby *c,
                     struct buf *out,
                     uint64_t *generation,
                     struct err *err)
{
    struct chubby_handle *h;
    struct chubby_stat stat;
    int rc = chubby_open(c, BIGTABLE_LOCK_ROOT_TAB, CHUBBY_READ, NULL, &h, err);
    if (rc)
        return rc;
    rc = chubby_read(h, out, &stat, err);
    *generation = rc ? 0 : stat.content_generation;
    chubby_close(h);
    return rc;
}

static int write_file(struct chubby *c,
                      struct slice contents,
                      uint64_t generation,
                      struct err *err)
{
    struct chubby_handle *h;
    int rc = chubby_open(c, BIGTABLE_LOCK_ROOT_TAB, CHUBBY_READ | CHUBBY_WRITE,
                         NULL, &h, err);

    PRE(contents.len > 0);
    if (rc)
        return rc;
    rc = chubby_write(h, contents, generation, err);
    chubby_close(h);
    return rc;
}

static int
take_record(struct slice bytes, struct tablet_row *out, struct err *err)
{
    struct tablet_record *r = mem_alloc(sizeof(*r));
    int rc = tablet_record_get(bytes, r, err);

    PRE(out->bounds.len == 0);
    if (rc == 0) {
        tablet_bounds_put(&r->bounds, &out->bounds);
        tablet_location_put(&r->location, &out->location);
        tablet_state_put(&r->state, &out->state);
        buf_append_slice(&out->split, r->split);
    }
    mem_free(r);
    return rc;
}

static int
read_record(struct chubby *c, struct tablet_row *out, struct err *err)
{
    struct buf bytes = BUF_INIT;
    int rc = read_file(c, &bytes, &out->version, err);
    if (rc == 0)
        rc = take_record(buf_slice(&bytes), out, err);
    buf_close(&bytes);
    return rc;
}

/* Encode the record @row with the change @c into @out. */
static int root_record_compose(const struct tablet_row *row,
                               const struct tablet_row_change *c,
                               struct buf *out,
                               struct err *err)
{
    struct tablet_record *r = mem_alloc(sizeof(*r));
    struct slice bounds = c->bounds.len ? c->bounds : buf_slice(&row->bounds);
    struct slice location =
        c->location.len ? c->location : buf_slice(&row->location);
    struct slice state = c->state.len ? c->state : buf_slice(&row->state);
    int rc = tablet_bounds_get(bounds, &r->bounds, err);

    PRE(c->key.len == 0);
    PRE(c->split.len == 0); /* It is never split. */
    r->split = c->drop_split  ? SLICE_EMPTY
               : c->split.len ? c->split
                              : buf_slice(&row->split);
    if (rc == 0)
        rc = tablet_location_get(location, &r->location, err);
    if (rc == 0)
        rc = tablet_state_get(state, &r->state, err);
    if (rc == 0)
        tablet_record_put(r, out);
    mem_free(r);
    return rc;
}

static int change_record(struct chubby *c,
                         const struct tablet_row_change *change,
                         bool *done,
                         uint64_t *version,
                         struct err *err)
{
    struct tablet_row row = {.version = 0};
    struct buf bytes = BUF_INIT;
    int rc = read_record(c, &row, err);

    PRE(change->key.len == 0);
    if (rc == 0 && slice_eq(buf_slice(&row.location), change->if_location) &&
        (change->if_version == 0 || change->if_version == row.version)) {
        rc = root_record_compose(&row, change, &bytes, err);
        if (rc == 0)
            rc = write_file(c, buf_slice(&bytes), row.version, err);
        *done = rc == 0;
        *version = row.version + 1;
        if (rc == ERR_ABORTED)
            rc = 0;
    }
    buf_close(&bytes);
    tablet_row_close(&row);
    return rc;
}

/* --- as rows ------------------------------------------------------------- */

static int root_read(struct tablet_rows *r,
                     struct slice key,
                     struct tablet_row *out,
                     struct err *err)
{
    PRE(key.len == 0);
    return read_record(chubby_of(r), out, err);
}

static int root_change(struct tablet_rows *r,
                       const struct tablet_row_change *c,
                       bool *done,
                       uint64_t *version,
                       struct err *err)
{
    *done = false;
    return change_record(chubby_of(r), c, done, version, err);
}

static int root_create(struct tablet_rows *r,
                       const struct tablet_row_change *c,
                       bool *done,
                       struct err *err)
{
    (void)r;
    (void)c;
    *done = false;
    return err_set(err, ERR_INVALID, "the root tablet is never split");
}

static void free_record(struct tablet_rows *r)
{
    mem_free(r);
}

struct tablet_rows *root_record_new(struct chubby *c)
{
    static const struct tablet_rows_ops ops = {root_read, root_change,
                                               root_create, free_record};
    struct root_record *r = mem_zalloc(1, sizeof(*r));
    PRE(c);
    r->base.ops = &ops;
    r->chubby = c;
    return &r->base;
}
