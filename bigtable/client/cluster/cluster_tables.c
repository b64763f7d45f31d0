/* Tables of a cluster: records in files of the lock service, which stay open
 * while a table is and a while longer. The lock service's cache says when a
 * record changed, so an unchanged schema costs no call.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/client/cluster/locator.h"
#include "bigtable/client/cluster/lock_files.h"
#include "bigtable/row/index_set.h"
#include "bigtable/row/schema.h"

/* --- records ------------------------------------------------------------- */

static int no_table_named(const char *name, struct err *err)
{
    err_set(err, ERR_NOTFOUND, "no table %s", name);
    err_set_detail(err, ERR_DETAIL_NO_TABLE, name);
    return ERR_NOTFOUND;
}

static int no_table(const struct cluster_table *t, struct err *err)
{
    if (t->id)
        return err_set(err, ERR_NOTFOUND, "table %s was dropped", t->name);
    return no_table_named(t->name, err);
}

/* Take over what the file says. */
static int
take_record(struct cluster_table *t, struct slice bytes, struct err *err)
{
    struct table_record r;
    struct schema *schema;
    int rc = table_record_get(bytes, &r, err);
    if (rc == 0 && r.dropping)
        return no_table(t, err);
    if (rc == 0 && t->id && r.id != t->id)
        return err_set(err, ERR_NOTFOUND,
                       "table %s was dropped: another has its name now",
                       t->name);
    if (rc == 0)
        rc = schema_decode(r.schema, &schema, err);
    if (rc)
        return rc;
    schema_free(t->schema);
    t->schema = schema;
    if (schema->txn_count)
        atomic_store(&t->has_transactions, true);
    if (t->id == 0) /* Other threads read it afterwards. */
        t->id = r.id;
    t->generation = r.generation;
    return 0;
}

int cluster_table_refresh(struct cluster_table *t, struct err *err)
{
    uint64_t version;
    struct slice bytes;
    int rc;
    if (!t->file)
        return 0; /* METADATA, which is as it is. */
    rc = lock_file_read(t->file, &bytes, &version, err);
    if (rc == ERR_NOTFOUND) {
        if (t->id)
            locator_forget_table(t->cluster->locator, t->id);
        return no_table(t, err);
    }
    if (rc || (t->id && version == t->version))
        return rc;
    rc = take_record(t, bytes, err);
    if (rc == 0)
        t->version = version;
    else
        err_wrap(err, "table %s", t->name);
    return rc;
}

/* --- handles ------------------------------------------------------------- */

struct cluster_table *cluster_table_ref(struct cluster_table *t)
{
    t->references++;
    t->cluster->held++;
    return t;
}

static void free_table(struct cluster_table *t)
{
    if (!t)
        return;
    lock_file_free(t->file);
    schema_free(t->schema);
    mem_free(t->name);
    mem_free(t);
}

void cluster_table_unref(struct cluster_table *t)
{
    struct cluster *c;
    if (!t)
        return;
    c = t->cluster;
    if (--t->references == 0)
        free_table(t->listed ? open_tables_rest(&c->tables, t) : t);
    if (--c->held == 0 && c->closer)
        fiber_wake(c->closer);
}

void cluster_tables_close(struct cluster *c)
{
    struct cluster_table *t;
    c->closer = fiber_self();
    while (c->held > 0)
        fiber_park();
    while ((t = open_tables_take_idle(&c->tables)) != NULL)
        free_table(t);
    open_tables_close(&c->tables);
}

static struct cluster_table *new_table(struct cluster *c, const char *name)
{
    struct cluster_table *t = mem_zalloc(1, sizeof(*t));
    t->cluster = c;
    t->references = 1;
    c->held++;
    t->name = mem_strdup(name);
    return t;
}

/* The table that says where all others are: known from the beginning. */
static struct cluster_table *new_metadata(struct cluster *c)
{
    struct cluster_table *t = new_table(c, METADATA_TABLE);
    t->id = METADATA_TABLE_ID;
    t->schema = metadata_schema();
    return t;
}

static struct cluster_table *find_table(struct cluster *c, const char *name)
{
    struct cluster_table *t = open_tables_find(&c->tables, name);
    struct buf path = BUF_INIT;
    if (t) {
        c->held++;
        return t;
    }
    t = new_table(c, name);
    buf_printf(&path, BIGTABLE_LOCK_TABLES "/%s", name);
    t->file = lock_file_new(c->files, buf_cstr(&path));
    buf_close(&path);
    open_tables_add(&c->tables, t);
    return t;
}

/* *@outdated: it is known under an id that it does not have any more. */
static int try_open(struct cluster *c,
                    const char *name,
                    bool *outdated,
                    struct cluster_table **out,
                    struct err *err)
{
    struct retry retry = {.cluster = c};
    struct cluster_table *t = find_table(c, name);
    int rc;
    do
        rc = cluster_table_refresh(t, err);
    while (rc && retry_again(&retry, &rc, err));
    *outdated = rc == ERR_NOTFOUND && t->id != 0;
    if (rc == 0) {
        *out = t;
        return 0;
    }
    open_tables_remove(&c->tables, t);
    cluster_table_unref(t);
    return rc;
}

