/* METADATA and reality. */
#include "tests/sim/tables_health.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "bigtable/master/metadata_store.h"
#include "bigtable/quarry.h"
#include "bigtable/tablet_server/tablet_server.h"
#include "bigtable/wire/metadata.h"
#include "bigtable/wire/tablet_files.h"
#include "gfs-lite/fs.h"
#include "tests/sim/storm.h"
#include "tests/sim/tables_watch.h"

/* Between looks. */
#define LOOK_US (SECOND_US / 2)
#define CALL_US (10 * SECOND_US)
/* So long a session with the lock service may take to begin. */
#define SESSION_US (60 * SECOND_US)

/* One look at all that is written down. */
struct look {
    struct tables_cell *tables;
    struct chubby *chubby;
    struct quarry *quarry;
    struct metadata_store *store;
    struct tables_served *served;
    size_t served_count;
    size_t row_count;
    uint64_t table;        /* Of the last row, */
    struct buf end;        /* and its end; */
    bool is_whole;         /* nothing is behind it. */
    struct hash_map ids;   /* Tables that have rows. */
    struct hash_map marks; /* Files and logs that are needed. */
    struct buf why;        /* The failed condition; "": none. */
};

static void open_look(struct look *l, struct tables_cell *t)
{
    struct world *me = sim_director(t->cell->sim);
    uint64_t until = storm_now_us() + SESSION_US;
    struct err err = ERR_INIT;
    int rc;
    *l = (struct look){.tables = t, .end = BUF_INIT, .why = BUF_INIT};
    hash_map_init(&l->ids, HASH_KEYS_COPIED);
    hash_map_init(&l->marks, HASH_KEYS_COPIED);
    while ((rc = sim_cell_chubby(t->cell, me, NULL, NULL, &l->chubby, &err)) !=
           0) {
        STORM_CHECK(storm_now_us() < until, "%s", err.text);
        storm_sleep_us(LOOK_US);
    }
    while ((rc = tables_cell_open(t, me, CALL_US, &l->quarry, &err)) != 0) {
        STORM_CHECK(storm_now_us() < until, "%s", err.text);
        storm_sleep_us(LOOK_US);
    }
    l->store = metadata_table_new(sim_director(storm_running->sim), l->quarry);
}

static void close_look(struct look *l)
{
    metadata_store_free(l->store);
    quarry_close(l->quarry);
    chubby_disconnect(l->chubby);
    hash_map_close(&l->ids);
    hash_map_close(&l->marks);
    buf_close(&l->end);
    buf_close(&l->why);
}

static int read_lock_file(struct look *l, const char *path, struct buf *out)
{
    struct chubby_handle *h;
    int rc = chubby_open(l->chubby, path, CHUBBY_READ, NULL, &h, NULL);
    if (rc)
        return rc;
    rc = chubby_read(h, out, NULL, NULL);
    chubby_close(h);
    return rc;
}

/* --- is it served? ------------------------------------------------------- */

static void PRINTF_LIKE(2, 3) complain(struct look *l, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    if (l->why.len)
        return; /* The first is enough. */
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_append_str(&l->why, text);
}

static bool is_served(const struct look *l,
                      const struct tablet_bounds *b,
                      const struct tablet_location *where)
{
    for (size_t i = 0; i < l->served_count; i++) {
        const struct tables_served *s = &l->served[i];
        if (s->id == b->id)
            return s->number == where->server && s->epoch == where->epoch &&
                   s->table == b->table && slice_eq(s->start, b->start) &&
                   slice_eq(s->end, b->end);
    }
    return false;
}

