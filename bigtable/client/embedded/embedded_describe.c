/* The description of a table of the store: its tablets, and the sizes of their
 * locality groups.
 */
#include "base/runtime/world.h"
#include "bigtable/client/embedded/embedded.h"
#include "bigtable/client/table_info.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/read/family_use.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"

static void add_stats(struct quarry_group_info *g, const struct lsm *l)
{
    struct lsm_stats stats;
    lsm_stats(l, &stats);
    g->table_file_count += stats.table_count;
    g->table_bytes += stats.table_bytes;
    g->memtable_bytes += stats.memtable_bytes;
    g->entry_count += stats.entry_count;
}

static void describe_groups(struct owned_info *o,
                            const struct table_part_view *v)
{
    for (size_t i = 0; i < o->info.group_count; i++)
        for (size_t t = 0; t < v->tablet_count; t++)
            add_stats(&o->info.groups[i], v->tablets[t]->groups[i]->lsm);
}

static void describe_families(struct owned_info *o,
                              const struct table_part_view *v)
{
    struct family_use *uses =
        arena_zalloc(&o->arena, (o->info.family_count + 1) * sizeof(*uses));
    for (size_t t = 0; t < v->tablet_count; t++)
        family_use_add(v->tablets[t], v->schema, true, uses);
    for (size_t i = 0; i < o->info.family_count; i++) {
        o->info.families[i].stored_bytes = uses[i].stored_bytes;
        o->info.families[i].memory_bytes = uses[i].memory_bytes;
    }
}

static void add_rates(struct quarry_tablet_info *out, const struct tablet *t)
{
    struct load_rates rates =
        load_meter_rates(&t->load, world_mono_ns(t->env->world));
    out->reads_per_s = rates.reads;
    out->writes_per_s = rates.writes;
    out->bytes_per_s = rates.bytes;
}

static void describe_tablets(struct owned_info *o,
                             const struct table_part_view *v)
{
    struct quarry_tablet_info *t =
        arena_zalloc(&o->arena, v->tablet_count * sizeof(*t));
    for (size_t i = 0; i < v->tablet_count; i++) {
        t[i].start = arena_dup(&o->arena, buf_slice(&v->tablets[i]->start));
        t[i].end = arena_dup(&o->arena, buf_slice(&v->tablets[i]->end));
        t[i].bytes = tablet_table_bytes(v->tablets[i]);
        add_rates(&t[i], v->tablets[i]);
    }
    o->info.tablets = t;
    o->info.tablet_count = v->tablet_count;
}

int embedded_table_describe(struct quarry *q,
                            const char *name,
                            struct quarry_table_info **out,
                            struct err *err)
{
    struct table_part_view *v = NULL;
    struct owned_info *o;
    struct table_part *t;
    int rc = store_find_table(q->store, name, &t, err);
    *out = NULL;
    if (rc)
        return rc;
    v = table_part_get_view(t);
    if (v) {
        o = table_info_new(t->name, v->schema);
        describe_groups(o, v);
        describe_families(o, v);
        describe_tablets(o, v);
        *out = &o->info;
    } else {
        rc = table_part_gone(t, err);
    }
    table_part_view_unref(v);
    table_part_unref(t);
    return rc;
}
