/* What a table is made of, as one owned piece of memory. */
#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/client/embedded/embedded.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/row/gc_rule.h"
#include "bigtable/row/schema.h"
#include "bigtable/tablet/store.h"
#include "bigtable/tablet/table.h"
#include "bigtable/tablet/tablet.h"

/* The arena holds everything but itself. */
struct owned_info {
    struct quarry_table_info info;
    struct arena arena;
};

static char *take_text(struct arena *a, struct buf *text)
{
    char *s = arena_dup(a, buf_slice(text)).data == NULL
                  ? NULL
                  : arena_strdup(a, buf_cstr(text));
    buf_clear(text);
    return s;
}

static void describe_families(struct owned_info *o, const struct schema *s)
{
    struct quarry_family_info *f =
        arena_zalloc(&o->arena, (s->family_count + 1) * sizeof(*f));
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < s->family_count; i++) {
        f[i].name = arena_strdup(&o->arena, s->families[i].name);
        f[i].group = arena_strdup(
            &o->arena, schema_group_by_id(s, s->families[i].group)->name);
        gc_rule_format(s->families[i].gc, &text);
        f[i].gc = take_text(&o->arena, &text);
    }
    buf_close(&text);
    o->info.families = f;
    o->info.family_count = s->family_count;
}

static void add_stats(struct quarry_group_info *g, const struct lsm *l)
{
    struct lsm_stats stats;
    lsm_stats(l, &stats);
    g->table_file_count += stats.table_count;
    g->table_bytes += stats.table_bytes;
    g->memtable_bytes += stats.memtable_bytes;
    g->entry_count += stats.entry_count;
}

static void describe_groups(struct owned_info *o, const struct table_view *v)
{
    const struct schema *s = v->schema;
    struct quarry_group_info *g =
        arena_zalloc(&o->arena, s->group_count * sizeof(*g));
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < s->group_count; i++) {
        g[i].name = arena_strdup(&o->arena, s->groups[i].name);
        group_options_format(&s->groups[i].options, &text);
        g[i].options = take_text(&o->arena, &text);
        for (size_t t = 0; t < v->tablet_count; t++)
            add_stats(&g[i], v->tablets[t]->groups[i]->lsm);
    }
    buf_close(&text);
    o->info.groups = g;
    o->info.group_count = s->group_count;
}

static void describe_tablets(struct owned_info *o, const struct table_view *v)
{
    struct quarry_tablet_info *t =
        arena_zalloc(&o->arena, v->tablet_count * sizeof(*t));
    for (size_t i = 0; i < v->tablet_count; i++) {
        t[i].start = arena_dup(&o->arena, buf_slice(&v->tablets[i]->start));
        t[i].end = arena_dup(&o->arena, buf_slice(&v->tablets[i]->end));
        t[i].bytes = tablet_table_bytes(v->tablets[i]);
    }
    o->info.tablets = t;
    o->info.tablet_count = v->tablet_count;
}

int embedded_table_describe(struct quarry *q,
                            const char *name,
                            struct quarry_table_info **out,
                            struct err *err)
{
    struct table_view *v = NULL;
    struct owned_info *o;
    struct table *t;
    int rc = store_find_table(q->store, name, &t, err);
    *out = NULL;
    if (rc)
        return rc;
    v = table_get_view(t);
    if (v) {
        o = mem_zalloc(1, sizeof(*o));
        arena_init(&o->arena);
        o->info.name = arena_strdup(&o->arena, t->name);
        describe_families(o, v->schema);
        describe_groups(o, v);
        describe_tablets(o, v);
        *out = &o->info;
    } else {
        rc = table_gone(t, err);
    }
    table_view_unref(v);
    table_unref(t);
    return rc;
}

void quarry_table_info_free(struct quarry_table_info *info)
{
    struct owned_info *o;
    if (!info)
        return;
    o = CONTAINER_OF(info, struct owned_info, info);
    arena_close(&o->arena);
    mem_free(o);
}
