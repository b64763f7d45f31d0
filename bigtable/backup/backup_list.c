/* Lists of backups for people and programs. A list is made from the manifests
 * and holds all its strings, so that one call frees it.
 */
#include "base/core/panic.h"
#include "bigtable/backup/backup_place.h"
#include "bigtable/wire/snapshot_record.h"

/* A list, in one piece. */
struct owned_backups {
    struct quarry_backup_list list;
    struct arena arena; /* Holds everything but itself. */
};

static const char *copy_slice(struct arena *a, struct slice s)
{
    char *copy = arena_alloc(a, s.len + 1);
    for (size_t i = 0; i < s.len; i++)
        copy[i] = s.data[i];
    copy[s.len] = '\0';
    return copy;
}

static void fill_table(struct arena *a,
                       const struct backup_table *t,
                       struct quarry_backup_table *out)
{
    struct snapshot_summary summary = {.tablets = 0};
    struct snapshot_record r;
    struct arena scratch;
    struct err err = ERR_INIT;
    arena_init(&scratch);
    /* It was read when the manifest was. */
    if (snapshot_record_get(t->record, &scratch, &r, &err) ||
        snapshot_summarize(&r, &summary, &err))
        PANIC("a record that was understood is not any more: %s", err.text);
    *out = (struct quarry_backup_table){.name = copy_slice(a, t->name),
                                        .tablets = summary.tablets,
                                        .files = summary.files,
                                        .bytes = summary.bytes,
                                        .as_of_us = summary.created_us,
                                        .has_rights = r.has_access};
    arena_close(&scratch);
}

static void fill_backup(struct arena *a,
                        const struct backup_held *h,
                        struct quarry_backup *out)
{
    const struct backup_manifest *m = &h->manifest;
    struct quarry_backup_table *tables;
    *out =
        (struct quarry_backup){.name = arena_strdup(a, h->name), .source = ""};
    if (h->is_damaged) {
        out->damage = arena_strdup(a, h->err.text);
        return;
    }
    tables = arena_zalloc(a, (m->table_count + 1) * sizeof(*tables));
    for (size_t i = 0; i < m->table_count; i++)
        fill_table(a, &m->tables[i], &tables[i]);
    for (size_t i = 0; i < m->file_count; i++)
        out->bytes += m->files[i].bytes;
    out->source = copy_slice(a, m->source);
    out->created_us = m->created_us;
    out->files = m->file_count;
    out->is_encrypted = m->keys.len > 0;
    out->tables = tables;
    out->table_count = m->table_count;
}

static void fill_all(struct owned_backups *o, const struct backup_all *all)
{
    struct quarry_backup *list =
        arena_zalloc(&o->arena, (all->count + 1) * sizeof(*list));
    for (size_t i = 0; i < all->count; i++)
        fill_backup(&o->arena, &all->list[i], &list[i]);
    o->list.list = list;
    o->list.count = all->count;
}

int quarry_backup_list(struct quarry_backups *b,
                       const char *name,
                       struct quarry_backup_list **out,
                       struct err *err)
{
    struct owned_backups *o;
    struct backup_all all = {.list = NULL};
    struct backup_held held;
    struct backup_all one = {.list = &held, .count = 1};
    int rc;
    *out = NULL;
    if (name)
        rc = backup_held_read(b, name, &held, err);
    else
        rc = backup_all_read(b, &all, err);
    if (rc == 0) {
        o = mem_zalloc(1, sizeof(*o));
        arena_init(&o->arena);
        fill_all(o, name ? &one : &all);
        *out = &o->list;
    }
    if (name)
        backup_held_close(&held);
    backup_all_close(&all);
    return rc;
}

void quarry_backup_list_free(struct quarry_backup_list *l)
{
    struct owned_backups *o;
    if (!l)
        return;
    o = CONTAINER_OF(l, struct owned_backups, list);
    arena_close(&o->arena);
    mem_free(o);
}
