/* Schemas of the tables whose tablets are here. The lock service has them by
 * name, tablets know the number: a number that is not known yet is searched in
 * the directory of tables. Tablets find out about later changes by the master's
 * order (control.c), or from a client that names a newer generation
 * (serving.c). */
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "bigtable/row/schema.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet_server/tablet_server_state.h"
#include "bigtable/wire/metadata.h"
#include "chubby-lite/chubby.h"

void table_schema_close(struct table_schema *t)
{
    mem_free(t->name);
    schema_free(t->schema);
}

static void schemas_forget(struct table_schema *t)
{
    INVARIANT(t->schema);
    INVARIANT(t->name); /* schemas_remember() */
    table_schema_close(t);
    mem_free(t);
}

void schemas_close(struct tablet_server *s)
{
    size_t at = 0;
    struct hash_slot *slot;
    while ((slot = hash_map_next(&s->schemas, &at)) != NULL)
        schemas_forget(slot->value.pointer);
    hash_map_close(&s->schemas);
}

static struct table_schema *schemas_known(struct tablet_server *s, uint64_t id)
{
    union hash_value *v = hash_map_get(&s->schemas, hash_key_u64(&id));
    struct table_schema *t = v ? v->pointer : NULL;
    PRE(mutex_is_held(&s->schema_lock));
    INVARIANT(!t || t->id == id);
    return t;
}

/* Keep @schema, which moves in, as that of table @id. */
static struct table_schema *schemas_remember(struct tablet_server *s,
                                             uint64_t id,
                                             uint64_t generation,
                                             const char *name,
                                             struct schema *schema)
{
    struct table_schema *t = schemas_known(s, id);
    if (!t) {
        t = mem_zalloc(1, sizeof(*t));
        t->id = id;
        hash_map_put(&s->schemas, hash_key_u64(&t->id), NULL)->pointer = t;
    }
    mem_free(t->name);
    schema_free(t->schema);
    PRE(schema);
    t->name = mem_strdup(name);
    t->schema = schema;
    t->generation = generation;
    POST(t->id == id);
    return t;
}

/* Read the record of the table @name. *@out is NULL when it is gone. */
static int read_table(struct tablet_server *s,
                      const char *name,
                      struct table_schema **out,
                      struct err *err)
{
    struct buf path = BUF_INIT;
    struct buf bytes = BUF_INIT;
    struct table_record r;
    struct schema *schema;
    int rc;
    PRE(mutex_is_held(&s->schema_lock));
    *out = NULL;
    buf_printf(&path, BIGTABLE_LOCK_TABLES "/%s", name);
    rc = session_read_file(s->session, buf_cstr(&path), &bytes, err);
    if (rc == 0)
        rc = table_record_get(buf_slice(&bytes), &r, err);
    if (rc == 0)
        rc = schema_decode(r.schema, &schema, err);
    if (rc == 0)
        *out = schemas_remember(s, r.id, r.generation, name, schema);
    buf_close(&path);
    buf_close(&bytes);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* Read tables that are not known yet, until @id is. */
static int schemas_search(struct tablet_server *s, uint64_t id, struct err *err)
{
    struct chubby_handle *h;
    char **names = NULL;
    size_t count = 0;
    int rc = chubby_open(session_chubby(s->session), BIGTABLE_LOCK_TABLES,
                         CHUBBY_READ, NULL, &h, err);

    PRE(!schemas_known(s, id));
    if (rc)
        return rc;
    rc = chubby_list(h, &names, &count, err);
    for (size_t i = 0; i < count && rc == 0 && !schemas_known(s, id); i++) {
        struct table_schema *t;
        rc = read_table(s, names[i], &t, err);
    }
    chubby_names_free(names, count);
    chubby_close(h);
    return rc;
}

static int schemas_find_or_read(struct tablet_server *s,
                                uint64_t id,
                                struct table_schema **out,
                                struct err *err)
{
    struct table_schema *t = schemas_known(s, id);
    int rc = 0;
    if (id == METADATA_TABLE_ID) {
        *out =
            t ? t
              : schemas_remember(s, id, 1, METADATA_TABLE, metadata_schema());
        return 0;
    }
    if (t) {
        char *name = mem_strdup(t->name);
        rc = read_table(s, name, &t, err);
        mem_free(name);
    } else {
        rc = schemas_search(s, id, err);
        t = schemas_known(s, id);
    }
    if (rc == 0 && (!t || t->id != id))
        rc = err_set(err, ERR_NOTFOUND, "there is no table number %llu",
                     (unsigned long long)id);
    *out = t;
    POST(rc || t->id == id);
    return rc;
}

int schemas_find(struct tablet_server *s,
                 uint64_t id,
                 struct table_schema *out,
                 struct err *err)
{
    struct table_schema *t;
    int rc;
    PRE(s->session); /* Tables are found in the lock service. */
    *out = (struct table_schema){.id = id};
    mutex_lock(&s->schema_lock);
    rc = schemas_find_or_read(s, id, &t, err);
    if (rc == 0)
        *out = (struct table_schema){id, t->generation, mem_strdup(t->name),
                                     schema_copy(t->schema)};
    mutex_unlock(&s->schema_lock);
    return rc;
}

int schemas_apply(struct tablet_server *s,
                  struct table_part *t,
                  const struct schema *schema,
                  uint64_t generation,
                  struct err *err)
{
    struct table_part_view *v;
    int rc = 0;

    PRE(schema);
    mutex_lock(&t->change_lock);
    v = table_part_get_view(t);
    if (v && v->generation < generation)
        rc = store_put_schema(s->store, t, v, schema, generation, err);
    table_part_view_unref(v);
    mutex_unlock(&t->change_lock);
    return rc;
}
