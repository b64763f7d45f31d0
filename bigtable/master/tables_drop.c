/* Dropping tables: the record is marked `dropping`, tablets are taken back and
 * their rows removed, then the record is deleted. The next master continues a
 * drop that it finds marked. The files are garbage then. */
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "bigtable/master/lock_state.h"
#include "bigtable/master/master_term.h"
#include "bigtable/master/policies.h"
#include "bigtable/master/table_file.h"

#define RETRY_US UINT64_C(100000)

struct known_tablet *
tables_any_tablet(struct master_term *r, uint64_t table, bool *more)
{
    struct buf start = BUF_INIT;
    struct buf end = BUF_INIT;
    struct known_tablet *found = NULL;
    metadata_table_range(table, &start, &end);
    *more = false;
    for (size_t i = cluster_view_at(&r->view, buf_slice(&start));
         i < r->view.tablet_count && r->view.tablets[i]->table == table; i++) {
        *more = true;
        if (!found && !r->view.tablets[i]->busy)
            found = r->view.tablets[i];
    }
    buf_close(&start);
    buf_close(&end);
    return found;
}

/* Take @t, busy, from its server and remove its row. */
static int
remove_tablet(struct master_term *r, struct known_tablet *t, struct err *err)
{
    struct metadata_change c = {.key = buf_slice(&t->key),
                                .condition = METADATA_IF_LOCATION,
                                .remove = true};
    bool done = false;
    bool found = true;
    int rc = 0;

    PRE(t->busy);
    PRE(cluster_view_level(t) == LEVEL_USER);
    if (t->stage != STAGE_UNASSIGNED)
        rc = take_back(r, t, err);
    if (rc == 0 && !t->is_fresh)
        rc = master_term_read_tablet(r, t, &found, err);
    if (rc || !found)
        return rc == ERR_NOTFOUND ? 0 : rc;
    if (t->stage != STAGE_UNASSIGNED)
        return err_set(err, ERR_BUSY, "its server has it again");
    c.if_location = buf_slice(&t->location);
    rc = metadata_change(r->store, &c, &done, err);
    if (rc == 0 && !done)
        rc = err_set(err, ERR_ABORTED, "its row has changed");
    t->is_fresh = false;
    return rc;
}

static int drop_tablets(struct master_term *r, uint64_t table, struct err *err)
{
    PRE(r->known);
    PRE(table != METADATA_TABLE_ID);
    for (;;) {
        bool more;
        struct known_tablet *t = tables_any_tablet(r, table, &more);
        struct err why = ERR_INIT;
        if (!more)
            return 0;
        if (t) {
            int rc;
            known_tablet_hold(t);
            rc = remove_tablet(r, t, &why);
            known_tablet_release(t);
            if (rc == 0) {
                cluster_view_remove(&r->view, t);
                continue;
            }
            log_warn(r->world, "master", "drop tablet %llu: %s",
                     (unsigned long long)t->id, why.text);
            rc = tables_read_rows(r, table, &why);
            if (rc && !master_term_is_current(r))
                return master_term_over(err);
        }
        if (!master_term_wait(r, RETRY_US))
            return master_term_over(err);
    }
}

/* The rest of a drop, whose mark is written. */
static int finish_drop(struct master_term *r,
                       const char *path,
                       uint64_t table,
                       struct err *err)
{
    int rc;

    PRE(r->known);
    hash_map_put(&r->dropping, hash_key_u64(&table), NULL);
    rc = tables_read_rows(r, table, err);
    if (rc == 0)
        rc = drop_tablets(r, table, err);
    /* A split may have added a row while tablets were removed. */
    if (rc == 0)
        rc = tables_read_rows(r, table, err);
    if (rc == 0)
        rc = drop_tablets(r, table, err);
    if (rc == 0)
        rc = lock_state_remove(r->chubby, path, err);
    if (rc == 0)
        policies_dropped(r, table);
    if (rc == 0)
        hash_map_remove(&r->dropping, hash_key_u64(&table), NULL);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* --- drops that were not finished ---------------------------------------- */

struct drop_job {
    char *path;
    uint64_t table;
};

/* Finish the drop if the record is marked: the table was dropped, an earlier
 * master began to drop it, or it could not be made of a snapshot. */
static int
drop_marked(struct master_term *r, const struct drop_job *j, struct err *err)
{
    struct buf b = BUF_INIT;
    struct table_record rec;
    uint64_t generation;
    bool marked = false;
    PRE(j->table > 0);
    int rc = lock_state_read(r->chubby, j->path, &b, &generation, err);
    if (rc == 0)
        rc = table_record_get(buf_slice(&b), &rec, err);
    if (rc == 0)
        marked = rec.id == j->table && rec.dropping;
    buf_close(&b);
    if (rc)
        return rc == ERR_NOTFOUND ? 0 : rc;
    return marked ? finish_drop(r, j->path, j->table, err) : 0;
}

static void run_drop(struct master_term *r, void *arg)
{
    struct drop_job *j = arg;
    struct err err = ERR_INIT;
    while (drop_marked(r, j, &err)) {
        log_warn(r->world, "master", "drop %s: %s", j->path, err.text);
        if (!master_term_wait(r, RETRY_US * 10))
            break;
    }
    mem_free(j->path);
    mem_free(j);
}

void tables_drop_later(struct master_term *r, const char *path, uint64_t table)
{
    struct drop_job *j = mem_alloc(sizeof(*j));

    PRE(path[0] == '/');
    *j = (struct drop_job){mem_strdup(path), table};
    master_term_spawn(r, "drop", run_drop, j);
}

int tables_drop(struct master_term *r, struct slice name, struct err *err)
{
    struct table_file f;
    int rc = tables_check_name(name, err);

    PRE(r->ready);
    if (rc)
        return rc;
    rc = table_file_find(r, name, &f, err);
    if (rc == 0) {
        f.record.dropping = true;
        rc = table_file_write(r, &f, &f.record, err);
        if (rc == 0)
            rc = finish_drop(r, f.path, f.record.id, err);
        if (rc)
            tables_drop_later(r, f.path, f.record.id);
    }
    if (rc == 0)
        master_note(r, EVENT_TABLE_DROP, "name=%.*s table=%llu",
                    SLICE_ARG(name), (unsigned long long)f.record.id);
    table_file_close(&f);
    return rc;
}

void tables_clear_away(struct master_term *r, struct slice name, uint64_t table)
{
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%.*s", BIGTABLE_LOCK_TABLES, SLICE_ARG(name));
    tables_drop_later(r, buf_cstr(&path), table);
    buf_close(&path);
}
