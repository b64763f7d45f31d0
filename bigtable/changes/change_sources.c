/* A snapshot of the tables is taken before the list of change files: a table
 * that a compaction replaces meanwhile is in both, and none is in neither.
 */
#include "bigtable/changes/change_sources.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/lsm/version.h"
#include "bigtable/sstable/sstable_reader.h"
#include "bigtable/tablet/tablet_changes.h"

static bool has_number(const struct change_sources *s, uint64_t number)
{
    for (size_t i = 0; i < s->file_count; i++)
        if (s->files[i].table && s->files[i].table->info.number == number)
            return true;
    return false;
}

static void add_tables(struct change_sources *s, size_t group)
{
    const struct version *v = s->snapshot.groups[group]->version;
    for (size_t i = 0; i < v->table_count; i++) {
        const struct sstable_properties *p =
            sstable_reader_properties(v->tables[i]->reader);
        const struct lsm_table *t = &v->tables[i]->info;
        if (p->changes.end_sequence > s->floor)
            s->files[s->file_count++] = (struct change_source_file){
                NULL,       v->tables[i], group,
                p->changes, t->first_key, t->last_key};
    }
}

static size_t group_index(const struct change_sources *s, uint32_t id)
{
    const struct tablet *t = s->snapshot.tablet;
    size_t i = 0;
    while (i < s->snapshot.group_count && t->groups[i]->id != id)
        i++;
    return i;
}

static void add_kept(struct change_sources *s)
{
    for (size_t i = 0; i < s->kept_count; i++) {
        const struct change_file_info *f = &s->kept[i]->info;
        size_t group = group_index(s, f->group);
        if (group < s->snapshot.group_count && !change_file_is_past(f) &&
            !has_number(s, f->file.table.number))
            s->files[s->file_count++] =
                (struct change_source_file){s->kept[i],
                                            NULL,
                                            group,
                                            f->file.extent,
                                            f->file.table.first_key,
                                            f->file.table.last_key};
    }
}

void change_sources_open(struct tablet *t, struct change_sources *s)
{
    size_t room = 0;
    *s = (struct change_sources){0};
    tablet_snapshot_take(t, &s->snapshot);
    s->kept = tablet_changes_files(t->changes, &s->kept_count, &s->floor,
                                   &s->floor_us);
    room = s->kept_count;
    for (size_t i = 0; i < s->snapshot.group_count; i++)
        room += s->snapshot.groups[i]->version->table_count;
    s->files = mem_zalloc(room + 1, sizeof(*s->files));
    for (size_t i = 0; i < s->snapshot.group_count; i++)
        add_tables(s, i);
    add_kept(s);
    POST(s->file_count <= room);
}

void change_sources_close(struct change_sources *s)
{
    for (size_t i = 0; i < s->file_count; i++)
        if (s->files[i].kept && s->files[i].table)
            sstable_file_unref(s->files[i].table);
    for (size_t i = 0; i < s->kept_count; i++)
        change_file_unref(s->kept[i]);
    mem_free(s->files);
    mem_free(s->kept);
    tablet_snapshot_drop(&s->snapshot);
}

int change_source_open(struct change_sources *s,
                       struct change_source_file *f,
                       struct err *err)
{
    const struct tablet *t = s->snapshot.tablet;
    int rc;
    if (f->table)
        return 0;
    INVARIANT(f->kept);
    rc = change_file_open(f->kept, t->groups[f->group]->lsm, &f->table, err);
    if (rc)
        err_wrap(err, "change file");
    return rc;
}

int change_source_marks(struct change_sources *s,
                        struct change_source_file *f,
                        struct change_marks *out,
                        struct err *err)
{
    struct buf bytes = BUF_INIT;
    int rc = change_source_open(s, f, err);
    if (rc == 0)
        rc = sstable_reader_marks(f->table->reader, &bytes, err);
    if (rc == 0)
        rc = change_marks_decode(buf_slice(&bytes), out, err);
    buf_close(&bytes);
    return rc;
}
