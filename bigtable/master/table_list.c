/* Tables: made, changed and dropped, by writes that a master's death cannot
 * leave halfway for good.
 *
 *     create   the record, then the row of its one tablet; a record without a
 *              tablet gets one when METADATA can be written, by this master or
 *              the next one
 *     alter    the record with the next generation, then the order to all
 *              servers; who loads a tablet later reads the record
 *     drop     see tables_drop.c
 */
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "bigtable/master/lock_state.h"
#include "bigtable/master/master_term.h"
#include "bigtable/master/policies.h"
#include "bigtable/master/table_file.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/data_calls.h"

#define RETRY_US UINT64_C(100000)
/* How long to wait for a new table's tablet, so that the table can be used at
 * once. */
#define CREATE_WAIT_US UINT64_C(10000000)

int tables_find_schema(struct master_term *r,
                       struct slice name,
                       uint64_t *table,
                       struct buf *schema,
                       struct err *err)
{
    struct table_file f;
    int rc = table_file_find(r, name, &f, err);
    if (rc == 0) {
        *table = f.record.id;
        buf_append_slice(schema, f.record.schema);
    }
    table_file_close(&f);
    return rc;
}

int tables_find(struct master_term *r,
                struct slice name,
                uint64_t *table,
                struct err *err)
{
    struct table_file f;
    int rc = table_file_find(r, name, &f, err);
    if (rc == 0)
        *table = f.record.id;
    table_file_close(&f);
    return rc;
}

int tables_check_name(struct slice name, struct err *err)
{
    if (slice_eq_str(name, METADATA_TABLE))
        return err_set(err, ERR_DENIED, METADATA_TABLE " is the cluster's own");
    return schema_check_table_name(name, err);
}

/* --- create -------------------------------------------------------------- */

/* The error for a record that has the name: if its table is being dropped, the
 * name is free soon. */
static int in_the_way(struct master_term *r, struct slice name, struct err *err)
{
    struct table_file f;
    int rc = table_file_read(r, name, &f, err);
    bool goes = rc == ERR_NOTFOUND || (rc == 0 && f.record.dropping);
    table_file_close(&f);
    if (goes)
        return err_set(err, ERR_UNAVAILABLE, "table %.*s is being dropped",
                       SLICE_ARG(name));
    return rc ? rc
              : err_set(err, ERR_EXISTS, "table %.*s exists already",
                        SLICE_ARG(name));
}

/* Write the record of a new table; @unfinished: it counts as being dropped. */
static int make_record(struct master_term *r,
                       const struct table_order *o,
                       struct slice creator,
                       const struct slice *access,
                       bool unfinished,
                       uint64_t *id,
                       struct err *err)
{
    char path[TABLE_PATH_BYTES];
    struct table_record rec = {
        .generation = 1, .schema = o->schema, .dropping = unfinished};
    struct buf b = BUF_INIT;
    int rc = lock_state_next_table(r->chubby, id, err);
    if (rc)
        return rc;
    rec.id = *id;
    /* The policy first: the table has its owner from its first moment. */
    rc = policies_made(r, *id, creator, access, err);
    if (rc)
        return rc;
    table_record_put(&rec, &b);
    snprintf(path, sizeof(path), "%s/%.*s", BIGTABLE_LOCK_TABLES,
             SLICE_ARG(o->name));
    rc = lock_state_write(r->chubby, path, buf_slice(&b), 0, err);
    if (rc == ERR_EXISTS)
        rc = in_the_way(r, o->name, err);
    if (rc)
        policies_dropped(r, *id);
    buf_close(&b);
    return rc;
}

int tables_read_rows(struct master_term *r, uint64_t table, struct err *err)
{
    struct buf start = BUF_INIT;
    struct buf end = BUF_INIT;
    int rc;

    PRE(r->store);
    metadata_table_range(table, &start, &end);
    rc = master_term_read(r, buf_slice(&start), buf_slice(&end), NULL, NULL,
                          err);
    buf_close(&start);
    buf_close(&end);
    return rc;
}

static int first_tablet(struct master_term *r, uint64_t table, struct err *err)
{
    bool done;
    int rc =
        master_term_make_tablet(r, table, SLICE_EMPTY, SLICE_EMPTY, &done, err);

    PRE(r->store);
    return rc ? rc : tables_read_rows(r, table, err);
}

/* A table whose record was written, and whose first tablet could not be. */
struct bare_table {
    char *name; /* Owned. */
    uint64_t id;
};