/* The tablets of a table follow each other. */
static void take_bounds(struct look *l, const struct tablet_bounds *b)
{
    struct buf first = BUF_INIT;
    bool added;
    if (b->table != l->table) {
        if (l->table && !l->is_whole)
            complain(l, "table %" PRIu64 " has no last tablet", l->table);
        l->table = b->table;
        buf_clear(&l->end);
        l->is_whole = false;
        hash_map_put(&l->ids, hash_key_u64(&l->table), &added);
        if (b->table == METADATA_TABLE_ID)
            metadata_root_end(&first);
        buf_append_slice(&l->end, buf_slice(&first));
    } else if (l->is_whole) {
        complain(l, "table %" PRIu64 " has two last tablets", l->table);
    }
    if (!slice_eq(b->start, buf_slice(&l->end)))
        complain(l,
                 "tablet %" PRIx64 " of table %" PRIu64
                 " does not begin where the one before it ends",
                 b->id, b->table);
    buf_clear(&l->end);
    buf_append_slice(&l->end, b->end);
    l->is_whole = b->end.len == 0;
    buf_close(&first);
}

static int take_row(void *ctx, const struct metadata_row *row, struct err *err)
{
    struct look *l = ctx;
    struct tablet_bounds b;
    struct tablet_location where;
    int rc = tablet_bounds_get(row->tablet, &b, err);
    if (rc == 0)
        rc = tablet_location_get(row->location, &where, err);
    if (rc)
        return rc;
    l->row_count++;
    take_bounds(l, &b);
    if (row->split.len)
        complain(l, "tablet %" PRIx64 " is being split", b.id);
    if (!is_served(l, &b, &where))
        complain(l,
                 "tablet %" PRIx64 " of table %" PRIu64 " is not served by "
                 "server %" PRIu64 " in epoch %" PRIu64,
                 b.id, b.table, where.server, where.epoch);
    return 0;
}

/* --- which tables are there? --------------------------------------------- */

static void take_table(struct look *l, const char *name, size_t *found)
{
    struct buf path = BUF_INIT;
    struct buf bytes = BUF_INIT;
    struct table_record r;
    buf_printf(&path, BIGTABLE_LOCK_TABLES "/%s", name);
    if (read_lock_file(l, buf_cstr(&path), &bytes) ||
        table_record_get(buf_slice(&bytes), &r, NULL))
        complain(l, "the record of table %s cannot be read", name);
    else if (r.dropping)
        complain(l, "table %s is being dropped", name);
    else if (!hash_map_get(&l->ids, hash_key_u64(&r.id)))
        complain(l, "table %s has no tablets", name);
    else
        ++*found;
    buf_close(&path);
    buf_close(&bytes);
}

static void compare_tables(struct look *l)
{
    struct err err = ERR_INIT;
    char **names;
    size_t count;
    size_t found = 1; /* METADATA, which has no record. */
    if (quarry_table_list_all(l->quarry, &names, &count, &err)) {
        complain(l, "%s", err.text);
        return;
    }
    for (size_t i = 0; i < count; i++)
        take_table(l, names[i], &found);
    if (found != l->ids.count)
        complain(l, "%zu tables have tablets, and %zu are there", l->ids.count,
                 found);
    quarry_names_free(names, count);
}

static bool all_is_true(struct look *l)
{
    struct err err = ERR_INIT;
    buf_clear(&l->why);
    buf_clear(&l->end);
    l->table = 0;
    l->row_count = 0;
    hash_map_clear(&l->ids);
    /* Assignments change while METADATA is read; only one that is the same
     * before and after is compared. */
    l->served = tables_served_now(l->tables, &l->served_count);
    if (metadata_scan(l->store, SLICE_EMPTY, SLICE_EMPTY, take_row, l, &err))
        complain(l, "%s", err.text);
    else if (l->row_count + 1 != l->served_count)
        complain(l, "%zu tablets are served, METADATA has %zu", l->served_count,
                 l->row_count);
    if (!l->is_whole)
        complain(l, "table %" PRIu64 " has no last tablet", l->table);
    mem_free(l->served);
    if (!l->why.len)
        compare_tables(l);
    return l->why.len == 0;
}

uint64_t tables_await_true(struct tables_cell *t, uint64_t bound_us)
{
    uint64_t from = storm_now_us();
    struct look l;
    open_look(&l, t);
    while (!all_is_true(&l)) {
        STORM_CHECK(storm_now_us() - from < bound_us,
                    "%" PRIu64 " s later METADATA is not true: %s",
                    bound_us / SECOND_US, buf_cstr(&l.why));
        storm_sleep_us(LOOK_US);
    }
    close_look(&l);
    return storm_now_us() - from;
}

