/* The records of tablets, read and changed by the master: rows of METADATA, or
 * for the root tablet a file of the lock service. Every change is conditional
 * on t:location as it was read, so that a master that has lost its lock changes
 * nothing that a later one has changed. */
#include "base/core/panic.h"
#include "bigtable/master/lock_state.h"
#include "bigtable/master/master_term.h"
#include "bigtable/row/schema.h"

/* --- the root tablet ----------------------------------------------------- */

/* Make the record of the root tablet, which nobody serves: a new cluster begins
 * with it. */
static int make_root(struct master_term *r, struct err *err)
{
    struct tablet_record *rec = mem_zalloc(1, sizeof(*rec));
    struct buf end = BUF_INIT;
    struct buf b = BUF_INIT;
    int rc;

    PRE(r->number != 0);
    metadata_root_end(&end);
    rec->bounds =
        (struct tablet_bounds){cluster_id(r->number, r->next_id++),
                               METADATA_TABLE_ID, SLICE_EMPTY, buf_slice(&end)};
    rec->location.address = SLICE_EMPTY;
    rec->state.groups = SLICE_EMPTY;
    rec->split = SLICE_EMPTY;
    tablet_record_put(rec, &b);
    rc = lock_state_write(r->chubby, BIGTABLE_LOCK_ROOT_TAB, buf_slice(&b), 0,
                          err);
    buf_close(&end);
    buf_close(&b);
    mem_free(rec);
    return rc == ERR_EXISTS ? 0 : rc;
}

static int make_metadata_table(struct master_term *r, struct err *err)
{
    struct schema *schema = metadata_schema();
    struct table_record rec = {.id = METADATA_TABLE_ID, .generation = 1};
    struct buf encoded = BUF_INIT;
    struct buf b = BUF_INIT;
    int rc;

    schema_encode(schema, &encoded);
    rec.schema = buf_slice(&encoded);
    table_record_put(&rec, &b);
    rc = lock_state_write(r->chubby, BIGTABLE_LOCK_TABLES "/" METADATA_TABLE,
                          buf_slice(&b), 0, err);
    schema_free(schema);
    buf_close(&encoded);
    buf_close(&b);
    return rc == ERR_EXISTS ? 0 : rc;
}

/* The record as a row, encoded into @parts. */
static struct metadata_row row_of_record(const struct tablet_record *rec,
                                         struct slice key,
                                         struct buf parts[3])
{
    buf_clear(&parts[0]);
    buf_clear(&parts[1]);
    buf_clear(&parts[2]);
    tablet_bounds_put(&rec->bounds, &parts[0]);
    tablet_location_put(&rec->location, &parts[1]);
    tablet_state_put(&rec->state, &parts[2]);
    return (struct metadata_row){key, buf_slice(&parts[0]),
                                 buf_slice(&parts[1]), buf_slice(&parts[2]),
                                 rec->split};
}

/* Read the record, and call @fn for it as for a row of METADATA. */
static int read_record(struct master_term *r,
                       metadata_row_fn fn,
                       void *ctx,
                       uint64_t *generation,
                       struct err *err)
{
    struct tablet_record *rec = mem_zalloc(1, sizeof(*rec));
    struct buf parts[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
    struct buf key = BUF_INIT;
    struct buf b = BUF_INIT;
    int rc =
        lock_state_read(r->chubby, BIGTABLE_LOCK_ROOT_TAB, &b, generation, err);

    PRE(fn);
    if (rc == 0)
        rc = tablet_record_get(buf_slice(&b), rec, err);
    if (rc == 0) {
        struct metadata_row row;
        metadata_key(METADATA_TABLE_ID, rec->bounds.end, &key);
        row = row_of_record(rec, buf_slice(&key), parts);
        rc = fn(ctx, &row, err);
    }
    for (int i = 0; i < 3; i++)
        buf_close(&parts[i]);
    buf_close(&key);
    buf_close(&b);
    mem_free(rec);
    return rc;
}

struct noting {
    struct master_term *term;
    metadata_row_fn fn;
    void *ctx;
};

static int note_row(void *ctx, const struct metadata_row *row, struct err *err)
{
    struct noting *n = ctx;
    int rc = cluster_view_note_row(&n->term->view, row,
                                   master_term_now_ns(n->term), err);
    return rc || !n->fn ? rc : n->fn(n->ctx, row, err);
}

int root_read(struct master_term *r,
              metadata_row_fn fn,
              void *ctx,
              struct err *err)
{
    struct noting n = {r, fn, ctx};
    uint64_t generation;
    int rc = read_record(r, note_row, &n, &generation, err);
    PRE(r->lock); /* The term has begun. */
    if (rc != ERR_NOTFOUND)
        return rc;
    rc = make_metadata_table(r, err);
    if (rc == 0)
        rc = make_root(r, err);
    return rc ? rc : read_record(r, note_row, &n, &generation, err);
}

/* Write the record with another location, unless it changed since @t was read.
 */
static int change_root(struct master_term *r,
                       const struct known_tablet *t,
                       const struct tablet_location *l,
                       bool *done,
                       struct err *err)
{
    struct tablet_record *rec = mem_zalloc(1, sizeof(*rec));
    struct buf old = BUF_INIT;
    struct buf was = BUF_INIT;
    uint64_t generation = 0;
    int rc = lock_state_read(r->chubby, BIGTABLE_LOCK_ROOT_TAB, &old,
                             &generation, err);