/* Is the record still there, and still without a tablet? */
static bool is_bare(struct master_term *r, const struct bare_table *t)
{
    struct table_file f;
    bool more = false;
    int rc = table_file_find(r, slice_str(t->name), &f, NULL);
    bool bare =
        rc ? rc != ERR_NOTFOUND : f.record.id == t->id && !f.record.dropping;
    table_file_close(&f);
    (void)tables_any_tablet(r, t->id, &more);
    return bare && !more;
}

static void tables_furnish(struct master_term *r, void *arg)
{
    struct bare_table *t = arg;
    while (master_term_wait(r, RETRY_US) && is_bare(r, t) &&
           first_tablet(r, t->id, NULL) != 0) {
    }
    mem_free(t->name);
    mem_free(t);
}

static void
furnish_later(struct master_term *r, struct slice name, uint64_t table)
{
    struct bare_table *t = mem_alloc(sizeof(*t));
    PRE(table != METADATA_TABLE_ID);
    *t = (struct bare_table){mem_strndup(name.data, name.len), table};
    master_term_spawn(r, "first tablet", tables_furnish, t);
}

static bool is_served(struct master_term *r, uint64_t table)
{
    const struct known_tablet *t =
        cluster_view_find(&r->view, table, SLICE_EMPTY);
    return t && t->stage == STAGE_SERVED;
}

int tables_create(struct master_term *r,
                  const struct table_order *o,
                  struct slice creator,
                  struct err *err)
{
    struct schema *schema = NULL;
    uint64_t id = 0;
    uint64_t until;
    int rc = tables_check_name(o->name, err);

    PRE(r->known);
    if (rc == 0)
        rc = schema_decode(o->schema, &schema, err);
    schema_free(schema);
    if (rc == 0)
        rc = make_record(r, o, creator, NULL, false, &id, err);
    if (rc == 0) {
        rc = first_tablet(r, id, err);
        if (rc)
            furnish_later(r, o->name, id);
    }
    if (rc)
        return rc;
    master_note(r, EVENT_TABLE_CREATE, "name=%.*s table=%llu",
                SLICE_ARG(o->name), (unsigned long long)id);
    until = master_term_now_ns(r) + CREATE_WAIT_US * 1000;
    while (!is_served(r, id) && master_term_now_ns(r) < until)
        if (!master_term_wait(r, RETRY_US))
            return master_term_over(err);
    return 0;
}

/* --- alter --------------------------------------------------------------- */

/* Send a table's schema to one server, until it has it or is dead. */
struct schema_notice {
    struct known_server *server;
    const struct table_record *record;
    unsigned *left;
};

static void tables_notify(struct master_term *r, void *arg)
{
    struct schema_notice *t = arg;
    struct schema_order o = {slice_str(r->sequencer), t->server->number,
                             *t->record};
    struct buf body = BUF_INIT;
    struct err err = ERR_INIT;
    schema_order_put(&o, &body);
    while (t->server->alive &&
           server_call(r, t->server, TABLET_SCHEMA, buf_slice(&body), NULL,
                       r->options->order_us, &err)) {
        log_warn(r->world, "master",
                 "a tablet server does not have a schema yet: %s", err.text);
        if (!master_term_wait(r, RETRY_US))
            break;
    }
    buf_close(&body);
    INVARIANT(*t->left > 0);
    --*t->left;
    mem_free(t);
}

/* Send it to all live servers, because a tablet may be on its way to any. */
static int notify_all(struct master_term *r,
                      const struct table_record *rec,
                      struct err *err)
{
    unsigned left = 0;
    for (size_t i = 0; i < r->view.server_count; i++) {
        struct schema_notice *t;
        if (!r->view.servers[i]->alive)
            continue;
        t = mem_alloc(sizeof(*t));
        *t = (struct schema_notice){r->view.servers[i], rec, &left};
        left++;
        master_term_spawn(r, "notify tables", tables_notify, t);
    }
    /* The fibers point to our variables: wait for all of them. */
    while (left > 0) {
        mutex_lock(&r->mutex);
        cond_wait(&r->changed, &r->mutex);
        mutex_unlock(&r->mutex);
    }
    POST(left == 0);
    return master_term_is_current(r) ? 0 : master_term_over(err);
}

static int tables_alter_record(struct master_term *r,
                               const struct table_file *f,
                               struct slice changes,
                               struct err *err)
{
    struct table_record rec = f->record;
    struct schema *schema = NULL;
    struct buf encoded = BUF_INIT;
    int rc = schema_decode(f->record.schema, &schema, err);
    if (rc == 0)
        rc = alter_apply(changes, schema, err);
    if (rc == 0) {
        schema_encode(schema, &encoded);
        rec.schema = buf_slice(&encoded);
        rec.generation++;
        INVARIANT(rec.generation > f->record.generation);
        rc = table_file_write(r, f, &rec, err);
    }
    if (rc == 0)
        rc = notify_all(r, &rec, err);
    schema_free(schema);
    buf_close(&encoded);
    return rc;
}

