/* Finding tablets: from the root tablet's file in the lock service over
 * METADATA to the table's tablet, each level cached (Bigtable paper, 5.1). A
 * location is forgotten when its server does not answer, or says that it no
 * longer has the tablet.
 */
#include "bigtable/client/cluster/locator.h"

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/client/cluster/lock_files.h"

/* Stale levels that are found without a pause between. */
#define ROUNDS 3
/* How long an answer to somebody else is waited for at a time. */
#define SHARE_US UINT64_C(100000)
/* A record of METADATA has files and logs in it, which are not asked for. */
#define LOCATION_COLUMNS METADATA_FAMILY ":(tablet|location)"
#define WALK_COLUMNS     METADATA_FAMILY ":(tablet|location|state)"
#define WALK_BYTES       ((uint32_t)1 << 20)

/* A look-up under way. */
struct lookup {
    struct lookup *next;
    uint64_t table;
    struct slice row; /* Borrowed from who looks. */
    unsigned waiting; /* Fibers that keep it from being freed. */
    bool done;
};

struct locator {
    struct cluster *cluster;
    struct location_map map;
    struct lookup *lookups;
    struct mutex mutex; /* For the condition; one loop needs none else. */
    struct cond changed;
    struct buf root_end;
    struct locator_counts counts;
};

struct locator *locator_new(struct cluster *c, size_t max)
{
    struct locator *l = mem_zalloc(1, sizeof(*l));
    l->cluster = c;
    location_map_init(&l->map, max ? max : LOCATIONS_MAX);
    mutex_init(&l->mutex);
    cond_init(&l->changed);
    metadata_root_end(&l->root_end);
    return l;
}

void locator_free(struct locator *l)
{
    if (!l)
        return;
    PRE(!l->lookups);
    location_map_close(&l->map);
    mutex_close(&l->mutex);
    cond_close(&l->changed);
    buf_close(&l->root_end);
    mem_free(l);
}

uint64_t locator_wait_count(const struct locator *l)
{
    return l->counts.misses + l->counts.shared;
}

void locator_get_counts(const struct locator *l,
                        struct locator_counts *out,
                        size_t *known)
{
    *out = l->counts;
    *known = l->map.count;
}

static bool is_root(const struct location *l)
{
    return l->table == METADATA_TABLE_ID && l->start.len == 0;
}

void locator_forget(struct locator *l, const struct location *where)
{
    l->counts.forgotten++;
    if (is_root(where))
        lock_file_forget(l->cluster->root);
    else
        location_map_forget(&l->map, where);
}

void locator_forget_table(struct locator *l, uint64_t table)
{
    location_map_forget_table(&l->map, table);
}

/* --- the root ------------------------------------------------------------ */

static int not_served(const struct location *l, struct err *err)
{
    return err_set(err, ERR_UNAVAILABLE, "tablet %llu is not served yet",
                   (unsigned long long)l->tablet);
}

static struct location make_location(const struct tablet_bounds *b,
                                     const struct tablet_location *l)
{
    return (struct location){.table = b->table,
                             .tablet = b->id,
                             .start = b->start,
                             .end = b->end,
                             .server = l->server,
                             .epoch = l->epoch,
                             .address = l->address};
}

static int find_root(struct locator *l, struct location **out, struct err *err)
{
    struct tablet_record *record;
    struct location where;
    struct slice bytes;
    int rc = lock_file_read(l->cluster->root, &bytes, NULL, err);
    if (rc == ERR_NOTFOUND) {
        rc = err_set(err, ERR_UNAVAILABLE,
                     "the cluster has no tablets yet: no master has begun");
        err_hint(err, "are roles master and tablet running? see: "
                      "quarry cluster status");
    }
    if (rc)
        return rc;
    record = mem_alloc(sizeof(*record));
    rc = tablet_record_get(bytes, record, err);
    where = make_location(&record->bounds, &record->location);
    if (rc == 0 && where.address.len == 0)
        rc = not_served(&where, err);
    if (rc == 0) {
        where.table = METADATA_TABLE_ID;
        where.start = SLICE_EMPTY;
        where.end = buf_slice(&l->root_end);
        *out = location_new(&where);
    }
    mem_free(record);
    return rc;
}

/* --- reading METADATA ---------------------------------------------------- */

/* An answer of a tablet of METADATA. */
struct answer {
    struct buf body;
    struct buf rows;
    struct read_reply reply;
};

static void answer_close(struct answer *a)
{
    buf_close(&a->body);
    buf_close(&a->rows);
}

