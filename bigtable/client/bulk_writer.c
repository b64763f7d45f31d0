/* Writers of bulk loads: rows in order into SSTables, one at a time for each
 * locality group. A file ends where a tablet began when the load did, so that a
 * commit gives most files to one tablet, and when it has FILE_BYTES. See
 * bulk_load.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/runtime/world.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/quarry.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/schema.h"
#include "bigtable/sstable/properties.h"
#include "bigtable/sstable/sstable_writer.h"
#include "bigtable/wire/load_calls.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/gfs.h"

/* A file ends at the first row border after this many bytes. */
#define FILE_BYTES ((uint64_t)256 << 20)

/* A cell of the row under way. */
struct bulk_entry {
    struct slice key; /* In the row's arena, as is the value. */
    struct slice value;
    size_t order;
};

struct bulk_group {
    const struct locality_group *group;
    struct sstable_writer *writer; /* NULL: no file is open. */
    char name[LOAD_FILE_NAME_BYTES_MAX + 1];
    unsigned files; /* Begun. */
    struct bulk_entry *entries;
    size_t entry_count;
    size_t entry_cap;
    bool sorted; /* The entries are in order. */
};

struct quarry_bulk_writer {
    struct fs *fs;
    bool borrowed_fs;     /* It is the caller's. */
    struct keyring *keys; /* NULL: files are not encrypted. */
    struct arena arena;
    struct load_ticket ticket; /* In the arena. */
    struct schema *schema;
    char *part;
    int64_t now_us;
    size_t next_cut;
    struct buf row;     /* Under way; empty: none yet. */
    struct buf row_key; /* Encoded. */
    struct arena row_arena;
    struct bulk_group *groups; /* As in the schema. */
    struct buf files;          /* The list. */
    uint64_t cells;
    uint64_t bytes;
    bool finished;
};

static void path_of(const struct quarry_bulk_writer *w,
                    const char *name,
                    char path[LOAD_PATH_BYTES])
{
    PRE(name);
    load_path(w->ticket.id, slice_str(name), path);
}

/* --- life ---------------------------------------------------------------- */

int quarry_bulk_part_path(const char *id,
                          const char *part,
                          struct buf *out,
                          struct err *err)
{
    char path[LOAD_PATH_BYTES];
    int rc = load_check_name("the load's id", slice_str(id), err);
    if (rc == 0)
        rc = load_check_name("the part", slice_str(part), err);
    if (rc)
        return rc;
    load_path(slice_str(id), slice_str(part), path);
    buf_printf(out, "%s+", path);
    return 0;
}

