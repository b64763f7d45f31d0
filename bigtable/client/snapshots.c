/* Snapshots of tables as quarry.h shows them: a target returns encoded lists
 * and records (wire/snapshot_calls.h), which are decoded here once for both
 * kinds.
 */
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "bigtable/client/client.h"
#include "bigtable/client/table_info.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/snapshot_calls.h"

/* A list, in one piece. */
struct owned_snapshots {
    struct quarry_snapshots snapshots;
    struct arena arena; /* Holds everything but itself. */
};

int quarry_table_snapshot(struct quarry *q,
                          const char *table,
                          const char *name,
                          uint64_t ttl_us,
                          struct err *err)
{
    return q->ops->table_snapshot(q, table, name, ttl_us, err);
}

int quarry_table_clone(struct quarry *q,
                       const char *table,
                       const char *to,
                       struct err *err)
{
    return q->ops->table_clone(q, table, to, err);
}

int quarry_snapshot_drop(struct quarry *q, const char *name, struct err *err)
{
    return q->ops->snapshot_drop(q, name, err);
}

int quarry_snapshot_restore(struct quarry *q,
                            const char *name,
                            const char *table,
                            struct err *err)
{
    return q->ops->snapshot_restore(q, name, table, err);
}

static const char *client_snapshots_copy_text(struct arena *a, struct slice s)
{
    char *copy = arena_alloc(a, s.len + 1);
    if (s.len)
        memcpy(copy, s.data, s.len);
    copy[s.len] = '\0';
    return copy;
}

static void fill_list(struct owned_snapshots *o, const struct snapshot_list *l)
{
    struct quarry_snapshot *list =
        arena_zalloc(&o->arena, (l->count + 1) * sizeof(*list));
    for (size_t i = 0; i < l->count; i++) {
        const struct snapshot_summary *from = &l->list[i];
        list[i] = (struct quarry_snapshot){
            .name = client_snapshots_copy_text(&o->arena, from->name),
            .table = client_snapshots_copy_text(&o->arena, from->table),
            .created_us = from->created_us,
            .expires_us = from->expires_us,
            .tablet_count = from->tablets,
            .file_count = from->files,
            .bytes = from->bytes,
        };
    }
    o->snapshots.list = list;
    o->snapshots.count = l->count;
}

int quarry_snapshot_list(struct quarry *q,
                         struct quarry_snapshots **out,
                         struct err *err)
{
    struct owned_snapshots *o;
    struct snapshot_list l;
    struct buf bytes = BUF_INIT;
    int rc = q->ops->snapshot_list(q, &bytes, err);
    *out = NULL;
    if (rc == 0) {
        o = mem_zalloc(1, sizeof(*o));
        arena_init(&o->arena);
        *out = &o->snapshots;
        rc = snapshot_list_get(buf_slice(&bytes), &o->arena, &l, err);
        if (rc == 0)
            fill_list(o, &l);
    }
    if (rc) {
        quarry_snapshots_free(*out);
        *out = NULL;
    }
    buf_close(&bytes);
    return rc;
}

void quarry_snapshots_free(struct quarry_snapshots *s)
{
    struct owned_snapshots *o;
    if (!s)
        return;
    o = CONTAINER_OF(s, struct owned_snapshots, snapshots);
    arena_close(&o->arena);
    mem_free(o);
}

/* --- one of them --------------------------------------------------------- */

static int client_snapshots_describe(const char *name,
                                     const struct snapshot_record *r,
                                     struct quarry_table_info **out,
                                     struct err *err)
{
    struct schema *schema;
    struct quarry_tablet_info *t;
    struct owned_info *o;
    int rc = schema_decode(r->schema, &schema, err);
    if (rc)
        return rc;
    o = table_info_new(name, schema);
    schema_free(schema);
    t = arena_zalloc(&o->arena, (r->tablet_count + 1) * sizeof(*t));
    for (size_t i = 0; i < r->tablet_count; i++)
        t[i] = (struct quarry_tablet_info){
            .start = arena_dup(&o->arena, r->tablets[i].start),
            .end = arena_dup(&o->arena, r->tablets[i].end),
            .bytes = r->tablets[i].bytes};
    o->info.tablets = t;
    o->info.tablet_count = r->tablet_count;
    *out = &o->info;
    table_info_hide(*out);
    return 0;
}

int quarry_snapshot_describe(struct quarry *q,
                             const char *name,
                             struct quarry_table_info **out,
                             struct err *err)
{
    struct snapshot_record r;
    struct buf bytes = BUF_INIT;
    struct arena a;
    int rc = q->ops->snapshot_show(q, name, &bytes, err);
    *out = NULL;
    arena_init(&a);
    if (rc == 0)
        rc = snapshot_record_get(buf_slice(&bytes), &a, &r, err);
    if (rc == 0)
        rc = client_snapshots_describe(name, &r, out, err);
    arena_close(&a);
    buf_close(&bytes);
    return rc;
}