/* The rows of [@from, @end) that @parent has, at most @limit. */
static int read_parent(struct locator *l,
                       struct location *parent,
                       struct slice from,
                       struct slice end,
                       const char *columns,
                       uint64_t limit,
                       struct answer *a,
                       struct err *err)
{
    const struct quarry_range range = {from, end};
    const struct quarry_read_options opts = {.ranges = &range,
                                             .range_count = 1,
                                             .column_regex = columns,
                                             .versions = 1,
                                             .read_ahead_off = true};
    struct read_request request = {
        .tablet = parent->tablet, .row_limit = limit, .bytes_max = WALK_BYTES};
    struct buf options = BUF_INIT;
    struct buf body = BUF_INIT;
    int rc;
    read_options_put(&opts, &options);
    request.options = buf_slice(&options);
    read_request_put(&request, &body);
    buf_clear(&a->body);
    buf_clear(&a->rows);
    l->counts.calls++;
    rc = tablet_call(l->cluster, parent, TABLET_READ, NULL, buf_slice(&body),
                     SLICE_EMPTY, &a->body, &a->rows, err);
    if (rc == 0)
        rc = read_reply_get(buf_slice(&a->body), &a->reply, err);
    buf_close(&options);
    buf_close(&body);
    return rc;
}

static struct slice column_of(const struct quarry_row *row, const char *name)
{
    for (size_t i = 0; i < row->cell_count; i++)
        if (slice_eq_str(row->cells[i].qualifier, name))
            return row->cells[i].value;
    return SLICE_EMPTY;
}

/* False for a row that says nothing of a tablet: one whose split is being
 * undone, or that is being written. */
static bool read_record(const struct quarry_row *row,
                        struct tablet_bounds *bounds,
                        struct tablet_location *location)
{
    struct slice l = column_of(row, "location");
    *location = (struct tablet_location){.address = SLICE_EMPTY};
    return tablet_bounds_get(column_of(row, "tablet"), bounds, NULL) == 0 &&
           (l.len == 0 || tablet_location_get(l, location, NULL) == 0);
}

/* Learn what @a says; *@out gets a reference to the tablet of @row. */
static int locator_cache_answer(struct locator *l,
                                const struct answer *a,
                                uint64_t table,
                                struct slice row,
                                struct location **out,
                                struct err *err)
{
    const struct quarry_row *record;
    struct row_decoder d;
    int rc;
    row_decoder_init(&d, buf_slice(&a->rows));
    while ((rc = row_decoder_next(&d, &record, err)) == 0 && record) {
        struct tablet_bounds bounds;
        struct tablet_location location;
        struct location where;
        struct location *known;
        if (!read_record(record, &bounds, &location) || bounds.table != table)
            continue;
        where = make_location(&bounds, &location);
        if (where.address.len == 0) {
            if (!*out && location_holds(&where, row)) {
                rc = not_served(&where, err);
                break;
            }
            continue;
        }
        known = location_new(&where);
        if (!*out && location_holds(known, row))
            *out = location_ref(known);
        (void)location_map_put(&l->map, known);
        location_unref(known);
    }
    row_decoder_close(&d);
    return rc;
}

/* --- look-ups ------------------------------------------------------------ */

/* Ask the tablets of METADATA from @key on, until one has a row of @table. */
static int ask_parents(struct locator *l,
                       uint64_t table,
                       struct slice row,
                       struct slice key,
                       struct slice end,
                       struct location **out,
                       struct err *err)
{
    struct answer a = {.body = BUF_INIT};
    struct buf from = BUF_INIT;
    int rc = 0;
    buf_append_slice(&from, key);
    while (rc == 0 && !*out) {
        struct location *parent;
        rc = locator_find(l, METADATA_TABLE_ID, buf_slice(&from), &parent, err);
        if (rc)
            break;
        rc = read_parent(l, parent, buf_slice(&from), end, LOCATION_COLUMNS,
                         LOCATIONS_PREFETCHED, &a, err);
        if (rc == 0)
            rc = locator_cache_answer(l, &a, table, row, out, err);
        buf_clear(&from);
        buf_append_slice(&from,
                         rc == 0 && !a.reply.done ? a.reply.next : parent->end);
        location_unref(parent);
        if (rc == 0 && !*out &&
            (a.reply.row_count > 0 || from.len == 0 ||
             slice_cmp(buf_slice(&from), end) >= 0))
            break;
    }
    answer_close(&a);
    buf_close(&from);
    return rc;
}

static int look_up(struct locator *l,
                   uint64_t table,
                   struct slice row,
                   struct location **out,
                   struct err *err)
{
    struct buf key = BUF_INIT;
    struct buf start = BUF_INIT;
    struct buf end = BUF_INIT;
    int rc = 0;
    /* No end is so long that more of the row would matter. */
    metadata_search_key(table, slice_sub(row, 0, SPLIT_ROW_BYTES_MAX + 16),
                        &key);
    metadata_table_range(table, &start, &end);
    for (int round = 0; round < ROUNDS; round++) {
        rc = ask_parents(l, table, row, buf_slice(&key), buf_slice(&end), out,
                         err);
        if (!retry_is_of_use(rc, err))
            break;
    }
    if (rc == 0 && !*out)
        rc = err_set(err, ERR_UNAVAILABLE,
                     "METADATA has no tablet of table %llu for the row",
                     (unsigned long long)table);
    buf_close(&key);
    buf_close(&start);
    buf_close(&end);
    return rc;
}

/* A look-up under way whose answer may also have @row: at first any of the
 * table, later those that began at or before it. */