/* Remove the files that an earlier part of this name wrote. */
static int remove_earlier(struct quarry_bulk_writer *w, struct err *err)
{
    char dir[LOAD_PATH_BYTES];
    char path[LOAD_PATH_BYTES];
    size_t n = strlen(w->part);
    char **names = NULL;
    size_t count = 0;
    int rc;
    path_of(w, "", dir);
    rc = fs_list(w->fs, dir, &names, &count, err);
    for (size_t i = 0; i < count && rc == 0; i++)
        if (strncmp(names[i], w->part, n) == 0 && names[i][n] == '+') {
            path_of(w, names[i], path);
            rc = fs_remove(w->fs, path, err);
        }
    fs_names_free(names, count);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

static int no_key(struct err *err)
{
    err_set(err, ERR_DENIED,
            "the table is encrypted, and this writer was given no key");
    err_hint(err, "give it what quarry_bulk_lend() gave, or the quarry");
    return ERR_DENIED;
}

/* Have the key that the ticket asks for. */
static int open_keys(struct quarry_bulk_writer *w,
                     const struct quarry_bulk_place *place,
                     struct err *err)
{
    struct key_loan loan = {.key_id = 0};
    char *table;
    char *id;
    int rc = 0;
    if (!w->ticket.is_encrypted)
        return 0;
    if (place->loan) {
        w->keys = keyring_new_borrowed(place->world, place->loan);
    } else if (place->quarry) {
        table = mem_strndup(w->ticket.table.data, w->ticket.table.len);
        id = mem_strndup(w->ticket.id.data, w->ticket.id.len);
        rc = quarry_bulk_lend(place->quarry, table, id, &loan, err);
        w->keys = rc ? NULL : keyring_new_borrowed(place->world, &loan);
        key_loan_close(&loan);
        mem_free(table);
        mem_free(id);
    }
    if (rc == 0 && !w->keys)
        rc = no_key(err);
    return rc;
}

static int open_parts(struct quarry_bulk_writer *w,
                      const struct quarry_bulk_place *place,
                      struct slice ticket,
                      struct err *err)
{
    struct slice copy = arena_dup(&w->arena, ticket);
    char *target;
    int rc = load_ticket_get(copy, &w->arena, &w->ticket, err);
    if (rc == 0)
        rc = schema_decode(w->ticket.schema, &w->schema, err);
    if (rc == 0)
        rc = open_keys(w, place, err);
    if (rc)
        return rc;
    w->groups = mem_zalloc(w->schema->group_count, sizeof(*w->groups));
    for (size_t i = 0; i < w->schema->group_count; i++)
        w->groups[i].group = &w->schema->groups[i];
    w->fs = place->fs;
    w->borrowed_fs = place->fs != NULL;
    if (w->borrowed_fs)
        return remove_earlier(w, err);
    target = mem_strndup(w->ticket.target.data, w->ticket.target.len);
    rc = fs_open_target(place->world, target, place->security, &w->fs, err);
    mem_free(target);
    return rc ? rc : remove_earlier(w, err);
}

int quarry_bulk_writer_open(const struct quarry_bulk_place *place,
                            struct slice ticket,
                            const char *part,
                            struct quarry_bulk_writer **out,
                            struct err *err)
{
    struct quarry_bulk_writer *w;
    int rc = load_check_name("the part", slice_str(part), err);
    *out = NULL;
    if (rc)
        return rc;
    w = mem_zalloc(1, sizeof(*w));
    arena_init(&w->arena);
    arena_init(&w->row_arena);
    w->part = mem_strdup(part);
    w->now_us = (int64_t)world_now_us(place->world);
    rc = open_parts(w, place, ticket, err);
    if (rc) {
        err_wrap(err, "part %s of a load", part);
        quarry_bulk_writer_free(w);
        return rc;
    }
    *out = w;
    return 0;
}

/* Files of the list go with the writer if it did not finish. */
static void remove_listed(struct quarry_bulk_writer *w)
{
    struct load_list l;
    struct arena a;
    arena_init(&a);
    if (load_list_get(buf_slice(&w->files), &a, &l, NULL) == 0)
        for (size_t i = 0; i < l.count; i++) {
            char name[LOAD_FILE_NAME_BYTES_MAX + 1];
            char path[LOAD_PATH_BYTES];
            snprintf(name, sizeof(name), "%.*s", SLICE_ARG(l.files[i].name));
            path_of(w, name, path);
            /* It goes with the load's directory. */
            IGNORE_RESULT(fs_remove(w->fs, path, NULL));
        }
    arena_close(&a);
}

void quarry_bulk_writer_free(struct quarry_bulk_writer *w)
{
    if (!w)
        return;
    for (size_t i = 0; w->groups && i < w->schema->group_count; i++) {
        sstable_writer_free(w->groups[i].writer);
        mem_free(w->groups[i].entries);
    }
    if (!w->finished && w->fs)
        remove_listed(w);
    if (!w->borrowed_fs)
        fs_close(w->fs);
    keyring_unref(w->keys);
    mem_free(w->groups);
    mem_free(w->part);
    schema_free(w->schema);
    buf_close(&w->row);
    buf_close(&w->row_key);
    buf_close(&w->files);
    arena_close(&w->row_arena);
    arena_close(&w->arena);
    mem_free(w);
}

/* --- files --------------------------------------------------------------- */

static int
begin_file(struct quarry_bulk_writer *w, struct bulk_group *g, struct err *err)
{
    char path[LOAD_PATH_BYTES];
    PRE(!g->writer);
    snprintf(g->name, sizeof(g->name), "%s+%" PRIu32 "+%u.sst", w->part,
             g->group->id, g->files++);
    path_of(w, g->name, path);
    return sstable_writer_open_sealed(w->fs, path, &g->group->options,
                                      FILE_BYTES, false, w->keys, &g->writer,
                                      err);
}

static int
end_file(struct quarry_bulk_writer *w, struct bulk_group *g, struct err *err)
{
    PRE(g->writer);

    const struct sstable_properties *p;
    struct load_file f;
    int rc = sstable_writer_finish(g->writer, err);
    if (rc)
        return rc;
    p = sstable_writer_properties(g->writer);
    f = (struct load_file){.name = slice_str(g->name),
                           .group = g->group->id,
                           .bytes = sstable_writer_file_bytes(g->writer),
                           .entries = p->entry_count,
                           .first_key = buf_slice(&p->first_key),
                           .last_key = buf_slice(&p->last_key)};
    load_file_put(&f, &w->files);
    sstable_writer_free(g->writer);
    g->writer = NULL;
    return 0;
}

static int
end_files(struct quarry_bulk_writer *w, uint64_t bytes_min, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < w->schema->group_count && rc == 0; i++) {
        struct bulk_group *g = &w->groups[i];
        if (g->writer && sstable_writer_bytes(g->writer) >= bytes_min)
            rc = end_file(w, g, err);
    }
    return rc;
}