int tables_alter(struct master_term *r,
                 const struct table_order *o,
                 struct err *err)
{
    int rc = tables_check_name(o->name, err);

    PRE(r->known);
    while (rc == 0) {
        struct table_file f;
        rc = table_file_find(r, o->name, &f, err);
        if (rc == 0)
            rc = tables_alter_record(r, &f, o->schema, err);
        table_file_close(&f);
        if (rc != ERR_ABORTED)
            return rc;
        rc = 0; /* It was changed at the same time: try again. */
    }
    return rc;
}

/* --- tables that are made of snapshots ----------------------------------- */

int tables_begin(struct master_term *r,
                 struct slice name,
                 struct slice schema,
                 struct slice creator,
                 const struct slice *access,
                 uint64_t *table,
                 struct err *err)
{
    const struct table_order o = {.name = name, .schema = schema};
    int rc = tables_check_name(name, err);

    PRE(r->known);
    if (rc == 0)
        rc = make_record(r, &o, creator, access, true, table, err);
    if (rc == 0)
        hash_map_put(&r->dropping, hash_key_u64(table), NULL);
    return rc;
}

int tables_make_known(struct master_term *r,
                      struct slice name,
                      uint64_t table,
                      struct err *err)
{
    struct table_file f;
    int rc = table_file_read(r, name, &f, err);

    PRE(r->known);
    if (rc == 0 && f.record.id != table)
        rc = err_set(err, ERR_ABORTED, "its record has changed");
    if (rc == 0) {
        f.record.dropping = false;
        rc = table_file_write(r, &f, &f.record, err);
    }
    table_file_close(&f);
    if (rc)
        return rc;
    hash_map_remove(&r->dropping, hash_key_u64(&table), NULL);
    return tables_read_rows(r, table, err);
}

static int
finish_table(struct master_term *r, const char *name, struct err *err)
{
    char path[TABLE_PATH_BYTES];
    struct buf b = BUF_INIT;
    struct table_record rec;
    uint64_t generation;
    bool more = false;
    int rc;

    PRE(r->known);
    snprintf(path, sizeof(path), "%s/%s", BIGTABLE_LOCK_TABLES, name);
    rc = lock_state_read(r->chubby, path, &b, &generation, err);
    if (rc == 0)
        rc = table_record_get(buf_slice(&b), &rec, err);
    if (rc == 0 && rec.dropping) {
        hash_map_put(&r->dropping, hash_key_u64(&rec.id), NULL);
        tables_drop_later(r, path, rec.id);
    } else if (rc == 0 && rec.id != METADATA_TABLE_ID) {
        (void)tables_any_tablet(r, rec.id, &more);
        if (!more)
            rc = first_tablet(r, rec.id, err);
    }
    buf_close(&b);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

static int list_tables(struct master_term *r,
                       char ***names,
                       size_t *count,
                       struct err *err)
{
    struct chubby_handle *h = NULL;
    int rc = chubby_open(r->chubby, BIGTABLE_LOCK_TABLES, CHUBBY_READ, NULL, &h,
                         err);
    if (rc == 0)
        rc = chubby_list(h, names, count, err);
    chubby_close(h);
    return rc;
}

int tables_each(struct master_term *r,
                table_seen_fn fn,
                void *ctx,
                struct err *err)
{
    char **names;
    size_t count;
    int rc = list_tables(r, &names, &count, err);

    PRE(fn);
    if (rc)
        return rc;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct table_file f;
        rc = table_file_find(r, slice_str(names[i]), &f, err);
        if (rc == 0)
            rc = fn(ctx, f.record.id, f.record.schema, err);
        else if (rc == ERR_NOTFOUND)
            rc = 0;
        table_file_close(&f);
    }
    chubby_names_free(names, count);
    return rc;
}

int tables_finish(struct master_term *r, struct err *err)
{
    char **names;
    size_t count;
    int rc = list_tables(r, &names, &count, err);

    PRE(r->known);
    PRE(!r->ready);
    if (rc)
        return rc;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = finish_table(r, names[i], err);
    chubby_names_free(names, count);
    return rc;
}

uint64_t tables_count(struct master_term *r)
{
    uint64_t n = 0;
    uint64_t last = METADATA_TABLE_ID;
    for (size_t i = 0; i < r->view.tablet_count; i++)
        if (r->view.tablets[i]->table != last) {
            last = r->view.tablets[i]->table;
            n++;
        }
    return n;
}