    PRE(t->busy);
    *done = false;
    if (rc == 0)
        rc = tablet_record_get(buf_slice(&old), rec, err);
    if (rc == 0) {
        tablet_location_put(&rec->location, &was);
        *done = slice_eq(buf_slice(&was), buf_slice(&t->location));
    }
    if (*done) {
        rec->location = *l;
        buf_clear(&was);
        tablet_record_put(rec, &was);
        rc = lock_state_write(r->chubby, BIGTABLE_LOCK_ROOT_TAB,
                              buf_slice(&was), generation, err);
        *done = rc == 0;
        if (rc == ERR_ABORTED)
            rc = 0;
    }
    buf_close(&old);
    buf_close(&was);
    mem_free(rec);
    return rc;
}

/* --- any tablet ---------------------------------------------------------- */

static int change_row(struct master_term *r,
                      const struct known_tablet *t,
                      struct slice location,
                      const char *event,
                      bool *done,
                      struct err *err)
{
    struct metadata_change c = {
        .key = buf_slice(&t->key),
        .condition = METADATA_IF_LOCATION,
        .if_location = buf_slice(&t->location),
        .location = location,
        .event = slice_str(event),
    };

    PRE(r->store);
    PRE(t->busy);
    return metadata_change(r->store, &c, done, err);
}

int master_term_set_location(struct master_term *r,
                             struct known_tablet *t,
                             const struct tablet_location *l,
                             const char *event,
                             bool *done,
                             struct err *err)
{
    struct buf b = BUF_INIT;
    int rc;

    PRE(t->busy);
    PRE(l->server == 0 || l->epoch > t->epoch);
    tablet_location_put(l, &b);
    if (cluster_view_level(t) == LEVEL_ROOT)
        rc = change_root(r, t, l, done, err);
    else
        rc = change_row(r, t, buf_slice(&b), event, done, err);
    if (rc == 0 && *done) {
        buf_clear(&t->location);
        buf_append_slice(&t->location, buf_slice(&b));
        known_tablet_locate(t, l);
    }
    buf_close(&b);
    return rc;
}

struct refreshing {
    struct master_term *term;
    struct known_tablet *tablet;
    bool found;
};

static int
rows_refresh(void *ctx, const struct metadata_row *row, struct err *err)
{
    struct refreshing *f = ctx;
    PRE(f->tablet->busy);
    int rc = cluster_view_refresh(&f->term->view, f->tablet, row,
                                  master_term_now_ns(f->term), err);
    f->found = rc == 0;
    return rc == ERR_NOTFOUND ? 0 : rc;
}

int master_term_read_tablet(struct master_term *r,
                            struct known_tablet *t,
                            bool *found,
                            struct err *err)
{
    struct refreshing f = {r, t, false};
    struct buf behind = BUF_INIT;
    uint64_t generation;
    int rc;
    PRE(t->busy);
    if (cluster_view_level(t) == LEVEL_ROOT) {
        rc = read_record(r, rows_refresh, &f, &generation, err);
    } else {
        buf_append_slice(&behind, buf_slice(&t->key));
        buf_append_byte(&behind, '\0');
        rc = metadata_scan(r->store, buf_slice(&t->key), buf_slice(&behind),
                           rows_refresh, &f, err);
    }
    buf_close(&behind);
    *found = f.found;
    return rc;
}

int master_term_make_tablet(struct master_term *r,
                            uint64_t table,
                            struct slice start,
                            struct slice end,
                            bool *done,
                            struct err *err)
{
    struct tablet_state *empty = mem_zalloc(1, sizeof(*empty));
    int rc =
        master_term_put_tablet(r, table, start, end, empty, "made", done, err);
    mem_free(empty);
    return rc;
}

int master_term_put_tablet(struct master_term *r,
                           uint64_t table,
                           struct slice start,
                           struct slice end,
                           const struct tablet_state *state,
                           const char *event,
                           bool *done,
                           struct err *err)
{
    struct tablet_bounds bounds = {cluster_id(r->number, r->next_id++), table,
                                   start, end};
    struct tablet_location nobody = {0, 0, SLICE_EMPTY};
    struct metadata_change c = {.condition = METADATA_IF_ABSENT,
                                .event = slice_str(event)};
    struct buf b[4] = {BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT};
    int rc;

    PRE(end.len == 0 || slice_cmp(start, end) < 0);
    metadata_key(table, end, &b[0]);
    tablet_bounds_put(&bounds, &b[1]);
    tablet_location_put(&nobody, &b[2]);
    tablet_state_put(state, &b[3]);
    c.key = buf_slice(&b[0]);
    c.tablet = buf_slice(&b[1]);
    c.location = buf_slice(&b[2]);
    c.state = buf_slice(&b[3]);
    rc = metadata_change(r->store, &c, done, err);
    for (int i = 0; i < 4; i++)
        buf_close(&b[i]);
    return rc;
}