/* --- rows ---------------------------------------------------------------- */

/* Among equal keys the later one comes first: the others are skipped. */
static int compare_entries(const void *a, const void *b)
{
    const struct bulk_entry *x = a;
    const struct bulk_entry *y = b;
    int c = slice_cmp(x->key, y->key);
    if (c == 0)
        return x->order > y->order ? -1 : x->order < y->order;
    return c;
}

static int
write_group(struct quarry_bulk_writer *w, struct bulk_group *g, struct err *err)
{
    const struct bulk_entry *before = NULL;
    int rc = 0;
    PRE(g->entry_count == 0 || g->entries);
    if (g->entry_count && !g->sorted)
        qsort(g->entries, g->entry_count, sizeof(*g->entries), compare_entries);
    for (size_t i = 0; i < g->entry_count && rc == 0; i++) {
        const struct bulk_entry *e = &g->entries[i];
        if (before && slice_eq(before->key, e->key))
            continue;
        before = e;
        if (!g->writer)
            rc = begin_file(w, g, err);
        if (rc == 0)
            rc = sstable_writer_add(g->writer, e->key, e->value, err);
    }
    g->entry_count = 0;
    return rc;
}

/* The row under way is whole. */
static int end_row(struct quarry_bulk_writer *w, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < w->schema->group_count && rc == 0; i++)
        rc = write_group(w, &w->groups[i], err);
    arena_reset(&w->row_arena);
    return rc ? rc : end_files(w, FILE_BYTES, err);
}

static int
begin_row(struct quarry_bulk_writer *w, struct slice row, struct err *err)
{
    const struct load_ticket *t = &w->ticket;
    bool cut = false;
    int rc = row_name_check(row, err);
    if (rc)
        return rc;
    if (w->row.len && slice_cmp(row, buf_slice(&w->row)) <= 0)
        return err_set(err, ERR_INVALID,
                       "row \"%.*s\" comes behind \"%.*s\": rows must ascend",
                       SLICE_ARG(row), SLICE_ARG(buf_slice(&w->row)));
    rc = end_row(w, err);
    while (w->next_cut < t->cut_count &&
           slice_cmp(row, t->cuts[w->next_cut]) >= 0) {
        w->next_cut++;
        cut = true;
    }
    if (rc == 0 && cut)
        rc = end_files(w, 0, err);
    buf_clear(&w->row);
    buf_append_slice(&w->row, row);
    buf_clear(&w->row_key);
    cell_key_append_row(&w->row_key, row);
    return rc;
}

static struct bulk_group *group_of(struct quarry_bulk_writer *w,
                                   const struct family *f)
{
    size_t i = 0;
    while (w->groups[i].group->id != f->group)
        i++;
    POST(i < w->schema->group_count);
    return &w->groups[i];
}

static void bulk_group_push(struct bulk_group *g, const struct bulk_entry *e)
{
    if (g->entry_count == g->entry_cap) {
        g->entry_cap = g->entry_cap ? 2 * g->entry_cap : 16;
        g->entries = mem_realloc(g->entries, g->entry_cap * sizeof(*e));
    }
    g->sorted = g->entry_count == 0 ||
                (g->sorted &&
                 slice_cmp(g->entries[g->entry_count - 1].key, e->key) < 0);
    INVARIANT(g->entry_count < g->entry_cap);
    g->entries[g->entry_count] = *e;
    g->entries[g->entry_count].order = g->entry_count;
    g->entry_count++;
}

