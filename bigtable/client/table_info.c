/* The part of a table's description that follows from its schema: names and
 * options of families and locality groups, copied into one arena so that the
 * user frees one thing.
 */
#include "bigtable/client/table_info.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/row/gc_rule.h"
#include "bigtable/row/hidden.h"
#include "bigtable/row/schema.h"

static char *take_text(struct arena *a, struct buf *text)
{
    char *s = arena_strdup(a, buf_cstr(text));
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
        f[i].aggregate = aggregate_name(s->families[i].aggregate);
    }
    buf_close(&text);
    o->info.families = f;
    o->info.family_count = s->family_count;
}

static void describe_groups(struct owned_info *o, const struct schema *s)
{
    struct quarry_group_info *g =
        arena_zalloc(&o->arena, s->group_count * sizeof(*g));
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < s->group_count; i++) {
        g[i].name = arena_strdup(&o->arena, s->groups[i].name);
        group_options_format(&s->groups[i].options, &text);
        g[i].options = take_text(&o->arena, &text);
    }
    buf_close(&text);
    o->info.groups = g;
    o->info.group_count = s->group_count;
}

struct owned_info *table_info_new(const char *name, const struct schema *s)
{
    struct owned_info *o = mem_zalloc(1, sizeof(*o));
    struct buf changes = BUF_INIT;
    arena_init(&o->arena);
    o->info.name = arena_strdup(&o->arena, name);
    schema_format_changes(s, &changes);
    o->info.changes = take_text(&o->arena, &changes);
    buf_close(&changes);
    describe_families(o, s);
    describe_groups(o, s);
    return o;
}

void table_info_hide(struct quarry_table_info *info)
{
    size_t n = 0;
    for (size_t i = 0; i < info->family_count; i++)
        if (!hidden_is_name(slice_str(info->families[i].name)))
            info->families[n++] = info->families[i];
        else
            info->transactions |=
                hidden_is_txn(slice_str(info->families[i].name));
    info->family_count = n;
    n = 0;
    for (size_t i = 0; i < info->group_count; i++)
        if (!hidden_is_group(slice_str(info->groups[i].name)))
            info->groups[n++] = info->groups[i];
    info->group_count = n;
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