static struct lookup *
find_lookup(struct locator *l, uint64_t table, struct slice row, bool any)
{
    struct lookup *best = NULL;
    for (struct lookup *u = l->lookups; u; u = u->next) {
        bool before = slice_cmp(u->row, row) <= 0;
        if (u->table != table || u->done || (!before && !any))
            continue;
        if (!best || slice_cmp(best->row, u->row) < 0 ||
            slice_cmp(best->row, row) > 0)
            best = u;
    }
    return best;
}

/* Wait for its end, or for the deadline. */
static int locator_share(struct locator *l, struct lookup *u, struct err *err)
{
    int rc = 0;
    l->counts.shared++;
    u->waiting++;
    mutex_lock(&l->mutex);
    while (!u->done && rc == 0) {
        (void)cond_wait_us(&l->changed, &l->mutex, l->cluster->world, SHARE_US);
        rc = fiber_check(err);
    }
    u->waiting--;
    cond_broadcast(&l->changed);
    mutex_unlock(&l->mutex);
    return rc;
}

static void begin_lookup(struct locator *l, struct lookup *u)
{
    u->next = l->lookups;
    l->lookups = u;
}

/* It lies on the stack of who looks: those who wait for it must have seen. */
static void end_lookup(struct locator *l, struct lookup *u)
{
    struct lookup **at = &l->lookups;
    while (*at != u)
        at = &(*at)->next;
    *at = u->next;
    mutex_lock(&l->mutex);
    u->done = true;
    cond_broadcast(&l->changed);
    while (u->waiting > 0)
        cond_wait(&l->changed, &l->mutex);
    mutex_unlock(&l->mutex);
}

int locator_find(struct locator *l,
                 uint64_t table,
                 struct slice row,
                 struct location **out,
                 struct err *err)
{
    struct lookup mine = {.table = table, .row = row};
    struct location *known;
    struct lookup *other;
    bool any = true;
    int rc;
    *out = NULL;
    if (table == METADATA_TABLE_ID &&
        slice_cmp(row, buf_slice(&l->root_end)) < 0)
        return find_root(l, out, err);
    while (!(known = location_map_find(&l->map, table, row)) &&
           (other = find_lookup(l, table, row, any))) {
        any = false;
        rc = locator_share(l, other, err);
        if (rc)
            return rc;
    }
    if (known) {
        l->counts.hits++;
        *out = location_ref(known);
        return 0;
    }
    l->counts.misses++;
    begin_lookup(l, &mine);
    rc = look_up(l, table, row, out, err);
    end_lookup(l, &mine);
    if (rc) {
        location_unref(*out);
        *out = NULL;
    }
    return rc;
}

/* --- whole tables -------------------------------------------------------- */

static int see_rows(const struct answer *a,
                    tablet_seen_fn fn,
                    void *ctx,
                    bool *stop,
                    struct err *err)
{
    struct tablet_state *state = mem_alloc(sizeof(*state));
    const struct quarry_row *record;
    struct row_decoder d;
    int rc;
    row_decoder_init(&d, buf_slice(&a->rows));
    while ((rc = row_decoder_next(&d, &record, err)) == 0 && record && !*stop) {
        struct slice bytes = column_of(record, "state");
        struct tablet_bounds bounds;
        struct tablet_location location;
        if (!read_record(record, &bounds, &location))
            continue;
        *state = (struct tablet_state){.bytes = 0};
        if (bytes.len)
            rc = tablet_state_get(bytes, state, err);
        if (rc)
            break;
        *stop = fn(ctx, &bounds, &location, state) != 0;
    }
    row_decoder_close(&d);
    mem_free(state);
    return rc;
}

/* The rows from @at on that one tablet of METADATA has in one answer; @at goes
 * behind them, and is empty behind the last. */
static int walk_on(struct locator *l,
                   struct buf *at,
                   struct slice end,
                   tablet_seen_fn fn,
                   void *ctx,
                   struct err *err)
{
    struct answer a = {.body = BUF_INIT};
    struct location *parent;
    bool stop = false;
    int rc = locator_find(l, METADATA_TABLE_ID, buf_slice(at), &parent, err);
    if (rc)
        return rc;
    rc = read_parent(l, parent, buf_slice(at), end, WALK_COLUMNS, 0, &a, err);
    if (rc == 0)
        rc = see_rows(&a, fn, ctx, &stop, err);
    if (rc == 0) {
        buf_clear(at);
        if (!stop)
            buf_append_slice(at, a.reply.done ? parent->end : a.reply.next);
        if (slice_cmp(buf_slice(at), end) >= 0)
            buf_clear(at);
    }
    location_unref(parent);
    answer_close(&a);
    return rc;
}

int locator_walk(struct locator *l,
                 uint64_t table,
                 tablet_seen_fn fn,
                 void *ctx,
                 struct err *err)
{
    struct retry retry = {.cluster = l->cluster};
    struct buf at = BUF_INIT;
    struct buf end = BUF_INIT;
    int rc;
    metadata_table_range(table, &at, &end);
    do {
        rc = walk_on(l, &at, buf_slice(&end), fn, ctx, err);
        if (rc == 0)
            retry.tries = 0;
    } while (rc ? retry_again(&retry, &rc, err) : at.len > 0);
    buf_close(&at);
    buf_close(&end);
    return rc;
}