static int check_cell(struct slice row,
                      struct slice qualifier,
                      int64_t timestamp_us,
                      struct slice value,
                      struct err *err)
{
    if (qualifier.len > QUALIFIER_BYTES_MAX)
        return err_set(
            err, ERR_TOOBIG,
            "row \"%.*s\": a qualifier of %zu bytes; %zu are allowed",
            SLICE_ARG(row), qualifier.len, QUALIFIER_BYTES_MAX);
    if (value.len > VALUE_BYTES_MAX)
        return err_set(err, ERR_TOOBIG,
                       "row \"%.*s\": a value of %zu bytes; %zu are allowed",
                       SLICE_ARG(row), value.len, VALUE_BYTES_MAX);
    if (timestamp_us == INT64_MAX)
        return err_set(err, ERR_INVALID,
                       "row \"%.*s\": timestamp %" PRId64 " is out of range",
                       SLICE_ARG(row), timestamp_us);
    return 0;
}

/* The cell of the row under way. */
static void add_entry(struct quarry_bulk_writer *w,
                      const struct family *f,
                      struct slice qualifier,
                      int64_t timestamp_us,
                      struct slice value)
{
    const struct cell_key k = {.qualifier = qualifier,
                               .timestamp_us = timestamp_us,
                               .family = f->id,
                               .kind = ENTRY_PUT};
    size_t row = w->row_key.len;
    struct bulk_entry e = {.value = arena_dup(&w->row_arena, value)};
    PRE(f);
    cell_key_append_rest(&w->row_key, &k);
    e.key = arena_dup(&w->row_arena, buf_slice(&w->row_key));
    buf_truncate(&w->row_key, row);
    bulk_group_push(group_of(w, f), &e);
    w->cells++;
    w->bytes += w->row.len + strlen(f->name) + qualifier.len + value.len;
}

static int bulk_writer_set(struct quarry_bulk_writer *w,
                           struct slice row,
                           struct slice family,
                           struct slice qualifier,
                           int64_t timestamp_us,
                           struct slice value,
                           struct err *err)
{
    const struct family *f = schema_family(w->schema, family);
    int rc;
    PRE(!w->finished);
    if (!f)
        return schema_no_family(w->schema, family, err);
    if (timestamp_us == QUARRY_NOW)
        timestamp_us = w->now_us;
    rc = check_cell(row, qualifier, timestamp_us, value, err);
    if (rc == 0 && f->aggregate &&
        !aggregate_takes(f->aggregate, ENTRY_PUT, value))
        rc = err_set(err, ERR_INVALID,
                     "row \"%.*s\": %zu bytes are no state of the aggregate "
                     "%s of family %s",
                     SLICE_ARG(row), value.len, aggregate_name(f->aggregate),
                     f->name);
    if (rc == 0 && (w->row.len == 0 || !slice_eq(row, buf_slice(&w->row))))
        rc = begin_row(w, row, err);
    if (rc == 0)
        add_entry(w, f, qualifier, timestamp_us, value);
    return rc;
}

int quarry_bulk_writer_set(struct quarry_bulk_writer *w,
                           struct slice row,
                           const char *family,
                           struct slice qualifier,
                           int64_t timestamp_us,
                           struct slice value,
                           struct err *err)
{
    return bulk_writer_set(w, row, slice_str(family), qualifier, timestamp_us,
                           value, err);
}

int quarry_bulk_writer_add(struct quarry_bulk_writer *w,
                           const struct quarry_mutation *m,
                           struct err *err)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    struct mutation_op op;
    int rc = mutation_check(m, err);
    while (rc == 0 && mutation_next(&c, &op)) {
        if (op.kind == MUTATION_ADD || op.kind == MUTATION_MERGE)
            rc = err_set(err, ERR_INVALID,
                         "row \"%.*s\": a bulk load sets states of an "
                         "aggregate, and does not add to them",
                         SLICE_ARG(buf_slice(&m->row)));
        else if (op.kind != MUTATION_SET)
            rc = err_set(err, ERR_INVALID,
                         "row \"%.*s\": a bulk load does not delete",
                         SLICE_ARG(buf_slice(&m->row)));
        else
            rc = bulk_writer_set(w, buf_slice(&m->row), op.family, op.qualifier,
                                 op.timestamp_us, op.value, err);
    }
    return rc;
}

uint64_t quarry_bulk_writer_cells(const struct quarry_bulk_writer *w)
{
    return w->cells;
}

uint64_t quarry_bulk_writer_bytes(const struct quarry_bulk_writer *w)
{
    return w->bytes;
}

int quarry_bulk_writer_finish(struct quarry_bulk_writer *w,
                              struct buf *files,
                              struct err *err)
{
    int rc = end_row(w, err);
    if (rc == 0)
        rc = end_files(w, 0, err);
    if (rc)
        return rc;
    buf_append_slice(files, buf_slice(&w->files));
    w->finished = true;
    return 0;
}