/* --- files --------------------------------------------------------------- */

static void mark(void *ctx, uint64_t number)
{
    struct look *l = ctx;
    hash_map_put(&l->marks, hash_key_u64(&number), NULL);
}

static int mark_state(struct look *l, struct slice bytes, struct err *err)
{
    struct tablet_state *s = mem_alloc(sizeof(*s));
    int rc = bytes.len ? tablet_state_get(bytes, s, err) : 0;
    for (size_t i = 0; bytes.len && rc == 0 && i < s->log_count; i++)
        mark(l, s->logs[i]);
    if (bytes.len && rc == 0)
        rc = tablet_files_each(s->groups, mark, l, err);
    mem_free(s);
    return rc;
}

static int mark_row(void *ctx, const struct metadata_row *row, struct err *err)
{
    return mark_state(ctx, row->state, err);
}

static int mark_root(struct look *l, struct err *err)
{
    struct tablet_record *r = mem_alloc(sizeof(*r));
    struct buf bytes = BUF_INIT;
    int rc = read_lock_file(l, BIGTABLE_LOCK_ROOT_TAB, &bytes);
    if (rc == 0)
        rc = tablet_record_get(buf_slice(&bytes), r, err);
    for (size_t i = 0; rc == 0 && i < r->state.log_count; i++)
        mark(l, r->state.logs[i]);
    if (rc == 0)
        rc = tablet_files_each(r->state.groups, mark, l, err);
    mem_free(r);
    buf_close(&bytes);
    return rc;
}

static int mark_all(struct look *l, struct err *err)
{
    int rc;
    hash_map_clear(&l->marks);
    for (unsigned i = 0; i < l->tables->tablet_count; i++) {
        struct tablet_server *s = l->tables->tablets[i].tablet;
        struct tablet_server_stats st = {.number = 0};
        if (s)
            tablet_server_get_stats(s, &st);
        mark(l, st.number);
    }
    rc = mark_root(l, err);
    return rc ? rc
              : metadata_scan(l->store, SLICE_EMPTY, SLICE_EMPTY, mark_row, l,
                              err);
}

static void
look_at_files(struct look *l, struct fs *fs, const char *path, size_t *strays)
{
    struct err err = ERR_INIT;
    char **names;
    size_t count;
    int rc = fs_list(fs, path, &names, &count, &err);
    if (rc) {
        *strays += rc != ERR_NOTFOUND;
        complain(l, "%s: %s", path, err.text);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t number = strtoull(names[i], NULL, 10);
        if (hash_map_get(&l->marks, hash_key_u64(&number)))
            continue;
        if (++*strays < 8)
            buf_printf(&l->why, " %s/%s", path, names[i]);
    }
    fs_names_free(names, count);
}

static bool has_no_orphan(struct look *l, struct fs *fs)
{
    struct err err = ERR_INIT;
    size_t strays = 0;
    buf_clear(&l->why);
    /* Existing files are listed first, so that later ones are not missed. */
    if (mark_all(l, &err)) {
        complain(l, "%s", err.text);
        return false;
    }
    look_at_files(l, fs, "bigtable/tables", &strays);
    look_at_files(l, fs, "bigtable/" BIGTABLE_FS_LOGS, &strays);
    return strays == 0;
}

void tables_await_no_orphan(struct tables_cell *t, uint64_t bound_us)
{
    struct fs *fs = sim_cell_fs(t->cell, sim_director(t->cell->sim), "orphans");
    uint64_t from = storm_now_us();
    struct look l;
    open_look(&l, t);
    while (!has_no_orphan(&l, fs)) {
        STORM_CHECK(storm_now_us() - from < bound_us,
                    "%" PRIu64 " s later there are files that nobody needs:%s",
                    bound_us / SECOND_US, buf_cstr(&l.why));
        storm_sleep_us(LOOK_US);
    }
    close_look(&l);
    fs_close(fs);
}
