/* How a new master learns the state of the cluster, after section 5.2 of the
 * paper: it waits for the servers' reports, reads the root tablet's record, and
 * reads METADATA level by level while its tablets are being placed. Later
 * readings of METADATA use the same functions. */
#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "bigtable/master/master_term.h"

/* A server that does not answer is waited for this many times the silence after
 * which it is probed: by then a dead one has been found dead. */
#define HEAR_FACTOR 4
/* Between tries to read METADATA. */
#define RETRY_US UINT64_C(200000)

/* --- reading METADATA ---------------------------------------------------- */

struct reading {
    struct master_term *term;
    metadata_row_fn fn;
    void *ctx;
};

static int read_row(void *ctx, const struct metadata_row *row, struct err *err)
{
    struct reading *a = ctx;
    struct master_term *r = a->term;
    struct err why = ERR_INIT;
    if (r->ending)
        return master_term_over(err);
    /* A row that cannot be decoded stays as it is, for an operator. */
    if (cluster_view_note_row(&r->view, row, master_term_now_ns(r), &why))
        log_error(r->world, "master", "row of METADATA: %s", why.text);
    return a->fn ? a->fn(a->ctx, row, err) : 0;
}

int master_term_read(struct master_term *r,
                     struct slice start,
                     struct slice end,
                     metadata_row_fn fn,
                     void *ctx,
                     struct err *err)
{
    struct reading a = {r, fn, ctx};
    uint64_t reading = ++r->view.reading;

    PRE(r->store);
    int rc = metadata_scan(r->store, start, end, read_row, &a, err);
    if (rc == 0)
        cluster_view_forget_unmet(&r->view, start, end, reading);
    master_term_changed(r);
    return rc;
}

void master_term_reread_tablet(struct master_term *r, uint64_t tablet)
{
    struct known_tablet *t = cluster_view_tablet(&r->view, tablet);
    struct buf start = BUF_INIT;
    struct buf end = BUF_INIT;
    struct err err = ERR_INIT;

    if (!t || cluster_view_level(t) == LEVEL_ROOT || !r->store)
        return;
    metadata_search_key(t->table, buf_slice(&t->start), &start);
    buf_append_slice(&end, buf_slice(&t->key));
    buf_append_byte(&end, '\0');
    if (master_term_read(r, buf_slice(&start), buf_slice(&end), NULL, NULL,
                         &err))
        log_warn(r->world, "master", "read a tablet's rows again: %s",
                 err.text);
    buf_close(&start);
    buf_close(&end);
}

/* --- the four steps ------------------------------------------------------ */

static int hear_servers(struct master_term *r, struct err *err)
{
    uint64_t until = master_term_now_ns(r) +
                     r->options->silent_us * HEAR_FACTOR * UINT64_C(1000);
    PRE(!r->known); /* INV-2 */
    r->awaits = "tablet servers to answer";
    while (!servers_all_heard(r) && master_term_now_ns(r) < until)
        if (!master_term_wait(r, RETRY_US))
            return master_term_over(err);
    return 0;
}

static int open_store(struct master_term *r, struct err *err)
{
    const struct master_options *o = r->options;
    int rc;
    PRE(!r->store);
    r->awaits = "its own client";
    if (o->open_store)
        return o->open_store(o->ctx, &r->store, err);
    rc = o->open_client(o->ctx, &r->quarry, err);
    if (rc == 0)
        r->store = metadata_table_new(r->world, r->quarry);
    return rc;
}

/* Until METADATA can be read up to @level. */
static int
wait_for_level(struct master_term *r, enum tablet_level level, struct err *err)
{
    PRE(level != LEVEL_ROOT);
    r->awaits = level == LEVEL_METADATA ? "the root tablet to be served"
                                        : "all of METADATA to be served";
    while (cluster_view_open_level(&r->view) < level)
        if (!master_term_wait(r, RETRY_US))
            return master_term_over(err);
    return 0;
}

/* Make METADATA's first tablet after the root tablet: it covers all user
 * tables. */
static int make_first_tablet(struct master_term *r, struct err *err)
{
    struct buf start = BUF_INIT;
    bool done;
    int rc;

    PRE(r->store);
    metadata_root_end(&start);
    rc = master_term_make_tablet(r, METADATA_TABLE_ID, buf_slice(&start),
                                 SLICE_EMPTY, &done, err);
    buf_close(&start);
    return rc;
}

/* Read rows of METADATA until that succeeds: its tablets may be moving. */
static int read_until_done(struct master_term *r,
                           struct slice start,
                           struct slice end,
                           enum tablet_level level,
                           struct err *err)
{
    PRE(!r->known); /* INV-2 */
    for (;;) {
        int rc = wait_for_level(r, level, err);
        if (rc)
            return rc;
        r->awaits = "rows of METADATA";
        rc = master_term_read(r, start, end, NULL, NULL, err);
        if (rc == 0)
            return 0;
        log_warn(r->world, "master", "read METADATA: %s", err->text);
        if (!master_term_wait(r, RETRY_US))
            return master_term_over(err);
    }
}

static int read_metadata(struct master_term *r, struct err *err)
{
    struct buf start = BUF_INIT;
    struct buf end = BUF_INIT;
    int rc;

    PRE(r->store);
    metadata_table_range(METADATA_TABLE_ID, &start, &end);
    rc = read_until_done(r, buf_slice(&start), buf_slice(&end), LEVEL_METADATA,
                         err);
    /* A new cluster has the root tablet alone. */
    while (rc == 0 && r->view.tablet_count == 1) {
        struct err why = ERR_INIT;
        if (make_first_tablet(r, &why))
            log_warn(r->world, "master", "make METADATA: %s", why.text);
        rc = read_until_done(r, buf_slice(&start), buf_slice(&end),
                             LEVEL_METADATA, err);
        if (rc == 0 && !master_term_is_current(r))
            rc = master_term_over(err);
    }
    if (rc == 0)
        rc = read_until_done(r, buf_slice(&end), SLICE_EMPTY, LEVEL_USER, err);
    buf_close(&start);
    buf_close(&end);
    return rc;
}

int master_term_discover(struct master_term *r, struct err *err)
{
    int rc = hear_servers(r, err);
    r->awaits = "the root tablet's record";
    if (rc == 0)
        rc = root_read(r, NULL, NULL, err);
    if (rc == 0)
        rc = wait_for_level(r, LEVEL_METADATA, err);
    if (rc == 0)
        rc = open_store(r, err);
    if (rc == 0)
        rc = read_metadata(r, err);
    r->awaits = "rows of tablets that were merged";
    if (rc == 0)
        rc = merge_heal(r, err);
    PRE(!r->known);
    PRE(!r->ready); /* INV-2 of struct master_term. */
    r->known = rc == 0;
    if (rc == 0)
        log_info(r->world, "master", "knows %zu tablets on %zu servers",
                 r->view.tablet_count, r->view.server_count);
    return rc;
}