int cluster_table_new(struct cluster *c,
                      const char *name,
                      struct cluster_table **out,
                      struct err *err)
{
    bool outdated;
    int rc;
    *out = NULL;
    if (strcmp(name, METADATA_TABLE) == 0) {
        *out = new_metadata(c);
        return 0;
    }
    /* An invalid name is no table: no call is needed to say so. */
    if (schema_check_table_name(slice_str(name), NULL))
        return no_table_named(name, err);
    do
        rc = try_open(c, name, &outdated, out, err);
    while (outdated); /* The next one begins without an id. */
    return rc;
}

const char *cluster_table_name(const struct quarry_table *t)
{
    return t->remote->name;
}

bool cluster_table_has_transactions(const struct quarry_table *t)
{
    return atomic_load_explicit(&t->remote->has_transactions,
                                memory_order_relaxed);
}

uint64_t cluster_table_number(const struct quarry_table *t)
{
    POST(t->remote->id); /* Opening it has read it. */
    return t->remote->id;
}

struct opening {
    struct quarry_table *table;
    const char *name;
};

/* Say which tables there are. */
static void list_tables(struct cluster *c, const char *name, struct err *err)
{
    struct buf list = BUF_INIT;
    char **names;
    size_t count;
    if (cluster_table_list(c->quarry, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++)
        buf_printf(&list, "%s%s", i ? ", " : "", names[i]);
    if (count)
        err_set(err, ERR_NOTFOUND, "no table %s; there are: %s", name,
                buf_cstr(&list));
    else
        err_set(err, ERR_NOTFOUND, "no table %s; there are none yet", name);
    err_set_detail(err, ERR_DETAIL_NO_TABLE, name);
    buf_close(&list);
    world_names_free(names, count);
}

static int open_on_loop(void *arg, struct err *err)
{
    struct opening *o = arg;
    return cluster_table_new(o->table->quarry->cluster, o->name,
                             &o->table->remote, err);
}

int cluster_table_open(struct quarry_table *t,
                       const char *name,
                       struct err *err)
{
    struct opening o = {t, name};
    int rc =
        cluster_do(t->quarry->cluster, "table open", 0, open_on_loop, &o, err);
    if (rc == ERR_NOTFOUND)
        list_tables(t->quarry->cluster, name, err);
    return rc;
}

static int hold_on_loop(void *arg, struct err *err)
{
    (void)err;
    cluster_table_ref(arg);
    return 0;
}

void cluster_table_hold(struct quarry_table *t)
{
    if (cluster_do(t->quarry->cluster, "table hold", CLUSTER_NO_TIMEOUT,
                   hold_on_loop, t->remote, NULL))
        PANIC("holding does not fail");
}

static int release_on_loop(void *arg, struct err *err)
{
    (void)err;
    cluster_table_unref(arg);
    return 0;
}

void cluster_table_release(struct quarry_table *t)
{
    if (cluster_do(t->quarry->cluster, "table close", CLUSTER_NO_TIMEOUT,
                   release_on_loop, t->remote, NULL))
        PANIC("releasing does not fail");
}

struct family_check {
    struct cluster_table *table;
    const char *family;
};

static int check_on_loop(void *arg, struct err *err)
{
    struct family_check *c = arg;
    int rc = cluster_table_refresh(c->table, err);
    if (rc == 0 && !schema_family(c->table->schema, slice_str(c->family)))
        rc = schema_no_family(c->table->schema, slice_str(c->family), err);
    return rc;
}

int cluster_table_check_family(struct quarry_table *t,
                               const char *family,
                               struct err *err)
{
    struct family_check c = {t->remote, family};
    return cluster_do(t->quarry->cluster, "table family", 0, check_on_loop, &c,
                      err);
}

struct indexes_call {
    struct cluster_table *table;
    struct index_set *set;
};

static int indexes_on_loop(void *arg, struct err *err)
{
    struct indexes_call *c = arg;
    int rc = cluster_table_refresh(c->table, err);
    if (rc == 0)
        c->set = index_set_ref(c->table->schema->indexes);
    return rc;
}

int cluster_table_indexes(struct quarry_table *t,
                          struct index_set **out,
                          struct err *err)
{
    struct indexes_call c = {.table = t->remote};
    int rc = cluster_do(t->quarry->cluster, "table indexes", 0, indexes_on_loop,
                        &c, err);
    *out = c.set;
    return rc;
}

/* --- listing ------------------------------------------------------------- */

struct listing {
    struct cluster *cluster;
    char ***names;
    size_t *count;
};

static int list_on_loop(void *arg, struct err *err)
{
    struct listing *l = arg;
    struct retry retry = {.cluster = l->cluster};
    int rc;
    do
        rc = lock_files_list(l->cluster->files, BIGTABLE_LOCK_TABLES, l->names,
                             l->count, err);
    while (rc && retry_again(&retry, &rc, err));
    if (rc == ERR_NOTFOUND) { /* No master has ever been there. */
        *l->names = NULL;
        *l->count = 0;
        rc = 0;
    }
    return rc;
}

int cluster_table_list(struct quarry *q,
                       char ***names,
                       size_t *count,
                       struct err *err)
{
    struct listing l = {q->cluster, names, count};
    size_t kept = 0;
    int rc = cluster_do(q->cluster, "table list", 0, list_on_loop, &l, err);
    for (size_t i = 0; rc == 0 && i < *count; i++) {
        if (strcmp((*names)[i], METADATA_TABLE) == 0)
            mem_free((*names)[i]);
        else
            (*names)[kept++] = (*names)[i];
    }
    if (rc == 0)
        *count = kept;
    return rc;
}
